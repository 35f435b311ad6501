/*
 * The SM driver (Tanasic et al., section 3.2 and Figure 3): sets SMs up, keeps them full of thread
 * blocks, and preempts them.
 *
 *          hw_assign()                   hw_reserve()
 *   IDLE --------------> RUNNING -------------------------------> RESERVED
 *    ^                    |   ^                                     |
 *    |   no block left    |   |   blocks saved, or all finished,    |
 *    +--------------------+   +-- and `next` has a block to issue --+
 *    |                                     otherwise                |
 *    +--------------------------------------------------------------+
 */
#include <errno.h>
#include <stdlib.h>

#include "base/units.h"
#include "sim/inside.h"
#include "trace/gpu.h"

int cot_sm_init(struct sm *sm, struct hw_sm *hw, uint32_t index, uint32_t max_blocks)
{
	hw->index = index;
	hw->state = HW_SM_IDLE;
	sm->hw = hw;
	sm->context = UINT32_MAX;
	sm->rate_q32 = COT_RATE_ONE;
	sm->first_end_ps = UINT64_MAX;
	sm->cohorts = calloc(max_blocks, sizeof(*sm->cohorts));
	return sm->cohorts ? 0 : -ENOMEM;
}

void cot_sm_finish(struct sm *sm)
{
	free(sm->cohorts);
}

/* ---- progress ---- */

/* After a change of what it depends on. Kernels with measured times alone never need more. */
static void set_plain(struct sm *sm)
{
	sm->plain = sm->rate_q32 == COT_RATE_ONE && !sm->progress_frac && !sm->meter;
}

static void add_progress(struct cot_sim *sim, struct sm *sm, uint64_t dt)
{
	uint64_t before = sm->progress_ps;

	if (sm->rate_q32 == COT_RATE_ONE) {
		sm->progress_ps += dt;
	} else {
		cot_u128 p = (cot_u128)dt * sm->rate_q32 + sm->progress_frac;

		sm->progress_ps += (uint64_t)(p >> 32);
		sm->progress_frac = (uint32_t)p;
	}
	if (sm->meter)
		cot_contend_count(sim, sm, sm->progress_ps - before, dt);
}

static inline void bring_up_to_date(struct cot_sim *sim, struct sm *sm)
{
	uint64_t dt = sim->now_ps - sm->progress_at_ps;

	sm->progress_at_ps = sim->now_ps;
	if (COT_LIKELY(sm->plain))
		sm->progress_ps += dt;
	else
		add_progress(sim, sm, dt);
}

void cot_sm_bring_up_to_date(struct cot_sim *sim, struct sm *sm)
{
	bring_up_to_date(sim, sm);
}

uint32_t cot_sm_n_running(const struct sm *sm)
{
	uint32_t n = sm->saving ? 0 : sm->hw->n_resident, i;

	for (i = 0; n && sm->n_waiting && i < sm->n_cohorts; i++)
		if (sm->cohorts[i].waiting)
			n -= sm->cohorts[i].n;
	return n;
}

static uint64_t time_of_work(const struct sm *sm, uint64_t left)
{
	cot_u128 dt;

	if (sm->rate_q32 == COT_RATE_ONE && !sm->progress_frac)
		return sm->progress_at_ps + left;
	if (!left)
		return sm->progress_at_ps;
	if (!sm->rate_q32)
		return COT_TIMER_OFF;
	if (COT_LIKELY(left < 1ull << 31 && sm->rate_q32 < 1ull << 62)) /* that divides fast */
		return sm->progress_at_ps +
		       ((left << 32) - sm->progress_frac + sm->rate_q32 - 1) / sm->rate_q32;
	dt = (((cot_u128)left << 32) - sm->progress_frac + sm->rate_q32 - 1) / sm->rate_q32;
	if (dt >= COT_TIMER_OFF - sm->progress_at_ps)
		return COT_TIMER_OFF;
	return sm->progress_at_ps + (uint64_t)dt;
}

/* When the SM's progress reaches `target`; never before now. */
static inline uint64_t time_of_progress(const struct sm *sm, uint64_t target)
{
	uint64_t left = target > sm->progress_ps ? target - sm->progress_ps : 0;

	return COT_LIKELY(sm->plain) ? sm->progress_at_ps + left : time_of_work(sm, left);
}

