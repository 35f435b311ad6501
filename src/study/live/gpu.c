/*
 * What the GPU does that no program alone shows, from mixes that are not compared: requests of 40
 * kernels that note when they run, beside `hog` ("parts") and beside `gemm` ("parts-gemm").
 */
#include <errno.h>

#include "sim/series.h"
#include "study/live/live.h"

#define SERIES_MAX 5.0 /* that cot_ln_series() takes */

static double of(const struct cot_live *l, const char *group, const char *window, const char *app,
		 enum cot_live_figure figure)
{
	const struct cot_live_match m = {COT_LIVE_ANY_RUN, group, window, app, NULL};

	return cot_live_median(l, &m, figure);
}

/* The part of the time in which the batch program had the GPU, beside requests that took `busy_us`
 * of it each. */
static double share_left(const struct cot_live *l, const char *group, double busy_us)
{
	return 1.0 - of(l, group, "pools", "L1", COT_LIVE_RATE) * busy_us / 1e6;
}

/* What a request costs the batch program beside its own time: there and back. */
static double both_ways_us(const struct cot_live *l)
{
	double alone = cot_live_alone(l, COT_LIVE_ANY_RUN, NULL, "hog", COT_LIVE_RATE);
	double lost = 1.0 - of(l, "parts", "pools", "B1", COT_LIVE_RATE) / alone;

	return 1e6 * lost / of(l, "parts", "pools", "L1", COT_LIVE_RATE) -
	       of(l, "parts", "pools", "L1", COT_LIVE_ON_GPU);
}

static double power_of(double x, double exponent)
{
	bool below = x < 1.0;
	double base = below ? 1.0 / x : x, e;

	e = cot_exp_series(exponent * cot_ln_series(base < SERIES_MAX ? base : SERIES_MAX));
	return below ? 1.0 / e : e;
}

/*
 * Beside a product that brings the GPU to its power limit, kernels that touch no memory take
 * longer, and the product is faster than its share of the time says: both are the clock.
 */
static void find_hot(const struct cot_live *l, struct cot_live_gpu *g)
{
	double slow = of(l, "parts-gemm", "pools", "L1", COT_LIVE_ON_GPU) /
		      of(l, "parts-gemm", "alone:L1", "L1", COT_LIVE_ON_GPU);
	double share = share_left(l, "parts-gemm",
				  of(l, "parts-gemm", "pools", "L1", COT_LIVE_ON_GPU) +
					  g->switch_us + g->resume_us);
	double gain = of(l, "parts-gemm", "pools", "B1", COT_LIVE_RATE) /
		      cot_live_alone(l, COT_LIVE_ANY_RUN, NULL, "gemm", COT_LIVE_RATE) / share;

	g->hot_factor = slow * gain;
	g->hot_power = cot_ln_series(gain) / cot_ln_series(1.0 / share);
}

static bool is_sound(const struct cot_live_gpu *g)
{
	return g->host_us > 0.0 && g->switch_us > 0.0 && g->resume_us > 0.0 &&
	       g->hot_factor > 1.0 && g->hot_factor < SERIES_MAX && g->hot_power > 0.0 &&
	       g->hot_power < 1.0;
}

int cot_live_gpu_find(const struct cot_live *l, const char *name, struct cot_live_gpu *ret,
		      struct cot_error *err)
{
	struct cot_live_gpu g = {.host_us = of(l, "parts", "alone:L1", "L1", COT_LIVE_OFF_GPU)};

	/* With slices of 1 us a request waits for none. */
	g.switch_us = of(l, "parts", "slice:1", "L1", COT_LIVE_OFF_GPU) - g.host_us;
	g.resume_us = both_ways_us(l) - g.switch_us;
	find_hot(l, &g);
	if (!is_sound(&g))
		return cot_error_set(
			err, -EINVAL,
			"%s: what a switch and the power limit cost does not follow from this; expected "
			"windows of the mixes 'parts' and 'parts-gemm' of bench/live, and 'hog' and "
			"'gemm' alone",
			name);
	*ret = g;
	return 0;
}

double cot_live_hot_gain(const struct cot_live_gpu *g, double share)
{
	double gain = power_of(1.0 / share, g->hot_power);

	return share >= 1.0 ? 1.0 : gain < g->hot_factor ? gain : g->hot_factor;
}

double cot_live_hot_loss(const struct cot_live_gpu *g, double share)
{
	return g->hot_factor / cot_live_hot_gain(g, share);
}
