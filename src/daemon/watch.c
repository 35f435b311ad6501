#include "daemon/watch.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/loop.h"
#include "daemon/peer.h"
#include "daemon/processes.h"

bool cot_watch_improve(struct watches *all, struct watch *w)
{
	if (!w->pid || w->source.fd >= 0)
		return true;
	w->source.fd = (int)syscall(SYS_pidfd_open, w->pid, 0);
	if (w->source.fd < 0)
		return false;
	w->process = cot_process_number(w->source.fd);
	if (cot_loop_add(all->loop, &w->source, EPOLLIN) == 0)
		return true;
	(void)close(w->source.fd);
	w->source.fd = -1;
	return false;
}

static int start_watch(struct watches *all, struct watch *w, pid_t pid, bool may_have_ended,
		       void (*ended)(struct cot_source *source, uint32_t events))
{
	int rc;

	*w = (struct watch){.source = {.fd = -1, .ready = ended}};
	rc = cot_process_start(pid, &w->start_time);
	if (rc < 0 && !(rc == -ESRCH && may_have_ended))
		return rc;
	w->pid = pid;
	if (!cot_watch_improve(all, w) && !all->poll.armed)
		cot_timer_set(all->loop, &all->poll, cot_now_ns() + COT_WATCH_POLL_NS);
	return 0;
}

int cot_watch_start(struct watches *all, struct watch *w, pid_t pid,
		    void (*ended)(struct cot_source *source, uint32_t events))
{
	return start_watch(all, w, pid, false, ended);
}

/* Until the daemon waits for it no other process has its number, and it can be watched like a
 * living one. */
int cot_watch_start_child(struct watches *all, struct watch *w, pid_t pid,
			  void (*ended)(struct cot_source *source, uint32_t events))
{
	return start_watch(all, w, pid, true, ended);
}

void cot_watch_stop(struct watches *all, struct watch *w)
{
	if (w->pid && w->source.fd >= 0) {
		cot_loop_remove(all->loop, &w->source);
		(void)close(w->source.fd);
	}
	*w = (struct watch){.source = {.fd = -1}};
}

/* In doubt it lives: what is forgotten too early is lost. */
bool cot_watch_is_alive(const struct watch *w)
{
	uint64_t start_time;
	int rc;

	if (!w->pid)
		return false;
	if (w->source.fd >= 0)
		return !cot_process_has_ended(w->source.fd);
	rc = cot_process_start(w->pid, &start_time);
	return rc < 0 ? rc != -ESRCH : start_time == w->start_time;
}

bool cot_watch_reap(struct watches *all, struct watch *w)
{
	if (cot_watch_improve(all, w))
		return false;
	if (cot_watch_is_alive(w))
		return true;
	w->source.ready(&w->source, 0);
	return false;
}
