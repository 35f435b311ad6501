/*
 * A driver that does nothing: what stands behind the shim in bench_shim, so that only the shim's
 * own time is seen.
 */
#include "cuda/abi/calls.h"

CUresult cuInit(unsigned flags)
{
	return flags != 0;
}

CUresult cuStreamQuery(CUstream stream)
{
	return stream == NULL;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream,
			void **params, void **extra)
{
	return !function + (int)(gx + gy + gz + bx + by + bz + shared_bytes) + !stream + !params +
	       (extra != NULL);
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
	__typeof__(cuLaunchKernel) *found = cuLaunchKernel;

	if (version < 4000 || flags || strcmp(symbol, "cuLaunchKernel") != 0)
		return CUDA_ERROR_NOT_FOUND;
	memcpy(function, &found, sizeof(found));
	return CUDA_SUCCESS;
}