/* When the meter's quota is used up, as progress of the SM; UINT64_MAX for never. */
static uint64_t quota_end(const struct sm *sm)
{
	uint32_t n;

	if (!sm->meter || sm->meter->quota_ps == QUOTA_NONE || !sm->meter->quota_ps)
		return UINT64_MAX;
	n = cot_sm_n_running(sm);
	return n ? sm->progress_ps + (sm->meter->quota_ps + n - 1) / n : UINT64_MAX;
}

/* When something happens on the SM next. */
static uint64_t next_event(const struct sm *sm)
{
	uint64_t due = COT_TIMER_OFF, first_end;
	uint32_t i;

	if (sm->saving)
		return sm->save_end_ps;
	for (i = 0; sm->n_waiting && i < sm->n_cohorts; i++)
		if (sm->cohorts[i].waiting && sm->cohorts[i].ready_ps < due)
			due = sm->cohorts[i].ready_ps;
	first_end = sm->plain ? UINT64_MAX : quota_end(sm);
	if (sm->first_end_ps < first_end)
		first_end = sm->first_end_ps;
	if (first_end != UINT64_MAX) {
		uint64_t t = time_of_progress(sm, first_end);

		if (t < due)
			due = t;
	}
	return due;
}

/* The SM is up to date. */
static inline void set_timer(struct cot_sim *sim, struct sm *sm)
{
	uint64_t due, end = sm->first_end_ps;

	if (COT_LIKELY(sm->plain && !sm->n_waiting && !sm->saving && end != UINT64_MAX))
		due = sm->progress_at_ps + (end > sm->progress_ps ? end - sm->progress_ps : 0);
	else
		due = next_event(sm);
	cot_timers_set(&sim->timers, timer_of_sm(sim, sm->hw->index), due);
}

static void end_coasting(struct cot_sim *sim, struct sm *sm, bool due_now);

void cot_sm_set_rate(struct cot_sim *sim, struct sm *sm, uint64_t rate_q32)
{
	end_coasting(sim, sm, true);
	if (!sm->saving) /* blocks that are being saved make no progress */
		bring_up_to_date(sim, sm);
	sm->rate_q32 = rate_q32;
	set_plain(sm);
	set_timer(sim, sm);
}

void cot_sm_retime(struct cot_sim *sim, struct sm *sm)
{
	set_timer(sim, sm);
}

/* ---- issue ---- */

static uint64_t block_work_ps(const struct cot_sim *sim, const struct kernel *k, uint32_t index)
{
	if (!sim->jitter)
		return k->block_ps;
	return jitter_block_ps(sim->jitter, k->launch_hash, index, k->block_ps);
}

/* The next blocks of k, at most max_blocks: preempted ones first. work_ps is the work left. */
static inline void take_blocks(struct cot_sim *sim, const struct sm *sm, struct kernel *k,
			       uint32_t max_blocks, struct cohort *ret_c)
{
	struct hw_kernel *hk = &k->hw;

	if (COT_UNLIKELY(hk->n_preempted)) {
		*ret_c = cot_ptbq_pop(&k->ptbq, max_blocks);
		hk->n_preempted -= ret_c->n;
		return;
	}
	ret_c->issued_ps = sim->now_ps;
	ret_c->issued_sm = sm->hw->index;
	ret_c->first = hk->n_blocks - hk->n_fresh;
	ret_c->n = sim->jitter ? 1 : max_blocks < hk->n_fresh ? max_blocks : hk->n_fresh;
	ret_c->work_ps = block_work_ps(sim, k, ret_c->first);
	ret_c->waiting = false;
	ret_c->saved = false;
	hk->n_fresh -= ret_c->n;
}

/* Blocks whose contexts are to be restored, or `all`, begin at `ready`; the others now. */
static inline void begin_blocks(const struct cot_sim *sim, struct sm *sm, uint32_t from,
				uint64_t ready, bool all)
{
	uint32_t i;

	for (i = from; i < sm->n_cohorts; i++) {
		struct cohort *c = &sm->cohorts[i];

		if (ready > sim->now_ps && (c->saved || all)) {
			c->waiting = true;
			c->ready_ps = ready;
			sm->n_waiting++;
		} else {
			c->waiting = false;
			c->work_ps += sm->progress_ps;
			if (c->work_ps < sm->first_end_ps)
				sm->first_end_ps = c->work_ps;
		}
	}
}

