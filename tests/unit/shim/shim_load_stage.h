/*
 * Where the entry points for code are tested: the driver and the rest of the shim are played. The
 * unit is in a shared library, so its source is here.
 */
#ifndef COT_TESTS_SHIM_LOAD_STAGE_H
#define COT_TESTS_SHIM_LOAD_STAGE_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "notes.h"

static bool has_memory;

static void *played_calloc(size_t n, size_t size)
{
	return has_memory ? calloc(n, size) : NULL;
}

#define calloc played_calloc
#include "guest/shim/entry_code.c"
#include "no_parts.h"

struct cot_settings cot_shim_settings = {.rewrites = true};
#undef calloc

#define HANDLE(n)     ((cot_shim_handle)(uintptr_t)(n))
#define MODULE	      HANDLE(0x1000)
#define LIBRARY	      HANDLE(0x2000)
#define FUNCTION      HANDLE(0x3000)
#define WORKERS	      HANDLE(0x3001)
#define OPTIONS_GIVEN 3u

_Atomic int cot_shim_state;

bool cot_shim_begin(void)
{
	return false;
}
#define ENTRY(name, since, shim, emulated, params) void *cot_real_##name;
#include "cuda/abi/api.def"

static const char *fails; /* the name of a call that does */

static int result(const char *name)
{
	return fails && !strcmp(fails, name) ? 2 : 0;
}

/* ---- the driver: what it is ---- */

static int device, n_devices, capabilities[4], driver_version; /* 86: of 8.6 */
static bool has_context;

static int get_device(int *ret)
{
	*ret = device;
	return device < 0 ? 201 : 0;
}

static int device_count(int *n)
{
	*n = n_devices;
	return result("count");
}

