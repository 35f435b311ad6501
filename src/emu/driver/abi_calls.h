/*
 * Calls of the CUDA driver interface beyond the basic ones in cuda_abi.h, which includes this
 * file: devices, contexts, memory, streams, events, modules and launches.
 */
#ifndef COT_EMU_DRIVER_ABI_CALLS_H
#define COT_EMU_DRIVER_ABI_CALLS_H

#include "emu/driver/abi_errors.h"
#include "emu/driver/abi_types.h"

#define COT_EMU_API __attribute__((visibility("default")))

/* ---- devices and contexts ---- */

COT_EMU_API CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice device);
COT_EMU_API CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *text);
COT_EMU_API CUresult cuDeviceGetP2PAttribute(int *value, int what, CUdevice from, CUdevice to);
COT_EMU_API CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer);
COT_EMU_API CUresult cuDeviceGetLuid(char *luid, unsigned *mask, CUdevice device);
COT_EMU_API CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device);
COT_EMU_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active);
COT_EMU_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags);
COT_EMU_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
COT_EMU_API CUresult cuCtxCreate_v4(CUcontext *ctx, void *params, unsigned flags, CUdevice device);
COT_EMU_API CUresult cuCtxGetFlags(unsigned *flags);
COT_EMU_API CUresult cuCtxGetId(CUcontext ctx, unsigned long long *id);
COT_EMU_API CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned *version);
COT_EMU_API CUresult cuCtxGetLimit(size_t *value, CUlimit limit);
COT_EMU_API CUresult cuCtxSetLimit(CUlimit limit, size_t value);
COT_EMU_API CUresult cuCtxGetCacheConfig(int *config);
COT_EMU_API CUresult cuCtxSetCacheConfig(int config);
COT_EMU_API CUresult cuCtxGetSharedMemConfig(int *config);
COT_EMU_API CUresult cuCtxSetSharedMemConfig(int config);
COT_EMU_API CUresult cuCtxResetPersistingL2Cache(void);
COT_EMU_API CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx);
COT_EMU_API CUresult cuCtxSynchronize_v2(CUcontext ctx);
COT_EMU_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);
COT_EMU_API CUresult cuCtxDisablePeerAccess(CUcontext peer);
COT_EMU_API CUresult cuProfilerStart(void);
COT_EMU_API CUresult cuProfilerStop(void);

/* ---- memory ---- */

COT_EMU_API CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width,
					size_t height, unsigned element);
COT_EMU_API CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned flags);
COT_EMU_API CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr);
COT_EMU_API CUresult cuMemHostAlloc(void **ptr, size_t bytes, unsigned flags);
COT_EMU_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *ptr, unsigned flags);
COT_EMU_API CUresult cuMemHostGetFlags(unsigned *flags, void *ptr);
COT_EMU_API CUresult cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned flags);
COT_EMU_API CUresult cuMemHostUnregister(void *ptr);
COT_EMU_API CUresult cuPointerGetAttribute(void *data, CUpointer_attribute what, CUdeviceptr ptr);
COT_EMU_API CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute *what, void **data,
					    CUdeviceptr ptr);
COT_EMU_API CUresult cuMemAdvise_v2(CUdeviceptr ptr, size_t bytes, int advice, CUmemLocation where);
COT_EMU_API CUresult cuMemAdvise(CUdeviceptr ptr, size_t bytes, int advice, CUdevice device);
COT_EMU_API CUresult cuMemPrefetchAsync_v2(CUdeviceptr ptr, size_t bytes, CUmemLocation where,
					   unsigned flags, CUstream stream);
COT_EMU_API CUresult cuMemPrefetchAsync(CUdeviceptr ptr, size_t bytes, CUdevice device,
					CUstream stream);
COT_EMU_API CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr ptr, size_t bytes,
					    unsigned flags);

COT_EMU_API CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream);
COT_EMU_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
					     CUstream stream);
COT_EMU_API CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream stream);
COT_EMU_API CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props);
COT_EMU_API CUresult cuMemPoolDestroy(CUmemoryPool pool);
COT_EMU_API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep);
COT_EMU_API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute what,
					   void *value);
COT_EMU_API CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute what,
					   void *value);
COT_EMU_API CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t n);
COT_EMU_API CUresult cuMemPoolGetAccess(int *flags, CUmemoryPool pool, CUmemLocation *location);
COT_EMU_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device);
COT_EMU_API CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device);
COT_EMU_API CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool);

/* ---- transfers ---- */

COT_EMU_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
COT_EMU_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
COT_EMU_API CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from,
				  CUcontext from_ctx, size_t bytes);
COT_EMU_API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from,
				       CUcontext from_ctx, size_t bytes, CUstream stream);
COT_EMU_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy);
COT_EMU_API CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy);
COT_EMU_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream);
COT_EMU_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy);
COT_EMU_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream);
COT_EMU_API CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D *copy);
COT_EMU_API CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D *copy, CUstream stream);
COT_EMU_API CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t n);
COT_EMU_API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t n,
				      CUstream stream);
COT_EMU_API CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value,
				     size_t width, size_t height);
COT_EMU_API CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value,
				       size_t width, size_t height, CUstream stream);
