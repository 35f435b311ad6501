/* Filling memory, as a task. */
#include "emu/driver/inside.h"
#include "emu/driver/range.h"

CUresult cot_emu_task_fill(const CUDA_MEMSET_NODE_PARAMS *p, struct cot_emu_task *ret_task)
{
	size_t row = p->width * p->elementSize, pitch = p->height > 1 ? p->pitch : row;
	struct cot_emu_range r;

	if (!p->dst || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4) ||
	    p->dst % p->elementSize || !p->width || !p->height || pitch < row)
		return CUDA_ERROR_INVALID_VALUE;
	if (!cot_emu_range_find(p->dst, &r) ||
	    (p->height - 1) * pitch + row > r.bytes - (p->dst - r.start))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_task = (struct cot_emu_task){
		.kind = COT_EMU_TASK_SET,
		.fill = {.to = p->dst,
			 .pitch = pitch,
			 .width = p->width,
			 .height = p->height,
			 .value = p->value,
			 .element = p->elementSize},
	};
	return CUDA_SUCCESS;
}
