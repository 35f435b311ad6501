/*
 * A GPU in the test's hand, for hardware schedulers: what hw.h offers, with every action written
 * down and carried out at once. The test says what the tables hold and what has happened. Include
 * it once in a program that uses nothing else of the simulator's engine.
 *
 * Apps are called a, b, c, ... in the log and in the strings of owners.
 */
#ifndef COT_TESTS_FAKE_HW_H
#define COT_TESTS_FAKE_HW_H

#include <stdio.h>
#include <string.h>

#include "sim/hw/hw.h"
#include "test.h"

#define FAKE_SMS     12u
#define FAKE_APPS    4u
#define FAKE_KERNELS 32u

struct hw {
	struct cot_scenario sc;
	struct cot_app apps[FAKE_APPS];
	struct hw_context contexts[FAKE_APPS];
	struct hw_sm sms[FAKE_APPS * FAKE_SMS];
	uint32_t n_lanes, room; /* blocks of all lanes that an SM has room for */
	double quota[FAKE_APPS * FAKE_SMS], idle_warps[FAKE_APPS * FAKE_SMS];
	struct hw_kernel kernels[FAKE_KERNELS], *active;
	struct hw_command commands[FAKE_KERNELS], *pending;
	struct cot_kernel descs[FAKE_KERNELS];
	uint32_t n_launches, n_admitted, active_max;
	double insts[FAKE_APPS];
	uint64_t now_ps, delay_ps; /* how long after now an SM begins for its next kernel */
	bool slow;		   /* reserved and evicted SMs stay so until fake_vacate() */
	bool may_take[FAKE_APPS];
	uint32_t sm_begin[FAKE_APPS], sm_end[FAKE_APPS]; /* both 0: all SMs */
	uint32_t n_refused;
	char log[4096];
	_Alignas(16) unsigned char state[HW_STATE_MAX];
};

static struct hw fake;

COT_PRINTF(1, 2)
static void fake_log(const char *fmt, ...)
{
	size_t n = strlen(fake.log);
	va_list args;

	va_start(args, fmt);
	if (n)
		n += (size_t)snprintf(fake.log + n, sizeof(fake.log) - n, ", ");
	(void)vsnprintf(fake.log + n, sizeof(fake.log) - n, fmt, args);
	va_end(args);
}

static char fake_name(const struct hw_kernel *k)
{
	return k ? (char)('a' + k->app) : '-';
}

/* ---- what the test does ---- */

static void fake_init(uint32_t n_sms, uint32_t n_lanes)
{
	uint32_t i;

	memset(&fake, 0, sizeof(fake));
	fake.sc.gpu.n_sms = n_sms;
	fake.sc.epoch_cycles = 1000;
	fake.sc.qos_batch_sms = 1;
	fake.sc.gpu.issue_width = 2;
	fake.n_lanes = n_lanes;
	fake.active_max = n_sms;
	for (i = 0; i < FAKE_APPS; i++) {
		fake.may_take[i] = true;
		fake.contexts[i].slice_ps = 1000;
	}
	for (i = 0; i < n_lanes * n_sms; i++) {
		fake.sms[i].index = i;
		fake.sms[i].sm = i % n_sms;
	}
}

static struct cot_app *fake_app(double goal_ipc)
{
	struct cot_app *app = &fake.sc.apps[fake.sc.n_apps];

	app->qos.ipc = goal_ipc;
	app->tokens = COT_TOKENS_EQUAL;
	app->context = fake.sc.n_apps++;
	return app;
}

static void fake_launch(uint32_t app, uint32_t n_blocks, uint32_t per_sm, int32_t priority)
{
	struct hw_command *c = &fake.commands[fake.n_launches], **to = &fake.pending;

	fake.descs[fake.n_launches].n_blocks = n_blocks;
	fake.descs[fake.n_launches].blocks_per_sm = per_sm;
	fake.descs[fake.n_launches].work.warps = 4;
	*c = (struct hw_command){.app = app,
				 .context = fake.sc.apps[app].context,
				 .priority = priority,
				 .seq = fake.n_launches,
				 .kernel = &fake.descs[fake.n_launches]};
	fake.n_launches++;
	while (*to)
		to = &(*to)->next;
	*to = c;
}

static struct hw_kernel *fake_kernel(uint32_t app)
{
	struct hw_kernel *k;

	for (k = fake.active; k; k = k->next)
		if (k->app == app)
			return k;
	return NULL;
}

/* One block of the SM's kernel after the other, as long as there is room. */
static void fake_fill(struct hw_sm *sm)
{
	uint32_t most = sm->limit ? sm->limit : sm->kernel->desc->blocks_per_sm;

	while (sm->n_resident < most && hw_unissued(sm->kernel)) {
		*(sm->kernel->n_preempted ? &sm->kernel->n_preempted : &sm->kernel->n_fresh) -= 1;
		sm->kernel->n_resident++;
		sm->n_resident++;
	}
}

/* Blocks that are too many are saved. */
static void fake_shed(struct hw_sm *lane)
{
	uint32_t n = lane->n_resident - lane->limit;

	lane->n_resident -= n;
	lane->kernel->n_resident -= n;
	lane->kernel->n_preempted += n;
}

