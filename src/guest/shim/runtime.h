/*
 * The two threads of the shim, started by runtime.c: listen.c listens to the daemon and writes
 * flags, watch.c waits for the ends of launches.
 */
#ifndef COT_GUEST_SHIM_RUNTIME_H
#define COT_GUEST_SHIM_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

struct cot_shim_slot;
struct cot_shim_work;

/* With the lock: starts the threads if they are not there; false: they cannot be started. */
bool cot_shim_runtime_start(void);
/* With the lock: the slot's launch has been made; has been ended by eviction; has ended. */
void cot_shim_runtime_watch(struct cot_shim_slot *s);
void cot_shim_runtime_pause(struct cot_shim_slot *s, uint32_t left);
void cot_shim_runtime_ended(struct cot_shim_slot *s);
void cot_shim_runtime_forget(void); /* after fork() */

/* With the lock: one more thread, which has the lock when it begins and ends. False: it could not
 * be made. */
bool cot_shim_runtime_start_one(void (*body)(void));

/* The threads; they hold the lock but while they wait. */
void cot_shim_listen(void);
void cot_shim_watch(void);

/* With the lock: the first launch of the work that runs, or waits in its stream; NULL. */
struct cot_shim_slot *cot_shim_watch_first(const struct cot_shim_work *w);
void cot_shim_watch_forget(void); /* after fork() */

#endif
