/*
 * The entry points for programs whose default stream is one per thread: NULL means that one. For
 * most calls that is all; those that wait do so for the thread's stream alone.
 */
#include "emu/driver/per_thread.h"

#include "emu/driver/driver.h"

#define MINE(stream) ((stream) ? (stream) : CU_STREAM_PER_THREAD)

/* The stream is the last argument. */
#define LAST(name, params, ...)                         \
	CUresult name##_ptsz(params, CUstream stream)   \
	{                                               \
		return name(__VA_ARGS__, MINE(stream)); \
	}

/* The stream is the first argument. */
#define FIRST(name, params, ...)                        \
	CUresult name##_ptsz(CUstream stream, params)   \
	{                                               \
		return name(MINE(stream), __VA_ARGS__); \
	}

/* Several parameters as one argument of a macro. */
#define P(...) __VA_ARGS__

/* clang-format off */
LAST(cuMemcpyAsync, P(CUdeviceptr to, CUdeviceptr from, size_t bytes), to, from, bytes)
LAST(cuMemcpyPeerAsync, P(CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext
      from_ctx, size_t bytes), to, to_ctx, from, from_ctx, bytes)
LAST(cuMemcpyHtoDAsync_v2, P(CUdeviceptr to, const void *from, size_t bytes), to, from,
      bytes)
LAST(cuMemcpyDtoHAsync_v2, P(void *to, CUdeviceptr from, size_t bytes), to, from, bytes)
LAST(cuMemcpyDtoDAsync_v2, P(CUdeviceptr to, CUdeviceptr from, size_t bytes), to, from,
      bytes)
LAST(cuMemcpy2DAsync_v2, P(const CUDA_MEMCPY2D *copy), copy)
LAST(cuMemcpy3DAsync_v2, P(const CUDA_MEMCPY3D *copy), copy)
LAST(cuMemcpy3DPeerAsync, P(const CUDA_MEMCPY3D *copy), copy)
LAST(cuMemsetD8Async, P(CUdeviceptr to, unsigned char value, size_t n), to, value, n)
LAST(cuMemsetD16Async, P(CUdeviceptr to, unsigned short value, size_t n), to, value, n)
LAST(cuMemsetD32Async, P(CUdeviceptr to, unsigned value, size_t n), to, value, n)
LAST(cuMemsetD2D8Async, P(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
      size_t height), to, pitch, value, width, height)
LAST(cuMemsetD2D16Async, P(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
      size_t height), to, pitch, value, width, height)
LAST(cuMemsetD2D32Async, P(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
      size_t height), to, pitch, value, width, height)
LAST(cuMemPrefetchAsync, P(CUdeviceptr ptr, size_t bytes, CUdevice device), ptr, bytes,
      device)
LAST(cuMemPrefetchAsync_v2, P(CUdeviceptr ptr, size_t bytes, CUmemLocation where, unsigned
      flags), ptr, bytes, where, flags)
LAST(cuMemAllocAsync, P(CUdeviceptr *ptr, size_t bytes), ptr, bytes)
LAST(cuMemAllocFromPoolAsync, P(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool), ptr,
      bytes, pool)
LAST(cuMemFreeAsync, P(CUdeviceptr ptr), ptr)
LAST(cuEventRecord, P(CUevent event), event)
LAST(cuGraphUpload, P(CUgraphExec exec), exec)
LAST(cuGraphLaunch, P(CUgraphExec exec), exec)

FIRST(cuStreamGetPriority, P(int *priority), priority)
FIRST(cuStreamGetFlags, P(unsigned *flags), flags)
FIRST(cuStreamGetId, P(unsigned long long *id), id)
FIRST(cuStreamGetCtx, P(CUcontext *ctx), ctx)
FIRST(cuStreamGetDevice, P(CUdevice *device), device)
FIRST(cuStreamWaitEvent, P(CUevent event, unsigned flags), event, flags)
FIRST(cuStreamAddCallback, P(CUstreamCallback callback, void *data, unsigned flags),
      callback, data, flags)
FIRST(cuStreamBeginCapture_v2, P(CUstreamCaptureMode mode), mode)
FIRST(cuStreamEndCapture, P(CUgraph *graph), graph)
FIRST(cuStreamIsCapturing, P(CUstreamCaptureStatus *status), status)
FIRST(cuStreamGetCaptureInfo_v2, P(CUstreamCaptureStatus *status, uint64_t *id, CUgraph
      *graph, const CUgraphNode **dependencies, size_t *n), status, id, graph, dependencies,
      n)
FIRST(cuStreamGetCaptureInfo_v3, P(CUstreamCaptureStatus *status, uint64_t *id, CUgraph
      *graph, const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *n),
      status, id, graph, dependencies, edges, n)
FIRST(cuStreamUpdateCaptureDependencies, P(CUgraphNode *dependencies, size_t n, unsigned
      flags), dependencies, n, flags)
FIRST(cuStreamUpdateCaptureDependencies_v2, P(CUgraphNode *dependencies, const
      CUgraphEdgeData *edges, size_t n, unsigned flags), dependencies, edges, n, flags)
FIRST(cuStreamAttachMemAsync, P(CUdeviceptr ptr, size_t bytes, unsigned flags), ptr, bytes,
      flags)
