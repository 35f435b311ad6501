/*
 * What several hardware schedulers do alike. Stateless.
 */
#ifndef COT_SIM_HW_COMMON_H
#define COT_SIM_HW_COMMON_H

#include "sim/hw/hw.h"

/* Whether idle SMs may go to k; `arg` is the caller's. */
typedef bool hw_filter_fn(const struct hw_kernel *k, const void *arg);

/*
 * The leftover rule of today's GPUs: idle SMs go to active kernels in order of admission, a later
 * kernel getting what earlier ones cannot fill. `may` NULL: all kernels.
 */
void hw_fill_in_order(struct hw *hw, hw_filter_fn *may, const void *arg);

/* Admits every waiting launch, in order of arrival, while the active queue has room. */
void hw_admit_all(struct hw *hw);

/* The most important waiting launch, the first to arrive among equals; NULL when none waits. */
struct hw_command *hw_best_pending(struct hw *hw);

#endif
