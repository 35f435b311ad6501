/*
 * What `laius` does beyond the paper, because kernels cannot be taken off their SMs: on an H200 the
 * published method kept no target of four, with kernels of batch programs of 1 to 5 ms beside
 * requests of 0.1 to 1 ms (results/h200/2026-11-23/laius).
 *
 *  - *Enough* is what keeps the target with the queue that is to be expected: the service time, and
 *    the p99 of the wait for the requests before (model/wait.h), from how requests came so far.
 *  - A program's *patience* is how much longer each request may take, its queue included. Batch
 *    programs whose kernels would be in the way for longer stay *apart*: below the SMs that
 * requests need, whether there is a request or not. Otherwise they have all SMs between requests,
 * as in the paper.
 *  - A request's part has no SMs on which a batch kernel runs for longer than the request can wait.
 *  - Where no batch program does anything, a request has all SMs.
 *
 * Nobody says when a kernel ends. What a program launched on a part is taken to be there for two of
 * its longest kernels after it has another one: one runs, and one may be queued (the pace).
 */
#include "model/quota.h"
#include "policy/laius_inside.h"
#include "policy/shared.h"

/* Our choices. */
#define BYTES_PER_MB	1000000u
#define RAISE_NS	(100 * COT_NS_PER_MS) /* a queue that is there takes time to go */
#define HARDLY		16u
#define PACE_US		500u
#define WORST_NS	COT_NS_PER_S
#define REST_NS		COT_NS_PER_S /* a batch program that launches nothing is at rest */
#define EXPECTED_GAPS	8u	     /* for so long another request is expected */
#define EXPECTED_MAX_NS (60 * COT_NS_PER_S)
#define PATIENCE_STEPS	12u
#define SLOW_MAX_MILLI	4000u
#define LATE_OF		128u /* requests, about, of which so many may begin too late */
#define LATE_MILLI	20u

/* ---- what is kept of a program ---- */

static void renew(const struct cot_tenant *t)
{
	struct laius_program *own = laius_program(t);
	uint8_t cls = (uint8_t)(t->cls + 1);

	if (own->cls == cls)
		return;
	own->cls = cls;
	own->counts = false;
	if (t->cls == COT_CLASS_LATENCY)
		own->flow = (struct laius_flow){.slow_milli = 1000};
	else
		own->stay = (struct laius_stay){0};
}

static struct laius_flow *flow_of(const struct cot_tenant *t)
{
	renew(t);
	return &laius_program(t)->flow;
}

static struct laius_stay *stay_of(const struct cot_tenant *t)
{
	renew(t);
	return &laius_program(t)->stay;
}

void cot_laius_joined(const struct cot_policy *p, const struct cot_tenant *t)
{
	if (t->cls == COT_CLASS_LATENCY)
		flow_of(t)->since_ns = p->now_ns;
}

/* ---- batch kernels ---- */

/* How long after another part begins to hold kernels may be where they were. */
static uint64_t drain_ns(const struct cot_tenant *t, uint32_t sms)
{
	uint64_t ns = 2 * cot_laius_kernel_ns(t, sms);

	return ns > PACE_US * COT_NS_PER_US ? ns : PACE_US * COT_NS_PER_US;
}

static void leave(const struct cot_policy *p, const struct cot_tenant *t, struct laius_stay *s)
{
	uint64_t leaves_ns = p->now_ns + drain_ns(t, s->at_end - s->at_first);

	if (s->leaves_ns <= p->now_ns) {
		s->first = s->at_first;
		s->end = s->at_end;
	}
	s->first = s->first < s->at_first ? s->first : s->at_first;
	s->end = s->end > s->at_end ? s->end : s->at_end;
	s->leaves_ns = s->leaves_ns > leaves_ns ? s->leaves_ns : leaves_ns;
}

void cot_laius_moved(const struct cot_policy *p, struct cot_tenant *t)
{
	uint32_t first = t->part.first, end = t->part.n ? first + t->part.n : t->part_sms;
	struct laius_stay *s;

	if (t->cls != COT_CLASS_BATCH)
		return;
	s = stay_of(t);
	if (t->part.hold)
		first = end = 0;
	if (s->at_end && (s->at_first != first || s->at_end != end))
		leave(p, t, s);
	s->at_first = (uint16_t)first;
	s->at_end = (uint16_t)end;
	s->free_ns = t->part.hold ? 0 : s->free_ns ? s->free_ns : p->now_ns;
}

