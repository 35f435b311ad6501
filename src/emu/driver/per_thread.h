/* The entry points for programs whose default stream is one per thread; see per_thread.c. */
#ifndef COT_EMU_DRIVER_PER_THREAD_H
#define COT_EMU_DRIVER_PER_THREAD_H

#include "emu/driver/cuda_abi.h"

COT_EMU_API CUresult cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes,
					CUstream stream);
COT_EMU_API CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from,
					    CUcontext from_ctx, size_t bytes, CUstream stream);
COT_EMU_API CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr to, const void *from, size_t bytes,
					       CUstream stream);
COT_EMU_API CUresult cuMemcpyDtoHAsync_v2_ptsz(void *to, CUdeviceptr from, size_t bytes,
					       CUstream stream);
COT_EMU_API CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes,
					       CUstream stream);
COT_EMU_API CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D *copy, CUstream stream);
COT_EMU_API CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D *copy, CUstream stream);
COT_EMU_API CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D *copy, CUstream stream);
COT_EMU_API CUresult cuMemsetD8Async_ptsz(CUdeviceptr to, unsigned char value, size_t n,
					  CUstream stream);
COT_EMU_API CUresult cuMemsetD16Async_ptsz(CUdeviceptr to, unsigned short value, size_t n,
					   CUstream stream);
COT_EMU_API CUresult cuMemsetD32Async_ptsz(CUdeviceptr to, unsigned value, size_t n,
					   CUstream stream);
COT_EMU_API CUresult cuMemsetD2D8Async_ptsz(CUdeviceptr to, size_t pitch, unsigned char value,
					    size_t width, size_t height, CUstream stream);
COT_EMU_API CUresult cuMemsetD2D16Async_ptsz(CUdeviceptr to, size_t pitch, unsigned short value,
					     size_t width, size_t height, CUstream stream);
COT_EMU_API CUresult cuMemsetD2D32Async_ptsz(CUdeviceptr to, size_t pitch, unsigned value,
					     size_t width, size_t height, CUstream stream);
COT_EMU_API CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr ptr, size_t bytes, CUdevice device,
					     CUstream stream);
COT_EMU_API CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr ptr, size_t bytes, CUmemLocation where,
						unsigned flags, CUstream stream);
COT_EMU_API CUresult cuMemAllocAsync_ptsz(CUdeviceptr *ptr, size_t bytes, CUstream stream);
COT_EMU_API CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *ptr, size_t bytes, CUmemoryPool pool,
						  CUstream stream);
COT_EMU_API CUresult cuMemFreeAsync_ptsz(CUdeviceptr ptr, CUstream stream);
COT_EMU_API CUresult cuEventRecord_ptsz(CUevent event, CUstream stream);
COT_EMU_API CUresult cuGraphUpload_ptsz(CUgraphExec exec, CUstream stream);
COT_EMU_API CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream);
COT_EMU_API CUresult cuStreamGetPriority_ptsz(CUstream stream, int *priority);
COT_EMU_API CUresult cuStreamGetFlags_ptsz(CUstream stream, unsigned *flags);
COT_EMU_API CUresult cuStreamGetId_ptsz(CUstream stream, unsigned long long *id);
COT_EMU_API CUresult cuStreamGetCtx_ptsz(CUstream stream, CUcontext *ctx);
COT_EMU_API CUresult cuStreamGetDevice_ptsz(CUstream stream, CUdevice *device);
COT_EMU_API CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned flags);
COT_EMU_API CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback,
					      void *data, unsigned flags);
COT_EMU_API CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode);
COT_EMU_API CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph);
COT_EMU_API CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus *status);
COT_EMU_API CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream stream, CUstreamCaptureStatus *status,
						    uint64_t *id, CUgraph *graph,
						    const CUgraphNode **dependencies, size_t *n);
COT_EMU_API CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream stream, CUstreamCaptureStatus *status,
						    uint64_t *id, CUgraph *graph,
						    const CUgraphNode **dependencies,
						    const CUgraphEdgeData **edges, size_t *n);
COT_EMU_API CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream stream,
							    CUgraphNode *dependencies, size_t n,
							    unsigned flags);
COT_EMU_API CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream stream,
							       CUgraphNode *dependencies,
							       const CUgraphEdgeData *edges,
							       size_t n, unsigned flags);
COT_EMU_API CUresult cuStreamAttachMemAsync_ptsz(CUstream stream, CUdeviceptr ptr, size_t bytes,
						 unsigned flags);
COT_EMU_API CUresult cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr address,
						 uint32_t value, unsigned flags);
COT_EMU_API CUresult cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr address,
						 uint64_t value, unsigned flags);
COT_EMU_API CUresult cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr address,
						  uint32_t value, unsigned flags);
COT_EMU_API CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr address,
						  uint64_t value, unsigned flags);
COT_EMU_API CUresult cuStreamBatchMemOp_v2_ptsz(CUstream stream, unsigned n,
						CUstreamBatchMemOpParams *ops, unsigned flags);
COT_EMU_API CUresult cuStreamGetAttribute_ptsz(CUstream stream, int what,
					       CUlaunchAttributeValue *value);
COT_EMU_API CUresult cuStreamSetAttribute_ptsz(CUstream stream, int what,
					       const CUlaunchAttributeValue *value);
COT_EMU_API CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void *data);
COT_EMU_API CUresult cuStreamQuery_ptsz(CUstream stream);
COT_EMU_API CUresult cuStreamSynchronize_ptsz(CUstream stream);
COT_EMU_API CUresult cuStreamCopyAttributes_ptsz(CUstream to, CUstream from);
COT_EMU_API CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned flags);
COT_EMU_API CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *exec, CUgraph graph,
						       CUDA_GRAPH_INSTANTIATE_PARAMS *params);
COT_EMU_API CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function,
					   void **params, void **extra);
COT_EMU_API CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y,
					 unsigned grid_z, unsigned block_x, unsigned block_y,
					 unsigned block_z, unsigned shared_bytes, CUstream stream,
					 void **params, void **extra);
COT_EMU_API CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned grid_x,
						    unsigned grid_y, unsigned grid_z,
						    unsigned block_x, unsigned block_y,
						    unsigned block_z, unsigned shared_bytes,
						    CUstream stream, void **params);
COT_EMU_API CUresult cuMemcpy_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes);
COT_EMU_API CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr to, const void *from, size_t bytes);
COT_EMU_API CUresult cuMemcpyDtoH_v2_ptds(void *to, CUdeviceptr from, size_t bytes);
COT_EMU_API CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr to, CUdeviceptr from, size_t bytes);
COT_EMU_API CUresult cuMemcpyPeer_ptds(CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from,
				       CUcontext from_ctx, size_t bytes);
COT_EMU_API CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *copy);
COT_EMU_API CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *copy);
COT_EMU_API CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *copy);
COT_EMU_API CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D *copy);
COT_EMU_API CUresult cuMemsetD8_v2_ptds(CUdeviceptr to, unsigned char value, size_t n);
COT_EMU_API CUresult cuMemsetD16_v2_ptds(CUdeviceptr to, unsigned short value, size_t n);
COT_EMU_API CUresult cuMemsetD32_v2_ptds(CUdeviceptr to, unsigned value, size_t n);
COT_EMU_API CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr to, size_t pitch, unsigned char value,
					  size_t width, size_t height);
COT_EMU_API CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr to, size_t pitch, unsigned short value,
					   size_t width, size_t height);
COT_EMU_API CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr to, size_t pitch, unsigned value,
					   size_t width, size_t height);

#endif
