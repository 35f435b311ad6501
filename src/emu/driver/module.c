/* Modules: code in a context. */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/inside.h"

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
