/*
 * NPQ, non-preemptive priority queues (Tanasic et al., section 4.2): one context owns the engine as
 * under FCFS, but when the engine is empty the waiting launch with the highest priority goes next
 * (ties: the one that arrived first). A launch of the owner joins back-to-back only while it is the
 * best of those waiting.
 */
#include "sim/hw/common.h"
#include "sim/hw/scheds.h"

static void schedule(struct hw *hw, unsigned events)
{
	struct hw_command *c;

	(void)events;
	while ((c = hw_best_pending(hw)) && !hw_active_full(hw)) {
		if (hw_active(hw) && hw_active(hw)->context != c->context)
			break;
		(void)hw_admit(hw, c);
	}
	hw_fill_in_order(hw, NULL, NULL);
}

const struct hw_sched_ops hw_sched_npq = {
	.name = "npq",
	.summary = "as fcfs, but the most important waiting program goes next",
	.schedule = schedule,
};
