/*
 * The operations of BlackScholesGPU in the same order, so the bits are the same as well.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/kernels.h"
#include "kernels/exact_math.h"

/* Its parameters. */
enum { CALL, PUT, PRICE, STRIKE, YEARS, N_ARRAYS, RATE = N_ARRAYS, VOLATILITY, N };

static float number(const struct cot_cpu_launch *l, unsigned param)
{
	float value;

	memcpy(&value, l->params[param], sizeof(value));
	return value;
}

/* As many options as there are threads for. */
static uint64_t n_options(const struct cot_cpu_launch *l)
{
	uint64_t threads = (uint64_t)l->grid[0] * l->block[0];
	int32_t n;

	memcpy(&n, l->params[N], sizeof(n));
	return n <= 0 ? 0 : threads < (uint64_t)n ? threads : (uint64_t)n;
}

static int memory(struct cot_cpu_launch *l)
{
	uint64_t n = n_options(l), address;
	unsigned i;

	for (i = CALL; i < N_ARRAYS && n; i++) {
		memcpy(&address, l->params[i], sizeof(address));
		l->ranges[l->n_ranges++] = (struct cot_cpu_range){
			.address = address,
			.bytes = n * sizeof(float),
			.uses = i == CALL || i == PUT ? COT_CPU_WRITES : COT_CPU_READS,
		};
	}
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
	float rate = number(l, RATE), volatility = number(l, VOLATILITY), *array[N_ARRAYS];
	uint64_t n = n_options(l), address, i;

	for (i = CALL; i < N_ARRAYS; i++) {
		memcpy(&address, l->params[i], sizeof(address));
		array[i] = cot_cpu_host(l, address);
		if (n && !array[i])
			return -EFAULT;
	}
	for (i = 0; i < n; i++) {
		struct option o = price_option(array[PRICE][i], array[STRIKE][i], array[YEARS][i],
					       rate, volatility);

		array[CALL][i] = o.call;
		array[PUT][i] = o.put;
	}
	return 0;
}

const struct cot_cpu_kernel cot_cpu_black_scholes = {
	.name = "BlackScholesGPU",
	.memory = memory,
	.run = run,
};
