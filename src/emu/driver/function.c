/* What a kernel needs of an SM. */
#include "emu/driver/inside.h"
#include "emu/exec/exec.h"

#define SHARED_PER_BLOCK 8 /* CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK */

uint32_t cot_emu_dynamic_shared(const struct cot_emu_function *f)
{
	uint32_t dynamic = atomic_load(&f->max_dynamic_shared);
	uint32_t most = (uint32_t)cot_emu_device_attribute(SHARED_PER_BLOCK);

	if (dynamic)
		return dynamic;
	return f->shared_bytes < most ? most - f->shared_bytes : 0;
}

uint32_t cot_emu_occupancy(const struct cot_emu_function *f, uint32_t n_threads,
			   uint32_t dynamic_shared)
{
	struct cot_exec_sm_limits limits = cot_exec_sm_limits(cot_emu_device_target());

	if (!n_threads || n_threads > f->max_threads)
		return 0;
	return cot_exec_occupancy(&limits, f->n_registers, f->shared_bytes + dynamic_shared,
				  n_threads);
}
