/*
 * `laius`: where batch kernels are although their program has another part. Nobody says when a
 * kernel ends. What a program launched on a part is taken to be there for its longest kernel and
 * the pace after it has another one: one runs, and what takes about as long as the pace is queued.
 *
 * A request's part has no SMs on which a batch kernel runs for longer than the request can wait.
 */
#include "model/quota.h"
#include "policy/laius_inside.h"

uint64_t cot_laius_drain_ns(const struct cot_tenant *t, uint32_t sms)
{
	return cot_laius_kernel_ns(t, sms) + LAIUS_PACE_US * COT_NS_PER_US;
}

static void leave(const struct cot_policy *p, const struct cot_tenant *t, struct laius_stay *s)
{
	uint64_t leaves_ns = p->now_ns + cot_laius_drain_ns(t, s->at_end - s->at_first);

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
	s = cot_laius_stay(t);
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
		cot_laius_stay(t)->idle_ns = p->now_ns;
}

/* When the last of its kernels leaves [begin, end); 0: none is there. */
static uint64_t leaves_ns(const struct cot_policy *p, const struct cot_tenant *t, uint32_t begin,
			  uint32_t end, uint32_t *ret_end)
{
	const struct laius_stay *s = cot_laius_stay(t);
	uint64_t ns = 0;

	*ret_end = 0;
	if (s->leaves_ns > p->now_ns && s->first < end && s->end > begin) {
		ns = s->leaves_ns;
		*ret_end = s->end;
	}
	if (laius_program(t)->counts && s->at_first < end && s->at_end > begin) {
		uint64_t told_ns = p->now_ns + cot_laius_drain_ns(t, s->at_end - s->at_first);

		ns = told_ns > ns ? told_ns : ns;
		*ret_end = s->at_end > *ret_end ? s->at_end : *ret_end;
	}
	return ns;
}

uint64_t cot_laius_stall_ns(const struct laius_deal *d, uint32_t sms)
{
	uint32_t begin = sms < d->l->top ? d->l->top - sms : 0, end;
	const struct cot_tenant *t;
	uint64_t last_ns = d->p->now_ns;

	begin = begin > d->floor ? begin : d->floor;
	cot_for_each_tenant (t, d->p) {
		uint64_t ns =
			laius_is_divided(d, t) ? leaves_ns(d->p, t, begin, d->l->top, &end) : 0;

		last_ns = ns > last_ns ? ns : last_ns;
	}
	return last_ns - d->p->now_ns;
}

/* On so many SMs. */
static uint64_t left_ns(const struct cot_policy *p, const struct cot_query *q, uint32_t sms)
{
	uint32_t x = q->plan->n_quotas - 1;

	while (x && q->plan->sms[x] > sms)
		x--;
	return cot_laius_left_ns(p, q, x);
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

	if (q && laius_is_one_launch(q))
		return begin; /* it is for the next one */
	cot_for_each_tenant (other, d->p) {
		uint64_t ns =
			laius_is_divided(d, other) ? leaves_ns(d->p, other, begin, end, &until) : 0;

		if (ns <= d->p->now_ns || until <= clear || until >= end)
			continue;
		if (!known || avoids(d->p, q, ns, end - begin, end - until))
			clear = until;
	}
	return clear;
}
