/* The parameters of nodes, to be read and changed. */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/graph.h"
#include "emu/driver/inside.h"

static CUresult check(CUgraphNode node, const void *params, enum cot_emu_task_kind kind)
{
	return node && params && node->task.kind == kind ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Arguments of the same function stay where they are: programs keep the pointers that they got of
 * them, though these need not last, and give them again with one exchanged (llama.cpp, for each
 * token). */
static void keep_place_of_args(struct cot_emu_task *task, struct cot_emu_task *before)
{
	if (task->kind != COT_EMU_TASK_LAUNCH || task->launch.function != before->launch.function ||
	    task->owned_bytes != before->owned_bytes)
		return;
	memcpy(before->owned, task->owned, task->owned_bytes);
	free(task->owned);
	task->owned = before->owned;
	task->launch.args = task->owned;
	before->owned = NULL;
}

/* The node owns the task from now on. */
static CUresult set(CUgraphNode node, struct cot_emu_task *task, CUresult result)
{
	if (result)
		return result;
	if (!node || node->task.kind != task->kind) {
		cot_emu_task_drop(task);
		return CUDA_ERROR_INVALID_VALUE;
	}
	keep_place_of_args(task, &node->task);
	cot_emu_task_drop(&node->task);
	node->task = *task;
	return CUDA_SUCCESS;
}

/* Pointers to the packed arguments; they live as long as the node's task does. */
static CUresult point_to_args(struct CUgraphNode_st *node, void ***ret_params)
{
	const struct cot_emu_launch *l = &node->task.launch;
	uint32_t n = l->function->n_params, i;
	void **params = realloc(node->pointers, (n + 1) * sizeof(*params));

	if (!params)
		return CUDA_ERROR_OUT_OF_MEMORY;
	node->pointers = params;
	for (i = 0; i < n; i++)
		params[i] = (unsigned char *)node->task.owned + l->function->params[i].offset;
	*ret_params = params;
	return CUDA_SUCCESS;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
	CUresult result = check(node, params, COT_EMU_TASK_LAUNCH);
	const struct cot_emu_launch *l;

	if (result)
		return result;
	l = &node->task.launch;
	*params = (CUDA_KERNEL_NODE_PARAMS){
		.func = (CUfunction)(uintptr_t)l->function,
		.kern = cot_emu_function_kernel(l->function),
		.gridDimX = l->grid[0],
		.gridDimY = l->grid[1],
		.gridDimZ = l->grid[2],
		.blockDimX = l->block[0],
		.blockDimY = l->block[1],
		.blockDimZ = l->block[2],
		.sharedMemBytes = l->shared_bytes,
		.ctx = l->context,
	};
	return point_to_args(node, &params->kernelParams);
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
	CUresult result = check(node, params, COT_EMU_TASK_LAUNCH);
	struct cot_emu_task task;

	return result ? result : set(node, &task, cot_emu_kernel_task(params, &node->task, &task));
}

CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
	struct cot_emu_launch *a, *b;

	if (!to || !from || to->task.kind != COT_EMU_TASK_LAUNCH ||
	    from->task.kind != COT_EMU_TASK_LAUNCH)
		return CUDA_ERROR_INVALID_VALUE;
	a = &to->task.launch;
	b = &from->task.launch;
	if (a->context != b->context)
		return CUDA_ERROR_INVALID_CONTEXT;
	a->cooperative = b->cooperative;
	memcpy(a->cluster, b->cluster, sizeof(a->cluster));
	return CUDA_SUCCESS;
}

static CUDA_MEMCPY3D describe_flat(const struct cot_emu_copy *c)
{
	return (CUDA_MEMCPY3D){
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = (uintptr_t)c->from,
		.srcPitch = c->width,
		.srcHeight = 1,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = (uintptr_t)c->to,
		.dstPitch = c->width,
		.dstHeight = 1,
		.WidthInBytes = c->width,
		.Height = 1,
		.Depth = 1,
	};
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *params)
{
	CUresult result = check(node, params, COT_EMU_TASK_COPY);

	if (!result)
		*params = node->task.given ? *node->task.given : describe_flat(&node->task.copy);
	return result;
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params)
{
	CUresult result = check(node, params, COT_EMU_TASK_COPY);
	struct cot_emu_task task;

	return result ? result : set(node, &task, cot_emu_task_copy(params, &task));
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params)
{
	CUresult result = check(node, params, COT_EMU_TASK_SET);
	const struct cot_emu_fill *f;

	if (result)
		return result;
	f = &node->task.fill;
	*params = (CUDA_MEMSET_NODE_PARAMS){.dst = f->to,
					    .pitch = f->pitch,
					    .value = f->value,
					    .elementSize = f->element,
					    .width = f->width,
					    .height = f->height};
	return CUDA_SUCCESS;
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params)
{
	CUresult result = check(node, params, COT_EMU_TASK_SET);
	struct cot_emu_task task;

	return result ? result : set(node, &task, cot_emu_task_fill(params, &task));
}

CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *params)
{
	CUresult result = check(node, params, COT_EMU_TASK_HOST);

	if (result)
		return result;
	params->fn = node->task.host.function;
	params->userData = node->task.host.data;
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
	struct cot_emu_task task;

	if (!node || !params)
		return CUDA_ERROR_INVALID_VALUE;
	return set(node, &task, cot_emu_params_task(params, &node->task, &task));
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_HOST};

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	p.host = *params;
	return cuGraphNodeSetParams(node, &p);
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
	if (!node || !graph || !node->child)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = node->child;
	return CUDA_SUCCESS;
}

static CUresult get_event(CUgraphNode node, CUevent *event, enum cot_emu_task_kind kind)
{
	CUresult result = check(node, event, kind);

	if (!result)
		*event = node->task.event;
	return result;
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event)
{
	return get_event(node, event, COT_EMU_TASK_RECORD);
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event)
{
	return get_event(node, event, COT_EMU_TASK_WAIT);
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD};

	p.event = event;
	return cuGraphNodeSetParams(node, &p);
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
	CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT};

	p.event = event;
	return cuGraphNodeSetParams(node, &p);
}
