/*
 * What queries leave is divided among batch programs: the greatest sum of rates, in parts of those
 * alone, by weight, within the SMs and the bandwidth that are left (model/alloc.h).
 */
#include "model/alloc.h"
#include "policy/laius_inside.h"
#include "policy/policies.h"

/* A rate, of a program alone; and the longest time for which it is computed. */
#define ALL	   65536u
#define LONGEST_NS (UINT64_MAX / ALL)
/*
 * Which of two programs that both scale with their SMs gets them makes no difference to the sum, so
 * one would get all. A program's first units count for more, by less than 1 % of its rate alone.
 * Our choice.
 */
#define EVEN (ALL / 128)
/* While there is no query every program has something: worth more than all rates together. */
#define FIRST_VALUE (COT_ALLOC_MOST / 2)

struct share {
	const struct laius_deal *d;
	uint32_t n_units; /* that there are to divide, each of `step` units */
	uint32_t step, end;
	uint32_t n; /* programs that are divided among */
	struct cot_tenant *programs[COT_ALLOC_TASKS_MAX];
	uint32_t values[COT_ALLOC_TASKS_MAX][COT_ALLOC_UNITS_MAX];
	uint32_t rates[COT_ALLOC_TASKS_MAX][COT_ALLOC_UNITS_MAX]; /* MB/s */
	struct cot_alloc_task tasks[COT_ALLOC_TASKS_MAX];
};

/* ---- predictions ---- */

/* The row for a part of so many SMs, or for the next larger one: it moves no more than there. */
static const struct cot_prediction *row_above(const struct cot_tenant *t, uint32_t sms)
{
	uint32_t i = 0;

	while (i + 1 < t->n_predictions && t->predictions[i].sms < sms)
		i++;
	return &t->predictions[i];
}

/* In parts of ALL of its rate alone. Without a prediction it goes with the SMs. */
static uint64_t progress(const struct cot_tenant *t, uint32_t sms, uint32_t n_sms)
{
	const struct cot_prediction *row;
	uint64_t here_ns, all_ns;

	if (!t->n_predictions)
		return (uint64_t)ALL * sms / n_sms;
	row = cot_laius_row_below(t, sms);
	here_ns = row->sms > sms ? row->duration_ns / sms * row->sms : row->duration_ns;
	all_ns = t->predictions[t->n_predictions - 1].duration_ns;
	if (all_ns > LONGEST_NS)
		all_ns = LONGEST_NS;
	return here_ns ? all_ns * ALL / here_ns : ALL;
}

static uint64_t bytes_per_s(const struct cot_policy *p, const struct cot_tenant *t, uint32_t sms,
			    uint32_t n_sms)
{
	uint64_t rate = t->n_predictions ? row_above(t, sms)->bytes_per_s : 0;

	return rate ? rate : laius_unknown_rate(p, sms, n_sms);
}

static uint32_t clip(uint64_t value)
{
	return value < COT_ALLOC_MOST ? (uint32_t)value : COT_ALLOC_MOST;
}

/* ---- dividing ---- */

/* Who makes little of what requests leave is held. */
static bool by_gain(const struct laius_deal *d)
{
	return d->any_query && !d->apart && !d->quiet;
}

/* Where a part ends that begins at a cut. */
static uint32_t end_of(const struct share *s, uint32_t begin, uint32_t units, bool last)
{
	uint32_t end = begin + units * s->step * s->d->l->unit;

	return last || end > s->end ? s->end : end;
}

static void add_program(struct share *s, struct cot_tenant *t)
{
	const struct laius_deal *d = s->d;
	uint32_t x, sms, n_sms = d->l->n_sms;

	for (x = 1; x <= s->n_units; x++) {
		sms = end_of(s, d->l->bottom, x, x == s->n_units) - d->l->bottom;
		s->values[s->n][x - 1] = clip((by_gain(d) ? 0 : FIRST_VALUE) +
					      (progress(t, sms, n_sms) + EVEN * x / (x + 1)) *
						      t->weight / COT_WEIGHT_DEFAULT);
		s->rates[s->n][x - 1] = clip(bytes_per_s(d->p, t, sms, n_sms) / LAIUS_BYTES_PER_MB);
	}
	s->tasks[s->n] = (struct cot_alloc_task){s->values[s->n], s->rates[s->n]};
	s->programs[s->n++] = t;
}

static void hold(struct laius_deal *d, struct cot_tenant *t, enum laius_why why)
{
	struct laius_program *own = laius_program(t);

	/* If it is not told again, it goes on here. */
	own->part = cot_placing_part(d->l, d->l->bottom,
				     cot_placing_round(d->l, d->l->bottom + d->l->unit));
	own->part.hold = true;
	own->rate = 0;
	own->why = why;
}

