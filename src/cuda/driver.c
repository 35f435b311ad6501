#include "cuda/driver.h"

#include <dlfcn.h>
#include <errno.h>

#define LIBRARY "libcuda.so.1"

static const struct {
	const char *name;
	size_t at;
} functions[] = {
#define ENTRY(name, since, shim, emulated, params) {#name, offsetof(struct cot_driver, name)},
#define ENTRY_PER_THREAD(name, suffix, since, shim, emulated, params) \
	ENTRY(name, since, shim, emulated, params)
#include "cuda/abi/api.def"
};

static void find_functions(struct cot_driver *d)
{
	void *symbol;
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(functions); i++) {
		symbol = dlsym(d->library, functions[i].name);
		/* The standard has no cast between pointers to data and to functions. */
		memcpy((char *)d + functions[i].at, &symbol, sizeof(symbol));
	}
}

int cot_driver_open(struct cot_driver *ret_driver, struct cot_error *err)
{
	struct cot_driver d = {.library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)};
	int version = 0;

	if (!d.library)
		return cot_error_set(
			err, -ENOENT,
			"there is no CUDA driver here (%s): expected a GPU's, or run this "
			"under the emulated one",
			dlerror());
	find_functions(&d);
	if (!d.cuDriverGetVersion || d.cuDriverGetVersion(&version) || version < COT_DRIVER_OLDEST)
		return cot_error_set(err, -ENOSYS,
				     LIBRARY " is of CUDA %d.%d: expected the driver of CUDA %d or "
					     "later",
				     version / 1000, version % 1000 / 10, COT_DRIVER_OLDEST / 1000);
	*ret_driver = d;
	return 0;
}

/* `what` has n characters. */
static int say(const struct cot_driver *driver, CUresult result, const char *what, size_t n,
	       struct cot_error *err)
{
	const char *name = NULL;

	if (driver->cuGetErrorName)
		driver->cuGetErrorName(result, &name);
	return cot_error_set(err, -EIO, "%.*s failed: %s (%d)", (int)n, what,
			     name ? name : "unknown error", result);
}

int cot_driver_check(const struct cot_driver *driver, CUresult result, const char *what,
		     struct cot_error *err)
{
	return result ? say(driver, result, what, strlen(what), err) : 0;
}

int cot_driver_called(const struct cot_driver *driver, CUresult result, const char *function,
		      struct cot_error *err)
{
	size_t n = strlen(function);

	if (n > 3 && !strncmp(function + n - 3, "_v", 2))
		n -= 3;
	return result ? say(driver, result, function, n, err) : 0;
}
