#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/host/inside.h"

enum { WALL, FIRST, SECOND };
enum { BLOCK = 256, BORDER = 20, STRIDE = BLOCK - 2 * BORDER };
enum { ROWS, COLUMNS, LAST }; /* in->number */

static int32_t *new_buffer(struct cot_bench_instance *in, const char *name, size_t n)
{
	return cot_bench_buffer(in, name, n, sizeof(int32_t), true);
}

/* in->work rows; each step adds BORDER of them and writes to the buffer that it does not read. */
static int create(struct cot_bench_instance *in, uint64_t seed)
{
	size_t columns = (size_t)in->n_blocks * STRIDE - STRIDE / 3, rows = in->work;
	uint32_t row, from = FIRST;
	int32_t *wall, *first;

	wall = cot_bench_buffer(in, "wall", rows * columns, sizeof(int32_t), false);
	first = new_buffer(in, "first", columns);
	if (!wall || !first || !new_buffer(in, "second", columns) ||
	    cot_bench_steps(in, (uint32_t)(rows / BORDER + 1)))
		return -ENOMEM;
	cot_bench_fill_u32((uint32_t *)wall, rows * columns, seed, 10);
	memcpy(first, wall, columns * sizeof(wall[0]));
	for (row = 1; row < rows; row += BORDER) {
		struct cot_bench_step *step =
			cot_bench_step(in, in->bench->entry, in->n_blocks, 1, BLOCK, 1);
		uint32_t n = rows - row < BORDER ? (uint32_t)rows - row : BORDER;

		cot_bench_arg_i32(step, (int32_t)n);
		cot_bench_arg_i32(step, (int32_t)row);
		cot_bench_arg_buffer(step, WALL);
		cot_bench_arg_buffer(step, from);
		from = from == FIRST ? SECOND : FIRST;
		cot_bench_arg_buffer(step, from);
		cot_bench_arg_i32(step, (int32_t)columns);
		cot_bench_arg_i32(step, BORDER);
	}
	in->number[ROWS] = (int64_t)rows;
	in->number[COLUMNS] = (int64_t)columns;
	in->number[LAST] = from;
	return 0;
}

/* Row by row over the whole width, in place: the value above and to the left is kept aside. */
static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	size_t columns = (size_t)in->number[COLUMNS], rows = (size_t)in->number[ROWS], i, row;
	const int32_t *wall = in->buffers[WALL].data, *got = result[in->number[LAST]];
	int32_t *best = malloc(columns * sizeof(best[0]));

	if (!best)
		return -ENOMEM;
	memcpy(best, wall, columns * sizeof(best[0]));
	for (row = 1; row < rows; row++) {
		int32_t left = best[0];

		for (i = 0; i < columns; i++) {
			int32_t here = best[i], least = here < left ? here : left;

			if (i + 1 < columns && best[i + 1] < least)
				least = best[i + 1];
			best[i] = wall[row * columns + i] + least;
			left = here;
		}
	}
	for (i = 0; i < columns; i++)
		cot_bench_same_u64(verdict, "result", i, (uint64_t)got[i], (uint64_t)best[i]);
	free(best);
	return 0;
}

const struct cot_bench cot_bench_pathfinder = {
	.name = "pathfinder",
	.summary = "cheapest way through a grid",
	.entry = "dynproc_kernel",
	.n_threads = BLOCK,
	.blocks = {9, 23149, 23149, 23149},
	.work = {26, 101, 101, 101}, /* rows */
	.create = create,
	.check = check,
};
