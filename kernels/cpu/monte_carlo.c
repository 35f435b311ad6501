/* The kernel monte_carlo. The paths of a block's threads are added up in the kernel's order, so the
 * bits are the same. */
#include <errno.h>

#include "kernels/cpu/kernels.h"
#include "kernels/monte_carlo.h"

/* Its parameters. */
enum { VALUE, PRICE, STRIKE, YEARS, N_ARRAYS, RATE = N_ARRAYS, VOLATILITY, KEY, N_PAIRS };

static int memory(struct cot_cpu_launch *l)
{
	unsigned i;

	if (l->block[0] != COT_MC_THREADS || cot_cpu_i32(l, N_PAIRS) <= 0)
		return -EINVAL;
	for (i = VALUE; i < N_ARRAYS; i++)
		cot_cpu_uses(l, i, (uint64_t)l->grid[0] * sizeof(float), i == VALUE);
	return 0;
}

static float sum_of_block(const struct cot_mc_option *o, unsigned option, unsigned key, int n_pairs)
{
	float sums[COT_MC_THREADS];
	unsigned i, half;

	for (i = 0; i < COT_MC_THREADS; i++)
		sums[i] = cot_mc_paths(o, option, i, key, n_pairs);
	for (half = COT_MC_THREADS / 2; half; half /= 2)
		for (i = 0; i < half; i++)
			sums[i] += sums[i + half];
	return sums[0];
}

static int run(const struct cot_cpu_launch *l)
{
	unsigned key = (unsigned)cot_cpu_i32(l, KEY);
	int n_pairs = cot_cpu_i32(l, N_PAIRS);
	float rate = cot_cpu_f32(l, RATE), volatility = cot_cpu_f32(l, VOLATILITY), *value;
	const float *price, *strike, *years;
	void *array[N_ARRAYS];
	uint32_t i;

	if (cot_cpu_arrays(l, N_ARRAYS, array))
		return -EFAULT;
	value = array[VALUE];
	price = array[PRICE];
	strike = array[STRIKE];
	years = array[YEARS];
	for (i = 0; i < l->grid[0]; i++) {
		struct cot_mc_option o = {price[i], strike[i], years[i], rate, volatility};

		value[i] = cot_mc_value(&o, sum_of_block(&o, i, key, n_pairs), n_pairs);
	}
	return 0;
}

const struct cot_cpu_kernel cot_cpu_monte_carlo = {
	.name = "monte_carlo",
	.memory = memory,
	.run = run,
};
