/*
 * Modules, libraries, functions and kernels. What can be rewritten is loaded as one text with the
 * original kernels and the new ones, so that its variables exist once; if the driver does not take
 * it, the program's own image is loaded, as if nothing had been tried.
 */
#include <stdlib.h>
#include <string.h>

#include "guest/log.h"
#include "guest/shim/code.h"
#include "guest/shim/counts.h"
#include "guest/shim/driver.h"
#include "guest/shim/fork.h"
#include "guest/shim/parts.h"
#include "guest/shim/template.h"

#define OPTIONS_MAX 64u

/* ---- what the GPU is ---- */

/* The compute capability of the current context's device, or the lowest of all; 0: not known. */
static unsigned target(void)
{
	int device, major, minor, n = 0, i;
	unsigned least = 0, here;

	if (!COT_REAL(cuCtxGetDevice)(&device))
		i = device, n = device + 1;
	else if (COT_REAL(cuDeviceGetCount)(&n))
		return 0;
	else
		i = 0;
	for (; i < n; i++) {
		if (COT_REAL(cuDeviceGetAttribute)(
			    &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, i) ||
		    COT_REAL(cuDeviceGetAttribute)(&minor,
						   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, i))
			return 0;
		here = (unsigned)(10 * major + minor);
		if (!least || here < least)
			least = here;
	}
	return least;
}

/*
 * The newest PTX that the driver compiles: CUDA 12.4 knows 8.4. With 12.6 came no new one, so that
 * 12.8 knows 8.7.
 */
static unsigned newest_ptx(void)
{
	int version = 0, major, minor;

	if (COT_REAL(cuDriverGetVersion)(&version))
		return 0;
	major = version / 1000;
	minor = version % 1000 / 10;
	if (major == 12 && minor > 5)
		minor--;
	return major > 4 ? (unsigned)(10 * (major - 4) + minor) : 0;
}

/* ---- rewriting ---- */

/* The user does not want PTX to be compiled. */
static bool is_jit_off(void)
{
	const char *value = getenv("CUDA_DISABLE_PTX_JIT");

	return value && *value && strcmp(value, "0") != 0;
}

/* The image with workers beside its kernels; false, and counted: there are none. */
static bool rewrite(const void *image, size_t n, struct cot_shim_rewritten *ret)
{
	enum cot_shim_why why;
	size_t length;
	char *text;
	unsigned of;
	int rc;

	if (!cot_shim_rewrites() || !image || is_jit_off())
		return false;
	of = target();
	if (cot_shim_image_text(image, n, of, &text, &length, &why)) {
		cot_shim_count_why(why);
		return false;
	}
	rc = cot_shim_settings.merges ? cot_shim_rewrite_kept(text, length, newest_ptx(), of, ret)
				      : cot_shim_rewrite(text, length, newest_ptx(), ret);
	free(text);
	return rc == 0;
}

static bool rewrite_file(const char *path, struct cot_shim_rewritten *ret)
{
	void *bytes;
	bool done;
	size_t n;

	if (!cot_shim_rewrites() || !path || cot_shim_image_read(path, &bytes, &n))
		return false;
	done = rewrite(bytes, n, ret);
	free(bytes);
	return done;
}

/* Some options return sizes; a second try begins with what the program gave. */
static void **copy_values(void *copy[OPTIONS_MAX], void **values, unsigned n)
{
	if (!values || !n || n > OPTIONS_MAX)
		return values;
	memcpy(copy, values, n * sizeof(copy[0]));
	return copy;
}

static void not_loaded(struct cot_shim_rewritten *r, int rc)
{
	cot_log(COT_LOG_INFO, "the driver does not take the rewritten PTX: error %d", rc);
	cot_shim_count_why(COT_SHIM_WHY_NOT_LOADED);
	cot_shim_rewritten_finish(r);
}

/* ---- modules ---- */

/* 0: the rewritten text is loaded. */
static int load_module(CUmodule *module, struct cot_shim_rewritten *r, unsigned n, int *options,
		       void **values)
{
	void *copy[OPTIONS_MAX];
	int rc = n > OPTIONS_MAX ? CUDA_ERROR_INVALID_VALUE
				 : COT_REAL(cuModuleLoadDataEx)(module, r->text, n, options,
								copy_values(copy, values, n));

	if (rc) {
		not_loaded(r, rc);
		return rc;
	}
	if (values && n)
		memcpy(values, copy, n * sizeof(copy[0]));
	/* The driver has its own copy; providers of CPU versions, or a backend, may want to read
	 * it. */
	if (!cot_shim_settings.cpu[0] && !cot_shim_settings.backend[0]) {
		free(r->text);
		r->text = NULL;
	}
	cot_shim_code_add(*module, r);
	return 0;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	struct cot_shim_rewritten r;

	if (module && rewrite(image, 0, &r) && !load_module(module, &r, 0, NULL, NULL))
		return CUDA_SUCCESS;
	return COT_REAL(cuModuleLoadData)(module, image);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, int *options,
			    void **values)
{
	struct cot_shim_rewritten r;

	if (module && rewrite(image, 0, &r) && !load_module(module, &r, n, options, values))
		return CUDA_SUCCESS;
	return COT_REAL(cuModuleLoadDataEx)(module, image, n, options, values);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	struct cot_shim_rewritten r;

	if (module && rewrite(image, 0, &r) && !load_module(module, &r, 0, NULL, NULL))
		return CUDA_SUCCESS;
	return COT_REAL(cuModuleLoadFatBinary)(module, image);
}

