/* What a node of a graph does, from the parameters of its type. */
#include <string.h>

#include "emu/driver/graph.h"
#include "emu/driver/inside.h"
#include "emu/driver/launch.h"

static struct cot_emu_wishes wishes_of(const struct cot_emu_task *before)
{
	struct cot_emu_wishes w = {.cooperative = false};

	if (before && before->kind == COT_EMU_TASK_LAUNCH) {
		w.cooperative = before->launch.cooperative;
		memcpy(w.cluster, before->launch.cluster, sizeof(w.cluster));
	}
	return w;
}

/*
 * A function runs in the context where it was loaded, on the part of it that is current, whatever
 * the parameters say; a kernel, which is in no context, in the one that they name, or in the
 * current one.
 */
static CUresult place_of(const CUDA_KERNEL_NODE_PARAMS *p, struct cot_emu_place *ret_place)
{
	const struct cot_emu_function *f = (const void *)p->func;

	if (!f || f->tag != COT_EMU_FUNCTION_TAG)
		return cot_emu_place_get(f ? NULL : p->ctx, ret_place);
	*ret_place = cot_emu_current_place();
	if (ret_place->context != f->module->context)
		*ret_place = (struct cot_emu_place){f->module->context, NULL};
	return (CUresult)atomic_load(&f->module->context->fault);
}

CUresult cot_emu_kernel_task(const CUDA_KERNEL_NODE_PARAMS *p, const struct cot_emu_task *before,
			     struct cot_emu_task *ret_task)
{
	CUlaunchConfig config = {.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
				 .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
				 .sharedMemBytes = p->sharedMemBytes};
	const struct cot_emu_wishes w = wishes_of(before);
	struct cot_emu_place place;
	CUresult result = place_of(p, &place);

	if (result)
		return result;
	return cot_emu_task_launch(place, &config, p->func ? p->func : (CUfunction)p->kern,
				   p->kernelParams, p->extra, &w, ret_task);
}

static CUresult event_task(enum cot_emu_task_kind kind, CUevent event,
			   struct cot_emu_task *ret_task)
{
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	cot_emu_event_ref(event);
	*ret_task = (struct cot_emu_task){.kind = kind, .event = event};
	return CUDA_SUCCESS;
}

CUresult cot_emu_params_task(const CUgraphNodeParams *p, const struct cot_emu_task *before,
			     struct cot_emu_task *ret_task)
{
	struct cot_emu_task t = {.kind = COT_EMU_TASK_EMPTY};

	switch (p->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return cot_emu_kernel_task(&p->kernel, before, ret_task);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		return cot_emu_task_copy(&p->memcpy.copyParams, ret_task);
	case CU_GRAPH_NODE_TYPE_MEMSET:
		return cot_emu_task_fill(&p->memset, ret_task);
	case CU_GRAPH_NODE_TYPE_HOST:
		if (!p->host.fn)
			return CUDA_ERROR_INVALID_VALUE;
		t.kind = COT_EMU_TASK_HOST;
		t.host.function = p->host.fn;
		t.host.data = p->host.userData;
		break;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return event_task(COT_EMU_TASK_RECORD, p->event, ret_task);
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		return event_task(COT_EMU_TASK_WAIT, p->event, ret_task);
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_GRAPH: /* the child comes beside the task */
		break;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	*ret_task = t;
	return CUDA_SUCCESS;
}
