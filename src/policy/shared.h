/* What several policies ask of the tables. Pure, stateless. */
#ifndef COT_POLICY_SHARED_H
#define COT_POLICY_SHARED_H

#include <cotenant/policy.h>

static inline void policy_earlier(uint64_t *t_ns, uint64_t candidate_ns)
{
	if (candidate_ns < *t_ns)
		*t_ns = candidate_ns;
}

/*
 * The GPUs on which a latency entity is active, or was within the last config->linger_ns.
 * Brings *wake_ns forward to when that will change by the clock alone.
 */
uint64_t cot_policy_latency_gpus(const struct cot_policy *p, uint64_t *wake_ns);

/* Draining if the longest block is known to be short; else switching. */
enum cot_mode cot_policy_batch_mode(const struct cot_policy *p, const struct cot_entity *e);

#endif
