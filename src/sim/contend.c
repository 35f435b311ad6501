#include "sim/contend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/inside.h"
#include "sim/qos.h"

/* A simulation in which nothing but epochs happens for so long is stuck. */
#define IDLE_EPOCHS_MAX 1000u
#define Q16		65536.0
#define Q32		4294967296.0

/* ---- life ---- */

static uint64_t cycles_ps(const struct cot_gpu *gpu, uint64_t cycles)
{
	return (cycles * COT_PS_PER_US + gpu->clock_mhz / 2) / gpu->clock_mhz;
}

/*
 * The part of its rate that an app has in this epoch: uniform in (1 - 2 noise, 1], so that no limit
 * of the hardware is ever passed. A pure function of seed, name and epoch.
 */
static double draw_stall(double noise, uint64_t hash, uint64_t epoch)
{
	uint64_t h = cot_hash64(cot_hash64(hash, 0x6e6f697365), epoch);

	return 1.0 - 2.0 * noise * ((double)(h >> 11) / 9007199254740992.0);
}

static void draw_epoch(struct cot_sim *sim)
{
	struct contention *c = sim->contend;
	double noise = sim->sc->rate_noise;
	uint32_t i;

	for (i = 0; i < sim->sc->n_apps; i++)
		c->stall[i] = draw_stall(noise, sim->apps[i].hash, c->n_epochs);
	c->fluid.dram_bytes_per_cycle =
		c->dram_bytes_per_cycle * draw_stall(noise, sim->sc->seed, c->n_epochs);
}

static int alloc_tables(struct cot_sim *sim, struct contention *c)
{
	uint32_t n = sim->n_slots, i;

	c->meters = calloc(n, sizeof(*c->meters));
	c->lanes = calloc(n, sizeof(*c->lanes));
	c->groups = calloc(sim->sc->gpu.n_sms, sizeof(*c->groups));
	c->group_of = calloc(sim->sc->gpu.n_sms, sizeof(*c->group_of));
	c->flows = calloc((size_t)n + N_DMA, sizeof(*c->flows));
	if (!c->meters || !c->lanes || !c->groups || !c->group_of || !c->flows)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		c->meters[i].quota_ps = QUOTA_NONE;
		sim->sms[i].meter = &c->meters[i];
	}
	return 0;
}

int cot_contend_init(struct cot_sim *sim, struct contention **ret)
{
	struct contention *c;
	uint32_t i;

	if (!cot_qos_is_counted(sim->sc))
		return 0;
	c = calloc(1, sizeof(*c));
	if (!c || alloc_tables(sim, c)) {
		cot_contend_finish(c);
		return -ENOMEM;
	}
	cot_fluid_init(&c->fluid, &sim->sc->gpu);
	c->fluid.groups = c->groups;
	c->fluid.flows = c->flows;
	c->dram_bytes_per_cycle = c->fluid.dram_bytes_per_cycle;
	c->epoch_ps = cycles_ps(&sim->sc->gpu, sim->sc->epoch_cycles ? sim->sc->epoch_cycles
								     : COT_EPOCH_CYCLES_DEFAULT);
	for (i = 0; i < COT_MAX_APPS; i++)
		c->stall[i] = 1.0;
	*ret = c;
	return 0;
}

void cot_contend_start(struct cot_sim *sim)
{
	if (!sim->contend)
		return;
	draw_epoch(sim);
	cot_timers_set(&sim->timers, timer_of_epoch(sim), sim->contend->epoch_ps);
}

void cot_contend_finish(struct contention *c)
{
	if (!c)
		return;
	free(c->meters);
	free(c->lanes);
	free(c->groups);
	free(c->group_of);
	free(c->flows);
	free(c);
}

uint64_t cot_contend_wake(struct cot_sim *sim)
{
	if (sim->contend)
		sim->contend->n_wakes++;
	return cycles_ps(&sim->sc->gpu, sim->sc->gpu.power.wake_cycles);
}

/* ---- counts ---- */

