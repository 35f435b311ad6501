/*
 * Modules, libraries, functions and kernels. What can be rewritten is loaded as one text with the
 * original kernels and the new ones, so that its variables exist once; if the driver does not take
 * it, the program's own image is loaded, as if nothing had been tried.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/entry.h"

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
		if (COT_REAL(cuDeviceGetAttribute)(&major, COT_CU_DEVICE_CAPABILITY_MAJOR, i) ||
		    COT_REAL(cuDeviceGetAttribute)(&minor, COT_CU_DEVICE_CAPABILITY_MINOR, i))
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
	int rc;

	if (!cot_shim_is_on() || !image || is_jit_off())
		return false;
	if (cot_shim_image_text(image, n, target(), &text, &length, &why)) {
		cot_shim_count_why(why);
		return false;
	}
	rc = cot_shim_rewrite(text, length, newest_ptx(), ret);
	free(text);
	return rc == 0;
}

static bool rewrite_file(const char *path, struct cot_shim_rewritten *ret)
{
	void *bytes;
	bool done;
	size_t n;

	if (!cot_shim_is_on() || !path || cot_shim_image_read(path, &bytes, &n))
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
static int load_module(cot_cu_handle *module, struct cot_shim_rewritten *r, unsigned n,
		       int *options, void **values)
{
	void *copy[OPTIONS_MAX];
	int rc = n > OPTIONS_MAX ? COT_CU_ERROR_INVALID_VALUE
				 : COT_REAL(cuModuleLoadDataEx)(module, r->text, n, options,
								copy_values(copy, values, n));

	if (rc) {
		not_loaded(r, rc);
		return rc;
	}
	if (values && n)
		memcpy(values, copy, n * sizeof(copy[0]));
	free(r->text); /* the driver has its own copy */
	r->text = NULL;
	cot_shim_code_add(*module, r);
	return 0;
}

int cuModuleLoadData(cot_cu_handle *module, const void *image)
{
	struct cot_shim_rewritten r;

	if (module && rewrite(image, 0, &r) && !load_module(module, &r, 0, NULL, NULL))
		return COT_CU_SUCCESS;
	return COT_REAL(cuModuleLoadData)(module, image);
}

int cuModuleLoadDataEx(cot_cu_handle *module, const void *image, unsigned n, int *options,
		       void **values)
{
	struct cot_shim_rewritten r;

	if (module && rewrite(image, 0, &r) && !load_module(module, &r, n, options, values))
		return COT_CU_SUCCESS;
	return COT_REAL(cuModuleLoadDataEx)(module, image, n, options, values);
}

int cuModuleLoadFatBinary(cot_cu_handle *module, const void *image)
{
	struct cot_shim_rewritten r;

	if (module && rewrite(image, 0, &r) && !load_module(module, &r, 0, NULL, NULL))
		return COT_CU_SUCCESS;
	return COT_REAL(cuModuleLoadFatBinary)(module, image);
}

int cuModuleLoad(cot_cu_handle *module, const char *path)
{
	struct cot_shim_rewritten r;

	if (module && rewrite_file(path, &r) && !load_module(module, &r, 0, NULL, NULL))
		return COT_CU_SUCCESS;
	return COT_REAL(cuModuleLoad)(module, path);
}

int cuModuleUnload(cot_cu_handle module)
{
	if (cot_shim_is_on())
		cot_shim_code_forget(module);
	return COT_REAL(cuModuleUnload)(module);
}

int cuModuleGetFunction(cot_cu_handle *function, cot_cu_handle module, const char *name)
{
	int rc = COT_REAL(cuModuleGetFunction)(function, module, name);

	if (!rc && cot_shim_is_on())
		cot_shim_code_function(*function, module, name, false);
	return rc;
}

/* ---- libraries ---- */

/*
 * A library may be loaded into a context only when it is first used, and then it is too late for
 * the program's own image. So the driver is asked for its module at once where there is a context.
 */
