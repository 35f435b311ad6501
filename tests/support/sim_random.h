/*
 * Random scenarios, small enough that hundreds are played in a second, and odd enough to meet most
 * corners: few SMs, kernels smaller and larger than the GPU, shared contexts, equal and different
 * priorities, times that coincide, contexts of no bytes. A pure function of the seed.
 */
#ifndef COT_TESTS_SIM_RANDOM_H
#define COT_TESTS_SIM_RANDOM_H

#include "base/rng.h"
#include "support/sim_build.h"

struct random_case {
	const char *scheduler;
	enum cot_preempt preempt;
	double jitter_cv;
	uint64_t seed;
};

void random_build(struct sim_build *b, const struct random_case *rc);

/* The same with kernels of up to thousands of blocks, and always a time to stop at. */
void random_build_long(struct sim_build *b, const struct random_case *rc);

/* Number of cases per property: the environment's COT_PROPERTY_RUNS, else `n`. */
unsigned random_n_cases(unsigned n);
/* Where seeds start: the environment's COT_PROPERTY_SEED, else 1. */
uint64_t random_first_seed(void);

#endif
