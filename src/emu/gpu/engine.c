#include "emu/gpu/engine.h"

#include "emu/gpu/load.h"

void cot_emu_engine_init(struct cot_emu_engine *e, uint64_t now_ns)
{
	*e = (struct cot_emu_engine){
		.state = COT_EMU_RUN,
		.current = -1,
		.leaving = -1,
		.since_ns = now_ns,
		.slice_start_ns = now_ns,
	};
}

static bool dependency_met(const struct cot_emu_model *m, const struct cot_emu_kernel *k)
{
	const struct cot_emu_kernel *dep;

	if (!k->after.serial || k->after.slot >= COT_EMU_MAX_KERNELS)
		return true;
	dep = &m->kernels[k->after.slot];
	return dep->serial != k->after.serial || dep->state != COT_EMU_KERNEL_QUEUED;
}

static bool meet(const struct cot_emu_kernel *a, const struct cot_emu_kernel *b)
{
	const struct cot_emu_sms all = {{0}};

	return cot_emu_sms_equal(&a->sms, &all) || cot_emu_sms_equal(&b->sms, &all) ||
	       cot_emu_sms_meet(&a->sms, &b->sms);
}

/* Does it have the SMs that the other one wants, or come before it? One that has begun keeps them.
 */
static bool precedes(const struct cot_emu_model *m, const struct cot_emu_channel *ch,
		     const struct cot_emu_kernel *other)
{
	const struct cot_emu_kernel *k = &m->kernels[ch->head];

	if (!k->fills || k == other || !meet(k, other))
		return false;
	return k->started_ns != COT_EMU_NEVER ||
	       (k->serial < other->serial && !ch->disabled && dependency_met(m, k));
}

/* Must it wait until another kernel leaves SMs that both fill? */
static bool lacks_room(const struct cot_emu_model *m, const struct cot_emu_channel *ch,
		       const struct cot_emu_kernel *k)
{
	int32_t c;

	if (!k->fills || k->started_ns != COT_EMU_NEVER)
		return false;
	for (c = m->groups[ch->group].first_channel; c >= 0; c = m->channels[c].next)
		if (m->channels[c].head >= 0 && precedes(m, &m->channels[c], k))
			return true;
	return false;
}

/* The kernel that the channel could run, or -1. */
static int32_t channel_ready(const struct cot_emu_model *m, const struct cot_emu_channel *ch)
{
	const struct cot_emu_kernel *k;

	if (ch->head < 0 || (ch->disabled && !ch->lingers))
		return -1;
	k = &m->kernels[ch->head];
	return dependency_met(m, k) && !lacks_room(m, ch, k) ? ch->head : -1;
}

static bool group_ready(const struct cot_emu_model *m, const struct cot_emu_group *g)
{
	int32_t c;

	if (!g->serial || !g->n_queued)
		return false;
	for (c = g->first_channel; c >= 0; c = m->channels[c].next)
		if (channel_ready(m, &m->channels[c]) >= 0)
			return true;
	return false;
}

/* Where a kernel that must leave stops; its own progress if it may stop where it is. */
static uint64_t leave_point(const struct cot_emu_channel *ch, const struct cot_emu_kernel *k)
{
	uint64_t blocks;

	if (ch->mode == COT_NV_PREEMPTION_CILP || k->started_ns == COT_EMU_NEVER)
		return k->progress_ns;
	if (ch->mode == COT_NV_PREEMPTION_WFI)
		return k->total_ns;
	blocks = (k->progress_ns + k->block_ns - 1) / k->block_ns;
	return blocks * k->block_ns < k->total_ns ? blocks * k->block_ns : k->total_ns;
}

/*
 * An open kernel that must leave: until when it counts as running, or 0 if it has stopped. A switch
 * takes the context away from a program that does not stop in time.
 */
static uint64_t parks_until(const struct cot_emu_engine *e, const struct cot_emu_channel *ch,
			    const struct cot_emu_kernel *k)
{
	if (k->parked || k->started_ns == COT_EMU_NEVER)
		return 0;
	return ch->mode == COT_NV_PREEMPTION_CILP ? e->leave_ns + COT_EMU_PARK_NS : COT_EMU_NEVER;
}

