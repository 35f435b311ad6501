#include "model/quota.h"
#include "policy/laius_inside.h"
#include "policy/policies.h"
#include "policy/shared.h"

/* ---- how many SMs ---- */

uint32_t cot_laius_sms(const struct cot_policy *p, const struct cot_query *q, uint32_t all)
{
	const struct laius_query *own = laius_query(q);
	uint32_t n;

	if (!own->known)
		return all;
	n = q->plan->sms[laius_state(p)->lags[own->lag].quota];
	return n < all ? n : all;
}

/* Bytes per second that it moves while it does the rest: in the mean, or in the task that moves
 * most. */
static uint64_t rate_of(const struct cot_policy *p, const struct cot_query *q, uint32_t n_sms)
{
	const struct laius_query *own = laius_query(q);
	const struct cot_plan *plan = q->plan;
	double bytes = 0.0, ns = 0.0, most = 0.0;
	uint64_t i;

	if (!own->known || !plan->task_bytes_per_s)
		return laius_unknown_rate(p, cot_laius_sms(p, q, n_sms), n_sms);
	i = (uint64_t)q->n_done * plan->n_quotas + laius_state(p)->lags[own->lag].quota;
	for (; i < (uint64_t)plan->n_tasks * plan->n_quotas; i += plan->n_quotas) {
		double rate = (double)plan->task_bytes_per_s[i];

		bytes += rate * (double)plan->task_ns[i];
		ns += (double)plan->task_ns[i];
		most = rate > most ? rate : most;
	}
	if (p->ops == &cot_policy_laius_peak)
		return (uint64_t)most;
	return ns > 0.0 ? (uint64_t)(bytes / ns) : 0;
}

/* ---- turns ---- */

static bool is_served(const struct laius_deal *d, const struct cot_query *q)
{
	return q->tenant->cls == COT_CLASS_LATENCY && !laius_query(q)->lost &&
	       placing_is_dealt(d->p, d->l, q->tenant);
}

static bool find_lag(const struct laius *laius, uint16_t *ret_lag)
{
	uint16_t i;

	for (i = 0; i < LAIUS_RUNNING_MAX && laius->used[i]; i++)
		;
	*ret_lag = i;
	return i < LAIUS_RUNNING_MAX;
}

static void begin_unknown(struct laius_query *own, const struct cot_query *q)
{
	own->known = false;
	laius_program(q->tenant)->n_unknown++;
}

static void begin_known(struct cot_policy *p, struct laius_query *own, const struct cot_query *q,
			uint16_t lag, uint32_t quota)
{
	struct laius *laius = laius_state(p);

	own->known = true;
	own->lag = lag;
	laius->used[lag] = true;
	cot_lag_begin(&laius->lags[lag], q->plan->task_ns, q->plan->n_tasks, q->plan->n_quotas,
		      quota);
}

/* Those that requests may have. */
static uint32_t room_of(const struct laius_deal *d)
{
	return d->l->top - d->floor;
}

/* Gives it SMs if `left` are enough, or if no other query has any. */
static bool begin(struct laius_deal *d, struct cot_query *q, uint32_t left)
{
	struct laius_query *own = laius_query(q);
	uint64_t target_ns = cot_policy_query_target_ns(q), now_ns = d->p->now_ns;
	uint32_t quota = 0, n = room_of(d);
	uint16_t lag = 0;
	bool known = q->plan && target_ns && find_lag(laius_state(d->p), &lag);

	if (target_ns)
		own->budget_ns = cot_quota_budget(target_ns, now_ns - q->arrived_ns, 0, q->out_ns);
	if (known) {
		quota = d->live ? cot_laius_enough(d, q)
				: cot_quota_just_enough(q->plan->query_ns, q->plan->n_quotas,
							own->budget_ns);
		n = q->plan->sms[quota] < n ? q->plan->sms[quota] : n;
	}
	if (n > left && d->any_query)
		return false;
	own->runs = true;
	own->since_ns = now_ns;
	if (known)
		begin_known(d->p, own, q, lag, quota);
	else
		begin_unknown(own, q);
	if (d->live && known)
		cot_laius_begun(d, q, quota,
				q->plan->task_bytes_per_s ? rate_of(d->p, q, d->l->n_sms) : 0);
	return true;
}

