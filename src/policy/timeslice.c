/*
 * Does nothing: what a GPU does by itself. Every entity gets the driver's own slice (2048 us on an
 * H200) and all take turns. The yardstick for the other policies, and what the core falls back to.
 */
#include <cotenant/policy.h>

static uint64_t tick(struct cot_policy *p)
{
	struct cot_entity *e;

	/* Another policy may have been at work before. */
	cot_for_each_entity (e, p) {
		(void)cot_thaw(p, e);
		(void)cot_set_slice(p, e, COT_SLICE_DRIVER);
		(void)cot_set_mode(p, e, COT_MODE_SWITCH);
	}
	return COT_NEVER;
}

const struct cot_policy_ops cot_policy_timeslice = {
	.name = "timeslice",
	.summary = "leave it to the driver: equal slices, every program in turn",
	.abi = COT_POLICY_ABI,
	.tick = tick,
};
