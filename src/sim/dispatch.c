/*
 * From command queues to engines (Tanasic et al., section 2.2): the dispatcher looks at the head
 * of each queue, sends it to its engine and leaves the queue alone until that command completes.
 * Kernels go to the command buffer of their context, transfers to the transfer engine, which moves
 * one transfer at a time in each direction.
 */
#include "sim/inside.h"
#include "trace/gpu.h"

static bool is_command(const struct cot_step *s)
{
	return s->kind == COT_STEP_KERNEL || s->kind == COT_STEP_H2D || s->kind == COT_STEP_D2H;
}

bool cot_queue_is_empty(const struct app *app)
{
	uint32_t i;

	if (app->busy || app->blocked)
		return false;
	for (i = app->head; i < app->posted; i++)
		if (is_command(&app->desc->program.steps[i]))
			return false;
	return true;
}

void cot_dispatch_complete(struct cot_sim *sim, struct app *app)
{
	app->busy = false;
	sim->runnable |= 1u << app->index;
}

/* ---- transfer engine ---- */

static bool goes_first(const struct cot_sim *sim, const struct app *a, const struct app *b)
{
	if (sim->sc->transfers == COT_TRANSFERS_PRIORITY && a->desc->priority != b->desc->priority)
		return a->desc->priority > b->desc->priority;
	return a->transfer_seq < b->transfer_seq;
}

static void dma_start_next(struct cot_sim *sim, uint32_t dir)
{
	struct app *best = NULL;
	uint32_t i;

	for (i = 0; i < sim->sc->n_apps; i++) {
		struct app *a = &sim->apps[i];

		if (a->transfer_queued && a->transfer_dir == dir &&
		    !sim->hw.contexts[a->desc->context].frozen &&
		    (!best || goes_first(sim, a, best)))
			best = a;
	}
	if (!best)
		return;
	best->transfer_queued = false;
	sim->dma[dir] = (struct dma){
		.app = best->index,
		.left_ps = cot_gpu_pcie_ps(&sim->sc->gpu, best->transfer_bytes),
		.at_ps = sim->now_ps,
		.rate_q32 = COT_RATE_ONE,
	};
	if (sim->contend && sim->dma[dir].left_ps)
		sim->dma[dir].bytes_q32 =
			(uint64_t)(((cot_u128)best->transfer_bytes << 32) / sim->dma[dir].left_ps);
	cot_touch_flows(sim);
	cot_app_observe(sim, best, dir == DMA_H2D ? COT_APP_H2D : COT_APP_D2H);
	cot_timers_set(&sim->timers, timer_of_dma(sim, dir), sim->now_ps + sim->dma[dir].left_ps);
}

void cot_dma_set_rate(struct cot_sim *sim, uint32_t dir, uint64_t rate_q32)
{
	struct dma *d = &sim->dma[dir];
	uint64_t done = (uint64_t)(((cot_u128)(sim->now_ps - d->at_ps) * d->rate_q32) >> 32);
	bool same = rate_q32 == d->rate_q32;

	if (done > d->left_ps)
		done = d->left_ps;
	sim->contend->transferred_q32 += (cot_u128)done * d->bytes_q32;
	d->left_ps -= done;
	d->at_ps = sim->now_ps;
	d->rate_q32 = rate_q32;
	if (same)
		return;
	cot_timers_set(&sim->timers, timer_of_dma(sim, dir),
		       rate_q32 ? sim->now_ps +
					  (uint64_t)((((cot_u128)d->left_ps << 32) + rate_q32 - 1) /
						     rate_q32)
				: COT_TIMER_OFF);
}

static void dma_submit(struct cot_sim *sim, struct app *app, const struct cot_step *s)
{
	app->transfer_dir = s->kind == COT_STEP_H2D ? DMA_H2D : DMA_D2H;
	app->transfer_bytes = cot_app_sized(app, s->bytes);
	app->transfer_seq = ++sim->hw.next_seq;
	app->transfer_queued = true;
	if (sim->dma[app->transfer_dir].app == COT_NO_APP)
		dma_start_next(sim, app->transfer_dir);
}

void cot_dma_on_timer(struct cot_sim *sim, uint32_t dir)
{
	struct app *app = &sim->apps[sim->dma[dir].app];

	cot_timers_set(&sim->timers, timer_of_dma(sim, dir), COT_TIMER_OFF);
	if (sim->contend) {
		sim->contend->transferred_q32 +=
			(cot_u128)sim->dma[dir].left_ps * sim->dma[dir].bytes_q32;
		cot_touch_flows(sim);
	}
	sim->dma[dir].app = COT_NO_APP;
	cot_app_observe(sim, app, COT_APP_WAIT);
	cot_dispatch_complete(sim, app);
	dma_start_next(sim, dir);
}

void cot_dma_kick(struct cot_sim *sim)
{
	uint32_t dir;

	for (dir = 0; dir < N_DMA; dir++)
		if (sim->dma[dir].app == COT_NO_APP)
			dma_start_next(sim, dir);
}

/* ---- kernels ---- */

/* Takes the launch at the head of the queue; its context's command buffer is free. */
static void launch(struct cot_sim *sim, struct app *app)
{
	const struct cot_step *s = &app->desc->program.steps[app->head];

	const struct cot_kernel *kernel = &app->desc->program.kernels[s->kernel];

	app->busy = true;
	app->launch_hash = cot_hash64(cot_hash64(app->hash, app->result.runs), app->launches++);
	app->command = (struct hw_command){
		.app = app->index,
		.context = app->desc->context,
		.priority = app->desc->priority,
		.kernel = kernel,
		.n_blocks = (uint32_t)cot_app_sized(app, kernel->n_blocks),
	};
	if (++app->head_launch == s->launches) {
		app->head_launch = 0;
		app->head++;
	}
	hw_submit(&sim->hw, &app->command);
}

void cot_dispatch_app(struct cot_sim *sim, struct app *app)
{
	const struct cot_step *steps = app->desc->program.steps;

	if (app->busy)
		return;
	while (app->head < app->posted && !is_command(&steps[app->head]))
		app->head++;
	if (app->head == app->posted)
		return;
	if (steps[app->head].kind != COT_STEP_KERNEL) {
		app->busy = true;
		dma_submit(sim, app, &steps[app->head++]);
	} else if (sim->hw.held[app->index]) {
		return;
	} else if (!sim->hw.buffers[app->desc->context]) {
		app->blocked = false;
		launch(sim, app);
	} else if (!app->blocked) {
		app->blocked = true;
		app->blocked_seq = ++sim->hw.next_seq;
	}
}

void cot_dispatch_unblock(struct cot_sim *sim, uint32_t context)
{
	struct app *first = NULL;
	uint32_t i;

	for (i = 0; i < sim->sc->n_apps; i++) {
		struct app *a = &sim->apps[i];

		if (a->blocked && !sim->hw.held[i] && a->desc->context == context &&
		    (!first || a->blocked_seq < first->blocked_seq))
			first = a;
	}
	if (first)
		sim->runnable |= 1u << first->index;
}
