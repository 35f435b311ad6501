#include "sim/hw/common.h"

void hw_fill_in_order(struct hw *hw, hw_filter_fn *may, const void *arg)
{
	struct hw_kernel *k;
	struct hw_sm *sm;

	hw_for_each_active (k, hw) {
		if (may && !may(k, arg))
			continue;
		while (k->issue && hw_unissued(k) && hw_may_take(hw, k) &&
		       (sm = hw_idle_sm_for(hw, k)))
			hw_assign(hw, sm, k);
	}
}

void hw_admit_all(struct hw *hw)
{
	while (hw_pending(hw) && !hw_active_full(hw))
		(void)hw_admit(hw, hw_pending(hw));
}

struct hw_command *hw_best_pending(struct hw *hw)
{
	struct hw_command *c, *best = NULL;

	hw_for_each_pending (c, hw)
		if (!best || c->priority > best->priority)
			best = c;
	return best;
}