static void fake_begin(struct hw_sm *sm, struct hw_kernel *k)
{
	sm->kernel = k;
	sm->state = HW_SM_RUNNING;
	sm->next = NULL;
	sm->begin_ps = fake.now_ps + fake.delay_ps;
	k->n_sms++;
	fake_fill(sm);
}

/* The SM's blocks are saved, or end; what it is reserved for begins. */
static void fake_leave(struct hw_sm *sm, bool saved)
{
	struct hw_kernel *next = sm->next;

	sm->kernel->n_sms--;
	sm->kernel->n_resident -= sm->n_resident;
	*(saved ? &sm->kernel->n_preempted : &sm->kernel->n_done) += sm->n_resident;
	sm->n_resident = 0;
	sm->kernel = NULL;
	sm->state = HW_SM_IDLE;
	sm->next = NULL;
	if (next) {
		next->n_reserved--;
		if (hw_unissued(next))
			fake_begin(sm, next);
	}
}

__attribute__((unused)) static void fake_vacate(void)
{
	uint32_t i;

	for (i = 0; i < fake.n_lanes * fake.sc.gpu.n_sms; i++)
		if (fake.sms[i].state == HW_SM_RESERVED)
			fake_leave(&fake.sms[i], true);
}

/* The kernel leaves the active queue; its SMs are idle. */
__attribute__((unused)) static void fake_finish(uint32_t app)
{
	struct hw_kernel *k = fake_kernel(app), **at = &fake.active;
	uint32_t i;

	for (i = 0; i < fake.n_lanes * fake.sc.gpu.n_sms; i++) {
		if (fake.sms[i].next == k)
			fake.sms[i].next = NULL;
		if (fake.sms[i].kernel == k)
			fake_leave(&fake.sms[i], false);
	}
	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
}

/* Calls the scheduler, and returns what it did. */
static const char *fake_schedule(const struct hw_sched_ops *ops, unsigned events)
{
	fake.log[0] = '\0';
	ops->schedule(&fake, events);
	return fake.log;
}

/* Whom each SM works for: a name, in capitals where it is being vacated for that one ('!': for
 * nobody),
 * '.' where it is idle, '_' without power. */
__attribute__((unused)) static const char *fake_owners(void)
{
	static char text[FAKE_SMS + 1];
	uint32_t i;

	for (i = 0; i < fake.sc.gpu.n_sms; i++) {
		const struct hw_sm *sm = &fake.sms[i];

		text[i] = sm->state == HW_SM_IDLE      ? '.'
			  : sm->state == HW_SM_GATED   ? '_'
			  : sm->state == HW_SM_RUNNING ? fake_name(sm->kernel)
			  : sm->next		       ? (char)(fake_name(sm->next) - 'a' + 'A')
						       : '!';
	}
	text[i] = '\0';
	return text;
}

/* An epoch is over in which the apps had these IPCs. */
__attribute__((unused)) static const char *fake_epoch(const struct hw_sched_ops *ops,
						      const double *ipc)
{
	uint32_t i;

	fake.now_ps += 1000;
	for (i = 0; i < fake.sc.n_apps; i++)
		fake.insts[i] += ipc[i] * hw_epoch_cycles(&fake);
	return fake_schedule(ops, HW_EV_EPOCH);
}

/* ---- what hw.h says ---- */

const struct cot_scenario *hw_scenario(const struct hw *hw)
{
	return &hw->sc;
}

void *hw_state(struct hw *hw)
{
	return hw->state;
}

struct hw_sm *hw_sms(struct hw *hw)
{
	return hw->sms;
}

uint32_t hw_n_slots(const struct hw *hw)
{
	return hw->n_lanes * hw->sc.gpu.n_sms;
}

uint64_t hw_now_ps(const struct hw *hw)
{
	return hw->now_ps;
}

struct hw_kernel *hw_active(struct hw *hw)
{
	return hw->active;
}

struct hw_command *hw_pending(struct hw *hw)
{
	return hw->pending;
}

const struct hw_context *hw_context(const struct hw *hw, uint32_t context)
{
	return &hw->contexts[context];
}

uint32_t hw_n_active(const struct hw *hw)
{
	const struct hw_kernel *k;
	uint32_t n = 0;

	for (k = hw->active; k; k = k->next)
		n++;
	return n;
}

bool hw_active_full(const struct hw *hw)
{
	return hw_n_active(hw) >= hw->active_max;
}

bool hw_may_take(const struct hw *hw, const struct hw_kernel *k)
{
	return hw->may_take[k->app];
}

struct hw_sm *hw_idle_sm(struct hw *hw)
{
	struct hw_sm *sm;

	hw_for_each_sm (sm, hw)
		if (sm->state == HW_SM_IDLE)
			return sm;
	return NULL;
}

struct hw_sm *hw_idle_sm_for(struct hw *hw, const struct hw_kernel *k)
{
	struct hw_sm *sm;

