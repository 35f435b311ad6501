#include <errno.h>
#include <math.h>

#include "kernels/host/inside.h"

enum { RECORDS, DISTANCES };
enum { THREADS = 256, CHECKED = 1 << 22, MAX_GRID_X = 65535 };

static int create(struct cot_bench_instance *in, uint64_t seed)
{
	size_t n = (size_t)in->n_blocks * THREADS - THREADS / 3;
	float *records = cot_bench_buffer(in, "records", 2 * n, sizeof(float), false);
	float *distances = cot_bench_buffer(in, "distances", n, sizeof(float), true);
	uint32_t n_rows = (in->n_blocks + MAX_GRID_X - 1) / MAX_GRID_X;
	struct cot_bench_step *step;

	if (!records || !distances || cot_bench_steps(in, 1))
		return -ENOMEM;
	cot_bench_fill_f32(records, 2 * n, seed, -90.0f, 90.0f);
	in->real[0] = 30.0f;
	in->real[1] = -45.5f;
	step = cot_bench_step(in, in->bench->entry, (in->n_blocks + n_rows - 1) / n_rows, n_rows,
			      THREADS, 1);
	cot_bench_arg_buffer(step, RECORDS);
	cot_bench_arg_buffer(step, DISTANCES);
	cot_bench_arg_i32(step, (int32_t)n);
	cot_bench_arg_f32(step, in->real[0]);
	cot_bench_arg_f32(step, in->real[1]);
	return 0;
}

static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	const float *records = in->buffers[RECORDS].data, *distances = result[DISTANCES];
	size_t i, n = in->buffers[DISTANCES].size_bytes / sizeof(float);

	for (i = 0; i < cot_bench_n_samples(n, CHECKED); i++) {
		size_t k = cot_bench_sample(i, n, CHECKED);
		float dx = in->real[0] - records[2 * k], dy = in->real[1] - records[2 * k + 1];

		cot_bench_same_f32(verdict, "distances", k, distances[k], sqrtf(dx * dx + dy * dy));
	}
	return 0;
}

const struct cot_bench cot_bench_nn = {
	.name = "nn",
	.summary = "distances of records from one place",
	.entry = "euclid",
	.n_threads = THREADS,
	.blocks = {19, 32768, 32768, 1310720},
	.create = create,
	.check = check,
};
