#include "policy/shared.h"
#include "policy/slo.h"

/* The core takes a GPU on which all that is active is frozen for a stalled one after 0.5 s. */
#define SERVING_NS (200 * COT_NS_PER_MS)

bool cot_slo_is_active(const struct cot_policy *p, const struct cot_tenant *t, uint64_t *wake_ns)
{
	if (t->entity && t->entity->held)
		return false;
	return policy_lingers(p, t, slo_of(t)->idle_since_ns, p->config->linger_ns, wake_ns);
}

void cot_slo_crowd_mark(struct cot_policy *p)
{
	struct cot_entity *e;
	struct cot_tenant *t;

	cot_for_each_entity (e, p)
		((struct slo_entity *)e->own)->serves = false;
	cot_for_each_tenant (t, p)
		if (t->cls == COT_CLASS_LATENCY && t->entity)
			((struct slo_entity *)t->entity->own)->serves = true;
}

static bool is_serving(const struct cot_policy *p, const struct cot_tenant *t, uint64_t *wake_ns)
{
	const struct cot_entity *e = t->entity;

	if (!e || e->held || e->run == COT_RUN_FREEZING || e->run == COT_RUN_FROZEN)
		return false;
	return policy_lingers(p, t, slo_of(t)->idle_since_ns, SERVING_NS, wake_ns);
}

uint32_t cot_slo_pieces(const struct cot_tenant *t)
{
	uint32_t rest = t->part_sms - t->part_units * t->part_unit;

	return t->part_units + (t->part_unit && rest >= t->part_unit);
}

static void count(const struct cot_policy *p, struct slo_crowd *c, const struct cot_tenant *t,
		  uint64_t *wake_ns)
{
	if (t->cls == COT_CLASS_LATENCY) {
		c->n_latency++;
		c->active |= cot_slo_is_active(p, t, wake_ns);
		c->serving |= is_serving(p, t, wake_ns);
		c->latency_pooled |= t->pool != 0;
	} else {
		c->n_batch++;
		c->inside |= t->entity && slo_serves(t->entity);
		c->batch_pooled |= t->pool != 0;
	}
	if (cot_slo_pieces(t) > c->pieces)
		c->pieces = cot_slo_pieces(t);
}

uint64_t cot_slo_crowd_count(const struct cot_policy *p, struct slo_crowd *crowds,
			     uint64_t *wake_ns)
{
	const struct cot_tenant *t;
	uint64_t gpus, all = 0;

	cot_for_each_tenant (t, p) {
		for (gpus = t->gpu_mask; gpus; gpus &= gpus - 1) {
			unsigned gpu = (unsigned)__builtin_ctzll(gpus);

			if (!(all >> gpu & 1))
				crowds[gpu] = (struct slo_crowd){0};
			all |= 1ull << gpu;
			count(p, &crowds[gpu], t, wake_ns);
		}
	}
	return all;
}

enum slo_topology cot_slo_crowd_topology(const struct slo_crowd *crowd)
{
	if (!crowd->n_latency || !crowd->n_batch)
		return SLO_ALONE;
	if (crowd->inside)
		return SLO_PARTS;
	if (crowd->latency_pooled)
		return SLO_POOLS;
	return crowd->batch_pooled ? SLO_SOLO : SLO_ROTATE;
}

uint32_t cot_slo_crowd_rate(const struct cot_policy *p, uint32_t gpu)
{
	const struct cot_tenant *t;
	uint64_t sum = 0;

	cot_for_each_tenant (t, p) {
		const struct slo_tenant *own = slo_of(t);

		if (t->cls != COT_CLASS_BATCH || !(t->gpu_mask >> gpu & 1))
			continue;
		if (!own->best_rate)
			return 0;
		sum += own->rate < own->best_rate ? own->rate * 1000 / own->best_rate : 1000;
	}
	return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}