FIRST(cuStreamWaitValue32_v2, P(CUdeviceptr address, uint32_t value, unsigned flags),
      address, value, flags)
FIRST(cuStreamWaitValue64_v2, P(CUdeviceptr address, uint64_t value, unsigned flags),
      address, value, flags)
FIRST(cuStreamWriteValue32_v2, P(CUdeviceptr address, uint32_t value, unsigned flags),
      address, value, flags)
FIRST(cuStreamWriteValue64_v2, P(CUdeviceptr address, uint64_t value, unsigned flags),
      address, value, flags)
FIRST(cuStreamBatchMemOp_v2, P(unsigned n, CUstreamBatchMemOpParams *ops, unsigned flags),
      n, ops, flags)
FIRST(cuStreamGetAttribute, P(int what, CUlaunchAttributeValue *value), what, value)
FIRST(cuStreamSetAttribute, P(int what, const CUlaunchAttributeValue *value), what, value)
FIRST(cuLaunchHostFunc, P(CUhostFn function, void *data), function, data)
/* clang-format on */

CUresult cuStreamQuery_ptsz(CUstream stream)
{
	return cuStreamQuery(MINE(stream));
}

CUresult cuStreamSynchronize_ptsz(CUstream stream)
{
	return cuStreamSynchronize(MINE(stream));
}

CUresult cuStreamCopyAttributes_ptsz(CUstream to, CUstream from)
{
	return cuStreamCopyAttributes(MINE(to), MINE(from));
}

CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned flags)
{
	return cuEventRecordWithFlags(event, MINE(stream), flags);
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *exec, CUgraph graph,
					   CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	return cuGraphInstantiateWithParams(exec, graph, params);
}

/* ---- launches ---- */

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **params,
			       void **extra)
{
	CUlaunchConfig mine;

	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	mine = *config;
	mine.hStream = MINE(config->hStream);
	return cuLaunchKernelEx(&mine, function, params, extra);
}

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			     unsigned block_x, unsigned block_y, unsigned block_z,
			     unsigned shared_bytes, CUstream stream, void **params, void **extra)
{
	return cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
			      shared_bytes, MINE(stream), params, extra);
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y,
					unsigned grid_z, unsigned block_x, unsigned block_y,
					unsigned block_z, unsigned shared_bytes, CUstream stream,
					void **params)
{
	return cuLaunchCooperativeKernel(function, grid_x, grid_y, grid_z, block_x, block_y,
					 block_z, shared_bytes, MINE(stream), params);
}

/* ---- transfers that wait ---- */

static CUdeviceptr device(const void *ptr)
{
	return (uintptr_t)ptr;
}

CUresult cuMemcpy_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return cot_emu_copy_flat(CU_STREAM_PER_THREAD, to, from, bytes);
}

CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr to, const void *from, size_t bytes)
{
	return cot_emu_copy_flat(CU_STREAM_PER_THREAD, to, device(from), bytes);
}

CUresult cuMemcpyDtoH_v2_ptds(void *to, CUdeviceptr from, size_t bytes)
{
	return cot_emu_copy_flat(CU_STREAM_PER_THREAD, device(to), from, bytes);
}

CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return cot_emu_copy_flat(CU_STREAM_PER_THREAD, to, from, bytes);
}

CUresult cuMemcpyPeer_ptds(CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx,
			   size_t bytes)
{
	(void)to_ctx;
	(void)from_ctx;
	return cot_emu_copy_flat(CU_STREAM_PER_THREAD, to, from, bytes);
}

CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *copy)
{
	CUDA_MEMCPY3D solid;

	if (!copy)
		return CUDA_ERROR_INVALID_VALUE;
	solid = cot_emu_copy_of_plane(copy);
	return cot_emu_copy_solid(CU_STREAM_PER_THREAD, &solid, true);
}

CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *copy)
{
	return cuMemcpy2D_v2_ptds(copy);
}

CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *copy)
{
	return cot_emu_copy_solid(CU_STREAM_PER_THREAD, copy, true);
}

CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D *copy)
{
	return cot_emu_copy_solid(CU_STREAM_PER_THREAD, copy, true);
}

static CUresult fill(CUdeviceptr to, size_t pitch, unsigned value, unsigned element, size_t width,
		     size_t height)
{
	CUDA_MEMSET_NODE_PARAMS p = {.dst = to,
				     .pitch = pitch,
				     .value = value,
				     .elementSize = element,
				     .width = width,
				     .height = height};

	return cot_emu_fill(CU_STREAM_PER_THREAD, &p, true);
}

CUresult cuMemsetD8_v2_ptds(CUdeviceptr to, unsigned char value, size_t n)
{
	return fill(to, 0, value, 1, n, 1);
}

CUresult cuMemsetD16_v2_ptds(CUdeviceptr to, unsigned short value, size_t n)
{
	return fill(to, 0, value, 2, n, 1);
}

CUresult cuMemsetD32_v2_ptds(CUdeviceptr to, unsigned value, size_t n)
{
	return fill(to, 0, value, 4, n, 1);
}

CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
			      size_t height)
{
	return fill(to, pitch, value, 1, width, height);
}

CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr to, size_t pitch, unsigned short value, size_t width,
			       size_t height)
{
	return fill(to, pitch, value, 2, width, height);
}

CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
			       size_t height)
{
	return fill(to, pitch, value, 4, width, height);
}
