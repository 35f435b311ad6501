/*
 * The daemon's event loop: descriptors by epoll, deadlines by one timerfd. Sleeps without a
 * time-out while no timer is armed. One thread.
 *
 * Deadlines do not wait for descriptors: however many of them are ready, timers fire every
 * COT_LOOP_PULSE_NS, if what `ready` does is short. How late they fire is counted (lateness.h).
 */
#ifndef COT_DAEMON_LOOP_H
#define COT_DAEMON_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/lateness.h"

#define COT_LOOP_BATCH	  32
#define COT_LOOP_PULSE_NS 5000000ull

/*
 * A descriptor to watch. The struct that embeds it owns it, and must remove it before it goes away.
 */
struct cot_source {
	int fd;
	void (*ready)(struct cot_source *source, uint32_t events); /* EPOLLIN, ... */
};

/* One deadline. Zeroed is not armed; `fire` runs once per arming. */
struct cot_timer {
	uint64_t due_ns, set_ns;
	void (*fire)(struct cot_timer *timer, uint64_t now_ns);
	bool armed;
	struct cot_timer *next, **link;
};

struct cot_loop {
	int epoll_fd;
	struct cot_source clock; /* the timerfd */
	struct cot_timer *timers;
	uint64_t clock_due_ns; /* what the timerfd is set to; 0 = nothing */
	struct cot_source *batch[COT_LOOP_BATCH];
	int n_batch;
	bool quit;
	struct cot_lateness lateness;
	struct cot_spell spell;		      /* since it was woken */
	uint64_t pulse_ns;		      /* when timers were last checked */
	int schedstat_fd;		      /* -1 = the kernel does not count */
	uint64_t waited_ns, waited_looked_ns; /* for a processor, in all; when that was read */
	/* After every round of events, before sleeping; and before timers fire in a long one. */
	void (*settle)(void *arg);
	void *settle_arg;
};

/* The struct in which a source, a timer or another member is, by the address of that. */
#define COT_CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

int cot_loop_init(struct cot_loop *loop);
void cot_loop_finish(struct cot_loop *loop);
/* The time without what this thread has waited for a processor, to about a millisecond: what one of
 * many may have of its time is a part of that. It may go back by as much as was waited lately. */
uint64_t cot_loop_able_ns(const struct cot_loop *loop);
/* Until loop->quit. 0 or -errno. */
int cot_loop_run(struct cot_loop *loop);

int cot_loop_add(struct cot_loop *loop, struct cot_source *source, uint32_t events);
int cot_loop_change(struct cot_loop *loop, struct cot_source *source, uint32_t events);
/* Allowed from any callback, also for a source whose event is still to come in this round. Does
 * not close the descriptor. */
void cot_loop_remove(struct cot_loop *loop, struct cot_source *source);

/* Arms, or moves, a timer. */
void cot_timer_set(struct cot_loop *loop, struct cot_timer *timer, uint64_t due_ns);
void cot_timer_clear(struct cot_timer *timer);

uint64_t cot_now_ns(void); /* CLOCK_MONOTONIC */

#endif
