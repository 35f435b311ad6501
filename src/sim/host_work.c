#include "sim/host_work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define PS_PER_NS 1000u

static bool is_rewritten(const struct cot_app *app)
{
	return app->rewrite || app->quota.sms || app->quota.pct || app->reserve.sms ||
	       app->reserve.pct;
}

/* Asking for tasks and looking at the flag take their time. */
static int add_overhead(struct host_works *w, struct cot_scenario *sc, uint32_t app)
{
	struct cot_program *p = &sc->apps[app].program;
	uint32_t i;

	if (sc->workers.overhead <= 0.0)
		return 0;
	w->kernels[app] = malloc(p->n_kernels * sizeof(*w->kernels[app]));
	if (!w->kernels[app])
		return -ENOMEM;
	memcpy(w->kernels[app], p->kernels, p->n_kernels * sizeof(*w->kernels[app]));
	for (i = 0; i < p->n_kernels; i++)
		if (!p->kernels[i].machine_code)
			w->kernels[app][i].block_ps = (uint64_t)((double)p->kernels[i].block_ps *
								 (1.0 + sc->workers.overhead));
	p->kernels = w->kernels[app];
	return 0;
}

int cot_sim_host_work_init(struct host_works *w, struct cot_scenario *sc)
{
	uint32_t i;

	for (i = 0; i < sc->n_apps; i++) {
		if (!is_rewritten(&sc->apps[i]))
			continue;
		w->n = i + 1;
		w->apps[i].waits = cot_hist_create();
		w->apps[i].evictions = cot_hist_create();
		if (!w->apps[i].waits || !w->apps[i].evictions || add_overhead(w, sc, i))
			return -ENOMEM;
	}
	return 0;
}

void cot_sim_host_work_finish(struct host_works *w)
{
	uint32_t i;

	for (i = 0; i < COT_MAX_APPS; i++) {
		cot_hist_destroy(w->apps[i].waits);
		cot_hist_destroy(w->apps[i].evictions);
		free(w->kernels[i]);
	}
}

void cot_sim_host_work_start(struct host_works *w, struct cot_sim *sim,
			     void (*send)(void *arg, struct cot_event ev), void *arg)
{
	uint32_t i;

	w->sim = sim;
	w->send = send;
	w->arg = arg;
	for (i = 0; i < COT_MAX_APPS; i++)
		if (w->apps[i].waits)
			cot_sim_wait_for_sms(sim, i);
}

/* ---- events ---- */

static void announce(struct host_works *w, uint32_t app, const struct cot_sim_launch *l)
{
	const struct cot_scenario *sc = cot_sim_scenario(w->sim);
	uint64_t task_ns = l->kernel->block_ps / PS_PER_NS;
	struct host_work *own = &w->apps[app];

	own->id = ++w->last_id;
	own->seq = l->seq;
	own->granted = own->evicted = own->left = 0;
	own->ready_ps = cot_sim_now_ps(w->sim);
	own->n_works++;
	w->send(w->arg, (struct cot_event){
				.type = COT_EV_WORK,
				.id = own->id,
				.work =
					{
						.tenant = app + 1,
						.n_sms = sc->gpu.n_sms,
						.method = sc->apps[app].cls == COT_CLASS_LATENCY
								  ? COT_WORK_RESERVE
								  : COT_WORK_QUOTA,
						.can_settle = true,
						.can_grow = true,
						.n_tasks = l->n_left,
						.per_sm = l->kernel->blocks_per_sm,
						.task_ns = task_ns < UINT32_MAX ? (uint32_t)task_ns
										: UINT32_MAX,
					},
			});
}

static void tell_done(struct host_works *w, struct host_work *own, uint32_t left)
{
	uint32_t id = own->id;

	own->granted = own->evicted = own->left = 0;
	own->ready_ps = cot_sim_now_ps(w->sim);
	own->n_returns += left != 0;
	if (!left)
		own->id = 0;
	w->send(w->arg, (struct cot_event){.type = COT_EV_WORK_DONE, .id = id, .left = left});
}

/* The SMs that were to leave have. */
static void tell_evicted(struct host_works *w, struct host_work *own,
			 const struct cot_sim_launch *l)
{
	cot_hist_add(own->evictions, cot_sim_now_ps(w->sim) - own->evicted_ps);
	if (own->evicted == own->granted) {
		tell_done(w, own, l->n_left);
		return;
	}
	own->left = own->evicted;
	w->send(w->arg, (struct cot_event){
				.type = COT_EV_WORK_EVICTED, .id = own->id, .capsms = own->left});
}

static void look_at(struct host_works *w, uint32_t app)
{
	struct host_work *own = &w->apps[app];
	struct cot_sim_launch l;
	bool there = cot_sim_launch(w->sim, app, &l) && !l.kernel->machine_code;

	if (own->id && (!there || l.seq != own->seq))
		tell_done(w, own, 0);
	if (there && !own->id)
		announce(w, app, &l);
	else if (there && own->evicted > own->left && l.n_sms <= own->granted - own->evicted)
		tell_evicted(w, own, &l);
}

void cot_sim_host_work_look(struct host_works *w)
{
	uint32_t i;

	for (i = 0; i < w->n; i++)
		if (w->apps[i].waits)
			look_at(w, i);
}

/* ---- actions ---- */

void cot_sim_host_work_apply(struct host_works *w, const struct cot_action *a)
{
	struct host_work *own;
	uint32_t app;

	for (app = 0; app < COT_MAX_APPS && w->apps[app].id != a->entity; app++)
		;
	if (app == COT_MAX_APPS) /* it has ended meanwhile */
		return;
	own = &w->apps[app];
	if (a->kind == COT_ACTION_GRANT) {
		if (!own->granted)
			cot_hist_add(own->waits, cot_sim_now_ps(w->sim) - own->ready_ps);
		own->granted = a->value;
	} else {
		own->n_evictions++;
		own->n_evicted_sms += a->value - own->evicted;
		if (own->evicted == own->left)
			own->evicted_ps = cot_sim_now_ps(w->sim);
		own->evicted = a->value;
	}
	cot_sim_set_sms(w->sim, app, own->granted - own->evicted);
}
