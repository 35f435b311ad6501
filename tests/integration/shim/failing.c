/* Behind the shim, in the way of tests/faults: a call of the shim's own fails as long as the test
 * names it in a variable of the environment. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "faults/page.h"

bool fault_is_watched(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && strstr(info.dli_fname, "shim/libcuda");
}

bool fault_fails(const char *name, const void *caller)
{
	const char *failing = getenv("FAILING");

	return failing && !strcmp(name, failing) && fault_is_watched(caller);
}
