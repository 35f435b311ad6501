/*
 * The kernels of kernels/shapes.cu on the CPU: one block after the other, barrier by barrier. All
 * write to `out`, which has a word for each thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "kernels/host/inside.h"

#define MAX_THREADS 128u
#define MAX_LENGTH  7u

enum { OUT, LENGTHS };
enum { TAKES_N = 1, TAKES_LENGTHS = 2 };

/* One block: its index, and what it reads and writes. */
struct block {
	const struct cot_bench_step *step;
	uint32_t x, y, z, number, n;
	const uint32_t *lengths;
	uint32_t *out;
};

struct shape {
	struct cot_bench bench; /* first */
	uint32_t grid[3], block[3], shared_bytes, takes;
	void (*run)(const struct block *b);
};

static uint32_t mix(uint32_t a, uint32_t b)
{
	a = (a ^ b) * 0x9e3779b1u;
	return a ^ a >> 15;
}

static uint32_t threads_of(const struct block *b)
{
	return b->step->block[0] * b->step->block[1] * b->step->block[2];
}

static void change(const struct block *b, uint32_t i, uint32_t value)
{
	b->out[i] = mix(b->out[i], value);
}

static void early_return(const struct block *b)
{
	uint32_t dim = threads_of(b), first = b->x * dim, t;

	for (t = 0; t < dim; t++)
		if ((first + t) % 7 != 3 && first + t < b->n)
			change(b, first + t,
			       mix(first + (t + 1) % dim, 1) + mix(first + (t + 2) % dim, 2));
}

static void rounds(const struct block *b)
{
	uint32_t dim = threads_of(b), first = b->x * dim, sum = b->x, before, t, k;
	uint32_t seen[MAX_THREADS] = {0};

	for (k = 0; k < 9; k++) {
		before = sum;
		for (t = 0; t < dim; t++) {
			if (k >= mix(first + t, 5) % 9)
				continue;
			seen[t] = mix(seen[t], before);
			if (t == dim - 1 || t % 32 == k)
				sum += t + k;
		}
	}
	for (t = 0; t < dim; t++)
		if (first + t < b->n)
			change(b, first + t, seen[t]);
}

static void sums(const struct block *b)
{
	uint32_t dim = threads_of(b), t, k, total;

	for (t = 0; t < dim; t++) {
		for (total = 0, k = 0; k < b->lengths[b->x]; k++)
			total = mix(total, mix(k, (t * 3 + 1) % dim + b->x));
		if (b->x * dim + t < b->n)
			change(b, b->x * dim + t, total);
	}
}

static void volume(const struct block *b)
{
	uint32_t t, i;

	for (t = 0; t < threads_of(b); t++) {
		i = b->number * threads_of(b) + t;
		b->out[i] = mix(mix(b->out[i], b->x), mix(b->y, b->z + b->step->grid[2]));
	}
}

static void planes(const struct block *b)
{
	uint32_t t;

	for (t = 0; t < threads_of(b); t++)
		b->out[b->z] += t + 1;
}

static uint32_t place(const struct block *b, uint32_t k)
{
	return b->x + b->step->grid[0] * b->y + k * 1000;
}

static void calls(const struct block *b)
{
	uint32_t t;

	for (t = 0; t < threads_of(b); t++)
		change(b, b->number * threads_of(b) + t,
		       t & 1 ? place(b, t) ^ b->y : place(b, t + 1) + b->step->grid[1]);
}

static void warp_sum(const struct block *b)
{
	uint32_t t, sum = 0;

	for (t = 0; t < threads_of(b); t++)
		sum += mix(b->x, t);
	change(b, b->x, sum);
}

static void groups(const struct block *b)
{
	uint32_t t;

	for (t = 0; t < threads_of(b); t++)
		change(b, b->x * 128 + t, mix(b->x * 128 + (t ^ 33), 77));
}

static void dynamic_shared(const struct block *b)
{
	uint32_t dim = threads_of(b), t;

	for (t = 0; t < dim; t++)
		change(b, b->x * dim + t, mix(b->x * dim + dim - 1 - t, 9));
}

static void no_index(const struct block *b)
{
	uint32_t t;

	for (t = 0; t < threads_of(b); t++)
		b->out[t]++;
}

static void local_array(const struct block *b)
{
	uint32_t t, k, i, a[16];

	for (t = 0; t < threads_of(b); t++) {
		i = b->x * threads_of(b) + t;
		for (k = 0; k < 16; k++)
			a[k] = mix(i, k);
		for (k = 0; k < 40; k++)
			a[a[k & 15] & 15] = mix(a[k & 15], k);
		change(b, i, a[i & 15]);
	}
}

