/*
 * What is known of an application before it runs: how long its runs and their kernels take alone on
 * each size of part, for a policy with `queries`. Measured by a *sweep*: one run of each size of
 * input on each size of part, in simulations of their own.
 *
 * A sweep ends after a number of instants, so that it takes seconds at most: plans of what it has
 * not seen whole are missing, and of runs that it has seen in part the rate counts.
 */
#ifndef COT_SIM_KNOWN_H
#define COT_SIM_KNOWN_H

#include <cotenant/policy.h>

#include "base/error.h"
#include "trace/scenario.h"

struct cot_sim_known {
	uint32_t n_quotas;
	uint32_t sms[COT_QUOTAS_MAX];
	/* One for each size of part; durations are means over the app's sizes. */
	uint32_t n_rows;
	struct cot_prediction rows[COT_QUOTAS_MAX];
	/* Of an app of class latency one for each size of its inputs (0: it has none). */
	uint32_t n_plans;
	uint32_t sizes[COT_SIZES_MAX];
	struct cot_plan plans[COT_SIZES_MAX];
	uint64_t *cells; /* of the plans */
};

/* -ENOMEM. */
int cot_sim_known_sweep(const struct cot_scenario *sc, uint32_t app,
			struct cot_sim_known **ret_known);
void cot_sim_known_destroy(struct cot_sim_known *known);
/* NULL: nothing is known of this size. */
const struct cot_plan *cot_sim_known_plan(const struct cot_sim_known *known, uint32_t size);

#endif
