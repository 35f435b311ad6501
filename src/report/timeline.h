/*
 * A simulation as a Chrome trace (JSON), for Perfetto and chrome://tracing: the process "GPU" with
 * a track per SM, the process "Apps" with two tracks per application, what its CPU side does and
 * its active kernels, and a third one for its part of the GPU where a policy gives it one. Written
 * while the simulation runs; memory does not grow. Times in us. Not thread-safe.
 */
#ifndef COT_REPORT_TIMELINE_H
#define COT_REPORT_TIMELINE_H

#include <stdio.h>

#include "sim/sim.h"

struct cot_timeline;

/* Writes to `out`; `sc` must outlive it. NULL when out of memory. */
struct cot_timeline *cot_timeline_create(const struct cot_scenario *sc, FILE *out);
void cot_timeline_destroy(struct cot_timeline *tl);

/* Its argument is the cot_timeline. */
extern const struct cot_sim_observer cot_timeline_observer;

/* Ends what is still going on at end_ps, and the file. */
void cot_timeline_finish(struct cot_timeline *tl, uint64_t end_ps);

#endif
