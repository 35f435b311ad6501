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
