/* cuGetProcAddress: names and the versions of CUDA since which they mean what they mean. */
#include <string.h>

#include "emu/driver/driver.h"
#include "emu/driver/per_thread.h"

#define CU_GET_PROC_ADDRESS_SUCCESS		   0
#define CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND	   1
#define CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT 2

/* Asks for the entry points of programs whose default stream is one per thread. */
#define PER_THREAD 2u

static const struct symbol {
	const char *name;
	int since;
	void (*function)(void);
	void (*per_thread)(void); /* NULL: the same */
} symbols[] = {
#define F(name, since, function)                              \
	{                                                     \
		name, since, (void (*)(void))(function), NULL \
	}
#define P(name, since, function, per_thread)                                          \
	{                                                                             \
		name, since, (void (*)(void))(function), (void (*)(void))(per_thread) \
	}
	/* clang-format off */
	F("cuCtxCreate", 3020, cuCtxCreate_v2),
	F("cuCtxCreate", 12050, cuCtxCreate_v4),
	F("cuCtxDestroy", 2000, cuCtxDestroy_v2),
	F("cuCtxDisablePeerAccess", 4000, cuCtxDisablePeerAccess),
	F("cuCtxEnablePeerAccess", 4000, cuCtxEnablePeerAccess),
	F("cuCtxGetApiVersion", 3020, cuCtxGetApiVersion),
	F("cuCtxGetCacheConfig", 3020, cuCtxGetCacheConfig),
	F("cuCtxGetCurrent", 4000, cuCtxGetCurrent),
	F("cuCtxGetDevice", 2000, cuCtxGetDevice),
	F("cuCtxGetDevice", 13000, cuCtxGetDevice_v2),
	F("cuCtxGetFlags", 7000, cuCtxGetFlags),
	F("cuCtxGetId", 12000, cuCtxGetId),
	F("cuCtxGetLimit", 3010, cuCtxGetLimit),
	F("cuCtxGetSharedMemConfig", 4020, cuCtxGetSharedMemConfig),
	F("cuCtxGetStreamPriorityRange", 5050, cuCtxGetStreamPriorityRange),
	F("cuCtxPopCurrent", 4000, cuCtxPopCurrent_v2),
	F("cuCtxPushCurrent", 4000, cuCtxPushCurrent_v2),
	F("cuCtxResetPersistingL2Cache", 11000, cuCtxResetPersistingL2Cache),
	F("cuCtxSetCacheConfig", 3020, cuCtxSetCacheConfig),
	F("cuCtxSetCurrent", 4000, cuCtxSetCurrent),
	F("cuCtxSetLimit", 3010, cuCtxSetLimit),
	F("cuCtxSetSharedMemConfig", 4020, cuCtxSetSharedMemConfig),
	F("cuCtxSynchronize", 2000, cuCtxSynchronize),
	F("cuCtxSynchronize", 13000, cuCtxSynchronize_v2),
	F("cuDeviceCanAccessPeer", 4000, cuDeviceCanAccessPeer),
	F("cuDeviceComputeCapability", 2000, cuDeviceComputeCapability),
	F("cuDeviceGet", 2000, cuDeviceGet),
	F("cuDeviceGetAttribute", 2000, cuDeviceGetAttribute),
	F("cuDeviceGetByPCIBusId", 4010, cuDeviceGetByPCIBusId),
	F("cuDeviceGetCount", 2000, cuDeviceGetCount),
	F("cuDeviceGetDefaultMemPool", 11020, cuDeviceGetDefaultMemPool),
	F("cuDeviceGetLuid", 10000, cuDeviceGetLuid),
	F("cuDeviceGetMemPool", 11020, cuDeviceGetMemPool),
	F("cuDeviceGetName", 2000, cuDeviceGetName),
	F("cuDeviceGetP2PAttribute", 8000, cuDeviceGetP2PAttribute),
	F("cuDeviceGetPCIBusId", 4010, cuDeviceGetPCIBusId),
	F("cuDeviceGetUuid", 9020, cuDeviceGetUuid),
	F("cuDeviceGetUuid", 11040, cuDeviceGetUuid_v2),
	F("cuDevicePrimaryCtxGetState", 7000, cuDevicePrimaryCtxGetState),
	F("cuDevicePrimaryCtxRelease", 7000, cuDevicePrimaryCtxRelease_v2),
	F("cuDevicePrimaryCtxReset", 7000, cuDevicePrimaryCtxReset_v2),
	F("cuDevicePrimaryCtxRetain", 7000, cuDevicePrimaryCtxRetain),
	F("cuDevicePrimaryCtxSetFlags", 7000, cuDevicePrimaryCtxSetFlags_v2),
	F("cuDeviceSetMemPool", 11020, cuDeviceSetMemPool),
	F("cuDeviceTotalMem", 3020, cuDeviceTotalMem_v2),
	F("cuDriverGetVersion", 2020, cuDriverGetVersion),
	F("cuEventCreate", 2000, cuEventCreate),
	F("cuEventDestroy", 4000, cuEventDestroy_v2),
	F("cuEventElapsedTime", 2000, cuEventElapsedTime),
	F("cuEventElapsedTime", 12080, cuEventElapsedTime_v2),
	F("cuEventQuery", 2000, cuEventQuery),
	P("cuEventRecord", 2000, cuEventRecord, cuEventRecord_ptsz),
	P("cuEventRecordWithFlags", 11010, cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz),
	F("cuEventSynchronize", 2000, cuEventSynchronize),
	F("cuFuncGetAttribute", 2020, cuFuncGetAttribute),
	F("cuFuncGetModule", 11000, cuFuncGetModule),
	F("cuFuncGetName", 12030, cuFuncGetName),
	F("cuFuncGetParamInfo", 12040, cuFuncGetParamInfo),
	F("cuFuncIsLoaded", 12040, cuFuncIsLoaded),
	F("cuFuncLoad", 12040, cuFuncLoad),
	F("cuFuncSetAttribute", 9000, cuFuncSetAttribute),
	F("cuFuncSetCacheConfig", 3000, cuFuncSetCacheConfig),
	F("cuFuncSetSharedMemConfig", 4020, cuFuncSetSharedMemConfig),
	F("cuGetErrorName", 6000, cuGetErrorName),
	F("cuGetErrorString", 6000, cuGetErrorString),
	F("cuGetExportTable", 3000, cuGetExportTable),
	F("cuGetProcAddress", 11030, cuGetProcAddress),
	F("cuGetProcAddress", 12000, cuGetProcAddress_v2),
	F("cuGraphAddChildGraphNode", 10000, cuGraphAddChildGraphNode),
	F("cuGraphAddDependencies", 10000, cuGraphAddDependencies),
	F("cuGraphAddDependencies", 12030, cuGraphAddDependencies_v2),
	F("cuGraphAddEmptyNode", 10000, cuGraphAddEmptyNode),
	F("cuGraphAddEventRecordNode", 11010, cuGraphAddEventRecordNode),
	F("cuGraphAddEventWaitNode", 11010, cuGraphAddEventWaitNode),
	F("cuGraphAddHostNode", 10000, cuGraphAddHostNode),
	F("cuGraphAddKernelNode", 12000, cuGraphAddKernelNode_v2),
	F("cuGraphAddMemcpyNode", 10000, cuGraphAddMemcpyNode),
	F("cuGraphAddMemsetNode", 10000, cuGraphAddMemsetNode),
	F("cuGraphAddNode", 12020, cuGraphAddNode),
	F("cuGraphAddNode", 12030, cuGraphAddNode_v2),
	F("cuGraphChildGraphNodeGetGraph", 10000, cuGraphChildGraphNodeGetGraph),
	F("cuGraphClone", 10000, cuGraphClone),
	F("cuGraphCreate", 10000, cuGraphCreate),
	F("cuGraphDestroy", 10000, cuGraphDestroy),
	F("cuGraphDestroyNode", 10000, cuGraphDestroyNode),
	F("cuGraphEventRecordNodeGetEvent", 11010, cuGraphEventRecordNodeGetEvent),
	F("cuGraphEventRecordNodeSetEvent", 11010, cuGraphEventRecordNodeSetEvent),
	F("cuGraphEventWaitNodeGetEvent", 11010, cuGraphEventWaitNodeGetEvent),
	F("cuGraphEventWaitNodeSetEvent", 11010, cuGraphEventWaitNodeSetEvent),
	F("cuGraphExecDestroy", 10000, cuGraphExecDestroy),
	F("cuGraphExecEventRecordNodeSetEvent", 11010, cuGraphExecEventRecordNodeSetEvent),
	F("cuGraphExecEventWaitNodeSetEvent", 11010, cuGraphExecEventWaitNodeSetEvent),
	F("cuGraphExecGetFlags", 12000, cuGraphExecGetFlags),
	F("cuGraphExecHostNodeSetParams", 10020, cuGraphExecHostNodeSetParams),
	F("cuGraphExecKernelNodeSetParams", 12000, cuGraphExecKernelNodeSetParams_v2),
	F("cuGraphExecMemcpyNodeSetParams", 10020, cuGraphExecMemcpyNodeSetParams),
	F("cuGraphExecMemsetNodeSetParams", 10020, cuGraphExecMemsetNodeSetParams),
	F("cuGraphExecNodeSetParams", 12020, cuGraphExecNodeSetParams),
	F("cuGraphExecUpdate", 12000, cuGraphExecUpdate_v2),
	F("cuGraphGetEdges", 10000, cuGraphGetEdges),
	F("cuGraphGetEdges", 12030, cuGraphGetEdges_v2),
	F("cuGraphGetNodes", 10000, cuGraphGetNodes),
	F("cuGraphGetRootNodes", 10000, cuGraphGetRootNodes),
	F("cuGraphHostNodeGetParams", 10000, cuGraphHostNodeGetParams),
	F("cuGraphHostNodeSetParams", 10000, cuGraphHostNodeSetParams),
	F("cuGraphInstantiate", 11000, cuGraphInstantiate_v2),
	F("cuGraphInstantiate", 12000, cuGraphInstantiateWithFlags),
	F("cuGraphInstantiateWithFlags", 11040, cuGraphInstantiateWithFlags),
	P("cuGraphInstantiateWithParams", 12000, cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz),
	F("cuGraphKernelNodeGetParams", 12000, cuGraphKernelNodeGetParams_v2),
	F("cuGraphKernelNodeSetParams", 12000, cuGraphKernelNodeSetParams_v2),
	P("cuGraphLaunch", 10000, cuGraphLaunch, cuGraphLaunch_ptsz),
	F("cuGraphMemcpyNodeGetParams", 10000, cuGraphMemcpyNodeGetParams),
	F("cuGraphMemcpyNodeSetParams", 10000, cuGraphMemcpyNodeSetParams),
	F("cuGraphMemsetNodeGetParams", 10000, cuGraphMemsetNodeGetParams),
	F("cuGraphMemsetNodeSetParams", 10000, cuGraphMemsetNodeSetParams),
	F("cuGraphNodeFindInClone", 10000, cuGraphNodeFindInClone),
	F("cuGraphNodeGetDependencies", 10000, cuGraphNodeGetDependencies),
	F("cuGraphNodeGetDependencies", 12030, cuGraphNodeGetDependencies_v2),
	F("cuGraphNodeGetDependentNodes", 10000, cuGraphNodeGetDependentNodes),
	F("cuGraphNodeGetDependentNodes", 12030, cuGraphNodeGetDependentNodes_v2),
	F("cuGraphNodeGetEnabled", 11060, cuGraphNodeGetEnabled),
	F("cuGraphNodeGetType", 10000, cuGraphNodeGetType),
	F("cuGraphNodeSetEnabled", 11060, cuGraphNodeSetEnabled),
	F("cuGraphNodeSetParams", 12020, cuGraphNodeSetParams),
	F("cuGraphRemoveDependencies", 10000, cuGraphRemoveDependencies),
	F("cuGraphRemoveDependencies", 12030, cuGraphRemoveDependencies_v2),
	P("cuGraphUpload", 11010, cuGraphUpload, cuGraphUpload_ptsz),
	F("cuInit", 2000, cuInit),
	F("cuKernelGetAttribute", 12000, cuKernelGetAttribute),
	F("cuKernelGetFunction", 12000, cuKernelGetFunction),
	F("cuKernelGetLibrary", 12050, cuKernelGetLibrary),
	F("cuKernelGetName", 12030, cuKernelGetName),
	F("cuKernelGetParamInfo", 12040, cuKernelGetParamInfo),
	F("cuKernelSetAttribute", 12000, cuKernelSetAttribute),
	F("cuKernelSetCacheConfig", 12000, cuKernelSetCacheConfig),
	P("cuLaunchCooperativeKernel", 9000, cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz),
	P("cuLaunchHostFunc", 10000, cuLaunchHostFunc, cuLaunchHostFunc_ptsz),
	P("cuLaunchKernel", 4000, cuLaunchKernel, cuLaunchKernel_ptsz),
	P("cuLaunchKernelEx", 11060, cuLaunchKernelEx, cuLaunchKernelEx_ptsz),
	F("cuLibraryEnumerateKernels", 12040, cuLibraryEnumerateKernels),
	F("cuLibraryGetGlobal", 12000, cuLibraryGetGlobal),
	F("cuLibraryGetKernel", 12000, cuLibraryGetKernel),
	F("cuLibraryGetKernelCount", 12040, cuLibraryGetKernelCount),
	F("cuLibraryGetManaged", 12000, cuLibraryGetManaged),
	F("cuLibraryGetModule", 12000, cuLibraryGetModule),
	F("cuLibraryLoadData", 12000, cuLibraryLoadData),
	F("cuLibraryLoadFromFile", 12000, cuLibraryLoadFromFile),
	F("cuLibraryUnload", 12000, cuLibraryUnload),
	F("cuMemAdvise", 8000, cuMemAdvise),
	F("cuMemAdvise", 12020, cuMemAdvise_v2),
	F("cuMemAlloc", 3020, cuMemAlloc_v2),
	P("cuMemAllocAsync", 11020, cuMemAllocAsync, cuMemAllocAsync_ptsz),
	P("cuMemAllocFromPoolAsync", 11020, cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz),
	F("cuMemAllocHost", 3020, cuMemAllocHost_v2),
	F("cuMemAllocManaged", 6000, cuMemAllocManaged),
	F("cuMemAllocPitch", 3020, cuMemAllocPitch_v2),
	F("cuMemFree", 3020, cuMemFree_v2),
	P("cuMemFreeAsync", 11020, cuMemFreeAsync, cuMemFreeAsync_ptsz),
	F("cuMemFreeHost", 2000, cuMemFreeHost),
	F("cuMemGetAddressRange", 3020, cuMemGetAddressRange_v2),
	F("cuMemGetInfo", 3020, cuMemGetInfo_v2),
	F("cuMemHostAlloc", 2020, cuMemHostAlloc),
	F("cuMemHostGetDevicePointer", 3020, cuMemHostGetDevicePointer_v2),
	F("cuMemHostGetFlags", 2030, cuMemHostGetFlags),
	F("cuMemHostRegister", 6050, cuMemHostRegister_v2),
	F("cuMemHostUnregister", 4000, cuMemHostUnregister),
	F("cuMemPoolCreate", 11020, cuMemPoolCreate),
	F("cuMemPoolDestroy", 11020, cuMemPoolDestroy),
	F("cuMemPoolGetAccess", 11020, cuMemPoolGetAccess),
	F("cuMemPoolGetAttribute", 11020, cuMemPoolGetAttribute),
	F("cuMemPoolSetAccess", 11020, cuMemPoolSetAccess),
	F("cuMemPoolSetAttribute", 11020, cuMemPoolSetAttribute),
	F("cuMemPoolTrimTo", 11020, cuMemPoolTrimTo),
	P("cuMemPrefetchAsync", 8000, cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz),
	P("cuMemPrefetchAsync", 12020, cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz),
	P("cuMemcpy", 4000, cuMemcpy, cuMemcpy_ptds),
	P("cuMemcpy2D", 3020, cuMemcpy2D_v2, cuMemcpy2D_v2_ptds),
	P("cuMemcpy2DAsync", 3020, cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz),
	P("cuMemcpy2DUnaligned", 3020, cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds),
	P("cuMemcpy3D", 3020, cuMemcpy3D_v2, cuMemcpy3D_v2_ptds),
	P("cuMemcpy3DAsync", 3020, cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz),
	P("cuMemcpy3DPeer", 4000, cuMemcpy3DPeer, cuMemcpy3DPeer_ptds),
	P("cuMemcpy3DPeerAsync", 4000, cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz),
	P("cuMemcpyAsync", 4000, cuMemcpyAsync, cuMemcpyAsync_ptsz),
	P("cuMemcpyDtoD", 3020, cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds),
	P("cuMemcpyDtoDAsync", 3020, cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz),
	P("cuMemcpyDtoH", 3020, cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds),
	P("cuMemcpyDtoHAsync", 3020, cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz),
	P("cuMemcpyHtoD", 3020, cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds),
	P("cuMemcpyHtoDAsync", 3020, cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz),
	P("cuMemcpyPeer", 4000, cuMemcpyPeer, cuMemcpyPeer_ptds),
	P("cuMemcpyPeerAsync", 4000, cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz),
	P("cuMemsetD16", 3020, cuMemsetD16_v2, cuMemsetD16_v2_ptds),
	P("cuMemsetD16Async", 3020, cuMemsetD16Async, cuMemsetD16Async_ptsz),
	P("cuMemsetD2D16", 3020, cuMemsetD2D16_v2, cuMemsetD2D16_v2_ptds),
	P("cuMemsetD2D16Async", 3020, cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz),
	P("cuMemsetD2D32", 3020, cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds),
	P("cuMemsetD2D32Async", 3020, cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz),
	P("cuMemsetD2D8", 3020, cuMemsetD2D8_v2, cuMemsetD2D8_v2_ptds),
	P("cuMemsetD2D8Async", 3020, cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz),
	P("cuMemsetD32", 3020, cuMemsetD32_v2, cuMemsetD32_v2_ptds),
	P("cuMemsetD32Async", 3020, cuMemsetD32Async, cuMemsetD32Async_ptsz),
	P("cuMemsetD8", 3020, cuMemsetD8_v2, cuMemsetD8_v2_ptds),
	P("cuMemsetD8Async", 3020, cuMemsetD8Async, cuMemsetD8Async_ptsz),
	F("cuModuleEnumerateFunctions", 12040, cuModuleEnumerateFunctions),
	F("cuModuleGetFunction", 2000, cuModuleGetFunction),
	F("cuModuleGetFunctionCount", 12040, cuModuleGetFunctionCount),
	F("cuModuleGetGlobal", 3020, cuModuleGetGlobal_v2),
	F("cuModuleGetLoadingMode", 11070, cuModuleGetLoadingMode),
	F("cuModuleLoad", 2000, cuModuleLoad),
	F("cuModuleLoadData", 2000, cuModuleLoadData),
	F("cuModuleLoadDataEx", 2010, cuModuleLoadDataEx),
	F("cuModuleLoadFatBinary", 2000, cuModuleLoadFatBinary),
	F("cuModuleUnload", 2000, cuModuleUnload),
	F("cuOccupancyAvailableDynamicSMemPerBlock", 10020, cuOccupancyAvailableDynamicSMemPerBlock),
	F("cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, cuOccupancyMaxActiveBlocksPerMultiprocessor),
	F("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", 7000, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags),
	F("cuOccupancyMaxPotentialBlockSize", 6050, cuOccupancyMaxPotentialBlockSize),
	F("cuPointerGetAttribute", 4000, cuPointerGetAttribute),
	F("cuPointerGetAttributes", 7000, cuPointerGetAttributes),
	F("cuProfilerStart", 4000, cuProfilerStart),
	F("cuProfilerStop", 4000, cuProfilerStop),
	P("cuStreamAddCallback", 5000, cuStreamAddCallback, cuStreamAddCallback_ptsz),
	P("cuStreamAttachMemAsync", 6000, cuStreamAttachMemAsync, cuStreamAttachMemAsync_ptsz),
	P("cuStreamBatchMemOp", 8000, cuStreamBatchMemOp_v2, cuStreamBatchMemOp_v2_ptsz),
	P("cuStreamBeginCapture", 10010, cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz),
	P("cuStreamCopyAttributes", 11000, cuStreamCopyAttributes, cuStreamCopyAttributes_ptsz),
	F("cuStreamCreate", 2000, cuStreamCreate),
	F("cuStreamCreateWithPriority", 5050, cuStreamCreateWithPriority),
	F("cuStreamDestroy", 4000, cuStreamDestroy_v2),
	P("cuStreamEndCapture", 10000, cuStreamEndCapture, cuStreamEndCapture_ptsz),
	P("cuStreamGetAttribute", 11000, cuStreamGetAttribute, cuStreamGetAttribute_ptsz),
	P("cuStreamGetCaptureInfo", 11030, cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2_ptsz),
	P("cuStreamGetCaptureInfo", 12030, cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3_ptsz),
	P("cuStreamGetCtx", 9020, cuStreamGetCtx, cuStreamGetCtx_ptsz),
	P("cuStreamGetDevice", 12080, cuStreamGetDevice, cuStreamGetDevice_ptsz),
	P("cuStreamGetFlags", 5050, cuStreamGetFlags, cuStreamGetFlags_ptsz),
	P("cuStreamGetId", 12000, cuStreamGetId, cuStreamGetId_ptsz),
	P("cuStreamGetPriority", 5050, cuStreamGetPriority, cuStreamGetPriority_ptsz),
	P("cuStreamIsCapturing", 10000, cuStreamIsCapturing, cuStreamIsCapturing_ptsz),
	P("cuStreamQuery", 2000, cuStreamQuery, cuStreamQuery_ptsz),
	P("cuStreamSetAttribute", 11000, cuStreamSetAttribute, cuStreamSetAttribute_ptsz),
	P("cuStreamSynchronize", 2000, cuStreamSynchronize, cuStreamSynchronize_ptsz),
	P("cuStreamUpdateCaptureDependencies", 11030, cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_ptsz),
	P("cuStreamUpdateCaptureDependencies", 12030, cuStreamUpdateCaptureDependencies_v2, cuStreamUpdateCaptureDependencies_v2_ptsz),
	P("cuStreamWaitEvent", 3020, cuStreamWaitEvent, cuStreamWaitEvent_ptsz),
	P("cuStreamWaitValue32", 8000, cuStreamWaitValue32_v2, cuStreamWaitValue32_v2_ptsz),
	P("cuStreamWaitValue64", 9000, cuStreamWaitValue64_v2, cuStreamWaitValue64_v2_ptsz),
	P("cuStreamWriteValue32", 8000, cuStreamWriteValue32_v2, cuStreamWriteValue32_v2_ptsz),
	P("cuStreamWriteValue64", 9000, cuStreamWriteValue64_v2, cuStreamWriteValue64_v2_ptsz),
	F("cuThreadExchangeStreamCaptureMode", 10010, cuThreadExchangeStreamCaptureMode),
/* clang-format on */
#undef F
#undef P
};

/*
 * What the CUDA runtime also asks for, and what does not exist here: textures, memory of other
 * processes and of graphics, linking, and some of graphs. A program that calls one of these is told
 * that it is not supported, as by a GPU that cannot do it.
 */
static const char *const unsupported[] = {
	"cuArray3DCreate",
	"cuArray3DGetDescriptor",
	"cuArrayCreate",
	"cuArrayDestroy",
	"cuArrayGetDescriptor",
	"cuArrayGetMemoryRequirements",
	"cuArrayGetPlane",
	"cuArrayGetSparseProperties",
	"cuCtxDetach",
	"cuDestroyExternalMemory",
	"cuDestroyExternalSemaphore",
	"cuDeviceGetGraphMemAttribute",
	"cuDeviceGetHostAtomicCapabilities",
	"cuDeviceGetP2PAtomicCapabilities",
	"cuDeviceGetTexture1DLinearMaxWidth",
	"cuDeviceGraphMemTrim",
	"cuDeviceRegisterAsyncNotification",
	"cuDeviceSetGraphMemAttribute",
	"cuDeviceUnregisterAsyncNotification",
	"cuExternalMemoryGetMappedBuffer",
	"cuExternalMemoryGetMappedMipmappedArray",
	"cuFlushGPUDirectRDMAWrites",
	"cuGraphAddExternalSemaphoresSignalNode",
	"cuGraphAddExternalSemaphoresWaitNode",
	"cuGraphAddMemAllocNode",
	"cuGraphAddMemFreeNode",
	"cuGraphConditionalHandleCreate",
	"cuGraphDebugDotPrint",
	"cuGraphExecChildGraphNodeSetParams",
	"cuGraphExecExternalSemaphoresSignalNodeSetParams",
	"cuGraphExecExternalSemaphoresWaitNodeSetParams",
	"cuGraphExternalSemaphoresSignalNodeGetParams",
	"cuGraphExternalSemaphoresSignalNodeSetParams",
	"cuGraphExternalSemaphoresWaitNodeGetParams",
	"cuGraphExternalSemaphoresWaitNodeSetParams",
	"cuGraphKernelNodeCopyAttributes",
	"cuGraphKernelNodeGetAttribute",
	"cuGraphKernelNodeSetAttribute",
	"cuGraphMemAllocNodeGetParams",
	"cuGraphMemFreeNodeGetParams",
	"cuGraphReleaseUserObject",
	"cuGraphRetainUserObject",
	"cuImportExternalMemory",
	"cuImportExternalSemaphore",
	"cuIpcCloseMemHandle",
	"cuIpcGetEventHandle",
	"cuIpcGetMemHandle",
	"cuIpcOpenEventHandle",
	"cuIpcOpenMemHandle",
	"cuLibraryGetUnifiedFunction",
	"cuLinkAddData",
	"cuLinkAddFile",
	"cuLinkComplete",
	"cuLinkCreate",
	"cuLinkDestroy",
	"cuLogsCurrent",
	"cuLogsDumpToFile",
	"cuLogsDumpToMemory",
	"cuLogsRegisterCallback",
	"cuLogsUnregisterCallback",
	"cuMemDiscardAndPrefetchBatchAsync",
	"cuMemDiscardBatchAsync",
	"cuMemGetDefaultMemPool",
	"cuMemGetMemPool",
	"cuMemPoolExportPointer",
	"cuMemPoolExportToShareableHandle",
	"cuMemPoolImportFromShareableHandle",
	"cuMemPoolImportPointer",
	"cuMemPrefetchBatchAsync",
	"cuMemRangeGetAttribute",
	"cuMemRangeGetAttributes",
	"cuMemSetMemPool",
	"cuMemcpy3DBatchAsync",
	"cuMemcpyBatchAsync",
	"cuMipmappedArrayCreate",
	"cuMipmappedArrayDestroy",
	"cuMipmappedArrayGetLevel",
	"cuMipmappedArrayGetMemoryRequirements",
	"cuMipmappedArrayGetSparseProperties",
	"cuModuleGetSurfRef",
	"cuModuleGetTexRef",
	"cuOccupancyMaxActiveClusters",
	"cuOccupancyMaxPotentialClusterSize",
	"cuSignalExternalSemaphoresAsync",
	"cuStreamBeginCaptureToGraph",
	"cuSurfObjectCreate",
	"cuSurfObjectDestroy",
	"cuSurfObjectGetResourceDesc",
	"cuTexObjectCreate",
	"cuTexObjectDestroy",
	"cuTexObjectGetResourceDesc",
	"cuTexObjectGetResourceViewDesc",
	"cuTexObjectGetTextureDesc",
	"cuUserObjectCreate",
	"cuUserObjectRelease",
	"cuUserObjectRetain",
	"cuWaitExternalSemaphoresAsync",
};

static CUresult refuse(void)
{
	cot_emu_note("the program has called something that does not exist here");
	return CUDA_ERROR_NOT_SUPPORTED;
}

static bool is_unsupported(const char *name)
{
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(unsupported); i++)
		if (!strcmp(unsupported[i], name))
			return true;
	return false;
}

