/*
 * What is measured of the applications of a simulation: runs, responses and services, and for a
 * policy with `measures` the same windows and counts as in the daemon (src/metrics). The host of a
 * policy does it; where there is none, an observer (cot_sim_measures_observer).
 *
 * The requests of an application with arrivals are its runs: a response is from the arrival to the
 * end of the run, a service from the begin of the run. Of any other it is from the moment when the
 * application enqueues work for the GPU until all of that is done: it begins with a request when
 * the request comes, so responses and services are the same.
 */
#ifndef COT_SIM_HOST_MEASURE_H
#define COT_SIM_HOST_MEASURE_H

#include "base/hist.h"
#include "metrics/meter.h"
#include "metrics/requests.h"
#include "sched/sched.h"
#include "sim/host.h"

/* Of one application. */
struct host_measure {
	struct cot_hist *runs, *responses, *services;
	uint64_t since_ps;	       /* when it enqueued work; UINT64_MAX: it has none */
	uint64_t limit_ps, n_missed;   /* responses that took longer than the target allows */
	struct cot_requests *requests; /* NULL: nobody wants to know */
	struct cot_meter launches;
};

struct host_measures {
	const struct cot_scenario *sc;
	const struct cot_sim *sim;
	bool wanted; /* by the policy */
	void (*send)(void *arg, struct cot_event ev);
	void *arg;
	struct host_measure apps[COT_MAX_APPS];
};

/* `policy` NULL: there is none; then `send` is not called, which hands an event to the core.
 * -ENOMEM; cot_sim_host_measure_finish() is due even then. */
int cot_sim_host_measure_init(struct host_measures *m, const struct cot_scenario *sc,
			      const struct cot_policy_ops *policy,
			      void (*send)(void *arg, struct cot_event ev), void *arg);
void cot_sim_host_measure_finish(struct host_measures *m);

/* The p99 of each app's responses alone: what targets that are slowdowns multiply. */
void cot_sim_host_measure_limits(struct host_measures *m, const uint64_t *alone_p99_ps);
/* Before all that follows. */
void cot_sim_host_measure_start(struct host_measures *m, const struct cot_sim *sim);

void cot_sim_host_measure_run(struct host_measures *m, uint32_t app, uint64_t begin_ps,
			      uint64_t end_ps);
/* At an instant: whose work is done, and who has new. */
void cot_sim_host_measure_look(struct host_measures *m);
void cot_sim_host_measure_launch(struct host_measures *m, uint32_t app, uint64_t now_ps);

/* Times are counted anew from now on; the policy's windows go on. -ENOMEM. */
int cot_sim_host_measure_forget(struct host_measures *m);

/* Sends what is due; when the next is, UINT64_MAX if nothing will be. */
void cot_sim_host_measure_send(struct host_measures *m, uint64_t now_ps);
uint64_t cot_sim_host_measure_due_ps(const struct host_measures *m);

/* Its argument is a struct host_measures that was started. */
extern const struct cot_sim_observer cot_sim_measures_observer;

void cot_sim_host_measure_times(const struct host_measures *m, uint32_t app,
				struct cot_sim_host_times *ret_times);

#endif
