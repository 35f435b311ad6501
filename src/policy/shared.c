#include "policy/shared.h"

#include "policy/turns.h"

uint64_t cot_policy_query_target_ns(const struct cot_query *q)
{
	const struct cot_target *target = &q->tenant->target;
	const struct cot_plan *plan = q->plan;

	if (target->kind == COT_TARGET_P99)
		return target->amount * COT_NS_PER_US;
	if (target->kind == COT_TARGET_SLOWDOWN && plan)
		return (q->in_ns + plan->query_ns[plan->n_quotas - 1] + q->out_ns) / 1000 *
		       target->amount;
	return 0;
}

uint64_t cot_policy_latency_gpus(const struct cot_policy *p, uint64_t *wake_ns)
{
	const struct cot_entity *e;
	const struct cot_tenant *t;
	uint64_t gpus = 0;

	cot_for_each_tenant (t, p)
		if (t->cls == COT_CLASS_LATENCY && !t->entity && t->activity != COT_ACTIVITY_IDLE)
			gpus |= t->gpu_mask;
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

static uint32_t slice_us(const struct cot_policy *p, enum cot_class cls, uint64_t gpu_mask,
			 uint64_t latency_gpus, uint64_t loose_gpus)
{
	if (!(gpu_mask & latency_gpus))
		return p->config->equal_slice_us;
	if (cls == COT_CLASS_LATENCY)
		return p->config->latency_slice_us;
	return gpu_mask & loose_gpus ? p->config->equal_slice_us : p->config->batch_slice_us;
}

uint32_t cot_policy_first_slice(const struct cot_policy *p, enum cot_class cls, uint64_t gpu_mask)
{
	uint64_t wake_ns = COT_NEVER, latency_gpus = cot_policy_latency_gpus(p, &wake_ns);

	if (cls == COT_CLASS_LATENCY)
		latency_gpus |= gpu_mask;
	return slice_us(p, cls, gpu_mask, latency_gpus, cot_turns_loose_gpus(p));
}

static enum cot_mode mode(const struct cot_policy *p, const struct cot_entity *e,
			  uint64_t latency_gpus)
{
	/* `block_us` is 0 unless it is known of every program. */
	if (e->cls == COT_CLASS_BATCH && (e->gpu_mask & latency_gpus) && e->block_us &&
	    e->block_us <= p->config->drain_block_us)
		return COT_MODE_DRAIN;
	return COT_MODE_SWITCH;
}

void cot_policy_favour_latency(struct cot_policy *p, uint64_t latency_gpus, uint64_t loose_gpus)
{
	struct cot_entity *e;

	cot_for_each_entity (e, p) {
		(void)cot_set_slice(p, e,
				    slice_us(p, e->cls, e->gpu_mask, latency_gpus, loose_gpus));
		(void)cot_set_mode(p, e, mode(p, e, latency_gpus));
	}
}
