/* The entry points of executable graphs: graph.c has one more of each for every part. */
#include <stddef.h>
#include <string.h>

#include "guest/shim/fork.h"
#include "guest/shim/parts.h"
#include "guest/shim/seen.h"

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
	cot_shim_seen_put(stream, false);
	if (!cot_shim_settings.parts || !cot_shim_is_on())
		return COT_REAL(cuGraphLaunch)(exec, stream);
	(void)cot_shim_part_expect();
	return cot_shim_graph_launch(exec, stream, false);
}

CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream)
{
	cot_shim_seen_put(stream, true);
	if (!cot_shim_settings.parts || !cot_shim_is_on())
		return COT_REAL(cuGraphLaunch_ptsz)(exec, stream);
	(void)cot_shim_part_expect();
	return cot_shim_graph_launch(exec, stream, true);
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	CUresult rc = COT_REAL(cuGraphExecUpdate_v2)(exec, graph, info);

	if (!rc)
		cot_shim_graph_changed(exec, graph);
	return rc;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error,
			   CUgraphExecUpdateResult *result)
{
	CUresult rc = COT_REAL(cuGraphExecUpdate)(exec, graph, error, result);

	if (!rc)
		cot_shim_graph_changed(exec, graph);
	return rc;
}

/* ---- one node of the executable graph changes: so does the clone's ---- */

static bool set_kernel(CUgraphNode node, const void *params)
{
	return !COT_REAL(cuGraphKernelNodeSetParams_v2)(node, params);
}

static bool set_memcpy(CUgraphNode node, const void *params)
{
	return !COT_REAL(cuGraphMemcpyNodeSetParams)(node, params);
}

static bool set_memset(CUgraphNode node, const void *params)
{
	return !COT_REAL(cuGraphMemsetNodeSetParams)(node, params);
}

static bool set_host(CUgraphNode node, const void *params)
{
	return !COT_REAL(cuGraphHostNodeSetParams)(node, params);
}

static bool set_record(CUgraphNode node, const void *event)
{
	return !COT_REAL(cuGraphEventRecordNodeSetEvent)(node, *(const CUevent *)event);
}

static bool set_wait(CUgraphNode node, const void *event)
{
	return !COT_REAL(cuGraphEventWaitNodeSetEvent)(node, *(const CUevent *)event);
}

static bool set_child(CUgraphNode node, const void *graph)
{
	return cot_shim_node_set_child(node, *(const CUgraph *)graph);
}

static bool set_any(CUgraphNode node, const void *params)
{
	CUgraphNodeParams p = *(const CUgraphNodeParams *)params;

	if (p.type == CU_GRAPH_NODE_TYPE_GRAPH)
		return set_child(node, &p.graph);
	return !COT_REAL(cuGraphNodeSetParams)(node, &p);
}

#define CHANGE(name, params, args, set, what)                               \
	CUresult name params                                                \
	{                                                                   \
		CUresult rc = COT_REAL(name) args;                          \
                                                                            \
		if (!rc)                                                    \
			cot_shim_graph_node_changed(exec, node, set, what); \
		return rc;                                                  \
	}

CHANGE(cuGraphExecKernelNodeSetParams_v2,
       (CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params),
       (exec, node, params), set_kernel, params)
CHANGE(cuGraphExecMemcpyNodeSetParams,
       (CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params, CUcontext ctx),
       (exec, node, params, ctx), set_memcpy, params)
CHANGE(cuGraphExecMemsetNodeSetParams,
       (CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx),
       (exec, node, params, ctx), set_memset, params)
CHANGE(cuGraphExecHostNodeSetParams,
       (CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params),
       (exec, node, params), set_host, params)
CHANGE(cuGraphExecChildGraphNodeSetParams, (CUgraphExec exec, CUgraphNode node, CUgraph child),
       (exec, node, child), set_child, &child)
CHANGE(cuGraphExecNodeSetParams, (CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params),
       (exec, node, params), set_any, params)
CHANGE(cuGraphExecEventRecordNodeSetEvent, (CUgraphExec exec, CUgraphNode node, CUevent event),
       (exec, node, event), set_record, &event)
CHANGE(cuGraphExecEventWaitNodeSetEvent, (CUgraphExec exec, CUgraphNode node, CUevent event),
       (exec, node, event), set_wait, &event)

/* The first version: its parameters end before `kern`. */
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
					const CUDA_KERNEL_NODE_PARAMS *params)
{
	CUresult rc = COT_REAL(cuGraphExecKernelNodeSetParams)(exec, node, params);
	CUDA_KERNEL_NODE_PARAMS whole = {0};

	if (rc)
		return rc;
	memcpy(&whole, params, offsetof(CUDA_KERNEL_NODE_PARAMS, kern));
	cot_shim_graph_node_changed(exec, node, set_kernel, &whole);
	return rc;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
	CUresult rc = COT_REAL(cuGraphNodeSetEnabled)(exec, node, enabled);

	if (!rc)
		cot_shim_graph_node_enabled(exec, node, enabled != 0);
	return rc;
}
