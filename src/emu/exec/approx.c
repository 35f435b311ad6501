#include "emu/exec/approx.h"

#include <stdbool.h>
#include <string.h>

#include "base/compiler.h"

#define NOT_A_NUMBER ((double)__builtin_nan(""))
#define INFINITE     ((double)__builtin_inf())
#define LN2	     0.69314718055994530942
#define LOG2_E	     1.44269504088896340736
#define PI_HALF	     1.57079632679489661923

static double power_of_two(int n)
{
	uint64_t bits = (uint64_t)(n + 1023) << 52;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t bits_of(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static double of_bits(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/* Coefficients from the highest power down. */
static double polynomial(double x, const double *c, unsigned n)
{
	double y = c[0];
	unsigned i;

	for (i = 1; i < n; i++)
		y = y * x + c[i];
	return y;
}

double cot_approx_ex2(double x)
{
	/* exp(y) for |y| <= ln(2) / 2: Taylor; the rest is below 2^-47. */
	static const double c[] = {
		1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720,
		1.0 / 120,	1.0 / 24,      1.0 / 6,	     0.5,	  1,	      1};
	int n;

	if (x != x)
		return NOT_A_NUMBER;
	if (x >= 1000)
		return INFINITE;
	if (x <= -1000)
		return 0;
	n = (int)(x < 0 ? x - 0.5 : x + 0.5);
	return polynomial((x - n) * LN2, c, COT_ARRAY_LEN(c)) * power_of_two(n);
}

double cot_approx_lg2(double x)
{
	/* atanh(s) / s in powers of s^2, for |s| <= 0.172 */
	static const double c[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
				   1.0 / 9,  1.0 / 7,  1.0 / 5,	 1.0 / 3,  1.0};
	double s;
	int e;

	if (x != x || x < 0)
		return NOT_A_NUMBER;
	if (x == 0)
		return -INFINITE;
	if (x == INFINITE)
		return x;
	e = (int)(bits_of(x) >> 52) - 1023;
	x = of_bits((bits_of(x) & 0xfffffffffffffull) | 1023ull << 52);
	if (x > 1.41421356237309504880) {
		x *= 0.5;
		e++;
	}
	s = (x - 1) / (x + 1);
	return e + 2 * LOG2_E * s * polynomial(s * s, c, COT_ARRAY_LEN(c));
}

double cot_approx_tanh(double x)
{
	static const double c[] = {62.0 / 2835, -17.0 / 315, 2.0 / 15, -1.0 / 3, 1};
	double e;

	if (x < 0.01 && x > -0.01)
		return x * polynomial(x * x, c, COT_ARRAY_LEN(c));
	if (x > 20 || x < -20)
		return x > 0 ? 1 : -1;
	e = cot_approx_ex2(x * 2 * LOG2_E);
	return (e - 1) / (e + 1);
}

double cot_approx_rsqrt(double x)
{
	if (x != x || x < 0)
		return NOT_A_NUMBER;
	return 1 / (x == 0 ? x : __builtin_sqrt(x));
}

/*
 * x * 2/pi modulo 4 (Payne and Hanek): the significand of x times those 192 bits of 2/pi that
 * matter. The whole part goes to *ret_quadrant, the rest, in [-0.5, 0.5], is returned.
 */
static double reduce(float x, unsigned *ret_quadrant)
{
	/* 2/pi = sum of words[i] * 2^(-64 * (i + 1)), after one word of zeros */
	static const uint64_t words[] = {0, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0,
					 0xdb6295993c439041, 0xfe5163abdebbc561};
	uint32_t bits;
	uint64_t sig, low, high, fraction;
	unsigned start, word, shift, i;
	uint64_t window[3];
	cot_u128 product;
	int exp;
	double rest;

	memcpy(&bits, &x, sizeof(bits));
	exp = (int)(bits >> 23 & 0xff) - 150;
	sig = (bits & 0x7fffff) | 0x800000;
	/* Bits that weigh 4 or more after multiplication are multiples of a turn: left out. */
	start = (unsigned)(64 + exp - 2);
	word = start / 64;
	shift = start % 64;
	for (i = 0; i < 3; i++) {
		uint64_t next = word + i + 1 < COT_ARRAY_LEN(words) ? words[word + i + 1] : 0;
		uint64_t this = word + i < COT_ARRAY_LEN(words) ? words[word + i] : 0;

		window[i] = shift ? this << shift | next >> (64 - shift) : this;
	}
	product = (cot_u128)window[1] * sig + (cot_u128)(uint64_t)((cot_u128)window[2] * sig >> 64);
	low = (uint64_t)product;
	high = window[0] * sig + (uint64_t)(product >> 64);
	*ret_quadrant = (unsigned)(high >> 62);
	fraction = high << 2 | low >> 62;
	rest = (double)(int64_t)fraction * 0x1p-64;
	/* Read as signed, a fraction of one half or more is one less: the next quadrant. */
	if (fraction >> 63)
		*ret_quadrant += 1;
	if (bits >> 31) {
		*ret_quadrant = 0 - *ret_quadrant;
		rest = -rest;
	}
	return rest;
}

static double sin_of_quarter(double y)
{
	static const double c[] = {
		-1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880,
		-1.0 / 5040,	      1.0 / 120,	-1.0 / 6,	 1};

	return y * polynomial(y * y, c, COT_ARRAY_LEN(c));
}

static double cos_of_quarter(double y)
{
	static const double c[] = {1.0 / 20922789888000,
				   -1.0 / 87178291200,
				   1.0 / 479001600,
				   -1.0 / 3628800,
				   1.0 / 40320,
				   -1.0 / 720,
				   1.0 / 24,
				   -0.5,
				   1};

	return polynomial(y * y, c, COT_ARRAY_LEN(c));
}

static double turn(float x, unsigned add)
{
	unsigned quadrant = 0;
	double y = x;

	if (x != x || x - x != 0)
		return NOT_A_NUMBER;
	if (x > 0.5f || x < -0.5f)
		y = reduce(x, &quadrant) * PI_HALF;
	quadrant += add;
	y = quadrant & 1 ? cos_of_quarter(y) : sin_of_quarter(y);
	return quadrant & 2 ? -y : y;
}

double cot_approx_sin(float x)
{
	return turn(x, 0);
}

double cot_approx_cos(float x)
{
	return turn(x, 1);
}

static double upper_half(double x)
{
	return of_bits(bits_of(x) & 0xffffffff00000000ull);
}

/* A zero of the same sign for what is subnormal. */
static double flush(double x)
{
	bool small = !(bits_of(x) >> 52 & 0x7ff);

	return small ? of_bits(bits_of(x) & 1ull << 63) : x;
}

double cot_approx_rcp64(double x)
{
	return upper_half(flush(1 / flush(upper_half(x))));
}

double cot_approx_rsqrt64(double x)
{
	return upper_half(cot_approx_rsqrt(flush(upper_half(x))));
}
