/*
 * The part of the CUDA driver interface that the emulated driver has: names, values and signatures
 * as programs compiled against NVIDIA's cuda.h use them, so that nothing but this library stands
 * between such a program and the emulated GPU. Test programs include this file instead of cuda.h.
 */
#ifndef COT_EMU_DRIVER_CUDA_ABI_H
#define COT_EMU_DRIVER_CUDA_ABI_H

#include "emu/driver/abi_calls.h"
#include "emu/driver/abi_errors.h"
#include "emu/driver/abi_graph.h"
#include "emu/driver/abi_types.h"

#define COT_EMU_DRIVER_VERSION 13000

typedef enum CUdevice_attribute_enum {
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
	CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
	CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED = 90,
	CU_DEVICE_ATTRIBUTE_MPS_ENABLED = 133
} CUdevice_attribute;

/* cuda.h gives these plain names to the second versions too. */
#define cuDeviceTotalMem	  cuDeviceTotalMem_v2
#define cuCtxCreate		  cuCtxCreate_v2
#define cuCtxDestroy		  cuCtxDestroy_v2
#define cuCtxPushCurrent	  cuCtxPushCurrent_v2
#define cuCtxPopCurrent		  cuCtxPopCurrent_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuMemGetInfo		  cuMemGetInfo_v2
#define cuMemAlloc		  cuMemAlloc_v2
#define cuMemFree		  cuMemFree_v2
#define cuMemAllocHost		  cuMemAllocHost_v2
#define cuMemcpyHtoD		  cuMemcpyHtoD_v2
#define cuMemcpyDtoH		  cuMemcpyDtoH_v2
#define cuMemcpyDtoD		  cuMemcpyDtoD_v2
#define cuMemcpyHtoDAsync	  cuMemcpyHtoDAsync_v2
#define cuMemcpyDtoHAsync	  cuMemcpyDtoHAsync_v2
#define cuMemcpyDtoDAsync	  cuMemcpyDtoDAsync_v2
#define cuMemsetD8		  cuMemsetD8_v2
#define cuMemsetD32		  cuMemsetD32_v2
#define cuStreamDestroy		  cuStreamDestroy_v2
#define cuEventDestroy		  cuEventDestroy_v2
#define cuMemHostGetDevicePointer cuMemHostGetDevicePointer_v2
#define cuModuleGetGlobal	  cuModuleGetGlobal_v2
#define cuStreamBeginCapture	  cuStreamBeginCapture_v2

COT_EMU_API CUresult cuInit(unsigned flags);
COT_EMU_API CUresult cuDriverGetVersion(int *version);
COT_EMU_API CUresult cuGetErrorName(CUresult error, const char **name);
COT_EMU_API CUresult cuGetErrorString(CUresult error, const char **text);
COT_EMU_API CUresult cuGetExportTable(const void **table, const CUuuid *id);
/* The four-argument form of CUDA 11; programs built with 12 and later use _v2. */
COT_EMU_API CUresult cuGetProcAddress(const char *symbol, void **function, int version,
				      uint64_t flags);
COT_EMU_API CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version,
					 uint64_t flags, int *status);

COT_EMU_API CUresult cuDeviceGet(CUdevice *device, int ordinal);
COT_EMU_API CUresult cuDeviceGetCount(int *count);
COT_EMU_API CUresult cuDeviceGetName(char *name, int size, CUdevice device);
COT_EMU_API CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device);
COT_EMU_API CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device);
COT_EMU_API CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
COT_EMU_API CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device);

COT_EMU_API CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device);
COT_EMU_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
COT_EMU_API CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice device);
COT_EMU_API CUresult cuCtxDestroy_v2(CUcontext ctx);
COT_EMU_API CUresult cuCtxPushCurrent_v2(CUcontext ctx);
COT_EMU_API CUresult cuCtxPopCurrent_v2(CUcontext *ctx);
COT_EMU_API CUresult cuCtxSetCurrent(CUcontext ctx);
COT_EMU_API CUresult cuCtxGetCurrent(CUcontext *ctx);
COT_EMU_API CUresult cuCtxGetDevice(CUdevice *device);
COT_EMU_API CUresult cuCtxSynchronize(void);
COT_EMU_API CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);

COT_EMU_API CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);
COT_EMU_API CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes);
COT_EMU_API CUresult cuMemFree_v2(CUdeviceptr ptr);
COT_EMU_API CUresult cuMemAllocHost_v2(void **ptr, size_t bytes);
COT_EMU_API CUresult cuMemFreeHost(void *ptr);
COT_EMU_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
COT_EMU_API CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
COT_EMU_API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes);
COT_EMU_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
					  CUstream stream);
COT_EMU_API CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
					  CUstream stream);
COT_EMU_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
					  CUstream stream);
COT_EMU_API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t n);
COT_EMU_API CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t n);
COT_EMU_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t n,
				     CUstream stream);
COT_EMU_API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t n, CUstream stream);

COT_EMU_API CUresult cuStreamCreate(CUstream *stream, unsigned flags);
COT_EMU_API CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority);
COT_EMU_API CUresult cuStreamDestroy_v2(CUstream stream);
COT_EMU_API CUresult cuStreamSynchronize(CUstream stream);
COT_EMU_API CUresult cuStreamQuery(CUstream stream);
COT_EMU_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);

COT_EMU_API CUresult cuEventCreate(CUevent *event, unsigned flags);
COT_EMU_API CUresult cuEventDestroy_v2(CUevent event);
COT_EMU_API CUresult cuEventRecord(CUevent event, CUstream stream);
COT_EMU_API CUresult cuEventQuery(CUevent event);
COT_EMU_API CUresult cuEventSynchronize(CUevent event);
COT_EMU_API CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to);

COT_EMU_API CUresult cuModuleLoadData(CUmodule *module, const void *image);
COT_EMU_API CUresult cuModuleUnload(CUmodule module);
COT_EMU_API CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
COT_EMU_API CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
				    unsigned grid_z, unsigned block_x, unsigned block_y,
				    unsigned block_z, unsigned shared_bytes, CUstream stream,
				    void **params, void **extra);

#endif
