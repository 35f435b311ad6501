/* Executable graphs. */
#include <stddef.h>
#include <string.h>

#include "emu/driver/capture.h"
#include "emu/driver/graph.h"
#include "emu/driver/inside.h"

static struct cot_emu_graph_exec *of(CUgraphExec exec)
{
	return (struct cot_emu_graph_exec *)exec;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	struct cot_emu_graph_exec *e;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!exec || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	result = cot_emu_capture_check_unsafe();
	if (result)
		return result;
	if (flags & 4) /* to be launched by kernels */
		return CUDA_ERROR_NOT_SUPPORTED;
	result = cot_emu_graph_exec_make(graph, flags, &e);
	if (!result)
		*exec = (CUgraphExec)e;
	return result;
}

CUresult cuGraphInstantiate_v2(CUgraphExec *exec, CUgraph graph, CUgraphNode *error, char *log,
			       size_t log_size)
{
	if (error)
		*error = NULL;
	if (log && log_size)
		*log = '\0';
	return cuGraphInstantiateWithFlags(exec, graph, 0);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *exec, CUgraph graph,
				      CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	CUresult result;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	result = cuGraphInstantiateWithFlags(exec, graph, params->flags);
	params->hErrNode_out = NULL;
	params->result_out = result ? 1 : 0;
	return result;
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	CUresult result = cot_emu_ready();

	if (result || !exec)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	cot_emu_graph_exec_unref(of(exec));
	return CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, uint64_t *flags)
{
	if (!exec || !flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = cot_emu_graph_exec_flags(of(exec));
	return CUDA_SUCCESS;
}

/* There is nothing to prepare. */
CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
	struct CUstream_st *s;

	return exec ? cot_emu_stream_get(stream, &s) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	CUresult result = cot_emu_ready();

	if (result || !exec)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	return cot_emu_graph_exec_launch(of(exec), stream);
}

/* ---- changing what will run ---- */

/* The exec owns the task from now on. */
static CUresult set_task(CUgraphExec exec, CUgraphNode node, struct cot_emu_task *task,
			 CUresult result)
{
	return result ? result : cot_emu_graph_exec_set(of(exec), node, task);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
					   const CUDA_KERNEL_NODE_PARAMS *params)
{
	struct cot_emu_task task;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	return set_task(
		exec, node, &task,
		cot_emu_kernel_task(params, cot_emu_graph_exec_task(of(exec), node), &task));
}

/* The first version: its parameters end before `kern`. */
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
					const CUDA_KERNEL_NODE_PARAMS *params)
{
	CUDA_KERNEL_NODE_PARAMS whole = {0};

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&whole, params, offsetof(CUDA_KERNEL_NODE_PARAMS, kern));
	return cuGraphExecKernelNodeSetParams_v2(exec, node, &whole);
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!child)
		return CUDA_ERROR_INVALID_VALUE;
	return cot_emu_graph_exec_set_child(of(exec), node, child);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
					const CUDA_MEMCPY3D *params, CUcontext ctx)
{
	struct cot_emu_task task;

	(void)ctx;
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	return set_task(exec, node, &task, cot_emu_task_copy(params, &task));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
					const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx)
{
	struct cot_emu_task task;

	(void)ctx;
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	return set_task(exec, node, &task, cot_emu_task_fill(params, &task));
}

static CUresult set_params(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *params)
{
	struct cot_emu_task task;

	return set_task(
		exec, node, &task,
		cot_emu_params_task(params, cot_emu_graph_exec_task(of(exec), node), &task));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
		return cuGraphExecChildGraphNodeSetParams(exec, node, params->graph);
	return set_params(exec, node, params);
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
				      const CUDA_HOST_NODE_PARAMS *params)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_HOST};

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	p.host = *params;
	return set_params(exec, node, &p);
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD};

	p.event = event;
	return set_params(exec, node, &p);
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT};

	p.event = event;
	return set_params(exec, node, &p);
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled)
{
	return cot_emu_graph_exec_enable(of(exec), node, enabled) ? CUDA_SUCCESS
								  : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned *enabled)
{
	bool is;

	if (!enabled || !cot_emu_graph_exec_enabled(of(exec), node, &is))
		return CUDA_ERROR_INVALID_VALUE;
	*enabled = is;
	return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
	CUgraphExecUpdateResult difference;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!exec || !graph || !info)
		return CUDA_ERROR_INVALID_VALUE;
	*info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_ERROR};
	result = cot_emu_graph_exec_update(of(exec), graph, &difference);
	if (result)
		return result;
	info->result = difference;
	return difference ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error,
			   CUgraphExecUpdateResult *result)
{
	CUgraphExecUpdateResultInfo info = {.result = CU_GRAPH_EXEC_UPDATE_ERROR};
	CUresult rc = cuGraphExecUpdate_v2(exec, graph, &info);

	if (error)
		*error = NULL;
	if (result)
		*result = info.result;
	return rc;
}
