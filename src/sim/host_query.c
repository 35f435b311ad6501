#include "sim/host_query.h"

#include <errno.h>

#include "sim/sweep.h"

#define PS_PER_NS 1000u

static const struct host_query none = {.began_ps = UINT64_MAX};

int cot_sim_host_query_init(struct host_queries *h, const struct cot_scenario *sc,
			    const struct cot_policy_ops *policy,
			    const struct cot_knowledge *const *known,
			    void (*send)(void *arg, struct cot_event ev), void *arg)
{
	uint32_t i;

	*h = (struct host_queries){.sc = sc, .wanted = policy->queries, .send = send, .arg = arg};
	for (i = 0; (policy->queries || policy->predictions) && i < sc->n_apps; i++) {
		h->apps[i] = none;
		if (!known && cot_sim_sweep(sc, i, &h->own[i]))
			return -ENOMEM;
		h->known[i] = known ? known[i] : h->own[i];
	}
	return 0;
}

void cot_sim_host_query_finish(struct host_queries *h)
{
	uint32_t i;

	for (i = 0; i < COT_MAX_APPS; i++)
		cot_knowledge_destroy(h->own[i]);
}

void cot_sim_host_query_start(struct host_queries *h, const struct cot_sim *sim)
{
	h->sim = sim;
}

void cot_sim_host_query_join(struct host_queries *h, uint32_t app)
{
	const struct cot_knowledge *known = h->known[app];
	uint32_t i;

	for (i = 0; known && i < known->n_quotas; i++)
		h->send(h->arg,
			(struct cot_event){.type = COT_EV_PREDICTION,
					   .id = app + 1,
					   .prediction = {i, known->n_quotas, known->predictions[i],
							  known->cost}});
}

/* ---- in ---- */

void cot_sim_host_query_kernel(struct host_queries *h, uint32_t app, uint64_t end_ps)
{
	h->apps[app].n_done++;
	h->apps[app].done_ps = end_ps;
}

void cot_sim_host_query_run(struct host_queries *h, uint32_t app)
{
	h->apps[app].ended = true;
}

/* ---- a query ---- */

static void begin(struct host_queries *h, uint32_t app)
{
	const struct cot_app *a = &h->sc->apps[app];
	uint32_t size = cot_sim_app_size(h->sim, app);
	bool has_arrivals = a->arrivals.per_s > 0.0;
	uint64_t now_ps = cot_sim_now_ps(h->sim);
	uint64_t arrived_ps = has_arrivals ? cot_sim_app_arrived_ps(h->sim, app) : 0;
	const struct cot_knowledge *known = h->known[app];
	struct host_query *q = &h->apps[app];
	struct cot_event ev = {.type = COT_EV_QUERY};

	q->id = ev.id = ++h->last_id ? h->last_id : ++h->last_id;
	ev.query = (struct cot_query_desc){
		.tenant = app + 1,
		.size = cot_sim_sweep_size(a, size),
		.arrived_ns = arrived_ps / PS_PER_NS,
		.began_ns = q->began_ps / PS_PER_NS,
		.in_ns = (now_ps - q->began_ps) / PS_PER_NS,
	};
	if (known) {
		ev.query.out_ns = cot_knowledge_out_ns(known, ev.query.size);
		ev.query.plan = cot_knowledge_plan(known, ev.query.size);
		ev.query.plan_key = ev.query.plan ? (uint64_t)(app + 1) << 32 | size : 0;
	}
	h->send(h->arg, ev);
}

static void tell_tasks(struct host_queries *h, struct host_query *q)
{
	q->n_told = q->n_done;
	h->send(h->arg, (struct cot_event){.type = COT_EV_QUERY_TASKS,
					   .id = q->id,
					   .tasks = {q->n_done, q->done_ps / PS_PER_NS}});
}

static void look_at(struct host_queries *h, uint32_t app)
{
	struct host_query *q = &h->apps[app];
	struct cot_sim_launch l;

	if (q->id && q->n_done > q->n_told)
		tell_tasks(h, q);
	if (q->ended) {
		if (q->id)
			h->send(h->arg, (struct cot_event){.type = COT_EV_QUERY_END, .id = q->id});
		*q = none;
	}
	if (q->began_ps == UINT64_MAX && cot_sim_app_active(h->sim, app))
		q->began_ps = cot_sim_now_ps(h->sim);
	if (!q->id && cot_sim_launch(h->sim, app, &l))
		begin(h, app);
}

void cot_sim_host_query_look(struct host_queries *h)
{
	uint32_t i;

	for (i = 0; h->wanted && i < h->sc->n_apps; i++)
		if (h->sc->apps[i].cls == COT_CLASS_LATENCY)
			look_at(h, i);
}
