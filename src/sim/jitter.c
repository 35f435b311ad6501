#include "sim/jitter.h"

#include <math.h>

#include "sim/series.h"

#define CDF_TERMS 80
#define TAIL	  (1.0 / 8192.0)
#define SQRT_2PI  2.5066282746310002

static double normal_pdf(double z)
{
	return cot_exp_series(-z * z / 2.0) / SQRT_2PI;
}

/* Marsaglia's series for the normal distribution function (J. Stat. Software 11(4), 2004). */
static double normal_cdf(double z)
{
	double term = z, sum = z;
	int i;

	for (i = 1; i < CDF_TERMS; i++) {
		term *= z * z / (2 * i + 1);
		sum += term;
	}
	return 0.5 + sum * normal_pdf(z);
}

/* The z with normal_cdf(z) == u, by Newton's method from a nearby start. */
static double normal_quantile(double u, double start)
{
	double z = start;
	int i;

	for (i = 0; i < 8; i++)
		z -= (normal_cdf(z) - u) / normal_pdf(z);
	return z;
}

void cot_jitter_init(struct jitter *j, double cv)
{
	double sigma = sqrt(cot_ln_series(1.0 + cv * cv)), z = 0.0, area = 0.0;
	double upper[COT_JITTER_BINS / 2 + 1], mult[COT_JITTER_BINS + 1];
	unsigned i, half = COT_JITTER_BINS / 2;

	for (i = 0; i <= half; i++) {
		double u = 0.5 + (double)i / COT_JITTER_BINS;

		z = normal_quantile(u > 1.0 - TAIL ? 1.0 - TAIL : u, z);
		upper[i] = z;
	}
	for (i = 0; i <= COT_JITTER_BINS; i++)
		mult[i] = cot_exp_series(sigma * (i < half ? -upper[half - i] : upper[i - half]));
	for (i = 0; i < COT_JITTER_BINS; i++)
		area += (mult[i] + mult[i + 1]) / 2.0 / COT_JITTER_BINS;
	/* Cutting the tails moves the mean: bring it back to exactly 1. */
	for (i = 0; i <= COT_JITTER_BINS; i++)
		j->mult_q32[i] = (uint64_t)(mult[i] / area * 4294967296.0 + 0.5);
}
