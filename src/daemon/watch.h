/*
 * Processes whose end the daemon wants to know. A pidfd tells of it; where there is none (the
 * kernel does not know them, or no descriptor is left) the timer `poll` looks after them.
 */
#ifndef COT_DAEMON_WATCH_H
#define COT_DAEMON_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/words.h"
#include "daemon/loop.h"

/* How often to look after processes that have no pidfd. */
#define COT_WATCH_POLL_NS (500 * COT_NS_PER_MS)

/* The processes of the daemon that it watches. */
struct watches {
	struct cot_loop *loop;
	struct cot_timer poll; /* where there are no pidfds: looks after processes */
};

struct watch {
	struct cot_source source; /* a pidfd; fd -1 when there is none */
	pid_t pid;		  /* 0 = none */
	uint64_t start_time;	  /* of /proc/PID/stat: tells it from a later one */
	uint64_t process;	  /* the kernel's own number of it; 0 = not known */
};

int cot_watch_start(struct watches *all, struct watch *w, pid_t pid,
		    void (*ended)(struct cot_source *source, uint32_t events));
/* A child that has not been waited for: if it has ended already, that is reported like any end. */
int cot_watch_start_child(struct watches *all, struct watch *w, pid_t pid,
			  void (*ended)(struct cot_source *source, uint32_t events));
void cot_watch_stop(struct watches *all, struct watch *w);
bool cot_watch_is_alive(const struct watch *w);
/* Gets a pidfd where there was none before. False: cot_watch_reap() must check it. */
bool cot_watch_improve(struct watches *all, struct watch *w);
/* Checks a process that has no pidfd, and reports its end. False: no further check is needed. */
bool cot_watch_reap(struct watches *all, struct watch *w);

#endif
