#include "sim/arrivals.h"

#include "base/units.h"
#include "sim/series.h"

#define LATEST_PS (UINT64_MAX / 4)
#define LN_2	  0.69314718055994531
#define TWO_53	  9007199254740992.0

/* Exponentially distributed with mean 1; at most 53 ln 2. */
static double draw(struct cot_rng *rng)
{
	double u = (double)((cot_rng_next(rng) >> 11) + 1) / TWO_53;
	unsigned halvings = 0;

	for (; u < 1.0; u *= 2.0)
		halvings++;
	return halvings * LN_2 - cot_ln_series(u);
}

static bool has_bursts(const struct cot_arrivals *d)
{
	return d->off_ps > 0;
}

static void begin_phase(struct arrivals *a, bool on, uint64_t now_ps)
{
	uint64_t mean_ps = on ? a->desc->on_ps : a->desc->off_ps;

	a->on = on;
	a->phase_end_ps = now_ps + 1 + (uint64_t)(draw(&a->phases) * (double)mean_ps);
}

void cot_arrivals_start(struct arrivals *a, const struct cot_arrivals *desc, uint64_t hash,
			uint64_t start_ps)
{
	*a = (struct arrivals){
		.desc = desc,
		.start_ps = start_ps,
		.at_ps = start_ps,
		.gaps = {cot_hash64(hash, 'g')},
		.phases = {cot_hash64(hash, 'p')},
		.on = true,
		.phase_end_ps = UINT64_MAX,
	};
	if (has_bursts(desc))
		begin_phase(a, true, start_ps);
}

/* Requests in a picosecond, and until when that holds. */
static double rate_at(const struct arrivals *a, uint64_t t_ps, uint64_t *ret_until_ps)
{
	const struct cot_arrivals *d = a->desc;
	double per_ps = d->per_s / (double)COT_PS_PER_S;
	uint64_t step;

	*ret_until_ps = a->phase_end_ps;
	if (has_bursts(d))
		per_ps *= a->on ? (double)(d->on_ps + d->off_ps) / (double)d->on_ps : 0.0;
	if (!d->n_curve)
		return per_ps;
	step = (t_ps - a->start_ps) / d->curve_step_ps;
	if (a->start_ps + (step + 1) * d->curve_step_ps < *ret_until_ps)
		*ret_until_ps = a->start_ps + (step + 1) * d->curve_step_ps;
	return per_ps * d->curve[step % d->n_curve];
}

void cot_arrivals_answered(struct arrivals *a, uint64_t now_ps)
{
	if (a->desc->gaps != COT_GAPS_AFTER)
		return;
	a->at_ps = now_ps;
	while (a->phase_end_ps <= now_ps)
		begin_phase(a, !a->on, a->phase_end_ps);
}

uint64_t cot_arrivals_next(struct arrivals *a)
{
	double left = a->desc->gaps == COT_GAPS_EVEN ? 1.0 : draw(&a->gaps);
	uint64_t t_ps = a->at_ps, until_ps;

	while (t_ps < LATEST_PS) {
		double per_ps = rate_at(a, t_ps, &until_ps);
		double n = per_ps * (double)(until_ps - t_ps);

		if (left < n) {
			double gap_ps = left / per_ps;

			a->at_ps = gap_ps < (double)LATEST_PS ? t_ps + (uint64_t)gap_ps : LATEST_PS;
			return a->at_ps < LATEST_PS ? a->at_ps : UINT64_MAX;
		}
		left -= n;
		t_ps = until_ps;
		if (until_ps == a->phase_end_ps)
			begin_phase(a, !a->on, until_ps);
	}
	a->at_ps = LATEST_PS;
	return UINT64_MAX;
}
