/* The part of the CUDA driver interface that is about graphs; cuda_abi.h includes this file. */
#ifndef COT_EMU_DRIVER_ABI_GRAPH_H
#define COT_EMU_DRIVER_ABI_GRAPH_H

#include "emu/driver/abi_errors.h"
#include "emu/driver/abi_types.h"

#define COT_EMU_API __attribute__((visibility("default")))

/* ---- capture ---- */

COT_EMU_API CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode);
COT_EMU_API CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
COT_EMU_API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status);
COT_EMU_API CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status,
					       uint64_t *id, CUgraph *graph,
					       const CUgraphNode **dependencies, size_t *n);
COT_EMU_API CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status,
					       uint64_t *id, CUgraph *graph,
					       const CUgraphNode **dependencies,
					       const CUgraphEdgeData **edges, size_t *n);
COT_EMU_API CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *dependencies,
						       size_t n, unsigned flags);
COT_EMU_API CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream,
							  CUgraphNode *dependencies,
							  const CUgraphEdgeData *edges, size_t n,
							  unsigned flags);
COT_EMU_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode);

/* ---- building ---- */

COT_EMU_API CUresult cuGraphCreate(CUgraph *graph, unsigned flags);
COT_EMU_API CUresult cuGraphDestroy(CUgraph graph);
COT_EMU_API CUresult cuGraphClone(CUgraph *clone, CUgraph graph);
COT_EMU_API CUresult cuGraphNodeFindInClone(CUgraphNode *ret, CUgraphNode node, CUgraph clone);
COT_EMU_API CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
					     const CUgraphNode *dependencies, size_t n,
					     const CUDA_KERNEL_NODE_PARAMS *params);
COT_EMU_API CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph,
					  const CUgraphNode *dependencies, size_t n,
					  const CUDA_MEMCPY3D *params, CUcontext ctx);
COT_EMU_API CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph,
					  const CUgraphNode *dependencies, size_t n,
					  const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx);
COT_EMU_API CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph,
					const CUgraphNode *dependencies, size_t n,
					const CUDA_HOST_NODE_PARAMS *params);
COT_EMU_API CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph,
					      const CUgraphNode *dependencies, size_t n,
					      CUgraph child);
COT_EMU_API CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph,
					 const CUgraphNode *dependencies, size_t n);
COT_EMU_API CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph,
					       const CUgraphNode *dependencies, size_t n,
					       CUevent event);
COT_EMU_API CUresult cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph,
					     const CUgraphNode *dependencies, size_t n,
					     CUevent event);
COT_EMU_API CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph,
				    const CUgraphNode *dependencies, size_t n,
				    CUgraphNodeParams *params);
COT_EMU_API CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph,
				       const CUgraphNode *dependencies,
				       const CUgraphEdgeData *edges, size_t n,
				       CUgraphNodeParams *params);
COT_EMU_API CUresult cuGraphDestroyNode(CUgraphNode node);
COT_EMU_API CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from,
					    const CUgraphNode *to, size_t n);
COT_EMU_API CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from,
					       const CUgraphNode *to, const CUgraphEdgeData *edges,
					       size_t n);
COT_EMU_API CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from,
					       const CUgraphNode *to, size_t n);
COT_EMU_API CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from,
						  const CUgraphNode *to,
						  const CUgraphEdgeData *edges, size_t n);

/* ---- asking ---- */

COT_EMU_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n);
COT_EMU_API CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *n);
COT_EMU_API CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *n);
COT_EMU_API CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
					CUgraphEdgeData *edges, size_t *n);
COT_EMU_API CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *n);
COT_EMU_API CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *nodes,
						   CUgraphEdgeData *edges, size_t *n);
COT_EMU_API CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *n);
COT_EMU_API CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes,
						     CUgraphEdgeData *edges, size_t *n);
COT_EMU_API CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type);
COT_EMU_API CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node,
						   CUDA_KERNEL_NODE_PARAMS *params);
COT_EMU_API CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node,
						   const CUDA_KERNEL_NODE_PARAMS *params);
COT_EMU_API CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *params);
COT_EMU_API CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params);
COT_EMU_API CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params);
COT_EMU_API CUresult cuGraphMemsetNodeSetParams(CUgraphNode node,
						const CUDA_MEMSET_NODE_PARAMS *params);
COT_EMU_API CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *params);
COT_EMU_API CUresult cuGraphHostNodeSetParams(CUgraphNode node,
					      const CUDA_HOST_NODE_PARAMS *params);
COT_EMU_API CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph);
COT_EMU_API CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event);
COT_EMU_API CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event);
COT_EMU_API CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event);
COT_EMU_API CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event);
COT_EMU_API CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params);

/* ---- running ---- */

COT_EMU_API CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error,
					   char *log, size_t log_size);
COT_EMU_API CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph,
						 unsigned long long flags);
COT_EMU_API CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
						  CUDA_GRAPH_INSTANTIATE_PARAMS *params);
COT_EMU_API CUresult cuGraphExecDestroy(CUgraphExec exec);
COT_EMU_API CUresult cuGraphExecGetFlags(CUgraphExec exec, uint64_t *flags);
COT_EMU_API CUresult cuGraphUpload(CUgraphExec exec, CUstream stream);
COT_EMU_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
COT_EMU_API CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
					  CUgraphExecUpdateResultInfo *info);
COT_EMU_API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
						       const CUDA_KERNEL_NODE_PARAMS *params);
COT_EMU_API CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
						    const CUDA_MEMCPY3D *params, CUcontext ctx);
COT_EMU_API CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
						    const CUDA_MEMSET_NODE_PARAMS *params,
						    CUcontext ctx);
COT_EMU_API CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
						  const CUDA_HOST_NODE_PARAMS *params);
COT_EMU_API CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node,
							CUevent event);
COT_EMU_API CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node,
						      CUevent event);
COT_EMU_API CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node,
					      CUgraphNodeParams *params);
COT_EMU_API CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled);
COT_EMU_API CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned *enabled);

#endif