void cot_contend_count(struct cot_sim *sim, struct sm *sm, uint64_t delta_ps, uint64_t dt_ps)
{
	struct contention *c = sim->contend;
	struct meter *m = sm->meter;
	cot_u128 work;

	if (!m->work)
		return;
	m->idle_ps += (cot_u128)m->idle_q16 * dt_ps;
	work = (cot_u128)delta_ps * m->n_running;
	if (!work)
		return;
	c->work_ps[m->app] += work;
	if (m->counted)
		c->qos_work_ps[m->app] += work;
	c->bytes_q32[m->app] += work * m->bytes_q32;
	if (m->quota_ps == QUOTA_NONE || !m->quota_ps)
		return;
	m->quota_ps = work < m->quota_ps ? m->quota_ps - (uint64_t)work : 0;
	if (!m->quota_ps) {
		cot_touch(sim, sm);
		sim->hw.events |= HW_EV_QUOTA;
	}
}

static double insts_of(const struct cot_sim *sim, cot_u128 work_ps)
{
	return (double)work_ps * sim->sc->gpu.clock_mhz / 1e6;
}

static void settle_transfers(struct cot_sim *sim)
{
	uint32_t dir;

	for (dir = 0; dir < N_DMA; dir++)
		if (sim->dma[dir].app != COT_NO_APP)
			cot_dma_set_rate(sim, dir, sim->dma[dir].rate_q32);
}

static void settle_states(struct cot_sim *sim)
{
	struct contention *c = sim->contend;
	uint64_t dt = sim->now_ps - c->states_at_ps;

	c->states_at_ps = sim->now_ps;
	c->gated_sm_ps += dt * c->n_gated;
	c->active_sm_ps += dt * c->n_active;
}

static double energy_of(const struct cot_sim *sim, const struct cot_sim_counts *n)
{
	const struct cot_gpu_power *p = &sim->sc->gpu.power;
	double sms = sim->sc->gpu.n_sms, us = cot_us_from_ps(sim->now_ps), insts = 0.0;
	double bytes = n->transfer_bytes, idle_us = sms * us - n->gated_sm_us - n->active_sm_us;
	double wake_us = (double)sim->contend->n_wakes *
			 cot_us_from_ps(cycles_ps(&sim->sc->gpu, p->wake_cycles));
	uint32_t i;

	for (i = 0; i < sim->sc->n_apps; i++) {
		insts += n->insts[i];
		bytes += n->bytes[i];
	}
	return 1e-6 * (p->base_w * us + p->gated_w * n->gated_sm_us +
		       p->active_w * n->active_sm_us + p->idle_w * (idle_us + wake_us)) +
	       1e-9 * p->inst_nj * insts + 8e-12 * p->dram_pj_per_bit * bytes;
}

void cot_contend_settle(struct cot_sim *sim)
{
	struct contention *c = sim->contend;
	struct cot_sim_counts *n = &c->now;
	uint32_t i;

	for (i = 0; i < sim->n_slots; i++)
		if (sim->sms[i].hw->kernel && !sim->sms[i].saving)
			cot_sm_bring_up_to_date(sim, &sim->sms[i]);
	settle_transfers(sim);
	settle_states(sim);
	for (i = 0; i < sim->sc->n_apps; i++) {
		n->insts[i] = insts_of(sim, c->work_ps[i]);
		n->bytes[i] = (double)c->bytes_q32[i] / Q32;
	}
	n->transfer_bytes = (double)c->transferred_q32 / Q32;
	n->gated_sm_us = cot_us_from_ps(c->gated_sm_ps);
	n->active_sm_us = cot_us_from_ps(c->active_sm_ps);
	n->energy_j = energy_of(sim, n);
}

double cot_contend_qos_insts(struct cot_sim *sim, uint32_t app)
{
	return insts_of(sim, sim->contend->qos_work_ps[app]);
}

/* ---- what runs where ---- */

static bool is_counted(const struct cot_app *app, const struct cot_kernel *k)
{
	return !app->qos.kernel[0] || !strcmp(app->qos.kernel, k->name);
}

static bool is_moving(const struct sm *sm)
{
	return sm->hw->kernel && (sm->saving || (sm->n_waiting && sm->cohorts[0].saved));
}

