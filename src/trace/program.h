/*
 * The `program:` of an application or a trace: the form in which it is written (structs that
 * libcyaml fills) and the way from there to flat steps and kernels. Private to src/trace.
 */
#ifndef COT_TRACE_PROGRAM_H
#define COT_TRACE_PROGRAM_H

#include <stdbool.h>

#include "text/yaml.h"
#include "trace/scenario.h"

#define COT_PROGRAM_STEPS_MAX 4096u /* written in one list; loops unroll to COT_MAX_STEPS */

/* Pointers are NULL where the key was left out. */
struct cot_raw_kernel {
	char *name;
	uint32_t *blocks;
	double *block_us, *kernel_us;
	uint32_t *blocks_per_sm;
	uint32_t *regs_per_block, *shmem_per_block, *threads_per_block;
	uint32_t *launches;
	uint32_t *warps_per_block;
	uint64_t *insts_per_warp, *insts_per_block;
	double *cpi, *mem_fraction, *dram_bytes, *latency_cycles, *mlp, *ipc_max;
};

struct cot_raw_repeat;

struct cot_raw_step {
	double *cpu_us;
	uint64_t *h2d_bytes, *d2h_bytes;
	struct cot_raw_kernel *kernel;
	bool *sync;
	struct cot_raw_repeat *repeat;
};

struct cot_raw_repeat {
	uint32_t times;
	struct cot_raw_step *program;
	uint32_t program_count;
};

/* A step whose kernel is described in full, and one whose kernel names a row of a table. */
extern const struct cyaml_schema_value cot_program_step_schema;
extern const struct cyaml_schema_value cot_program_trace_step_schema;

/* The limits of all numbers in programs. */
extern const struct cot_yaml_range cot_program_ranges[];

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
	uint32_t n_steps, cap_steps;
	uint32_t n_kernels, cap_kernels;
};

void cot_program_store_finish(struct cot_program_store *store);
struct cot_program cot_program_store_view(const struct cot_program_store *store);

/* Who turns a written kernel into a resolved one; `path` places a mistake in `doc`. */
struct cot_program_source {
	const struct cot_yaml *doc;
	int (*kernel)(const struct cot_program_source *src, const struct cot_raw_kernel *raw,
		      const char *path, struct cot_kernel *ret_kernel, struct cot_error *err);
	const void *arg;
};

/*
 * Fills an empty store from the list at `path`, loops unrolled. On failure the store may hold a
 * part; finish it in any case.
 */
int cot_program_build(const struct cot_program_source *src, const char *path,
		      const struct cot_raw_step *steps, uint32_t n_steps,
		      struct cot_program_store *store, struct cot_error *err);

/* One run of the program alone on the GPU, in microseconds: kernels in waves, nothing overlaps. */
double cot_program_solo_us(const struct cot_program *program, const struct cot_gpu *gpu);

#endif