/*
 * Gives blocks to an SM that is up to date until it has `most`, or its limit. Blocks issued at one
 * instant whose contexts must be restored start together, when the last context is there.
 * `setting_up`: so do all.
 */
static void issue_up_to(struct cot_sim *sim, struct sm *sm, bool setting_up, uint32_t most)
{
	struct kernel *k = kernel_of(sm->hw->kernel);
	uint32_t free_slots = (most < sm->hw->limit ? most : sm->hw->limit) - sm->hw->n_resident;
	uint32_t from = sm->n_cohorts;
	uint64_t restore_bytes = 0, ready;

	if (COT_UNLIKELY(sm->hw->limit < sm->hw->n_resident || most < sm->hw->n_resident))
		return;
	cot_touch(sim, sm);

	if (k->claimed && k->hw.n_fresh - k->claimed < free_slots)
		cot_sm_end_coasting(sim, k, sm->hw->index);
	while (free_slots && blocks_left(&k->hw)) {
		struct cohort *c = &sm->cohorts[sm->n_cohorts++];

		take_blocks(sim, sm, k, free_slots, c);
		free_slots -= c->n;
		sm->hw->n_resident += c->n;
		k->hw.n_resident += c->n;
		if (c->saved)
			restore_bytes += (uint64_t)c->n * k->hw.desc->ctx_bytes_per_block;
	}
	ready = sim->now_ps + (setting_up ? sim->sc->gpu.setup_ps + sm->wake_ps : 0);
	if (restore_bytes) {
		sim->restored_bytes += restore_bytes;
		if (sm->restore_free_ps > ready)
			ready = sm->restore_free_ps;
		ready += cot_gpu_sm_move_ps(&sim->sc->gpu, restore_bytes);
		sm->restore_free_ps = ready;
	}
	if (COT_UNLIKELY(sm->room_ps > ready))
		ready = sm->room_ps;
	if (setting_up)
		sm->hw->begin_ps = ready;
	begin_blocks(sim, sm, from, ready, setting_up || sm->room_ps == ready);
}

/* Fills the free slots of an SM, or lets it wait until all SMs that may take a block now are known.
 */
static void issue(struct cot_sim *sim, struct sm *sm, bool setting_up)
{
	if (COT_LIKELY(!spreads(sim))) {
		issue_up_to(sim, sm, setting_up, UINT32_MAX);
		return;
	}
	sim->spread_due = true;
	sm->awaits |= setting_up;
	sm->hw->kernel->n_awaited += setting_up;
}

static void stop_awaiting(struct sm *sm)
{
	sm->hw->kernel->n_awaited -= sm->awaits;
	sm->awaits = false;
}

/* What setting it up takes longer: it had no power, or another context has left it by itself. */
static uint64_t extra_ps(struct cot_sim *sim, struct sm *sm, const struct kernel *k)
{
	bool back = sm->context != k->hw.context && sm->context != UINT32_MAX;

	sm->context = k->hw.context;
	if (COT_UNLIKELY(sm->hw->state == HW_SM_GATED))
		return cot_contend_wake(sim);
	back = back && sm->hw->state == HW_SM_IDLE && sim->hw.ops->contexts;
	return back ? sim->sc->gpu.resume_ps : 0;
}

void cot_sm_set_up(struct cot_sim *sim, struct sm *sm, struct kernel *k)
{
	sm->wake_ps = extra_ps(sim, sm, k);
	sm->hw->state = HW_SM_RUNNING;
	sm->hw->kernel = &k->hw;
	if (sim->n_slots == sim->sc->gpu.n_sms)
		sm->hw->limit = k->hw.desc->blocks_per_sm;
	sm->hw->next = NULL;
	k->hw.n_sms++;
	sm->progress_ps = 0;
	sm->progress_frac = 0;
	set_plain(sm);
	sm->progress_at_ps = sim->now_ps;
	sm->restore_free_ps = 0;
	if (k->claimed) /* the shares become smaller */
		cot_sm_end_coasting(sim, k, SM_ALL_DUE);
	issue(sim, sm, true);
	if (COT_UNLIKELY(sm->awaits))
		return;
	set_timer(sim, sm);
	cot_sm_observe(sim, sm);
}

void cot_sm_refill(struct cot_sim *sim, struct sm *sm)
{
	bring_up_to_date(sim, sm);
	issue(sim, sm, false);
	set_timer(sim, sm);
}

/* ---- giving an SM up ---- */

