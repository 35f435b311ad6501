#include <string.h>

#include "policy/policies.h"

/* The one list of software policies. */
const struct cot_policy_ops *const cot_policies[] = {
	&cot_policy_pools,
	&cot_policy_rotate,
	&cot_policy_timeslice,
};
const unsigned cot_n_policies = sizeof(cot_policies) / sizeof(cot_policies[0]);

const struct cot_policy_ops *cot_policy_find(const char *name)
{
	unsigned i;

	for (i = 0; i < cot_n_policies; i++)
		if (!strcmp(cot_policies[i]->name, name))
			return cot_policies[i];
	return NULL;
}

/* Measured on one H200, driver 580: h200-measured.md, the section in brackets. */
void cot_policy_config_init(struct cot_policy_config *config)
{
	*config = (struct cot_policy_config){
		/* [1b] With 10 ms a request is over before its slice is. */
		.latency_slice_us = 10000,
		/* [1] 20, 50 and 100 us give the same latency, since the switch (170 us) dominates;
		 * 2048 us (the driver's own) gives a p99 of 2.0 to 3.3 ms. */
		.batch_slice_us = 100,
		/* [1] Two batch programs keep 90 % of their speed with 2000 us, 23 % with 100 us.
		 */
		.equal_slice_us = 2000,
		/* Long against the gaps between requests (3 to 10 ms in [1] and [2]), so that
		 * slices do not change with every request. Our choice. */
		.linger_ns = 1 * COT_NS_PER_S,
		/* [1] Turns of 50 ms keep 88 % of the speed at a freeze and a thaw of 1 ms each. */
		.turn_ns = 50 * COT_NS_PER_MS,
		/* Half of what the core calls starving. Our choice. */
		.cycle_ns = 5 * COT_NS_PER_S,
		/* [1c] With blocks of 100 us draining and switching give the same latency within
		 * the noise (p99 457 against 421 us), so half of that is safe. */
		.drain_block_us = 50,
	};
}
