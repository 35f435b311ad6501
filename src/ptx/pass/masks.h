/*
 * Instructions in which the lanes of a warp wait for each other, and whether those that they wait
 * for may have returned. In CUDA no thread waits for lanes that have ended; but those of a worker
 * live on, and the others would wait for ever.
 */
#ifndef COT_PTX_PASS_MASKS_H
#define COT_PTX_PASS_MASKS_H

#include "ptx/pass/cfg.h"

/*
 * May the statement, in this block of the function, wait for lanes that returned before? Not if its
 * mask says who was there (activemask, match, a ballot), and who was there when it was asked cannot
 * return before the mask is used.
 */
bool cot_mask_waits(const struct cot_cfg *cfg, uint32_t block, const struct cot_ptx_stmt *s);

/*
 * The first such statement of a whole function, NULL if there is none. One of a function that is
 * too large to look at counts. -ENOMEM.
 */
int cot_mask_first_waiting(const struct cot_ptx_func *func, const struct cot_ptx_stmt **ret_stmt);

#endif
