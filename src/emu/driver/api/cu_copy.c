/*
 * Transfers. A source in pageable memory is read when the call is made, and a copy into pageable
 * memory waits for its end, as with the real driver.
 */
#include "emu/driver/api/transfers.h"
#include "emu/driver/inside.h"
#include "emu/driver/range.h"

static bool is_pageable(uint64_t address)
{
	struct cot_emu_range r;

	return !cot_emu_range_find(address, &r);
}

static CUresult submit_async(CUstream stream, struct cot_emu_task *task)
{
	bool to_pageable = is_pageable((uintptr_t)task->copy.to);
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	struct cot_emu_context *c;
	CUresult result;

	result = cuStreamIsCapturing(stream, &status);
	if (!result && status == CU_STREAM_CAPTURE_STATUS_NONE &&
	    is_pageable((uintptr_t)task->copy.from))
		result = cot_emu_task_stage(task);
	if (result) {
		cot_emu_task_drop(task);
		return result;
	}
	result = cot_emu_stream_submit(stream, task);
	if (result || !to_pageable || status != CU_STREAM_CAPTURE_STATUS_NONE ||
	    cot_emu_current(&c) || atomic_load(&c->lazy))
		return result;
	return cuStreamSynchronize(stream);
}

static CUresult flat(CUstream stream, void *to, const void *from, size_t bytes,
		     enum cot_emu_side to_side, enum cot_emu_side from_side, bool wait)
{
	struct cot_emu_context *c;
	struct cot_emu_task task;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if (!bytes)
		return CUDA_SUCCESS;
	result = cot_emu_task_flat(to, from, bytes, to_side, from_side, &task);
	if (result)
		return result;
	return wait ? cot_emu_stream_submit_and_wait(stream, &task) : submit_async(stream, &task);
}

static void *host(CUdeviceptr ptr)
{
	return (void *)(uintptr_t)ptr;
}

/* ---- one dimension; the forms for per-thread streams are in cu_per_thread.c ---- */

CUresult cot_emu_copy_flat(CUstream stream, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return flat(stream, host(to), host(from), bytes, COT_EMU_ANYWHERE, COT_EMU_ANYWHERE, true);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	return flat(stream, host(to), from, bytes, COT_EMU_DEVICE, COT_EMU_ANYWHERE, false);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return flat(stream, to, host(from), bytes, COT_EMU_ANYWHERE, COT_EMU_DEVICE, false);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return flat(stream, host(to), host(from), bytes, COT_EMU_DEVICE, COT_EMU_DEVICE, false);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return flat(stream, host(to), host(from), bytes, COT_EMU_ANYWHERE, COT_EMU_ANYWHERE, false);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx,
			   size_t bytes, CUstream stream)
{
	(void)to_ctx; /* memory is memory of the process, whatever its context */
	(void)from_ctx;
	return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes)
{
	return flat(NULL, host(to), from, bytes, COT_EMU_DEVICE, COT_EMU_ANYWHERE, true);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
	return flat(NULL, to, host(from), bytes, COT_EMU_ANYWHERE, COT_EMU_DEVICE, true);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return flat(NULL, host(to), host(from), bytes, COT_EMU_DEVICE, COT_EMU_DEVICE, true);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return cot_emu_copy_flat(NULL, to, from, bytes);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx,
		      size_t bytes)
{
	(void)to_ctx;
	(void)from_ctx;
	return cuMemcpyDtoD_v2(to, from, bytes);
}

CUresult cot_emu_copy_solid(CUstream stream, const CUDA_MEMCPY3D *p, bool wait)
{
	struct cot_emu_context *c;
	struct cot_emu_task task;
	CUresult result = cot_emu_current(&c);

	if (result || !p)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	if (!p->WidthInBytes || !p->Height || !p->Depth)
		return CUDA_SUCCESS;
	result = cot_emu_task_copy(p, &task);
	if (result)
		return result;
	return wait ? cot_emu_stream_submit_and_wait(stream, &task) : submit_async(stream, &task);
}

CUDA_MEMCPY3D cot_emu_copy_of_plane(const CUDA_MEMCPY2D *p)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = p->srcXInBytes,
		.srcY = p->srcY,
		.srcMemoryType = p->srcMemoryType,
		.srcHost = p->srcHost,
		.srcDevice = p->srcDevice,
		.srcArray = p->srcArray,
		.srcPitch = p->srcPitch,
		.dstXInBytes = p->dstXInBytes,
		.dstY = p->dstY,
		.dstMemoryType = p->dstMemoryType,
		.dstHost = p->dstHost,
		.dstDevice = p->dstDevice,
		.dstArray = p->dstArray,
		.dstPitch = p->dstPitch,
		.WidthInBytes = p->WidthInBytes,
		.Height = p->Height,
		.Depth = 1,
	};
}

static CUresult plane(CUstream stream, const CUDA_MEMCPY2D *p, bool wait)
{
	CUDA_MEMCPY3D solid;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	solid = cot_emu_copy_of_plane(p);
	return cot_emu_copy_solid(stream, &solid, wait);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
	return plane(NULL, copy, true);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
	return plane(NULL, copy, true);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
	return plane(stream, copy, false);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
	return cot_emu_copy_solid(NULL, copy, true);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
	return cot_emu_copy_solid(stream, copy, false);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D *copy)
{
	return cot_emu_copy_solid(NULL, copy, true);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D *copy, CUstream stream)
{
	return cot_emu_copy_solid(stream, copy, false);
}
