/* What the core and the policy are told of a scenario. Pure. */
#ifndef COT_SIM_HOST_SCENARIO_H
#define COT_SIM_HOST_SCENARIO_H

#include "sched/sched.h"
#include "trace/scenario.h"

/* Whether a software policy can be hosted in it. `policy` NULL: there is none of its name. -EINVAL
 * with a sentence. */
int cot_sim_host_scenario_check(const struct cot_scenario *sc, const struct cot_policy_ops *policy,
				struct cot_error *err);
/* For the policy `parts`, too, how many SMs the scenario leaves to batch programs. `wanted` NULL:
 * the defaults. */
struct cot_policy_config cot_sim_host_scenario_config(const struct cot_scenario *sc,
						      const struct cot_policy_config *wanted);
/* The sizes of parts that can be had, the smallest first, from one unit to all of the GPU; not all
 * of them where there are more than COT_QUOTAS_MAX. Returns how many. */
uint32_t cot_sim_host_scenario_quotas(const struct cot_gpu *gpu, uint32_t ret_sms[COT_QUOTAS_MAX]);
/* An application; its pool is not known here. */
struct cot_tenant_desc cot_sim_host_scenario_tenant(const struct cot_scenario *sc, uint32_t app);
/* That it can be placed. */
struct cot_event cot_sim_host_scenario_parts(const struct cot_scenario *sc, uint32_t app);

#endif