static void make_idle(struct cot_sim *sim, struct sm *sm)
{
	sm->hw->state = HW_SM_IDLE;
	sm->hw->kernel = NULL;
	sm->hw->next = NULL;
	cot_touch(sim, sm);
	sim->hw.n_idle++;
	if (sm->hw->index < sim->hw.first_idle)
		sim->hw.first_idle = sm->hw->index;
	sim->hw.events |= HW_EV_IDLE;
	cot_timers_set(&sim->timers, timer_of_sm(sim, sm->hw->index), COT_TIMER_OFF);
	cot_sm_observe(sim, sm);
}

static void release(struct cot_sim *sim, struct sm *sm, struct hw_kernel *k)
{
	if (sim->hw.ops->sm_released)
		sim->hw.ops->sm_released(&sim->hw, sm->hw, k);
	make_idle(sim, sm);
}

void cot_sm_fill(struct cot_sim *sim, struct sm *sm, uint32_t most)
{
	bool setting_up = sm->awaits;

	stop_awaiting(sm);
	bring_up_to_date(sim, sm);
	issue_up_to(sim, sm, setting_up, most);
	if (!sm->hw->n_resident) {
		sm->hw->kernel->n_sms--;
		release(sim, sm, sm->hw->kernel);
		return;
	}
	set_timer(sim, sm);
	cot_sm_observe(sim, sm);
}

/* A reserved SM no longer has a block on it. */
static void switch_to_next(struct cot_sim *sim, struct sm *sm)
{
	struct hw_kernel *next = sm->hw->next;

	sim->preemptions++;
	cot_hist_add(sim->latency, sim->now_ps - sm->reserved_ps);
	sm->hw->kernel->n_sms--;
	if (!next) {
		make_idle(sim, sm);
		return;
	}
	next->n_reserved--;
	if (kernel_of(next)->claimed)
		cot_sm_end_coasting(sim, kernel_of(next), sm->hw->index);
	if (hw_unissued(next) && next->issue) {
		sim->hw.events |= HW_EV_SWITCHED;
		cot_sm_set_up(sim, sm, kernel_of(next));
	} else {
		release(sim, sm, next);
	}
}

/* ---- preemption ---- */

static int push_back(struct kernel *k, const struct sm *sm, const struct cohort *c)
{
	struct cohort left = *c;

	if (!c->waiting)
		left.work_ps = c->work_ps > sm->progress_ps ? c->work_ps - sm->progress_ps : 0;
	left.waiting = false;
	left.saved = true;
	return cot_ptbq_push(&k->ptbq, &left);
}

/* What a lane of an SM gives up is saved before another lane can use the room. */
static void take_time_to_save(struct cot_sim *sim, const struct sm *sm, uint64_t bytes)
{
	uint64_t free_ps =
		sim->now_ps + sim->sc->gpu.trap_ps + cot_gpu_sm_move_ps(&sim->sc->gpu, bytes);
	uint32_t slot;

	sim->saved_bytes += bytes;
	for (slot = sm->hw->sm; slot < sim->n_slots; slot += sim->sc->gpu.n_sms)
		if (sim->sms[slot].room_ps < free_ps)
			sim->sms[slot].room_ps = free_ps;
}

static void find_first_end(struct sm *sm)
{
	uint32_t i;

	sm->first_end_ps = UINT64_MAX;
	for (i = 0; i < sm->n_cohorts; i++)
		if (!sm->cohorts[i].waiting && sm->cohorts[i].work_ps < sm->first_end_ps)
			sm->first_end_ps = sm->cohorts[i].work_ps;
}

/* The blocks that came last are saved, until no more than the limit are left. */
void cot_sm_shed(struct cot_sim *sim, struct sm *sm)
{
	struct kernel *k = kernel_of(sm->hw->kernel);
	uint32_t n = sm->hw->n_resident - sm->hw->limit, take;

	bring_up_to_date(sim, sm);
	cot_touch(sim, sm);
	take_time_to_save(sim, sm, (uint64_t)n * k->hw.desc->ctx_bytes_per_block);
	k->hw.n_resident -= n;
	k->hw.n_preempted += n;
	sm->hw->n_resident -= n;
	while (n) {
		struct cohort *c = &sm->cohorts[sm->n_cohorts - 1], part = *c;

		take = n < c->n ? n : c->n;
		part.n = take;
		part.first = c->first + c->n - take;
		if (push_back(k, sm, &part))
			sim->out_of_memory = true;
		c->n -= take;
		n -= take;
		if (c->n)
			continue;
		sm->n_waiting -= c->waiting;
		sm->n_cohorts--;
	}
	sim->spread_due = true;
	find_first_end(sm);
	set_timer(sim, sm);
}