	hw_for_each_sm (sm, hw)
		if (sm->state == HW_SM_IDLE && hw_may_be_on(k, sm))
			return sm;
	return NULL;
}

double hw_insts(const struct hw *hw, uint32_t app)
{
	return hw->insts[app];
}

struct hw_kernel *hw_admit(struct hw *hw, struct hw_command *c)
{
	struct hw_kernel *k = &hw->kernels[hw->n_admitted++], **to = &hw->active;
	struct hw_command **at = &hw->pending;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	*k = (struct hw_kernel){.app = c->app,
				.context = c->context,
				.priority = c->priority,
				.seq = c->seq,
				.desc = c->kernel,
				.n_fresh = c->kernel->n_blocks,
				.issue = true,
				.sm_begin = hw->sm_begin[c->app],
				.sm_end =
					hw->sm_end[c->app] ? hw->sm_end[c->app] : hw->sc.gpu.n_sms};
	while (*to)
		to = &(*to)->next;
	*to = k;
	fake_log("admit %c", fake_name(k));
	return k;
}

void hw_assign(struct hw *hw, struct hw_sm *sm, struct hw_kernel *k)
{
	assert_true(sm->state == HW_SM_IDLE || sm->state == HW_SM_GATED);
	assert_true(hw_unissued(k) > 0 && hw_may_be_on(k, sm));
	(void)hw;
	fake_log("assign %u %c", sm->index, fake_name(k));
	fake_begin(sm, k);
}

static void fake_preempt(struct hw_sm *sm, struct hw_kernel *k)
{
	assert_int_equal(sm->state, HW_SM_RUNNING);
	sm->state = HW_SM_RESERVED;
	sm->next = k;
	if (k)
		k->n_reserved++;
	if (!fake.slow)
		fake_leave(sm, true);
}

void hw_reserve(struct hw *hw, struct hw_sm *sm, struct hw_kernel *k)
{
	(void)hw;
	assert_ptr_not_equal(sm->kernel, k);
	fake_log("reserve %u %c", sm->index, fake_name(k));
	fake_preempt(sm, k);
}

void hw_evict(struct hw *hw, struct hw_sm *sm)
{
	(void)hw;
	fake_log("evict %u", sm->index);
	fake_preempt(sm, NULL);
}

void hw_retarget(struct hw *hw, struct hw_sm *sm, struct hw_kernel *k)
{
	(void)hw;
	assert_int_equal(sm->state, HW_SM_RESERVED);
	assert_ptr_not_equal(sm->next, k);
	fake_log("retarget %u %c", sm->index, fake_name(k));
	if (sm->next)
		sm->next->n_reserved--;
	sm->next = k;
	k->n_reserved++;
}

void hw_set_issue(struct hw *hw, struct hw_kernel *k, bool on)
{
	(void)hw;
	if (k->issue != on)
		fake_log("%s %c", on ? "open" : "close", fake_name(k));
	k->issue = on;
}

void hw_timer_set(struct hw *hw, uint64_t t_ps)
{
	(void)hw;
	if (t_ps == HW_TIMER_OFF)
		fake_log("timer off");
	else
		fake_log("timer %llu", (unsigned long long)t_ps);
}

void hw_gate(struct hw *hw, struct hw_sm *sm)
{
	(void)hw;
	assert_int_equal(sm->state, HW_SM_IDLE);
	fake_log("gate %u", sm->index);
	sm->state = HW_SM_GATED;
}

bool hw_limit_fits(const struct hw *hw, const struct hw_sm *lane, const struct hw_kernel *k,
		   uint32_t n)
{
	uint32_t used = n, i;

	for (i = 0; i < hw->n_lanes; i++) {
		const struct hw_sm *other = &hw->sms[i * hw->sc.gpu.n_sms + lane->sm];

		used += other == lane ? 0 : other->limit;
	}
	return used <= hw->room && n <= k->desc->blocks_per_sm;
}

bool hw_set_limit(struct hw *hw, struct hw_sm *lane, const struct hw_kernel *k, uint32_t n)
{
	assert_true(hw_limit_fits(hw, lane, k, n));
	fake_log("limit %u%c %u", lane->sm, fake_name(k), n);
	lane->limit = n;
	lane->room = k->desc;
	if (lane->kernel == k && lane->n_resident > n)
		fake_shed(lane);
	else if (lane->kernel == k)
		fake_fill(lane);
	return true;
}

void hw_set_quota(struct hw *hw, struct hw_sm *lane, double insts)
{
	char name = (char)('a' + lane->index / hw->sc.gpu.n_sms);

	if (insts >= HW_QUOTA_NONE)
		fake_log("quota %u%c none", lane->sm, name);
	else
		fake_log("quota %u%c %.10g", lane->sm, name, insts);
	hw->quota[lane->index] = insts;
}

double hw_quota_left(const struct hw *hw, const struct hw_sm *lane)
{
	return hw->quota[lane->index];
}

double hw_idle_warps(struct hw *hw, struct hw_sm *lane)
{
	return hw->idle_warps[lane->index];
}

uint64_t hw_n_refused(const struct hw *hw)
{
	return hw->n_refused;
}

#endif
