/* Loading: which loader takes the code. */
#include <stdlib.h>

#include "emu/driver/inside.h"

static const struct cot_emu_loader *const loaders[] = {
	&cot_emu_builtin_loader, &cot_emu_ptx_loader, /* takes what is left */
};

static CUresult load(struct cot_emu_context *c, const struct cot_emu_code *code,
		     struct cot_emu_module **ret_module, struct cot_error *err)
{
	struct cot_emu_module *m = calloc(1, sizeof(*m));
	CUresult result;
	size_t i = 0;

	if (!m)
		return CUDA_ERROR_OUT_OF_MEMORY;
	while (!loaders[i]->accepts(code->text))
		i++;
	m->loader = loaders[i];
	m->context = c;
	result = m->loader->load(code, m, err);
	if (result) {
		free(m);
		return result;
	}
	/* What the workers are for: from now on there may be kernels that run. */
	if (m->loader != &cot_emu_builtin_loader)
		atomic_store(&c->lazy, false);
	pthread_mutex_lock(&c->lock);
	m->next = c->modules;
	c->modules = m;
	pthread_mutex_unlock(&c->lock);
	*ret_module = m;
	return CUDA_SUCCESS;
}

CUresult cot_emu_module_load(struct cot_emu_context *c, const struct cot_emu_code *code,
			     struct cot_emu_module **ret_module, struct cot_error *err)
{
	CUresult result = load(c, code, ret_module, err);

	if (result && *err->text)
		cot_emu_complain("%s", err->text);
	return result;
}
