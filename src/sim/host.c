#include "sim/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "sim/host_home.h"
#include "sim/host_measure.h"
#include "sim/host_query.h"
#include "sim/host_scenario.h"
#include "sim/host_work.h"

#define PS_PER_NS 1000u

/*
 * How long actions take, each evenly spread from `from_us` on (measured on an H200: freeze 0.45
 * to 1.0 ms, thaw 0.6 to 1.2 ms on average). A slice or a mode is one control call: 200 us, our
 * choice, between those of a system call and of a freeze.
 */
static const struct {
	uint32_t from_us, spread_us;
} delays[] = {
	[COT_ACTION_SLICE] = {200, 0},
	[COT_ACTION_MODE] = {200, 0},
	[COT_ACTION_FREEZE] = {450, 550},
	[COT_ACTION_THAW] = {600, 600},
	/* A message and its way to the shim: our choice, as for evictions. The next launch is
	   there. */
	[COT_ACTION_PLACE] = {20, 0},
};

/* Actions on their way. The core sends one per entity and kind, and a newer one before the answer
 * only when its policy changed its mind. */
#define MAX_ON_WAY 256u

struct on_way {
	struct cot_action action;
	uint64_t due_ps;
	int status;
	bool applied; /* a freeze that waits until the last block is gone */
};

struct app_state {
	bool joined, active;
	struct cot_part part;
	uint64_t hold_end_ps; /* of a part that holds */
};

struct cot_sim_host {
	struct cot_sim_host_options options;
	struct cot_scenario *sc; /* a copy, with the contexts that the policy wants */
	const struct cot_policy_ops *policy;
	struct cot_sim *sim;
	struct cot_sched *sched;
	uint64_t wake_ns; /* the core's; changes with events only */
	const struct cot_sim_observer *obs;
	void *obs_arg;
	struct cot_sim_observer own;
	struct app_state apps[COT_MAX_APPS];
	uint32_t held; /* apps whose part holds, a bit each */
	struct hw_context contexts[COT_MAX_APPS];
	struct on_way on_way[MAX_ON_WAY]; /* in order of decision */
	uint32_t n_on_way;
	struct host_homes homes;
	struct host_works works;
	struct host_measures measures;
	struct host_queries queries;
};

/* ---- actions from the core ---- */

static uint64_t delay_ps(const struct cot_sim_host *h, const struct cot_action *a)
{
	uint64_t us;
	struct cot_rng rng = {cot_hash64(h->sc->seed, a->seq)};

	if (a->kind == COT_ACTION_GRANT)
		return h->sc->workers.grant_ps;
	if (a->kind == COT_ACTION_EVICT)
		return h->sc->workers.evict_ps;
	us = delays[a->kind].from_us;
	us += cot_rng_below(&rng, delays[a->kind].spread_us + 1u);
	return us * COT_PS_PER_US;
}

static bool is_on_work(const struct cot_action *a)
{
	return a->kind == COT_ACTION_GRANT || a->kind == COT_ACTION_EVICT;
}

/* Actions on one entity, or work, are carried out in order. */
static void take_action(struct cot_sim_host *h, const struct cot_action *a)
{
	struct on_way *w;
	uint32_t i;
	/* A message to a program that lives arrives. */
	int status =
		h->options.fault && !is_on_work(a) ? h->options.fault(h->options.fault_arg, a) : 0;

	/* Without room there is no answer either. */
	if (status == COT_SIM_HOST_SILENT || h->n_on_way == MAX_ON_WAY)
		return;
	w = &h->on_way[h->n_on_way];
	*w = (struct on_way){
		.action = *a,
		.due_ps = cot_sim_now_ps(h->sim) + delay_ps(h, a),
		.status = status,
	};
	for (i = 0; i < h->n_on_way; i++)
		if (h->on_way[i].action.entity == a->entity &&
		    is_on_work(&h->on_way[i].action) == is_on_work(a) &&
		    h->on_way[i].due_ps > w->due_ps)
			w->due_ps = h->on_way[i].due_ps;
	h->n_on_way++;
}

/* ---- events to the core ---- */

static uint64_t now_ns(const struct cot_sim_host *h)
{
	return cot_sim_now_ps(h->sim) / PS_PER_NS;
}