void cot_laius_activity(const struct cot_policy *p, struct cot_tenant *t)
{
	if (t->cls == COT_CLASS_BATCH && t->activity == COT_ACTIVITY_IDLE)
		stay_of(t)->idle_ns = p->now_ns;
}

static bool is_batch(const struct laius_deal *d, const struct cot_tenant *t)
{
	return t->cls == COT_CLASS_BATCH && laius_is_dealt(d->p, d->l, t);
}

/* When the last of its kernels leaves [begin, end); 0: none is there. */
static uint64_t leaves_ns(const struct cot_policy *p, const struct cot_tenant *t, uint32_t begin,
			  uint32_t end, uint32_t *ret_end)
{
	const struct laius_stay *s = stay_of(t);
	uint64_t ns = 0;

	*ret_end = 0;
	if (s->leaves_ns > p->now_ns && s->first < end && s->end > begin) {
		ns = s->leaves_ns;
		*ret_end = s->end;
	}
	if (laius_program(t)->counts && s->at_first < end && s->at_end > begin) {
		uint64_t told_ns = p->now_ns + drain_ns(t, s->at_end - s->at_first);

		ns = told_ns > ns ? told_ns : ns;
		*ret_end = s->at_end > *ret_end ? s->at_end : *ret_end;
	}
	return ns;
}

/* How long batch kernels are on the topmost SMs. */
static uint64_t stall_ns(const struct laius_deal *d, uint32_t sms)
{
	uint32_t begin = sms < d->l->top ? d->l->top - sms : 0, end;
	const struct cot_tenant *t;
	uint64_t last_ns = d->p->now_ns;

	begin = begin > d->floor ? begin : d->floor;
	cot_for_each_tenant (t, d->p) {
		uint64_t ns = is_batch(d, t) ? leaves_ns(d->p, t, begin, d->l->top, &end) : 0;

		last_ns = ns > last_ns ? ns : last_ns;
	}
	return last_ns - d->p->now_ns;
}

/* What it has still to do, on so many SMs. */
static uint64_t left_ns(const struct cot_policy *p, const struct cot_query *q, uint32_t sms)
{
	const struct cot_lag *lag = &laius_state(p)->lags[laius_query(q)->lag];
	uint32_t x = q->plan->n_quotas - 1;

	while (x && q->plan->sms[x] > sms)
		x--;
	return lag->left_ns[x] / 1000 * flow_of(q->tenant)->slow_milli;
}

/*
 * Whether a query rather does without the SMs below `clear`, where batch kernels are until until_ns
 * at the latest: it can do so and keep its target, or is done sooner if they are there for half of
 * that time, as is to be expected.
 */
static bool avoids(const struct cot_policy *p, const struct cot_query *q, uint64_t until_ns,
		   uint32_t sms, uint32_t sms_clear)
{
	uint64_t by_ns = laius_query(q)->since_ns + laius_query(q)->budget_ns;
	uint64_t there_ns = p->now_ns + left_ns(p, q, sms);
	uint64_t here_ns = p->now_ns + left_ns(p, q, sms_clear), late_ns = until_ns - p->now_ns;

	if (there_ns + late_ns <= by_ns)
		return false;
	return here_ns <= by_ns || here_ns <= there_ns + late_ns / 2;
}

/* The oldest of its queries decides. */
static const struct cot_query *oldest_of(const struct cot_policy *p, const struct cot_tenant *t)
{
	const struct cot_query *q;

	cot_for_each_query(q, p) if (q->tenant == t && laius_query(q)->runs) break;
	return q;
}

uint32_t cot_laius_clear(const struct laius_deal *d, const struct cot_tenant *t, uint32_t begin,
			 uint32_t end)
{
	const struct cot_query *q = oldest_of(d->p, t);
	bool known = q && laius_query(q)->known;
	uint32_t clear = begin, until;
	const struct cot_tenant *other;

	cot_for_each_tenant (other, d->p) {
		uint64_t ns = is_batch(d, other) ? leaves_ns(d->p, other, begin, end, &until) : 0;

		if (ns <= d->p->now_ns || until <= clear || until >= end)
			continue;
		if (!known || avoids(d->p, q, ns, end - begin, end - until))
			clear = until;
	}
	return clear;
}

/* ---- requests ---- */

void cot_laius_arrive(const struct cot_policy *p, const struct cot_query *q)
{
	struct laius_flow *f;

	(void)p;
	if (q->tenant->cls != COT_CLASS_LATENCY)
		return;
	f = flow_of(q->tenant);
	if (f->last_ns)
		cot_gaps_add(&f->gaps, q->arrived_ns > f->last_ns ? q->arrived_ns - f->last_ns : 0);
	f->last_ns = q->arrived_ns > f->last_ns ? q->arrived_ns : f->last_ns;
}

