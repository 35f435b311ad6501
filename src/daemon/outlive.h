/* The search for another process of programs whose process has ended. */
#ifndef COT_DAEMON_OUTLIVE_H
#define COT_DAEMON_OUTLIVE_H

#include <stdbool.h>

#include "daemon/watch.h"

struct roster;
struct tenant;

struct outlive {
	struct watch child;
	int out; /* what it has found, one `struct heir` each */
	struct cot_timer timer;
};

/* Its process has ended: looks for another one, else cot_tenant_end() follows. */
void cot_outlive_search(struct tenant *t);
/* As cot_watch_reap(). */
bool cot_outlive_reap(struct roster *r);

#endif