/* As the daemon does: an event, then at once what it led to. */
static void send(struct cot_sim_host *h, struct cot_event ev)
{
	struct cot_action a;

	ev.now_ns = now_ns(h);
	(void)cot_sched_event(h->sched, &ev);
	while (cot_sched_next_action(h->sched, &a))
		take_action(h, &a);
	h->wake_ns = cot_sched_wake_ns(h->sched);
}

static void send_pool(struct cot_sim_host *h, uint32_t id)
{
	if (cot_sched_entity(h->sched, id))
		return;
	send(h,
	     (struct cot_event){.type = COT_EV_POOL,
				.id = id,
				.pool = {.cls = id == COT_SIM_HOST_LATENCY_POOL ? COT_CLASS_LATENCY
										: COT_CLASS_BATCH,
					 .gpu_mask = 1,
					 .ready = true}});
}

static void send_parts(struct cot_sim_host *h, uint32_t app)
{
	const struct cot_share *sms = &h->sc->apps[app].sms;

	if (h->policy->places || sms->sms || sms->pct || h->works.apps[app].waits)
		send(h, cot_sim_host_scenario_parts(h->sc, app));
}

static void join(struct cot_sim_host *h, uint32_t app)
{
	struct cot_event ev = {.type = COT_EV_TENANT,
			       .id = app + 1,
			       .tenant = cot_sim_host_scenario_tenant(h->sc, app)};
	uint32_t entity;

	if (h->policy->home)
		send(h, (struct cot_event){.type = COT_EV_TICK});
	entity = cot_sim_host_home_find(&h->homes, h->sched, app, &ev.tenant);
	h->apps[app].joined = true;
	if (cot_sim_host_home_is_pool(entity)) {
		send_pool(h, entity);
		ev.tenant.pool = entity;
	}
	send(h, ev);
	send_parts(h, app);
	cot_sim_host_query_join(&h->queries, app);
	send(h, (struct cot_event){
			.type = COT_EV_ACTIVITY, .id = app + 1, .activity = COT_ACTIVITY_IDLE});
}

static void send_for(void *arg, struct cot_event ev)
{
	send(arg, ev);
}

static void look_at_apps(struct cot_sim_host *h)
{
	uint64_t now_ps = cot_sim_now_ps(h->sim);
	uint32_t i;

	cot_sim_host_measure_look(&h->measures);
	for (i = 0; i < h->sc->n_apps; i++) {
		struct app_state *a = &h->apps[i];
		bool active = cot_sim_app_active(h->sim, i);

		if (!a->joined && h->homes.register_ps[i] <= now_ps)
			join(h, i);
		if (a->active == active)
			continue;
		a->active = active;
		send(h, (struct cot_event){
				.type = COT_EV_ACTIVITY,
				.id = i + 1,
				.activity = active ? COT_ACTIVITY_ACTIVE : COT_ACTIVITY_IDLE,
			});
	}
	cot_sim_host_query_look(&h->queries);
	cot_sim_host_work_look(&h->works);
}

/* ---- actions to the GPU ---- */

static void hold(struct cot_sim_host *h, uint32_t app, bool on)
{
	h->apps[app].part.hold = on;
	h->held = on ? h->held | 1u << app : h->held & ~(1u << app);
	cot_sim_hold(h->sim, app, on);
}

/* What has lasted as long as it may ends, whether the policy is there or not. */
static void end_holds(struct cot_sim_host *h)
{
	uint32_t held = h->held;

	for (; held; held &= held - 1) {
		uint32_t app = (uint32_t)__builtin_ctz(held);

		if (h->apps[app].hold_end_ps <= cot_sim_now_ps(h->sim))
			hold(h, app, false);
	}
}

static void place(struct cot_sim_host *h, const struct cot_action *a)
{
	uint32_t app = a->entity - 1, begin = a->part.first;
	uint32_t end = a->part.n ? begin + a->part.n : h->sc->gpu.n_sms;

	h->apps[app].part = a->part;
	cot_sim_set_part(h->sim, app, begin, end);
	h->apps[app].hold_end_ps = (a->now_ns + COT_HOLD_MAX_NS) * PS_PER_NS;
	if (a->part.hold || h->held >> app & 1)
		hold(h, app, a->part.hold);
	if (h->obs && h->obs->part_changed)
		h->obs->part_changed(h->obs_arg, cot_sim_now_ps(h->sim), app, begin, end);
}

