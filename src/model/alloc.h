/*
 * Divides what is left of a GPU among batch tasks (Laius, section 6.2): the greatest sum of values
 * with at most so many units of SMs and at most so much of the memory bandwidth. Each task gets a
 * number of units, maybe none. Integers only. Pure; see model.h.
 *
 * Corrected: the paper's equation (5) leaves out that a task may get nothing, and the bandwidth,
 * and names a "complete" knapsack though each task is there once. Here the problem is solved
 * exactly. Of divisions of equal value, the one with the least bandwidth is taken, of these the one
 * with the fewest units, of these the one that gives more to the first task that differs.
 */
#ifndef COT_MODEL_ALLOC_H
#define COT_MODEL_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

#define COT_ALLOC_TASKS_MAX 16u
#define COT_ALLOC_UNITS_MAX 32u
#define COT_ALLOC_MOST	    (1u << 24) /* the greatest value, and bandwidth, of a task */

#define COT_ALLOC_NO_LIMIT UINT64_MAX

/* What a task is worth, and the bandwidth that it takes, with 1, 2, ... n_units units. */
struct cot_alloc_task {
	const uint32_t *value, *bandwidth; /* [n_units], each at most COT_ALLOC_MOST */
};

struct cot_alloc {
	uint8_t units[COT_ALLOC_TASKS_MAX];
	uint64_t value, bandwidth;
	uint32_t n_units;
	/* Nothing is better. The number of divisions that are tried is bounded: with numbers made
	 * for it, a better one may be missed. */
	bool exact;
};

/* -EINVAL: more tasks, units or numbers than may be. */
int cot_alloc(const struct cot_alloc_task *tasks, uint32_t n, uint32_t n_units, uint64_t bandwidth,
	      struct cot_alloc *ret);

/* Instructions per clock cycle, in 1/1000 (equation (1)). */
uint64_t cot_alloc_ipc_milli(uint64_t insns, uint64_t ns, uint32_t clock_mhz);

#endif
