/*
 * Hosts a software policy (include/cotenant/policy.h) in a simulation: the same core and the same
 * policy as in the daemon, with the simulated GPU below them and virtual time.
 *
 *     simulated programs --- joined, active, idle ---> core + policy
 *           ^                                              |
 *           +---- slice, mode, freeze, thaw  <---- delay --+
 *
 * An application of the scenario is a tenant (its index + 1 is the tenant's id), a GPU context is
 * an entity. Where the policy wants pools, the latency applications share one context and the
 * batch applications another one, but for those that are `solo`, and unless the policy chooses
 * their homes; the scenario's own contexts do not count then. Actions take as long as they took on
 * an H200; a freeze is acknowledged when the last block has left the GPU. The launches of rewritten
 * kernels are works (host_work.h). Deterministic like the simulation; one thread.
 *
 * The GPU's scheduler must obey contexts (`timeslice`).
 */
#ifndef COT_SIM_HOST_H
#define COT_SIM_HOST_H

#include "knowledge/knowledge.h"
#include "sched/sched.h"
#include "sim/sim.h"

struct cot_sim_host;

#define COT_SIM_HOST_LATENCY_POOL (COT_MAX_APPS + 1u)
#define COT_SIM_HOST_BATCH_POOL	  (COT_MAX_APPS + 2u)

struct cot_sim_host_options {
	const struct cot_policy_ops *policy;	/* NULL: the scenario's */
	const struct cot_policy_config *config; /* NULL: the defaults */
	const struct cot_sched_limits *limits;	/* NULL: the defaults */
	/* Breaks the actuators, for tests. May be NULL. Returns the -errno that the action `a` ends
	 * with, 0 to carry it out, or COT_SIM_HOST_SILENT for no answer at all. */
	int (*fault)(void *arg, const struct cot_action *a);
	void *fault_arg;
	cot_sched_tap_fn *tap; /* may be NULL */
	void *tap_arg;
	/* The p99 of each app's responses alone, in ps, so that misses of targets that are
	 * slowdowns are counted. May be NULL. The policy is not told. */
	const uint64_t *alone_p99_ps;
	/* Of an earlier simulation: as cot_sched_lessons() gave them at its end. Its applications
	 * with the same names are the same programs. */
	const struct cot_lesson *lessons;
	uint32_t n_lessons;
	/* For a policy with `queries`: what is known of each app, COT_MAX_APPS of them, each may be
	 * NULL. NULL: the host makes a sweep of each first (sweep.h). */
	const struct cot_knowledge *const *known;
};

#define COT_SIM_HOST_SILENT 1

/*
 * `sc` and what the options point to must outlive the host, but for config, limits and lessons,
 * which are copied. Observers see the simulation as with cot_sim_create(). -EINVAL with a sentence
 * for an unknown policy or scheduler, or for a scheduler that does not obey contexts; -ENOMEM.
 */
int cot_sim_host_create(const struct cot_scenario *sc, const struct cot_sim_host_options *options,
			const struct cot_sim_observer *obs, void *obs_arg,
			struct cot_sim_host **ret_host, struct cot_error *err);
void cot_sim_host_destroy(struct cot_sim_host *h);

/* As cot_sim_run(). */
enum cot_sim_status cot_sim_host_run(struct cot_sim_host *h, uint64_t max_instants);

/* The sizes of the part of batch programs that are worth comparing, in whole units, all SMs last.
 */
#define COT_SIM_HOST_PART_SIZES 5u
unsigned cot_sim_host_part_sizes(const struct cot_gpu *gpu,
				 uint32_t ret_sizes[COT_SIM_HOST_PART_SIZES]);

struct cot_sim *cot_sim_host_sim(struct cot_sim_host *h);
const struct cot_sched *cot_sim_host_sched(const struct cot_sim_host *h);
/* Whether two applications are in one pool. */
bool cot_sim_host_together(const struct cot_sim_host *h, uint32_t app, uint32_t other);
/* As cot_sched_explain(), of an application. */
unsigned cot_sim_host_explain(struct cot_sim_host *h, uint32_t app,
			      struct cot_fact ret_facts[COT_FACTS_MAX]);

/* Times of one application. A turnaround is one run of its program; host_measure.h says what a
 * response and a service are. */
/* How responses are spread: what the quickest took, 1 of 100, and so on up to 99 and 99.9. */
#define COT_SIM_LEVELS 101u
/* The part of the responses that took no longer, of a level. */
double cot_sim_level(unsigned level);

struct cot_sim_host_times {
	uint64_t n_runs, n_responses;
	uint64_t limit_ps; /* what the app's target allows; UINT64_MAX: it has none, or not known */
	uint64_t n_missed; /* responses that took longer */
	double run_p50_ps, run_p99_ps;
	double response_p50_ps, response_p95_ps, response_p99_ps;
	uint64_t response_max_ps;
	double response_levels_ps[COT_SIM_LEVELS];
	double service_p50_ps, service_p99_ps;
};

/* What became of the rewritten kernels of an application; `rewritten` false: it has none. */
struct cot_sim_host_works {
	bool rewritten;
	uint64_t n_works, n_evictions, n_evicted_sms, n_returns;
	/* From ready to begun, and from the flag to the last evicted worker's end. */
	double wait_p50_ps, wait_p99_ps, eviction_p50_ps, eviction_p99_ps;
	uint64_t wait_max_ps, eviction_max_ps;
};

void cot_sim_host_works(const struct cot_sim_host *h, uint32_t app,
			struct cot_sim_host_works *ret_works);

/* Runs and responses are counted anew from now on; the policy does not notice. -ENOMEM. */
int cot_sim_host_forget_times(struct cot_sim_host *h);

void cot_sim_host_times(const struct cot_sim_host *h, uint32_t app,
			struct cot_sim_host_times *ret_times);

#endif
