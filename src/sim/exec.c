/*
 * The execution engine's tables (Tanasic et al., section 3.3): command buffers, active queue, KSRT,
 * PTBQs, and the actions that hw.h offers to schedulers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/inside.h"

#define PTBQ_CAP_FIRST 16u

/* ---- Preempted Thread Block Queue ---- */

/*
 * Blocks in the queue and on SMs together are at most n_sms * blocks_per_sm, because fresh blocks
 * are issued only when the queue is empty: so the ring stops growing soon.
 */
static int ptbq_grow(struct ptbq *q)
{
	uint32_t cap = q->cap ? 2 * q->cap : PTBQ_CAP_FIRST, i;
	struct cohort *ring = calloc(cap, sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	for (i = 0; i < q->n; i++)
		ring[i] = q->ring[(q->head + i) & (q->cap - 1)];
	free(q->ring);
	q->ring = ring;
	q->cap = cap;
	q->head = 0;
	return 0;
}

int cot_ptbq_push(struct ptbq *q, const struct cohort *c)
{
	if (q->n == q->cap) {
		int r = ptbq_grow(q);

		if (r)
			return r;
	}
	q->ring[(q->head + q->n++) & (q->cap - 1)] = *c;
	return 0;
}

struct cohort cot_ptbq_pop(struct ptbq *q, uint32_t max_blocks)
{
	struct cohort *first = &q->ring[q->head], c = *first;

	if (c.n > max_blocks) {
		c.n = max_blocks;
		first->first += max_blocks;
		first->n -= max_blocks;
	} else {
		q->head = (q->head + 1) & (q->cap - 1);
		q->n--;
	}
	return c;
}

/* ---- life of the engine ---- */

int hw_init(struct hw *hw, struct cot_sim *sim, const struct hw_sched_ops *ops)
{
	const struct cot_scenario *sc = sim->sc;
	uint32_t i;

	hw->sim = sim;
	hw->ops = ops;
	hw->n_idle = sim->n_slots;
	hw->active_tail = &hw->active;
	hw->pending_tail = &hw->pending;
	/* One queue has at most one kernel in flight, so there are never more than apps. */
	hw->max_active = sc->gpu.n_sms < sc->n_apps ? sc->gpu.n_sms : sc->n_apps;
	hw->sms = calloc(sim->n_slots, sizeof(*hw->sms));
	hw->kernels = calloc(hw->max_active, sizeof(*hw->kernels));
	hw->buffers = calloc(sc->n_apps, sizeof(struct hw_command *));
	hw->contexts = calloc(sc->n_apps, sizeof(*hw->contexts));
	for (i = 0; hw->sms && i < sim->n_slots; i++)
		hw->sms[i].sm = i % sc->gpu.n_sms;
	for (i = 0; i < COT_MAX_APPS; i++) {
		hw->sms_max[i] = UINT32_MAX;
		hw->sm_end[i] = sc->gpu.n_sms;
	}
	for (i = 0; hw->contexts && i < sc->n_apps; i++)
		hw->contexts[i] = (struct hw_context){sc->quantum_ps, false, sc->preempt};
	return hw->sms && hw->kernels && hw->buffers && hw->contexts ? 0 : -ENOMEM;
}

void hw_finish(struct hw *hw)
{
	uint32_t i;

	for (i = 0; hw->kernels && i < hw->max_active; i++)
		free(hw->kernels[i].ptbq.ring);
	free(hw->kernels);
	free(hw->sms);
	free(hw->buffers);
	free(hw->contexts);
}

void hw_submit(struct hw *hw, struct hw_command *c)
{
	bool workers = hw->rewritten[c->app] && !c->kernel->machine_code;

	c->seq = ++hw->next_seq;
	c->next = NULL;
	/* Workers have so many SMs of the whole GPU; what is not rewritten has its program's part.
	 */
	c->sm_begin = workers ? 0 : hw->sm_begin[c->app];
	c->sm_end = workers ? hw->sim->sc->gpu.n_sms : hw->sm_end[c->app];
	if (hw->rewritten[c->app])
		hw->sms_max[c->app] = workers ? 0 : UINT32_MAX;
	hw->buffers[c->context] = c;
	*hw->pending_tail = c;
	hw->pending_tail = &c->next;
	hw->events |= HW_EV_ARRIVED;
}

static void unlink_pending(struct hw *hw, struct hw_command *c)
{
	struct hw_command **p = &hw->pending;

	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	if (hw->pending_tail == &c->next)
		hw->pending_tail = p;
}

static void unlink_active(struct hw *hw, struct hw_kernel *k)
{
	struct hw_kernel **p = &hw->active;

	while (*p != k)
		p = &(*p)->next;
	*p = k->next;
	if (hw->active_tail == &k->next)
		hw->active_tail = p;
	hw->n_active--;
}

void hw_complete(struct hw *hw, struct kernel *k)
{
	struct cot_sim *sim = hw->sim;
	struct app *app = &sim->apps[k->hw.app];
	uint32_t i;

	if (hw->ops->finished)
		hw->ops->finished(hw, &k->hw);
	for (i = 0; k->hw.n_reserved && i < sim->n_slots; i++) {
		if (hw->sms[i].next != &k->hw)
			continue;
		hw->sms[i].next = NULL;
		k->hw.n_reserved--;
	}
	unlink_active(hw, &k->hw);
	k->active = false;
	hw->events |= HW_EV_FINISHED;
	if (sim->obs && sim->obs->kernel_done)
		sim->obs->kernel_done(sim->obs_arg, k->begin_ps, sim->now_ps, k->hw.app,
				      k->hw.desc->name);
	cot_dispatch_complete(sim, app);
}

void hw_decide(struct hw *hw)
{
	unsigned events = hw->events;

	if (!events)
		return;
	hw->events = 0;
	cot_sm_settle_all(hw->sim);
	hw->ops->schedule(hw, events);
}

/* ---- what a scheduler may read ---- */

const struct cot_scenario *hw_scenario(const struct hw *hw)
{
	return hw->sim->sc;
}

uint64_t hw_now_ps(const struct hw *hw)
{
	return hw->sim->now_ps;
}

void *hw_state(struct hw *hw)
{
	return hw->state;
}

struct hw_sm *hw_sms(struct hw *hw)
{
	return hw->sms;
}

struct hw_kernel *hw_active(struct hw *hw)
{
	return hw->active;
}

struct hw_command *hw_pending(struct hw *hw)
{
	return hw->pending;
}

uint32_t hw_n_active(const struct hw *hw)
{
	return hw->n_active;
}

const struct hw_context *hw_context(const struct hw *hw, uint32_t context)
{
	return &hw->contexts[context];
}

bool hw_may_take(const struct hw *hw, const struct hw_kernel *k)
{
	return k->n_sms + k->n_reserved < hw->sms_max[k->app];
}

bool hw_active_full(const struct hw *hw)
{
	return hw->n_active == hw->max_active;
}

struct hw_sm *hw_idle_sm(struct hw *hw)
{
	if (!hw->n_idle)
		return NULL;
	while (hw->sms[hw->first_idle].state != HW_SM_IDLE)
		hw->first_idle++;
	return &hw->sms[hw->first_idle];
}

struct hw_sm *hw_idle_sm_for(struct hw *hw, const struct hw_kernel *k)
{
	uint32_t n_sms = hw->sim->sc->gpu.n_sms, i;

	if (!k->sm_begin && k->sm_end == n_sms)
		return hw_idle_sm(hw);
	for (i = k->sm_begin; hw->n_idle && i < k->sm_end; i++)
		if (hw->sms[i].state == HW_SM_IDLE)
			return &hw->sms[i];
	return NULL;
}

uint64_t hw_n_refused(const struct hw *hw)
{
	return hw->n_refused;
}

/* ---- what a scheduler may do ---- */

void hw_refuse(struct hw *hw)
{
	hw->n_refused++;
}

/* Pointers that a scheduler kept too long are caught here. */
static bool is_active(const struct hw *hw, const struct hw_kernel *k)
{
	const struct hw_kernel *a;

	for (a = hw->active; a; a = a->next)
		if (a == k)
			return true;
	return false;
}

static bool is_pending(const struct hw *hw, const struct hw_command *c)
{
	const struct hw_command *p;

	for (p = hw->pending; p; p = p->next)
		if (p == c)
			return true;
	return false;
}

static struct kernel *free_entry(struct hw *hw)
{
	uint32_t i;

	for (i = 0; i < hw->max_active; i++)
		if (!hw->kernels[i].active)
			return &hw->kernels[i];
	return NULL;
}

static uint64_t scaled(uint64_t ps, uint64_t by_q32)
{
	uint64_t scaled_ps = (uint64_t)(((cot_u128)ps * by_q32) >> 32);

	return scaled_ps ? scaled_ps : 1;
}

/* MPS is not free. */
static uint64_t in_pool(const struct cot_app *app, uint64_t block_ps)
{
	return app->pooled ? block_ps + block_ps / 100 * app->pool_cost_pct : block_ps;
}

struct hw_kernel *hw_admit(struct hw *hw, struct hw_command *c)
{
	struct kernel *k;

	if (hw_active_full(hw) || !is_pending(hw, c)) {
		hw_refuse(hw);
		return NULL;
	}
	k = free_entry(hw);
	k->hw = (struct hw_kernel){
		.app = c->app,
		.context = c->context,
		.priority = c->priority,
		.seq = c->seq,
		.desc = c->kernel,
		.n_blocks = c->n_blocks,
		.n_fresh = c->n_blocks,
		.issue = true,
		.sm_begin = c->sm_begin,
		.sm_end = c->sm_end,
	};
	k->active = true;
	k->launch_hash = hw->sim->apps[c->app].launch_hash;
	k->block_ps = scaled(c->kernel->block_ps, hw->sim->apps[c->app].size_q32);
	k->block_ps = in_pool(hw->sim->apps[c->app].desc, k->block_ps);
	k->begin_ps = hw->sim->now_ps;
	k->claimed = 0;
	k->share_at_ps = UINT64_MAX;
	k->ptbq.head = 0;
	k->ptbq.n = 0;
	unlink_pending(hw, c);
	*hw->active_tail = &k->hw;
	hw->active_tail = &k->hw.next;
	hw->n_active++;
	hw->buffers[c->context] = NULL;
	cot_dispatch_unblock(hw->sim, c->context);
	return &k->hw;
}

void hw_assign(struct hw *hw, struct hw_sm *sm, struct hw_kernel *k)
{
	if ((sm->state != HW_SM_IDLE && sm->state != HW_SM_GATED) || !is_active(hw, k) ||
	    !hw_unissued(k) || !k->issue || !hw_may_take(hw, k) || !hw_may_be_on(k, sm)) {
		hw_refuse(hw);
		return;
	}
	if (sm->state == HW_SM_IDLE)
		hw->n_idle--;
	cot_sm_set_up(hw->sim, &hw->sim->sms[sm->index], kernel_of(k));
}

void hw_reserve(struct hw *hw, struct hw_sm *sm, struct hw_kernel *k)
{
	if (sm->state != HW_SM_RUNNING || sm->kernel == k || !is_active(hw, k) || !hw_unissued(k) ||
	    !hw_may_take(hw, k) || !hw_may_be_on(k, sm)) {
		hw_refuse(hw);
		return;
	}
	sm->state = HW_SM_RESERVED;
	sm->next = k;
	k->n_reserved++;
	cot_sm_begin_preemption(hw->sim, &hw->sim->sms[sm->index]);
}

void hw_evict(struct hw *hw, struct hw_sm *sm)
{
	if (sm->state != HW_SM_RUNNING) {
		hw_refuse(hw);
		return;
	}
	sm->state = HW_SM_RESERVED;
	sm->next = NULL;
	cot_sm_begin_preemption(hw->sim, &hw->sim->sms[sm->index]);
}

void hw_retire(struct hw *hw, struct hw_sm *sm)
{
	sm->state = HW_SM_RESERVED;
	sm->next = NULL;
	cot_sm_begin_drain(hw->sim, &hw->sim->sms[sm->index]);
}

void hw_retarget(struct hw *hw, struct hw_sm *sm, struct hw_kernel *k)
{
	if (sm->state != HW_SM_RESERVED || !is_active(hw, k) || !hw_unissued(k) ||
	    !hw_may_be_on(k, sm)) {
		hw_refuse(hw);
		return;
	}
	if (sm->next)
		sm->next->n_reserved--;
	sm->next = k;
	k->n_reserved++;
}

void hw_set_issue(struct hw *hw, struct hw_kernel *k, bool on)
{
	uint32_t i;

	if (k->issue == on)
		return;
	k->issue = on;
	if (!on) {
		cot_sm_end_coasting(hw->sim, kernel_of(k), SM_ALL_DUE);
		return;
	}
	for (i = 0; hw_unissued(k) && i < hw->sim->n_slots; i++)
		if (hw->sms[i].state == HW_SM_RUNNING && hw->sms[i].kernel == k)
			cot_sm_refill(hw->sim, &hw->sim->sms[i]);
}

void hw_timer_set(struct hw *hw, uint64_t t_ps)
{
	if (t_ps < hw->sim->now_ps) {
		hw_refuse(hw);
		return;
	}
	cot_timers_set(&hw->sim->timers, timer_of_sched(hw->sim), t_ps);
}

/* ---- dispatch in breadth ---- */

/*
 * As GPGPU-Sim does it: the blocks of a kernel go to its SMs in turn, so that a small grid, and the
 * end of a large one, is on many SMs and not on the first few. All timers of an instant come first,
 * so that SMs whose blocks end together are filled together.
 */

static bool may_take(const struct hw_sm *sm, const struct hw_kernel *k)
{
	return sm->kernel == k && sm->state == HW_SM_RUNNING;
}

/* Blocks that the SMs of k can take until each has `level` of them. */
static uint32_t room_below(const struct cot_sim *sim, const struct hw_kernel *k, uint32_t level)
{
	uint32_t n = 0, slot;

	for (slot = 0; slot < sim->n_slots; slot++) {
		const struct hw_sm *sm = &sim->hw.sms[slot];
		uint32_t most = level < sm->limit ? level : sm->limit;

		if (may_take(sm, k) && most > sm->n_resident)
			n += most - sm->n_resident;
	}
	return n;
}

/* Of SMs with as many blocks the first ones get one more, if there is not one for each. */
static void spread(struct cot_sim *sim, struct hw_kernel *k)
{
	uint32_t left = k->issue ? blocks_left(k) : 0, level = k->desc->blocks_per_sm, slot, extra;

	while (level && room_below(sim, k, level) > left) /* mostly there are plenty */
		level--;
	extra = left - room_below(sim, k, level);
	for (slot = 0; slot < sim->n_slots; slot++) {
		struct sm *sm = &sim->sms[slot];
		uint32_t n = sm->hw->n_resident;
		bool one_more = extra && n <= level && sm->hw->limit > level;

		if (!may_take(sm->hw, k) || (n && n >= level + one_more))
			continue;
		cot_sm_fill(sim, sm, level + one_more);
		extra -= one_more;
	}
}

void cot_spread(struct cot_sim *sim)
{
	struct hw_kernel *k;

	if (COT_LIKELY(!sim->spread_due || !spreads(sim)))
		return;
	sim->spread_due = false;
	for (k = sim->hw.active; k; k = k->next)
		if (blocks_left(k)) /* an SM that waits for one has not been without */
			spread(sim, k);
}