/* The kernel of this channel that is running now, or -1. */
static int32_t channel_running(const struct cot_emu_model *m, const struct cot_emu_engine *e,
			       const struct cot_emu_channel *ch)
{
	const struct cot_emu_kernel *k;

	if (e->state == COT_EMU_RUN)
		return channel_ready(m, ch);
	/* While the group leaves, a disabled channel still ends the blocks it has begun. */
	if (e->state != COT_EMU_LEAVE || ch->head < 0)
		return -1;
	k = &m->kernels[ch->head];
	if (k->open)
		return parks_until(e, ch, k) > m->now_ns ? ch->head : -1;
	return leave_point(ch, k) > k->progress_ns ? ch->head : -1;
}

enum cot_emu_leave_to cot_emu_engine_leave_to(const struct cot_emu_model *m, uint32_t kernel)
{
	const struct cot_emu_kernel *k = &m->kernels[kernel];
	const struct cot_emu_channel *ch = &m->channels[k->channel];
	const struct cot_emu_engine *e = &m->engines[m->groups[ch->group].gpu];

	if (e->current != (int32_t)ch->group)
		return COT_EMU_MUST_STOP;
	if (e->state == COT_EMU_RUN)
		return channel_ready(m, ch) == (int32_t)kernel ? COT_EMU_MAY_RUN
							       : COT_EMU_MUST_STOP;
	if (e->state != COT_EMU_LEAVE || channel_running(m, e, ch) != (int32_t)kernel)
		return COT_EMU_MUST_STOP;
	if (ch->mode == COT_NV_PREEMPTION_WFI)
		return COT_EMU_MAY_RUN;
	return ch->mode == COT_NV_PREEMPTION_CTA ? COT_EMU_MAY_DRAIN : COT_EMU_MUST_STOP;
}

static void running_load(const struct cot_emu_model *m, const struct cot_emu_engine *e,
			 struct cot_emu_load *ret_load)
{
	int32_t c, k;

	cot_emu_load_init(ret_load, m->params.n_sms);
	for (c = m->groups[e->current].first_channel; c >= 0; c = m->channels[c].next) {
		k = channel_running(m, e, &m->channels[c]);
		if (k >= 0)
			cot_emu_load_add(ret_load, &m->kernels[k]);
	}
}

static bool is_running(const struct cot_emu_model *m, const struct cot_emu_engine *e)
{
	int32_t c;

	for (c = m->groups[e->current].first_channel; c >= 0; c = m->channels[c].next)
		if (channel_running(m, e, &m->channels[c]) >= 0)
			return true;
	return false;
}

static uint32_t engine_gpu(const struct cot_emu_model *m, const struct cot_emu_engine *e)
{
	return (uint32_t)(e - m->engines);
}

/* The next group of the run list after the last one that ran (which comes last), or -1. */
static int32_t pick(const struct cot_emu_model *m, const struct cot_emu_engine *e)
{
	uint32_t i, slot;

	for (i = 1; i <= m->n_groups; i++) {
		slot = (e->last + i) % m->n_groups;
		if (m->groups[slot].gpu == engine_gpu(m, e) && group_ready(m, &m->groups[slot]))
			return (int32_t)slot;
	}
	return -1;
}

static bool contested(const struct cot_emu_model *m, const struct cot_emu_engine *e)
{
	uint32_t slot;

	for (slot = 0; slot < m->n_groups; slot++)
		if ((int32_t)slot != e->current && m->groups[slot].gpu == engine_gpu(m, e) &&
		    group_ready(m, &m->groups[slot]))
			return true;
	return false;
}

/*
 * The end of the slice that is running at `now`. An uncontested slice is renewed over and over;
 * here that is one division, whatever time has gone by.
 */
