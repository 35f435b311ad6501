/*
 * Events in order of time. One instant goes:
 *
 *   1. every timer that is due: blocks end, contexts are saved, transfers and CPU phases end
 *   2. the scheduler decides on what that changed
 *   3. programs go on and the dispatcher sends the commands that it can now send
 *   4. the scheduler decides on the launches that arrived
 *
 * and again while anything is due at the same time. Step 2 before 3 is what makes a queued launch
 * of one program wait for its turn behind the launches of others that already wait (section 4.2 of
 * Tanasic et al. relies on it).
 */
#include "sim/sim.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/inside.h"
#include "sim/qos.h"

static uint32_t max_resident(const struct cot_scenario *sc)
{
	uint32_t n = sc->gpu.blocks_per_sm, i, j;

	for (i = 0; i < sc->n_apps; i++)
		for (j = 0; j < sc->apps[i].program.n_kernels; j++)
			if (sc->apps[i].program.kernels[j].blocks_per_sm > n)
				n = sc->apps[i].program.kernels[j].blocks_per_sm;
	return n;
}

static int init_tables(struct cot_sim *sim, const struct hw_sched_ops *ops)
{
	const struct cot_scenario *sc = sim->sc;
	uint32_t n_blocks = max_resident(sc), i;

	sim->latency = cot_hist_create();
	sim->n_slots = sc->gpu.n_sms * (ops->shares_sms && cot_qos_is_counted(sc) ? sc->n_apps : 1);
	if (!sim->n_slots)
		return -EINVAL; /* no reader lets such a scenario through */
	sim->sms = calloc(sim->n_slots, sizeof(*sim->sms));
	if (!sim->latency || !sim->sms || hw_init(&sim->hw, sim, ops) ||
	    cot_timers_init(&sim->timers, n_timers(sim)))
		return -ENOMEM;
	for (i = 0; i < sim->n_slots; i++)
		if (cot_sm_init(&sim->sms[i], &sim->hw.sms[i], i, n_blocks))
			return -ENOMEM;
	if (sc->block_jitter_cv > 0.0) {
		sim->jitter = malloc(sizeof(*sim->jitter));
		if (!sim->jitter)
			return -ENOMEM;
		cot_jitter_init(sim->jitter, sc->block_jitter_cv);
	}
	return cot_contend_init(sim, &sim->contend);
}

int cot_sim_create(const struct cot_scenario *sc, const struct hw_sched_ops *ops,
		   const struct cot_sim_observer *obs, void *obs_arg, struct cot_sim **ret_sim,
		   struct cot_error *err)
{
	struct cot_sim *sim;
	uint32_t i;

	if (!ops)
		ops = hw_sched_find(sc->scheduler);
	if (!ops)
		return cot_error_set(err, -EINVAL, "unknown scheduler '%s'", sc->scheduler);
	sim = calloc(1, sizeof(*sim));
	if (!sim)
		return cot_error_set(err, -ENOMEM, "out of memory");
	sim->sc = sc;
	sim->obs = obs;
	sim->obs_arg = obs_arg;
	if (init_tables(sim, ops)) {
		cot_sim_destroy(sim);
		return cot_error_set(err, -ENOMEM, "out of memory");
	}
	for (i = 0; i < N_DMA; i++)
		sim->dma[i].app = COT_NO_APP;
	for (i = 0; i < sc->n_apps; i++) {
		if (cot_app_init(&sim->apps[i], &sc->apps[i], i, sc->seed)) {
			cot_sim_destroy(sim);
			return cot_error_set(err, -ENOMEM, "out of memory");
		}
		cot_timers_set(&sim->timers, timer_of_app(sim, i), sc->apps[i].start_ps);
	}
	cot_contend_start(sim);
	*ret_sim = sim;
	return 0;
}

void cot_sim_destroy(struct cot_sim *sim)
{
	uint32_t i;

	if (!sim)
		return;
	for (i = 0; sim->sms && i < sim->n_slots; i++)
		cot_sm_finish(&sim->sms[i]);
	free(sim->sms);
	for (i = 0; i < sim->sc->n_apps; i++)
		cot_app_finish(&sim->apps[i]);
	hw_finish(&sim->hw);
	cot_timers_finish(&sim->timers);
	cot_hist_destroy(sim->latency);
	free(sim->jitter);
	cot_contend_finish(sim->contend);
	free(sim);
}

static void fire(struct cot_sim *sim, uint32_t id)
{
	if (COT_LIKELY(id < sim->n_slots)) {
		cot_sm_on_timer(sim, &sim->sms[id]);
	} else if (id < timer_of_dma(sim, 0)) {
		cot_app_on_timer(sim, &sim->apps[id - timer_of_app(sim, 0)]);
	} else if (id < timer_of_sched(sim)) {
		cot_dma_on_timer(sim, id - timer_of_dma(sim, 0));
	} else {
		cot_timers_set(&sim->timers, id, COT_TIMER_OFF);
		if (id == timer_of_sched(sim))
			sim->hw.events |= HW_EV_TIMER;
		else if (id == timer_of_epoch(sim))
			cot_contend_on_timer(sim);
	}
}

