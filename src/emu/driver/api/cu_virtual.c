/* Memory at addresses that the program chooses, also memory of another process. */
#include "emu/driver/inside.h"
#include "emu/driver/virtual.h"

#define HANDLE_FD 1 /* CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR */
#define PINNED	  1 /* CU_MEM_ALLOCATION_TYPE_PINNED */

/* Of device 0: memory of all emulated GPUs of a process is the same. */
static bool is_possible(const CUmemAllocationProp *prop)
{
	return prop && prop->type == PINNED && !(prop->requestedHandleTypes & ~HANDLE_FD) &&
	       prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *prop, int option)
{
	CUresult result = cot_emu_ready();

	if (!result && (!bytes || !is_possible(prop) || option < 0 || option > 1))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		*bytes = COT_EMU_GRANULARITY;
	return result;
}

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t bytes, size_t alignment, CUdeviceptr at,
			     unsigned long long flags)
{
	CUresult result = cot_emu_ready();
	uint64_t got;

	if (!result && (!ptr || flags || alignment > COT_EMU_GRANULARITY))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		result = cot_emu_virtual_reserve(at, bytes, &got);
	if (!result)
		*ptr = got;
	return result;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t bytes)
{
	CUresult result = cot_emu_ready();

	return result ? result : cot_emu_virtual_unreserve(ptr, bytes);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
		     const CUmemAllocationProp *prop, unsigned long long flags)
{
	CUresult result = cot_emu_ready();

	if (!result && (!handle || flags || !is_possible(prop)))
		result = CUDA_ERROR_INVALID_VALUE;
	return result ? result : cot_emu_virtual_create(bytes, handle);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	CUresult result = cot_emu_ready();

	return result ? result : cot_emu_virtual_release(handle);
}

CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle,
				      int type, unsigned long long flags)
{
	CUresult result = cot_emu_ready();

	if (!result && (!shareable || type != HANDLE_FD || flags))
		result = CUDA_ERROR_INVALID_VALUE;
	return result ? result : cot_emu_virtual_export(handle, shareable);
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable,
					int type)
{
	CUresult result = cot_emu_ready();

	if (!result && (!handle || type != HANDLE_FD))
		result = CUDA_ERROR_INVALID_VALUE;
	return result ? result : cot_emu_virtual_import((int)(intptr_t)shareable, handle);
}

CUresult cuMemMap(CUdeviceptr ptr, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
		  unsigned long long flags)
{
	CUresult result = cot_emu_ready();

	if (!result && (offset || flags))
		result = CUDA_ERROR_INVALID_VALUE;
	return result ? result : cot_emu_virtual_map(ptr, bytes, handle);
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t bytes, const CUmemAccessDesc *access, size_t n)
{
	CUresult result = cot_emu_ready();

	if (!result && (!access || n != 1 || access->flags != 3 ||
			access->location.type != CU_MEM_LOCATION_TYPE_DEVICE))
		result = CUDA_ERROR_INVALID_VALUE;
	return result ? result : cot_emu_virtual_open(ptr, bytes, access->location.id);
}

/* As with the real one, it is the program that sees to it that nothing uses it any longer. */
CUresult cuMemUnmap(CUdeviceptr ptr, size_t bytes)
{
	CUresult result = cot_emu_ready();

	return result ? result : cot_emu_virtual_unmap(ptr, bytes);
}
