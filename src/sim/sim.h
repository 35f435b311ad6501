/*
 * The simulated GPU: plays a scenario on a model of a multiprogrammed GPU (Tanasic et al., ISCA
 * 2014, with the corrections of docs/simulator.md). Deterministic: integers only, ties broken by
 * fixed rules, no clock, no global state. A `struct cot_sim` belongs to one thread at a time; any
 * number may exist. Memory does not grow with the length of the run.
 */
#ifndef COT_SIM_SIM_H
#define COT_SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "sim/hw/hw.h"
#include "trace/scenario.h"

struct cot_sim;

/* What an SM is doing, for observers. */
enum cot_sm_activity {
	COT_SM_IDLE,
	COT_SM_RUN,
	COT_SM_SAVE,	/* saving the contexts of a preempted kernel */
	COT_SM_DRAIN,	/* reserved; running its last blocks */
	COT_SM_RESTORE, /* set up for a kernel, all its blocks waiting for restored contexts */
	COT_SM_GATED,	/* without power; has no owner */
};

enum cot_app_activity {
	COT_APP_CPU,
	COT_APP_H2D,
	COT_APP_D2H,
	COT_APP_WAIT, /* in a sync, a queued transfer, before its start or for a request */
};

#define COT_NO_APP UINT32_MAX

/*
 * What was done, in simulations with kernels that say what their blocks do (all 0 in others).
 * Instructions are those of warps; bytes are moved to or from the GPU's memory.
 */
struct cot_sim_counts {
	double insts[COT_MAX_APPS], bytes[COT_MAX_APPS];
	double transfer_bytes; /* copies to and from the GPU */
	double energy_j;
	double gated_sm_us, active_sm_us; /* sums over SMs: without power, and with blocks */
};

struct cot_sim_epoch {
	uint64_t index, begin_ps, end_ps;
	uint32_t sms[COT_MAX_APPS]; /* on which the app has a kernel, at the end */
	uint32_t n_gated;
	struct cot_sim_counts counts; /* of this epoch */
};

/* What a software policy has made of a pool, or of a program outside the pools. */
struct cot_sim_entity {
	const char *name;
	uint64_t slice_ps;
	bool frozen, drains; /* its blocks end before another one's begin */
};

/*
 * Callbacks of an observer, all optional, called in order of time during cot_sim_run(). They may
 * read the simulation, and not change it.
 */
struct cot_sim_observer {
	/* From t_ps on, SM `sm` does `activity` for `app` (COT_NO_APP when idle), `kernel` being
	 * its name (NULL when idle). Called on changes only. */
	void (*sm_changed)(void *arg, uint64_t t_ps, uint32_t sm, enum cot_sm_activity activity,
			   uint32_t app, const char *kernel);
	/* From t_ps on, the CPU side of `app` does `activity`. */
	void (*app_changed)(void *arg, uint64_t t_ps, uint32_t app, enum cot_app_activity activity);
	/* A kernel of `app` was active (in the active queue) from begin_ps to end_ps. */
	void (*kernel_done)(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			    const char *kernel);
	/* `app` completed its run number `run` (from 0). */
	void (*run_done)(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app, uint64_t run);
	/* What `app` launches from now on is on the SMs [begin, end). Only with a software policy
	 * that places programs. */
	void (*part_changed)(void *arg, uint64_t t_ps, uint32_t app, uint32_t begin, uint32_t end);
	/* An order of a software policy takes effect on the entity that has this number, below
	 * COT_MAX_APPS. */
	void (*entity_changed)(void *arg, uint64_t t_ps, uint32_t number,
			       const struct cot_sim_entity *e);
	/* After all changes of one instant; SM owners are consistent here. */
	void (*instant_done)(void *arg, uint64_t t_ps);
	/* An epoch is over and nothing has been decided upon it. Only with kernels that say what
	 * their blocks do. */
	void (*epoch_done)(void *arg, const struct cot_sim_epoch *epoch);
};

/*
 * Copies nothing: `sc` must outlive the simulation. `obs` may be NULL. `ops` NULL means the
 * scenario's own scheduler. -EINVAL with a sentence for an unknown scheduler, -ENOMEM.
 */
int cot_sim_create(const struct cot_scenario *sc, const struct hw_sched_ops *ops,
		   const struct cot_sim_observer *obs, void *obs_arg, struct cot_sim **ret_sim,
		   struct cot_error *err);
void cot_sim_destroy(struct cot_sim *sim);

enum cot_sim_status {
	COT_SIM_MORE,	 /* max_instants reached: call again */
	COT_SIM_DONE,	 /* the scenario's stop rule is met */
	COT_SIM_STALLED, /* nothing will ever happen again, yet the stop rule is not met */
	COT_SIM_NO_MEMORY,
};

/* Runs at most max_instants distinct points in time (UINT64_MAX: to the end). */
enum cot_sim_status cot_sim_run(struct cot_sim *sim, uint64_t max_instants);