CUresult cuModuleLoad(CUmodule *module, const char *path)
{
	struct cot_shim_rewritten r;

	if (module && rewrite_file(path, &r) && !load_module(module, &r, 0, NULL, NULL))
		return CUDA_SUCCESS;
	return COT_REAL(cuModuleLoad)(module, path);
}

CUresult cuModuleUnload(CUmodule module)
{
	cot_shim_merge_code_gone();
	if (cot_shim_rewrites())
		cot_shim_code_forget(module);
	if (cot_shim_settings.parts)
		cot_shim_stays_forget();
	return COT_REAL(cuModuleUnload)(module);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	int rc = COT_REAL(cuModuleGetFunction)(function, module, name);

	if (!rc && cot_shim_rewrites())
		cot_shim_code_function(*function, module, name, false);
	return rc;
}

/* ---- libraries ---- */

/*
 * A library may be loaded into a context only when it is first used, and then it is too late for
 * the program's own image. So the shim asks the driver for its module at once if there is a
 * context.
 */
static int try_library(CUlibrary library)
{
	CUcontext context = NULL;
	CUmodule module;

	if (COT_REAL(cuCtxGetCurrent)(&context) || !context)
		return 0;
	return COT_REAL(cuLibraryGetModule)(&module, library);
}

static int load_library(CUlibrary *library, struct cot_shim_rewritten *r, int *jit,
			void **jit_values, unsigned n_jit, int *options, void **values, unsigned n)
{
	void *copy[OPTIONS_MAX];
	int rc = CUDA_ERROR_INVALID_VALUE;

	if (n_jit <= OPTIONS_MAX)
		rc = COT_REAL(cuLibraryLoadData)(library, r->text, jit,
						 copy_values(copy, jit_values, n_jit), n_jit,
						 options, values, n);
	if (!rc && (rc = try_library(*library)))
		(void)COT_REAL(cuLibraryUnload)(*library);
	if (rc) {
		not_loaded(r, rc);
		return rc;
	}
	if (jit_values && n_jit)
		memcpy(jit_values, copy, n_jit * sizeof(copy[0]));
	/* The text stays: the program may have told the driver that it need not copy it. */
	cot_shim_code_add(*library, r);
	return 0;
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, int *jit, void **jit_values,
			   unsigned n_jit, int *options, void **values, unsigned n)
{
	struct cot_shim_rewritten r;

	if (library && rewrite(code, 0, &r) &&
	    !load_library(library, &r, jit, jit_values, n_jit, options, values, n))
		return CUDA_SUCCESS;
	return COT_REAL(cuLibraryLoadData)(library, code, jit, jit_values, n_jit, options, values,
					   n);
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, int *jit, void **jit_values,
			       unsigned n_jit, int *options, void **values, unsigned n)
{
	struct cot_shim_rewritten r;

	if (library && rewrite_file(path, &r) &&
	    !load_library(library, &r, jit, jit_values, n_jit, options, values, n))
		return CUDA_SUCCESS;
	return COT_REAL(cuLibraryLoadFromFile)(library, path, jit, jit_values, n_jit, options,
					       values, n);
}

CUresult cuLibraryUnload(CUlibrary library)
{
	int rc;

	cot_shim_merge_code_gone();
	rc = COT_REAL(cuLibraryUnload)(library);

	/* Not before: the driver may still read the text. */
	if (cot_shim_rewrites())
		cot_shim_code_forget(library);
	if (cot_shim_settings.parts)
		cot_shim_stays_forget();
	return rc;
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	int rc = COT_REAL(cuLibraryGetKernel)(kernel, library, name);

	if (!rc && cot_shim_rewrites())
		cot_shim_code_function(*kernel, library, name, true);
	return rc;
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	int rc = COT_REAL(cuLibraryGetModule)(module, library);

	if (!rc && cot_shim_rewrites())
		cot_shim_code_alias(*module, library);
	return rc;
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	int rc = COT_REAL(cuKernelGetFunction)(function, kernel);

	if (!rc && cot_shim_rewrites())
		cot_shim_code_function_of(*function, kernel);
	return rc;
}

/* ---- lists: the program sees its own functions only ---- */

CUresult cuModuleGetFunctionCount(unsigned *n, CUmodule module)
{
	int rc = COT_REAL(cuModuleGetFunctionCount)(n, module);
	unsigned added = rc || !cot_shim_rewrites() ? 0 : cot_shim_code_n_added(module);

	if (added && added <= *n)
		*n -= added;
	return rc;
}

