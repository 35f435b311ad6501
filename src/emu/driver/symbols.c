/* cuGetProcAddress: names and the versions of CUDA since which they mean what they mean. */
#include <string.h>

#include "emu/driver/driver.h"

#define CU_GET_PROC_ADDRESS_SUCCESS		   0
#define CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND	   1
#define CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT 2

static const struct symbol {
	const char *name;
	int since;
	void (*function)(void);
} symbols[] = {
#define F(name, since, function)                        \
	{                                               \
		name, since, (void (*)(void))(function) \
	}
	F("cuInit", 2000, cuInit),
	F("cuDriverGetVersion", 2020, cuDriverGetVersion),
	F("cuGetErrorName", 6000, cuGetErrorName),
	F("cuGetErrorString", 6000, cuGetErrorString),
	F("cuGetExportTable", 3000, cuGetExportTable),
	F("cuGetProcAddress", 11030, cuGetProcAddress),
	F("cuGetProcAddress", 12000, cuGetProcAddress_v2),
	F("cuDeviceGet", 2000, cuDeviceGet),
	F("cuDeviceGetCount", 2000, cuDeviceGetCount),
	F("cuDeviceGetName", 2000, cuDeviceGetName),
	F("cuDeviceGetUuid", 9020, cuDeviceGetUuid),
	F("cuDeviceGetUuid", 11040, cuDeviceGetUuid_v2),
	F("cuDeviceTotalMem", 3020, cuDeviceTotalMem_v2),
	F("cuDeviceGetAttribute", 2000, cuDeviceGetAttribute),
	F("cuDevicePrimaryCtxRetain", 7000, cuDevicePrimaryCtxRetain),
	F("cuDevicePrimaryCtxRelease", 11000, cuDevicePrimaryCtxRelease_v2),
	F("cuCtxCreate", 3020, cuCtxCreate_v2),
	F("cuCtxDestroy", 4000, cuCtxDestroy_v2),
	F("cuCtxPushCurrent", 4000, cuCtxPushCurrent_v2),
	F("cuCtxPopCurrent", 4000, cuCtxPopCurrent_v2),
	F("cuCtxSetCurrent", 4000, cuCtxSetCurrent),
	F("cuCtxGetCurrent", 4000, cuCtxGetCurrent),
	F("cuCtxGetDevice", 2000, cuCtxGetDevice),
	F("cuCtxSynchronize", 2000, cuCtxSynchronize),
	F("cuCtxGetStreamPriorityRange", 5050, cuCtxGetStreamPriorityRange),
	F("cuMemGetInfo", 3020, cuMemGetInfo_v2),
	F("cuMemAlloc", 3020, cuMemAlloc_v2),
	F("cuMemFree", 3020, cuMemFree_v2),
	F("cuMemAllocHost", 3020, cuMemAllocHost_v2),
	F("cuMemFreeHost", 2000, cuMemFreeHost),
	F("cuMemcpyHtoD", 3020, cuMemcpyHtoD_v2),
	F("cuMemcpyDtoH", 3020, cuMemcpyDtoH_v2),
	F("cuMemcpyDtoD", 3020, cuMemcpyDtoD_v2),
	F("cuMemcpyHtoDAsync", 3020, cuMemcpyHtoDAsync_v2),
	F("cuMemcpyDtoHAsync", 3020, cuMemcpyDtoHAsync_v2),
	F("cuMemcpyDtoDAsync", 3020, cuMemcpyDtoDAsync_v2),
	F("cuMemsetD8", 3020, cuMemsetD8_v2),
	F("cuMemsetD32", 3020, cuMemsetD32_v2),
	F("cuMemsetD8Async", 3020, cuMemsetD8Async),
	F("cuMemsetD32Async", 3020, cuMemsetD32Async),
	F("cuStreamCreate", 2000, cuStreamCreate),
	F("cuStreamCreateWithPriority", 5050, cuStreamCreateWithPriority),
	F("cuStreamDestroy", 4000, cuStreamDestroy_v2),
	F("cuStreamSynchronize", 2000, cuStreamSynchronize),
	F("cuStreamQuery", 2000, cuStreamQuery),
	F("cuStreamWaitEvent", 3020, cuStreamWaitEvent),
	F("cuEventCreate", 2000, cuEventCreate),
	F("cuEventDestroy", 4000, cuEventDestroy_v2),
	F("cuEventRecord", 2000, cuEventRecord),
	F("cuEventQuery", 2000, cuEventQuery),
	F("cuEventSynchronize", 2000, cuEventSynchronize),
	F("cuEventElapsedTime", 2000, cuEventElapsedTime),
	F("cuModuleLoadData", 2000, cuModuleLoadData),
	F("cuModuleUnload", 2000, cuModuleUnload),
	F("cuModuleGetFunction", 2000, cuModuleGetFunction),
	F("cuLaunchKernel", 4000, cuLaunchKernel),
#undef F
};

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
			     int *status)
{
	int found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	const struct symbol *best = NULL;
	size_t i;

	(void)flags; /* per-thread default streams have the same entry points here */
	if (!symbol || !function)
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; i < COT_ARRAY_LEN(symbols); i++) {
		if (strcmp(symbols[i].name, symbol))
			continue;
		if (symbols[i].since > version) {
			if (!best)
				found = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
		} else if (!best || symbols[i].since > best->since) {
			best = &symbols[i];
			found = CU_GET_PROC_ADDRESS_SUCCESS;
		}
	}
	*function = NULL;
	if (best)
		memcpy(function, &best->function, sizeof(*function));
	if (status)
		*status = found;
	return best ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
	return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}