static uint64_t service_ns(const struct cot_query *q, uint32_t quota)
{
	return q->plan->query_ns[quota] / 1000 * flow_of(q->tenant)->slow_milli;
}

/* Whether requests like this one keep their target, if each takes `more_ns` longer. */
static bool keeps(const struct cot_query *q, uint32_t quota, uint64_t more_ns)
{
	uint64_t target_ns = cot_policy_query_target_ns(q), need_ns, wait_ns;

	need_ns = service_ns(q, quota) + more_ns;
	wait_ns = cot_wait_p99_ns(need_ns, &flow_of(q->tenant)->gaps);
	need_ns += q->out_ns;
	return need_ns <= target_ns && wait_ns <= target_ns - need_ns;
}

/* If none keeps it, the one past which it takes hardly less: more would help nobody. */
static uint32_t least_quota(const struct cot_query *q, uint64_t more_ns)
{
	uint32_t x, last = q->plan->n_quotas - 1;
	uint64_t all_ns = service_ns(q, last);

	for (x = 0; x <= last; x++)
		if (keeps(q, x, more_ns))
			return x;
	for (x = 0; service_ns(q, x) > all_ns + all_ns / HARDLY; x++)
		;
	return x;
}

static uint64_t patience_of(const struct cot_query *q)
{
	uint64_t least_ns = 0, most_ns = cot_policy_query_target_ns(q);
	uint32_t i, all = q->plan->n_quotas - 1;

	if (!keeps(q, all, 0))
		return 0;
	for (i = 0; i < PATIENCE_STEPS; i++) {
		uint64_t middle_ns = (least_ns + most_ns) / 2;

		if (keeps(q, all, middle_ns))
			least_ns = middle_ns;
		else
			most_ns = middle_ns;
	}
	return least_ns;
}

uint32_t cot_laius_enough(const struct laius_deal *d, const struct cot_query *q)
{
	bool own_sms = d->quiet || d->apart;
	uint64_t budget_ns = laius_query(q)->budget_ns, best_ns = COT_NEVER, ns;
	uint32_t least = least_quota(q, own_sms ? 0 : d->drain_ns), best = least, x;

	for (x = 0; x < q->plan->n_quotas; x++) {
		ns = service_ns(q, x) + stall_ns(d, q->plan->sms[x]);
		if (x >= least && ns <= budget_ns)
			return x;
		if (ns < best_ns) {
			best_ns = ns;
			best = x;
		}
	}
	return best; /* too late: as soon as it can be */
}

/* Measured: where too many begin too late, what was predicted to be enough is not. */
static uint32_t with_late(const struct cot_policy *p, struct laius_flow *f,
			  const struct cot_query *q, uint32_t sms)
{
	uint32_t most = q->plan->sms[q->plan->n_quotas - 1];

	if (laius_query(q)->budget_ns >= service_ns(q, least_quota(q, 0))) {
		f->late_milli -= (f->late_milli + LATE_OF - 1) / LATE_OF;
		return sms;
	}
	f->late_milli += (uint16_t)((1000u - f->late_milli) / LATE_OF);
	if (f->late_milli < LATE_MILLI || p->now_ns < f->raised_ns + RAISE_NS)
		return sms;
	f->raised_ns = p->now_ns;
	f->late_milli = 0;
	sms = f->need.sms > sms ? f->need.sms : sms;
	sms += sms / 4 + 1;
	return sms < most ? sms : most;
}

static void worsen(struct laius_need *to, const struct laius_need *by)
{
	if (!to->sms || by->patience_us < to->patience_us)
		to->patience_us = by->patience_us;
	to->rate_mb = by->rate_mb > to->rate_mb ? by->rate_mb : to->rate_mb;
	to->sms = by->sms > to->sms ? by->sms : to->sms;
}

static void say_need(const struct cot_policy *p, const struct cot_query *q, uint64_t rate)
{
	struct laius_flow *f = flow_of(q->tenant);
	uint64_t mb = rate / BYTES_PER_MB;
	const struct laius_need need = {
		.patience_us = (uint32_t)(patience_of(q) / COT_NS_PER_US),
		.rate_mb = mb < UINT32_MAX ? (uint32_t)mb : UINT32_MAX,
		.sms = with_late(p, f, q, q->plan->sms[least_quota(q, 0)]),
	};

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

	own->apart = (d->apart || d->quiet) && !stall_ns(d, q->plan->sms[quota]);
	say_need(d->p, q, rate);
}

