#include "model/waves.h"

#define SWEEPS 4000u /* far more than it takes until nothing changes */

static uint32_t n_waves(uint32_t blocks, uint32_t sms)
{
	return (blocks + sms - 1) / sms;
}

double cot_waves_us(const struct cot_waves *w, uint32_t sms)
{
	double us = 0.0;
	uint32_t i;

	for (i = 0; i < w->n; i++)
		us += w->block_us[i] * n_waves(w->blocks[i], sms);
	return us;
}

/* The best time of kernel k when those of the others stay. */
static double best_us(const struct cot_waves_sample *samples, uint32_t n, const struct cot_waves *w,
		      uint32_t k)
{
	double product = 0.0, square = 0.0;
	uint32_t i;

	for (i = 0; i < n; i++) {
		double waves = n_waves(w->blocks[k], samples[i].sms);
		double others = cot_waves_us(w, samples[i].sms) - waves * w->block_us[k];
		double part = waves / samples[i].us;

		product += part * (1.0 - others / samples[i].us);
		square += part * part;
	}
	return product > 0.0 ? product / square : 0.0;
}

/* Those that take no time are left out. */
static void drop_empty(struct cot_waves *w)
{
	uint32_t i, n = 0;

	for (i = 0; i < w->n; i++) {
		if (!(w->block_us[i] > 0.0))
			continue;
		w->blocks[n] = w->blocks[i];
		w->block_us[n++] = w->block_us[i];
	}
	w->n = n;
}

void cot_waves_fit(const struct cot_waves_sample *samples, uint32_t n, struct cot_waves *ret)
{
	uint32_t sweep, k;

	*ret = (struct cot_waves){.n = n};
	for (k = 0; k < n; k++)
		ret->blocks[k] = samples[k].sms;
	for (sweep = 0; sweep < SWEEPS; sweep++)
		for (k = 0; k < n; k++)
			ret->block_us[k] = best_us(samples, n, ret, k);
	drop_empty(ret);
}
