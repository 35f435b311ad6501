/*
 * A driver that does nothing: what stands behind the shim in bench_shim and bench_merge, so that
 * only the shim's own time is seen.
 */
#include <time.h>

#include "cuda/abi/calls.h"

CUresult cuInit(unsigned flags)
{
	return flags != 0;
}

CUresult cuStreamQuery(CUstream stream)
{
	return stream == NULL;
}

CUresult cuStreamSynchronize(CUstream stream)
{
	return stream == NULL;
}

/* When a launch came here, in ns; 0 until bench_shim asks for it by writing 1. */
__attribute__((visibility("default"))) double cot_stub_launched_ns;

/* For bench_merge. */
__attribute__((visibility("default"))) unsigned long cot_stub_n_launches;

static void note_launch(void)
{
	struct timespec t;

	if (cot_stub_launched_ns <= 0.0)
		return;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	cot_stub_launched_ns = (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			unsigned by, unsigned bz, unsigned shared_bytes, CUstream stream,
			void **params, void **extra)
{
	note_launch();
	cot_stub_n_launches++;
	return !function || !(gx + gy + gz + bx + by + bz + shared_bytes) || !stream ||
	       (!params && extra);
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
	__typeof__(cuLaunchKernel) *found = cuLaunchKernel;

	if (version < 4000 || flags || strcmp(symbol, "cuLaunchKernel") != 0)
		return CUDA_ERROR_NOT_FOUND;
	memcpy(function, &found, sizeof(found));
	return CUDA_SUCCESS;
}

/* ---- what parts need: one GPU of 132 SMs, whose green contexts are nothing but handles ---- */

static char context, green, shadow, event;

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
	*ctx = (CUcontext)(void *)&context;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
	return ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
	*device = 0;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
	*flags = 0;
	*active = device == 0;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device)
{
	(void)device;
	return cuCtxGetCurrent(ctx);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	(void)device;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device)
{
	(void)what;
	(void)device;
	*value = 132;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
	(void)device;
	*resource = (CUdevResource){.type = type, .sm = {.smCount = 132}};
	return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *parts, unsigned *n, const CUdevResource *whole,
				     CUdevResource *rest, unsigned flags, unsigned least)
{
	unsigned i;

	(void)flags;
	*n = whole->sm.smCount / least;
	for (i = 0; i < *n; i++) {
		parts[i] = *whole;
		parts[i].sm.smCount = least;
	}
	*rest = *whole;
	rest->sm.smCount = whole->sm.smCount % least;
	return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *desc, CUdevResource *resources, unsigned n)
{
	*desc = (CUdevResourceDesc)(void *)resources;
	return n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGreenCtxCreate(CUgreenCtx *ctx, CUdevResourceDesc desc, CUdevice device, unsigned flags)
{
	(void)desc;
	(void)device;
	(void)flags;
	*ctx = (CUgreenCtx)(void *)&green;
	return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx ctx)
{
	(void)ctx;
	return CUDA_SUCCESS;
}

CUresult cuCtxFromGreenCtx(CUcontext *ctx, CUgreenCtx from)
{
	*ctx = (CUcontext)(void *)from;
	return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx ctx, unsigned flags, int priority)
{
	(void)ctx;
	(void)flags;
	(void)priority;
	*stream = (CUstream)(void *)&shadow;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *ctx)
{
	(void)stream;
	return cuCtxGetCurrent(ctx);
}

CUresult cuStreamGetFlags(CUstream stream, unsigned *flags)
{
	(void)stream;
	*flags = CU_STREAM_NON_BLOCKING;
	return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *ret_event, unsigned flags)
{
	(void)flags;
	*ret_event = (CUevent)(void *)&event;
	return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent of, CUstream stream)
{
	return of && stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuEventQuery(CUevent of)
{
	return of ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent of, unsigned flags)
{
	return of && stream && !flags ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- what merging needs: a module whose functions are nothing but names ---- */

#define FUNCTIONS 64u

static char names[FUNCTIONS][128], module;

CUresult cuDriverGetVersion(int *version)
{
	*version = 12040;
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *ret, const void *image)
{
	*ret = (CUmodule)(void *)&module;
	return image ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuModuleLoadDataEx(CUmodule *ret, const void *image, unsigned n, int *options,
			    void **values)
{
	(void)options;
	(void)values;
	return n <= 8 ? cuModuleLoadData(ret, image) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuModuleGetFunction(CUfunction *ret, CUmodule of, const char *name)
{
	unsigned i = 0;

	while (i < FUNCTIONS && names[i][0] && strcmp(names[i], name) != 0)
		i++;
	if (!of || i == FUNCTIONS || strlen(name) >= sizeof(names[i]))
		return CUDA_ERROR_NOT_FOUND;
	memcpy(names[i], name, strlen(name) + 1);
	*ret = (CUfunction)(void *)names[i];
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction function, int threads,
						     size_t shared_bytes)
{
	*n = 8;
	return function && threads && !shared_bytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
	*priority = 0;
	return stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
