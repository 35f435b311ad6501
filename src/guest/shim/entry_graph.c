/* The entry points of executable graphs: graph.c has one more of each for every part. */
#include "guest/shim/parts.h"

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	CUresult rc = COT_REAL(cuGraphInstantiateWithFlags)(exec, graph, flags);

	if (!rc)
		cot_shim_graph_made(*exec, graph, flags);
	return rc;
}

CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error, char *log,
			       size_t log_size)
{
	CUresult rc = COT_REAL(cuGraphInstantiate_v2)(exec, graph, error, log, log_size);

	if (!rc)
		cot_shim_graph_made(*exec, graph, 0);
	return rc;
}

static CUresult with_params(CUgraphExec *exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS *params,
			    bool per_thread)
{
	CUresult rc = (per_thread ? COT_REAL(cuGraphInstantiateWithParams_ptsz)
				  : COT_REAL(cuGraphInstantiateWithParams))(exec, graph, params);

	if (!rc)
		cot_shim_graph_made(*exec, graph, params->flags);
	return rc;
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
				      CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	return with_params(exec, graph, params, false);
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *exec, CUgraph graph,
					   CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	return with_params(exec, graph, params, true);
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	cot_shim_graph_gone(exec);
	return COT_REAL(cuGraphExecDestroy)(exec);
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	if (!cot_shim_settings.parts)
		return COT_REAL(cuGraphLaunch)(exec, stream);
	return cot_shim_graph_launch(exec, stream, false);
}

CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
	if (!cot_shim_settings.parts)
		return COT_REAL(cuGraphLaunch_ptsz)(exec, stream);
	return cot_shim_graph_launch(exec, stream, true);
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	CUresult rc = COT_REAL(cuGraphExecUpdate_v2)(exec, graph, info);

	if (!rc)
		cot_shim_graph_changed(exec, graph);
	return rc;
}

/* One node of the executable graph changes, but not of the clone: it stays at home from now on. */
#define CHANGE(name, params, args)                          \
	CUresult name params                                \
	{                                                   \
		CUresult rc = COT_REAL(name) args;          \
                                                            \
		if (!rc)                                    \
			cot_shim_graph_changed(exec, NULL); \
		return rc;                                  \
	}

CHANGE(cuGraphExecKernelNodeSetParams_v2,
       (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params),
       (exec, node, params))
CHANGE(cuGraphExecMemcpyNodeSetParams,
       (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params, CUcontext ctx),
       (exec, node, params, ctx))
CHANGE(cuGraphExecMemsetNodeSetParams,
       (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx),
       (exec, node, params, ctx))
CHANGE(cuGraphExecHostNodeSetParams,
       (CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params),
       (exec, node, params))
CHANGE(cuGraphExecNodeSetParams, (CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params),
       (exec, node, params))
CHANGE(cuGraphExecEventRecordNodeSetEvent, (CUgraphExec exec, CUgraphNode node, CUevent event),
       (exec, node, event))
CHANGE(cuGraphExecEventWaitNodeSetEvent, (CUgraphExec exec, CUgraphNode node, CUevent event),
       (exec, node, event))
CHANGE(cuGraphNodeSetEnabled, (CUgraphExec exec, CUgraphNode node, unsigned enabled),
       (exec, node, enabled))
