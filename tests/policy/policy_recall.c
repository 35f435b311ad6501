/* A latency program whose requests were long in an earlier run does not delay the others' short
 * ones: it goes to the batch pool. */
#include <cotenant/policy.h>

extern const struct cot_policy_ops policy_recall;

#define KIND_SERVICE 0x72656301u /* value[0]: half of its requests took so long, in us */
#define LONG_US	     50000u

static uint32_t service_us(const struct cot_policy *p, const struct cot_tenant *t)
{
	const struct cot_lesson *l = cot_lesson_find(p, t->key, KIND_SERVICE);

	return l ? l->value[0] : 0;
}

static enum cot_home home(const struct cot_policy *p, const struct cot_tenant *t)
{
	return service_us(p, t) > LONG_US ? COT_HOME_BATCH : COT_HOME_CLASS;
}

static void requests(struct cot_policy *p, struct cot_tenant *t, const struct cot_window *w)
{
	struct cot_lesson l = {.key = t->key, .kind = KIND_SERVICE};

	if (!t->key || w->horizon != COT_HORIZON_60S || w->service.n < 10)
		return;
	l.value[0] = (uint32_t)(w->service.p50_ns / COT_NS_PER_US);
	(void)cot_learn(p, &l);
}

static unsigned explain(const struct cot_policy *p, const struct cot_tenant *t,
			struct cot_fact *facts, unsigned max)
{
	uint32_t us = service_us(p, t);

	if (!us || !max)
		return 0;
	facts[0] = (struct cot_fact){
		.name = "a request takes",
		.text = us > LONG_US ? "so long that it starts in the batch pool" : NULL,
		.value = us,
		.unit = COT_FACT_US,
	};
	return 1;
}

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

static const struct cot_measure_ops measures = {.requests = requests};

const struct cot_policy_ops policy_recall = {
	.name = "recall",
	.summary = "programs whose requests were long go to the batch pool",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.measures = &measures,
	.tick = tick,
	.home = home,
	.explain = explain,
};
