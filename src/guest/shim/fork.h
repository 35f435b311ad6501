/* How the shim begins, and what the child of a fork() forgets. */
#ifndef COT_GUEST_SHIM_FORK_H
#define COT_GUEST_SHIM_FORK_H

#include "guest/shim/driver.h"

/* The first call that is not only passed on. False: the shim could not notice a child of fork(). */
bool cot_shim_begin(void);
static inline bool cot_shim_is_on(void)
{
	return cot_shim_is_asked() &&
	       (COT_LIKELY(atomic_load(&cot_shim_state) == COT_SHIM_ON) || cot_shim_begin());
}

/* Whether its kernels are to be rewritten. */
static inline bool cot_shim_rewrites(void)
{
	return (cot_shim_settings.rewrites || cot_shim_settings.merges) && cot_shim_is_on();
}

#endif
