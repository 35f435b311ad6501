/*
 * Monte Carlo: random numbers by counter, normal ones of them, and what a European call is worth at
 * the ends of random paths. C11 and CUDA.
 *
 * Philox-2x32-10: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The
 * inverse of the normal distribution: Moro, "The full Monte", Risk 1995.
 */
#ifndef COT_KERNELS_MONTE_CARLO_H
#define COT_KERNELS_MONTE_CARLO_H

#include "exact_math.h"

#if !defined(__CUDA__) && !defined(__CUDACC__)
#include <math.h>
#endif

#define COT_MC_THREADS 128 /* of a block; a block is an option */

struct cot_mc_random {
	unsigned x, y;
};

/* The random numbers of a counter of two words. */
COT_EXACT struct cot_mc_random cot_mc_random(unsigned x, unsigned y, unsigned key)
{
	struct cot_mc_random r;
	int i;

	for (i = 0; i < 10; i++) {
		unsigned long long product = 0xd256d193ull * x;

		x = (unsigned)(product >> 32) ^ key ^ y;
		y = (unsigned)product;
		key += 0x9e3779b9u;
	}
	r.x = x;
	r.y = y;
	return r;
}

/* A normal number from the upper 23 bits. */
COT_EXACT float cot_mc_normal(unsigned bits)
{
	float u = ((float)(bits >> 9) + 0.5f) * (1.0f / 8388608.0f);
	float y = u - 0.5f, r, p, q;

	if (fabsf(y) < 0.42f) {
		r = y * y;
		p = ((-25.44106049637f * r + 41.39119773534f) * r - 18.61500062529f) * r +
		    2.50662823884f;
		q = (((3.13082909833f * r - 21.06224101826f) * r + 23.08336743743f) * r -
		     8.47351093090f) *
			    r +
		    1.0f;
		return y * p / q;
	}
	r = cot_log_f32(-cot_log_f32(y > 0.0f ? 1.0f - u : u));
	p = 0.0000003960315187f;
	p = p * r + 0.0000002888167364f;
	p = p * r + 0.0000321767881768f;
	p = p * r + 0.0003951896511919f;
	p = p * r + 0.0038405729373609f;
	p = p * r + 0.0276438810333863f;
	p = p * r + 0.1607979714918209f;
	p = p * r + 0.9761690190917186f;
	p = p * r + 0.3374754822726147f;
	return y > 0.0f ? p : -p;
}

struct cot_mc_option {
	float price, strike, years, rate, volatility;
};

/* What the paths of one thread pay in all: two for each pair of random numbers. */
COT_EXACT float cot_mc_paths(const struct cot_mc_option *o, unsigned option, unsigned thread,
			     unsigned key, int n_pairs)
{
	float drift = (o->rate - 0.5f * o->volatility * o->volatility) * o->years;
	float deviation = o->volatility * sqrtf(o->years), sum = 0.0f, end;
	int i;

	for (i = 0; i < n_pairs; i++) {
		struct cot_mc_random r =
			cot_mc_random((unsigned)i * COT_MC_THREADS + thread, option, key);

		end = o->price * cot_exp_f32(drift + deviation * cot_mc_normal(r.x));
		sum += end > o->strike ? end - o->strike : 0.0f;
		end = o->price * cot_exp_f32(drift + deviation * cot_mc_normal(r.y));
		sum += end > o->strike ? end - o->strike : 0.0f;
	}
	return sum;
}

/* The value today, from the sum of all threads' paths. */
COT_EXACT float cot_mc_value(const struct cot_mc_option *o, float sum, int n_pairs)
{
	return sum * cot_exp_f32(-o->rate * o->years) / (float)(2 * COT_MC_THREADS * n_pairs);
}

#endif
