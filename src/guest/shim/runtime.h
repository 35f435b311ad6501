/* What the two threads of the shim have in common: wait.c, runtime.c, listen.c, watch.c. */
#ifndef COT_GUEST_SHIM_RUNTIME_H
#define COT_GUEST_SHIM_RUNTIME_H

#include <time.h>

#include "guest/shim/shim.h"

/* What one thread waits for and others change. */
struct cot_shim_bell {
	_Atomic uint32_t count, n_waiting;
};

extern struct cot_shim_bell cot_shim_to_watch;
extern struct cot_wake cot_shim_to_listen;
extern _Atomic bool cot_shim_stopping;

void cot_shim_ring(struct cot_shim_bell *b);
/*
 * With the lock, which it lets go of. Looks at the bell without sleeping for `spin_ns` first.
 * False: it is too late.
 */
bool cot_shim_wait_for(struct cot_shim_bell *b, uint64_t until_ns, uint64_t spin_ns);
void cot_shim_pause(uint64_t ns);
struct timespec cot_shim_span(uint64_t ns);

/* The threads; they hold the lock but while they wait. */
void cot_shim_listen(void);
void cot_shim_watch(void);

/* With the lock: the first launch of the work that runs, or waits in its stream; NULL. */
struct cot_shim_slot *cot_shim_watch_first(const struct cot_shim_work *w);
void cot_shim_watch_forget(void); /* after fork() */

#endif
