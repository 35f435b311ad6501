/*
 * The `program:` of an application or a trace: what may be written there, and the way from there to
 * flat steps and kernels. Private to src/trace.
 */
#ifndef COT_TRACE_PROGRAM_H
#define COT_TRACE_PROGRAM_H

#include <stdbool.h>

#include "text/yaml.h"
#include "trace/scenario.h"

#define COT_PROGRAM_STEPS_MAX 4096u /* written in one list; loops unroll to COT_MAX_STEPS */

/* A kernel as it is written; 0: the key was left out. */
struct cot_written_kernel {
	/* Of the work all but the instructions of insts_per_warp; its defaults are filled in. */
	struct cot_kernel kernel;
	uint64_t kernel_ps; /* all blocks, alone on the GPU */
	uint32_t threads_per_block;
	uint64_t insts_per_warp;
};

/* The rows of a step whose kernel is described in full, and of one whose kernel names a row of a
 * table. */
extern const struct cot_field cot_program_step_fields[];
extern const struct cot_field cot_program_trace_step_fields[];

#define COT_STEP_US_MIN	   1e-6 /* the simulator's resolution */
#define COT_STEP_US_MAX	   COT_KERNEL_BLOCK_US_MAX
#define COT_STEP_BYTES_MAX 1099511627776.0 /* 1 TiB */
#define COT_REGS_MAX	   16777216u
#define COT_SHMEM_MAX	   67108864u
#define COT_THREADS_MAX	   65536u
#define COT_WARPS_MAX	   2048u
#define COT_INSTS_MAX	   1e12

/* Owns the steps and kernels of one program. */
struct cot_program_store {
	struct cot_step *steps;
	struct cot_kernel *kernels;
	uint32_t n_steps, n_kernels;
	size_t cap_steps, cap_kernels;
};

void cot_program_store_finish(struct cot_program_store *store);
struct cot_program cot_program_store_view(const struct cot_program_store *store);

/* Who turns a written kernel into a resolved one; `node` is its place in `doc`. */
struct cot_program_source {
	const struct cot_yaml *doc;
	const struct cot_field *fields; /* of a step */
	int (*kernel)(const struct cot_program_source *src,
		      const struct cot_written_kernel *written, uint32_t node,
		      struct cot_kernel *ret_kernel, struct cot_error *err);
	const void *arg;
};

/*
 * Fills an empty store from a list of steps, loops unrolled. On failure the store may hold a part;
 * finish it in any case.
 */
int cot_program_build(const struct cot_program_source *src, uint32_t list,
		      struct cot_program_store *store, struct cot_error *err);

/* Whether a written kernel says what its blocks do: any key from warps_per_block on. */
bool cot_program_says_work(const struct cot_yaml *doc, uint32_t kernel);

/* One run of the program alone on the GPU, in microseconds: kernels in waves, nothing overlaps. */
double cot_program_solo_us(const struct cot_program *program, const struct cot_gpu *gpu);

#endif
