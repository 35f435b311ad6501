/*
 * `laius`: how long requests took beside others, on each size of part, beside what is predicted:
 * others take memory bandwidth from them, and a size that was not profiled is predicted from those
 * around it.
 *
 * A size on which none ran lately is as slow as the next smaller one that was measured, in parts of
 * the plan; and on fewer SMs a request takes no less time than on more. So what is learned on many
 * SMs does not keep a request from fewer: on an H200 a request on 124 SMs took 1.1 times as long as
 * planned, the plan for 68 was not enough with that factor, and so it stayed on 124 for good.
 */
#include "policy/laius_inside.h"

/* Our choices. */
#define TOOK_OF	      64u /* requests, about, that a mean is over */
#define TOOK_MIN      250u
#define TOOK_MAX      4000u
#define OFF_OF	      512u /* requests, about, that a mean error is over; an eighth is enough */
#define OFF_MAX	      10000000u
#define FORGOTTEN_FOR 64u /* requests on other sizes for each of those */

/* The sizes are sixteenths of the GPU. */
static uint32_t place_of(const struct cot_tenant *t, uint32_t sms)
{
	uint32_t i = sms && t->part_sms ? (sms * LAIUS_SIZES - 1) / t->part_sms : 0;

	return i < LAIUS_SIZES ? i : LAIUS_SIZES - 1;
}

static struct laius_times *times_of(const struct cot_policy *p, const struct cot_tenant *t)
{
	uint8_t i = cot_laius_flow(t)->times;

	return i ? &laius_state(p)->times[i - 1] : NULL;
}

/* NULL: none ran on that size lately. */
static const struct laius_took *took(const struct cot_policy *p, const struct cot_query *q,
				     uint32_t quota)
{
	const struct laius_times *s = times_of(p, q->tenant);
	const struct laius_took *k;

	if (!s)
		return NULL;
	k = &s->took[place_of(q->tenant, q->plan->sms[quota])];
	return k->n && s->n_learned - k->at <= FORGOTTEN_FOR * k->n ? k : NULL;
}

static uint64_t by_took(const struct cot_query *q, uint32_t quota, const struct laius_took *k,
			bool slow)
{
	return q->plan->query_ns[quota] / 1000 * (slow ? k->slow_milli : k->mean_milli);
}

static uint64_t expected_ns(const struct cot_policy *p, const struct cot_query *q, uint32_t quota,
			    bool slow)
{
	const struct laius_took *k = took(p, q, quota);
	uint64_t ns = q->plan->query_ns[quota], least_ns = 0;
	uint32_t x;

	if (k)
		return by_took(q, quota, k, slow);
	for (x = quota; !k && x--;)
		k = took(p, q, x);
	ns = k ? by_took(q, quota, k, slow) : ns;
	for (x = quota + 1; x < q->plan->n_quotas && !least_ns; x++) {
		k = took(p, q, x);
		least_ns = k ? by_took(q, x, k, slow) : 0;
	}
	return ns > least_ns ? ns : least_ns;
}

uint64_t cot_laius_slow_ns(const struct cot_policy *p, const struct cot_query *q, uint32_t quota)
{
	return expected_ns(p, q, quota, true);
}

uint64_t cot_laius_mean_ns(const struct cot_policy *p, const struct cot_query *q, uint32_t quota)
{
	return expected_ns(p, q, quota, false);
}

uint64_t cot_laius_left_ns(const struct cot_policy *p, const struct cot_query *q, uint32_t quota)
{
	const struct cot_lag *lag = &laius_state(p)->lags[laius_query(q)->lag];

	return lag->left_ns[quota] / 1000 *
	       (cot_laius_slow_ns(p, q, quota) * 1000 / q->plan->query_ns[quota]);
}

/* Where its part is now, which may be larger than what was planned; where one launch is all, where
 * it was when that was made. */
static uint32_t quota_of(const struct cot_query *q)
{
	uint32_t sms = q->tenant->part.n ? q->tenant->part.n : q->tenant->part_sms;
	uint32_t x = q->plan->n_quotas - 1;

	if (laius_is_one_launch(q))
		sms = laius_query(q)->sms;
	while (x && q->plan->sms[x] > sms)
		x--;
	return x;
}

