/* Modules. */
#include <stdio.h>

#include "emu/driver/image.h"
#include "emu/driver/inside.h"

/* Of the options of cuModuleLoadDataEx, those that say where messages go. */
enum { OPTION_ERROR_LOG = 5, OPTION_ERROR_LOG_SIZE = 6 };

static CUresult load_image(CUmodule *module, const void *image, const char *path,
			   struct cot_error *err)
{
	struct cot_emu_code code = {.text = NULL};
	struct cot_emu_module *m;
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if (!module || (!image && !path))
		return CUDA_ERROR_INVALID_VALUE;
	result = path ? cot_emu_code_read(path, &code, err) : cot_emu_code_take(image, &code, err);
	if (result && *err->text)
		cot_emu_complain("%s", err->text);
	if (!result)
		result = cot_emu_module_load(c, &code, &m, err);
	cot_emu_code_free(&code);
	if (!result)
		*module = (CUmodule)m;
	return result;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	struct cot_error err = {{0}};

	return load_image(module, image, NULL, &err);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	return cuModuleLoadData(module, image);
}

CUresult cuModuleLoad(CUmodule *module, const char *path)
{
	struct cot_error err = {{0}};

	return path ? load_image(module, NULL, path, &err) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n_options, int *options,
			    void **values)
{
	struct cot_error err = {{0}};
	CUresult result = load_image(module, image, NULL, &err);
	char *log = NULL;
	size_t size = 0;
	unsigned i;

	for (i = 0; options && values && i < n_options; i++) {
		if (options[i] == OPTION_ERROR_LOG)
			log = values[i];
		else if (options[i] == OPTION_ERROR_LOG_SIZE)
			size = (uintptr_t)values[i];
	}
	if (log && size)
		(void)snprintf(log, size, "%s", err.text);
	return result;
}

CUresult cuModuleUnload(CUmodule module)
{
	struct cot_emu_module *m = (struct cot_emu_module *)module, **at;
	CUresult result = cot_emu_ready();
	bool found;

	if (result)
		return result;
	if (!m)
		return CUDA_ERROR_INVALID_HANDLE;
	result = cot_emu_context_drain(m->context);
	pthread_mutex_lock(&m->context->lock);
	for (at = &m->context->modules; *at && *at != m; at = &(*at)->next)
		;
	found = *at != NULL;
	if (found)
		*at = m->next;
	pthread_mutex_unlock(&m->context->lock);
	if (found)
		cot_emu_module_unload(m);
	return result;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	CUresult result = cot_emu_ready();
	struct cot_emu_function *f;

	if (result)
		return result;
	if (!function || !module || !name)
		return CUDA_ERROR_INVALID_VALUE;
	f = cot_emu_module_function((struct cot_emu_module *)module, name);
	if (!f)
		return CUDA_ERROR_NOT_FOUND;
	*function = (CUfunction)f;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes, CUmodule module, const char *name)
{
	struct cot_emu_module *m = (struct cot_emu_module *)module;
	CUresult result = cot_emu_ready();
	struct cot_emu_global g;

	if (result)
		return result;
	if (!m || !name || (!ptr && !bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (!m->loader->global || !m->loader->global(m, name, &g))
		return CUDA_ERROR_NOT_FOUND;
	if (ptr)
		*ptr = g.address;
	if (bytes)
		*bytes = g.bytes;
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunctionCount(unsigned *n, CUmodule module)
{
	if (!n || !module)
		return CUDA_ERROR_INVALID_VALUE;
	*n = ((struct cot_emu_module *)module)->n_functions;
	return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned n, CUmodule module)
{
	struct cot_emu_module *m = (struct cot_emu_module *)module;
	unsigned i;

	if (!functions || !m)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < n && i < m->n_functions; i++)
		functions[i] = (CUfunction)&m->functions[i];
	return CUDA_SUCCESS;
}

/* 1: eager, 2: lazy */
CUresult cuModuleGetLoadingMode(int *mode)
{
	CUresult result = cot_emu_ready();

	if (result || !mode)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*mode = 2;
	return CUDA_SUCCESS;
}
