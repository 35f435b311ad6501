/*
 * Contention: the fluid model (fluid.h) joined to the engine. It exists only in simulations with a
 * kernel that says what its blocks do; nothing else pays for it.
 *
 * Whenever the blocks that run on some SM change, the engine *touches* the model, and at the end of
 * the instant the model sets the rates that changed. In between it counts what was done: a rate is
 * constant from one instant to the next, so every count is an exact integral.
 *
 * Work is counted in picoseconds at one warp instruction per cycle: instructions * cycle time.
 */
#ifndef COT_SIM_CONTEND_H
#define COT_SIM_CONTEND_H

#include "sim/fluid.h"
#include "sim/sim.h"

struct sm;

#define QUOTA_NONE UINT64_MAX

/* Of one lane: one kernel on one SM. */
struct meter {
	/* What the rates were computed for. */
	const struct cot_kernel_work *work; /* NULL: nothing that takes part */
	uint32_t app, n_running;
	bool halted, moving; /* moving: contexts are being saved or restored */
	bool counted;	     /* towards the app's promise */
	/* Until the next change. */
	uint64_t bytes_q32;	 /* per picosecond of work */
	uint64_t idle_q16;	 /* warps without an issue slot */
	double inst_bytes, rate; /* as the model gave them: for the power of the moment */
	/* Since the last epoch. */
	uint64_t quota_ps; /* work that may still be done; QUOTA_NONE */
	cot_u128 idle_ps;  /* integral of idle_q16 since idle_since_ps */
	uint64_t idle_since_ps;
};

struct contention {
	struct cot_fluid fluid;
	double dram_bytes_per_cycle; /* without noise */
	struct meter *meters;	     /* per lane of an SM; owned, as are the next four */
	struct cot_fluid_lane *lanes;
	struct cot_fluid_group *groups;
	struct cot_fluid_flow *flows;
	uint32_t *group_of; /* per SM */
	/* epochs */
	uint64_t epoch_ps, n_epochs, epoch_begin_ps, n_idle_epochs;
	double stall[COT_MAX_APPS];
	/* counts since the beginning, and at the beginning of the epoch */
	struct cot_sim_counts now, before;
	cot_u128 work_ps[COT_MAX_APPS], qos_work_ps[COT_MAX_APPS], bytes_q32[COT_MAX_APPS];
	cot_u128 transferred_q32;
	uint64_t states_at_ps, n_gated, n_active, n_wakes;
	uint64_t gated_sm_ps, active_sm_ps;
};

/* 0 with *ret NULL when no kernel of the scenario takes part; -ENOMEM. */
int cot_contend_init(struct cot_sim *sim, struct contention **ret);
/* Sets the first epoch going; the apps are there. */
void cot_contend_start(struct cot_sim *sim);
void cot_contend_finish(struct contention *c);

/* The SM, up to date, has made delta_ps of progress in dt_ps. */
void cot_contend_count(struct cot_sim *sim, struct sm *sm, uint64_t delta_ps, uint64_t dt_ps);

/* Sets the rates of what has changed at this instant. */
void cot_contend_update(struct cot_sim *sim);

void cot_contend_on_timer(struct cot_sim *sim);

/* Brings all counts up to date. */
void cot_contend_settle(struct cot_sim *sim);

/* An SM without power gets it back: counts that, and says how long it takes. */
uint64_t cot_contend_wake(struct cot_sim *sim);

/* Watts drawn from this instant to the next; what wakes cost is not in it. */
double cot_contend_power_w(const struct cot_sim *sim);

/* Warp instructions that count towards an app's promise, so far. */
double cot_contend_qos_insts(struct cot_sim *sim, uint32_t app);

#endif
