/*
 * Queries of a hosted simulation, for a policy that looks at them: each run of an application of
 * class latency is one, each of its kernels a task. It begins when its first kernel is launched,
 * after the copies before that, and is over at the end of the run. All times are exact.
 */
#ifndef COT_SIM_HOST_QUERY_H
#define COT_SIM_HOST_QUERY_H

#include "knowledge/knowledge.h"
#include "sched/sched.h"
#include "sim/sim.h"

/* Of one application. */
struct host_query {
	uint32_t id;	   /* of the query that runs; 0: none */
	uint64_t began_ps; /* the first operation of the run; UINT64_MAX: there was none yet */
	uint32_t n_done, n_told;
	uint64_t done_ps;
	bool ended; /* the run, at this instant */
};

struct host_queries {
	const struct cot_scenario *sc;
	const struct cot_sim *sim;
	bool wanted;
	/* By application; each may be NULL. Its own ones: what the host was not given. */
	const struct cot_knowledge *known[COT_MAX_APPS];
	struct cot_knowledge *own[COT_MAX_APPS];
	void (*send)(void *arg, struct cot_event ev);
	void *arg;
	uint32_t last_id;
	struct host_query apps[COT_MAX_APPS];
};

/* `known` as in struct cot_sim_host_options. -ENOMEM; _finish() is due even then. */
int cot_sim_host_query_init(struct host_queries *h, const struct cot_scenario *sc,
			    const struct cot_policy_ops *policy,
			    const struct cot_knowledge *const *known,
			    void (*send)(void *arg, struct cot_event ev), void *arg);
void cot_sim_host_query_finish(struct host_queries *h);
/* Before the first look. */
void cot_sim_host_query_start(struct host_queries *h, const struct cot_sim *sim);
/* An application has registered: what is predicted of it. */
void cot_sim_host_query_join(struct host_queries *h, uint32_t app);
/* From the simulation, as they happen. */
void cot_sim_host_query_kernel(struct host_queries *h, uint32_t app, uint64_t end_ps);
void cot_sim_host_query_run(struct host_queries *h, uint32_t app);
/* After an instant: what happened goes to the core. */
void cot_sim_host_query_look(struct host_queries *h);

#endif
