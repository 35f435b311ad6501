/* Behind the shim, in the way of tests/faults: a call of the shim's own fails, or takes its time,
 * as long as the test names it in a variable of the environment. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults/page.h"

bool fault_is_watched(const void *caller)
{
	Dl_info info;

	return dladdr(caller, &info) && strstr(info.dli_fname, "shim/libcuda");
}

#define SLOW_US 2000

static bool is_named(const char *variable, const char *name, const void *caller)
{
	const char *named = getenv(variable);

	return named && !strcmp(name, named) && fault_is_watched(caller);
}

bool fault_fails(const char *name, const void *caller)
{
	if (is_named("SLOW", name, caller))
		(void)usleep(SLOW_US);
	return is_named("FAILING", name, caller);
}
