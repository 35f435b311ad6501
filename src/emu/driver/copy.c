/*
 * Transfers. They take no GPU time. A source in pageable memory is read when the call is made, and
 * a copy into pageable memory waits for its end, as with the real driver.
 */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/driver.h"
#include "emu/driver/range.h"

/* Where the end of a copy must lie. */
enum side { ANYWHERE, DEVICE };

/* Does the end of the copy lie where it may? A range that it begins in has to hold it all. */
static bool side_valid(uint64_t address, size_t bytes, enum side side)
{
	struct cot_emu_range r;

	if (!cot_emu_range_find(address, &r))
		return side == ANYWHERE;
	return bytes <= r.bytes - (address - r.start);
}

static bool is_pageable(uint64_t address)
{
	struct cot_emu_range r;

	return !cot_emu_range_find(address, &r);
}

static CUresult make_flat(void *to, const void *from, size_t bytes, enum side to_side,
			  enum side from_side, struct cot_emu_task *ret_task)
{
	if (!to || !from || !side_valid((uintptr_t)to, bytes, to_side) ||
	    !side_valid((uintptr_t)from, bytes, from_side))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_task = (struct cot_emu_task){
		.kind = COT_EMU_TASK_COPY,
		.copy = {.to = to, .from = from, .width = bytes, .height = 1, .depth = 1},
	};
	return CUDA_SUCCESS;
}

/* Takes the source's bytes now. */
static CUresult stage(struct cot_emu_task *task)
{
	struct cot_emu_copy *c = &task->copy;
	size_t bytes = c->width * c->height * c->depth, y, z;
	unsigned char *to;

	to = malloc(bytes ? bytes : 1);
	if (!to)
		return CUDA_ERROR_OUT_OF_MEMORY;
	task->owned = to;
	task->owned_bytes = bytes;
	for (z = 0; z < c->depth; z++)
		for (y = 0; y < c->height; y++, to += c->width)
			memcpy(to, c->from + z * c->from_layer + y * c->from_pitch, c->width);
	c->from = task->owned;
	c->from_pitch = c->width;
	c->from_layer = c->width * c->height;
	return CUDA_SUCCESS;
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
		result = stage(task);
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

static CUresult flat(CUstream stream, void *to, const void *from, size_t bytes, enum side to_side,
		     enum side from_side, bool wait)
{
	struct cot_emu_context *c;
	struct cot_emu_task task;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if (!bytes)
		return CUDA_SUCCESS;
	result = make_flat(to, from, bytes, to_side, from_side, &task);
	if (result)
		return result;
	return wait ? cot_emu_stream_submit_and_wait(stream, &task) : submit_async(stream, &task);
}

static void *host(CUdeviceptr ptr)
{
	return (void *)(uintptr_t)ptr;
}

/* ---- one dimension; the forms for per-thread streams are in per_thread.c ---- */

CUresult cot_emu_copy_flat(CUstream stream, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return flat(stream, host(to), host(from), bytes, ANYWHERE, ANYWHERE, true);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	return flat(stream, host(to), from, bytes, DEVICE, ANYWHERE, false);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return flat(stream, to, host(from), bytes, ANYWHERE, DEVICE, false);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return flat(stream, host(to), host(from), bytes, DEVICE, DEVICE, false);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	return flat(stream, host(to), host(from), bytes, ANYWHERE, ANYWHERE, false);
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
	return flat(NULL, host(to), from, bytes, DEVICE, ANYWHERE, true);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes)
{
	return flat(NULL, to, host(from), bytes, ANYWHERE, DEVICE, true);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	return flat(NULL, host(to), host(from), bytes, DEVICE, DEVICE, true);
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

/* ---- two and three dimensions ---- */

struct end {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	size_t x, y, z, pitch, height;
};

/* The address of the copy's first byte, and how far it is to the next row and layer. */
static CUresult place(const struct end *e, const CUDA_MEMCPY3D *p, uintptr_t *ret_at,
		      size_t *ret_pitch, size_t *ret_layer)
{
	size_t pitch = e->pitch ? e->pitch : p->WidthInBytes;
	size_t height = e->height ? e->height : p->Height, layer, last;
	uintptr_t base;

	if (e->type == CU_MEMORYTYPE_ARRAY)
		return CUDA_ERROR_NOT_SUPPORTED;
	base = e->type == CU_MEMORYTYPE_HOST ? (uintptr_t)e->host : (uintptr_t)e->device;
	if (!base || pitch < p->WidthInBytes + e->x)
		return CUDA_ERROR_INVALID_VALUE;
	layer = pitch * height;
	*ret_at = base + e->z * layer + e->y * pitch + e->x;
	*ret_pitch = pitch;
	*ret_layer = layer;
	last = (p->Depth - 1) * layer + (p->Height - 1) * pitch + p->WidthInBytes;
	return side_valid(*ret_at, last, e->type == CU_MEMORYTYPE_DEVICE ? DEVICE : ANYWHERE)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

CUresult cot_emu_task_copy(const CUDA_MEMCPY3D *p, struct cot_emu_task *ret_task)
{
	struct end to = {p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes,
			 p->dstY,	   p->dstZ,    p->dstPitch,  p->dstHeight};
	struct end from = {p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes,
			   p->srcY,	     p->srcZ,	 p->srcPitch,  p->srcHeight};
	struct cot_emu_task t = {.kind = COT_EMU_TASK_COPY};
	struct cot_emu_copy *c = &t.copy;
	uintptr_t to_at, from_at;
	CUresult result;

	if (!p->WidthInBytes || !p->Height || !p->Depth)
		return CUDA_ERROR_INVALID_VALUE;
	result = place(&to, p, &to_at, &c->to_pitch, &c->to_layer);
	if (!result)
		result = place(&from, p, &from_at, &c->from_pitch, &c->from_layer);
	if (result)
		return result;
	c->to = (unsigned char *)to_at;
	c->from = (const unsigned char *)from_at;
	c->width = p->WidthInBytes;
	c->height = p->Height;
	c->depth = p->Depth;
	t.given = malloc(sizeof(*t.given));
	if (!t.given)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*t.given = *p;
	*ret_task = t;
	return CUDA_SUCCESS;
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
