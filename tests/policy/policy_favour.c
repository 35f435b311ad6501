/* The smallest useful policy: long slices for latency entities, short ones for batch entities. */
#include <cotenant/policy.h>

extern const struct cot_policy_ops policy_favour;

static uint64_t tick(struct cot_policy *p)
{
	struct cot_entity *e;

	cot_for_each_entity (e, p) {
		uint32_t slice_us = p->config->batch_slice_us;

		if (e->cls == COT_CLASS_LATENCY)
			slice_us = p->config->latency_slice_us;
		(void)cot_set_slice(p, e, slice_us);
		(void)cot_thaw(p, e);
	}
	return COT_NEVER;
}

const struct cot_policy_ops policy_favour = {
	.name = "favour",
	.summary = "long slices for latency programs, short ones for batch programs",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.tick = tick,
};