/* Lets programs and their queues go on until none can. */
static void run_apps(struct cot_sim *sim)
{
	while (sim->runnable && !sim->done) {
		struct app *app = &sim->apps[__builtin_ctz(sim->runnable)];

		sim->runnable &= sim->runnable - 1;
		cot_app_advance(sim, app);
		cot_dispatch_app(sim, app);
	}
}

/* Admissions free command buffers, so that more launches may arrive. */
static void decide(struct cot_sim *sim)
{
	cot_spread(sim);
	while (!sim->done && (sim->hw.events || sim->runnable)) {
		hw_decide(&sim->hw);
		cot_spread(sim);
		run_apps(sim);
	}
	if (COT_UNLIKELY(sim->contend))
		cot_contend_update(sim);
}

static void run_instant(struct cot_sim *sim)
{
	do {
		while (timers_next_ps(&sim->timers) == sim->now_ps)
			fire(sim, timers_next_id(&sim->timers));
		decide(sim);
	} while (!sim->done && timers_next_ps(&sim->timers) == sim->now_ps);
}

static enum cot_sim_status end_at(struct cot_sim *sim, uint64_t t_ps)
{
	sim->now_ps = t_ps;
	sim->done = true;
	return COT_SIM_DONE;
}

static enum cot_sim_status run_instants(struct cot_sim *sim, uint64_t max_instants)
{
	uint64_t stop_ps = sim->sc->stop_ps ? sim->sc->stop_ps : COT_TIMER_OFF;
	uint64_t n;

	for (n = 0; n < max_instants && !sim->done; n++) {
		uint64_t next = timers_next_ps(&sim->timers);

		if (next > stop_ps)
			return end_at(sim, stop_ps);
		if (next == COT_TIMER_OFF)
			return COT_SIM_STALLED;
		sim->now_ps = next;
		run_instant(sim);
		if (sim->out_of_memory)
			return COT_SIM_NO_MEMORY;
		if (sim->obs && sim->obs->instant_done)
			sim->obs->instant_done(sim->obs_arg, sim->now_ps);
	}
	return sim->done ? COT_SIM_DONE : COT_SIM_MORE;
}

enum cot_sim_status cot_sim_run(struct cot_sim *sim, uint64_t max_instants)
{
	enum cot_sim_status status = run_instants(sim, max_instants);

	cot_sm_end_coasting(sim, NULL, SM_ALL_DUE);
	if (sim->contend)
		cot_contend_settle(sim);
	return status;
}

/* How much of its run a program has done: of the thread blocks; without any, of the steps. */
static double part_of_run(const struct cot_sim *sim, uint32_t index)
{
	const struct app *app = &sim->apps[index];
	const struct cot_program *p = &app->desc->program;
	uint64_t all = 0, done = 0;
	struct cot_sim_launch l;
	uint32_t i;

	for (i = 0; i < p->n_steps; i++) {
		const struct cot_step *step = &p->steps[i];
		uint64_t blocks;

		if (step->kind != COT_STEP_KERNEL)
			continue;
		blocks = cot_app_sized(app, p->kernels[step->kernel].n_blocks);
		all += step->launches * blocks;
		if (i < app->head)
			done += step->launches * blocks;
		else if (i == app->head)
			done += app->head_launch * blocks;
	}
	if (!all)
		return (double)app->head / p->n_steps;
	if (cot_sim_launch(sim, index, &l))
		done -= l.n_left;
	return (double)done / (double)all;
}

void cot_sim_result(const struct cot_sim *sim, struct cot_sim_result *ret_result)
{
	uint32_t i;

	*ret_result = (struct cot_sim_result){
		.end_ps = sim->now_ps,
		.block_completions = sim->block_completions,
		.preemptions = sim->preemptions,
		.saved_bytes = sim->saved_bytes,
		.restored_bytes = sim->restored_bytes,
		.latency_p50_ps = cot_hist_quantile(sim->latency, 0.50),
		.latency_p99_ps = cot_hist_quantile(sim->latency, 0.99),
		.latency_max_ps = cot_hist_max(sim->latency),
		.refused = sim->hw.n_refused,
		.n_apps = sim->sc->n_apps,
	};
	for (i = 0; i < sim->sc->n_apps; i++) {
		ret_result->apps[i] = sim->apps[i].result;
		ret_result->apps[i].progress =
			(double)sim->apps[i].result.runs + part_of_run(sim, i);
	}
	if (!sim->contend)
		return;
	ret_result->counted = true;
	ret_result->n_epochs = sim->contend->n_epochs;
	ret_result->counts = sim->contend->now;
}

