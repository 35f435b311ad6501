/* The kernel monte_carlo. The paths of a block's threads are added up in the kernel's order, so the
 * bits are the same. */
#include <errno.h>
#include <string.h>

#include "kernels/cpu/kernels.h"
#include "kernels/monte_carlo.h"

/* Its parameters. */
enum { VALUE, PRICE, STRIKE, YEARS, N_ARRAYS, RATE = N_ARRAYS, VOLATILITY, KEY, N_PAIRS };

static int32_t integer(const struct cot_cpu_launch *l, unsigned param)
{
	int32_t value;

	memcpy(&value, l->params[param], sizeof(value));
	return value;
}

static float number(const struct cot_cpu_launch *l, unsigned param)
{
	float value;

	memcpy(&value, l->params[param], sizeof(value));
	return value;
}

static int memory(struct cot_cpu_launch *l)
{
	uint64_t address;
	unsigned i;

	if (l->block[0] != COT_MC_THREADS || integer(l, N_PAIRS) <= 0)
		return -EINVAL;
	for (i = VALUE; i < N_ARRAYS; i++) {
		memcpy(&address, l->params[i], sizeof(address));
		l->ranges[l->n_ranges++] = (struct cot_cpu_range){
			.address = address,
			.bytes = (uint64_t)l->grid[0] * sizeof(float),
			.uses = i == VALUE ? COT_CPU_WRITES : COT_CPU_READS,
		};
	}
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
	unsigned key = (unsigned)integer(l, KEY);
	int n_pairs = integer(l, N_PAIRS);
	float *array[N_ARRAYS];
	uint64_t address;
	uint32_t i;

	for (i = VALUE; i < N_ARRAYS; i++) {
		memcpy(&address, l->params[i], sizeof(address));
		array[i] = cot_cpu_host(l, address);
		if (!array[i])
			return -EFAULT;
	}
	for (i = 0; i < l->grid[0]; i++) {
		struct cot_mc_option o = {array[PRICE][i], array[STRIKE][i], array[YEARS][i],
					  number(l, RATE), number(l, VOLATILITY)};

		array[VALUE][i] = cot_mc_value(&o, sum_of_block(&o, i, key, n_pairs), n_pairs);
	}
	return 0;
}

const struct cot_cpu_kernel cot_cpu_monte_carlo = {
	.name = "monte_carlo",
	.memory = memory,
	.run = run,
};
