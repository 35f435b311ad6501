/*
 * Rewritten kernels in a simulation with a software policy: the part of swhost.c that turns
 * launches into works and their grants into SMs.
 *
 * A CapSM is an SM here: a kernel with n of them has the blocks of n SMs, and those blocks are its
 * workers' tasks. An eviction lets the blocks of the SMs run that are to leave, and gives these
 * SMs no more. What they would have done the others do, as workers that claim tasks do.
 */
#ifndef COT_SIM_SWWORKS_H
#define COT_SIM_SWWORKS_H

#include "base/hist.h"
#include "sched/sched.h"
#include "sim/sim.h"

struct swwork {
	uint32_t id;  /* of the work that is there; 0 = none */
	uint64_t seq; /* of its launch */
	uint32_t granted, evicted, left;
	uint64_t ready_ps, evicted_ps;
	uint64_t n_works, n_evictions, n_evicted_sms, n_returns;
	struct cot_hist *waits, *evictions; /* NULL: its kernels are as they were */
};

struct swworks {
	struct cot_sim *sim;
	void (*send)(void *arg, struct cot_event ev);
	void *arg;
	uint32_t last_id;
	struct swwork apps[COT_MAX_APPS];
	struct cot_kernel *kernels[COT_MAX_APPS]; /* with the cost of rewriting; owned */
};

/* `sc` is changed: rewritten kernels take longer. Before the simulation is made. -ENOMEM. */
int cot_swworks_init(struct swworks *w, struct cot_scenario *sc);
void cot_swworks_finish(struct swworks *w);
/* `send` hands an event to the core. */
void cot_swworks_start(struct swworks *w, struct cot_sim *sim,
		       void (*send)(void *arg, struct cot_event ev), void *arg);
/* Tells the core what has happened. */
void cot_swworks_look(struct swworks *w);
/* A GRANT or an EVICT takes effect. */
void cot_swworks_apply(struct swworks *w, const struct cot_action *a);

#endif