static bool issued_before(const struct cohort *a, const struct cohort *b)
{
	if (a->issued_ps != b->issued_ps)
		return a->issued_ps < b->issued_ps;
	if (a->issued_sm != b->issued_sm)
		return a->issued_sm < b->issued_sm;
	return a->first < b->first;
}

/* Cohorts in order of first issue, so that they go on in that order. At most a few dozen. */
static void sort_cohorts(struct sm *sm)
{
	uint32_t i, j;

	for (i = 1; i < sm->n_cohorts; i++) {
		struct cohort c = sm->cohorts[i];

		for (j = i; j > 0 && issued_before(&c, &sm->cohorts[j - 1]); j--)
			sm->cohorts[j] = sm->cohorts[j - 1];
		sm->cohorts[j] = c;
	}
}

static void end_save(struct cot_sim *sim, struct sm *sm)
{
	struct kernel *k = kernel_of(sm->hw->kernel);
	uint32_t i;

	/* From now on preempted blocks go first. */
	if (k->claimed)
		cot_sm_end_coasting(sim, k, sm->hw->index);
	sm->saving = false;
	sort_cohorts(sm);
	for (i = 0; i < sm->n_cohorts; i++)
		if (push_back(k, sm, &sm->cohorts[i]))
			sim->out_of_memory = true;
	k->hw.n_preempted += sm->hw->n_resident;
	k->hw.n_resident -= sm->hw->n_resident;
	sm->hw->n_resident = 0;
	sm->n_cohorts = 0;
	sm->n_waiting = 0;
	sm->first_end_ps = UINT64_MAX;
	sim->spread_due = true; /* its blocks may go on where there is room */
	switch_to_next(sim, sm);
}

/*
 * The trap routine saves every resident block, those included that have made no progress yet or
 * were just being restored: save(SM) = resident blocks * context / SM's share of the bandwidth.
 */
static void begin_save(struct cot_sim *sim, struct sm *sm)
{
	uint64_t bytes = (uint64_t)sm->hw->n_resident * sm->hw->kernel->desc->ctx_bytes_per_block;
	uint64_t save_ps = sim->sc->gpu.trap_ps + cot_gpu_sm_move_ps(&sim->sc->gpu, bytes);

	if (sim->hw.ops->contexts && save_ps < sim->sc->gpu.switch_ps)
		save_ps = sim->sc->gpu.switch_ps;
	sim->saved_bytes += bytes;
	sm->saving = true;
	sm->save_end_ps = sim->now_ps + save_ps;
	set_timer(sim, sm);
	cot_sm_observe(sim, sm);
}

static void begin_preemption(struct cot_sim *sim, struct sm *sm, bool save)
{
	end_coasting(sim, sm, true);
	stop_awaiting(sm);
	bring_up_to_date(sim, sm);
	cot_touch(sim, sm);
	sm->reserved_ps = sim->now_ps;
	if (COT_UNLIKELY(!sm->hw->n_resident)) /* it has waited for its first block */
		switch_to_next(sim, sm);
	else if (save)
		begin_save(sim, sm);
	else
		cot_sm_observe(sim, sm);
}

/* The SM has just become RESERVED. */
void cot_sm_begin_preemption(struct cot_sim *sim, struct sm *sm)
{
	const struct hw_context *c = &sim->hw.contexts[sm->hw->kernel->context];

	begin_preemption(sim, sm, c->preempt == COT_PREEMPT_SWITCH);
}

void cot_sm_begin_drain(struct cot_sim *sim, struct sm *sm)
{
	begin_preemption(sim, sm, false);
}

/* ---- events ---- */

static void start_waiting(struct cot_sim *sim, struct sm *sm)
{
	uint32_t i;

	for (i = 0; i < sm->n_cohorts; i++) {
		struct cohort *c = &sm->cohorts[i];

		if (!c->waiting || c->ready_ps > sim->now_ps)
			continue;
		c->waiting = false;
		c->saved = false;
		c->work_ps += sm->progress_ps;
		sm->n_waiting--;
	}
	find_first_end(sm);
	cot_touch(sim, sm);
	cot_sm_observe(sim, sm);
}

