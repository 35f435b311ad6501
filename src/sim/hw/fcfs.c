/*
 * FCFS: the GPU of the paper's baseline (Tanasic et al., section 2.3). One context at a time owns
 * the execution engine. Launches are taken strictly in order of arrival; while the oldest waiting
 * one belongs to the owner it joins the running kernels and gets the SMs that they leave
 * (back-to-back execution); a foreign one waits for the engine to be empty, and holds back those
 * behind it.
 */
#include "sim/hw/common.h"
#include "sim/hw/scheds.h"

static void schedule(struct hw *hw, unsigned events)
{
	struct hw_command *c;

	(void)events;
	while ((c = hw_pending(hw)) && !hw_active_full(hw)) {
		if (hw_active(hw) && hw_active(hw)->context != c->context)
			break;
		(void)hw_admit(hw, c);
	}
	hw_fill_in_order(hw, NULL, NULL);
}

const struct hw_sched_ops hw_sched_fcfs = {
	.name = "fcfs",
	.summary = "one program at a time, in order of arrival, kernels run to the end",
	.schedule = schedule,
};
