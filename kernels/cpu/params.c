/* What a launch is given. */
#include <errno.h>
#include <string.h>

#include "kernels/cpu/kernels.h"

int32_t cot_cpu_i32(const struct cot_cpu_launch *l, unsigned param)
{
	int32_t value;

	memcpy(&value, l->params[param], sizeof(value));
	return value;
}

float cot_cpu_f32(const struct cot_cpu_launch *l, unsigned param)
{
	float value;

	memcpy(&value, l->params[param], sizeof(value));
	return value;
}

static uint64_t address_of(const struct cot_cpu_launch *l, unsigned param)
{
	uint64_t address;

	memcpy(&address, l->params[param], sizeof(address));
	return address;
}

uint64_t cot_cpu_threads_up_to(const struct cot_cpu_launch *l, unsigned param)
{
	uint64_t threads = (uint64_t)l->grid[0] * l->block[0];
	int32_t n = cot_cpu_i32(l, param);

	return n <= 0 ? 0 : threads < (uint64_t)n ? threads : (uint64_t)n;
}

void cot_cpu_uses(struct cot_cpu_launch *l, unsigned param, uint64_t bytes, bool writes)
{
	l->ranges[l->n_ranges++] = (struct cot_cpu_range){
		.address = address_of(l, param),
		.bytes = bytes,
		.uses = writes ? COT_CPU_WRITES : COT_CPU_READS,
	};
}

int cot_cpu_arrays(const struct cot_cpu_launch *l, unsigned n, void **ret_arrays)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		ret_arrays[i] = cot_cpu_host(l, address_of(l, i));
		if (!ret_arrays[i])
			return -EFAULT;
	}
	return 0;
}