/* Removes the blocks that have done all their work; returns how many. */
static uint32_t reap(struct sm *sm)
{
	struct cohort *c = sm->cohorts, *last = c + sm->n_cohorts;
	uint64_t first_end = UINT64_MAX;
	uint32_t n = 0;

	if (sm->first_end_ps > sm->progress_ps)
		return 0;
	while (c < last) {
		if (c->waiting) {
			c++;
		} else if (c->work_ps > sm->progress_ps) {
			if (c->work_ps < first_end)
				first_end = c->work_ps;
			c++;
		} else {
			n += c->n;
			if (c != --last)
				*c = *last;
		}
	}
	sm->n_cohorts = (uint32_t)(last - sm->cohorts);
	sm->first_end_ps = first_end;
	return n;
}

static void blocks_done(struct cot_sim *sim, struct sm *sm, uint32_t n)
{
	struct hw_kernel *k = sm->hw->kernel;

	cot_touch(sim, sm);
	sim->block_completions += n;
	sm->hw->n_resident -= n;
	k->n_resident -= n;
	k->n_done += n;
	if (sm->hw->state == HW_SM_RUNNING && k->issue && hw_unissued(k)) {
		issue(sim, sm, false);
		if (spreads(sim)) {
			set_timer(sim, sm);
			return;
		}
	}
	if (COT_UNLIKELY(!sm->hw->n_resident)) {
		if (sm->hw->state == HW_SM_RESERVED) {
			switch_to_next(sim, sm);
		} else {
			k->n_sms--;
			release(sim, sm, k);
		}
	} else {
		set_timer(sim, sm);
		if (COT_UNLIKELY(sm->n_waiting))
			cot_sm_observe(sim, sm);
	}
	if (COT_UNLIKELY(k->n_done == k->n_blocks))
		hw_complete(&sim->hw, kernel_of(k));
}

/* ---- coasting ---- */

/*
 * Nearly every event of a long kernel is the same: all blocks of an SM end at once and as many
 * fresh ones take their places. While the kernel has plenty of them, an SM *coasts*: it claims its
 * share of the fresh blocks for some waves ahead and has no event until they are done. Code that
 * could see or change the tables ends that first (cot_sm_settle_all, cot_sm_end_coasting), so the
 * outcome is that of one event per wave; a property test compares the two.
 */
#define COAST_MAX_PS (1ull << 62) /* ahead: times must not wrap */

static bool wave_ended(const struct cot_sim *sim, const struct sm *sm)
{
	const struct hw_kernel *k = sm->hw->kernel;
	const struct cohort *c = &sm->cohorts[0];
	uint32_t wave = spreads(sim) ? k->n_sms * k->desc->blocks_per_sm : c->n; /* at least */

	return sm->n_cohorts == 1 && !c->waiting && c->work_ps <= sm->progress_ps && !sim->jitter &&
	       sm->hw->state == HW_SM_RUNNING && k->issue && !k->n_preempted &&
	       c->n == sm->hw->limit &&
	       (sm->plain || !sm->meter || sm->meter->quota_ps == QUOTA_NONE) &&
	       k->n_fresh - kernel_of(sm->hw->kernel)->claimed >= wave;
}

/* The single cohort of the SM has ended `waves` times, and fresh blocks took its place. */
static void renew(struct cot_sim *sim, struct sm *sm, uint32_t waves, uint64_t issued_ps)
{
	struct hw_kernel *k = sm->hw->kernel;
	struct cohort *c = &sm->cohorts[0];

	sim->block_completions += (uint64_t)waves * c->n;
	k->n_done += waves * c->n;
	c->first = k->n_blocks - k->n_fresh + (waves - 1) * c->n;
	c->issued_ps = issued_ps;
	c->issued_sm = sm->hw->index;
	c->saved = false;
	k->n_fresh -= waves * c->n;
}

/* Accounts for the waves that have ended while coasting, so that the tables are true. */
static void settle(struct cot_sim *sim, struct sm *sm, bool due_now)
{
	struct kernel *k = kernel_of(sm->hw->kernel);
	struct cohort *c = &sm->cohorts[0];
	uint64_t block_ps = k->block_ps, waves;

	bring_up_to_date(sim, sm);
	if (sm->progress_ps + due_now <= c->work_ps)
		return;
	waves = (sm->progress_ps + due_now - 1 - c->work_ps) / block_ps + 1;
	if (waves > sm->coast_waves)
		waves = sm->coast_waves;
	sm->coast_waves -= (uint32_t)waves;
	sim->n_coasting -= !sm->coast_waves;
	k->claimed -= (uint32_t)waves * c->n;
	c->work_ps += waves * block_ps;
	sm->first_end_ps = c->work_ps;
	renew(sim, sm, (uint32_t)waves, time_of_progress(sm, c->work_ps) - block_ps);
}

