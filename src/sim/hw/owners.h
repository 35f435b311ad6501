/*
 * SMs that belong to applications rather than to kernels: the owner of an SM lasts from one launch
 * to the next. For schedulers that divide the GPU by goals (SMQoS, Spart). Stateless; the table is
 * part of a scheduler's state.
 */
#ifndef COT_SIM_HW_OWNERS_H
#define COT_SIM_HW_OWNERS_H

#include "sim/hw/hw.h"

#define HW_NOBODY 0xffu

struct hw_owners {
	bool made;
	uint8_t of[COT_MAX_SMS];
};

/* Whether an app has been promised something; without, there is nothing to divide SMs by. */
bool hw_has_goal(const struct hw *hw, uint32_t app);
bool hw_any_goal(const struct hw *hw);

/* Equal shares; what is left over goes to apps with a goal first, then in order. */
void hw_owners_make(struct hw *hw, struct hw_owners *o);

uint32_t hw_owners_count(const struct hw *hw, const struct hw_owners *o, uint32_t app);

/* Of `from`'s SMs the one that is cheapest to vacate goes to `to`; either may be HW_NOBODY. False
 * when `from` has none. */
bool hw_owners_move(struct hw *hw, struct hw_owners *o, uint32_t from, uint32_t to);

/* Makes SMs work for their owners, as far as these have blocks; SMs without an owner lose their
 * power. */
void hw_owners_apply(struct hw *hw, const struct hw_owners *o);

#endif
