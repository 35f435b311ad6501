#include "model/heat.h"

#include <errno.h>
#include <float.h>
#include <stdbool.h>

#include "model/power.h"

#define GRID_RATIO 1.05 /* between the time constants that are tried first */
#define SPAN	   1e6	/* between the length of the test and the least time constant */
#define REFINE	   80	/* steps of the search between two of them; each cuts a third off */

struct curve {
	const double *t_s, *watts;
	uint32_t n;
	double start_w, rise_w; /* the best line for the last time constant */
};

static double warmth(double t_s, double tau_s)
{
	return 1 - cot_model_decay(t_s / tau_s);
}

/* The best start and rise for a time constant; returns the sum of squared distances. */
static double fit_line(struct curve *c, double tau_s)
{
	double mean_x = 0, mean_y = 0, xx = 0, xy = 0, sum = 0, d;
	uint32_t i;

	for (i = 0; i < c->n; i++) {
		mean_x += warmth(c->t_s[i], tau_s) / c->n;
		mean_y += c->watts[i] / c->n;
	}
	for (i = 0; i < c->n; i++) {
		d = warmth(c->t_s[i], tau_s) - mean_x;
		xx += d * d;
		xy += d * (c->watts[i] - mean_y);
	}
	c->rise_w = xx > 0 ? xy / xx : 0;
	c->start_w = mean_y - c->rise_w * mean_x;
	for (i = 0; i < c->n; i++) {
		d = c->watts[i] - c->start_w - c->rise_w * warmth(c->t_s[i], tau_s);
		sum += d * d;
	}
	return sum;
}

static bool grows(const double *t_s, uint32_t n)
{
	uint32_t i;

	if (!(t_s[0] >= 0))
		return false;
	for (i = 1; i < n; i++)
		if (!(t_s[i] > t_s[i - 1]))
			return false;
	return true;
}

static double seek(struct curve *c, double least_s, double most_s)
{
	double best = least_s, best_sum = DBL_MAX, tau, low, high, a, b, sum;
	int i;

	for (tau = least_s; tau <= most_s; tau *= GRID_RATIO) {
		sum = fit_line(c, tau);
		if (sum < best_sum) {
			best_sum = sum;
			best = tau;
		}
	}
	low = best / GRID_RATIO;
	high = best * GRID_RATIO;
	for (i = 0; i < REFINE; i++) {
		a = low + (high - low) / 3;
		b = high - (high - low) / 3;
		if (fit_line(c, a) < fit_line(c, b))
			high = b;
		else
			low = a;
	}
	return (low + high) / 2;
}

int cot_model_heat_fit(const double *t_s, const double *watts, uint32_t n,
		       struct cot_model_heat *ret)
{
	struct curve c = {.t_s = t_s, .watts = watts, .n = n};
	double d, least_s;
	uint32_t i;

	if (n < 4 || !grows(t_s, n))
		return -EINVAL;
	least_s = t_s[1] - t_s[0];
	if (least_s < t_s[n - 1] / SPAN)
		least_s = t_s[n - 1] / SPAN;
	ret->tau_s = seek(&c, least_s, 10 * t_s[n - 1]);
	(void)fit_line(&c, ret->tau_s);
	ret->start_w = c.start_w;
	ret->rise_w = c.rise_w;
	ret->worst_w = 0;
	for (i = 0; i < n; i++) {
		d = watts[i] - c.start_w - c.rise_w * warmth(t_s[i], ret->tau_s);
		d = d < 0 ? -d : d;
		if (d > ret->worst_w)
			ret->worst_w = d;
	}
	return 0;
}
