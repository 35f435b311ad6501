/*
 * `laius`: enough for a request is what keeps its target with the wait for the requests before it,
 * predicted from how they came so far (model/wait.h). What is measured corrects what was predicted.
 */
#include "model/quota.h"
#include "policy/laius_inside.h"
#include "policy/shared.h"

/* Our choices. */
#define RAISE_NS      (100 * COT_NS_PER_MS) /* a queue that is there takes time to go */
#define APART_NS      (10 * COT_NS_PER_S) /* what is found out by late requests holds for so long */
#define APART_MAX_NS  (32 * APART_NS)	  /* at most, if it is found out again and again */
#define HARDLY	      16u
#define PAUSE	      8u /* gaps in the mean */
#define WORST_NS      COT_NS_PER_S
#define TRAIL_OF      16u /* requests, about, that a mean is over */
#define SPARE_OF      14u /* of the target that much is spare, */
#define SPARE_OF_LEFT 3u  /* or that of what all SMs leave of it, if that is less */
#define FALL_OF	      4u  /* of a part that is needed no longer, a second */
#define HALVINGS      8u  /* so patience is known to a 256th */

void cot_laius_joined(const struct cot_policy *p, const struct cot_tenant *t)
{
	if (t->cls == COT_CLASS_LATENCY)
		cot_laius_flow(t)->since_ns = p->now_ns;
}

/* The program was told of another part than it is known to have: it may be on either. */
static void note_place(const struct cot_query *q)
{
	const struct cot_part *has = &q->tenant->part, *told = &laius_program(q->tenant)->part;
	uint16_t has_first = has->n ? has->first : 0, told_first = told->n ? told->first : 0;
	struct laius_query *own = laius_query(q);

	own->low = has_first < told_first ? has_first : told_first;
	own->sms = (uint16_t)(has->n ? has->n : q->tenant->part_sms);
	if (has_first != told_first || has->n != told->n)
		own->sms = 0;
}

/* Who comes again after a long pause may come at other times than before: what warms up comes back
 * to back, say. */
static void note_gap(const struct cot_tenant *t, uint64_t gap_ns)
{
	struct laius_flow *f = cot_laius_flow(t);

	if (!laius_program(t)->counts && f->gaps.n && gap_ns / PAUSE > f->gaps.mean_ns) {
		f->gaps = (struct cot_gaps){0};
		f->late = LAIUS_LATE_FIRST;
		f->trail_milli = 0;
		return;
	}
	cot_gaps_add(&f->gaps, gap_ns);
}

/*
 * It was there when the last one ended: whether it has begun before batch programs that take turns
 * with it have had its SMs. A program that launches from Python takes up its next request later.
 * One that was faster than the word of the last one's end began before that.
 */
static void note_follow(const struct cot_policy *p, const struct cot_query *q)
{
	struct laius_flow *f = cot_laius_flow(q->tenant);
	const struct cot_query *other;
	uint32_t milli;

	if (!f->left_ns || q->arrived_ns >= f->left_ns)
		return;
	/* While another one runs nobody gets in front of it. */
	cot_for_each_query(other, p) if (other->tenant == q->tenant && other != q) return;
	milli = q->began_ns > f->left_ns && p->now_ns - f->left_ns > LAIUS_NEXT_NS ? 1000 : 0;
	f->trail_milli = (uint16_t)((f->trail_milli * (TRAIL_OF - 1) + milli) / TRAIL_OF);
}

void cot_laius_arrive(const struct cot_policy *p, const struct cot_query *q)
{
	struct laius_flow *f;

	if (q->tenant->cls != COT_CLASS_LATENCY)
		return;
	f = cot_laius_flow(q->tenant);
	note_follow(p, q);
	if (f->last_ns)
		note_gap(q->tenant, q->arrived_ns > f->last_ns ? q->arrived_ns - f->last_ns : 0);
	f->last_ns = q->arrived_ns > f->last_ns ? q->arrived_ns : f->last_ns;
	f->kept = false;
	note_place(q);
}

void cot_laius_leave(const struct cot_policy *p, const struct cot_query *q)
{
	struct laius_flow *f;

	if (q->tenant->cls != COT_CLASS_LATENCY)
		return;
	f = cot_laius_flow(q->tenant);
	f->left_ns = p->now_ns;
	/* Where batch programs are apart nobody takes its SMs. */
	f->kept = !laius_query(q)->own_sms;
}

/* How long the slower ones take with that quota, from their arrival, if one that comes when nothing
 * is queued has to wait for `more_ns` first. That keeps the others waiting that are queued behind
 * it, but not for longer than that: it is once, and not for each of them, but for those that batch
 * programs get in front of. */
