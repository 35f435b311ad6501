/*
 * How much of the GPU is just enough for a query (Zhang et al., "Laius: Towards latency awareness
 * and improved utilization of spatial multitasking accelerators in datacenters", sections 5.1 and
 * 6.1). A *quota* is a size of part; it is named by its place in a table of sizes, the smallest
 * first. Integers only. Pure; see model.h.
 *
 * Completed: the paper's equation (3) forgets how long the query waited, and that transfers back
 * are still to come when the quota is chosen.
 */
#ifndef COT_MODEL_QUOTA_H
#define COT_MODEL_QUOTA_H

#include <stdint.h>

/* More of the GPU never takes longer: each time becomes the least of itself and those before. */
void cot_quota_repair(uint64_t *t_ns, uint32_t n);

/* What is left of a target for the query's own work; 0 if nothing is. */
uint64_t cot_quota_budget(uint64_t target_ns, uint64_t waited_ns, uint64_t in_ns, uint64_t out_ns);

/* The smallest quota of n (at least 1) whose time is within the budget; the largest if none is. */
uint32_t cot_quota_just_enough(const uint64_t *t_ns, uint32_t n, uint64_t budget_ns);

#endif