/* Wider for larger sizes; never higher or deeper. */
static int create(struct cot_bench_instance *in, uint64_t seed)
{
	const struct shape *shape = (const struct shape *)(const void *)in->bench;
	uint32_t deep = shape->grid[1] * shape->grid[2], wide = in->n_blocks / deep;
	struct cot_bench_step *step;
	uint32_t *out, *lengths;
	size_t n;

	wide = wide ? wide : 1;
	in->n_blocks = wide * deep;
	n = (size_t)in->n_blocks * in->bench->n_threads;
	out = cot_bench_buffer(in, "out", n, sizeof(*out), true);
	lengths = cot_bench_buffer(in, "lengths", in->n_blocks, sizeof(*lengths), false);
	if (!out || !lengths || cot_bench_steps(in, 1))
		return -ENOMEM;
	cot_bench_fill_u32(out, n, seed, UINT32_MAX);
	cot_bench_fill_u32(lengths, in->n_blocks, seed + 1, MAX_LENGTH);
	step = cot_bench_step(in, in->bench->entry, wide, shape->grid[1], shape->block[0],
			      shape->block[1]);
	step->grid[2] = shape->grid[2];
	step->shared_bytes = shape->shared_bytes;
	cot_bench_arg_buffer(step, OUT);
	if (shape->takes & TAKES_LENGTHS)
		cot_bench_arg_buffer(step, LENGTHS);
	if (shape->takes & TAKES_N)
		cot_bench_arg_u32(step, (uint32_t)n);
	return 0;
}

static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	const struct shape *shape = (const struct shape *)(const void *)in->bench;
	const struct cot_bench_step *step = &in->steps[0];
	const uint32_t *got = result[OUT];
	size_t n = in->buffers[OUT].size_bytes / sizeof(*got), i;
	struct block b = {.step = step, .n = (uint32_t)n, .lengths = in->buffers[LENGTHS].data};

	b.out = malloc(n * sizeof(*b.out));
	if (!b.out)
		return -ENOMEM;
	memcpy(b.out, in->buffers[OUT].data, n * sizeof(*b.out));
	for (b.z = 0; b.z < step->grid[2]; b.z++)
		for (b.y = 0; b.y < step->grid[1]; b.y++)
			for (b.x = 0; b.x < step->grid[0]; b.x++) {
				shape->run(&b);
				b.number++;
			}
	for (i = 0; i < n; i++)
		cot_bench_same_u64(verdict, "out", i, got[i], b.out[i]);
	free(b.out);
	return 0;
}

#define SHAPE(function, text, threads, gx, gy, gz, ...)                                    \
	static const struct shape shape_##function = {                                     \
		.bench = {.name = #function,                                               \
			  .summary = text,                                                 \
			  .entry = #function,                                              \
			  .file = "shapes",                                                \
			  .n_threads = threads,                                            \
			  .blocks = {(gx) * (gy) * (gz), 16 * (gx) * (gy) * (gz),          \
				     256 * (gx) * (gy) * (gz), 4096 * (gx) * (gy) * (gz)}, \
			  .create = create,                                                \
			  .check = check},                                                 \
		.grid = {gx, gy, gz},                                                      \
		.run = function,                                                           \
		__VA_ARGS__,                                                               \
	}

SHAPE(early_return, "threads return before a barrier", 100, 7, 1, 1, .block = {100, 1, 1},
      .takes = TAKES_N);
SHAPE(rounds, "threads return after rounds of their own", 100, 6, 1, 1, .block = {100, 1, 1},
      .takes = TAKES_N);
SHAPE(sums, "barriers in a loop whose length depends on the block", 70, 9, 1, 1,
      .block = {70, 1, 1}, .takes = TAKES_N | TAKES_LENGTHS);
SHAPE(volume, "all of the index of a grid of three dimensions", 32, 3, 4, 5, .block = {8, 4, 1});
SHAPE(planes, "only the planes of the grid matter", 33, 2, 3, 7, .block = {33, 1, 1});
SHAPE(calls, "the index read in called functions", 40, 5, 4, 1, .block = {40, 1, 1});
SHAPE(warp_sum, "one warp goes on, the others return", 96, 11, 1, 1, .block = {96, 1, 1});
SHAPE(groups, "two groups of threads with barriers of their own", 128, 6, 1, 1,
      .block = {128, 1, 1});
SHAPE(dynamic_shared, "shared memory that the launch sizes", 50, 8, 1, 1, .block = {50, 1, 1},
      .shared_bytes = 200);
SHAPE(no_index, "neither the index nor the grid's size is read", 64, 4, 3, 2, .block = {64, 1, 1});
SHAPE(local_array, "an array in local memory", 64, 5, 1, 1, .block = {64, 1, 1});

const struct cot_bench *const cot_bench_shapes[] = {
	&shape_early_return.bench, &shape_rounds.bench,	     &shape_sums.bench,
	&shape_volume.bench,	   &shape_planes.bench,	     &shape_calls.bench,
	&shape_warp_sum.bench,	   &shape_groups.bench,	     &shape_dynamic_shared.bench,
	&shape_no_index.bench,	   &shape_local_array.bench, &cot_bench_aes,
	&cot_bench_monte_carlo,	   &cot_bench_search,
};
const unsigned cot_bench_n_shapes = COT_ARRAY_LEN(cot_bench_shapes);