struct cot_app_result {
	uint64_t runs;		    /* completed */
	uint64_t turnaround_sum_ps; /* over completed runs */
	double progress;	    /* runs, and the part of the next one that is done */
};

struct cot_sim_result {
	uint64_t end_ps;
	uint64_t block_completions;
	uint64_t preemptions; /* SMs preempted, from reservation to switch */
	uint64_t saved_bytes, restored_bytes;
	double latency_p50_ps, latency_p99_ps; /* of preemptions; 0 when there was none */
	uint64_t latency_max_ps;
	uint64_t refused; /* wrong actions of the scheduler; 0 for a correct one */
	bool counted;	  /* `counts` is more than zeros */
	uint64_t n_epochs;
	struct cot_sim_counts counts;
	uint32_t n_apps;
	struct cot_app_result apps[COT_MAX_APPS];
};

void cot_sim_result(const struct cot_sim *sim, struct cot_sim_result *ret_result);

/* Progress for a user's eyes: completed runs out of wanted, over all apps, in [0, 1]. */
double cot_sim_progress(const struct cot_sim *sim);

/* Watts drawn from now to the next instant; 0 where nothing is counted. */
double cot_sim_power_w(const struct cot_sim *sim);

/* The engine, for tests that look at its tables. */
struct hw *cot_sim_hw(struct cot_sim *sim);

/*
 * Sets the rate at which the blocks on SM `sm` progress from now on, as a fraction of full speed in
 * 32.32 fixed point (COT_RATE_ONE = full speed, 0 = halted). Takes effect at the current instant,
 * whatever is resident. Where contention is modelled the model sets the rates.
 */
#define COT_RATE_ONE (1ull << 32)
void cot_sim_set_rate(struct cot_sim *sim, uint32_t sm, uint64_t rate_q32);

/*
 * For a software policy (host.h), between two calls of cot_sim_run(): how `context` is to be from
 * now on, if the scheduler obeys that (hw_sched_ops.contexts).
 */
void cot_sim_set_context(struct cot_sim *sim, uint32_t context, const struct hw_context *c);
/* Kernels that `app` launches from now on, but for rewritten ones, may be on the SMs [begin, end)
 * only. */
void cot_sim_set_part(struct cot_sim *sim, uint32_t app, uint32_t begin, uint32_t end);
/* From now on what `app` launches waits, until this is taken back; copies do not. */
void cot_sim_hold(struct cot_sim *sim, uint32_t app, bool on);
/* Whether a block of `context` is on an SM. */
bool cot_sim_context_on_gpu(const struct cot_sim *sim, uint32_t context);
/* Whether `app` has enqueued commands for the GPU that are not complete. */
bool cot_sim_app_active(const struct cot_sim *sim, uint32_t app);
/* When the request came that `app` serves, or has just served (in run_done()), or waits for; of an
 * app without arrivals: when its run began. */
uint64_t cot_sim_app_arrived_ps(const struct cot_sim *sim, uint32_t app);
/* How large the input of its run is; 0: its runs are all equal. */
uint32_t cot_sim_app_size(const struct cot_sim *sim, uint32_t app);
uint64_t cot_sim_now_ps(const struct cot_sim *sim);
const struct cot_scenario *cot_sim_scenario(const struct cot_sim *sim);

/*
 * Rewritten kernels: how many SMs a launch may have is said from outside while it runs. From now on
 * every launch of `app` begins with none, but for kernels of machine code.
 */
void cot_sim_wait_for_sms(struct cot_sim *sim, uint32_t app);
/* How many SMs its launch may have from now on. Those that are too many take no new block, and are
 * free when their blocks have ended. */
void cot_sim_set_sms(struct cot_sim *sim, uint32_t app, uint32_t n_sms);

/* The launch of `app` that waits or runs; a program has one at a time. False: there is none. */
struct cot_sim_launch {
	uint64_t seq; /* no two launches have the same */
	const struct cot_kernel *kernel;
	uint32_t n_left; /* blocks that are not done */
	uint32_t n_sms;	 /* that work for it */
};

bool cot_sim_launch(const struct cot_sim *sim, uint32_t app, struct cot_sim_launch *ret_launch);
/* There is an instant at t_ps (>= now), even if nothing happens; replaces an earlier setting. */
void cot_sim_set_alarm(struct cot_sim *sim, uint64_t t_ps);

/*
 * Mean turnaround of app `index` of `sc` alone on the GPU under FCFS, one run for each size of its
 * inputs, in microseconds.
 * keep_going (may be NULL) is called every few milliseconds. -ENOMEM; -EDEADLK when the app never
 * ends; -EINTR when keep_going said no.
 */
int cot_sim_isolated_us(const struct cot_scenario *sc, uint32_t index,
			bool (*keep_going)(void *arg), void *arg, double *ret_us);

/* The p99 of its responses alone, for as long as `sc` goes on; 0 without any. Errors as above. */
int cot_sim_alone_p99_ps(const struct cot_scenario *sc, uint32_t index,
			 bool (*keep_going)(void *arg), void *arg, uint64_t *ret_ps);

#endif
