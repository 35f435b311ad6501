#include <errno.h>

#include "kernels/host/inside.h"

enum { A, B, C };
enum { THREADS = 256, CHECKED = 1 << 22 };

static int create(struct cot_bench_instance *in, uint64_t seed)
{
	/* The last block has less to do than the others. */
	size_t n = (size_t)in->n_blocks * THREADS - THREADS / 3;
	float *a = cot_bench_buffer(in, "a", n, sizeof(float), false);
	float *b = cot_bench_buffer(in, "b", n, sizeof(float), false);
	float *c = cot_bench_buffer(in, "c", n, sizeof(float), true);
	struct cot_bench_step *step;

	if (!a || !b || !c || cot_bench_steps(in, 1))
		return -ENOMEM;
	cot_bench_fill_f32(a, n, seed, -1.0f, 1.0f);
	cot_bench_fill_f32(b, n, seed + 1, -1.0f, 1.0f);
	step = cot_bench_step(in, in->bench->entry, in->n_blocks, 1, THREADS, 1);
	cot_bench_arg_buffer(step, A);
	cot_bench_arg_buffer(step, B);
	cot_bench_arg_buffer(step, C);
	cot_bench_arg_i32(step, (int32_t)n);
	return 0;
}

static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	const float *a = in->buffers[A].data, *b = in->buffers[B].data, *c = result[C];
	size_t i, n = in->buffers[C].size_bytes / sizeof(float);

	for (i = 0; i < cot_bench_n_samples(n, CHECKED); i++) {
		size_t k = cot_bench_sample(i, n, CHECKED);

		cot_bench_same_f32(verdict, "c", k, c[k], a[k] + b[k]);
	}
	return 0;
}

const struct cot_bench cot_bench_vector_add = {
	.name = "vectorAdd",
	.summary = "adds two vectors",
	.entry = "vectorAdd",
	.n_threads = THREADS,
	.blocks = {23, 156250, 156250, 1250000},
	.create = create,
	.check = check,
};
