/* Modules, and what their kernels need of an SM. */
#include <stdlib.h>
#include <string.h>

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

void cot_emu_module_unload(struct cot_emu_module *m)
{
	if (m->loader->unload)
		m->loader->unload(m);
	free(m->functions);
	free(m);
}

void cot_emu_modules_free(struct cot_emu_context *c)
{
	struct cot_emu_module *m;

	while ((m = c->modules)) {
		c->modules = m->next;
		cot_emu_module_unload(m);
	}
}

struct cot_emu_function *cot_emu_module_function(struct cot_emu_module *m, const char *name)
{
	uint32_t i;

	for (i = 0; i < m->n_functions; i++)
		if (!strcmp(m->functions[i].name, name))
			return &m->functions[i];
	return NULL;
}