static void end_coasting(struct cot_sim *sim, struct sm *sm, bool due_now)
{
	if (!sm->coast_waves)
		return;
	settle(sim, sm, due_now);
	if (!sm->coast_waves)
		return; /* its timer is due at the end of the last wave */
	kernel_of(sm->hw->kernel)->claimed -= sm->coast_waves * sm->cohorts[0].n;
	sm->coast_waves = 0;
	sim->n_coasting--;
	set_timer(sim, sm);
}

void cot_sm_settle_all(struct cot_sim *sim)
{
	uint32_t i;

	for (i = 0; sim->n_coasting && i < sim->sc->gpu.n_sms; i++)
		if (sim->sms[i].coast_waves)
			settle(sim, &sim->sms[i], true);
}

void cot_sm_end_coasting(struct cot_sim *sim, const struct kernel *k, uint32_t due_before)
{
	uint32_t i;

	for (i = 0; sim->n_coasting && i < sim->sc->gpu.n_sms; i++)
		if (!k || sim->sms[i].hw->kernel == &k->hw)
			end_coasting(sim, &sim->sms[i], i < due_before);
}

/*
 * How many waves of its fresh blocks each SM of k can surely have. SMs that begin a wave at one
 * instant get equal shares, so that they come back together.
 */
static uint32_t fair_share(const struct cot_sim *sim, struct kernel *k, uint32_t wave_blocks)
{
	uint32_t left = k->hw.n_fresh - k->claimed;
	uint64_t share;

	if (k->share_at_ps == sim->now_ps && (uint64_t)k->share * wave_blocks <= left)
		return k->share;
	share = left / (k->hw.n_sms * wave_blocks);
	if (share > COAST_MAX_PS / k->block_ps)
		share = COAST_MAX_PS / k->block_ps;
	k->share_at_ps = sim->now_ps;
	k->share = (uint32_t)share;
	return k->share;
}

/* The SM has just begun a wave: claims more of them if its kernel has plenty. */
static void coast(struct cot_sim *sim, struct sm *sm)
{
	struct kernel *k = kernel_of(sm->hw->kernel);
	uint32_t wave_blocks = sm->cohorts[0].n, share;

	if (!sm->plain &&
	    (sm->rate_q32 != COT_RATE_ONE || sm->progress_frac || k->hw.desc->work.insts))
		return;
	if (spreads(sim))
		return; /* what it would claim may be for others */
	share = fair_share(sim, k, wave_blocks);
	if (share < 2)
		return;
	sm->coast_waves = share - 1;
	k->claimed += sm->coast_waves * wave_blocks;
	sim->n_coasting++;
}

static bool renew_wave(struct cot_sim *sim, struct sm *sm)
{
	uint64_t block_ps = kernel_of(sm->hw->kernel)->block_ps;
	struct cohort *c = &sm->cohorts[0];

	if (!wave_ended(sim, sm))
		return false;
	renew(sim, sm, 1, sim->now_ps);
	c->work_ps = sm->progress_ps + block_ps;
	sm->first_end_ps = c->work_ps;
	coast(sim, sm);
	cot_timers_set(&sim->timers, timer_of_sm(sim, sm->hw->index),
		       time_of_progress(sm, c->work_ps + sm->coast_waves * block_ps));
	return true;
}

void cot_sm_on_timer(struct cot_sim *sim, struct sm *sm)
{
	uint32_t n;

	if (COT_UNLIKELY(sm->saving)) {
		end_save(sim, sm);
		return;
	}
	if (sm->coast_waves)
		end_coasting(sim, sm, false);
	bring_up_to_date(sim, sm);
	if (COT_LIKELY(renew_wave(sim, sm)))
		return;
	if (COT_UNLIKELY(sm->n_waiting))
		start_waiting(sim, sm);
	n = reap(sm);
	if (COT_LIKELY(n))
		blocks_done(sim, sm, n);
	else
		set_timer(sim, sm);
}