static uint64_t slice_end(const struct cot_emu_engine *e, uint64_t slice_ns, uint64_t now_ns)
{
	uint64_t passed = now_ns - e->slice_start_ns;
	uint64_t n = (passed + slice_ns - 1) / slice_ns;

	return e->slice_start_ns + (n ? n : 1) * slice_ns;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When the first running kernel ends, or reaches the point where it leaves. */
static uint64_t next_stop(const struct cot_emu_model *m, const struct cot_emu_engine *e)
{
	uint64_t next = COT_EMU_NEVER, goal;
	const struct cot_emu_kernel *k;
	struct cot_emu_load load;
	int32_t c, i;

	running_load(m, e, &load);
	for (c = m->groups[e->current].first_channel; c >= 0; c = m->channels[c].next) {
		i = channel_running(m, e, &m->channels[c]);
		if (i < 0)
			continue;
		k = &m->kernels[i];
		if (k->open) {
			if (e->state == COT_EMU_LEAVE)
				next = min_u64(next, parks_until(e, &m->channels[c], k));
			continue;
		}
		goal = e->state == COT_EMU_LEAVE ? leave_point(&m->channels[c], k) : k->total_ns;
		next = min_u64(next,
			       e->since_ns + cot_emu_load_time(&load, k, goal - k->progress_ns));
	}
	return next;
}

uint64_t cot_emu_engine_next(const struct cot_emu_model *m, const struct cot_emu_engine *e)
{
	const struct cot_emu_group *g;
	uint64_t next;

	if (e->state == COT_EMU_SWITCH)
		return e->switch_end_ns;
	if (e->current < 0)
		return COT_EMU_NEVER;
	g = &m->groups[e->current];
	next = next_stop(m, e);
	if (e->state == COT_EMU_RUN && group_ready(m, g) && (e->expelled || contested(m, e)))
		next = min_u64(next, slice_end(e, g->slice_ns, m->now_ns));
	return next;
}

static void book(struct cot_emu_model *m, struct cot_emu_engine *e)
{
	uint64_t passed = m->now_ns - e->since_ns, work;
	struct cot_emu_load load;
	struct cot_emu_group *g;
	struct cot_emu_kernel *k;
	int32_t c, i;

	if (e->current >= 0 && e->state != COT_EMU_SWITCH && passed) {
		g = &m->groups[e->current];
		running_load(m, e, &load);
		if (!cot_emu_load_is_none(&load))
			g->ran_ns += passed;
		e->busy_ns += cot_emu_load_busy(&load, passed);
		for (c = g->first_channel; c >= 0; c = m->channels[c].next) {
			i = channel_running(m, e, &m->channels[c]);
			if (i < 0)
				continue;
			k = &m->kernels[i];
			work = cot_emu_load_work(&load, k, passed);
			k->progress_ns = min_u64(k->progress_ns + work, k->total_ns);
		}
	}
	e->since_ns = m->now_ns;
}

void cot_emu_engines_book(struct cot_emu_model *m)
{
	uint32_t i;

	for (i = 0; i < m->params.n_gpus; i++)
		book(m, &m->engines[i]);
}

void cot_emu_kernel_unlink(struct cot_emu_model *m, uint32_t kernel)
{
	struct cot_emu_kernel *k = &m->kernels[kernel];
	struct cot_emu_channel *ch = &m->channels[k->channel];
	int32_t i, prev = -1;

	for (i = ch->head; i >= 0 && i != (int32_t)kernel; i = m->kernels[i].next)
		prev = i;
	if (i < 0)
		return;
	if (prev < 0)
		ch->head = k->next;
	else
		m->kernels[prev].next = k->next;
	if (ch->tail == (int32_t)kernel)
		ch->tail = prev;
	k->next = -1;
	ch->n_queued--;
	m->groups[ch->group].n_queued--;
}

static void end_kernel(struct cot_emu_model *m, uint32_t kernel, enum cot_emu_kernel_state state)
{
	struct cot_emu_kernel *k = &m->kernels[kernel];

	cot_emu_kernel_unlink(m, kernel);
	k->state = (uint8_t)state;
	k->ended_ns = m->now_ns;
}

void cot_emu_group_fault(struct cot_emu_model *m, uint32_t group)
{
	struct cot_emu_group *g = &m->groups[group];
	int32_t c;

	g->faulted = 1;
	for (c = g->first_channel; c >= 0; c = m->channels[c].next)
		while (m->channels[c].head >= 0)
			end_kernel(m, (uint32_t)m->channels[c].head, COT_EMU_KERNEL_FAULTED);
}

/* Ends kernels that are through, and notes the start of those that begin. */
static void reap(struct cot_emu_model *m, struct cot_emu_engine *e)
{
	uint32_t group = (uint32_t)e->current;
	int32_t c, k;

	if (e->current < 0)
		return;
	for (c = m->groups[group].first_channel; c >= 0; c = m->channels[c].next) {
		while ((k = m->channels[c].head) >= 0 &&
		       m->kernels[k].progress_ns >= m->kernels[k].total_ns) {
			if (m->kernels[k].traps) {
				cot_emu_group_fault(m, group);
				return;
			}
			end_kernel(m, (uint32_t)k, COT_EMU_KERNEL_DONE);
		}
		if (e->state != COT_EMU_RUN)
			continue;
		k = channel_ready(m, &m->channels[c]);
		if (k >= 0 && m->kernels[k].started_ns == COT_EMU_NEVER)
			m->kernels[k].started_ns = m->now_ns;
	}
}

/* What it costs to take the group off the GPU now. */
static uint64_t switch_cost(const struct cot_emu_model *m, const struct cot_emu_group *g)
{
	uint64_t cost = m->params.idle_ns;
	const struct cot_emu_kernel *k;
	int32_t c;

	for (c = g->first_channel; c >= 0; c = m->channels[c].next) {
		if (m->channels[c].head < 0)
			continue;
		k = &m->kernels[m->channels[c].head];
		if (k->started_ns == COT_EMU_NEVER)
			continue;
		if (k->open ? m->channels[c].mode != COT_NV_PREEMPTION_CTA
			    : k->progress_ns % k->block_ns != 0)
			return m->params.switch_ns;
		cost = m->params.drained_ns;
	}
	return cost;
}

static void begin_switch(struct cot_emu_model *m, struct cot_emu_engine *e, uint64_t cost_ns)
{
	int32_t c;

	if (e->current >= 0) {
		for (c = m->groups[e->current].first_channel; c >= 0; c = m->channels[c].next)
			m->channels[c].lingers = 0;
		e->last = (uint32_t)e->current;
	}
	e->leaving = e->current;
	e->state = COT_EMU_SWITCH;
	e->expelled = 0;
	e->current = -1;
	e->switch_end_ns = m->now_ns + cost_ns;
	e->n_switches++;
}

static void leave(const struct cot_emu_model *m, struct cot_emu_engine *e)
{
	e->state = COT_EMU_LEAVE;
	e->leave_ns = m->now_ns;
}

static void end_switch(struct cot_emu_model *m, struct cot_emu_engine *e)
{
	if (e->leaving >= 0)
		m->groups[e->leaving].n_left++;
	e->leaving = -1;
	e->state = COT_EMU_RUN;
	e->current = pick(m, e);
	e->slice_start_ns = m->now_ns;
	e->since_ns = m->now_ns;
	if (e->current >= 0)
		m->groups[e->current].n_turns++;
}

/* One change that is due now; false if there is none. */
static bool step(struct cot_emu_model *m, struct cot_emu_engine *e)
{
	const struct cot_emu_group *g;

	if (e->state == COT_EMU_SWITCH) {
		if (e->switch_end_ns > m->now_ns)
			return false;
		end_switch(m, e);
		return true;
	}
	reap(m, e);
	g = e->current < 0 ? NULL : &m->groups[e->current];
	if (e->state == COT_EMU_LEAVE) {
		if (is_running(m, e))
			return false;
		begin_switch(m, e, switch_cost(m, g));
		return true;
	}
	if (!g || !group_ready(m, g)) {
		e->expelled = 0;
		if (!contested(m, e))
			return false;
		begin_switch(m, e, g ? switch_cost(m, g) : 0);
		return true;
	}
	if (slice_end(e, g->slice_ns, m->now_ns) == m->now_ns && (e->expelled || contested(m, e))) {
		leave(m, e);
		return true;
	}
	return false;
}

void cot_emu_engines_settle(struct cot_emu_model *m)
{
	bool changed;
	uint32_t i;

	/* An end on one GPU can let a kernel of another one begin, hence the outer loop. */
	do {
		changed = false;
		for (i = 0; i < m->params.n_gpus; i++)
			while (step(m, &m->engines[i]))
				changed = true;
	} while (changed);
}

void cot_emu_engine_expel(struct cot_emu_model *m, uint32_t group)
{
	struct cot_emu_engine *e = &m->engines[m->groups[group].gpu];

	if (e->current == (int32_t)group && e->state == COT_EMU_RUN)
		leave(m, e);
}

void cot_emu_engine_forget(struct cot_emu_model *m, uint32_t group)
{
	struct cot_emu_engine *e = &m->engines[m->groups[group].gpu];

	if (e->current == (int32_t)group)
		begin_switch(m, e, m->groups[group].n_queued ? m->params.switch_ns : 0);
	if (e->leaving == (int32_t)group)
		e->leaving = -1;
}

bool cot_emu_engine_resident(const struct cot_emu_model *m, uint32_t group)
{
	const struct cot_emu_engine *e = &m->engines[m->groups[group].gpu];

	if (e->state == COT_EMU_SWITCH)
		return e->leaving == (int32_t)group;
	return e->current == (int32_t)group;
}