static int attribute(int *value, int what, int of)
{
	assert_in_range(of, 0, n_devices - 1);
	if (what == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) {
		*value = capabilities[of] / 10;
		return result("major");
	}
	assert_int_equal(what, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	*value = capabilities[of] % 10;
	return result("minor");
}

static int version(int *ret)
{
	*ret = driver_version;
	return result("version");
}

static int get_current(CUcontext *context)
{
	*context = has_context ? HANDLE(0x9000) : NULL;
	return result("current");
}

/* ---- the driver: code ---- */

static bool takes_rewritten;		   /* what the shim made of an image */
static void *seen_values[OPTIONS_MAX + 1]; /* one more than the shim copies */

static bool is_rewritten(const void *image)
{
	return strstr(image, "rewritten") != NULL;
}

/* Some values are results, as the sizes of logs are: they are written in any case. */
static int load(const char *how, const void *image, cot_shim_handle *ret, cot_shim_handle handle,
		unsigned n, void **values)
{
	note("%s %s, %u options;", how, (const char *)image, n);
	if (values && n) {
		memcpy(seen_values, values, n * sizeof(values[0]));
		values[0] = HANDLE(0xa11);
	}
	*ret = handle;
	return is_rewritten(image) && !takes_rewritten ? 218 : result("load");
}

static int load_data(cot_shim_handle *module, const void *image)
{
	return load("data", image ? image : "nothing", module, MODULE, 0, NULL);
}

static int load_data_ex(cot_shim_handle *module, const void *image, unsigned n, int *options,
			void **values)
{
	assert_true(!n || options);
	return load("data ex", image, module, MODULE, n, values);
}

static int load_fat_binary(cot_shim_handle *module, const void *image)
{
	return load("fat binary", image, module, MODULE, 0, NULL);
}

static int load_file(cot_shim_handle *module, const char *path)
{
	return load("file", path ? path : "nowhere", module, MODULE, 0, NULL);
}

static int library_data(cot_shim_handle *library, const void *code, int *jit, void **jit_values,
			unsigned n_jit, int *options, void **values, unsigned n)
{
	assert_true(!n_jit || jit);
	assert_true(!n == !options && !n == !values);
	note("%u of libraries, ", n);
	return load("library data", code, library, LIBRARY, n_jit, jit_values);
}

static int library_file(cot_shim_handle *library, const char *path, int *jit, void **jit_values,
			unsigned n_jit, int *options, void **values, unsigned n)
{
	assert_true(!n_jit || jit);
	assert_true(!n == !options && !n == !values);
	note("%u of libraries, ", n);
	return load("library file", path, library, LIBRARY, n_jit, jit_values);
}

static int module_unload(cot_shim_handle module)
{
	assert_ptr_equal(module, MODULE);
	note("unload;");
	return result("unload");
}

static int library_unload(cot_shim_handle library)
{
	assert_ptr_equal(library, LIBRARY);
	note("unload library;");
	return result("unload");
}

static int get_function(cot_shim_handle *function, cot_shim_handle owner, const char *name)
{
	note("get %s of %#tx;", name, (intptr_t)owner);
	*function = FUNCTION;
	return result("get");
}

static int library_module(cot_shim_handle *module, cot_shim_handle library)
{
	note("module of %#tx;", (intptr_t)library);
	*module = MODULE;
	return result("module");
}

static int function_of_kernel(cot_shim_handle *function, cot_shim_handle kernel)
{
	note("function of %#tx;", (intptr_t)kernel);
	*function = FUNCTION;
	return result("function");
}

/* ---- the driver: lists and attributes ---- */

/* What the driver has, by its name; NULL: it leaves that place as it is. Two are ours. */
static const char *const listed[] = {"a$", "a", "nameless", NULL, "b", "b$"};
#define N_LISTED ((unsigned)COT_ARRAY_LEN(listed))

static int count(unsigned *n, cot_shim_handle owner)
{
	note("count of %#tx;", (intptr_t)owner);
	*n = N_LISTED;
	return result("count");
}

static int list(cot_shim_handle *handles, unsigned n, cot_shim_handle owner)
{
	unsigned i;

	note("%u of %#tx;", n, (intptr_t)owner);
	if (result("list"))
		return 2;
	for (i = 0; handles && i < n && i < N_LISTED; i++)
		if (listed[i])
			handles[i] = HANDLE(0x100 + i);
	return 0;
}

static int name_of(const char **name, cot_shim_handle handle)
{
	*name = listed[(uintptr_t)handle - 0x100];
	return !strcmp(*name, "nameless") ? 2 : 0;
}

static int set_attribute(cot_shim_handle function, int what, int value)
{
	note("attribute %d=%d of %#tx;", what, value, (intptr_t)function);
	return result("set");
}

static int set_cache(cot_shim_handle function, int config)
{
	note("cache %d of %#tx;", config, (intptr_t)function);
	return result("set");
}

static int set_shared(cot_shim_handle function, int config)
{
	note("shared %d of %#tx;", config, (intptr_t)function);
	return result("set");
}

static int kernel_attribute(int what, int value, cot_shim_handle kernel, int of)
{
	note("attribute %d=%d of kernel %#tx on %d;", what, value, (intptr_t)kernel, of);
	return result("set");
}

static int kernel_cache(cot_shim_handle kernel, int config, int of)
{
	note("cache %d of kernel %#tx on %d;", config, (intptr_t)kernel, of);
	return result("set");
}

/* ---- the rest of the shim ---- */

static unsigned n_added;
static struct cot_shim_ref *ref;
static enum cot_shim_why why_not; /* COT_SHIM_WHY_NOT: the image has PTX */
static bool can_rewrite;

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	(void)fmt;
	assert_int_equal(level, COT_LOG_INFO);
}

void cot_shim_count_why(enum cot_shim_why why)
{
	note("why %u;", why);
}

int cot_shim_image_text(const void *image, size_t n, unsigned target_, char **ret_text,
			size_t *ret_length, enum cot_shim_why *ret_why)
{
	note("text of %s, %zu bytes, for %u;", (const char *)image, n, target_);
	if (why_not != COT_SHIM_WHY_NOT) {
		*ret_why = why_not;
		return -ENOENT;
	}
	*ret_text = strdup("its text");
	*ret_length = 8;
	return 0;
}

int cot_shim_image_read(const char *path, void **ret_bytes, size_t *ret_n)
{
	note("read %s;", path);
	if (result("read"))
		return -EIO;
	*ret_bytes = strdup("contents");
	*ret_n = 8;
	return 0;
}

int cot_shim_rewrite_kept(const char *text, size_t length, unsigned newest, unsigned target,
			  struct cot_shim_rewritten *ret)
{
	(void)text;
	(void)length;
	(void)newest;
	(void)target;
	(void)ret;
	fail_msg("nothing is merged");
	return -1;
}