CUresult cuLibraryGetKernelCount(unsigned *n, CUlibrary library)
{
	int rc = COT_REAL(cuLibraryGetKernelCount)(n, library);
	unsigned added = rc || !cot_shim_rewrites() ? 0 : cot_shim_code_n_added(library);

	if (added && added <= *n)
		*n -= added;
	return rc;
}

/* The first n that are the program's. Handles that were not filled in stay as they are. */
CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned n, CUmodule module)
{
	unsigned added = cot_shim_rewrites() && functions ? cot_shim_code_n_added(module) : 0;
	CUfunction *every = added ? calloc((size_t)n + added, sizeof(CUfunction)) : NULL;
	unsigned i, at = 0;
	const char *name;
	CUresult rc;

	if (!every)
		return COT_REAL(cuModuleEnumerateFunctions)(functions, n, module);
	rc = COT_REAL(cuModuleEnumerateFunctions)(every, n + added, module);
	for (i = 0; !rc && i < n + added && at < n; i++)
		if (every[i] &&
		    (COT_REAL(cuFuncGetName)(&name, every[i]) || !cot_shim_is_added(name)))
			functions[at++] = every[i];
	free(every);
	return rc;
}

static CUresult own_kernels(CUkernel *kernels, unsigned n, CUlibrary library, unsigned added)
{
	CUkernel *every = calloc((size_t)n + added, sizeof(CUkernel));
	unsigned i, at = 0;
	const char *name;
	CUresult rc;

	if (!every)
		return COT_REAL(cuLibraryEnumerateKernels)(kernels, n, library);
	rc = COT_REAL(cuLibraryEnumerateKernels)(every, n + added, library);
	for (i = 0; !rc && i < n + added && at < n; i++)
		if (every[i] &&
		    (COT_REAL(cuKernelGetName)(&name, every[i]) || !cot_shim_is_added(name)))
			kernels[at++] = every[i];
	free(every);
	return rc;
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned n, CUlibrary library)
{
	unsigned added = cot_shim_rewrites() && kernels ? cot_shim_code_n_added(library) : 0, i;
	const char *name;
	CUresult rc;

	if (!added)
		return COT_REAL(cuLibraryEnumerateKernels)(kernels, n, library);
	for (i = 0; i < n; i++)
		kernels[i] = NULL;
	rc = own_kernels(kernels, n, library, added);
	for (i = 0; !rc && i < n; i++)
		if (kernels[i] && !COT_REAL(cuKernelGetName)(&name, kernels[i]))
			cot_shim_code_function(kernels[i], library, name, true);
	return rc;
}

/* ---- attributes: those of a kernel are those of its workers ---- */

/* A launch that waits has those that the kernel had. */
#define AFTER_WAITING(call) (cot_shim_merge_flush(), (call))

static cot_shim_handle workers_of(cot_shim_handle handle)
{
	struct cot_shim_ref *r = cot_shim_rewrites() ? cot_shim_code_ref(handle) : NULL;

	if (!r || !r->kernel)
		return NULL;
	atomic_store(&r->fit, 0); /* more may fit now, or fewer */
	return r->workers;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute what, int value)
{
	int rc = AFTER_WAITING(COT_REAL(cuFuncSetAttribute)(function, what, value));
	cot_shim_handle workers = rc ? NULL : workers_of(function);

	if (workers)
		(void)COT_REAL(cuFuncSetAttribute)(workers, what, value);
	return rc;
}

CUresult cuFuncSetCacheConfig(CUfunction function, int config)
{
	int rc = AFTER_WAITING(COT_REAL(cuFuncSetCacheConfig)(function, config));
	cot_shim_handle workers = rc ? NULL : workers_of(function);

	if (workers)
		(void)COT_REAL(cuFuncSetCacheConfig)(workers, config);
	return rc;
}

CUresult cuFuncSetSharedMemConfig(CUfunction function, int config)
{
	int rc = AFTER_WAITING(COT_REAL(cuFuncSetSharedMemConfig)(function, config));
	cot_shim_handle workers = rc ? NULL : workers_of(function);

	if (workers)
		(void)COT_REAL(cuFuncSetSharedMemConfig)(workers, config);
	return rc;
}

CUresult cuKernelSetAttribute(CUfunction_attribute what, int value, CUkernel kernel,
			      CUdevice device)
{
	int rc = AFTER_WAITING(COT_REAL(cuKernelSetAttribute)(what, value, kernel, device));
	cot_shim_handle workers = rc ? NULL : workers_of(kernel);

	if (workers)
		(void)COT_REAL(cuKernelSetAttribute)(what, value, workers, device);
	return rc;
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice device)
{
	int rc = AFTER_WAITING(COT_REAL(cuKernelSetCacheConfig)(kernel, config, device));
	cot_shim_handle workers = rc ? NULL : workers_of(kernel);

	if (workers)
		(void)COT_REAL(cuKernelSetCacheConfig)(workers, config, device);
	return rc;
}
