/* The search for another process of programs whose process has ended. */
#ifndef COT_DAEMON_OUTLIVE_H
#define COT_DAEMON_OUTLIVE_H

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/loop.h"

struct roster;
struct tenant;

struct outlive {
	pid_t pid;		  /* of the child; 0: there is none */
	struct cot_source source; /* the socket to it, while it `is_there` */
	bool is_there, asked;
	struct cot_timer timer; /* a pause */
};

/* Begins the child, so that no search has to. Without it the first one does. */
void cot_outlive_begin(struct roster *r);
/* Its process has ended: looks for another one, else cot_tenant_end() follows. */
void cot_outlive_search(struct tenant *t);
/* SIGCHLD came. */
void cot_outlive_reap(struct roster *r);
void cot_outlive_end(struct roster *r);

#endif