COT_EMU_API CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value,
				      size_t width, size_t height);
COT_EMU_API CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value,
					size_t width, size_t height, CUstream stream);
COT_EMU_API CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
				      size_t height);
COT_EMU_API CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width,
					size_t height, CUstream stream);

/* ---- streams and events ---- */

typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void *data);

COT_EMU_API CUresult cuStreamGetPriority(CUstream stream, int *priority);
COT_EMU_API CUresult cuStreamGetFlags(CUstream stream, unsigned *flags);
COT_EMU_API CUresult cuStreamGetId(CUstream stream, unsigned long long *id);
COT_EMU_API CUresult cuStreamGetCtx(CUstream stream, CUcontext *ctx);
COT_EMU_API CUresult cuStreamGetDevice(CUstream stream, CUdevice *device);
COT_EMU_API CUresult cuStreamCopyAttributes(CUstream to, CUstream from);
COT_EMU_API CUresult cuStreamGetAttribute(CUstream stream, int what, CUlaunchAttributeValue *value);
COT_EMU_API CUresult cuStreamSetAttribute(CUstream stream, int what,
					  const CUlaunchAttributeValue *value);
COT_EMU_API CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data,
					 unsigned flags);
COT_EMU_API CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data);
COT_EMU_API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags);
COT_EMU_API CUresult cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to);
COT_EMU_API CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
					     unsigned flags);
COT_EMU_API CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
					     unsigned flags);
COT_EMU_API CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
					    unsigned flags);
COT_EMU_API CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
					    unsigned flags);
COT_EMU_API CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned n,
					   CUstreamBatchMemOpParams *ops, unsigned flags);

/* ---- modules, libraries, functions ---- */

COT_EMU_API CUresult cuModuleLoad(CUmodule *module, const char *path);
COT_EMU_API CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n_options,
					int *options, void **values);
COT_EMU_API CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image);
COT_EMU_API CUresult cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes, CUmodule module,
					  const char *name);
COT_EMU_API CUresult cuModuleGetLoadingMode(int *mode);
COT_EMU_API CUresult cuModuleGetFunctionCount(unsigned *n, CUmodule module);
COT_EMU_API CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned n, CUmodule module);
COT_EMU_API CUresult cuLibraryLoadData(CUlibrary *library, const void *code, int *jit_options,
				       void **jit_values, unsigned n_jit, int *options,
				       void **values, unsigned n_options);
COT_EMU_API CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, int *jit_options,
					   void **jit_values, unsigned n_jit, int *options,
					   void **values, unsigned n_options);
COT_EMU_API CUresult cuLibraryUnload(CUlibrary library);
COT_EMU_API CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name);
COT_EMU_API CUresult cuLibraryGetKernelCount(unsigned *n, CUlibrary library);
COT_EMU_API CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned n, CUlibrary library);
COT_EMU_API CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library);
COT_EMU_API CUresult cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUlibrary library,
					const char *name);
COT_EMU_API CUresult cuLibraryGetManaged(CUdeviceptr *ptr, size_t *bytes, CUlibrary library,
					 const char *name);
COT_EMU_API CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel);
COT_EMU_API CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel);
COT_EMU_API CUresult cuKernelGetName(const char **name, CUkernel kernel);
COT_EMU_API CUresult cuKernelGetAttribute(int *value, CUfunction_attribute what, CUkernel kernel,
					  CUdevice device);
COT_EMU_API CUresult cuKernelSetAttribute(CUfunction_attribute what, int value, CUkernel kernel,
					  CUdevice device);
COT_EMU_API CUresult cuKernelSetCacheConfig(CUkernel kernel, int config, CUdevice device);
COT_EMU_API CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset,
					  size_t *size);
COT_EMU_API CUresult cuFuncGetAttribute(int *value, CUfunction_attribute what, CUfunction function);
COT_EMU_API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute what, int value);
COT_EMU_API CUresult cuFuncSetCacheConfig(CUfunction function, int config);
COT_EMU_API CUresult cuFuncSetSharedMemConfig(CUfunction function, int config);
COT_EMU_API CUresult cuFuncGetName(const char **name, CUfunction function);
COT_EMU_API CUresult cuFuncGetModule(CUmodule *module, CUfunction function);
COT_EMU_API CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset,
					size_t *size);
COT_EMU_API CUresult cuFuncIsLoaded(int *state, CUfunction function);
COT_EMU_API CUresult cuFuncLoad(CUfunction function);
COT_EMU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction function,
								 int block_size, size_t shared);
COT_EMU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *n, CUfunction function, int block_size, size_t shared, unsigned flags);
COT_EMU_API CUresult cuOccupancyMaxPotentialBlockSize(int *grid_size, int *block_size,
						      CUfunction function,
						      size_t (*shared_of)(int block_size),
						      size_t shared, int limit);
COT_EMU_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction function,
							     int n_blocks, int block_size);

COT_EMU_API CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
				      void **params, void **extra);
COT_EMU_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x,
					       unsigned grid_y, unsigned grid_z, unsigned block_x,
					       unsigned block_y, unsigned block_z,
					       unsigned shared_bytes, CUstream stream,
					       void **params);

#endif
