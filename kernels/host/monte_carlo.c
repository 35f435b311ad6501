#include <errno.h>
#include <math.h>

#include "kernels/exact_math.h"
#include "kernels/host/inside.h"

enum { VALUE, PRICE, STRIKE, YEARS };
enum { THREADS = 128, CHECKED = 256 };

static const float rate = 0.02f, volatility = 0.30f;

static int create(struct cot_bench_instance *in, uint64_t seed)
{
	size_t n = in->n_blocks;
	float *value = cot_bench_buffer(in, "value", n, sizeof(float), true);
	float *price = cot_bench_buffer(in, "price", n, sizeof(float), false);
	float *strike = cot_bench_buffer(in, "strike", n, sizeof(float), false);
	float *years = cot_bench_buffer(in, "years", n, sizeof(float), false);
	struct cot_bench_step *step;
	uint32_t i;

	if (!value || !price || !strike || !years || cot_bench_steps(in, 1))
		return -ENOMEM;
	cot_bench_fill_f32(price, n, seed, 20.0f, 30.0f);
	cot_bench_fill_f32(strike, n, seed + 1, 15.0f, 30.0f);
	cot_bench_fill_f32(years, n, seed + 2, 0.25f, 10.0f);
	in->number[0] = (int64_t)(uint32_t)seed;
	step = cot_bench_step(in, in->bench->entry, in->n_blocks, 1, THREADS, 1);
	for (i = VALUE; i <= YEARS; i++)
		cot_bench_arg_buffer(step, i);
	cot_bench_arg_f32(step, rate);
	cot_bench_arg_f32(step, volatility);
	cot_bench_arg_u32(step, (uint32_t)seed);
	cot_bench_arg_i32(step, (int32_t)in->work);
	return 0;
}

/* Two words: first the lower one, the path, then the upper one, the option. */
static uint64_t random_words(uint64_t counter, uint32_t key)
{
	unsigned round;

	for (round = 0; round < 10; round++, key += 0x9e3779b9) {
		uint64_t product = (counter & UINT32_MAX) * 0xd256d193;

		counter = product << 32 | ((product ^ counter) >> 32 ^ key);
	}
	return counter;
}

/* From the highest power down. */
static float polynomial(const float *c, unsigned n, float x)
{
	float sum = c[n - 1];

	while (--n)
		sum = sum * x + c[n - 1];
	return sum;
}

static float normal(uint32_t bits)
{
	static const float above[] = {2.50662823884f, -18.61500062529f, 41.39119773534f,
				      -25.44106049637f};
	static const float below[] = {1.0f, -8.47351093090f, 23.08336743743f, -21.06224101826f,
				      3.13082909833f};
	static const float tail[] = {0.3374754822726147f, 0.9761690190917186f, 0.1607979714918209f,
				     0.0276438810333863f, 0.0038405729373609f, 0.0003951896511919f,
				     0.0000321767881768f, 0.0000002888167364f, 0.0000003960315187f};
	/* Both are exact: a number of 24 bits. */
	float upper = (float)(2 * (bits >> 9) + 1) / 16777216.0f, middle = upper - 0.5f, far;

	if (fabsf(middle) < 0.42f)
		return middle * polynomial(above, 4, middle * middle) /
		       polynomial(below, 5, middle * middle);
	far = polynomial(tail, 9, cot_log_f32(-cot_log_f32(fminf(upper, 1.0f - upper))));
	return copysignf(far, middle);
}

static float value_of(float price, float strike, float years, uint32_t option, uint32_t key,
		      uint32_t n_pairs)
{
	float drift = (rate - 0.5f * volatility * volatility) * years;
	float deviation = volatility * sqrtf(years), sums[THREADS] = {0};
	uint32_t path, half, i;

	for (path = 0; path < THREADS * n_pairs; path++) {
		uint64_t words = random_words((uint64_t)option << 32 | path, key);

		for (i = 0; i < 2; i++, words >>= 32) {
			float change = drift + deviation * normal((uint32_t)words);

			sums[path % THREADS] += fmaxf(price * cot_exp_f32(change) - strike, 0.0f);
		}
	}
	for (half = THREADS / 2; half; half /= 2)
		for (i = 0; i < half; i++)
			sums[i] += sums[i + half];
	return sums[0] * cot_exp_f32(-rate * years) / (float)(2 * THREADS * n_pairs);
}

static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	const float *price = in->buffers[PRICE].data, *strike = in->buffers[STRIKE].data;
	const float *years = in->buffers[YEARS].data, *got = result[VALUE];
	size_t i, n = in->n_blocks;

	for (i = 0; i < cot_bench_n_samples(n, CHECKED); i++) {
		size_t k = cot_bench_sample(i, n, CHECKED);

		cot_bench_same_f32(verdict, "value", k, got[k],
				   value_of(price[k], strike[k], years[k], (uint32_t)k,
					    (uint32_t)in->number[0], in->work));
	}
	return 0;
}

/* The patent's has 45 blocks. */
const struct cot_bench cot_bench_monte_carlo = {
	.name = "MonteCarlo",
	.summary = "values of European options by random paths",
	.entry = "monte_carlo",
	.n_threads = THREADS,
	.blocks = {7, 45, 45, 8448},
	.work = {4, 64, 64, 64}, /* pairs of paths a thread */
	.create = create,
	.check = check,
};
