/*
 * The CPU side of the applications: they compute, enqueue commands, wait for their queue, and start
 * again when they end (the replay of Tanasic et al., section 4.1).
 */
#include "sim/inside.h"

void cot_app_init(struct app *app, const struct cot_app *desc, uint32_t index, uint64_t seed)
{
	const char *p;

	app->desc = desc;
	app->index = index;
	app->seen = COT_APP_WAIT;
	app->hash = cot_hash64(seed, 0);
	for (p = desc->name; *p; p++)
		app->hash = cot_hash64(app->hash, (unsigned char)*p);
}

void cot_app_observe(struct cot_sim *sim, struct app *app, enum cot_app_activity activity)
{
	if (app->seen == activity)
		return;
	app->seen = activity;
	if (sim->obs && sim->obs->app_changed)
		sim->obs->app_changed(sim->obs_arg, sim->now_ps, app->index, activity);
}

static void begin_run(struct cot_sim *sim, struct app *app)
{
	app->posted = 0;
	app->head = 0;
	app->launches = 0;
	app->run_begin_ps = sim->now_ps;
}

static void end_run(struct cot_sim *sim, struct app *app)
{
	uint64_t run = app->result.runs++;

	app->result.turnaround_sum_ps += sim->now_ps - app->run_begin_ps;
	if (sim->obs && sim->obs->run_done)
		sim->obs->run_done(sim->obs_arg, app->run_begin_ps, sim->now_ps, app->index, run);
	if (app->result.runs == sim->sc->stop_runs && ++sim->n_satisfied == sim->sc->n_apps)
		sim->done = true;
	begin_run(sim, app);
}

/* Does the next step of the program; false when the CPU side is now busy computing. */
static bool step(struct cot_sim *sim, struct app *app)
{
	const struct cot_step *s = &app->desc->program.steps[app->posted];

	switch (s->kind) {
	case COT_STEP_CPU:
		app->posted++;
		app->in_cpu = true;
		cot_timers_set(&sim->timers, timer_of_app(sim, app->index),
			       sim->now_ps + s->cpu_ps);
		cot_app_observe(sim, app, COT_APP_CPU);
		return false;
	case COT_STEP_H2D:
	case COT_STEP_D2H:
	case COT_STEP_SYNC:
		app->posted++;
		app->waiting = true;
		break;
	case COT_STEP_KERNEL:
		app->posted++;
		break;
	}
	return true;
}

void cot_app_advance(struct cot_sim *sim, struct app *app)
{
	if (!app->started || app->in_cpu)
		return;
	for (;;) {
		bool at_end = app->posted == app->desc->program.n_steps;

		if (app->waiting || at_end) {
			if (!cot_queue_is_empty(app)) {
				if (app->seen == COT_APP_CPU)
					cot_app_observe(sim, app, COT_APP_WAIT);
				return;
			}
			app->waiting = false;
		}
		if (at_end) {
			end_run(sim, app);
			if (sim->done)
				return;
		}
		if (!step(sim, app))
			return;
	}
}

void cot_app_on_timer(struct cot_sim *sim, struct app *app)
{
	cot_timers_set(&sim->timers, timer_of_app(sim, app->index), COT_TIMER_OFF);
	if (!app->started) {
		app->started = true;
		begin_run(sim, app);
	}
	app->in_cpu = false;
	sim->runnable |= 1u << app->index;
}
