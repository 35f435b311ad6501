/*
 * Parts that hold, for policies that stop programs by them: the core ends a hold that is not said
 * again, and calls a program starved that is held for as long as one may be frozen. So a program
 * that is held for long may launch for a moment now and then. Pure, stateless.
 */
#ifndef COT_POLICY_HOLDING_H
#define COT_POLICY_HOLDING_H

#include "policy/placing.h"

/* Half of what the core calls starving, and long enough for a message and some launches. Our
 * choices. */
#define HOLDING_MAX_NS	  (5 * COT_NS_PER_S)
#define HOLDING_RELIEF_NS (50 * COT_NS_PER_MS)

/*
 * placing_place(), and again with every tick while `part` holds. *held_ns is since when it does; 0
 * at first. Brings *wake_ns forward to when it has to be said again.
 */
void cot_holding_place(struct cot_policy *p, struct cot_tenant *t, struct cot_part part,
		       uint64_t *held_ns, uint64_t *wake_ns);

#endif
