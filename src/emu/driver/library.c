/* Libraries and kernels: code that is not bound to a context, and gets a module in each. */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/driver.h"
#include "emu/driver/function.h"
#include "emu/driver/image.h"

struct cot_emu_library {
	struct cot_emu_code code;
	pthread_mutex_t lock; /* also while a module is made, so that a context gets one only */
	struct cot_emu_kernel_name *kernels;
};

CUresult cot_emu_library_module(struct cot_emu_library *l, struct cot_emu_context *c,
				struct cot_emu_module **ret_module)
{
	CUresult result = CUDA_SUCCESS;
	struct cot_error err = {{0}};
	struct cot_emu_module *m;

	pthread_mutex_lock(&l->lock);
	pthread_mutex_lock(&c->lock);
	for (m = c->modules; m && m->library != l; m = m->next)
		;
	pthread_mutex_unlock(&c->lock);
	if (!m) {
		result = cot_emu_module_load(c, &l->code, &m, &err);
		if (!result)
			m->library = l;
	}
	pthread_mutex_unlock(&l->lock);
	if (!result)
		*ret_module = m;
	return result;
}

static CUresult make_library(CUlibrary *library, const void *image, const char *path)
{
	struct cot_error err = {{0}};
	struct cot_emu_library *l;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!library || (!image && !path))
		return CUDA_ERROR_INVALID_VALUE;
	l = calloc(1, sizeof(*l));
	if (!l)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = path ? cot_emu_code_read(path, &l->code, &err)
		      : cot_emu_code_take(image, &l->code, &err);
	if (result) {
		if (*err.text)
			cot_emu_complain("%s", err.text);
		free(l);
		return result;
	}
	pthread_mutex_init(&l->lock, NULL);
	*library = (CUlibrary)l;
	return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, int *jit_options,
			   void **jit_values, unsigned n_jit, int *options, void **values,
			   unsigned n_options)
{
	(void)jit_options;
	(void)jit_values;
	(void)n_jit;
	(void)options;
	(void)values;
	(void)n_options;
	return make_library(library, code, NULL);
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, int *jit_options,
			       void **jit_values, unsigned n_jit, int *options, void **values,
			       unsigned n_options)
{
	(void)jit_options;
	(void)jit_values;
	(void)n_jit;
	(void)options;
	(void)values;
	(void)n_options;
	return make_library(library, NULL, path);
}

CUresult cuLibraryUnload(CUlibrary library)
{
	struct cot_emu_library *l = (struct cot_emu_library *)library;
	CUresult result = cot_emu_ready();
	struct cot_emu_kernel_name *k;

	if (result)
		return result;
	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	cot_emu_contexts_drop_library(l);
	while ((k = l->kernels)) {
		l->kernels = k->next;
		free((void *)(uintptr_t)k->name);
		free(k);
	}
	cot_emu_code_free(&l->code);
	pthread_mutex_destroy(&l->lock);
	free(l);
	return CUDA_SUCCESS;
}

/* The one kernel of that name in the library; made on first use. */
static struct cot_emu_kernel_name *kernel_of(struct cot_emu_library *l, const char *name)
{
	struct cot_emu_kernel_name *k;

	pthread_mutex_lock(&l->lock);
	for (k = l->kernels; k && strcmp(k->name, name) != 0; k = k->next)
		;
	if (!k && (k = calloc(1, sizeof(*k)))) {
		k->tag = COT_EMU_KERNEL_TAG;
		k->name = strdup(name);
		k->library = l;
		k->next = l->kernels;
		if (k->name) {
			l->kernels = k;
		} else {
			free(k);
			k = NULL;
		}
	}
	pthread_mutex_unlock(&l->lock);
	return k;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	struct cot_emu_library *l = (struct cot_emu_library *)library;
	CUresult result = cot_emu_ready();
	struct cot_emu_context *c;
	struct cot_emu_module *m;
	struct cot_emu_kernel_name *k;

