/* Ends pools where no daemon does: a process that each daemon with pools has beside it. */
#ifndef COT_DAEMON_KEEPER_H
#define COT_DAEMON_KEEPER_H

#include "daemon/watch.h"

struct basis;

/* The process beside this daemon. */
struct keeper {
	struct basis *basis;
	const char *program; /* this one, to start it with; NULL: none */
	struct watch watch;
	int fd; /* its end tells the process of ours */
};

/* Starts the process that ends pools after this daemon, unless it is there. */
void cot_keeper_start(struct keeper *keeper);
/* In that process: sleeps until the daemon has closed the other end of this. */
void cot_keeper_run(struct basis *b, int daemon_fd);
/* Ends pools that no program uses; returns how many are left, or -1 if a daemon is there. */
int cot_keeper_stop_pools(struct basis *b);

#endif
