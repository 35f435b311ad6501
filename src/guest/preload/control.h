/* The control thread of libcotenant.so: carries the daemon's orders out. */
#ifndef COT_GUEST_PRELOAD_CONTROL_H
#define COT_GUEST_PRELOAD_CONTROL_H

#include <stdbool.h>

#include "cuda/rm/rm.h"
#include "guest/env.h"

/* Something changed among the groups. Starts the thread at the first call, wakes it later. */
void cot_control_notify(void);
void cot_control_init(struct cot_rm *rm, const struct cot_settings *settings);
/* A program's thread waits a moment for the thaw. False: it has waited long enough. */
bool cot_control_wait(void);
/* Whether the program's requests are measured; at the first call the daemon is asked to do so. */
bool cot_control_measures(void);
/* In the child of a fork: the parent's thread, socket and page are not its own. */
void cot_control_forget(void);

#endif