static void apply(struct cot_sim_host *h, const struct cot_action *a)
{
	uint32_t context;
	struct hw_context *c;

	if (is_on_work(a)) {
		cot_sim_host_work_apply(&h->works, a);
		return;
	}
	if (a->kind == COT_ACTION_PLACE) {
		place(h, a);
		return;
	}
	context = cot_sim_host_home_context(&h->homes, a->entity);
	c = &h->contexts[context];
	switch (a->kind) {
	case COT_ACTION_SLICE:
		c->slice_ps =
			a->value == COT_SLICE_DRIVER ? h->sc->quantum_ps : a->value * COT_PS_PER_US;
		break;
	case COT_ACTION_MODE:
		c->preempt = a->value == COT_MODE_DRAIN ? COT_PREEMPT_DRAIN : COT_PREEMPT_SWITCH;
		break;
	case COT_ACTION_FREEZE:
		c->frozen = true;
		break;
	case COT_ACTION_THAW:
		c->frozen = false;
		break;
	default:
		break;
	}
	cot_sim_set_context(h->sim, context, c);
	if (h->obs && h->obs->entity_changed) {
		struct cot_sim_entity e = cot_sim_host_home_entity(&h->homes, a->entity, c);

		h->obs->entity_changed(h->obs_arg, cot_sim_now_ps(h->sim), context, &e);
	}
}

/* Replaced by a thaw while it waited for the last block. */
static bool is_overtaken(const struct cot_sim_host *h, const struct cot_action *a)
{
	return a->kind == COT_ACTION_FREEZE &&
	       !h->contexts[cot_sim_host_home_context(&h->homes, a->entity)].frozen;
}

/* Whether the action is over; carries it out if it is its time. */
static bool advance_action(struct cot_sim_host *h, struct on_way *w)
{
	if (w->due_ps > cot_sim_now_ps(h->sim))
		return false;
	if (w->status)
		return true;
	if (!w->applied)
		apply(h, &w->action);
	w->applied = true;
	return w->action.kind != COT_ACTION_FREEZE || is_overtaken(h, &w->action) ||
	       !cot_sim_context_on_gpu(h->sim,
				       cot_sim_host_home_context(&h->homes, w->action.entity));
}

static void send_placed(struct cot_sim_host *h, const struct on_way *w)
{
	send(h, (struct cot_event){.type = COT_EV_PLACED,
				   .id = w->action.entity,
				   .placed = {.seq = w->action.seq,
					      .status = w->status,
					      .part = h->apps[w->action.entity - 1].part}});
}

/* Sends the answers to all actions that are over. */
static bool answer(struct cot_sim_host *h)
{
	bool any = false;
	uint32_t i = 0;

	while (i < h->n_on_way) {
		struct on_way w;

		if (!advance_action(h, &h->on_way[i])) {
			i++;
			continue;
		}
		w = h->on_way[i];
		memmove(&h->on_way[i], &h->on_way[i + 1],
			(--h->n_on_way - i) * sizeof(h->on_way[0]));
		any = true;
		if (is_on_work(&w.action))
			continue; /* nothing waits for its arrival */
		if (w.action.kind == COT_ACTION_PLACE) {
			send_placed(h, &w);
			continue;
		}
		send(h, (struct cot_event){.type = COT_EV_DONE,
					   .id = w.action.entity,
					   .done = {.seq = w.action.seq, .status = w.status}});
	}
	return any;
}

/* ---- time ---- */

static void set_alarm(struct cot_sim_host *h)
{
	uint64_t t_ps = cot_sim_host_measure_due_ps(&h->measures);
	uint64_t now_ps = cot_sim_now_ps(h->sim), due_ps;
	uint32_t i, held;

	if (h->wake_ns < t_ps / PS_PER_NS)
		t_ps = h->wake_ns * PS_PER_NS;
	due_ps = cot_sim_host_home_due_ps(&h->homes, now_ps);
	t_ps = due_ps < t_ps ? due_ps : t_ps;
	for (i = 0; i < h->n_on_way; i++)
		if (h->on_way[i].due_ps > now_ps && h->on_way[i].due_ps < t_ps)
			t_ps = h->on_way[i].due_ps;
	for (held = h->held; held; held &= held - 1) {
		due_ps = h->apps[__builtin_ctz(held)].hold_end_ps;
		t_ps = due_ps < t_ps ? due_ps : t_ps;
	}
	cot_sim_set_alarm(h->sim, t_ps);
}

