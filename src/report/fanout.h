/*
 * Lets several observers watch one simulation. Not thread-safe.
 */
#ifndef COT_REPORT_FANOUT_H
#define COT_REPORT_FANOUT_H

#include "sim/sim.h"

#define COT_FANOUT_MAX 6

struct cot_fanout {
	unsigned n;
	struct {
		const struct cot_sim_observer *observer;
		void *arg;
	} to[COT_FANOUT_MAX];
};

/* The observer to give to cot_sim_create(), with the fanout as its argument. */
extern const struct cot_sim_observer cot_fanout_observer;

/* At most COT_FANOUT_MAX; both must outlive the simulation. */
void cot_fanout_add(struct cot_fanout *f, const struct cot_sim_observer *observer, void *arg);

#endif
