/*
 * Exponential and logarithm from additions, multiplications, divisions and bit patterns only. Each
 * of these is rounded by IEEE 754, so a GPU and a CPU get the same bits, if the compiler does not
 * fuse them (-ffp-contract=off, nvcc: -fmad=false). Accurate to about one unit in the last place
 * of a float, and to three of a double. C11 and CUDA.
 *
 * Arguments outside the ranges below are clamped; there are no infinities in the kernels.
 */
#ifndef COT_KERNELS_EXACT_MATH_H
#define COT_KERNELS_EXACT_MATH_H

#ifdef __CUDA__
#define COT_EXACT static __device__ __forceinline__
#elif defined(__CUDACC__)
#define COT_EXACT static __device__ __host__ __forceinline__
#else
#define COT_EXACT static inline
#endif

COT_EXACT float cot_bits_to_f32(unsigned bits)
{
	union {
		unsigned u;
		float f;
	} both;

	both.u = bits;
	return both.f;
}

COT_EXACT unsigned cot_f32_to_bits(float value)
{
	union {
		float f;
		unsigned u;
	} both;

	both.f = value;
	return both.u;
}

COT_EXACT double cot_bits_to_f64(unsigned long long bits)
{
	union {
		unsigned long long u;
		double f;
	} both;

	both.u = bits;
	return both.f;
}

COT_EXACT unsigned long long cot_f64_to_bits(double value)
{
	union {
		double f;
		unsigned long long u;
	} both;

	both.f = value;
	return both.u;
}

/* Adding and taking away 1.5 * 2^23 rounds to the nearest integer. */
COT_EXACT float cot_round_f32(float x)
{
	return (x + 12582912.0f) - 12582912.0f;
}

COT_EXACT double cot_round_f64(double x)
{
	return (x + 6755399441055744.0) - 6755399441055744.0;
}

/*
 * e^x = 2^n * e^r with |r| <= ln(2)/2; ln(2) in two parts, so that n * part is exact.
 * x in [-87, 88].
 */
COT_EXACT float cot_exp_f32(float x)
{
	float n, r, p;

	x = x < -87.0f ? -87.0f : x;
	x = x > 88.0f ? 88.0f : x;
	n = cot_round_f32(x * 1.44269504f);
	r = x - n * 0.693359375f;
	r = r - n * -2.12194440e-4f;
	p = 1.98412698e-4f;
	p = p * r + 1.38888889e-3f;
	p = p * r + 8.33333333e-3f;
	p = p * r + 4.16666667e-2f;
	p = p * r + 1.66666667e-1f;
	p = p * r + 0.5f;
	p = p * r * r + r + 1.0f;
	return p * cot_bits_to_f32((unsigned)((int)n + 127) << 23);
}

/* The same for doubles; x in [-700, 700]. */
COT_EXACT double cot_exp_f64(double x)
{
	double n, r, p;

	x = x < -700.0 ? -700.0 : x;
	x = x > 700.0 ? 700.0 : x;
	n = cot_round_f64(x * 1.4426950408889634);
	r = x - n * 0.693147180369123816490;
	r = r - n * 1.90821492927058770002e-10;
	p = 1.6059043836821613e-10;
	p = p * r + 2.08767569878681e-9;
	p = p * r + 2.505210838544172e-8;
	p = p * r + 2.755731922398589e-7;
	p = p * r + 2.755731922398589e-6;
	p = p * r + 2.48015873015873e-5;
	p = p * r + 1.984126984126984e-4;
	p = p * r + 1.3888888888888889e-3;
	p = p * r + 8.333333333333333e-3;
	p = p * r + 4.1666666666666664e-2;
	p = p * r + 1.6666666666666666e-1;
	p = p * r + 0.5;
	p = p * r * r + r + 1.0;
	return p * cot_bits_to_f64((unsigned long long)((long long)n + 1023) << 52);
}

/* The cube root, by Newton's method from a third of the exponent. x normal and positive. */
COT_EXACT double cot_cbrt_f64(double x)
{
	double y = cot_bits_to_f64(cot_f64_to_bits(x) / 3 + 0x2a9f7893782da1ceull);
	int i;

	for (i = 0; i < 5; i++)
		y = (2.0 * y + x / (y * y)) / 3.0;
	return y;
}

/*
 * ln(x) = e * ln(2) + 2 * atanh(s), s = (m - 1) / (m + 1), with m in [sqrt(1/2), sqrt(2)).
 * x normal and positive.
 */
COT_EXACT float cot_log_f32(float x)
{
	unsigned bits = cot_f32_to_bits(x);
	unsigned shifted = bits - 0x3f3504f3u;
	int e = (int)shifted >> 23;
	float m = cot_bits_to_f32((shifted & 0x007fffffu) + 0x3f3504f3u);
	float s = (m - 1.0f) / (m + 1.0f);
	float z = s * s;
	float p = 0.111111111f;

	p = p * z + 0.142857143f;
	p = p * z + 0.2f;
	p = p * z + 0.333333333f;
	p = p * z * s + s;
	return (float)e * 0.693359375f + (2.0f * p + (float)e * -2.12194440e-4f);
}

#endif
