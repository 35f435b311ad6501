/*
 * The part of the CUDA driver interface that the emulated driver has: names, values and signatures
 * as programs compiled against NVIDIA's cuda.h use them, so that nothing but this library stands
 * between such a program and the emulated GPU. Test programs include this file instead of cuda.h.
 */
#ifndef COT_EMU_DRIVER_CUDA_ABI_H
#define COT_EMU_DRIVER_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

#define COT_EMU_API __attribute__((visibility("default")))

#define COT_EMU_DRIVER_VERSION 13000

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;

typedef struct CUuuid_st {
	unsigned char bytes[16];
} CUuuid;

typedef enum cudaError_enum {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
	CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE = 708,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_NOT_SUPPORTED = 801,
	CUDA_ERROR_SYSTEM_NOT_READY = 802,
	CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
	CUDA_ERROR_MPS_CONNECTION_FAILED = 805,
	CUDA_ERROR_MPS_RPC_FAILURE = 806,
	CUDA_ERROR_MPS_SERVER_NOT_READY = 807,
	CUDA_ERROR_MPS_MAX_CLIENTS_REACHED = 808,
	CUDA_ERROR_UNKNOWN = 999
} CUresult;

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

#define CU_STREAM_NON_BLOCKING	1u
#define CU_EVENT_DISABLE_TIMING 2u

#define CU_LAUNCH_PARAM_END	       ((void *)0x00)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)
#define CU_LAUNCH_PARAM_BUFFER_SIZE    ((void *)0x02)

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
