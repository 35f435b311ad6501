#include <errno.h>

#include "kernels/host/inside.h"

enum { C, A, B };
enum { TILE = 32, CHECKED = 1 << 14, GROUP = 16 };
enum { ROWS, INNER, COLUMNS }; /* in->number */

/* As square as n_blocks tiles can be. */
static uint32_t tiles_high(uint32_t n_blocks)
{
	uint32_t i, best = 1;

	for (i = 1; (uint64_t)i * i <= n_blocks; i++)
		if (n_blocks % i == 0)
			best = i;
	return best;
}

static int create(struct cot_bench_instance *in, uint64_t seed)
{
	uint32_t high = tiles_high(in->n_blocks), wide = in->n_blocks / high;
	size_t rows = (size_t)high * TILE, columns = (size_t)wide * TILE;
	size_t inner = in->work ? in->work : columns;
	float *c = cot_bench_buffer(in, "c", rows * columns, sizeof(float), true);
	float *a = cot_bench_buffer(in, "a", rows * inner, sizeof(float), false);
	float *b = cot_bench_buffer(in, "b", inner * columns, sizeof(float), false);
	struct cot_bench_step *step;

	if (!a || !b || !c || cot_bench_steps(in, 1))
		return -ENOMEM;
	in->number[ROWS] = (int64_t)rows;
	in->number[INNER] = (int64_t)inner;
	in->number[COLUMNS] = (int64_t)columns;
	cot_bench_fill_f32(a, rows * inner, seed, -1.0f, 1.0f);
	cot_bench_fill_f32(b, inner * columns, seed + 1, -1.0f, 1.0f);
	step = cot_bench_step(in, in->bench->entry, wide, high, TILE, TILE);
	cot_bench_arg_buffer(step, C);
	cot_bench_arg_buffer(step, A);
	cot_bench_arg_buffer(step, B);
	cot_bench_arg_i32(step, (int32_t)inner);
	cot_bench_arg_i32(step, (int32_t)columns);
	return 0;
}

/*
 * Elements of the product, GROUP at a time: each column is a cache miss per row, and those of
 * several elements do not wait for one another.
 */
static void multiply(const struct cot_bench_instance *in, const size_t *places, float *sums)
{
	const float *a = in->buffers[A].data, *b = in->buffers[B].data;
	size_t inner = (size_t)in->number[INNER], columns = (size_t)in->number[COLUMNS], i, j;
	const float *row[GROUP], *column[GROUP];

	for (i = 0; i < GROUP; i++) {
		row[i] = a + places[i] / columns * inner;
		column[i] = b + places[i] % columns;
		sums[i] = 0.0f;
	}
	for (j = 0; j < inner; j++)
		for (i = 0; i < GROUP; i++)
			sums[i] += row[i][j] * column[i][j * columns];
}

static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	size_t n = (size_t)in->number[ROWS] * (size_t)in->number[COLUMNS], i, k;
	size_t n_samples = cot_bench_n_samples(n, CHECKED), places[GROUP];
	const float *c = result[C];
	float sums[GROUP];

	for (i = 0; i < n_samples; i += GROUP) {
		for (k = 0; k < GROUP; k++)
			places[k] = i + k < n_samples ? cot_bench_sample(i + k, n, CHECKED) : 0;
		multiply(in, places, sums);
		for (k = 0; k < GROUP && i + k < n_samples; k++)
			cot_bench_same_f32(verdict, "c", places[k], c[places[k]], sums[k]);
	}
	return 0;
}

const struct cot_bench cot_bench_matrix_mul = {
	.name = "matrixMul",
	.summary = "product of two matrices, by tiles",
	.entry = "matrixMulCUDA",
	.n_threads = TILE * TILE,
	.blocks = {6, 1024, 16384, 16384},
	.work = {32, 0, 0, 0}, /* columns of A; 0: as many as there are columns in the product */
	.create = create,
	.check = check,
};