/* After an instant of the simulation: what happened goes to the core, and what that leads to at the
 * same instant back to the simulation. */
static void run_core(struct cot_sim_host *h)
{
	end_holds(h);
	do {
		look_at_apps(h);
	} while (answer(h));
	cot_sim_host_measure_send(&h->measures, cot_sim_now_ps(h->sim));
	while (answer(h))
		look_at_apps(h);
	if (h->wake_ns <= now_ns(h)) {
		send(h, (struct cot_event){.type = COT_EV_TICK});
		while (answer(h))
			look_at_apps(h);
	}
	set_alarm(h);
}

enum cot_sim_status cot_sim_host_run(struct cot_sim_host *h, uint64_t max_instants)
{
	enum cot_sim_status status = COT_SIM_MORE;
	uint64_t n;

	for (n = 0; n < max_instants && status == COT_SIM_MORE; n++) {
		status = cot_sim_run(h->sim, 1);
		if (status == COT_SIM_MORE)
			run_core(h);
		else
			look_at_apps(h); /* what ended at the last instant counts */
	}
	return status;
}

/* ---- observers: ours counts runs, and passes everything on ---- */

static void sm_changed(void *arg, uint64_t t_ps, uint32_t sm, enum cot_sm_activity activity,
		       uint32_t app, const char *kernel)
{
	struct cot_sim_host *h = arg;

	h->obs->sm_changed(h->obs_arg, t_ps, sm, activity, app, kernel);
}

static void app_changed(void *arg, uint64_t t_ps, uint32_t app, enum cot_app_activity activity)
{
	struct cot_sim_host *h = arg;

	h->obs->app_changed(h->obs_arg, t_ps, app, activity);
}

static void kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			const char *kernel)
{
	struct cot_sim_host *h = arg;

	cot_sim_host_measure_launch(&h->measures, app, end_ps);
	cot_sim_host_query_kernel(&h->queries, app, end_ps);
	if (h->obs && h->obs->kernel_done)
		h->obs->kernel_done(h->obs_arg, begin_ps, end_ps, app, kernel);
}

static void run_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app, uint64_t run)
{
	struct cot_sim_host *h = arg;

	cot_sim_host_measure_run(&h->measures, app, begin_ps, end_ps);
	cot_sim_host_query_run(&h->queries, app);
	if (h->obs && h->obs->run_done)
		h->obs->run_done(h->obs_arg, begin_ps, end_ps, app, run);
}

static void instant_done(void *arg, uint64_t t_ps)
{
	struct cot_sim_host *h = arg;

	h->obs->instant_done(h->obs_arg, t_ps);
}

static void observe(struct cot_sim_host *h, const struct cot_sim_observer *obs, void *obs_arg)
{
	h->obs = obs;
	h->obs_arg = obs_arg;
	h->own.run_done = run_done;
	h->own.kernel_done = h->policy->measures || h->policy->queries || (obs && obs->kernel_done)
				     ? kernel_done
				     : NULL;
	if (!obs)
		return;
	h->own.sm_changed = obs->sm_changed ? sm_changed : NULL;
	h->own.app_changed = obs->app_changed ? app_changed : NULL;
	h->own.instant_done = obs->instant_done ? instant_done : NULL;
}

/* ---- life ---- */

