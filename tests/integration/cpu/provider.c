/*
 * A provider that has the kernel `mix` of progs/ptx_common.h. TEST_CPU=fail: it writes nonsense and
 * fails; memory: it does not say what the kernel uses; other: another kind of provider.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cotenant/cpu.h"

static int is(const char *word)
{
	const char *how = getenv("TEST_CPU");

	return how && strcmp(how, word) == 0;
}

static int open_kernel(const struct cot_cpu_code *code, void **ret_kernel)
{
	*ret_kernel = NULL;
	return strcmp(code->name, "mix") ? -ENOENT : 0;
}

static int memory(void *kernel, struct cot_cpu_launch *launch, cot_cpu_find find)
{
	struct cot_cpu_range *r = &launch->ranges[0];

	(void)kernel;
	if (find(*(uint64_t *)launch->params[0], &r->address, &r->bytes) || is("memory"))
		return -ENOENT;
	*r = (struct cot_cpu_range){
		.address = *(uint64_t *)launch->params[0],
		.bytes = 4ull * *(uint32_t *)launch->params[1],
		.uses = COT_CPU_READS | COT_CPU_WRITES,
	};
	launch->n_ranges = 1;
	return 0;
}

static int run(void *kernel, const struct cot_cpu_launch *launch)
{
	uint32_t *words = cot_cpu_host(launch, *(uint64_t *)launch->params[0]);
	uint32_t n = *(uint32_t *)launch->params[1], rounds = *(uint32_t *)launch->params[2], i, k;

	(void)kernel;
	if (!words || launch->grid[0] * launch->block[0] != n)
		return -EINVAL;
	for (i = 0; i < n; i++)
		for (k = 0; k < rounds; k++)
			words[i] = words[i] * 1664525u + 1013904223u;
	return is("fail") ? -EIO : 0;
}

const struct cot_cpu_provider *cot_cpu_provider(void);

const struct cot_cpu_provider *cot_cpu_provider(void)
{
	static struct cot_cpu_provider p = {COT_CPU_ABI, "test", open_kernel, memory, run};

	if (is("other"))
		p.abi++;
	return &p;
}
