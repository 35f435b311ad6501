#include "policy/placing.h"

uint64_t cot_placing_gpus(const struct cot_policy *p)
{
	const struct cot_tenant *t;
	uint64_t gpus = 0;

	cot_for_each_tenant (t, p)
		if (t->part_sms)
			gpus |= t->gpu_mask & -t->gpu_mask;
	return gpus;
}

struct placing cot_placing_begin(const struct cot_policy *p, uint32_t gpu)
{
	struct placing l = {.gpu = gpu, .n_sms = 1, .unit = 1};
	const struct cot_tenant *t;
	uint32_t votes = 0;

	/* All say the same of one GPU, or one of them lies: what more than half of them say wins
	 * (Boyer and Moore's vote). */
	cot_for_each_tenant (t, p) {
		if (!t->part_sms || (uint32_t)__builtin_ctzll(t->gpu_mask) != gpu)
			continue;
		if (!votes) {
			l.n_sms = t->part_sms;
			l.unit = t->part_unit;
		}
		votes += !votes || placing_has(&l, t) ? 1 : UINT32_MAX;
	}
	l.top = l.limit = l.n_sms;
	return l;
}

uint32_t cot_placing_round(const struct placing *l, uint32_t n)
{
	n = (n + l->unit / 2) / l->unit * l->unit;
	if (n < l->unit)
		n = l->unit;
	return n < l->n_sms ? n : l->n_sms;
}

struct cot_part cot_placing_part(const struct placing *l, uint32_t first, uint32_t end)
{
	if (!first && end == l->n_sms)
		return (struct cot_part){0};
	return (struct cot_part){.first = first, .n = end - first};
}

/* At the bottom, and below what is reserved. */
static struct cot_part from_bottom(struct placing *l, uint32_t n)
{
	uint32_t first = l->bottom;

	if (n > l->limit)
		n = l->limit;
	if (l->top < first || n > l->top - first)
		return cot_placing_part(l, 0, n);
	l->bottom += n;
	return cot_placing_part(l, first, first + n);
}

/* It ends at a whole unit, unless it is all: then it has the size that was asked for. */
static struct cot_part from_top(struct placing *l, uint32_t n)
{
	uint32_t end = l->top - l->top % l->unit, last = l->n_sms - l->n_sms % l->unit;

	if (n == l->n_sms) {
		l->top = l->bottom;
		return (struct cot_part){0};
	}
	if (end < l->bottom || n > end - l->bottom)
		return cot_placing_part(l, last - n, last);
	l->top = end - n;
	return cot_placing_part(l, l->top, end);
}

/* No more than the program may have; and the first unit remains. */
static void reserve(struct placing *l, uint32_t n, uint32_t most)
{
	if (most && n > most)
		n = most;
	l->limit = n < l->limit ? (l->limit - n) / l->unit * l->unit : 0;
	if (l->limit < l->unit)
		l->limit = l->unit;
	if (l->top > l->limit)
		l->top = l->limit;
}

/*
 * What is reserved lies at the top, each reservation below the one before. A program with a limit
 * has its reserved SMs, and more below them up to the limit: others' reserved SMs, maybe, which
 * only batch programs stay out of.
 */
static void place_reserved(struct cot_policy *p, struct placing *l, struct cot_tenant *t)
{
	uint32_t most = cot_most_sms(t, l->n_sms), n = cot_placing_round(l, most);
	struct cot_part part = {0};
	uint32_t end;

	if (most) /* its part ends at a whole unit */
		l->limit -= l->limit % l->unit;
	end = l->limit;
	reserve(l, cot_share_sms(t->reserve, l->n_sms), most);
	if (most)
		part = cot_placing_part(l, n < end ? end - n : 0, n < end ? end : n);
	else if (l->apart && end > l->limit)
		part = cot_placing_part(l, l->limit, end);
	if (placing_has(l, t))
		(void)placing_place(p, t, part);
}

static void place_limited(struct cot_policy *p, struct placing *l, enum cot_class cls)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p) {
		uint32_t n = cot_placing_round(l, cot_most_sms(t, l->n_sms));

		if (t->cls != cls || !placing_has(l, t) || !placing_is_asked(t) ||
		    placing_reserves(p, t))
			continue;
		(void)placing_place(p, t,
				    cls == COT_CLASS_LATENCY ? from_top(l, n) : from_bottom(l, n));
	}
}

void cot_placing_asked(struct cot_policy *p, struct placing *l)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (placing_reserves(p, t) && (t->gpu_mask >> l->gpu & 1))
			place_reserved(p, l, t);
	place_limited(p, l, COT_CLASS_LATENCY);
	place_limited(p, l, COT_CLASS_BATCH);
}

static void place_others(struct cot_policy *p, const struct placing *l)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p) {
		bool below = placing_has(l, t) && t->cls == COT_CLASS_BATCH;

		if ((uint32_t)__builtin_ctzll(t->gpu_mask) != l->gpu || placing_is_asked(t) ||
		    placing_reserves(p, t))
			continue;
		(void)placing_place(p, t, below ? placing_unreserved(l) : (struct cot_part){0});
	}
}

void cot_place_shares(struct cot_policy *p)
{
	uint64_t gpus;

	for (gpus = cot_placing_gpus(p); gpus; gpus &= gpus - 1) {
		struct placing l = cot_placing_begin(p, (uint32_t)__builtin_ctzll(gpus));

		cot_placing_asked(p, &l);
		place_others(p, &l);
	}
}
