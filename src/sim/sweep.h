/*
 * What the simulator knows of an application before it runs: a *sweep* plays it alone, one run for
 * each size of its inputs on each size of part, in simulations of their own. A policy with
 * `queries` gets its plans and predictions from that, as from a profile of a real program.
 *
 * A sweep ends after a number of instants, so that it takes seconds at most: an input of which it
 * has not seen all runs whole is not known, and of a batch application that it has seen in part the
 * rate counts.
 */
#ifndef COT_SIM_SWEEP_H
#define COT_SIM_SWEEP_H

#include "knowledge/knowledge.h"
#include "trace/scenario.h"

/* -ENOMEM. *ret may be NULL: nothing is known. */
int cot_sim_sweep(const struct cot_scenario *sc, uint32_t app, struct cot_knowledge **ret);

/* The size of an input as policies are told: the application's, or else the bytes that a run copies
 * to the GPU before its first kernel. `size` 0: the application has none. */
uint64_t cot_sim_sweep_size(const struct cot_app *app, uint32_t size);

#endif
