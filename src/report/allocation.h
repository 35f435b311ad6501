/*
 * Who holds how many SMs, at each change: the `allocation` list of `cotenant sim --allocation`.
 * The entries go to a scratch file as they come, so memory does not grow with the run. An SM
 * counts for the application that the simulator names for it: being saved, drained or restored
 * counts as held. Applications that hold none are left out of an entry. Not thread-safe.
 */
#ifndef COT_REPORT_ALLOCATION_H
#define COT_REPORT_ALLOCATION_H

#include <stdio.h>

#include "base/error.h"
#include "sim/sim.h"

struct cot_allocation;

/* `sc` must outlive it. */
int cot_allocation_create(const struct cot_scenario *sc, struct cot_allocation **ret_a,
			  struct cot_error *err);
void cot_allocation_destroy(struct cot_allocation *a);

/* Its argument is the cot_allocation. */
extern const struct cot_sim_observer cot_allocation_observer;

/* Writes the entries as a JSON list, its lines after `indent`. Once, at the end of the run. */
int cot_allocation_write(struct cot_allocation *a, FILE *out, const char *indent,
			 struct cot_error *err);

#endif