int cot_shim_rewrite(const char *text, size_t length, unsigned newest,
		     struct cot_shim_rewritten *ret)
{
	note("rewrite %s for %u;", text, newest);
	assert_int_equal(length, 8);
	if (!can_rewrite)
		return -ENOENT;
	*ret = (struct cot_shim_rewritten){.text = strdup("rewritten"), .n_kernels = 2};
	return 0;
}

void cot_shim_rewritten_finish(struct cot_shim_rewritten *r)
{
	note("finish %s;", r->text);
	free(r->text);
	*r = (struct cot_shim_rewritten){.text = NULL};
}

void cot_shim_code_add(cot_shim_handle owner, struct cot_shim_rewritten *r)
{
	assert_int_equal(r->n_kernels, 2);
	note("add %#tx with %s;", (intptr_t)owner, r->text ? "its text" : "no text");
	free(r->text);
}

void cot_shim_code_alias(cot_shim_handle module, cot_shim_handle library)
{
	note("%#tx is the module of %#tx;", (intptr_t)module, (intptr_t)library);
}

void cot_shim_code_forget(cot_shim_handle owner)
{
	note("forget %#tx;", (intptr_t)owner);
}

unsigned cot_shim_code_n_added(cot_shim_handle owner)
{
	(void)owner;
	return n_added;
}

void cot_shim_code_function(cot_shim_handle handle, cot_shim_handle owner, const char *name,
			    bool is_kernel)
{
	note("%s %#tx is %s of %#tx;", is_kernel ? "kernel" : "function", (intptr_t)handle, name,
	     (intptr_t)owner);
}

void cot_shim_code_function_of(cot_shim_handle function, cot_shim_handle kernel)
{
	note("%#tx is of kernel %#tx;", (intptr_t)function, (intptr_t)kernel);
}

struct cot_shim_ref *cot_shim_code_ref(cot_shim_handle handle)
{
	assert_ptr_equal(handle, FUNCTION);
	return ref;
}

bool cot_shim_is_added(const char *name)
{
	return strchr(name, '$') != NULL;
}

/* ---- set-up ---- */

#define REAL(name, played) cot_real_##name = (void *)(uintptr_t)(played)

static void set_driver(void)
{
	REAL(cuCtxGetDevice, get_device);
	REAL(cuDeviceGetCount, device_count);
	REAL(cuDeviceGetAttribute, attribute);
	REAL(cuDriverGetVersion, version);
	REAL(cuCtxGetCurrent, get_current);
	REAL(cuModuleLoad, load_file);
	REAL(cuModuleLoadData, load_data);
	REAL(cuModuleLoadDataEx, load_data_ex);
	REAL(cuModuleLoadFatBinary, load_fat_binary);
	REAL(cuModuleUnload, module_unload);
	REAL(cuModuleGetFunction, get_function);
	REAL(cuModuleGetFunctionCount, count);
	REAL(cuModuleEnumerateFunctions, list);
	REAL(cuLibraryLoadData, library_data);
	REAL(cuLibraryLoadFromFile, library_file);
	REAL(cuLibraryUnload, library_unload);
	REAL(cuLibraryGetKernel, get_function);
	REAL(cuLibraryGetModule, library_module);
	REAL(cuLibraryGetKernelCount, count);
	REAL(cuLibraryEnumerateKernels, list);
	REAL(cuKernelGetFunction, function_of_kernel);
	REAL(cuKernelGetName, name_of);
	REAL(cuKernelSetAttribute, kernel_attribute);
	REAL(cuKernelSetCacheConfig, kernel_cache);
	REAL(cuFuncGetName, name_of);
	REAL(cuFuncSetAttribute, set_attribute);
	REAL(cuFuncSetCacheConfig, set_cache);
	REAL(cuFuncSetSharedMemConfig, set_shared);
}

static int set_up(void **state)
{
	(void)state;
	set_driver();
	has_memory = has_context = takes_rewritten = can_rewrite = true;
	fails = NULL;
	device = 0;
	n_devices = 1;
	capabilities[0] = 90;
	driver_version = 12040;
	why_not = COT_SHIM_WHY_NOT;
	n_added = 0;
	ref = NULL;
	unsetenv("CUDA_DISABLE_PTX_JIT");
	atomic_store(&cot_shim_state, COT_SHIM_ON);
	written[0] = '\0';
	return 0;
}

#endif
