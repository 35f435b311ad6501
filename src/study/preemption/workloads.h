/*
 * Random multiprogrammed workloads, the same for the same seed on every machine. Workload i does
 * not depend on how many are drawn, so a smaller study is a prefix of a larger one.
 *
 * Each place of a workload is dealt from its own row of shuffled decks: over n_apps workloads every
 * benchmark has been there once. Within a workload the places are independent, so one benchmark
 * may occur twice. This is Latin hypercube sampling; it takes away much of the luck of a draw.
 */
#ifndef COT_STUDY_PREEMPTION_WORKLOADS_H
#define COT_STUDY_PREEMPTION_WORKLOADS_H

#include <stdint.h>

#define COT_WORKLOAD_MAX 16 /* processes */

struct cot_workload {
	uint64_t seed;			/* for the simulations of this workload */
	unsigned n;			/* processes */
	unsigned high;			/* index of the high-priority process */
	uint8_t apps[COT_WORKLOAD_MAX]; /* benchmark of each process; one may occur twice */
};

/*
 * Workload `index` of `size` (1..COT_WORKLOAD_MAX) processes for the priority study: benchmark
 * index % n_apps is the high-priority one, at a random place, so in any n_apps * k consecutive
 * ones every benchmark has had that role k times. n_apps * n_apps workloads of two processes hold
 * every pair once.
 */
struct cot_workload cot_workload_priority(uint64_t seed, const uint8_t *apps, unsigned n_apps,
					  unsigned size, unsigned index);

/* Workload `index` without such a role; `high` is 0. */
struct cot_workload cot_workload_random(uint64_t seed, const uint8_t *apps, unsigned n_apps,
					unsigned size, unsigned index);

#endif
