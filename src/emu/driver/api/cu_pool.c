/* Pools, and allocations in stream order. */
#include <stdlib.h>

#include "emu/driver/inside.h"
#include "emu/driver/memory.h"
#include "emu/driver/pool.h"
#include "emu/driver/range.h"

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
	return cot_emu_pool_of_device(device, false, pool);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
	return cot_emu_pool_of_device(device, true, pool);
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
	CUmemoryPool any;
	CUresult result = cot_emu_pool_of_device(device, false, &any);

	if (result || !pool)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	cot_emu_pool_choose(device, pool);
	return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	CUresult result = cot_emu_ready();
	CUmemoryPool p;

	if (result)
		return result;
	if (!pool || !props || props->allocType != 1)
		return CUDA_ERROR_INVALID_VALUE;
	/* Handles for other processes, and memory of the host. */
	if (props->handleTypes || props->location.type != 1)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (cot_emu_visible(props->location.id) < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	p = calloc(1, sizeof(*p));
	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->device = props->location.id;
	p->n_refs = 1;
	*pool = p;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!pool || cot_emu_pool_is_default(pool))
		return CUDA_ERROR_INVALID_VALUE;
	cot_emu_pool_destroy(pool);
	return CUDA_SUCCESS;
}

/* Nothing is kept. */
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	(void)keep;
	return pool ? cot_emu_ready() : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute what, void *value)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!pool || !value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (what) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		atomic_store(&pool->reuse[what], *(int *)value ? 0 : 1);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		atomic_store(&pool->threshold, *(uint64_t *)value);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		atomic_store(&pool->used_high, atomic_load(&pool->used));
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute what, void *value)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!pool || !value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (what) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value = !atomic_load(&pool->reuse[what]);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(uint64_t *)value = atomic_load(&pool->threshold);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*(uint64_t *)value = atomic_load(&pool->used);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*(uint64_t *)value = atomic_load(&pool->used_high);
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t n)
{
	CUresult result = cot_emu_ready();
	size_t i;

	if (result)
		return result;
	if (!pool || (n && !map))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < n; i++)
		if (map[i].location.type != 1 || map[i].location.id != pool->device)
			return CUDA_ERROR_NOT_SUPPORTED;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(int *flags, CUmemoryPool pool, CUmemLocation *location)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!flags || !pool || !location)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = location->type == 1 && location->id == pool->device ? 3 : 0;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool, CUstream stream)
{
	CUstreamCaptureStatus status;
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result)
		return result;
	if (!ptr || !bytes || !pool)
		return CUDA_ERROR_INVALID_VALUE;
	result = cuStreamIsCapturing(stream, &status);
	if (result)
		return result;
	/* A graph would own the memory, and give it a life of its own. */
	if (status != CU_STREAM_CAPTURE_STATUS_NONE)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	result = cot_emu_pool_make(s->context, pool, bytes, ptr);
	if (!result)
		cot_emu_pool_took(pool, bytes);
	return result;
}

CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
	struct CUstream_st *s;
	CUmemoryPool pool;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (!result)
		result = cuDeviceGetMemPool(&pool, s->context->device);
	return result ? result : cuMemAllocFromPoolAsync(ptr, bytes, pool, stream);
}

CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
	struct cot_emu_task task = {.kind = COT_EMU_TASK_FREE, .free = ptr};
	CUstreamCaptureStatus status;
	struct cot_emu_range r;
	CUresult result = cuStreamIsCapturing(stream, &status);

	if (result || !ptr)
		return result;
	if (status != CU_STREAM_CAPTURE_STATUS_NONE)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!cot_emu_range_find(ptr, &r) || r.start != ptr || r.kind != COT_EMU_RANGE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	return cot_emu_stream_submit(stream, &task);
}
