/*
 * `laius`: which SMs are kept free for the next request, because kernels cannot be taken off their
 * SMs: on an H200 the published method kept no target of four, with kernels of batch programs of 1
 * to 5 ms beside requests of 0.1 to 1 ms (results/h200/2026-11-23/laius).
 *
 *  - A program's *patience* is how much longer a request may take that comes when nothing is
 * queued, if the target is to be kept by it and by those that queue behind it. Batch programs whose
 *    kernels would be in the way for longer stay *apart*: below the SMs that requests need, whether
 *    there is a request or not. Otherwise they have all SMs between requests, as in the paper.
 *  - Where no batch program does anything, a request has all SMs.
 */
#include "policy/laius_inside.h"
#include "policy/shared.h"

/* Our choices. */
#define REST_NS		COT_NS_PER_S	   /* a batch program that launches nothing is at rest */
#define TOLD_NS		(3 * COT_NS_PER_S) /* one that launches is told of once a second */
#define EXPECTED_GAPS	8u		   /* for so long another request is expected */
#define EXPECTED_MAX_NS (60 * COT_NS_PER_S)

/* ---- who is there ---- */

static bool has_query(const struct cot_policy *p, const struct cot_tenant *t)
{
	const struct cot_query *q;

	cot_for_each_query(q, p) if (q->tenant == t && !laius_query(q)->lost) return true;
	return false;
}

static bool is_expected(const struct cot_policy *p, const struct cot_tenant *t, uint64_t *wake_ns)
{
	const struct laius_flow *f = cot_laius_flow(t);
	uint64_t since_ns = f->last_ns ? f->last_ns : f->since_ns;
	uint64_t for_ns = EXPECTED_GAPS * f->gaps.mean_ns;

	if (has_query(p, t))
		return true;
	if (!f->last_ns)
		for_ns = EXPECTED_MAX_NS;
	for_ns = for_ns < EXPECTED_MAX_NS ? for_ns : EXPECTED_MAX_NS;
	for_ns = for_ns > p->config->linger_ns ? for_ns : p->config->linger_ns;
	if (since_ns + for_ns <= p->now_ns)
		return false;
	policy_earlier(wake_ns, since_ns + for_ns);
	return true;
}

/* What launches nothing although it may is at rest, also where that is told again and again: a
 * change of its part is a reason to tell it. */
static bool is_at_work(const struct cot_policy *p, const struct cot_tenant *t, uint64_t *wake_ns)
{
	const struct laius_stay *s = cot_laius_stay(t);
	uint64_t told_ns = t->launches.n ? t->launches.at_ns + TOLD_NS : 0;
	uint64_t until_ns = s->free_ns + REST_NS;

	if (!policy_lingers(p, t, s->idle_ns, p->config->linger_ns, wake_ns))
		return false;
	if (!t->launches.at_ns || !s->free_ns)
		return true;
	until_ns = until_ns > told_ns ? until_ns : told_ns;
	if (until_ns <= p->now_ns)
		return false;
	policy_earlier(wake_ns, until_ns);
	return true;
}

static bool has_left(const struct cot_policy *p, const struct cot_tenant *t, uint64_t *wake_ns)
{
	struct laius_stay *s = cot_laius_stay(t);

	if (!s->leaves_ns)
		return false;
	if (s->leaves_ns > p->now_ns) {
		policy_earlier(wake_ns, s->leaves_ns);
		return false;
	}
	s->leaves_ns = 0;
	return true;
}

/* Whether the next request of its program would have come by now. */
static bool has_rested(const struct cot_policy *p, const struct cot_tenant *t, uint64_t *wake_ns)
{
	struct laius_flow *f = cot_laius_flow(t);

	if (!f->kept)
		return false;
	if (f->left_ns + LAIUS_NEXT_NS > p->now_ns) {
		policy_earlier(wake_ns, f->left_ns + LAIUS_NEXT_NS);
		return false;
	}
	f->kept = false;
	return true;
}