static int try_library(cot_cu_handle library)
{
	cot_cu_handle context = NULL, module;

	if (COT_REAL(cuCtxGetCurrent)(&context) || !context)
		return 0;
	return COT_REAL(cuLibraryGetModule)(&module, library);
}

static int load_library(cot_cu_handle *library, struct cot_shim_rewritten *r, int *jit,
			void **jit_values, unsigned n_jit, int *options, void **values, unsigned n)
{
	void *copy[OPTIONS_MAX];
	int rc = COT_CU_ERROR_INVALID_VALUE;

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

int cuLibraryLoadData(cot_cu_handle *library, const void *code, int *jit, void **jit_values,
		      unsigned n_jit, int *options, void **values, unsigned n)
{
	struct cot_shim_rewritten r;

	if (library && rewrite(code, 0, &r) &&
	    !load_library(library, &r, jit, jit_values, n_jit, options, values, n))
		return COT_CU_SUCCESS;
	return COT_REAL(cuLibraryLoadData)(library, code, jit, jit_values, n_jit, options, values,
					   n);
}

int cuLibraryLoadFromFile(cot_cu_handle *library, const char *path, int *jit, void **jit_values,
			  unsigned n_jit, int *options, void **values, unsigned n)
{
	struct cot_shim_rewritten r;

	if (library && rewrite_file(path, &r) &&
	    !load_library(library, &r, jit, jit_values, n_jit, options, values, n))
		return COT_CU_SUCCESS;
	return COT_REAL(cuLibraryLoadFromFile)(library, path, jit, jit_values, n_jit, options,
					       values, n);
}

int cuLibraryUnload(cot_cu_handle library)
{
	int rc = COT_REAL(cuLibraryUnload)(library);

	/* Not before: the driver may still read the text. */
	if (cot_shim_is_on())
		cot_shim_code_forget(library);
	return rc;
}

int cuLibraryGetKernel(cot_cu_handle *kernel, cot_cu_handle library, const char *name)
{
	int rc = COT_REAL(cuLibraryGetKernel)(kernel, library, name);

	if (!rc && cot_shim_is_on())
		cot_shim_code_function(*kernel, library, name, true);
	return rc;
}

int cuLibraryGetModule(cot_cu_handle *module, cot_cu_handle library)
{
	int rc = COT_REAL(cuLibraryGetModule)(module, library);

	if (!rc && cot_shim_is_on())
		cot_shim_code_alias(*module, library);
	return rc;
}

int cuKernelGetFunction(cot_cu_handle *function, cot_cu_handle kernel)
{
	int rc = COT_REAL(cuKernelGetFunction)(function, kernel);

	if (!rc && cot_shim_is_on())
		cot_shim_code_function_of(*function, kernel);
	return rc;
}

/* ---- lists: the program sees its own functions only ---- */

int cuModuleGetFunctionCount(unsigned *n, cot_cu_handle module)
{
	int rc = COT_REAL(cuModuleGetFunctionCount)(n, module);
	unsigned added = rc || !cot_shim_is_on() ? 0 : cot_shim_code_n_added(module);

	if (added && added <= *n)
		*n -= added;
	return rc;
}

int cuLibraryGetKernelCount(unsigned *n, cot_cu_handle library)
{
	int rc = COT_REAL(cuLibraryGetKernelCount)(n, library);
	unsigned added = rc || !cot_shim_is_on() ? 0 : cot_shim_code_n_added(library);

	if (added && added <= *n)
		*n -= added;
	return rc;
}

typedef int enumerate_fn(cot_cu_handle *handles, unsigned n, cot_cu_handle owner);
typedef int name_fn(const char **name, cot_cu_handle handle);

/* The first n that are the program's. Handles that were not filled in stay as they are. */
static int enumerate(cot_cu_handle *handles, unsigned n, cot_cu_handle owner, unsigned added,
		     enumerate_fn *all, name_fn *name_of)
{
	cot_cu_handle *every = calloc((size_t)n + added, sizeof(*every));
	const char *name;
	unsigned i, at = 0;
	int rc = every ? all(every, n + added, owner) : all(handles, n, owner);

	for (i = 0; every && !rc && i < n + added && at < n; i++)
		if (every[i] && (name_of(&name, every[i]) || !cot_shim_is_added(name)))
			handles[at++] = every[i];
	free(every);
	return rc;
}

int cuModuleEnumerateFunctions(cot_cu_handle *functions, unsigned n, cot_cu_handle module)
{
	unsigned added = cot_shim_is_on() && functions ? cot_shim_code_n_added(module) : 0;

	if (!added)
		return COT_REAL(cuModuleEnumerateFunctions)(functions, n, module);
	return enumerate(functions, n, module, added, COT_REAL(cuModuleEnumerateFunctions),
			 COT_REAL(cuFuncGetName));
}

int cuLibraryEnumerateKernels(cot_cu_handle *kernels, unsigned n, cot_cu_handle library)
{
	unsigned added = cot_shim_is_on() && kernels ? cot_shim_code_n_added(library) : 0, i;
	const char *name;
	int rc;

	if (!added)
		return COT_REAL(cuLibraryEnumerateKernels)(kernels, n, library);
	for (i = 0; i < n; i++)
		kernels[i] = NULL;
	rc = enumerate(kernels, n, library, added, COT_REAL(cuLibraryEnumerateKernels),
		       COT_REAL(cuKernelGetName));
	for (i = 0; !rc && i < n; i++)
		if (kernels[i] && !COT_REAL(cuKernelGetName)(&name, kernels[i]))
			cot_shim_code_function(kernels[i], library, name, true);
	return rc;
}

/* ---- attributes: those of a kernel are those of its workers ---- */

static cot_cu_handle workers_of(cot_cu_handle handle)
{
	struct cot_shim_ref *r = cot_shim_is_on() ? cot_shim_code_ref(handle) : NULL;

	if (!r || !r->kernel)
		return NULL;
	atomic_store(&r->fit, 0); /* more may fit now, or fewer */
	return r->workers;
}

int cuFuncSetAttribute(cot_cu_handle function, int what, int value)
{
	int rc = COT_REAL(cuFuncSetAttribute)(function, what, value);
	cot_cu_handle workers = rc ? NULL : workers_of(function);

	if (workers)
		(void)COT_REAL(cuFuncSetAttribute)(workers, what, value);
	return rc;
}

int cuFuncSetCacheConfig(cot_cu_handle function, int config)
{
	int rc = COT_REAL(cuFuncSetCacheConfig)(function, config);
	cot_cu_handle workers = rc ? NULL : workers_of(function);

	if (workers)
		(void)COT_REAL(cuFuncSetCacheConfig)(workers, config);
	return rc;
}

int cuFuncSetSharedMemConfig(cot_cu_handle function, int config)
{
	int rc = COT_REAL(cuFuncSetSharedMemConfig)(function, config);
	cot_cu_handle workers = rc ? NULL : workers_of(function);

	if (workers)
		(void)COT_REAL(cuFuncSetSharedMemConfig)(workers, config);
	return rc;
}

int cuKernelSetAttribute(int what, int value, cot_cu_handle kernel, int device)
{
	int rc = COT_REAL(cuKernelSetAttribute)(what, value, kernel, device);
	cot_cu_handle workers = rc ? NULL : workers_of(kernel);

	if (workers)
		(void)COT_REAL(cuKernelSetAttribute)(what, value, workers, device);
	return rc;
}

int cuKernelSetCacheConfig(cot_cu_handle kernel, int config, int device)
{
	int rc = COT_REAL(cuKernelSetCacheConfig)(kernel, config, device);
	cot_cu_handle workers = rc ? NULL : workers_of(kernel);

	if (workers)
		(void)COT_REAL(cuKernelSetCacheConfig)(workers, config, device);
	return rc;
}