static int init(struct cot_sim_host *h, const struct cot_scenario *sc, struct cot_error *err)
{
	struct cot_policy_config config;
	uint32_t i;
	int r;

	h->sc = malloc(sizeof(*h->sc));
	if (!h->sc)
		return cot_error_set(err, -ENOMEM, "out of memory");
	*h->sc = *sc;
	cot_sim_host_home_init(&h->homes, h->sc, h->policy);
	if (cot_sim_host_work_init(&h->works, h->sc) ||
	    cot_sim_host_measure_init(&h->measures, h->sc, h->policy, send_for, h))
		return cot_error_set(err, -ENOMEM, "out of memory");
	if (cot_sim_host_query_init(&h->queries, h->sc, h->policy, h->options.known, send_for, h))
		return cot_error_set(err, -ENOMEM, "out of memory");
	if (h->options.alone_p99_ps)
		cot_sim_host_measure_limits(&h->measures, h->options.alone_p99_ps);
	for (i = 0; i < sc->n_apps; i++) {
		h->contexts[i] = (struct hw_context){sc->quantum_ps, false, sc->preempt};
	}
	config = cot_sim_host_scenario_config(h->sc, h->options.config);
	r = cot_sched_create(h->policy, &config, h->options.limits, 0, &h->sched, err);
	if (r)
		return r;
	h->wake_ns = cot_sched_wake_ns(h->sched);
	if (h->options.tap)
		cot_sched_set_tap(h->sched, h->options.tap, h->options.tap_arg);
	r = cot_sim_create(h->sc, NULL, &h->own, h, &h->sim, err);
	if (r)
		return r;
	cot_sim_host_work_start(&h->works, h->sim, send_for, h);
	cot_sim_host_measure_start(&h->measures, h->sim);
	cot_sim_host_query_start(&h->queries, h->sim);
	for (i = 0; i < h->options.n_lessons; i++)
		send(h, (struct cot_event){.type = COT_EV_LESSON, .lesson = h->options.lessons[i]});
	cot_sim_set_alarm(h->sim, cot_sim_host_home_due_ps(&h->homes, 0));
	return 0;
}

int cot_sim_host_create(const struct cot_scenario *sc, const struct cot_sim_host_options *options,
			const struct cot_sim_observer *obs, void *obs_arg,
			struct cot_sim_host **ret_host, struct cot_error *err)
{
	const struct cot_policy_ops *policy =
		options && options->policy ? options->policy : cot_policy_find(sc->policy);
	struct cot_sim_host *h;
	int r = cot_sim_host_scenario_check(sc, policy, err);

	if (r)
		return r;
	h = calloc(1, sizeof(*h));
	if (!h)
		return cot_error_set(err, -ENOMEM, "out of memory");
	if (options)
		h->options = *options;
	h->policy = policy;
	observe(h, obs, obs_arg);
	r = init(h, sc, err);
	if (r) {
		cot_sim_host_destroy(h);
		return r;
	}
	*ret_host = h;
	return 0;
}

void cot_sim_host_destroy(struct cot_sim_host *h)
{
	if (!h)
		return;
	cot_sim_destroy(h->sim);
	cot_sched_destroy(h->sched);
	cot_sim_host_measure_finish(&h->measures);
	cot_sim_host_query_finish(&h->queries);
	cot_sim_host_work_finish(&h->works);
	free(h->sc);
	free(h);
}

struct cot_sim *cot_sim_host_sim(struct cot_sim_host *h)
{
	return h->sim;
}

const struct cot_sched *cot_sim_host_sched(const struct cot_sim_host *h)
{
	return h->sched;
}

bool cot_sim_host_together(const struct cot_sim_host *h, uint32_t app, uint32_t other)
{
	return h->homes.of_app[app] && h->homes.of_app[app] == h->homes.of_app[other];
}

unsigned cot_sim_host_explain(struct cot_sim_host *h, uint32_t app,
			      struct cot_fact ret_facts[COT_FACTS_MAX])
{
	return cot_sched_explain(h->sched, app + 1, ret_facts);
}

int cot_sim_host_forget_times(struct cot_sim_host *h)
{
	return cot_sim_host_measure_forget(&h->measures);
}

void cot_sim_host_times(const struct cot_sim_host *h, uint32_t app,
			struct cot_sim_host_times *ret_times)
{
	cot_sim_host_measure_times(&h->measures, app, ret_times);
}

void cot_sim_host_works(const struct cot_sim_host *h, uint32_t app,
			struct cot_sim_host_works *ret_works)
{
	const struct host_work *w = &h->works.apps[app];

	*ret_works = (struct cot_sim_host_works){0};
	if (!w->waits)
		return;
	*ret_works = (struct cot_sim_host_works){
		.rewritten = true,
		.n_works = w->n_works,
		.n_evictions = w->n_evictions,
		.n_evicted_sms = w->n_evicted_sms,
		.n_returns = w->n_returns,
		.wait_p50_ps = cot_hist_quantile(w->waits, 0.50),
		.wait_p99_ps = cot_hist_quantile(w->waits, 0.99),
		.wait_max_ps = cot_hist_max(w->waits),
		.eviction_p50_ps = cot_hist_quantile(w->evictions, 0.50),
		.eviction_p99_ps = cot_hist_quantile(w->evictions, 0.99),
		.eviction_max_ps = cot_hist_max(w->evictions),
	};
}
