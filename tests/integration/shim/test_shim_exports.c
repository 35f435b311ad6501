/* The shim exports every function of the driver that it knows: a library that looks for one that is
 * missing, as cuBLAS does, takes the driver for broken. */
#include <dlfcn.h>
#include <stdlib.h>

#include "test.h"

static const char *const names[] = {
#define NAME(name)				   #name,
#define ENTRY(name, since, shim, emulated, params) #name,
#include "cuda/abi/api.def"
};

static void every_name(void **state)
{
	void *shim = dlopen(getenv("COTENANT_SHIM_LIB"), RTLD_NOW | RTLD_LOCAL);
	size_t i;

	(void)state;
	assert_non_null(shim);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!dlsym(shim, names[i]))
			fail_msg("%s is not exported", names[i]);
	assert_true(i > 600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_name)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
