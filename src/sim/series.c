#include "sim/series.h"

#define LN_TERMS  60
#define EXP_SCALE 1024.0 /* 2^10: exp(x) = exp(x / 2^10)^(2^10) */

double cot_ln_series(double x)
{
	double y = (x - 1.0) / (x + 1.0), power = y, sum = 0.0;
	int i;

	for (i = 0; i < LN_TERMS; i++) {
		sum += power / (2 * i + 1);
		power *= y * y;
	}
	return 2.0 * sum;
}

double cot_exp_series(double x)
{
	double y = x / EXP_SCALE, e = 1.0 + y * (1.0 + y / 2.0 * (1.0 + y / 3.0 * (1.0 + y / 4.0)));
	double scale;

	for (scale = 1.0; scale < EXP_SCALE; scale *= 2.0)
		e *= e;
	return e;
}