static uint64_t response_ns(const struct cot_policy *p, const struct cot_query *q, uint32_t quota,
			    uint64_t more_ns)
{
	const struct laius_flow *f = cot_laius_flow(q->tenant);
	uint64_t mean_ns = cot_laius_mean_ns(p, q, quota) + more_ns / 1000 * f->trail_milli;
	uint64_t wait_ns = cot_wait_p99_ns(mean_ns, &f->gaps);

	if (wait_ns == COT_WAIT_FOR_EVER)
		return COT_NEVER;
	return wait_ns + cot_laius_slow_ns(p, q, quota) + q->out_ns + more_ns;
}

/*
 * What is to be kept: less than the target, since a prediction is right in the mean only and the
 * p99 of some seconds scatters around it; a third of what all SMs leave at most, for to aim at what
 * hardly anything keeps would take everything from batch programs for nothing.
 */
static uint64_t aim_ns(const struct cot_policy *p, const struct cot_query *q)
{
	uint64_t target_ns = cot_policy_query_target_ns(q), most_ns = target_ns / SPARE_OF;
	uint64_t best_ns = response_ns(p, q, q->plan->n_quotas - 1, 0), spare_ns;

	if (best_ns >= target_ns)
		return target_ns;
	spare_ns = (target_ns - best_ns) / SPARE_OF_LEFT;
	return target_ns - (spare_ns < most_ns ? spare_ns : most_ns);
}

/* The first that leaves `more_ns` below `aim`. If none does, the one past which a request takes
 * hardly less: more would help nobody. */
static uint32_t least_quota(const struct cot_policy *p, const struct cot_query *q, uint64_t aim,
			    uint64_t more_ns)
{
	uint64_t all_ns = cot_laius_slow_ns(p, q, q->plan->n_quotas - 1);
	uint32_t x;

	for (x = 0; x < q->plan->n_quotas; x++)
		if (response_ns(p, q, x, more_ns) <= aim)
			return x;
	for (x = 0; cot_laius_slow_ns(p, q, x) > all_ns + all_ns / HARDLY; x++)
		;
	return x;
}

/* The longest wait that all SMs leave below `aim`, by halving. */
static uint64_t patience_of(const struct cot_policy *p, const struct cot_query *q, uint64_t aim)
{
	uint64_t left_ns = 0, step_ns = aim / 2;
	unsigned i;

	for (i = 0; i < HALVINGS; i++, step_ns /= 2)
		if (response_ns(p, q, q->plan->n_quotas - 1, left_ns + step_ns) <= aim)
			left_ns += step_ns;
	return left_ns;
}

/* What it gets is for the next one, so it is what those of the last seconds needed: where a program
 * often has another part, it has to wait for parts to be made. */
static uint32_t enough_for_next(const struct cot_query *q, uint32_t least, bool own_sms)
{
	const struct laius_need *need = &cot_laius_flow(q->tenant)->need;
	uint32_t x = least, sms = own_sms ? need->sms : need->in_turn_sms;

	while (x + 1 < q->plan->n_quotas && q->plan->sms[x] < sms)
		x++;
	return x;
}

