/* Memory of the device, of the host, and of both. */
#include <errno.h>

#include "emu/driver/capture.h"
#include "emu/driver/inside.h"
#include "emu/driver/memory.h"
#include "emu/driver/range.h"

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if (free_bytes)
		*free_bytes = cot_emu_device_memory() - cot_emu_memory_used();
	if (total_bytes)
		*total_bytes = cot_emu_device_memory();
	return CUDA_SUCCESS;
}

static CUresult allocate(CUdeviceptr *ptr, size_t bytes, enum cot_emu_range_kind kind,
			 unsigned flags)
{
	struct cot_emu_range r = {.kind = kind, .flags = flags};
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (!result)
		result = cot_emu_capture_check_unsafe();
	if (result)
		return result;
	if (!ptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	result = cot_emu_memory_make(c, bytes, &r);
	if (!result)
		*ptr = r.start;
	return result;
}

CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	return allocate(ptr, bytes, COT_EMU_RANGE_DEVICE, 0);
}

CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned flags)
{
	if (flags != 1 && flags != 2) /* attached to all streams, or to the host */
		return CUDA_ERROR_INVALID_VALUE;
	return allocate(ptr, bytes, COT_EMU_RANGE_MANAGED, flags);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
			    unsigned element)
{
	size_t row = (width + COT_EMU_ALIGNMENT - 1) / COT_EMU_ALIGNMENT * COT_EMU_ALIGNMENT;
	CUresult result;

	if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16) ||
	    row < width || height > SIZE_MAX / row)
		return CUDA_ERROR_INVALID_VALUE;
	result = cuMemAlloc_v2(ptr, row * height);
	if (!result)
		*pitch = row;
	return result;
}

/* Waits for all work of the context first, as the real one does. */
CUresult cuMemFree_v2(CUdeviceptr ptr)
{
	CUresult result = cot_emu_capture_check_unsafe();
	struct cot_emu_context *c;

	if (!result)
		result = cot_emu_current(&c);
	/* Also when a part of it is current. */
	if (!result)
		result = cot_emu_context_drain(c);
	if (result || !ptr)
		return result;
	return cot_emu_free_now(ptr);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr)
{
	struct cot_emu_range r;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!cot_emu_range_find(ptr, &r))
		return CUDA_ERROR_NOT_FOUND;
	if (base)
		*base = r.start;
	if (size)
		*size = r.bytes;
	return CUDA_SUCCESS;
}

/* ---- host memory ---- */

CUresult cuMemHostAlloc(void **ptr, size_t bytes, unsigned flags)
{
	CUdeviceptr p;
	CUresult result;

	if (!ptr || flags & ~7u) /* portable, mapped, write-combined */
		return CUDA_ERROR_INVALID_VALUE;
	result = allocate(&p, bytes, COT_EMU_RANGE_HOST, flags);
	if (!result)
		*ptr = (void *)(uintptr_t)p;
	return result;
}

CUresult cuMemAllocHost_v2(void **ptr, size_t bytes)
{
	return cuMemHostAlloc(ptr, bytes, 0);
}

CUresult cuMemFreeHost(void *ptr)
{
	CUresult result = cuCtxSynchronize();
	struct cot_emu_range r;

	if (result)
		return result;
	if (!cot_emu_range_remove((uintptr_t)ptr, COT_EMU_RANGE_HOST, &r))
		return CUDA_ERROR_INVALID_VALUE;
	cot_emu_memory_free(&r);
	return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned flags)
{
	struct cot_emu_range r = {.kind = COT_EMU_RANGE_REGISTERED, .flags = flags};
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if (!ptr || !bytes)
		return CUDA_ERROR_INVALID_VALUE;
	r.start = (uintptr_t)ptr;
	r.bytes = bytes;
	r.context = c;
	r.device = c->device;
	switch (-cot_emu_range_add(&r)) {
	case 0:
		return CUDA_SUCCESS;
	case EEXIST:
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	default:
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
}

CUresult cuMemHostUnregister(void *ptr)
{
	CUresult result = cuCtxSynchronize();
	struct cot_emu_range r;

	if (result)
		return result;
	return cot_emu_range_remove((uintptr_t)ptr, COT_EMU_RANGE_REGISTERED, &r)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

static bool find_host(const void *ptr, struct cot_emu_range *ret_range)
{
	return cot_emu_range_find((uintptr_t)ptr, ret_range) &&
	       ret_range->kind &
		       (COT_EMU_RANGE_HOST | COT_EMU_RANGE_REGISTERED | COT_EMU_RANGE_MANAGED);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *ptr, unsigned flags)
{
	struct cot_emu_range r;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!device || flags || !find_host(ptr, &r))
		return CUDA_ERROR_INVALID_VALUE;
	*device = (uintptr_t)ptr;
	return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned *flags, void *ptr)
{
	struct cot_emu_range r;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!flags || !find_host(ptr, &r))
		return CUDA_ERROR_INVALID_VALUE;
	*flags = r.flags | 2; /* everything is mapped */
	return CUDA_SUCCESS;
}

/* ---- hints about memory that both sides share: there is one copy only ---- */

static CUresult check_managed(CUdeviceptr ptr, size_t bytes)
{
	struct cot_emu_range r;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!bytes || !cot_emu_range_find(ptr, &r) || r.kind != COT_EMU_RANGE_MANAGED ||
	    bytes > r.bytes - (ptr - r.start))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult cuMemAdvise_v2(CUdeviceptr ptr, size_t bytes, int advice, CUmemLocation where)
{
	(void)advice;
	(void)where;
	return check_managed(ptr, bytes);
}

CUresult cuMemAdvise(CUdeviceptr ptr, size_t bytes, int advice, CUdevice device)
{
	(void)advice;
	(void)device;
	return check_managed(ptr, bytes);
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t bytes, CUmemLocation where, unsigned flags,
			       CUstream stream)
{
	struct cot_emu_task task = {.kind = COT_EMU_TASK_EMPTY};
	CUresult result = check_managed(ptr, bytes);

	(void)where;
	if (result || flags)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	return cot_emu_stream_submit(stream, &task);
}

CUresult cuMemPrefetchAsync(CUdeviceptr ptr, size_t bytes, CUdevice device, CUstream stream)
{
	return cuMemPrefetchAsync_v2(ptr, bytes, (CUmemLocation){1, device}, 0, stream);
}

CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t bytes, unsigned flags)
{
	struct cot_emu_task task = {.kind = COT_EMU_TASK_EMPTY};
	struct cot_emu_range r;

	(void)flags;
	if (!cot_emu_range_find(ptr, &r) || (bytes && bytes > r.bytes - (ptr - r.start)))
		return CUDA_ERROR_INVALID_VALUE;
	return cot_emu_stream_submit(stream, &task);
}
