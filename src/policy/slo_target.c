/*
 * Another target, while programs run. What rungs used of the old one they use of the new one, in
 * another measure.
 *
 *      longer:   what failed is forgotten, unless it misses this one, too
 *      shorter:  failures stay; what was good may be so no longer
 *
 * Of several programs another may have used the most: under a longer target of one of them rungs
 * keep what they are known to use, and seconds are seen anew.
 */
#include "policy/slo.h"

static uint32_t scaled(uint32_t use, uint32_t by, uint32_t of)
{
	uint64_t x = (uint64_t)use * by / of;

	/* 0 would say that it is not known. */
	return use && !x ? 1 : x < UINT32_MAX ? (uint32_t)x : UINT32_MAX;
}

/* A failure that misses the longer target, too, stays one. */
static void ease_rung(struct slo_rung *r)
{
	if (r->failed_use > 1000)
		return;
	r->n_failed = r->failed_load = 0;
	r->until_ns = 0;
}

void cot_slo_climb_target(struct slo_climb *c, uint32_t from, uint32_t to, bool only)
{
	uint32_t i, of = to ? to : 1;

	for (i = 0; i < SLO_RUNGS_MAX; i++) {
		struct slo_rung *r = &c->rungs[i];

		r->failed_use = scaled(r->failed_use, from, of);
		if (only || from > to)
			r->use = scaled(r->use, from, of);
		if (from < to)
			ease_rung(r);
	}
	c->missing_since_ns = c->near_since_ns = c->far_since_ns = 0;
	if (only || from > to) {
		c->peak = scaled(c->peak, from, of);
		c->sum_fast = c->sum_fast * from / of;
	} else {
		c->peak = c->n_seen = 0;
		c->sum_fast = c->n_fast = c->n_over = 0;
	}
	c->eased = from < to;
	c->tightened = from > to;
	if (!c->eased)
		return;
	if (c->why == SLO_WHY_HOPELESS)
		c->why = SLO_WHY_EASED;
	c->hopeless = c->nearly = false;
	c->n_hopeless = c->n_nothing = 0;
	c->no_freeze_until_ns = 0;
}

/* Its target was `was`, and what it used of that is known. */
static void follow_target(struct cot_policy *p, struct cot_tenant *t, struct cot_target was)
{
	struct cot_tenant before = *t;
	uint64_t gpus;
	uint32_t from, to;

	before.target = was;
	from = cot_slo_target_us(&before, slo_of(t)->alone_p99_us);
	to = cot_slo_target_us(t, slo_of(t)->alone_p99_us);
	/* A smaller part of the rate is like a longer time. */
	if (was.kind == COT_TARGET_RATE && t->target.kind == COT_TARGET_RATE) {
		from = t->target.amount;
		to = was.amount;
	}
	for (gpus = t->gpu_mask; gpus; gpus &= gpus - 1) {
		struct slo_gpu *g = &slo_state(p)->gpus[__builtin_ctzll(gpus)];

		if (from && to) {
			cot_slo_climb_target(&g->climb, from, to, g->n_latency == 1);
			continue;
		}
		cot_slo_climb_crowd(&g->climb, SLO_RUNGS_MAX, p->now_ns);
		g->climb.why = SLO_WHY_AIMED;
	}
}

void cot_slo_target_changed(struct cot_policy *p, struct cot_tenant *t)
{
	struct cot_target was = slo_of(t)->aim;

	if (was.kind == t->target.kind && was.amount == t->target.amount)
		return;
	slo_of(t)->aim = t->target;
	slo_of(t)->aimed_ns = p->now_ns;
	/* Its time alone was measured, and now it is its rate; or the other way round. */
	if ((was.kind == COT_TARGET_RATE) != (t->target.kind == COT_TARGET_RATE)) {
		slo_of(t)->alone_ns = 0;
		slo_of(t)->n_alone = 0;
	}
	if (t->cls == COT_CLASS_LATENCY)
		follow_target(p, t, was);
}
