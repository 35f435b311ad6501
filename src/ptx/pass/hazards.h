/*
 * What is right while a block's threads end with the task, and wrong once they live on: barriers
 * and warp instructions that other threads skipped by returning, and loops that wait for other
 * blocks.
 */
#ifndef COT_PTX_PASS_HAZARDS_H
#define COT_PTX_PASS_HAZARDS_H

#include "ptx/pass/pass.h"

/* One check of one kernel; the first refusal found stays. */
struct cot_scan {
	enum cot_pass pass;
	const struct cot_ptx_func *kernel;
	struct cot_facts *facts;
	struct cot_refusal *refusal;
};

/* The instruction at `stmt` of `func` is refused, if the pass does so for this reason. */
void cot_scan_refuse(struct cot_scan *scan, enum cot_reason reason, const struct cot_ptx_func *func,
		     const struct cot_ptx_stmt *stmt);

/* The same for a function as a whole; `what` is what is wrong with it. */
void cot_scan_refuse_func(struct cot_scan *scan, enum cot_reason reason,
			  const struct cot_ptx_func *func, const char *what);

/* funcs[0] is the kernel, the others are what it calls. 0, refused or not; -ENOMEM. */
int cot_hazards_find(struct cot_scan *scan, const struct cot_ptx_func *const *funcs, uint32_t n);
/* Only the loops that wait for other blocks. */
int cot_hazards_find_spins(struct cot_scan *scan, const struct cot_ptx_func *const *funcs,
			   uint32_t n);

#endif
