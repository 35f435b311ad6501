/*
 * Which values are the same in all threads of a block, or of a warp; and from that, where threads
 * of a block can go different ways. Careful: what it cannot tell counts as different.
 *
 * Two things are taken for granted. Threads that load from one address get one value (where a
 * branch on it decides about a barrier, the kernel is wrong otherwise). And with `rows`, the x size
 * of the block is a multiple of 32, so that a warp is a piece of one row.
 */
#ifndef COT_PTX_PASS_UNIFORM_H
#define COT_PTX_PASS_UNIFORM_H

#include "ptx/pass/cfg.h"

/* What is known of a register's values. */
enum cot_uniform {
	COT_UNI_NONE,	   /* never written */
	COT_UNI_BLOCK_32,  /* one value for the block, and a multiple of 32 */
	COT_UNI_BLOCK,	   /* one value for the block */
	COT_UNI_LANES,	   /* a multiple of 32 that the warp shares, plus the lane's number */
	COT_UNI_WARP,	   /* one value for the warp */
	COT_UNI_DIFFERENT, /* anything */
};

struct cot_uniformity {
	uint8_t *regs;	 /* enum cot_uniform, by register */
	uint8_t *blocks; /* by basic block: the worst of the branches in whose region it lies */
};

/* `entry`: parameters are the same for all threads; else they are unknown. -ENOMEM. */
int cot_uniform_analyse(const struct cot_cfg *cfg, bool entry, bool rows,
			struct cot_uniformity *ret_uniformity);
void cot_uniform_finish(struct cot_uniformity *uniformity);

#endif