/* In order of their begin: no query overtakes another. */
static void give_turns(struct laius_deal *d)
{
	uint32_t all = room_of(d), left = all, n;
	struct cot_query *q;

	cot_for_each_query(q, d->p)
	{
		if (!is_served(d, q))
			continue;
		if (!laius_query(q)->runs && !begin(d, q, left))
			return;
		n = cot_laius_sms(d->p, q, all);
		left -= n < left ? n : left;
		d->any_query = true;
		d->taken += d->apart ? 0 : rate_of(d->p, q, d->l->n_sms);
	}
}

/* ---- parts ---- */

/* All its queries together; one that waits is not held for it while an older one of the same
 * program runs. */
static uint32_t sms_of(const struct laius_deal *d, const struct cot_tenant *t, bool *ret_waits)
{
	uint32_t all = room_of(d), n = 0;
	const struct cot_query *q;

	*ret_waits = false;
	cot_for_each_query(q, d->p)
	{
		if (q->tenant != t || laius_query(q)->lost)
			continue;
		if (laius_query(q)->runs)
			n += cot_laius_sms(d->p, q, all);
		else
			*ret_waits = true;
	}
	return n < all ? n : all;
}

/* Below the queries that are older; over them, at the bottom, where there is no room: those that
 * are behind their plans have taken it. */
static struct cot_part part_for(struct laius_deal *d, const struct cot_tenant *t, uint32_t n)
{
	const struct placing *l = d->l;
	uint32_t end = d->begin, begin;

	if (end <= d->floor)
		return cot_placing_part(l, d->floor, cot_placing_round(l, d->floor + n));
	begin = cot_placing_begin_of(l, end, n);
	if (begin > d->floor && end - begin < n)
		begin = cot_placing_begin_of(l, begin, 1);
	d->begin = begin > d->floor ? begin : d->floor;
	begin = d->live ? cot_laius_clear(d, t, d->begin, end) : d->begin;
	return cot_placing_part(l, begin, end);
}

/* Where nobody else could use the rest, the only program with queries has it. */
static bool has_rest(const struct laius_deal *d, const struct cot_tenant *t)
{
	const struct cot_query *q;

	if (!d->quiet && !d->apart)
		return false;
	cot_for_each_query(q, d->p) if (is_served(d, q) && q->tenant != t) return false;
	return true;
}

static void place(struct laius_deal *d, struct cot_tenant *t)
{
	struct laius_program *own = laius_program(t);
	bool waits;
	uint32_t n = sms_of(d, t, &waits);

	own->part.hold = !n && waits;
	if (n) {
		own->part = part_for(d, t, has_rest(d, t) ? room_of(d) : n);
		own->why = LAIUS_WHY_QUERY;
	} else {
		own->why = waits ? LAIUS_WHY_WAITS : LAIUS_WHY_IDLE;
	}
}

/* Once for each program, in order of its oldest query. */
static bool is_first(const struct laius_deal *d, const struct cot_query *query)
{
	const struct cot_query *q;

	cot_for_each_query(q, d->p) if (q->tenant == query->tenant && is_served(d, q)) break;
	return q == query;
}

/* What a query launched before it was heard of is where its program was then: all of it, or until
 * something is done that it launched. */
static bool is_where_it_began(const struct cot_query *q)
{
	return laius_is_one_launch(q) || !q->n_done;
}

/* Batch programs stay below all of that, and for a moment below the part of a program that may have
 * more to do. */
