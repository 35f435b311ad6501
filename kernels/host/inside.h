/*
 * What the host halves of the benchmarks are made of: buffers, steps and comparisons. Inside
 * kernels/host only.
 */
#ifndef COT_KERNELS_HOST_INSIDE_H
#define COT_KERNELS_HOST_INSIDE_H

#include "kernels/host/bench.h"

/* A new zeroed buffer, the next index; NULL: out of memory. */
void *cot_bench_buffer(struct cot_bench_instance *in, const char *name, size_t n, size_t size,
		       bool is_output);

/* Room for n steps. */
int cot_bench_steps(struct cot_bench_instance *in, uint32_t n);
/* Begins the next step: a grid of gx * gy blocks of bx * by threads. */
struct cot_bench_step *cot_bench_step(struct cot_bench_instance *in, const char *entry, uint32_t gx,
				      uint32_t gy, uint32_t bx, uint32_t by);
void cot_bench_arg_buffer(struct cot_bench_step *step, uint32_t buffer);
void cot_bench_arg_i32(struct cot_bench_step *step, int32_t value);
void cot_bench_arg_u32(struct cot_bench_step *step, uint32_t value);
void cot_bench_arg_f32(struct cot_bench_step *step, float value);
struct cot_bench_arg *cot_bench_arg_bytes(struct cot_bench_step *step, const void *bytes,
					  uint32_t size);

/*
 * Numbers from [low, high), or integers below `end`. A long array repeats itself, so that gigabytes
 * take no time; the period is a prime, and no two blocks get the same numbers.
 */
void cot_bench_fill_f32(float *values, size_t n, uint64_t seed, float low, float high);
void cot_bench_fill_u32(uint32_t *values, size_t n, uint64_t seed, uint32_t end);

/*
 * The i-th of the places that check looks at: all n if there are at most `limit`, otherwise `limit`
 * of them by chance, the last one among them.
 */
size_t cot_bench_n_samples(size_t n, size_t limit);
size_t cot_bench_sample(size_t i, size_t n, size_t limit);

/* Counts one comparison, bit for bit. */
void cot_bench_same_f32(struct cot_bench_verdict *v, const char *what, size_t i, float got,
			float want);
void cot_bench_same_f64(struct cot_bench_verdict *v, const char *what, size_t i, double got,
			double want);
void cot_bench_same_u64(struct cot_bench_verdict *v, const char *what, size_t i, uint64_t got,
			uint64_t want);

extern const struct cot_bench cot_bench_vector_add;
extern const struct cot_bench cot_bench_nn;
extern const struct cot_bench cot_bench_black_scholes;
extern const struct cot_bench cot_bench_matrix_mul;
extern const struct cot_bench cot_bench_pathfinder;
extern const struct cot_bench cot_bench_bfs;
extern const struct cot_bench cot_bench_md5;
extern const struct cot_bench cot_bench_lava_md;
extern const struct cot_bench cot_bench_myocyte;
extern const struct cot_bench cot_bench_particle_filter;
extern const struct cot_bench cot_bench_lulesh;
extern const struct cot_bench cot_bench_aes;
extern const struct cot_bench cot_bench_monte_carlo;
extern const struct cot_bench cot_bench_search;

#endif