uint64_t cot_laius_notice(struct cot_policy *p, uint64_t *wake_ns)
{
	struct cot_tenant *t;
	uint64_t gpus = 0;

	cot_for_each_tenant (t, p) {
		struct laius_program *own = laius_program(t);
		bool latency = t->cls == COT_CLASS_LATENCY, counts, left;

		cot_laius_renew(t);
		counts = latency ? is_expected(p, t, wake_ns) : is_at_work(p, t, wake_ns);
		left = latency ? has_rested(p, t, wake_ns) : has_left(p, t, wake_ns);
		if (counts != own->counts || left)
			gpus |= t->gpu_mask & -t->gpu_mask;
		own->counts = counts;
	}
	return gpus;
}

/* Before its first request: what one needs is predicted for the largest. */
static void guess(const struct cot_tenant *t)
{
	const struct cot_prediction *rows = t->predictions;
	uint32_t n = t->n_predictions, x = 0;
	struct laius_flow *f = cot_laius_flow(t);
	uint64_t target_ns = 0, patience_ns;

	if (f->last_ns || !n)
		return;
	if (t->target.kind == COT_TARGET_P99)
		target_ns = t->target.amount * COT_NS_PER_US;
	else if (t->target.kind == COT_TARGET_SLOWDOWN)
		target_ns = rows[n - 1].duration_ns / 1000 * t->target.amount;
	if (!target_ns)
		return;
	while (x + 1 < n && rows[x].duration_ns > target_ns)
		x++;
	patience_ns = target_ns > rows[n - 1].duration_ns ? target_ns - rows[n - 1].duration_ns : 0;
	f->need.sms = f->now.sms = rows[x].sms;
	f->need.patience_us = f->now.patience_us = (uint32_t)(patience_ns / COT_NS_PER_US);
}

/* ---- dealing ---- */

/* Batch programs keep a unit. */
static uint32_t roof_over(const struct placing *l, uint32_t sms)
{
	uint32_t roof = sms < l->top ? cot_placing_begin_of(l, l->top, sms) : 0;

	if (roof && l->top - roof < sms)
		roof = cot_placing_begin_of(l, roof, 1);
	if (roof < l->bottom + l->unit)
		roof = cot_placing_round(l, l->bottom + l->unit);
	return roof < l->top ? roof : l->top;
}

void cot_laius_look(struct laius_deal *d)
{
	uint64_t patience_ns = COT_NEVER, rate = 0, ns;
	const struct cot_tenant *t;
	bool at_work = false;
	uint32_t sms = 0;

	cot_for_each_tenant (t, d->p) {
		if (!placing_is_dealt(d->p, d->l, t))
			continue;
		if (t->cls == COT_CLASS_LATENCY)
			guess(t);
		if (t->cls == COT_CLASS_BATCH) {
			at_work |= laius_program(t)->counts;
			ns = cot_laius_drain_ns(t, d->l->top - d->l->bottom);
			d->drain_ns = ns > d->drain_ns ? ns : d->drain_ns;
		} else if (laius_program(t)->counts && cot_laius_flow(t)->need.sms) {
			const struct laius_need *need = &cot_laius_flow(t)->need;

			sms += need->sms;
			rate += need->rate_mb ? (uint64_t)need->rate_mb * LAIUS_BYTES_PER_MB
					      : laius_unknown_rate(d->p, need->sms, d->l->n_sms);
			policy_earlier(&patience_ns, need->patience_us * COT_NS_PER_US);
		}
	}
	d->quiet = !at_work;
	d->apart = sms && d->drain_ns > patience_ns;
	d->roof = sms && (d->apart || d->quiet) ? roof_over(d->l, sms) : d->l->top;
	d->floor = d->apart && at_work ? d->roof : d->l->bottom;
	d->taken = d->apart ? rate : 0;
	d->pace_us = sms && at_work && !d->apart ? LAIUS_PACE_US : 0;
}