/* Looks at one lane; true if the model must be solved again. */
static bool look(struct cot_sim *sim, struct sm *sm)
{
	const struct hw_kernel *k = sm->hw->kernel;
	struct meter *m = sm->meter;
	const struct cot_kernel_work *work = k && k->desc->work.insts ? &k->desc->work : NULL;
	uint32_t n = k ? cot_sm_n_running(sm) : 0, app = k ? k->app : 0;
	bool halted = !m->quota_ps, moving = is_moving(sm);

	if (m->work == work && m->n_running == n && m->app == app && m->halted == halted &&
	    m->moving == moving)
		return false;
	m->work = work;
	m->n_running = n;
	m->app = app;
	m->halted = halted;
	m->moving = moving;
	m->counted = work && is_counted(&sim->sc->apps[app], k->desc);
	return true;
}

static bool look_at_all(struct cot_sim *sim)
{
	struct contention *c = sim->contend;
	uint32_t n_sms = sim->sc->gpu.n_sms, i;
	bool changed = false, active;

	settle_states(sim);
	c->n_gated = 0;
	c->n_active = 0;
	for (i = 0; i < sim->n_slots; i++) {
		struct sm *sm = &sim->sms[i];

		if (!sm->touched)
			continue;
		sm->touched = false;
		changed |= look(sim, sm);
	}
	for (i = 0; i < n_sms; i++) {
		uint32_t slot;

		active = false;
		for (slot = i; slot < sim->n_slots; slot += n_sms)
			active |= sim->hw.sms[slot].n_resident > 0;
		c->n_active += active;
		c->n_gated += sim->hw.sms[i].state == HW_SM_GATED;
	}
	return changed;
}

/* ---- groups ---- */

static bool takes_slots(const struct meter *m)
{
	return m->work && m->n_running;
}

static bool same_lane(const struct meter *a, const struct meter *b)
{
	if (!takes_slots(a) || !takes_slots(b))
		return takes_slots(a) == takes_slots(b);
	return a->work == b->work && a->n_running == b->n_running && a->app == b->app &&
	       a->halted == b->halted;
}

static bool same_sm(const struct cot_sim *sim, uint32_t a, uint32_t b)
{
	const struct meter *m = sim->contend->meters;
	uint32_t n_sms = sim->sc->gpu.n_sms, lane;

	for (lane = 0; lane < sim->n_slots; lane += n_sms)
		if (!same_lane(&m[lane + a], &m[lane + b]))
			return false;
	return true;
}

/* Pipelines, load-store units and the like: each loses by the others' part of the warps that run.
 */
static void set_stalls(struct cot_fluid_group *g, double stall)
{
	double all = 0.0;
	uint32_t i;

	for (i = 0; i < g->n_lanes; i++)
		all += g->lanes[i].halted ? 0.0 : g->lanes[i].warps;
	for (i = 0; i < g->n_lanes; i++)
		if (!g->lanes[i].halted)
			g->lanes[i].stall *= 1.0 - stall * (1.0 - g->lanes[i].warps / all);
}

/* Kernels on one SM take its cache from each other: each loses by the others' part of the warps
 * that use memory. */
static void set_penalties(struct cot_fluid_group *g, double penalty)
{
	double all = 0.0;
	uint32_t i;

	if (g->n_lanes < 2)
		return;
	for (i = 0; i < g->n_lanes; i++)
		all += g->lanes[i].warps * g->lanes[i].work->mem_fraction;
	for (i = 0; i < g->n_lanes && all > 0.0; i++) {
		const struct cot_fluid_lane *l = &g->lanes[i];

		g->lanes[i].penalty =
			1.0 + penalty * (1.0 - l->warps * l->work->mem_fraction / all);
	}
}

