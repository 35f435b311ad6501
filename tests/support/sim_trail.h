/* A number for all that an observer is told: the functions take a uint64_t, which they change. */
#ifndef COT_TESTS_SIM_TRAIL_H
#define COT_TESTS_SIM_TRAIL_H

#include "base/rng.h"
#include "sim/sim.h"

void trail_add(uint64_t *hash, uint64_t x);

void trail_sm_changed(void *arg, uint64_t t_ps, uint32_t sm, enum cot_sm_activity activity,
		      uint32_t app, const char *kernel);
void trail_app_changed(void *arg, uint64_t t_ps, uint32_t app, enum cot_app_activity activity);
void trail_kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
		       const char *kernel);

#endif
