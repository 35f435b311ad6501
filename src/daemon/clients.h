/* How many clients the MPS servers of a pool have, as MPS says. */
#ifndef COT_DAEMON_CLIENTS_H
#define COT_DAEMON_CLIENTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/watch.h"

struct pool;

/* A question to MPS on its way. */
struct clients {
	bool asked;
	struct watch command; /* one that asks */
	int out;	      /* what it answers */
	struct cot_timer limit;
	pid_t servers[8];
	int n_servers, next; /* next: -1 = the list of servers has not come yet */
	int n;		     /* until now */
	void (*done)(struct pool *p, int n);
};

/* done(p, n) follows, at the earliest before this returns: the clients of the pool's servers, or -1
 * when that cannot be known. If several ask at once, only the last one gets the answer. */
void cot_clients_ask(struct pool *p, void (*done)(struct pool *p, int n));
/* Process numbers, one a line: how many there are, or -EINVAL for anything else. */
int cot_clients_parse(const char *text, pid_t *ret_pids, unsigned size);
bool cot_clients_reap(struct pool *p); /* as cot_watch_reap() */

#endif
