/*
 * For programs that are written as if with NVIDIA's cuda.h, as those in tests/ are: the calls, and
 * the names without a version.
 */
#ifndef COT_CUDA_ABI_CUDA_H
#define COT_CUDA_ABI_CUDA_H

#include "cuda/abi/calls.h"

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

#endif
