#include "policy/shared.h"

uint64_t cot_policy_latency_gpus(const struct cot_policy *p, uint64_t *wake_ns)
{
	const struct cot_entity *e;
	uint64_t gpus = 0;

	cot_for_each_entity (e, p) {
		uint64_t until_ns;

		if (e->cls != COT_CLASS_LATENCY || e->held)
			continue;
		if (e->activity == COT_ACTIVITY_IDLE) {
			until_ns = e->activity_since_ns + p->config->linger_ns;
			if (!e->n_tenants || until_ns <= p->now_ns)
				continue;
			policy_earlier(wake_ns, until_ns);
		}
		gpus |= e->gpu_mask;
	}
	return gpus;
}

enum cot_mode cot_policy_batch_mode(const struct cot_policy *p, const struct cot_entity *e)
{
	return e->block_us && e->block_us <= p->config->drain_block_us ? COT_MODE_DRAIN
								       : COT_MODE_SWITCH;
}