	if (result)
		return result;
	if (!kernel || !l || !name)
		return CUDA_ERROR_INVALID_VALUE;
	/* Without a context nobody can say yet whether there is such a kernel. */
	if (!cot_emu_current(&c)) {
		result = cot_emu_library_module(l, c, &m);
		if (result)
			return result;
		if (!cot_emu_module_function(m, name))
			return CUDA_ERROR_NOT_FOUND;
	}
	k = kernel_of(l, name);
	if (!k)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*kernel = (CUkernel)k;
	return CUDA_SUCCESS;
}

static CUresult module_here(CUlibrary library, struct cot_emu_module **ret_module)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if (!library)
		return CUDA_ERROR_INVALID_HANDLE;
	return cot_emu_library_module((struct cot_emu_library *)library, c, ret_module);
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	struct cot_emu_module *m;
	CUresult result = module ? module_here(library, &m) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*module = (CUmodule)m;
	return result;
}

CUresult cuLibraryGetKernelCount(unsigned *n, CUlibrary library)
{
	struct cot_emu_module *m;
	CUresult result = n ? module_here(library, &m) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*n = m->n_functions;
	return result;
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned n, CUlibrary library)
{
	struct cot_emu_module *m;
	CUresult result = kernels ? module_here(library, &m) : CUDA_ERROR_INVALID_VALUE;
	unsigned i;

	for (i = 0; !result && i < n && i < m->n_functions; i++)
		kernels[i] = (CUkernel)kernel_of((struct cot_emu_library *)library,
						 m->functions[i].name);
	return result;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUlibrary library, const char *name)
{
	struct cot_emu_module *m;
	CUresult result = module_here(library, &m);

	return result ? result : cuModuleGetGlobal_v2(ptr, bytes, (CUmodule)m, name);
}

/*
 * The runtime asks for these at the program's start, before there is a context: they are to be
 * where the program can use them at once. They are put into the first device's primary context.
 */
CUresult cuLibraryGetManaged(CUdeviceptr *ptr, size_t *bytes, CUlibrary library, const char *name)
{
	struct cot_emu_context *c;
	struct cot_emu_module *m;
	CUcontext primary;
	CUresult result = cot_emu_current(&c);

	if (result == CUDA_ERROR_INVALID_CONTEXT) {
		result = cuDevicePrimaryCtxRetain(&primary, 0);
		c = (struct cot_emu_context *)primary;
	}
	if (result || !library)
		return result ? result : CUDA_ERROR_INVALID_HANDLE;
	result = cot_emu_library_module((struct cot_emu_library *)library, c, &m);
	return result ? result : cuModuleGetGlobal_v2(ptr, bytes, (CUmodule)m, name);
}

/* ---- kernels ---- */

CUresult cot_emu_function_get(CUfunction handle, struct cot_emu_context *c,
			      struct cot_emu_function **ret_function)
{
	struct cot_emu_function *f = (struct cot_emu_function *)handle;
	struct cot_emu_kernel_name *k = (struct cot_emu_kernel_name *)handle;
	struct cot_emu_module *m;
	CUresult result;

	if (!handle)
		return CUDA_ERROR_INVALID_HANDLE;
	if (f->tag == COT_EMU_KERNEL_TAG) {
		result = cot_emu_library_module(k->library, c, &m);
		if (result)
			return result;
		f = cot_emu_module_function(m, k->name);
		if (!f)
			return CUDA_ERROR_NOT_FOUND;
	}
	if (f->tag != COT_EMU_FUNCTION_TAG)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_function = f;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	struct cot_emu_function *f;
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result || !function)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	result = cot_emu_function_get((CUfunction)kernel, c, &f);
	if (!result)
		*function = (CUfunction)f;
	return result;
}

CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
	const struct cot_emu_kernel_name *k = (const struct cot_emu_kernel_name *)kernel;

	if (!library || !k)
		return CUDA_ERROR_INVALID_VALUE;
	*library = (CUlibrary)k->library;
	return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
	const struct cot_emu_kernel_name *k = (const struct cot_emu_kernel_name *)kernel;

	if (!name || !k)
		return CUDA_ERROR_INVALID_VALUE;
	*name = k->name;
	return CUDA_SUCCESS;
}
