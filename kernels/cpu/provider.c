/*
 * CPU versions of kernels in kernels/ (cotenant/cpu.h, `cotenant run --cpu kernels`): the patent's
 * four programs.
 */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "kernels/cpu/kernels.h"

static const struct cot_cpu_kernel *const kernels[] = {
	&cot_cpu_black_scholes,
	&cot_cpu_aes,
	&cot_cpu_monte_carlo,
	&cot_cpu_search,
};

static int open_kernel(const struct cot_cpu_code *code, void **ret_kernel)
{
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(kernels); i++) {
		if (strcmp(code->name, kernels[i]->name) != 0)
			continue;
		*ret_kernel = (void *)(uintptr_t)kernels[i];
		return 0;
	}
	return -ENOENT;
}

static int memory(void *kernel, struct cot_cpu_launch *l, cot_cpu_find find)
{
	const struct cot_cpu_kernel *k = kernel;

	(void)find;
	/* Along the other dimensions threads would do the same again. */
	if (l->grid[1] != 1 || l->grid[2] != 1 || l->block[1] != 1 || l->block[2] != 1)
		return -EINVAL;
	return k->memory(l);
}

static int run(void *kernel, const struct cot_cpu_launch *l)
{
	const struct cot_cpu_kernel *k = kernel;

	return k->run(l);
}

COT_EXPORT const struct cot_cpu_provider *cot_cpu_provider(void);

const struct cot_cpu_provider *cot_cpu_provider(void)
{
	static const struct cot_cpu_provider provider = {
		.abi = COT_CPU_ABI,
		.name = "kernels",
		.open = open_kernel,
		.memory = memory,
		.run = run,
	};

	return &provider;
}
