/*
 * The entry points that take memory of the GPU and give it back: what a bound counts. No launch
 * waits to be merged when what it may use is given back.
 */
#include "guest/shim/backend.h"
#include "guest/shim/memory.h"
#include "guest/shim/merge.h"
#include "guest/shim/parts.h"

typedef struct cot_shim_memory_claim claim_t;

/* ---- addresses ---- */

/* An allocation in the current context; `made` is its name afterwards. */
#define ALLOCATE(kind, bytes, made, call)                                                 \
	do {                                                                              \
		claim_t claim_;                                                           \
		CUresult rc_;                                                             \
                                                                                          \
		if (!cot_shim_memory_is_bound())                                          \
			return call;                                                      \
		rc_ = cot_shim_memory_claim(-1, (bytes), &claim_);                        \
		if (rc_)                                                                  \
			return rc_;                                                       \
		rc_ = call;                                                               \
		cot_shim_memory_settle(&claim_, rc_, (kind), rc_ ? 0 : (uint64_t)(made)); \
		return rc_;                                                               \
	} while (0)

/* Where a backend has it as well, if there is one. */
static CUresult allocate(CUdeviceptr *ptr, size_t bytes)
{
	if (cot_shim_backend_is_asked() && cot_shim_backend_alloc(ptr, bytes))
		return CUDA_SUCCESS;
	return COT_REAL(cuMemAlloc_v2)(ptr, bytes);
}

CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
	ALLOCATE(COT_SHIM_MEMORY_ADDRESS, bytes, *ptr, allocate(ptr, bytes));
}

/* It counts as managed memory that is all on the GPU. */
CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned flags)
{
	ALLOCATE(COT_SHIM_MEMORY_ADDRESS, bytes, *ptr,
		 COT_REAL(cuMemAllocManaged)(ptr, bytes, flags));
}

/* As long as the driver makes rows on all GPUs. */
#define ROW 512u

static uint64_t times(uint64_t a, uint64_t b)
{
	return a && b > UINT64_MAX / a ? UINT64_MAX : a * b;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width, size_t height,
			    unsigned element)
{
	uint64_t row = width > UINT64_MAX - ROW ? UINT64_MAX : (width + ROW - 1) / ROW * ROW;

	ALLOCATE(COT_SHIM_MEMORY_ADDRESS, times(row, height), *ptr,
		 COT_REAL(cuMemAllocPitch_v2)(ptr, pitch, width, height, element));
}

CUresult cuMemFree_v2(CUdeviceptr ptr)
{
	CUresult rc;

	cot_shim_merge_flush();
	if (!cot_shim_backend_is_asked() || !cot_shim_backend_free(ptr, &rc))
		rc = COT_REAL(cuMemFree_v2)(ptr);
	if (!rc && cot_shim_memory_is_bound())
		cot_shim_memory_drop(COT_SHIM_MEMORY_ADDRESS, ptr);
	return rc;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	CUresult rc = COT_REAL(cuMemGetInfo_v2)(free_bytes, total_bytes);

	if (!rc && cot_shim_memory_is_bound())
		cot_shim_memory_info(free_bytes, total_bytes);
	return rc;
}

/* ---- pools ---- */

#define FROM_POOL(name, params, args, pool, per_thread)                                \
	CUresult name params                                                           \
	{                                                                              \
		claim_t claim = {.device = -1};                                        \
		struct cot_shim_turn turn;                                             \
		CUstream in;                                                           \
		CUresult rc = CUDA_SUCCESS;                                            \
                                                                                       \
		if (cot_shim_memory_is_bound())                                        \
			rc = cot_shim_memory_claim_pool(pool, bytes, &claim);          \
		if (rc)                                                                \
			return rc;                                                     \
		in = cot_shim_turn_begin(&turn, stream, per_thread);                   \
		rc = COT_REAL(name) args;                                              \
		cot_shim_turn_end(&turn);                                              \
		/* The pool's memory from here on, of which the driver knows. */       \
		cot_shim_memory_settle(&claim, CUDA_SUCCESS, COT_SHIM_MEMORY_POOL, 0); \
		return rc;                                                             \
	}

FROM_POOL(cuMemAllocAsync, (CUdeviceptr * ptr, size_t bytes, CUstream stream), (ptr, bytes, in),
	  NULL, false)
FROM_POOL(cuMemAllocAsync_ptsz, (CUdeviceptr * ptr, size_t bytes, CUstream stream),
	  (ptr, bytes, in), NULL, true)
FROM_POOL(cuMemAllocFromPoolAsync,
	  (CUdeviceptr * ptr, size_t bytes, CUmemoryPool pool, CUstream stream),
	  (ptr, bytes, pool, in), pool, false)
