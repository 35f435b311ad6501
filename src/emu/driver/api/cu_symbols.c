/* cuGetProcAddress: names and the versions of CUDA since which they mean what they mean. */
#include <string.h>

#include "emu/driver/inside.h"

typedef void (*entry_point)(void);

static const struct symbol {
	const char *name; /* as exported */
	int since;
	entry_point plain;
	entry_point per_thread; /* NULL: the same */
} symbols[] = {
#define SYMBOL(name, since, plain, per_thread)                               \
	{                                                                    \
		name, since, (entry_point)(plain), (entry_point)(per_thread) \
	}
#define ROW_EMU(name, since, per_thread) SYMBOL(#name, since, name, per_thread),
#define ROW_NONE(name, since, per_thread)
#define ROW_REFUSED(name, since, per_thread)
#define ENTRY(name, since, shim, emulated, params) ROW_##emulated(name, since, NULL)
#define ENTRY_PER_THREAD(name, suffix, since, shim, emulated, params) \
	ROW_##emulated(name, since, name##suffix)
#include "cuda/abi/api.def"
#undef ROW_EMU
#undef ROW_NONE
#undef ROW_REFUSED
	/* Versions that do not exist here, and whose place another takes. */
	SYMBOL("cuCtxDestroy", 2000, cuCtxDestroy_v2, NULL),
	SYMBOL("cuDevicePrimaryCtxRelease", 7000, cuDevicePrimaryCtxRelease_v2, NULL),
	SYMBOL("cuDevicePrimaryCtxReset", 7000, cuDevicePrimaryCtxReset_v2, NULL),
	SYMBOL("cuDevicePrimaryCtxSetFlags", 7000, cuDevicePrimaryCtxSetFlags_v2, NULL),
	SYMBOL("cuGraphInstantiate", 12000, cuGraphInstantiateWithFlags, NULL),
	SYMBOL("cuStreamBatchMemOp", 8000, cuStreamBatchMemOp_v2, cuStreamBatchMemOp_v2_ptsz),
	SYMBOL("cuStreamWaitValue32", 8000, cuStreamWaitValue32_v2, cuStreamWaitValue32_v2_ptsz),
	SYMBOL("cuStreamWaitValue64", 9000, cuStreamWaitValue64_v2, cuStreamWaitValue64_v2_ptsz),
	SYMBOL("cuStreamWriteValue32", 8000, cuStreamWriteValue32_v2, cuStreamWriteValue32_v2_ptsz),
	SYMBOL("cuStreamWriteValue64", 9000, cuStreamWriteValue64_v2, cuStreamWriteValue64_v2_ptsz),
};

/*
 * What the CUDA runtime also asks for, and what does not exist here: textures, memory of other
 * processes and of graphics, linking, and some of graphs. A program that calls one of these gets
 * "not supported", as from a GPU that cannot do it.
 */
static const char *const unsupported[] = {
#define REFUSE(name) #name,
#define NAME_EMU(name)
#define NAME_NONE(name)
#define NAME_REFUSED(name)			   #name,
#define ENTRY(name, since, shim, emulated, params) NAME_##emulated(name)
#include "cuda/abi/api.def"
#undef NAME_EMU
#undef NAME_NONE
#undef NAME_REFUSED
};

static CUresult refuse(void)
{
	cot_emu_note("the program has called something that does not exist here");
	return CUDA_ERROR_NOT_SUPPORTED;
}

static bool is_unsupported(const char *name)
{
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(unsupported); i++)
		if (!strcmp(unsupported[i], name))
			return true;
	return false;
}

static const struct symbol *find(const char *name, int version, int *ret_status)
{
	const struct symbol *best = NULL;
	size_t i;

	*ret_status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	for (i = 0; i < COT_ARRAY_LEN(symbols); i++) {
		if (!cot_cuda_is_version_of(symbols[i].name, name))
			continue;
		if (symbols[i].since > version) {
			if (!best)
				*ret_status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
		} else if (!best || symbols[i].since > best->since) {
			best = &symbols[i];
			*ret_status = CU_GET_PROC_ADDRESS_SUCCESS;
		}
	}
	return best;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
			     int *status)
{
	entry_point refusal = (entry_point)refuse;
	const struct symbol *best;
	int found;

	if (!symbol || !function)
		return CUDA_ERROR_INVALID_VALUE;
	best = find(symbol, version, &found);
	*function = NULL;
	if (status)
		*status = found;
	if (!best && is_unsupported(symbol)) {
		memcpy(function, &refusal, sizeof(*function));
		if (status)
			*status = CU_GET_PROC_ADDRESS_SUCCESS;
		return CUDA_SUCCESS;
	}
	if (!best) {
		if (*symbol)
			cot_emu_note("the driver has no %s of CUDA %d.%d", symbol, version / 1000,
				     version % 1000 / 10);
		return CUDA_ERROR_NOT_FOUND;
	}
	memcpy(function,
	       flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && best->per_thread
		       ? &best->per_thread
		       : &best->plain,
	       sizeof(*function));
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
	return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}
