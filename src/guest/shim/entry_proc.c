/*
 * cuGetProcAddress. Its answer is the driver's own pointer, except for the functions that the shim
 * has. The shim recognises those by their address, whatever name and version the program asked for;
 * so it never takes a new version of a function for the old one. If the driver answers with another
 * address than the exported one, the shim compares name and version, up to the CUDA version that
 * this was written for.
 */
#include <string.h>

#include "guest/shim/driver.h"
#include "guest/shim/entries.h"
#include "guest/shim/fork.h"

static void *ours_per_thread(const struct cot_shim_entry *plain)
{
	size_t n = strlen(plain->name), i;

	for (i = 0; i < cot_shim_n_entries; i++)
		if (cot_shim_entries[i].ours &&
		    !strncmp(cot_shim_entries[i].name, plain->name, n) &&
		    !strcmp(cot_shim_entries[i].name + n, "_ptsz"))
			return cot_shim_entries[i].ours;
	return plain->ours;
}

/* The same order of versions as in cuda.h: the last one that is not newer than asked for. */
static void *by_version(const char *symbol, int version, uint64_t flags)
{
	const struct cot_shim_entry *best = NULL, *e;

	if (version > COT_CUDA_VERSION)
		return NULL;
	/* The only name that stands for a function of another name since some version. */
	if (!strcmp(symbol, "cuGraphInstantiate") && version >= 12000)
		return (void *)(uintptr_t)cuGraphInstantiateWithFlags;
	for (e = cot_shim_entries; e < cot_shim_entries + cot_shim_n_entries; e++)
		if (e->ours && e->since && e->since <= version &&
		    (!best || e->since > best->since) && cot_cuda_is_version_of(e->name, symbol))
			best = e;
	if (!best)
		return NULL;
	return flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ? ours_per_thread(best)
								     : best->ours;
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

CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
	int rc = COT_REAL(cuGetProcAddress)(symbol, function, version, flags);

	if (!rc && cot_shim_is_on() && symbol && function && *function)
		*function = ours(symbol, *function, version, flags);
	return rc;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
			     int *status)
{
	int rc = COT_REAL(cuGetProcAddress_v2)(symbol, function, version, flags, status);

	if (!rc && cot_shim_is_on() && symbol && function && *function)
		*function = ours(symbol, *function, version, flags);
	return rc;
}
