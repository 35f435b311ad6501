#include <string.h>

#include "policy/policies.h"

/* The one list of software policies. */
const struct cot_policy_ops *const cot_policies[] = {
	&cot_policy_pools,	 &cot_policy_rotate,	   &cot_policy_smguard,
	&cot_policy_effisha,	 &cot_policy_static,	   &cot_policy_parts,
	&cot_policy_smqos,	 &cot_policy_slo,	   &cot_policy_laius,
	&cot_policy_laius_paper, &cot_policy_laius_nb,	   &cot_policy_laius_nc,
	&cot_policy_laius_peak,	 &cot_policy_baymax,	   &cot_policy_mps_even,
	&cot_policy_mps_double,	 &cot_policy_mps_priority, &cot_policy_consolidate,
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

/*
 * Measured on one H200, driver 580. [table] is results/h200/2026-11-20/live/table.md; the
 * others are from probes made before it.
 */
void cot_policy_config_init(struct cot_policy_config *config)
{
	*config = (struct cot_policy_config){
		/* With 10 ms a request is over before its slice is. */
		.latency_slice_us = 10000,
		/* [table, "The batch pool's slice"] The p99 of a request is 0.413 ms with 20 us,
		 * 0.444 with 100 and 2.432 with 2000, and the batch programs do the same (0.93,
		 * 0.92 and 0.94): what costs is the switch, not the slice. */
		.batch_slice_us = 20,
		/* Two batch programs that are switched between keep 90 % of their speed with 2000
		 * us, 23 % with 100 us. */
		.equal_slice_us = 2000,
		/* Long against the gaps between requests, so that slices do not change with every
		 * request. Our choice. */
		.linger_ns = 1 * COT_NS_PER_S,
		/* Turns of 50 ms keep 88 % of the speed at a freeze and a thaw of 1 ms each. */
		.turn_ns = 50 * COT_NS_PER_MS,
		/* Half of what the core calls starving. Our choice. */
		.cycle_ns = 5 * COT_NS_PER_S,
		/* [table, "Switch against drain"] Draining gives the better p99 with blocks of 20
		 * us (0.429 against 0.509 ms) and of 100 us (0.460 against 0.471), and with longer
		 * ones no longer (1000 us: 0.825 against 0.474). */
		.drain_block_us = 100,
		/* The paper reserves 8 of 13 SMs. */
		.reserve_permille = 615,
		/* An eviction takes as long as a task, and some tens of microseconds to reach the
		 * workers: the limit admits tasks that are not much longer than that. We chose this
		 * value and the next. */
		.adapt_task_us = 200,
		.grow_after_ns = 100 * COT_NS_PER_US,
		/* Half: of 132 SMs batch programs have 64, in units of 8. In a probe a GEMM keeps
		 * 0.63 of its rate on them, and 0.81 on 96, where the p99 of requests at high load
		 * is 1.87 times that alone instead of 1.30. */
		.latency_permille = 500,
		.pace_us = 0,
		/* A margin for what predictions miss. Our choice. */
		.bandwidth_permille = 900,
		/* Programs that a script starts come further apart than launches: long enough for
		 * two of a barrier, too short to be noticed. Our choice. */
		.gather_ns = 2 * COT_NS_PER_MS,
		.aim = COT_AIM_ENERGY,
		/* What predictions miss. Our choice. */
		.min_gain_permille = 20,
		/* An H200: idle_w and lambda_w of scenarios/models/h200.yaml. */
		.base_w = 118,
	};
}
