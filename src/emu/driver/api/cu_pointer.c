/* What the driver knows about an address. */
#include <string.h>

#include "emu/driver/inside.h"
#include "emu/driver/range.h"

static CUmemorytype type_of(const struct cot_emu_range *r)
{
	return r->kind & (COT_EMU_RANGE_HOST | COT_EMU_RANGE_REGISTERED) ? CU_MEMORYTYPE_HOST
									 : CU_MEMORYTYPE_DEVICE;
}

/* The size of an attribute's value; 0 for one that does not exist. */
static size_t size_of(CUpointer_attribute what)
{
	switch (what) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		return 8;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return 4;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		return 1;
	}
	return 0;
}

static uint64_t value_of(CUpointer_attribute what, CUdeviceptr ptr, const struct cot_emu_range *r)
{
	bool device = type_of(r) == CU_MEMORYTYPE_DEVICE;

	switch (what) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		return (uintptr_t)r->context;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		return type_of(r);
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		return ptr;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		return !device || r->kind == COT_EMU_RANGE_MANAGED ? ptr : 0;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		return r->id;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		return r->kind == COT_EMU_RANGE_MANAGED;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		return (uint64_t)r->device;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		return r->start;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		return r->bytes;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		return 1;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return 3;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		return (uintptr_t)r->pool;
	default:
		return 0;
	}
}

static void store(void *data, uint64_t value, size_t size)
{
	uint32_t word = (uint32_t)value;
	uint8_t byte = (uint8_t)value;

	if (size == 8)
		memcpy(data, &value, 8);
	else if (size == 4)
		memcpy(data, &word, 4);
	else
		memcpy(data, &byte, 1);
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute what, CUdeviceptr ptr)
{
	CUresult result = cot_emu_ready();
	struct cot_emu_range r;
	size_t size = size_of(what);

	if (result)
		return result;
	if (!data || !size || !cot_emu_range_find(ptr, &r))
		return CUDA_ERROR_INVALID_VALUE;
	if (what == CU_POINTER_ATTRIBUTE_HOST_POINTER && !value_of(what, ptr, &r))
		return CUDA_ERROR_INVALID_VALUE;
	store(data, value_of(what, ptr, &r), size);
	return CUDA_SUCCESS;
}

/* Of an unknown address everything is zero, and the device is -2. */
CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute *what, void **data, CUdeviceptr ptr)
{
	CUresult result = cot_emu_ready();
	struct cot_emu_range r;
	bool known;
	uint64_t value;
	unsigned i;

	if (result)
		return result;
	if (n && (!what || !data))
		return CUDA_ERROR_INVALID_VALUE;
	known = cot_emu_range_find(ptr, &r);
	for (i = 0; i < n; i++) {
		value = what[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ? (uint64_t)-2 : 0;
		if (!size_of(what[i]))
			return CUDA_ERROR_INVALID_VALUE;
		store(data[i], known ? value_of(what[i], ptr, &r) : value, size_of(what[i]));
	}
	return CUDA_SUCCESS;
}
