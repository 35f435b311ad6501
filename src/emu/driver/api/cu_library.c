/* Libraries and kernels. */
#include "emu/driver/function.h"
#include "emu/driver/inside.h"

static CUresult make(CUlibrary *library, const void *image, const char *path)
{
	struct cot_emu_library *l;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!library || (!image && !path))
		return CUDA_ERROR_INVALID_VALUE;
	result = cot_emu_library_make(image, path, &l);
	if (!result)
		*library = (CUlibrary)l;
	return result;
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
	return make(library, code, NULL);
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
	return make(library, NULL, path);
}

CUresult cuLibraryUnload(CUlibrary library)
{
	struct cot_emu_library *l = (struct cot_emu_library *)library;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!l)
		return CUDA_ERROR_INVALID_HANDLE;
	cot_emu_library_free(l);
	return CUDA_SUCCESS;
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
	/* Without a context it is not known yet whether there is such a kernel. */
	if (!cot_emu_current(&c)) {
		result = cot_emu_library_module(l, c, &m);
		if (result)
			return result;
		if (!cot_emu_module_function(m, name))
			return CUDA_ERROR_NOT_FOUND;
	}
	k = cot_emu_library_kernel(l, name);
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
		kernels[i] = (CUkernel)cot_emu_library_kernel((struct cot_emu_library *)library,
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
