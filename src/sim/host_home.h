/*
 * In which context each application of a hosted simulation is: in one of a pool, or in one of its
 * own. Contexts are numbered by the first application in them.
 *
 * A policy with `home` is asked when an application registers, as the daemon asks it. Programs of a
 * real machine register before they begin, so the applications begin a nanosecond later then.
 */
#ifndef COT_SIM_HOST_HOME_H
#define COT_SIM_HOST_HOME_H

#include "sched/sched.h"
#include "sim/sim.h"
#include "trace/scenario.h"

struct hw_context;

struct host_homes {
	struct cot_scenario *sc; /* `context` and `start_ps` of its applications are set here */
	const struct cot_policy_ops *policy;
	uint64_t register_ps[COT_MAX_APPS];
	uint32_t of_app[COT_MAX_APPS];	   /* entity; 0 = not known yet */
	uint32_t of_context[COT_MAX_APPS]; /* entity; 0 = not used */
};

void cot_sim_host_home_init(struct host_homes *h, struct cot_scenario *sc,
			    const struct cot_policy_ops *policy);
/* Of an application that registers now as `d`, of which everything but the pool is filled in. */
uint32_t cot_sim_host_home_find(struct host_homes *h, struct cot_sched *s, uint32_t app,
				const struct cot_tenant_desc *d);
/* Whether it is an entity of several applications. */
bool cot_sim_host_home_is_pool(uint32_t entity);
uint32_t cot_sim_host_home_context(const struct host_homes *h, uint32_t entity);
/* What a policy has made of it, for observers. */
struct cot_sim_entity cot_sim_host_home_entity(const struct host_homes *h, uint32_t entity,
					       const struct hw_context *c);
/* When the next application after `now_ps` registers; UINT64_MAX. */
uint64_t cot_sim_host_home_due_ps(const struct host_homes *h, uint64_t now_ps);

#endif
