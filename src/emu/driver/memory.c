/*
 * Device memory is memory of the process, at the same address; it is private to it, as on the real
 * GPU. So is memory that host and device share: there is nothing to move.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/driver/capture.h"
#include "emu/driver/driver.h"
#include "emu/driver/pool.h"
#include "emu/driver/range.h"

#define ALIGNMENT 512u
/* From here on an allocation has pages of its own, which cost nothing until they are touched. */
#define MAP_BYTES (1u << 20)

static _Atomic uint64_t used_bytes;

static void *map_bytes(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void free_range(const struct cot_emu_range *r)
{
	if (r->kind & (COT_EMU_RANGE_DEVICE | COT_EMU_RANGE_MANAGED))
		atomic_fetch_sub(&used_bytes, r->bytes);
	if (r->pool)
		cot_emu_pool_gave_back(r->pool, r->bytes);
	if (r->kind == COT_EMU_RANGE_REGISTERED)
		return;
	if (r->mapped)
		munmap((void *)(uintptr_t)r->start, r->mapped);
	else
		free((void *)(uintptr_t)r->start);
}

static bool take_device_memory(size_t bytes)
{
	uint64_t limit = cot_emu_device_memory();

	if (bytes <= limit && atomic_fetch_add(&used_bytes, bytes) + bytes <= limit)
		return true;
	if (bytes <= limit)
		atomic_fetch_sub(&used_bytes, bytes);
	return false;
}

/* Makes memory and enters it; r->kind, flags and pool are given. */
static CUresult make(struct cot_emu_context *c, size_t bytes, struct cot_emu_range *r)
{
	bool device = r->kind & (COT_EMU_RANGE_DEVICE | COT_EMU_RANGE_MANAGED);
	void *p = NULL;

	if (device && !take_device_memory(bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->mapped = bytes >= MAP_BYTES ? bytes : 0;
	if (r->mapped)
		p = map_bytes(bytes);
	else if (posix_memalign(&p, ALIGNMENT, bytes))
		p = NULL;
	r->start = (uintptr_t)p;
	r->bytes = bytes;
	r->context = c;
	r->device = c->device;
	if (p && !cot_emu_range_add(r))
		return CUDA_SUCCESS;
	if (p && r->mapped)
		munmap(p, r->mapped);
	else
		free(p);
	if (device)
		atomic_fetch_sub(&used_bytes, bytes);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

void cot_emu_memory_forget(struct cot_emu_context *c)
{
	struct cot_emu_range r;

	while (cot_emu_range_take(c, &r))
		free_range(&r);
}

CUresult cot_emu_free_now(CUdeviceptr ptr)
{
	struct cot_emu_range r;

	if (!cot_emu_range_remove(ptr, COT_EMU_RANGE_DEVICE | COT_EMU_RANGE_MANAGED, &r))
		return CUDA_ERROR_INVALID_VALUE;
	free_range(&r);
	return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if (free_bytes)
		*free_bytes = cot_emu_device_memory() - atomic_load(&used_bytes);
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
	result = make(c, bytes, &r);
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
	size_t row = (width + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	CUresult result;

	if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16) ||
	    row < width || height > SIZE_MAX / row)
		return CUDA_ERROR_INVALID_VALUE;
	result = cuMemAlloc_v2(ptr, row * height);
	if (!result)
		*pitch = row;
	return result;
}

CUresult cot_emu_pool_make(struct cot_emu_context *c, CUmemoryPool pool, size_t bytes,
			   CUdeviceptr *ret_ptr)
{
	struct cot_emu_range r = {.kind = COT_EMU_RANGE_DEVICE, .pool = pool};
	CUresult result = make(c, bytes, &r);

	if (!result)
		*ret_ptr = r.start;
	return result;
}

/* Waits for all work of the context first, as the real one does. */
CUresult cuMemFree_v2(CUdeviceptr ptr)
{
	CUresult result = cot_emu_capture_check_unsafe();

	if (!result)
		result = cuCtxSynchronize();
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
	free_range(&r);
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
