#include "report/interval.h"

#include <math.h>

#include "base/compiler.h"

#define Z 1.959964 /* the same quantile of the normal distribution */

/* Abramowitz and Stegun, Handbook of Mathematical Functions, table 26.10; beyond it their series
 * 26.7.5, which is exact to the last digit there. */
double cot_interval_t(unsigned degrees)
{
	static const double table[] = {
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201,	2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
		2.080,	2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
	};
	double v = degrees, z3 = Z * Z * Z, z5 = z3 * Z * Z;

	if (degrees <= COT_ARRAY_LEN(table))
		return table[degrees - 1];
	return Z + (z3 + Z) / (4 * v) + (5 * z5 + 16 * z3 + 3 * Z) / (96 * v * v);
}

struct cot_interval cot_interval_of(const double *values, unsigned n, unsigned stride)
{
	struct cot_interval r = {.half = (double)NAN};
	double squares = 0;
	unsigned i;

	for (i = 0; i < n; i++)
		r.mean += values[i * stride];
	r.mean /= n;
	for (i = 0; i < n; i++) {
		double off = values[i * stride] - r.mean;

		squares += off * off;
	}
	if (n > 1 && !isnan(r.mean))
		r.half = cot_interval_t(n - 1) * sqrt(squares / (n - 1) / n);
	return r;
}
