/*
 * Programs of the traces, changed for one sample of the study: blocks that differ in time, or CPU
 * time in other places. Main thread only.
 */
#ifndef COT_STUDY_PREEMPTION_VARIANTS_H
#define COT_STUDY_PREEMPTION_VARIANTS_H

#include "trace/scenario.h"

/* A program with steps and kernels of its own. Zero: there is none. */
struct cot_preemption_variant {
	struct cot_program program;
	struct cot_step *steps; /* owned */
	struct cot_kernel *kernels;
};

/*
 * The program with block times such that every kernel alone takes as long under the spread of `sc`
 * as its equal blocks do without one: with long and short blocks on an SM the last ones end later.
 * `sc` says which GPU, spread and seed. 0, -ENOMEM, or as cot_sim_isolated_us().
 */
int cot_preemption_keep_times(const struct cot_scenario *sc, const struct cot_program *program,
			      struct cot_preemption_variant *ret);

/* Of a program of ten launches or more: nine tenths of its CPU time lie between its launches, which
 * it then waits for one by one. Any other program stays as it is. 0 or -ENOMEM. */
int cot_preemption_spread_cpu(const struct cot_program *program,
			      struct cot_preemption_variant *ret);

void cot_preemption_variant_finish(struct cot_preemption_variant *v);

#endif
