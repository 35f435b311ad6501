/*
 * `laius`: enough for a request is what keeps its target with the wait for the requests before it,
 * predicted from how they came so far (model/wait.h). What is measured corrects what was predicted.
 */
#include "model/quota.h"
#include "policy/laius_inside.h"
#include "policy/shared.h"

/* Our choices. */
#define RAISE_NS (100 * COT_NS_PER_MS) /* a queue that is there takes time to go */
#define APART_NS (10 * COT_NS_PER_S)   /* what is found out by late requests holds for so long */
#define HARDLY	 16u
#define WORST_NS COT_NS_PER_S

void cot_laius_joined(const struct cot_policy *p, const struct cot_tenant *t)
{
	if (t->cls == COT_CLASS_LATENCY)
		cot_laius_flow(t)->since_ns = p->now_ns;
}

void cot_laius_arrive(const struct cot_policy *p, const struct cot_query *q)
{
	struct laius_flow *f;

	(void)p;
	if (q->tenant->cls != COT_CLASS_LATENCY)
		return;
	f = cot_laius_flow(q->tenant);
	if (f->last_ns)
		cot_gaps_add(&f->gaps, q->arrived_ns > f->last_ns ? q->arrived_ns - f->last_ns : 0);
	f->last_ns = q->arrived_ns > f->last_ns ? q->arrived_ns : f->last_ns;
}

/*
 * What the target of requests like this one leaves if they have that quota: so long may those wait
 * that come when nothing is queued. They keep the others waiting that are queued behind them, but
 * not for longer than that: it is once, and not for each of them. False: they miss their target.
 */
static bool leaves(const struct cot_policy *p, const struct cot_query *q, uint32_t quota,
		   uint64_t *ret_ns)
{
	uint64_t target_ns = cot_policy_query_target_ns(q);
	uint64_t need_ns = cot_laius_slow_ns(p, q, quota);
	uint64_t wait_ns =
		cot_wait_p99_ns(cot_laius_mean_ns(p, q, quota), &cot_laius_flow(q->tenant)->gaps);

	need_ns += q->out_ns;
	if (need_ns > target_ns || wait_ns > target_ns - need_ns)
		return false;
	*ret_ns = target_ns - need_ns - wait_ns;
	return true;
}

/* The first that leaves `more_ns`. If none does, the one past which a request takes hardly less:
 * more would help nobody. */
static uint32_t least_quota(const struct cot_policy *p, const struct cot_query *q, uint64_t more_ns)
{
	uint32_t x, last = q->plan->n_quotas - 1;
	uint64_t all_ns = cot_laius_slow_ns(p, q, last), left_ns;

	for (x = 0; x <= last; x++)
		if (leaves(p, q, x, &left_ns) && left_ns >= more_ns)
			return x;
	for (x = 0; cot_laius_slow_ns(p, q, x) > all_ns + all_ns / HARDLY; x++)
		;
	return x;
}

static uint64_t patience_of(const struct cot_policy *p, const struct cot_query *q)
{
	uint64_t left_ns = 0;

	(void)leaves(p, q, q->plan->n_quotas - 1, &left_ns);
	return left_ns;
}

uint32_t cot_laius_enough(const struct laius_deal *d, const struct cot_query *q)
{
	bool own_sms = d->quiet || d->apart;
	uint64_t budget_ns = laius_query(q)->budget_ns, best_ns = COT_NEVER, ns;
	uint32_t least = least_quota(d->p, q, own_sms ? 0 : d->drain_ns), best = least, x;

	/* Fewer than the next ones need are not taken though they are free sooner: the queue would
	 * grow. */
	for (x = least; x < q->plan->n_quotas; x++) {
		ns = cot_laius_slow_ns(d->p, q, x) + cot_laius_stall_ns(d, q->plan->sms[x]);
		if (ns <= budget_ns)
			return x;
		if (ns < best_ns) {
			best_ns = ns;
			best = x;
		}
	}
	return best; /* too late: as soon as it can be */
}

/* Measured: whether too many of the last ones began too late, so that what was predicted to be
 * enough is not. */
static bool are_late(const struct cot_policy *p, struct laius_flow *f, const struct cot_query *q)
{
	if (laius_query(q)->budget_ns >= cot_laius_slow_ns(p, q, least_quota(p, q, 0))) {
		f->late -= (f->late + LAIUS_LATE_OF - 1) / LAIUS_LATE_OF;
		return false;
	}
	f->late += (LAIUS_LATE_ALL - f->late) / LAIUS_LATE_OF;
	if (f->late < LAIUS_LATE_MOST || (f->raised_ns && p->now_ns < f->raised_ns + RAISE_NS))
		return false;
	f->raised_ns = p->now_ns;
	f->late = 0;
	return true;
}

/* So it needs more than that; where batch programs take turns with it on the same SMs, SMs of its
 * own, where it is learned how long requests take. */
static struct laius_need need_of(const struct laius_deal *d, struct laius_flow *f,
				 const struct cot_query *q)
{
	struct laius_need need = {
		.patience_us = (uint32_t)(patience_of(d->p, q) / COT_NS_PER_US),
		.sms = q->plan->sms[least_quota(d->p, q, 0)],
	};
	uint32_t most = q->plan->sms[q->plan->n_quotas - 1];

	if (are_late(d->p, f, q)) {
		if (!d->apart && !d->quiet)
			f->apart_until_ns = d->p->now_ns + APART_NS;
		need.sms = f->need.sms > need.sms ? f->need.sms : need.sms;
		need.sms += need.sms / 4 + 1;
		need.sms = need.sms < most ? need.sms : most;
	}
	if (d->p->now_ns < f->apart_until_ns)
		need.patience_us = 0;
	return need;
}

static void worsen(struct laius_need *to, const struct laius_need *by)
{
	if (!to->sms || by->patience_us < to->patience_us)
		to->patience_us = by->patience_us;
	to->rate_mb = by->rate_mb > to->rate_mb ? by->rate_mb : to->rate_mb;
	to->sms = by->sms > to->sms ? by->sms : to->sms;
}

static void say_need(const struct laius_deal *d, const struct cot_query *q, uint64_t rate)
{
	const struct cot_policy *p = d->p;
	struct laius_flow *f = cot_laius_flow(q->tenant);
	struct laius_need need = need_of(d, f, q);
	uint64_t mb = rate / LAIUS_BYTES_PER_MB;

	need.rate_mb = mb < UINT32_MAX ? (uint32_t)mb : UINT32_MAX;
	if (p->now_ns - f->since_ns >= WORST_NS) {
		f->need = f->now;
		f->now = (struct laius_need){0};
		f->since_ns = p->now_ns;
	}
	worsen(&f->now, &need);
	worsen(&f->need, &need);
}

void cot_laius_begun(const struct laius_deal *d, const struct cot_query *q, uint32_t quota,
		     uint64_t rate)
{
	struct laius_query *own = laius_query(q);

	own->apart = (d->apart || d->quiet) && !cot_laius_stall_ns(d, q->plan->sms[quota]);
	say_need(d, q, rate);
}
