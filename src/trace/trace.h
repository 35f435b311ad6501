/*
 * Recorded applications: which kernels a program launches, in which order, and what was measured
 * of each. Built in are the Parboil benchmarks of Tanasic et al., Table 1 (data/traces/parboil);
 * others are read from files of the same form (docs/scenario.md).
 *
 * Nothing here changes once made; built-in traces may be asked for from any thread.
 */
#ifndef COT_TRACE_TRACE_H
#define COT_TRACE_TRACE_H

#include "base/error.h"
#include "trace/scenario.h"

/* How a block's time follows from a kernel's recorded time; docs/scenario.md says why. */
enum cot_block_time {
	COT_BLOCK_TIME_WAVE,	/* kernel time / whole waves of blocks: exact for equal blocks */
	COT_BLOCK_TIME_SMOOTH,	/* kernel time / waves, the last wave counted in part */
	COT_BLOCK_TIME_PRINTED, /* the table's own column, which lacks the number of SMs */
};

/* One row of the table of kernels; columns that it does not have are 0 or "". */
struct cot_trace_kernel {
	char name[COT_NAME_MAX];
	char dataset[COT_NAME_MAX];
	uint32_t launches;
	double avg_time_us; /* one launch alone on the recording's GPU */
	uint32_t n_blocks;
	double time_per_block_us;
	uint32_t shmem_per_block; /* bytes */
	uint32_t regs_per_block;
	uint32_t blocks_per_sm;
	double resource_pct, save_time_us; /* as printed */
	char kernel_class[COT_NAME_MAX], app_class[COT_NAME_MAX];
	struct cot_kernel_work work; /* of tables that tell that, and no times */
	uint32_t insts_per_warp;
};

struct cot_trace {
	char name[COT_NAME_MAX]; /* "parboil/lbm" */
	char summary[256], source[256];
	char benchmark[COT_NAME_MAX];
	const struct cot_gpu *gpu; /* that it was recorded on */
	struct cot_trace_kernel *kernels;
	uint32_t n_kernels;
};

/* The built-in traces, by name. The index is in range; the strings live for ever. */
unsigned cot_trace_count(void);
const char *cot_trace_name(unsigned i);
const char *cot_trace_summary(unsigned i);

/*
 * A built-in trace by name, or a file: a name that ends in ".yaml", relative to the folder of the
 * file `beside` (NULL: to the working directory). -EINVAL, -ENOENT, ... with a sentence.
 */
int cot_trace_read(const char *name, const char *beside, struct cot_trace **ret_trace,
		   struct cot_error *err);

/* The same from the bytes of a trace file; its table of kernels is looked for beside `name`. */
int cot_trace_parse(const char *name, const void *bytes, size_t size, struct cot_trace **ret_trace,
		    struct cot_error *err);
void cot_trace_destroy(struct cot_trace *trace);

/* Mean time of one block of a kernel that was recorded on `gpu`. */
uint64_t cot_trace_block_ps(const struct cot_trace_kernel *kernel, enum cot_block_time mode,
			    const struct cot_gpu *gpu);

/* A program to simulate on `gpu`; *ret_program points into *ret, which the caller destroys. */
struct cot_trace_program;
int cot_trace_program(const char *name, enum cot_block_time mode, const struct cot_gpu *gpu,
		      struct cot_trace_program **ret, const struct cot_program **ret_program,
		      struct cot_error *err);
void cot_trace_program_destroy(struct cot_trace_program *program);

#endif