FROM_POOL(cuMemAllocFromPoolAsync_ptsz,
	  (CUdeviceptr * ptr, size_t bytes, CUmemoryPool pool, CUstream stream),
	  (ptr, bytes, pool, in), pool, true)

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
	CUresult rc = COT_REAL(cuMemPoolCreate)(pool, props);

	if (!rc && props->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
	    cot_shim_memory_is_bound())
		cot_shim_memory_pool(*pool, props->location.id);
	return rc;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	CUresult rc;

	cot_shim_merge_flush();
	rc = COT_REAL(cuMemPoolDestroy)(pool);
	if (!rc && cot_shim_memory_is_bound())
		cot_shim_memory_drop(COT_SHIM_MEMORY_POOL, (uintptr_t)pool);
	return rc;
}

/* ---- physical memory ---- */

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	claim_t claim;
	CUresult rc;

	if (!cot_shim_memory_is_bound() || !prop ||
	    prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return COT_REAL(cuMemCreate)(handle, bytes, prop, flags);
	rc = cot_shim_memory_claim(prop->location.id, bytes, &claim);
	if (rc)
		return rc;
	rc = COT_REAL(cuMemCreate)(handle, bytes, prop, flags);
	cot_shim_memory_settle(&claim, rc, COT_SHIM_MEMORY_HANDLE, rc ? 0 : *handle);
	return rc;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	CUresult rc;

	cot_shim_merge_flush();
	rc = COT_REAL(cuMemRelease)(handle);
	if (!rc && cot_shim_memory_is_bound())
		cot_shim_memory_drop(COT_SHIM_MEMORY_HANDLE, handle);
	return rc;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *at)
{
	CUresult rc = COT_REAL(cuMemRetainAllocationHandle)(handle, at);

	if (!rc && cot_shim_memory_is_bound())
		cot_shim_memory_hold(*handle);
	return rc;
}

CUresult cuMemMap(CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags)
{
	CUresult rc = COT_REAL(cuMemMap)(at, bytes, offset, handle, flags);

	if (!rc && cot_shim_memory_is_bound())
		cot_shim_memory_map(handle, at);
	return rc;
}

CUresult cuMemUnmap(CUdeviceptr at, size_t bytes)
{
	CUresult rc;

	cot_shim_merge_flush();
	rc = COT_REAL(cuMemUnmap)(at, bytes);
	if (!rc && cot_shim_memory_is_bound())
		cot_shim_memory_unmap(at, bytes);
	return rc;
}

/* ---- arrays ---- */

/* Of a channel; formats of blocks and of several planes as the largest. */
static uint64_t channel_bytes(int format)
{
	switch (format) {
	case 0x01: /* 8 bits, without and with a sign */
	case 0x08:
		return 1;
	case 0x02: /* 16 bits, and half */
	case 0x09:
	case 0x10:
		return 2;
	default:
		return 4;
	}
}

static uint64_t at_least_one(size_t n)
{
	return n ? n : 1;
}

static uint64_t array_bytes(size_t width, size_t height, size_t depth, int format,
			    unsigned channels)
{
	uint64_t elements = times(times(width, at_least_one(height)), at_least_one(depth));

	return times(elements, channel_bytes(format) * channels);
}

CUresult cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *d)
{
	ALLOCATE(COT_SHIM_MEMORY_ARRAY,
		 d ? array_bytes(d->Width, d->Height, 0, d->Format, d->NumChannels) : 0,
		 (uintptr_t)*array, COT_REAL(cuArrayCreate_v2)(array, d));
}

CUresult cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
	ALLOCATE(COT_SHIM_MEMORY_ARRAY,
		 d ? array_bytes(d->Width, d->Height, d->Depth, d->Format, d->NumChannels) : 0,
		 (uintptr_t)*array, COT_REAL(cuArray3DCreate_v2)(array, d));
}

CUresult cuArrayDestroy(CUarray array)
{
	CUresult rc;

	cot_shim_merge_flush();
	rc = COT_REAL(cuArrayDestroy)(array);
	if (!rc && cot_shim_memory_is_bound())
		cot_shim_memory_drop(COT_SHIM_MEMORY_ARRAY, (uintptr_t)array);
	return rc;
}

/* All levels together are a third more than the first at most, in two dimensions; in one, twice. */
static uint64_t levels_bytes(const CUDA_ARRAY3D_DESCRIPTOR *d, unsigned n_levels)
{
	size_t width = d->Width, height = d->Height;
	uint64_t sum = 0, level;

	while (n_levels-- && width) {
		level = array_bytes(width, height, d->Depth, d->Format, d->NumChannels);
		sum = level > UINT64_MAX - sum ? UINT64_MAX : sum + level;
		width /= 2;
		height /= 2;
	}
	return sum;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *d,
				unsigned n_levels)
{
	ALLOCATE(COT_SHIM_MEMORY_ARRAY, d ? levels_bytes(d, n_levels) : 0, (uintptr_t)*array,
		 COT_REAL(cuMipmappedArrayCreate)(array, d, n_levels));
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray array)
{
	CUresult rc;

	cot_shim_merge_flush();
	rc = COT_REAL(cuMipmappedArrayDestroy)(array);
	if (!rc && cot_shim_memory_is_bound())
		cot_shim_memory_drop(COT_SHIM_MEMORY_ARRAY, (uintptr_t)array);
	return rc;
}
