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
	struct placing l = {.gpu = gpu, .n_sms = 1, .unit = 1, .whole = 1};
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
			l.whole = t->part_units * t->part_unit;
		}
		votes += !votes || placing_has(&l, t) ? 1 : UINT32_MAX;
	}
	l.top = l.limit = l.n_sms;
	return l;
}

static uint32_t cut_below(const struct placing *l, uint32_t sm)
{
	if (sm >= l->n_sms)
		return l->n_sms;
	return sm < l->whole ? sm - sm % l->unit : l->whole;
}

static uint32_t cut_above(const struct placing *l, uint32_t sm)
{
	uint32_t cut = cut_below(l, sm);

	if (cut == sm || cut == l->n_sms)
		return cut;
	return cut < l->whole ? cut + l->unit : l->n_sms;
}

uint32_t cot_placing_round(const struct placing *l, uint32_t sm)
{
	uint32_t below = cut_below(l, sm), above = cut_above(l, sm);

	return below && sm - below < above - sm ? below : above;
}

uint32_t cot_placing_begin_of(const struct placing *l, uint32_t end, uint32_t n)
{
	uint32_t sm = n < end ? end - n : 0, below = cut_below(l, sm), above = cut_above(l, sm);
	uint32_t begin = sm - below <= above - sm ? below : above;

	return begin < end ? begin : cut_below(l, end - 1);
}

uint32_t cot_placing_pieces(const struct placing *l, uint32_t first, uint32_t end)
{
	uint32_t whole = end < l->whole ? end : l->whole;

	if (first >= whole)
		return end - first >= l->unit;
	return (whole - first) / l->unit + (end - whole >= l->unit);
}

uint32_t cot_placing_share_end(const struct placing *l, uint32_t begin, uint32_t end,
			       uint64_t weight, uint64_t all, uint32_t others)
{
	uint32_t to = begin + (uint32_t)((end - begin) * weight / all);

	if (!others)
		return end;
	to = cot_placing_round(l, to > begin + l->unit ? to : begin + l->unit);
	while (cot_placing_pieces(l, to, end) < others)
		to = cot_placing_begin_of(l, to, 1);
	return to;
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
	uint32_t first = l->bottom, end;

	n = cot_placing_round(l, n);
	if (n > l->limit)
		n = l->limit;
	if (l->top <= first || n > l->top - first)
		return cot_placing_part(l, 0, n);
	end = cot_placing_round(l, first + n);
	l->bottom = end > first && end <= l->top ? end : l->top;
	return cot_placing_part(l, first, l->bottom);
}

/* Whether there is room for about `n` SMs at the top. */
static bool has_room(const struct placing *l, uint32_t n)
{
	return l->top > l->bottom && n < l->top - l->bottom + (l->unit + 1) / 2;
}

static struct cot_part from_top(struct placing *l, uint32_t n)
{
	uint32_t end = l->top, alone = cot_placing_begin_of(l, l->n_sms, n);

	if (!alone)
		l->top = l->bottom;
	if (!alone || !has_room(l, n))
		return cot_placing_part(l, alone, l->n_sms);
	l->top = cot_placing_begin_of(l, end, n);
	return cot_placing_part(l, l->top, end);
}

/* No more than the program may have; and the first unit remains. */
static void reserve(struct placing *l, uint32_t n, uint32_t most)
{
	if (most && n > most)
		n = most;
	l->limit = n < l->limit ? cut_below(l, l->limit - n) : 0;
	if (l->limit < l->unit)
		l->limit = l->unit;
	if (l->top > l->limit)
		l->top = l->limit;
}

/* Up to `end` as many as the program may have, and no less than it has reserved. */
static struct cot_part with_reserved(const struct placing *l, uint32_t end, uint32_t most)
{
	uint32_t begin = cot_placing_begin_of(l, end, most);

	if (most >= end)
		return cot_placing_part(l, 0, cot_placing_round(l, most));
	return cot_placing_part(l, begin < l->limit ? begin : l->limit, end);
}

/*
 * What is reserved lies at the top, each reservation below the one before. A program with a limit
 * has its reserved SMs, and more below them up to the limit: others' reserved SMs, maybe, which
 * only batch programs stay out of.
 */
static void place_reserved(struct cot_policy *p, struct placing *l, struct cot_tenant *t)
{
	uint32_t most = cot_most_sms(t, l->n_sms), end = l->limit;
	struct cot_part part = {0};

	reserve(l, cot_share_sms(t->reserve, l->n_sms), most);
	if (most)
		part = with_reserved(l, end, most);
	else if (l->apart && end > l->limit)
		part = cot_placing_part(l, l->limit, end);
	if (placing_has(l, t))
		(void)placing_place(p, t, part);
}

static void place_limited(struct cot_policy *p, struct placing *l, enum cot_class cls)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p) {
		uint32_t n = cot_most_sms(t, l->n_sms);

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

void cot_placing_others(struct cot_policy *p, const struct placing *l)
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
		cot_placing_others(p, &l);
	}
}