uint32_t cot_laius_enough(const struct laius_deal *d, const struct cot_query *q)
{
	bool own_sms = d->quiet || d->apart;
	uint64_t budget_ns = laius_query(q)->budget_ns, best_ns = COT_NEVER, ns;
	uint64_t aim = aim_ns(d->p, q);
	uint32_t least = least_quota(d->p, q, aim, own_sms ? 0 : d->drain_ns), best = least, x;

	laius_query(q)->spare_ns = cot_policy_query_target_ns(q) - aim;
	if (laius_is_one_launch(q))
		return enough_for_next(q, least, own_sms);
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

/* It begins too late for its target: on what is enough for the next ones, `least`, where its only
 * launch is made; on all SMs, as soon as batch kernels have left them, where it may have these yet.
 */
static bool is_late(const struct laius_deal *d, const struct cot_query *q, uint32_t least)
{
	uint64_t budget_ns = laius_query(q)->budget_ns;
	uint64_t stall_ns = d->quiet || d->apart ? 0 : d->drain_ns;

	if (laius_is_one_launch(q))
		return budget_ns < cot_laius_slow_ns(d->p, q, least);
	return budget_ns < cot_laius_slow_ns(d->p, q, q->plan->n_quotas - 1) + stall_ns;
}

/* Measured: whether too many of the last ones began too late, so that what was predicted to be
 * enough is not. */
static bool are_late(const struct laius_deal *d, struct laius_flow *f, const struct cot_query *q,
		     uint32_t least)
{
	const struct cot_policy *p = d->p;

	if (!is_late(d, q, least)) {
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

/* Each time that turns fail soon after they were tried again, they are tried again half as often:
 * to try costs late requests. */
static void stay_apart(struct laius_flow *f, uint64_t now_ns)
{
	uint64_t ns = APART_NS;

	if (f->apart_for_ns && now_ns < f->apart_until_ns + f->apart_for_ns)
		ns = f->apart_for_ns < APART_MAX_NS / 2 ? 2 * f->apart_for_ns : APART_MAX_NS;
	f->apart_for_ns = ns;
	f->apart_until_ns = now_ns + ns;
}

/* So it needs more than that; where batch programs take turns with it on the same SMs, SMs of its
 * own, where it is learned how long requests take. */
static struct laius_need need_of(const struct laius_deal *d, struct laius_flow *f,
				 const struct cot_query *q)
{
	uint64_t aim = cot_policy_query_target_ns(q) - laius_query(q)->spare_ns;
	uint32_t least = least_quota(d->p, q, aim, 0), most = q->plan->sms[q->plan->n_quotas - 1];
	uint32_t in_turn = d->drain_ns ? least_quota(d->p, q, aim, d->drain_ns) : least;
	struct laius_need need = {
		.patience_us = (uint32_t)(patience_of(d->p, q, aim) / COT_NS_PER_US),
		.sms = (uint16_t)q->plan->sms[least],
		.in_turn_sms = (uint16_t)q->plan->sms[in_turn],
	};

	if (are_late(d, f, q, least)) {
		if (!d->apart && !d->quiet)
			stay_apart(f, d->p->now_ns);
		need.sms = f->need.sms > need.sms ? f->need.sms : need.sms;
		need.sms += need.sms / 4 + 1;
		need.sms = need.sms < most ? need.sms : (uint16_t)most;
	}
	if (d->p->now_ns < f->apart_until_ns)
		need.patience_us = 0;
	return need;
}

static uint16_t larger(uint16_t a, uint16_t b)
{
	return a > b ? a : b;
}

static void worsen(struct laius_need *to, const struct laius_need *by)
{
	if (!to->sms || by->patience_us < to->patience_us)
		to->patience_us = by->patience_us;
	to->rate_mb = by->rate_mb > to->rate_mb ? by->rate_mb : to->rate_mb;
	to->sms = larger(to->sms, by->sms);
	to->in_turn_sms = larger(to->in_turn_sms, by->in_turn_sms);
}

/* One size less at least, a quarter at most where sizes are closer than that. */
static uint16_t fall(const struct cot_query *q, uint32_t from)
{
	const struct cot_plan *plan = q->plan;
	uint32_t x = 0;

	while (x + 1 < plan->n_quotas && plan->sms[x] < from - from / FALL_OF)
		x++;
	if (x && plan->sms[x] >= from)
		x--;
	return (uint16_t)plan->sms[x];
}

/* After `seconds`, of which the first one needed `least`; 0: nothing is known. */
static uint16_t fallen(const struct cot_query *q, uint16_t from, uint16_t least, uint64_t seconds)
{
	uint16_t sms = from ? larger(fall(q, from), least) : least, next;

	for (; sms && seconds > 1 && (next = fall(q, sms)) < sms; seconds--)
		sms = next;
	return sms;
}

/*
 * A calm second says little of the next one: a part becomes smaller in steps, so that a burst does
 * not find the smallest.
 */
static void next_second(const struct cot_policy *p, const struct cot_query *q, struct laius_flow *f)
{
	uint64_t seconds = (p->now_ns - f->since_ns) / WORST_NS;
	struct laius_need before = f->need;

	f->need = f->now;
	f->need.sms = fallen(q, before.sms, f->now.sms, seconds);
	f->need.in_turn_sms = fallen(q, before.in_turn_sms, f->now.in_turn_sms, seconds);
	f->now = (struct laius_need){0};
	f->since_ns = p->now_ns;
}

static void say_need(const struct laius_deal *d, const struct cot_query *q, uint64_t rate)
{
	const struct cot_policy *p = d->p;
	struct laius_flow *f = cot_laius_flow(q->tenant);
	struct laius_need need = need_of(d, f, q);
	uint64_t mb = rate / LAIUS_BYTES_PER_MB;

	need.rate_mb = mb < UINT32_MAX ? (uint32_t)mb : UINT32_MAX;
	if (p->now_ns - f->since_ns >= WORST_NS)
		next_second(p, q, f);
	worsen(&f->now, &need);
	worsen(&f->need, &need);
}

void cot_laius_begun(const struct laius_deal *d, const struct cot_query *q, uint32_t quota,
		     uint64_t rate)
{
	struct laius_query *own = laius_query(q);
	uint32_t sms = q->plan->sms[quota],
		 reach = d->l->top - (own->low < d->l->top ? own->low : 0);

	own->own_sms = d->apart || d->quiet;
	own->apart = own->own_sms && !cot_laius_stall_ns(d, reach > sms ? reach : sms);
	say_need(d, q, rate);
}