/* The lanes of SM `sm` that take part, as a new group. */
static void add_group(struct cot_sim *sim, uint32_t sm, uint32_t *n_lanes)
{
	struct contention *c = sim->contend;
	struct cot_fluid_group *g = &c->groups[c->fluid.n_groups++];
	uint32_t slot;

	*g = (struct cot_fluid_group){.n_sms = 1, .lanes = &c->lanes[*n_lanes]};
	for (slot = sm; slot < sim->n_slots; slot += sim->sc->gpu.n_sms) {
		const struct meter *m = &c->meters[slot];

		if (!takes_slots(m))
			continue;
		g->lanes[g->n_lanes++] = (struct cot_fluid_lane){
			.work = m->work,
			/* A measured kernel beside it has no warps that we know of. */
			.warps = (double)m->n_running * m->work->warps,
			.stall = c->stall[m->app],
			.halted = m->halted,
			.penalty = 1.0,
		};
	}
	set_penalties(g, sim->sc->gpu.share_penalty);
	if (g->n_lanes > 1 && sim->sc->gpu.share_stall > 0.0)
		set_stalls(g, sim->sc->gpu.share_stall);
	*n_lanes += g->n_lanes;
}

static void make_groups(struct cot_sim *sim)
{
	struct contention *c = sim->contend;
	uint32_t n_sms = sim->sc->gpu.n_sms, first[COT_MAX_SMS], n_lanes = 0, i, g;

	c->fluid.n_groups = 0;
	for (i = 0; i < n_sms; i++) {
		for (g = 0; g < c->fluid.n_groups && !same_sm(sim, first[g], i); g++)
			;
		c->group_of[i] = g;
		if (g < c->fluid.n_groups) {
			c->groups[g].n_sms++;
			continue;
		}
		first[g] = i;
		add_group(sim, i, &n_lanes);
	}
}

/* Transfers, and contexts on their way: each of these moves at an SM's share of the bandwidth. */
static void make_flows(struct cot_sim *sim)
{
	struct contention *c = sim->contend;
	const struct cot_gpu *gpu = &sim->sc->gpu;
	double cycle_ps = (double)COT_PS_PER_US / gpu->clock_mhz;
	uint32_t i;

	c->fluid.n_flows = N_DMA;
	for (i = 0; i < N_DMA; i++)
		c->flows[i] = (struct cot_fluid_flow){
			.demand = sim->dma[i].app == COT_NO_APP
					  ? 0.0
					  : (double)sim->dma[i].bytes_q32 / Q32 * cycle_ps,
		};
	for (i = 0; i < sim->n_slots; i++)
		if (c->meters[i].moving)
			c->flows[c->fluid.n_flows++] = (struct cot_fluid_flow){
				.demand = (double)gpu->dram_bytes_per_s / gpu->n_sms * 1e-12 *
					  cycle_ps,
			};
}

/* ---- rates ---- */

static uint64_t to_fixed(double x, double one)
{
	return (uint64_t)(x * one + 0.5);
}

static void set_lane(struct cot_sim *sim, struct sm *sm, const struct cot_fluid_lane *l)
{
	struct meter *m = sm->meter;
	uint64_t rate_q32 = to_fixed(l->rate / m->n_running, Q32);
	uint64_t bytes_q32 =
		to_fixed(l->inst_bytes * sim->sc->gpu.clock_mhz / (double)COT_PS_PER_US, Q32);
	uint64_t idle_q16 = to_fixed(l->idle_warps, Q16);

	m->rate = l->rate;
	m->inst_bytes = l->inst_bytes;
	if (rate_q32 == sm->rate_q32 && bytes_q32 == m->bytes_q32 && idle_q16 == m->idle_q16)
		return;
	cot_sm_bring_up_to_date(sim, sm);
	m->bytes_q32 = bytes_q32;
	m->idle_q16 = idle_q16;
	cot_sm_set_rate(sim, sm, rate_q32);
}

static void apply(struct cot_sim *sim)
{
	struct contention *c = sim->contend;
	uint32_t n_sms = sim->sc->gpu.n_sms, i, slot, lane, dir;

	for (i = 0; i < n_sms; i++) {
		const struct cot_fluid_group *g = &c->groups[c->group_of[i]];

		lane = 0;
		for (slot = i; slot < sim->n_slots; slot += n_sms) {
			struct sm *sm = &sim->sms[slot];

			if (takes_slots(sm->meter)) {
				set_lane(sim, sm, &g->lanes[lane++]);
				continue;
			}
			sm->meter->idle_q16 = 0;
			sm->meter->rate = 0.0;
			if (sm->hw->kernel && !sm->meter->work && sm->rate_q32 != COT_RATE_ONE)
				cot_sm_set_rate(sim, sm, COT_RATE_ONE);
		}
	}
	for (dir = 0; dir < N_DMA; dir++)
		if (c->flows[dir].demand > 0.0)
			cot_dma_set_rate(
				sim, dir,
				c->flows[dir].rate < c->flows[dir].demand
					? to_fixed(c->flows[dir].rate / c->flows[dir].demand, Q32)
					: COT_RATE_ONE);
}

