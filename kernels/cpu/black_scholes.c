/*
 * The operations of BlackScholesGPU in the same order, so the bits are the same as well.
 */
#include <errno.h>
#include <math.h>

#include "kernels/cpu/kernels.h"
#include "kernels/exact_math.h"

/* Its parameters. */
enum { CALL, PUT, PRICE, STRIKE, YEARS, N_ARRAYS, RATE = N_ARRAYS, VOLATILITY, N };

static int memory(struct cot_cpu_launch *l)
{
	uint64_t n = cot_cpu_threads_up_to(l, N);
	unsigned i;

	for (i = CALL; i < N_ARRAYS && n; i++)
		cot_cpu_uses(l, i, n * sizeof(float), i == CALL || i == PUT);
	return 0;
}

static float normal_cdf(float d)
{
	float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
	float tail = 1.330274429f;

	tail = tail * k + -1.821255978f;
	tail = tail * k + 1.781477937f;
	tail = tail * k + -0.356563782f;
	tail = tail * k + 0.31938153f;
	tail = tail * k * 0.39894228f * cot_exp_f32(-0.5f * d * d);
	return d > 0.0f ? 1.0f - tail : tail;
}

struct option {
	float call, put;
};

static struct option price_option(float price, float strike, float years, float rate,
				  float volatility)
{
	float root = volatility * sqrtf(years);
	float d1 = (cot_log_f32(price / strike) + (rate + 0.5f * volatility * volatility) * years) /
		   root;
	float cdf1 = normal_cdf(d1), cdf2 = normal_cdf(d1 - root);
	float discounted = strike * cot_exp_f32(-rate * years);

	return (struct option){price * cdf1 - discounted * cdf2,
			       discounted * (1.0f - cdf2) - price * (1.0f - cdf1)};
}

static int run(const struct cot_cpu_launch *l)
{
	float rate = cot_cpu_f32(l, RATE), volatility = cot_cpu_f32(l, VOLATILITY);
	uint64_t n = cot_cpu_threads_up_to(l, N), i;
	const float *price, *strike, *years;
	float *call, *put;
	void *array[N_ARRAYS];

	if (!n)
		return 0;
	if (cot_cpu_arrays(l, N_ARRAYS, array))
		return -EFAULT;
	call = array[CALL];
	put = array[PUT];
	price = array[PRICE];
	strike = array[STRIKE];
	years = array[YEARS];
	for (i = 0; i < n; i++) {
		struct option o = price_option(price[i], strike[i], years[i], rate, volatility);

		call[i] = o.call;
		put[i] = o.put;
	}
	return 0;
}

const struct cot_cpu_kernel cot_cpu_black_scholes = {
	.name = "BlackScholesGPU",
	.memory = memory,
	.run = run,
};
