/*
 * A program is there while one of its processes is: a launcher may end long before what it has
 * launched. When the process that we watch has ended, a child of the daemon looks through /proc for
 * another one that has the program's number in its environment; that takes a while, and the daemon
 * must not wait. One search at a time, for all programs whose process has ended until then.
 *
 *   SETTLED ---- its process ended ----> WANTED ---- a search begins ----> SEARCHED
 *      ^                                   ^                                  |
 *      |                                   +---- it failed, or what it found  |
 *      |                                         has ended meanwhile ---------+
 *      +---- watched again, or forgotten -------------------------------------+
 *
 * A process that has hidden its environment is not found. If it is a client of the pool's MPS
 * server the pool stays nevertheless (clients.c).
 */
#include "daemon/outlive.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/basis.h"
#include "daemon/processes.h"
#include "daemon/roster.h"

#define LIMIT_S	 5u
#define RETRY_NS COT_NS_PER_S
/* Programs may end as fast as they like: the searches take a small part of a processor. */
#define PAUSE_NS (50 * COT_NS_PER_MS)

struct heir {
	uint32_t id; /* of the program */
	pid_t pid;
	uint64_t start_time;
};

static void begin(struct roster *r);

/* ---- in the child ---- */

static void search(const struct roster *r, int out)
{
	struct cot_processes *all = cot_processes_read(r->basis->socket_path);
	const struct tenant *t;

	if (!all)
		_exit(1);
	for_each_tenant (t, r) {
		const struct cot_process *p;
		struct heir heir;

		if (t->search != SEARCH_RUNNING)
			continue;
		p = cot_processes_of(all, t->id, t->uid);
		if (!p)
			continue;
		heir = (struct heir){.id = t->id, .pid = p->pid, .start_time = p->start_time};
		if (write(out, &heir, sizeof(heir)) != sizeof(heir))
			_exit(1);
	}
	_exit(0);
}

/* It holds the daemon's lock as well, and must not do so for longer than the daemon. */
static void be_child(const struct roster *r, pid_t daemon, int out)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGALRM, SIG_DFL);
	(void)alarm(LIMIT_S);
	if (getppid() == daemon)
		search(r, out);
	_exit(1);
}

/* ---- in the daemon ---- */

static void fire(struct cot_timer *timer, uint64_t now_ns)
{
	struct outlive *o = COT_CONTAINER_OF(timer, struct outlive, timer);
	struct roster *r = COT_CONTAINER_OF(o, struct roster, outlive);

	(void)now_ns;
	begin(r);
}

static void set_timer(struct roster *r, uint64_t in_ns)
{
	r->outlive.timer.fire = fire;
	cot_timer_set(&r->basis->loop, &r->outlive.timer, cot_now_ns() + in_ns);
}

/* Whether it is watched again. */
static bool take(struct tenant *t, const struct heir *heirs, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (heirs[i].id == t->id)
			return !cot_tenant_watch(t, heirs[i].pid, heirs[i].start_time);
	return false;
}

static bool has_heir(const struct tenant *t, const struct heir *heirs, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (heirs[i].id == t->id)
			return true;
	return false;
}

static void settle(struct roster *r, const struct heir *heirs, size_t n, bool complete)
{
	struct tenant *t;

	for_each_tenant (t, r) {
		if (t->search != SEARCH_RUNNING)
			continue;
		t->search = SEARCH_WANTED;
		if (take(t, heirs, n))
			t->search = SEARCH_SETTLED;
		else if (complete && !has_heir(t, heirs, n))
			cot_tenant_end(t);
	}
}

static bool is_wanted(const struct roster *r)
{
	const struct tenant *t;

	for_each_tenant (t, r)
		if (t->search == SEARCH_WANTED)
			return true;
	return false;
}

/* All that it has written is in the pipe, which has room for more than that. */
static void child_ended(struct cot_source *source, uint32_t events)
{
	struct watch *w = COT_CONTAINER_OF(source, struct watch, source);
	struct outlive *o = COT_CONTAINER_OF(w, struct outlive, child);
	struct roster *r = COT_CONTAINER_OF(o, struct roster, outlive);
	static struct heir heirs[MAX_TENANTS];
	ssize_t n = read(o->out, heirs, sizeof(heirs));
	int status = -1;

	(void)events;
	(void)waitpid(w->pid, &status, WNOHANG);
	cot_watch_stop(&r->basis->watches, w);
	(void)close(o->out);
	o->out = -1;
	settle(r, heirs, n > 0 ? (size_t)n / sizeof(heirs[0]) : 0, status == 0);
	if (is_wanted(r))
		set_timer(r, status == 0 ? PAUSE_NS : RETRY_NS);
}

static int start(struct roster *r)
{
	pid_t daemon = getpid(), pid;
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		be_child(r, daemon, ends[1]);
	rc = pid < 0 ? -errno : 0;
	(void)close(ends[1]);
	if (!rc) {
		r->outlive.out = ends[0];
		rc = cot_watch_start_child(&r->basis->watches, &r->outlive.child, pid, child_ended);
	}
	if (rc < 0) {
		(void)close(ends[0]);
		if (pid > 0) {
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, NULL, 0);
		}
	}
	return rc;
}

static void begin(struct roster *r)
{
	struct tenant *t;

	if (r->outlive.child.pid || !is_wanted(r))
		return;
	for_each_tenant (t, r)
		if (t->search == SEARCH_WANTED)
			t->search = SEARCH_RUNNING;
	if (start(r) == 0)
		return;
	settle(r, NULL, 0, false);
	set_timer(r, RETRY_NS);
}

void cot_outlive_search(struct tenant *t)
{
	if (t->search != SEARCH_SETTLED)
		return;
	t->search = SEARCH_WANTED;
	if (!t->in->outlive.timer.armed)
		begin(t->in);
}

bool cot_outlive_reap(struct roster *r)
{
	return cot_watch_reap(&r->basis->watches, &r->outlive.child);
}
