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
	l.top = l.n_sms;
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
	return (struct cot_part){first, end - first};
}

static struct cot_part from_bottom(struct placing *l, uint32_t n)
{
	uint32_t first = l->bottom;

	if (n > l->top - l->bottom)
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

static void place_asked(struct cot_policy *p, struct placing *l, enum cot_class cls)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p) {
		uint32_t n = cot_placing_round(l, cot_share_sms(t->sms, l->n_sms));

		if (t->cls != cls || !placing_has(l, t) || !placing_is_asked(t))
			continue;
		(void)cot_place(p, t,
				cls == COT_CLASS_LATENCY ? from_top(l, n) : from_bottom(l, n));
	}
}

void cot_placing_asked(struct cot_policy *p, struct placing *l)
{
	place_asked(p, l, COT_CLASS_LATENCY);
	place_asked(p, l, COT_CLASS_BATCH);
}

void cot_place_shares(struct cot_policy *p)
{
	struct cot_tenant *t;
	uint64_t gpus;

	cot_for_each_tenant (t, p)
		if (!placing_is_asked(t))
			(void)cot_place(p, t, (struct cot_part){0});
	for (gpus = cot_placing_gpus(p); gpus; gpus &= gpus - 1) {
		struct placing l = cot_placing_begin(p, (uint32_t)__builtin_ctzll(gpus));

		cot_placing_asked(p, &l);
	}
}
