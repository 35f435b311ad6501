#include <errno.h>
#include <math.h>

#include "kernels/exact_math.h"
#include "kernels/host/inside.h"

enum { CALL, PUT, PRICE, STRIKE, YEARS };
enum { THREADS = 128, CHECKED = 1 << 20 };

static const float rate = 0.02f, volatility = 0.30f;

static int create(struct cot_bench_instance *in, uint64_t seed)
{
	size_t n = (size_t)in->n_blocks * THREADS - THREADS / 3;
	float *call = cot_bench_buffer(in, "call", n, sizeof(float), true);
	float *put = cot_bench_buffer(in, "put", n, sizeof(float), true);
	float *price = cot_bench_buffer(in, "price", n, sizeof(float), false);
	float *strike = cot_bench_buffer(in, "strike", n, sizeof(float), false);
	float *years = cot_bench_buffer(in, "years", n, sizeof(float), false);
	struct cot_bench_step *step;
	uint32_t i;

	if (!call || !put || !price || !strike || !years || cot_bench_steps(in, 1))
		return -ENOMEM;
	cot_bench_fill_f32(price, n, seed, 5.0f, 30.0f);
	cot_bench_fill_f32(strike, n, seed + 1, 1.0f, 100.0f);
	cot_bench_fill_f32(years, n, seed + 2, 0.25f, 10.0f);
	step = cot_bench_step(in, in->bench->entry, in->n_blocks, 1, THREADS, 1);
	for (i = CALL; i <= YEARS; i++)
		cot_bench_arg_buffer(step, i);
	cot_bench_arg_f32(step, rate);
	cot_bench_arg_f32(step, volatility);
	cot_bench_arg_i32(step, (int32_t)n);
	return 0;
}

/* Abramowitz and Stegun 26.2.17, by Horner's rule from the highest power down. */
static float distribution(float d)
{
	static const float powers[] = {1.330274429f, -1.821255978f, 1.781477937f, -0.356563782f,
				       0.31938153f};
	float k = 1.0f / (1.0f + 0.2316419f * fabsf(d)), sum = 0.0f, density;
	unsigned i;

	for (i = 0; i < sizeof(powers) / sizeof(powers[0]); i++)
		sum = i ? sum * k + powers[i] : powers[i];
	density = sum * k * 0.39894228f * cot_exp_f32(-0.5f * d * d);
	return d > 0.0f ? 1.0f - density : density;
}

static void price_option(float s, float x, float t, float *ret_call, float *ret_put)
{
	float deviation = volatility * sqrtf(t);
	float d1 = (cot_log_f32(s / x) + (rate + 0.5f * volatility * volatility) * t) / deviation;
	float n1 = distribution(d1), n2 = distribution(d1 - deviation);
	float present = x * cot_exp_f32(-rate * t);

	*ret_call = s * n1 - present * n2;
	*ret_put = present * (1.0f - n2) - s * (1.0f - n1);
}

static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	const float *price = in->buffers[PRICE].data, *strike = in->buffers[STRIKE].data;
	const float *years = in->buffers[YEARS].data;
	const float *got_call = result[CALL], *got_put = result[PUT];
	size_t i, n = in->buffers[CALL].size_bytes / sizeof(float);

	for (i = 0; i < cot_bench_n_samples(n, CHECKED); i++) {
		size_t k = cot_bench_sample(i, n, CHECKED);
		float call, put;

		price_option(price[k], strike[k], years[k], &call, &put);
		cot_bench_same_f32(verdict, "call", k, got_call[k], call);
		cot_bench_same_f32(verdict, "put", k, got_put[k], put);
	}
	return 0;
}

const struct cot_bench cot_bench_black_scholes = {
	.name = "BlackScholes",
	.summary = "prices of European options",
	.entry = "BlackScholesGPU",
	.n_threads = THREADS,
	.blocks = {11, 39063, 390625, 1000000},
	.create = create,
	.check = check,
};