static void hold_all(struct laius_deal *d, enum laius_why why)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, d->p)
		if (laius_is_divided(d, t))
			hold(d, t, why);
}

static void put(const struct share *s, const struct cot_alloc *a)
{
	const struct laius_deal *d = s->d;
	uint32_t begin = d->l->bottom, left = a->n_units, end, i;

	for (i = 0; i < s->n; i++) {
		struct laius_program *own = laius_program(s->programs[i]);

		left -= a->units[i];
		if (!a->units[i])
			continue;
		end = end_of(s, begin, a->units[i], !left && a->n_units == s->n_units);
		own->part = cot_placing_part(d->l, begin, end);
		own->rate = (uint64_t)s->rates[i][a->units[i] - 1] * LAIUS_BYTES_PER_MB;
		own->why = d->apart		? LAIUS_WHY_APART
			   : s->end < d->l->top ? LAIUS_WHY_SHARE
						: LAIUS_WHY_ALONE;
		begin = end;
	}
}

/* While there is no query, programs for which there is no unit lie over the others; where they stay
 * apart, on the first unit. */
static void put_others(const struct share *s)
{
	const struct laius_deal *d = s->d;
	struct cot_tenant *t;

	if (by_gain(d))
		return;
	cot_for_each_tenant (t, d->p) {
		struct laius_program *own = laius_program(t);

		if (!laius_is_divided(d, t) || !own->part.hold)
			continue;
		own->part.hold = false;
		own->why = d->apart ? LAIUS_WHY_APART : LAIUS_WHY_ALONE;
		if (!d->apart)
			own->part = cot_placing_part(d->l, d->l->bottom, s->end);
	}
}

/* What programs may move that are not divided among, because their users asked for SMs. */
static void count_asked(struct laius_deal *d)
{
	const struct cot_tenant *t;

	cot_for_each_tenant (t, d->p)
		if (placing_has(d->l, t) && !placing_is_dealt(d->p, d->l, t) &&
		    t->activity != COT_ACTIVITY_IDLE)
			d->taken += bytes_per_s(d->p, t, t->part.n ? t->part.n : d->l->n_sms,
						d->l->n_sms);
}

static uint64_t bandwidth_left(const struct laius_deal *d)
{
	uint64_t all = laius_bandwidth(d->p);

	return all > d->taken ? all - d->taken : 0;
}

static bool is_limited(const struct laius_deal *d)
{
	return (by_gain(d) || d->apart) && d->p->config->dram_bytes_per_s &&
	       d->p->ops != &cot_policy_laius_nb;
}

/* Where batch programs' SMs end. Those at rest stay out of the way, for when they go on. */
static uint32_t end_of_batch(const struct laius_deal *d)
{
	uint32_t end = d->apart ? d->roof : d->begin;

	if (d->quiet)
		return d->roof;
	end = end < d->low ? end : d->low;
	return end > d->l->bottom ? end : d->l->bottom;
}

static void divide(struct laius_deal *d, uint32_t end, uint32_t pieces, uint64_t bandwidth)
{
	struct share s = {.d = d, .end = end};
	struct cot_alloc a;
	struct cot_tenant *t;

	s.step = (pieces + COT_ALLOC_UNITS_MAX - 1) / COT_ALLOC_UNITS_MAX;
	s.n_units = pieces / s.step;
	cot_for_each_tenant (t, d->p)
		if (laius_is_divided(d, t) && s.n < COT_ALLOC_TASKS_MAX)
			add_program(&s, t);
	if (cot_alloc(s.tasks, s.n, s.n_units, bandwidth, &a))
		return;
	put(&s, &a);
	put_others(&s);
}

static void set_pace(struct laius_deal *d)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, d->p)
		if (laius_is_divided(d, t))
			laius_program(t)->part.pace_us = d->pace_us;
}

void cot_laius_share(struct laius_deal *d)
{
	uint32_t end = end_of_batch(d), pieces = cot_placing_pieces(d->l, d->l->bottom, end);
	uint64_t bandwidth = COT_ALLOC_NO_LIMIT;

	count_asked(d);
	if (is_limited(d))
		bandwidth = bandwidth_left(d) / LAIUS_BYTES_PER_MB;
	hold_all(d, bandwidth ? LAIUS_WHY_NOT_CHOSEN : LAIUS_WHY_NO_BANDWIDTH);
	if (!pieces)
		hold_all(d, LAIUS_WHY_NO_SMS);
	else if (bandwidth || d->apart)
		divide(d, end, pieces, bandwidth);
	set_pace(d);
}