static void keep_off(struct laius_deal *d)
{
	const struct cot_tenant *t;
	const struct cot_query *q;

	cot_for_each_query(q, d->p)
	{
		uint32_t low = laius_query(q)->low;

		if (is_served(d, q) && is_where_it_began(q) && low < d->low)
			d->low = low;
	}
	cot_for_each_tenant (t, d->p) {
		uint32_t first = laius_program(t)->part.n ? laius_program(t)->part.first : 0;

		if (t->cls == COT_CLASS_LATENCY && placing_is_dealt(d->p, d->l, t) &&
		    cot_laius_flow(t)->kept && first < d->low)
			d->low = first;
	}
}

void cot_laius_serve(struct laius_deal *d)
{
	struct cot_tenant *t;
	struct cot_query *q;

	give_turns(d);
	/* One without a query stays where it is: it will need about as much again. */
	cot_for_each_tenant (t, d->p) {
		if (t->cls != COT_CLASS_LATENCY || !placing_is_dealt(d->p, d->l, t))
			continue;
		laius_program(t)->part.hold = false;
		laius_program(t)->why = LAIUS_WHY_IDLE;
	}
	cot_for_each_query(q, d->p) if (is_served(d, q) && is_first(d, q)) place(d, q->tenant);
	if (d->live)
		keep_off(d);
}

/* ---- queries that do not end ---- */

/* When it has had SMs for too long. */
static uint64_t lost_ns(const struct cot_query *q)
{
	uint64_t target_ns = cot_policy_query_target_ns(q), for_ns = LAIUS_LOST_MIN_NS;

	if (target_ns > LAIUS_LOST_MIN_NS / 2)
		for_ns = target_ns < LAIUS_LOST_MAX_NS / 2 ? 2 * target_ns : LAIUS_LOST_MAX_NS;
	return laius_query(q)->since_ns + for_ns;
}

uint64_t cot_laius_lose(struct cot_policy *p, uint64_t *wake_ns)
{
	struct cot_query *q;
	uint64_t gpus = 0;

	cot_for_each_query(q, p)
	{
		struct laius_query *own = laius_query(q);

		if (!own->runs)
			continue;
		if (lost_ns(q) > p->now_ns) {
			policy_earlier(wake_ns, lost_ns(q));
			continue;
		}
		cot_laius_end(p, q);
		own->runs = false;
		own->lost = true;
		laius_program(q->tenant)->n_lost++;
		gpus |= q->tenant->gpu_mask & -q->tenant->gpu_mask;
	}
	return gpus;
}

/* ---- progress ---- */

/* A plan may end long before the target, where the smallest part is more than enough: then one that
 * is behind it needs no more than it has. */
static bool is_in_time(const struct cot_policy *p, const struct cot_query *q, uint32_t quota)
{
	const struct laius_query *own = laius_query(q);

	return q->done_ns + cot_laius_left_ns(p, q, quota) + own->spare_ns <=
	       own->since_ns + own->budget_ns;
}

bool cot_laius_follow(struct cot_policy *p, struct cot_query *q)
{
	struct laius_query *own = laius_query(q);
	struct cot_lag *lag = &laius_state(p)->lags[own->lag];
	bool first = laius_is_live(p) && !own->went_on;
	uint32_t before;

	own->went_on = true;
	if (!own->runs || !own->known || p->ops == &cot_policy_laius_nc ||
	    q->done_ns < own->since_ns)
		return first;
	before = lag->quota;
	(void)cot_lag_next(lag, q->n_done, q->done_ns - own->since_ns);
	if (laius_is_live(p) && lag->quota > before && is_in_time(p, q, before))
		lag->quota = before;
	laius_program(q->tenant)->n_raised += lag->quota > before;
	return first || lag->quota != before;
}

void cot_laius_end(struct cot_policy *p, struct cot_query *q)
{
	struct laius_query *own = laius_query(q);

	if (own->runs && own->known)
		laius_state(p)->used[own->lag] = false;
}
