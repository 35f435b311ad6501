/*
 * The host's half of the pass `batch`: several launches in one parameter.
 */
#include <errno.h>
#include <string.h>

#include "cotenant/passes.h"

#define PARAMS_MAX 4096u /* bytes of parameters that every driver takes */
#define ALIGN_MIN  16u

static uint64_t round_up(uint64_t n, uint32_t align)
{
	return (n + align - 1) / align * align;
}

int cot_batch_shape_make(uint32_t params_bytes, uint32_t align, struct cot_batch_shape *ret_shape)
{
	struct cot_batch_shape shape = {.params_bytes = params_bytes};
	uint64_t stride;

	if (!align || align & (align - 1))
		return -EINVAL;
	shape.align = align > ALIGN_MIN ? align : ALIGN_MIN;
	if (params_bytes > PARAMS_MAX || shape.align > PARAMS_MAX)
		return -E2BIG;
	shape.at = (uint32_t)round_up(sizeof(struct cot_batch_head), shape.align);
	shape.params = (uint32_t)round_up(sizeof(struct cot_batch_instance), shape.align);
	stride = round_up((uint64_t)shape.params + params_bytes, shape.align);
	shape.stride = (uint32_t)stride;
	if (shape.at + 2 * stride > PARAMS_MAX)
		return -E2BIG;
	shape.n_max = (PARAMS_MAX - shape.at) / shape.stride;
	if (shape.n_max > COT_BATCH_MAX)
		shape.n_max = COT_BATCH_MAX;
	shape.bytes = shape.at + shape.n_max * shape.stride;
	*ret_shape = shape;
	return 0;
}

void cot_batch_begin(const struct cot_batch_shape *shape, void *args)
{
	memset(args, 0, shape->bytes);
}

int cot_batch_add(const struct cot_batch_shape *shape, void *args, const uint32_t grid[3],
		  const void *params, uint32_t *ret_n_blocks)
{
	struct cot_batch_instance instance = {.grid = {grid[0], grid[1], grid[2]}};
	struct cot_batch_head head;
	uint64_t plane = (uint64_t)grid[0] * grid[1], n_blocks;
	unsigned char *at;

	memcpy(&head, args, sizeof(head));
	if (!plane || !grid[2])
		return -EINVAL;
	if (head.n == shape->n_max)
		return -ENOSPC;
	if (plane > UINT32_MAX || plane * grid[2] + head.n_blocks > UINT32_MAX)
		return -ERANGE;
	n_blocks = plane * grid[2] + head.n_blocks;
	instance.first = head.n_blocks;
	instance.by_row = cot_divider_make(grid[0]);
	instance.by_column = cot_divider_make(grid[1]);
	at = (unsigned char *)args + shape->at + (size_t)head.n * shape->stride;
	memcpy(at, &instance, sizeof(instance));
	if (shape->params_bytes)
		memcpy(at + shape->params, params, shape->params_bytes);
	head.n++;
	head.n_blocks = (uint32_t)n_blocks;
	if (head.n > 2 * head.step)
		head.step = head.step ? 2 * head.step : head.n > 1;
	memcpy(args, &head, sizeof(head));
	*ret_n_blocks = head.n_blocks;
	return 0;
}