double cot_sim_progress(const struct cot_sim *sim)
{
	const struct cot_scenario *sc = sim->sc;
	uint64_t have = 0;
	double by_runs = 0.0, by_time = 0.0;
	uint32_t i;

	for (i = 0; sc->stop_runs && i < sc->n_apps; i++)
		have += sim->apps[i].result.runs < sc->stop_runs ? sim->apps[i].result.runs
								 : sc->stop_runs;
	if (sc->stop_runs)
		by_runs = (double)have / ((double)sc->stop_runs * sc->n_apps);
	if (sc->stop_ps)
		by_time = (double)sim->now_ps / (double)sc->stop_ps;
	return by_runs > by_time ? by_runs : by_time;
}

double cot_sim_power_w(const struct cot_sim *sim)
{
	return sim->contend ? cot_contend_power_w(sim) : 0.0;
}

struct hw *cot_sim_hw(struct cot_sim *sim)
{
	return &sim->hw;
}

void cot_sim_set_rate(struct cot_sim *sim, uint32_t sm, uint64_t rate_q32)
{
	cot_sm_set_rate(sim, &sim->sms[sm], rate_q32);
}

void cot_sim_set_context(struct cot_sim *sim, uint32_t context, const struct hw_context *c)
{
	sim->hw.contexts[context] = *c;
	sim->hw.events |= HW_EV_CONTEXT;
	cot_dma_kick(sim);
	decide(sim);
}

void cot_sim_set_part(struct cot_sim *sim, uint32_t app, uint32_t begin, uint32_t end)
{
	sim->hw.sm_begin[app] = begin;
	sim->hw.sm_end[app] = end;
}

void cot_sim_hold(struct cot_sim *sim, uint32_t app, bool on)
{
	sim->hw.held[app] = on;
	sim->runnable |= 1u << app;
	decide(sim);
}

bool cot_sim_context_on_gpu(const struct cot_sim *sim, uint32_t context)
{
	uint32_t i;

	for (i = 0; i < sim->n_slots; i++) {
		const struct hw_kernel *k = sim->hw.sms[i].kernel;

		if (k && k->context == context)
			return true;
	}
	return false;
}

bool cot_sim_app_active(const struct cot_sim *sim, uint32_t app)
{
	return !cot_queue_is_empty(&sim->apps[app]);
}

uint64_t cot_sim_app_arrived_ps(const struct cot_sim *sim, uint32_t app)
{
	return sim->apps[app].arrived_ps;
}

uint32_t cot_sim_app_size(const struct cot_sim *sim, uint32_t app)
{
	return sim->apps[app].size;
}

uint64_t cot_sim_now_ps(const struct cot_sim *sim)
{
	return sim->now_ps;
}

const struct cot_scenario *cot_sim_scenario(const struct cot_sim *sim)
{
	return sim->sc;
}

/* ---- rewritten kernels ---- */

void cot_sim_wait_for_sms(struct cot_sim *sim, uint32_t app)
{
	sim->hw.rewritten[app] = true;
	sim->hw.sms_max[app] = 0;
}

void cot_sim_set_sms(struct cot_sim *sim, uint32_t app, uint32_t n_sms)
{
	struct hw_sm *sm = sim->hw.sms + sim->n_slots;
	uint32_t n = 0;

	cot_sm_settle_all(sim);
	sim->hw.sms_max[app] = n_sms;
	while (sm-- > sim->hw.sms)
		n += sm->state == HW_SM_RUNNING && sm->kernel->app == app;
	for (sm = sim->hw.sms; n > n_sms; sm++) {
		if (sm->state != HW_SM_RUNNING || sm->kernel->app != app)
			continue;
		hw_retire(&sim->hw, sm);
		n--;
	}
	sim->hw.events |= HW_EV_CONTEXT;
	decide(sim);
}

bool cot_sim_launch(const struct cot_sim *sim, uint32_t app, struct cot_sim_launch *ret_launch)
{
	const struct hw_command *c;
	const struct hw_kernel *k;

	for (c = sim->hw.pending; c; c = c->next) {
		if (c->app != app)
			continue;
		*ret_launch = (struct cot_sim_launch){
			.seq = c->seq, .kernel = c->kernel, .n_left = c->n_blocks};
		return true;
	}
	for (k = sim->hw.active; k; k = k->next) {
		if (k->app != app)
			continue;
		*ret_launch = (struct cot_sim_launch){.seq = k->seq,
						      .kernel = k->desc,
						      .n_left = k->n_blocks - k->n_done,
						      .n_sms = k->n_sms};
		return true;
	}
	return false;
}

void cot_sim_set_alarm(struct cot_sim *sim, uint64_t t_ps)
{
	cot_timers_set(&sim->timers, timer_of_alarm(sim), t_ps < sim->now_ps ? sim->now_ps : t_ps);
}
