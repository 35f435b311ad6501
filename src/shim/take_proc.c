/*
 * cuGetProcAddress. Its answer is the driver's own pointer, but for the functions that the shim
 * has: those are recognised by their address, whatever name and version was asked for; so a new
 * version of a function is never taken for the old one. A driver whose answer is another address
 * than the exported one is matched by name and version, up to the CUDA that this was written for.
 */
#include <string.h>

#include "shim/entry.h"

#define KNOWN_VERSION 13000

/* The same order of versions as in cuda.h: the last one that is not newer than asked for. */
static const struct named {
	const char *name;
	int since;
	const char *plain, *per_thread; /* exported names */
} named[] = {
	{"cuCtxDestroy", 2000, "cuCtxDestroy", NULL},
	{"cuCtxDestroy", 4000, "cuCtxDestroy_v2", NULL},
	{"cuDevicePrimaryCtxRelease", 7000, "cuDevicePrimaryCtxRelease", NULL},
	{"cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2", NULL},
	{"cuDevicePrimaryCtxReset", 7000, "cuDevicePrimaryCtxReset", NULL},
	{"cuDevicePrimaryCtxReset", 11000, "cuDevicePrimaryCtxReset_v2", NULL},
	{"cuFuncSetAttribute", 9000, "cuFuncSetAttribute", NULL},
	{"cuFuncSetCacheConfig", 3000, "cuFuncSetCacheConfig", NULL},
	{"cuFuncSetSharedMemConfig", 4020, "cuFuncSetSharedMemConfig", NULL},
	{"cuGetProcAddress", 11030, "cuGetProcAddress", NULL},
	{"cuGetProcAddress", 12000, "cuGetProcAddress_v2", NULL},
	{"cuKernelGetFunction", 12000, "cuKernelGetFunction", NULL},
	{"cuKernelSetAttribute", 12000, "cuKernelSetAttribute", NULL},
	{"cuKernelSetCacheConfig", 12000, "cuKernelSetCacheConfig", NULL},
	{"cuLaunchKernel", 4000, "cuLaunchKernel", "cuLaunchKernel_ptsz"},
	{"cuLaunchKernelEx", 11060, "cuLaunchKernelEx", "cuLaunchKernelEx_ptsz"},
	{"cuLibraryEnumerateKernels", 12040, "cuLibraryEnumerateKernels", NULL},
	{"cuLibraryGetKernel", 12000, "cuLibraryGetKernel", NULL},
	{"cuLibraryGetKernelCount", 12040, "cuLibraryGetKernelCount", NULL},
	{"cuLibraryGetModule", 12000, "cuLibraryGetModule", NULL},
	{"cuLibraryLoadData", 12000, "cuLibraryLoadData", NULL},
	{"cuLibraryLoadFromFile", 12000, "cuLibraryLoadFromFile", NULL},
	{"cuLibraryUnload", 12000, "cuLibraryUnload", NULL},
	{"cuModuleEnumerateFunctions", 12040, "cuModuleEnumerateFunctions", NULL},
	{"cuModuleGetFunction", 2000, "cuModuleGetFunction", NULL},
	{"cuModuleGetFunctionCount", 12040, "cuModuleGetFunctionCount", NULL},
	{"cuModuleLoad", 2000, "cuModuleLoad", NULL},
	{"cuModuleLoadData", 2000, "cuModuleLoadData", NULL},
	{"cuModuleLoadDataEx", 2010, "cuModuleLoadDataEx", NULL},
	{"cuModuleLoadFatBinary", 2000, "cuModuleLoadFatBinary", NULL},
	{"cuModuleUnload", 2000, "cuModuleUnload", NULL},
	{"cuStreamDestroy", 2000, "cuStreamDestroy", NULL},
	{"cuStreamDestroy", 4000, "cuStreamDestroy_v2", NULL},
};

static void *ours_by_name(const char *name)
{
	size_t i;

	for (i = 0; i < cot_shim_n_entries; i++)
		if (cot_shim_entries[i].ours && !strcmp(cot_shim_entries[i].name, name))
			return cot_shim_entries[i].ours;
	return NULL;
}

static void *by_version(const char *symbol, int version, uint64_t flags)
{
	const struct named *best = NULL;
	const char *name;
	size_t i;

	if (version > KNOWN_VERSION)
		return NULL;
	for (i = 0; i < COT_ARRAY_LEN(named); i++)
		if (!strcmp(named[i].name, symbol) && named[i].since <= version)
			best = &named[i];
	if (!best)
		return NULL;
	name = flags & COT_CU_PROC_PER_THREAD && best->per_thread ? best->per_thread : best->plain;
	return ours_by_name(name);
}

/* What to answer instead of the driver's `found`. */
static void *ours(const char *symbol, void *found, int version, uint64_t flags)
{
	bool exported = false;
	void *better;
	size_t i;

	for (i = 0; i < cot_shim_n_entries; i++) {
		if (*cot_shim_entries[i].slot != found)
			continue;
		if (cot_shim_entries[i].ours)
			return cot_shim_entries[i].ours;
		exported = true;
	}
	better = exported ? NULL : by_version(symbol, version, flags);
	return better ? better : found;
}

int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
	int rc = COT_REAL(cuGetProcAddress)(symbol, function, version, flags);

	if (!rc && cot_shim_is_on() && symbol && function && *function)
		*function = ours(symbol, *function, version, flags);
	return rc;
}

int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
			int *status)
{
	int rc = COT_REAL(cuGetProcAddress_v2)(symbol, function, version, flags, status);

	if (!rc && cot_shim_is_on() && symbol && function && *function)
		*function = ours(symbol, *function, version, flags);
	return rc;
}
