#include <errno.h>
#include <stdlib.h>

#include "base/rng.h"
#include "kernels/host/inside.h"

enum { LEVELS, FIRST, EDGES, ANY };
enum { THREADS = 1024, WARP = 32, MAX_DEGREE = 11, MAX_LEVELS = 64 };
#define UNREACHED UINT32_MAX

/* A random graph: each vertex has up to MAX_DEGREE edges to anywhere. Vertex 0 is the source. */
static int make_graph(struct cot_bench_instance *in, uint32_t n, uint64_t seed)
{
	struct cot_rng rng = {seed};
	uint32_t *levels = cot_bench_buffer(in, "levels", n, sizeof(uint32_t), true);
	uint32_t *first = cot_bench_buffer(in, "first", n + 1, sizeof(uint32_t), false);
	uint32_t *edges, i;

	if (!levels || !first)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		levels[i] = i ? UNREACHED : 0;
		first[i + 1] = first[i] + 1 + (uint32_t)cot_rng_below(&rng, MAX_DEGREE);
	}
	edges = cot_bench_buffer(in, "edges", first[n], sizeof(uint32_t), false);
	if (!edges)
		return -ENOMEM;
	for (i = 0; i < first[n]; i++)
		edges[i] = (uint32_t)cot_rng_below(&rng, n);
	return cot_bench_buffer(in, "any", 1, sizeof(uint32_t), false) ? 0 : -ENOMEM;
}

static int create(struct cot_bench_instance *in, uint64_t seed)
{
	uint32_t n = in->n_blocks * THREADS - THREADS / 3, i;

	if (make_graph(in, n, seed) || cot_bench_steps(in, MAX_LEVELS))
		return -ENOMEM;
	for (i = 0; i < MAX_LEVELS; i++) {
		struct cot_bench_step *step =
			cot_bench_step(in, in->bench->entry, in->n_blocks, 1, THREADS, 1);

		cot_bench_arg_buffer(step, LEVELS);
		cot_bench_arg_buffer(step, FIRST);
		cot_bench_arg_buffer(step, EDGES);
		cot_bench_arg_i32(step, WARP);
		cot_bench_arg_i32(step, WARP); /* vertices for each warp: one for each thread */
		cot_bench_arg_u32(step, n);
		cot_bench_arg_u32(step, i);
		cot_bench_arg_buffer(step, ANY);
	}
	in->stop_buffer = ANY;
	in->number[0] = n;
	return 0;
}

/* With a queue, vertex by vertex. */
static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	const uint32_t *first = in->buffers[FIRST].data, *edges = in->buffers[EDGES].data;
	const uint32_t *got = result[LEVELS];
	uint32_t n = (uint32_t)in->number[0], head = 0, tail = 1, i;
	uint32_t *queue = malloc(n * sizeof(queue[0]));
	uint32_t *level = malloc(n * sizeof(level[0]));

	if (!queue || !level) {
		free(queue);
		free(level);
		return -ENOMEM;
	}
	for (i = 0; i < n; i++)
		level[i] = i ? UNREACHED : 0;
	queue[0] = 0;
	while (head < tail) {
		uint32_t v = queue[head++];

		for (i = first[v]; i < first[v + 1]; i++) {
			if (level[edges[i]] != UNREACHED)
				continue;
			level[edges[i]] = level[v] + 1;
			queue[tail++] = edges[i];
		}
	}
	for (i = 0; i < n; i++)
		cot_bench_same_u64(verdict, "levels", i, got[i], level[i]);
	free(queue);
	free(level);
	return 0;
}

const struct cot_bench cot_bench_bfs = {
	.name = "bfs",
	.summary = "breadth-first search in a graph, level by level",
	.entry = "BFS_kernel_warp",
	.n_threads = THREADS,
	.blocks = {4, 3907, 3907, 3907},
	.create = create,
	.check = check,
};
