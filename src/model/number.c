#include "model/number.h"

#include <stdint.h>
#include <string.h>

#define LN2_HIGH   6.93147180369123816490e-01
#define LN2_LOW	   1.90821492927058770002e-10
#define LOG_TERMS  25 /* odd: 2 s^25 / 25 is below 1e-20 */
#define SQRT_STEPS 5  /* off by 6 % at first, then by 2e-3, 2e-6, 2e-12, 2e-24 */

/*
 * x = m * 2^e with m near 1; log(m) = 2 (s + s^3/3 + s^5/5 + ...), s = (m - 1) / (m + 1). The two
 * parts of log(2) are those of fdlibm: e times the first is exact.
 */
double cot_model_log(double x)
{
	uint64_t bits;
	double m, s, sum = 0;
	int e = 0, i;

	if (x < 0x1p-1022) {
		x *= 0x1p54;
		e = -54;
	}
	memcpy(&bits, &x, sizeof(bits));
	e += (int)(bits >> 52) - 1023;
	bits = (bits & 0xfffffffffffffULL) | 0x3ff0000000000000ULL;
	memcpy(&m, &bits, sizeof(m));
	if (m > 1.4142135623730951) {
		m /= 2;
		e++;
	}
	s = (m - 1) / (m + 1);
	for (i = LOG_TERMS; i > 0; i -= 2)
		sum = sum * s * s + 2.0 / i;
	return e * LN2_HIGH + (e * LN2_LOW + sum * s);
}

/* Newton's method from half of the exponent. */
double cot_model_sqrt(double x)
{
	uint64_t bits;
	double root;
	int i;

	if (!(x > 0))
		return 0;
	if (x < 0x1p-1022)
		return cot_model_sqrt(x * 0x1p54) * 0x1p-27;
	memcpy(&bits, &x, sizeof(bits));
	bits = (bits >> 1) + (1023ULL << 51);
	memcpy(&root, &bits, sizeof(root));
	for (i = 0; i < SQRT_STEPS; i++)
		root = (root + x / root) / 2;
	return root;
}