/* Slower than predicted: others take memory bandwidth from it. Up fast, down slowly. */
void cot_laius_learn(const struct cot_policy *p, const struct cot_query *q)
{
	const struct laius_query *own = laius_query(q);
	const struct cot_query *other;
	struct laius_flow *f;
	uint64_t planned_ns, milli;

	if (!own->runs || !own->known || !own->apart)
		return;
	cot_for_each_query(other, p) if (other->tenant == q->tenant) return;
	f = flow_of(q->tenant);
	planned_ns = q->plan->query_ns[laius_state(p)->lags[own->lag].planned];
	milli = (p->now_ns - own->since_ns) * 1000 / planned_ns;
	milli = milli < 1000 ? 1000 : milli < SLOW_MAX_MILLI ? milli : SLOW_MAX_MILLI;
	if (milli > f->slow_milli)
		f->slow_milli += (uint16_t)((milli - f->slow_milli + 7) / 8);
	else
		f->slow_milli -= (uint16_t)((f->slow_milli - milli + 63) / 64);
}

/* ---- who is there ---- */

static bool has_query(const struct cot_policy *p, const struct cot_tenant *t)
{
	const struct cot_query *q;

	cot_for_each_query(q, p) if (q->tenant == t && !laius_query(q)->lost) return true;
	return false;
}

static bool is_expected(const struct cot_policy *p, const struct cot_tenant *t, uint64_t *wake_ns)
{
	const struct laius_flow *f = flow_of(t);
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

/* What launches nothing although it may is at rest. */
static bool is_at_work(const struct cot_policy *p, const struct cot_tenant *t, uint64_t *wake_ns)
{
	const struct laius_stay *s = stay_of(t);
	uint64_t since_ns = t->launches.at_ns > s->free_ns ? t->launches.at_ns : s->free_ns;

	if (!policy_lingers(p, t, s->idle_ns, p->config->linger_ns, wake_ns))
		return false;
	if (!t->launches.at_ns || t->launches.n || !s->free_ns)
		return true;
	if (since_ns + REST_NS <= p->now_ns)
		return false;
	policy_earlier(wake_ns, since_ns + REST_NS);
	return true;
}

static bool has_left(const struct cot_policy *p, const struct cot_tenant *t, uint64_t *wake_ns)
{
	struct laius_stay *s = stay_of(t);

	if (!s->leaves_ns)
		return false;
	if (s->leaves_ns > p->now_ns) {
		policy_earlier(wake_ns, s->leaves_ns);
		return false;
	}
	s->leaves_ns = 0;
	return true;
}

uint64_t cot_laius_notice(struct cot_policy *p, uint64_t *wake_ns)
{
	struct cot_tenant *t;
	uint64_t gpus = 0;

	cot_for_each_tenant (t, p) {
		struct laius_program *own = laius_program(t);
		bool latency = t->cls == COT_CLASS_LATENCY, counts, left;

		renew(t);
		counts = latency ? is_expected(p, t, wake_ns) : is_at_work(p, t, wake_ns);
		left = !latency && has_left(p, t, wake_ns);
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
	struct laius_flow *f = flow_of(t);
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
		if (!laius_is_dealt(d->p, d->l, t))
			continue;
		if (t->cls == COT_CLASS_LATENCY)
			guess(t);
		if (t->cls == COT_CLASS_BATCH) {
			at_work |= laius_program(t)->counts;
			ns = drain_ns(t, d->l->top - d->l->bottom);
			d->drain_ns = ns > d->drain_ns ? ns : d->drain_ns;
		} else if (laius_program(t)->counts && flow_of(t)->need.sms) {
			const struct laius_need *need = &flow_of(t)->need;

			sms += need->sms;
			rate += (uint64_t)need->rate_mb * BYTES_PER_MB;
			policy_earlier(&patience_ns, need->patience_us * COT_NS_PER_US);
		}
	}
	d->quiet = !at_work;
	d->apart = sms && d->drain_ns > patience_ns;
	d->roof = d->apart ? roof_over(d->l, sms) : d->l->top;
	d->floor = d->apart && at_work ? d->roof : d->l->bottom;
	d->taken = d->apart ? rate : 0;
	d->pace_us = sms && at_work && !d->apart ? PACE_US : 0;
}