/* The slower ones: up fast, down slowly. */
static void learn(struct laius_took *k, uint32_t milli)
{
	uint32_t slow = milli > 1000 ? milli : 1000;

	k->n += k->n < TOOK_OF;
	if (k->n == 1)
		*k = (struct laius_took){
			.mean_milli = (uint16_t)milli, .slow_milli = (uint16_t)slow, .n = 1};
	k->mean_milli = (uint16_t)((k->mean_milli * (k->n - 1u) + milli) / k->n);
	if (slow > k->slow_milli)
		k->slow_milli += (uint16_t)((slow - k->slow_milli + 7) / 8);
	else
		k->slow_milli -= (uint16_t)((k->slow_milli - slow + 63) / 64);
}

/* In 1/1e6 of what it took. */
static uint32_t off_by(uint64_t predicted_ns, uint64_t took_ns)
{
	uint64_t ns = predicted_ns > took_ns ? predicted_ns - took_ns : took_ns - predicted_ns;
	uint64_t off = took_ns / 1000 ? ns * 1000 / (took_ns / 1000) : 0;

	return off < OFF_MAX ? (uint32_t)off : OFF_MAX;
}

/* Over the `n` before, some hundreds at most, and this one. */
static uint32_t mean(uint32_t before, uint32_t off, uint32_t n)
{
	n = n < OFF_OF ? n + 1 : OFF_OF;
	return (uint32_t)(((uint64_t)before * (n - 1) + off) / n);
}

static void judge(const struct cot_policy *p, const struct cot_query *q, uint32_t quota,
		  struct laius_times *s)
{
	uint64_t took_ns = p->now_ns - laius_query(q)->since_ns;
	uint32_t n = s->n_learned; /* before it; begins anew after 2^32 */

	s->profile_off = mean(s->profile_off, off_by(q->plan->query_ns[quota], took_ns), n);
	s->off = mean(s->off, off_by(cot_laius_mean_ns(p, q, quota), took_ns), n);
}

bool cot_laius_off(const struct cot_policy *p, const struct cot_tenant *t, uint32_t *ret_profile,
		   uint32_t *ret_off)
{
	const struct laius_times *s = times_of(p, t);

	if (!s || s->n_learned < OFF_OF / 8)
		return false;
	*ret_profile = s->profile_off / 1000;
	*ret_off = s->off / 1000;
	return true;
}

/* NULL: there is no room. */
static struct laius_times *new_times(const struct cot_policy *p, const struct cot_tenant *t)
{
	struct laius *laius = laius_state(p);
	uint8_t i;

	cot_laius_forget(p, t); /* as what it was before */
	for (i = 0; i < LAIUS_SERVICES_MAX && laius->times[i].of; i++)
		;
	if (i == LAIUS_SERVICES_MAX)
		return NULL;
	laius->times[i] = (struct laius_times){.of = t};
	cot_laius_flow(t)->times = (uint8_t)(i + 1);
	return &laius->times[i];
}

void cot_laius_forget(const struct cot_policy *p, const struct cot_tenant *t)
{
	struct laius *laius = laius_state(p);
	uint32_t i;

	for (i = 0; i < LAIUS_SERVICES_MAX; i++)
		if (laius->times[i].of == t)
			laius->times[i].of = NULL;
}

void cot_laius_learn(const struct cot_policy *p, const struct cot_query *q)
{
	const struct laius_query *own = laius_query(q);
	const struct cot_query *other;
	struct laius_times *s;
	struct laius_took *k;
	uint64_t milli;
	uint32_t quota;

	if (!own->runs || !own->known || !own->apart || (laius_is_one_launch(q) && !own->sms))
		return;
	cot_for_each_query(other, p) if (other->tenant == q->tenant) return;
	s = times_of(p, q->tenant);
	s = s ? s : new_times(p, q->tenant);
	if (!s)
		return;
	quota = quota_of(q);
	judge(p, q, quota, s);
	k = &s->took[place_of(q->tenant, q->plan->sms[quota])];
	if (!took(p, q, quota))
		k->n = 0;
	milli = (p->now_ns - own->since_ns) * 1000 / q->plan->query_ns[quota];
	milli = milli < TOOK_MAX ? milli : TOOK_MAX;
	learn(k, (uint32_t)(milli > TOOK_MIN ? milli : TOOK_MIN));
	k->at = ++s->n_learned;
}
