/*
 * Second category: kernels of a set share SMs. Blocks are handed out as the hardware does it, the
 * blocks of one SM make one "big block", and the SM that ends last, the critical SM, gives the time
 * of the set. Pure; see model.h.
 *
 * Blocks go in the order of the kernels, one to each SM in turn, as long as the SM has room. The
 * rest wait; each goes to the first SM that has room when a block has ended. A block never moves.
 * While several kernels are on an SM they progress side by side: when the shorter one has ended,
 * the others go on with what is left.
 */
#ifndef COT_MODEL_PLACE_H
#define COT_MODEL_PLACE_H

#include "model/mwp.h"

struct cot_model_options {
	/*
	 * false: the set is one consolidated kernel, as in the patent: each block has the threads
	 * of the largest, each with the registers of the neediest, and the largest shared memory.
	 * true: the kernels are launched one by one and each block takes what its kernel needs.
	 */
	bool concurrent;
	/*
	 * false, as in the patent: the bandwidth is shared as at the start until the end, so that
	 * the time is rather too long. true: it is shared again whenever a block ends.
	 */
	bool piecewise;
};

/* SMs that have the same blocks all the time. */
struct cot_model_sms {
	uint32_t first, n;
	double blocks[COT_MODEL_SET_MAX]; /* of each kernel, that one of these SMs ran */
	double end_cycles;		  /* 0: stayed idle */
};

#define COT_MODEL_SMS_MAX (COT_MODEL_SET_MAX + 1u)

struct cot_model_set {
	double cycles, seconds; /* of execution */
	double transfer_s;	/* all transfers, one after another */
	double end_cycles[COT_MODEL_SET_MAX];
	double mwp_peak; /* at the start */
	uint32_t n_sms;	 /* entries of `sms`; only these, and n kernels of each, are set */
	struct cot_model_sms sms[COT_MODEL_SMS_MAX];
	uint32_t critical; /* entry of the critical SM; the first of several */
};

/*
 * Runs n kernels (1 to COT_MODEL_SET_MAX) together. Where that would take hundreds of steps, as
 * with very short blocks beside very long ones, several blocks in sequence are taken as one, so
 * that the cost is bounded; the work stays the same. -EINVAL: no block of some kernel (of the
 * consolidated kernel) fits on an SM, or n.
 */
int cot_model_set_time(const struct cot_model_gpu *gpu, const struct cot_model_kernel *kernels,
		       uint32_t n, const struct cot_model_options *options,
		       struct cot_model_set *ret_set);

/*
 * The patent's reading, for SMs whose blocks are known: all blocks of an SM are one big block that
 * runs once. Sets end_cycles of the `n_sms` entries and returns the largest. Entries without blocks
 * get 0.
 */
double cot_model_layout_cycles(const struct cot_model_gpu *gpu,
			       const struct cot_model_kernel *kernels, uint32_t n,
			       struct cot_model_sms *sms, uint32_t n_sms);

#endif
