/* Longer slices for batch entities while all programs with a p99 target have time to spare. */
#include <cotenant/policy.h>

extern const struct cot_policy_ops policy_keep;

struct keep_tenant {
	bool relaxed;
};

static void requests(struct cot_policy *p, struct cot_tenant *t, const struct cot_window *w)
{
	struct keep_tenant *own = t->own;
	uint64_t target_ns = t->target.amount * COT_NS_PER_US;

	(void)p;
	if (t->target.kind != COT_TARGET_P99 || w->horizon != COT_HORIZON_1S || !w->response.n)
		return;
	if (w->response.p99_ns > target_ns * 9 / 10)
		own->relaxed = false;
	else if (w->response.p99_ns < target_ns / 2)
		own->relaxed = true;
}

static bool has_time(const struct cot_policy *p)
{
	const struct keep_tenant *own;
	struct cot_tenant *t;

	cot_for_each_tenant (t, p) {
		own = t->own;
		if (t->cls == COT_CLASS_LATENCY && !own->relaxed)
			return false;
	}
	return true;
}

static uint64_t tick(struct cot_policy *p)
{
	bool relaxed = has_time(p);
	struct cot_entity *e;

	cot_for_each_entity (e, p) {
		uint32_t slice_us = p->config->latency_slice_us;

		if (e->cls == COT_CLASS_BATCH)
			slice_us = relaxed ? p->config->equal_slice_us : p->config->batch_slice_us;
		(void)cot_set_slice(p, e, slice_us);
		(void)cot_thaw(p, e);
	}
	return COT_NEVER;
}

static const struct cot_measure_ops measures = {.requests = requests};

const struct cot_policy_ops policy_keep = {
	.name = "keep",
	.summary = "longer slices for batch programs while targets allow it",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.tenant_bytes = sizeof(struct keep_tenant),
	.measures = &measures,
	.tick = tick,
};
