/* Names of C++, by the C++ library where there is one: programs of CUDA bring it along. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inspect.h"

#define NAME_MAX_BYTES 65536u

typedef char *(*demangler)(const char *name, char *buffer, size_t *size, int *ret_status);

static demangler find(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
	demangler found;

	/* The standard has no cast between pointers to data and to functions. */
	memcpy(&found, &symbol, sizeof(found));
	return found;
}

const char *cot_demangle(const char *name)
{
	static demangler demangle;
	static bool looked;
	static char *last;
	int status = -1;

	if (!looked)
		demangle = find();
	looked = true;
	free(last);
	last = NULL;
	if (demangle && !strncmp(name, "_Z", 2) && strlen(name) < NAME_MAX_BYTES)
		last = demangle(name, NULL, NULL, &status);
	return last ? last : name;
}