void cot_contend_update(struct cot_sim *sim)
{
	struct contention *c = sim->contend;

	if (!sim->touched)
		return;
	sim->touched = false;
	if (!look_at_all(sim) && !sim->flows_touched)
		return;
	sim->flows_touched = false;
	make_groups(sim);
	make_flows(sim);
	cot_fluid_solve(&c->fluid);
	apply(sim);
}

double cot_contend_power_w(const struct cot_sim *sim)
{
	const struct contention *c = sim->contend;
	const struct cot_gpu *gpu = &sim->sc->gpu;
	const struct cot_gpu_power *p = &gpu->power;
	double hz = gpu->clock_mhz * 1e6, idle = (double)gpu->n_sms - c->n_gated - c->n_active;
	double w =
		p->base_w + p->gated_w * c->n_gated + p->active_w * c->n_active + p->idle_w * idle;
	uint32_t i;

	for (i = 0; i < sim->n_slots; i++)
		w += c->meters[i].rate * hz *
		     (1e-9 * p->inst_nj + 8e-12 * p->dram_pj_per_bit * c->meters[i].inst_bytes);
	for (i = 0; i < N_DMA; i++)
		if (sim->dma[i].app != COT_NO_APP)
			w += 8.0 * p->dram_pj_per_bit * ((double)sim->dma[i].bytes_q32 / Q32) *
			     ((double)sim->dma[i].rate_q32 / Q32);
	return w;
}

/* ---- epochs ---- */

static void subtract(struct cot_sim_counts *a, const struct cot_sim_counts *b, uint32_t n_apps)
{
	uint32_t i;

	for (i = 0; i < n_apps; i++) {
		a->insts[i] -= b->insts[i];
		a->bytes[i] -= b->bytes[i];
	}
	a->transfer_bytes -= b->transfer_bytes;
	a->energy_j -= b->energy_j;
	a->gated_sm_us -= b->gated_sm_us;
	a->active_sm_us -= b->active_sm_us;
}

static void tell_epoch(struct cot_sim *sim)
{
	struct contention *c = sim->contend;
	struct cot_sim_epoch e = {
		.index = c->n_epochs,
		.begin_ps = c->epoch_begin_ps,
		.end_ps = sim->now_ps,
		.counts = c->now,
	};
	uint32_t i;

	for (i = 0; i < sim->n_slots; i++) {
		if (sim->hw.sms[i].kernel)
			e.sms[sim->hw.sms[i].kernel->app]++;
		e.n_gated += sim->hw.sms[i].state == HW_SM_GATED;
	}
	subtract(&e.counts, &c->before, sim->sc->n_apps);
	sim->obs->epoch_done(sim->obs_arg, &e);
}

/* The epoch that ends now was one in which nothing else happened, if no other timer is set. */
static bool is_stuck(struct cot_sim *sim)
{
	struct contention *c = sim->contend;

	if (timers_next_ps(&sim->timers) != COT_TIMER_OFF || sim->runnable)
		c->n_idle_epochs = 0;
	else
		c->n_idle_epochs++;
	return c->n_idle_epochs > IDLE_EPOCHS_MAX;
}

void cot_contend_on_timer(struct cot_sim *sim)
{
	struct contention *c = sim->contend;

	if (is_stuck(sim))
		return;
	cot_contend_settle(sim);
	if (sim->obs && sim->obs->epoch_done)
		tell_epoch(sim);
	c->before = c->now;
	c->epoch_begin_ps = sim->now_ps;
	c->n_epochs++;
	draw_epoch(sim);
	sim->touched = true;
	sim->flows_touched = sim->sc->rate_noise > 0.0;
	sim->hw.events |= HW_EV_EPOCH;
	cot_timers_set(&sim->timers, timer_of_epoch(sim), sim->now_ps + c->epoch_ps);
}
