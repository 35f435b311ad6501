#include "daemon/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/words.h"

/* How exactly it is known what was waited for a processor. */
#define LOOK_NS 1000000ull

uint64_t cot_now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * COT_NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* ---- lateness ---- */

/* What this thread has waited for a processor since it began; 0 where the kernel does not say. */
static uint64_t read_waited_ns(const struct cot_loop *loop)
{
	char text[96], *end;
	ssize_t n;

	if (loop->schedstat_fd < 0)
		return 0;
	n = pread(loop->schedstat_fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	(void)strtoull(text, &end, 10); /* what it ran */
	return strtoull(end, NULL, 10);
}

uint64_t cot_loop_able_ns(const struct cot_loop *loop)
{
	return cot_now_ns() - loop->waited_ns;
}

static void count_lateness(struct cot_loop *loop, uint64_t since_ns)
{
	struct cot_lateness *l = &loop->lateness;
	uint64_t now_ns = cot_now_ns();
	struct cot_delay d = {.late_ns = now_ns - since_ns};

	/* What is not late, and not worse than anything before, is not looked at. */
	if (d.late_ns > l->worst_own_ns || d.late_ns >= COT_LATE_NS) {
		d.waited_ns = read_waited_ns(loop) - loop->waited_ns;
		d.work_ns = cot_spell_work_ns(&loop->spell, d.waited_ns);
	}
	cot_lateness_count(l, &d, now_ns);
}

/* ---- life ---- */

static void drain_clock(struct cot_source *source, uint32_t events)
{
	uint64_t n;

	(void)events;
	if (read(source->fd, &n, sizeof(n)) < 0)
		return; /* set again in between */
}

int cot_loop_init(struct cot_loop *loop)
{
	int rc;

	*loop = (struct cot_loop){
		.epoll_fd = -1,
		.clock = {.fd = -1, .ready = drain_clock},
		.schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)};
	loop->waited_ns = read_waited_ns(loop);
	cot_spell_begin(&loop->spell);
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd >= 0)
		loop->clock.fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	rc = loop->clock.fd < 0 ? -errno : cot_loop_add(loop, &loop->clock, EPOLLIN);
	if (rc < 0)
		cot_loop_finish(loop);
	return rc;
}

void cot_loop_finish(struct cot_loop *loop)
{
	if (loop->clock.fd >= 0)
		(void)close(loop->clock.fd);
	if (loop->epoll_fd >= 0)
		(void)close(loop->epoll_fd);
	if (loop->schedstat_fd >= 0)
		(void)close(loop->schedstat_fd);
	loop->clock.fd = loop->epoll_fd = loop->schedstat_fd = -1;
}

static int control(struct cot_loop *loop, int op, struct cot_source *source, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = source};

	return epoll_ctl(loop->epoll_fd, op, source->fd, &ev) < 0 ? -errno : 0;
}

int cot_loop_add(struct cot_loop *loop, struct cot_source *source, uint32_t events)
{
	return control(loop, EPOLL_CTL_ADD, source, events);
}

int cot_loop_change(struct cot_loop *loop, struct cot_source *source, uint32_t events)
{
	return control(loop, EPOLL_CTL_MOD, source, events);
}

void cot_loop_remove(struct cot_loop *loop, struct cot_source *source)
{
	int i;

	(void)control(loop, EPOLL_CTL_DEL, source, 0);
	for (i = 0; i < loop->n_batch; i++)
		if (loop->batch[i] == source)
			loop->batch[i] = NULL;
}

void cot_timer_clear(struct cot_timer *timer)
{
	if (!timer->armed)
		return;
	*timer->link = timer->next;
	if (timer->next)
		timer->next->link = timer->link;
	timer->armed = false;
}

/* The list is in order of time; there are few timers. */
void cot_timer_set(struct cot_loop *loop, struct cot_timer *timer, uint64_t due_ns)
{
	struct cot_timer **link = &loop->timers;

	cot_timer_clear(timer);
	while (*link && (*link)->due_ns <= due_ns)
		link = &(*link)->next;
	timer->due_ns = due_ns;
	timer->set_ns = cot_now_ns();
	timer->next = *link;
	timer->link = link;
	if (timer->next)
		timer->next->link = &timer->next;
	*link = timer;
	timer->armed = true;
}

static void fire_timers(struct cot_loop *loop)
{
	uint64_t now_ns = cot_now_ns(), waited_ns = loop->waited_ns;
	struct cot_timer *timer;

	loop->pulse_ns = now_ns;
	if (now_ns - loop->waited_looked_ns >= LOOK_NS) {
		waited_ns = read_waited_ns(loop);
		loop->waited_looked_ns = now_ns;
	}
	while ((timer = loop->timers) && timer->due_ns <= now_ns) {
		uint64_t since_ns = timer->due_ns > timer->set_ns ? timer->due_ns : timer->set_ns;

		cot_timer_clear(timer);
		count_lateness(loop, since_ns);
		timer->fire(timer, now_ns);
	}
	/* Not before: a timer that is late now may have waited since the last time. */
	loop->waited_ns = waited_ns;
}

static void settle(struct cot_loop *loop)
{
	if (loop->settle)
		loop->settle(loop->settle_arg);
}

static void set_clock(struct cot_loop *loop)
{
	uint64_t due_ns = loop->timers ? loop->timers->due_ns : 0;
	struct itimerspec when = {0};

	if (due_ns == loop->clock_due_ns)
		return;
	if (loop->timers && !due_ns)
		due_ns = 1; /* 0 would disarm */
	when.it_value.tv_sec = (time_t)(due_ns / COT_NS_PER_S);
	when.it_value.tv_nsec = (long)(due_ns % COT_NS_PER_S);
	(void)timerfd_settime(loop->clock.fd, TFD_TIMER_ABSTIME, &when, NULL);
	loop->clock_due_ns = due_ns;
}

static bool is_overdue(const struct cot_loop *loop)
{
	return loop->timers && loop->timers->due_ns <= cot_now_ns();
}

/* In the midst of a round that takes long. */
static void keep_time(struct cot_loop *loop)
{
	if (cot_now_ns() - loop->pulse_ns < COT_LOOP_PULSE_NS)
		return;
	settle(loop);
	fire_timers(loop);
}

static void serve(struct cot_loop *loop, const struct epoll_event *events, int n)
{
	int i;

	for (i = 0; i < n; i++)
		loop->batch[i] = events[i].data.ptr;
	loop->n_batch = n;
	for (i = 0; i < n; i++) {
		struct cot_source *source = loop->batch[i];

		if (!source)
			continue;
		loop->batch[i] = NULL;
		if (source == &loop->clock)
			loop->clock_due_ns = 0;
		source->ready(source, events[i].events);
		keep_time(loop);
	}
	loop->n_batch = 0;
}

int cot_loop_run(struct cot_loop *loop)
{
	struct epoll_event events[COT_LOOP_BATCH];
	bool overdue;
	int n;

	while (!loop->quit) {
		settle(loop);
		if (loop->quit)
			break;
		set_clock(loop);
		overdue = is_overdue(loop);
		n = epoll_wait(loop->epoll_fd, events, COT_LOOP_BATCH, overdue ? 0 : -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		/* Who sleeps is to be woken; what is late already is so by what was done before. */
		if (!overdue)
			cot_spell_begin(&loop->spell);
		loop->pulse_ns = cot_now_ns();
		serve(loop, events, n < 0 ? 0 : n);
		fire_timers(loop);
	}
	return 0;
}
