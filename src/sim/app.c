/*
 * The CPU side of the applications: they compute, enqueue commands, wait for their queue, and start
 * again when they end (the replay of Tanasic et al., section 4.1).
 */
#include <errno.h>
#include <stdlib.h>

#include "sim/inside.h"

int cot_app_init(struct app *app, const struct cot_app *desc, uint32_t index, uint64_t seed)
{
	app->desc = desc;
	app->index = index;
	app->seen = COT_APP_WAIT;
	app->hash = cot_hash_text(cot_hash64(seed, 0), desc->name);
	app->size_q32 = COT_RATE_ONE;
	if (!(desc->arrivals.size_cv > 0.0))
		return 0;
	app->sizes = malloc(sizeof(*app->sizes));
	if (!app->sizes)
		return -ENOMEM;
	cot_jitter_init(app->sizes, desc->arrivals.size_cv);
	return 0;
}

void cot_app_finish(struct app *app)
{
	free(app->sizes);
}

void cot_app_observe(struct cot_sim *sim, struct app *app, enum cot_app_activity activity)
{
	if (app->seen == activity)
		return;
	app->seen = activity;
	if (sim->obs && sim->obs->app_changed)
		sim->obs->app_changed(sim->obs_arg, sim->now_ps, app->index, activity);
}

static void draw_size(struct app *app)
{
	const struct cot_app *desc = app->desc;
	struct cot_rng rng = {cot_hash64(cot_hash64(app->hash, 'n'), (uint32_t)app->result.runs)};

	app->size = desc->sizes[cot_rng_below(&rng, desc->n_sizes)];
	app->full_size = desc->full_size;
}

static void begin_run(struct cot_sim *sim, struct app *app)
{
	app->posted = 0;
	app->head = 0;
	app->launches = 0;
	app->idle = false;
	app->run_begin_ps = sim->now_ps;
	if (!(app->desc->arrivals.per_s > 0.0))
		app->arrived_ps = sim->now_ps;
	if (app->desc->n_sizes)
		draw_size(app);
	if (app->sizes)
		app->size_q32 = jitter_block_ps(app->sizes, cot_hash64(app->hash, 's'),
						(uint32_t)app->result.runs, COT_RATE_ONE);
}

/* At once, or with the next request. */
static void begin_next(struct cot_sim *sim, struct app *app)
{
	if (app->desc->arrivals.per_s > 0.0) {
		cot_arrivals_answered(&app->arrivals, sim->now_ps);
		app->arrived_ps = cot_arrivals_next(&app->arrivals);
		app->idle = app->arrived_ps > sim->now_ps;
	}
	if (!app->idle) {
		begin_run(sim, app);
		return;
	}
	/* Nothing of the next run is enqueued. */
	app->posted = 0;
	app->head = 0;
	cot_timers_set(&sim->timers, timer_of_app(sim, app->index), app->arrived_ps);
	cot_app_observe(sim, app, COT_APP_WAIT);
}

static void end_run(struct cot_sim *sim, struct app *app)
{
	uint64_t run = app->result.runs++;

	app->result.turnaround_sum_ps += sim->now_ps - app->run_begin_ps;
	if (sim->obs && sim->obs->run_done)
		sim->obs->run_done(sim->obs_arg, app->run_begin_ps, sim->now_ps, app->index, run);
	if (app->result.runs == sim->sc->stop_runs && ++sim->n_satisfied == sim->sc->n_apps)
		sim->done = true;
	begin_next(sim, app);
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
	if (!app->started || app->in_cpu || app->idle)
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
			if (sim->done || app->idle)
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
		cot_arrivals_start(&app->arrivals, &app->desc->arrivals, app->hash, sim->now_ps);
		begin_next(sim, app);
	} else if (app->idle) {
		begin_run(sim, app);
	}
	app->in_cpu = false;
	sim->runnable |= 1u << app->index;
}
