/*
 * The control flow of one function: its basic blocks, their successors, and where the paths from a
 * block meet again (the immediate post-dominator). A snapshot: it does not follow later changes of
 * the function.
 */
#ifndef COT_PTX_PASS_CFG_H
#define COT_PTX_PASS_CFG_H

#include <stdbool.h>
#include <stdint.h>

#include "ptx/ptx.h"

#define COT_CFG_BLOCKS_MAX (1u << 14)
#define COT_CFG_NONE	   UINT32_MAX

struct cot_cfg_block {
	struct cot_ptx_stmt *first, *last; /* INSN, LABEL and others between; both in the block */
	uint32_t succ, n_succ;		   /* succs[succ .. succ + n_succ) */
	uint32_t pdom;			   /* index of a block, or cfg->exit */
	uint32_t order;			   /* position in the reverse post-order from the exit */
};

struct cot_cfg {
	const struct cot_ptx_func *func;
	struct cot_cfg_block *blocks; /* in the order of the text; blocks[0] is the entry */
	uint32_t n_blocks;
	uint32_t exit; /* == n_blocks: where ret, exit, trap and the end of the text lead */
	uint32_t *succs;
	uint32_t n_succs;
	size_t cap_succs;
	uint32_t *block_of_label; /* by label index; COT_CFG_NONE for tables and prototypes */
};

/* -E2BIG beyond COT_CFG_BLOCKS_MAX, -ENOMEM. */
int cot_cfg_build(const struct cot_ptx_func *func, struct cot_cfg *ret_cfg);
void cot_cfg_finish(struct cot_cfg *cfg);

/*
 * Says for every block b in seen[b] whether it can be reached from block `from` without passing the
 * place where its paths meet again; `stack` has room for n_blocks + 1 entries.
 */
void cot_cfg_region(const struct cot_cfg *cfg, uint32_t from, bool *seen, uint32_t *stack);

/* The instruction that ends the block and decides where to go; NULL when it just falls through. */
const struct cot_ptx_insn *cot_cfg_branch(const struct cot_cfg_block *block);

#endif
