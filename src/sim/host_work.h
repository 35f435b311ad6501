/*
 * Rewritten kernels in a simulation with a software policy: the part of host.c that turns
 * launches into works and their grants into SMs.
 *
 * A CapSM is an SM here: a kernel with n of them has the blocks of n SMs, and those blocks are its
 * workers' tasks. An eviction lets the running blocks of the evicted SMs end, and gives these SMs
 * no more. The other SMs do the remaining blocks, as workers that claim tasks do.
 */
#ifndef COT_SIM_HOST_WORK_H
#define COT_SIM_HOST_WORK_H

#include "base/hist.h"
#include "sched/sched.h"
#include "sim/sim.h"

struct host_work {
	uint32_t id;  /* of the work that is there; 0 = none */
	uint64_t seq; /* of its launch */
	uint32_t granted, evicted, left;
	uint64_t ready_ps, evicted_ps;
	uint64_t n_works, n_evictions, n_evicted_sms, n_returns;
	struct cot_hist *waits, *evictions; /* NULL: its kernels are as they were */
};

struct host_works {
	struct cot_sim *sim;
	void (*send)(void *arg, struct cot_event ev);
	void *arg;
	uint32_t last_id;
	uint32_t n; /* apps beyond have no rewritten kernels */
	struct host_work apps[COT_MAX_APPS];
	struct cot_kernel *kernels[COT_MAX_APPS]; /* with the cost of rewriting; owned */
};

/* `sc` is changed: rewritten kernels take longer. Before the simulation is made. -ENOMEM. */
int cot_sim_host_work_init(struct host_works *w, struct cot_scenario *sc);
void cot_sim_host_work_finish(struct host_works *w);
/* `send` hands an event to the core. */
void cot_sim_host_work_start(struct host_works *w, struct cot_sim *sim,
			     void (*send)(void *arg, struct cot_event ev), void *arg);
/* Tells the core what has happened. */
void cot_sim_host_work_look(struct host_works *w);
/* A GRANT or an EVICT takes effect. */
void cot_sim_host_work_apply(struct host_works *w, const struct cot_action *a);

#endif