static const struct symbol *find(const char *name, int version, int *ret_status)
{
	const struct symbol *best = NULL;
	size_t i;

	*ret_status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	for (i = 0; i < COT_ARRAY_LEN(symbols); i++) {
		if (strcmp(symbols[i].name, name) != 0)
			continue;
		if (symbols[i].since > version) {
			if (!best)
				*ret_status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
		} else if (!best || symbols[i].since > best->since) {
			best = &symbols[i];
			*ret_status = CU_GET_PROC_ADDRESS_SUCCESS;
		}
	}
	return best;
}

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
			     int *status)
{
	void (*refusal)(void) = (void (*)(void))refuse;
	const struct symbol *best;
	int found;

	if (!symbol || !function)
		return CUDA_ERROR_INVALID_VALUE;
	best = find(symbol, version, &found);
	*function = NULL;
	if (status)
		*status = found;
	if (!best && is_unsupported(symbol)) {
		memcpy(function, &refusal, sizeof(*function));
		if (status)
			*status = CU_GET_PROC_ADDRESS_SUCCESS;
		return CUDA_SUCCESS;
	}
	if (!best) {
		if (*symbol)
			cot_emu_note("the driver has no %s of CUDA %d.%d", symbol, version / 1000,
				     version % 1000 / 10);
		return CUDA_ERROR_NOT_FOUND;
	}
	memcpy(function,
	       flags & PER_THREAD && best->per_thread ? &best->per_thread : &best->function,
	       sizeof(*function));
	return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
	return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}
