/*
 * What the host of a software policy measures in a simulation: runs, responses, and for a policy
 * with `measures` the same windows and counts as in the daemon (src/metrics).
 *
 * A response is from the moment when an application enqueues work for the GPU until all of that is
 * done. Those of latency applications are its requests. An application begins with a request when
 * it arrives, so responses and services are the same here.
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
	struct cot_hist *runs, *responses;
	uint64_t n_missed;	       /* responses that took longer than the app's p99 target */
	struct cot_requests *requests; /* NULL: nobody wants to know */
	struct cot_meter launches;
};

struct host_measures {
	const struct cot_scenario *sc;
	bool wanted; /* by the policy */
	void (*send)(void *arg, struct cot_event ev);
	void *arg;
	struct host_measure apps[COT_MAX_APPS];
};

/* `send` hands an event to the core. -ENOMEM; cot_sim_host_measure_finish() is due even then. */
int cot_sim_host_measure_init(struct host_measures *m, const struct cot_scenario *sc,
			      const struct cot_policy_ops *policy,
			      void (*send)(void *arg, struct cot_event ev), void *arg);
void cot_sim_host_measure_finish(struct host_measures *m);

void cot_sim_host_measure_run(struct host_measures *m, uint32_t app, uint64_t run_ps);
void cot_sim_host_measure_response(struct host_measures *m, uint32_t app, uint64_t now_ps,
				   uint64_t response_ps);
void cot_sim_host_measure_launch(struct host_measures *m, uint32_t app, uint64_t now_ps);

/* Sends what is due; when the next is, UINT64_MAX if nothing will be. */
void cot_sim_host_measure_send(struct host_measures *m, uint64_t now_ps);
uint64_t cot_sim_host_measure_due_ps(const struct host_measures *m);

void cot_sim_host_measure_times(const struct host_measures *m, uint32_t app,
				struct cot_sim_host_times *ret_times);

#endif
