/*
 * One event log gives the same decisions on every host: a run of the simulator is recorded, events
 * and decisions, as text; then the same events are played to the bare core and to the daemon's
 * host, whose libraries are played by this test. Every line must come out again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "daemon/host_part.h"
#include "daemon/host_work.h"
#include "policy/policies.h"
#include "sched/event_log.h"
#include "sim/host.h"
#include "test.h"
#include "trace/gpu.h"

/* ---- what is recorded ---- */

#define MAX_LINES 60000u
#define MAX_IDS	  256u

struct record {
	char (*lines)[COT_EVENT_LOG_LINE_MAX];
	unsigned n, n_actions;
	uint32_t newest[MAX_IDS][3]; /* action of each entity: slice, mode, freeze or thaw */
};

/* Of actions that were replaced meanwhile the answers count no longer: a host may keep them. */
static bool is_stale(const struct record *r, const struct cot_event *ev)
{
	const uint32_t *newest = r->newest[ev->id % MAX_IDS];

	return ev->type == COT_EV_DONE && ev->done.seq != newest[0] && ev->done.seq != newest[1] &&
	       ev->done.seq != newest[2];
}

static void record(void *arg, const struct cot_event *ev, const struct cot_action *a)
{
	struct record *r = arg;

	if (a && a->kind <= COT_ACTION_THAW)
		r->newest[a->entity % MAX_IDS][a->kind < COT_ACTION_FREEZE ? a->kind : 2] = a->seq;
	if (ev && is_stale(r, ev))
		return;
	assert_true(r->n < MAX_LINES);
	if (ev)
		cot_event_log_print_event(r->lines[r->n++], COT_EVENT_LOG_LINE_MAX, ev);
	else
		cot_event_log_print_action(r->lines[r->n++], COT_EVENT_LOG_LINE_MAX, a);
	r->n_actions += a != NULL;
}

static void record_init(struct record *r)
{
	*r = (struct record){.lines = calloc(MAX_LINES, COT_EVENT_LOG_LINE_MAX)};
	assert_non_null(r->lines);
}

static void assert_same(const struct record *a, const struct record *b)
{
	unsigned i;

	for (i = 0; i < a->n && i < b->n; i++)
		if (strcmp(a->lines[i], b->lines[i]))
			fail_msg("line %u is '%s' in the simulator and '%s' here", i + 1,
				 a->lines[i], b->lines[i]);
	assert_int_equal(a->n, b->n);
}

/* ---- the simulation ---- */

#define MS_PS (1000 * COT_PS_PER_US)

/* What may be said of blocks: that they are short enough to be drained, or too long. */
enum { SHORT_US = 50, LONG_US = 700 };

/* A small GPU: what is decided depends on when programs have work, not on its size. */
#define N_SMS 12u

static const struct cot_kernel kernels[] = {
	{.name = "request",
	 .n_blocks = N_SMS,
	 .blocks_per_sm = 1,
	 .block_ps = 100 * COT_PS_PER_US,
	 .ctx_bytes_per_block = 65536},
	{.name = "work",
	 .n_blocks = N_SMS * 20,
	 .blocks_per_sm = 2,
	 .block_ps = 700 * COT_PS_PER_US,
	 .ctx_bytes_per_block = 65536},
};
static const struct cot_step request_steps[] = {
	{.kind = COT_STEP_CPU, .cpu_ps = 3 * MS_PS},
	{.kind = COT_STEP_KERNEL, .kernel = 0, .launches = 1},
	{.kind = COT_STEP_SYNC},
	/* Longer than the policies wait before they take a program for idle. */
	{.kind = COT_STEP_CPU, .cpu_ps = 1500 * MS_PS},
};
/* One that comes while rewritten kernels run, so that some are evicted. */
static const struct cot_step busy_steps[] = {
	{.kind = COT_STEP_CPU, .cpu_ps = 7 * MS_PS},
	{.kind = COT_STEP_KERNEL, .kernel = 0, .launches = 2},
	{.kind = COT_STEP_SYNC},
};
static const struct cot_step batch_steps[] = {
	{.kind = COT_STEP_KERNEL, .kernel = 1, .launches = 3},
	{.kind = COT_STEP_SYNC},
	{.kind = COT_STEP_CPU, .cpu_ps = 15 * MS_PS},
};

/* `rewritten`: the programs' kernels can be told how many SMs to use. */
static void make(struct cot_scenario *sc, uint32_t block_us, bool rewritten)
{
	uint32_t i;

	*sc = (struct cot_scenario){
		.gpu = *cot_gpu_find("h200"),
		.scheduler = "timeslice",
		.seed = 7,
		.block_jitter_cv = 0.2,
		.quantum_ps = 2048 * COT_PS_PER_US,
		.stop_ps = (rewritten ? 1500 : 5000) * MS_PS,
		.n_apps = 5,
		.workers = {.grant_ps = 20 * COT_PS_PER_US, .evict_ps = 30 * COT_PS_PER_US},
	};
	sc->gpu.n_sms = N_SMS;
	for (i = 0; i < sc->n_apps; i++) {
		struct cot_app *a = &sc->apps[i];
		bool latency = i == 0;

		(void)snprintf(a->name, sizeof(a->name), "app%u", i);
		a->context = i;
		a->cls = latency ? COT_CLASS_LATENCY : COT_CLASS_BATCH;
		a->weight = 50 * i + 50;
		a->solo = i == 4;
		a->block_hint_us = block_us;
		a->start_ps = i * 30 * MS_PS;
		a->rewrite = rewritten;
		a->quota.pct = rewritten && i == 2 ? 50 : 0;
		a->reserve.sms = rewritten && latency ? 5 : 0;
		a->program = (struct cot_program){
			.steps = !latency    ? batch_steps
				 : rewritten ? busy_steps
					     : request_steps,
			.n_steps = latency && !rewritten ? 4 : 3,
			.kernels = kernels,
			.n_kernels = 2,
		};
	}
}

/* Some actions fail, some are never answered: the log has that too. */
static int fault(void *arg, const struct cot_action *a)
{
	(void)arg;
	if (a->seq % 13 == 5)
		return -EIO;
	return a->seq % 17 == 3 ? COT_SIM_HOST_SILENT : 0;
}

/* The three hosts have to wait equally long for an answer. */
static const struct cot_sched_limits limits = {.ack_ns = COT_HOST_ACK_NS};

static void simulate(const struct cot_policy_ops *policy, bool broken, uint32_t block_us,
		     bool rewritten, struct record *r)
{
	struct cot_sim_host_options opt = {
		.policy = policy,
		.limits = &limits,
		.fault = broken ? fault : NULL,
		.tap = record,
		.tap_arg = r,
	};
	struct cot_scenario sc;
	struct cot_sim_host *h;
	struct cot_error err;

	make(&sc, block_us, rewritten);
	if (cot_sim_host_create(&sc, &opt, NULL, NULL, &h, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cot_sim_host_run(h, UINT64_MAX), COT_SIM_DONE);
	cot_sim_host_destroy(h);
}

/* ---- the bare core ---- */

static void play_to_core(const struct cot_policy_ops *policy, const struct record *from,
			 struct record *to)
{
	struct cot_sched *s;
	struct cot_error err;
	unsigned i;

	assert_int_equal(cot_sched_create(policy, NULL, &limits, 0, &s, &err), 0);
	cot_sched_set_tap(s, record, to);
	for (i = 0; i < from->n; i++) {
		enum cot_event_log_kind kind;
		struct cot_action a;
		struct cot_event ev;

		assert_int_equal(cot_event_log_parse(from->lines[i], &kind, &ev, &a, &err), 0);
		if (kind != COT_EVENT_LOG_EVENT)
			continue;
		(void)cot_sched_event(s, &ev);
		while (cot_sched_next_action(s, &a))
			;
	}
	cot_sched_destroy(s);
}

/* ---- the daemon's host; every entity is one library, whose number is the entity's id ---- */

/* What each order set, by its number: it is read back with the answer. */
static uint64_t slice_of[MAX_LINES];

static int send(void *arg, unsigned member, const void *packet, size_t size)
{
	const struct cot_msg_set *set = packet;

	(void)arg;
	(void)member;
	assert_true(size >= sizeof(set->h));
	if (set->h.type == COT_MSG_SET)
		slice_of[set->h.seq % MAX_LINES] = set->slice_us;
	return 0;
}

static uint64_t lease(void *arg, unsigned member, uint64_t until_ns)
{
	(void)arg;
	(void)member;
	(void)until_ns;
	return 0;
}

static const struct cot_host_ops host_ops = {
	.works = &cot_host_works_ops, .parts = &cot_host_parts_ops, .send = send, .lease = lease};

/* The host renews leases by itself in between. */
static void let_time_pass(struct cot_host *host, uint64_t to_ns)
{
	while (cot_host_wake_ns(host) < to_ns)
		cot_host_tick(host, cot_host_wake_ns(host));
}

/* A tenant's shim is one member, beyond those that are libraries; its works are named by number. */
#define SHIM(tenant) (200u + (tenant))

static uint32_t tenant_of[MAX_LINES]; /* of each work */

static void give_work(struct cot_host *host, const struct cot_event *ev)
{
	const struct cot_work_desc *d = &ev->work;
	struct cot_msg_work_request m = {
		.work = ev->id,
		.n_tasks = d->n_tasks,
		.per_sm = d->per_sm,
		.want = d->asked,
		.task_ns = d->task_ns,
		.flags = (uint8_t)((d->can_settle ? COT_WORK_CAN_SETTLE : 0) |
				   (d->can_grow ? COT_WORK_CAN_GROW : 0)),
	};
	const struct cot_host_shim shim = {.tenant = d->tenant, .gpu = d->gpu, .n_sms = d->n_sms};

	tenant_of[ev->id % MAX_LINES] = d->tenant;
	(void)cot_host_work_join(host, SHIM(d->tenant), &shim);
	assert_int_equal(cot_host_work_request(host, SHIM(d->tenant), &m, d->method, ev->now_ns),
			 0);
}

static void give_back(struct cot_host *host, const struct cot_event *ev)
{
	unsigned member = SHIM(tenant_of[ev->id % MAX_LINES]);
	struct cot_msg_work_evicted evicted = {.work = ev->id, .capsms = ev->capsms};
	struct cot_msg_work_done done = {.work = ev->id, .left = ev->left};

	if (ev->type == COT_EV_WORK_DONE)
		cot_host_work_done(host, member, &done, ev->now_ns);
	else
		cot_host_work_evicted(host, member, &evicted, ev->now_ns);
}

static void give(struct cot_host *host, const struct cot_event *ev)
{
	struct cot_msg_ack ack = {0};

	switch (ev->type) {
	case COT_EV_TICK:
		/* One before a question comes whether it is due or not. */
		if (cot_sched_wake_ns(cot_host_sched(host)) <= ev->now_ns)
			cot_host_tick(host, ev->now_ns);
		else
			(void)cot_host_event(host, ev);
		break;
	case COT_EV_DONE:
		ack.h.seq = ev->done.seq;
		ack.status = ev->done.status;
		ack.value = slice_of[ev->done.seq % MAX_LINES];
		cot_host_ack(host, ev->id, &ack, ev->now_ns);
		break;
	case COT_EV_WORK:
		give_work(host, ev);
		break;
	case COT_EV_WORK_EVICTED:
	case COT_EV_WORK_DONE:
		give_back(host, ev);
		break;
	default:
		if (ev->type == COT_EV_POOL || (ev->type == COT_EV_TENANT && !ev->tenant.pool))
			cot_host_join(host, ev->id, ev->id, false, ev->now_ns);
		(void)cot_host_event(host, ev);
		break;
	}
}

static void play_to_daemon(const struct cot_policy_ops *policy, const struct record *from,
			   struct record *to)
{
	struct cot_host *host;
	struct cot_error err;
	unsigned i;

	memset(slice_of, 0, sizeof(slice_of));
	assert_int_equal(cot_host_create(&host_ops, NULL, policy, NULL, 0, &host, &err), 0);
	cot_sched_set_tap(cot_host_sched(host), record, to);
	for (i = 0; i < from->n; i++) {
		enum cot_event_log_kind kind;
		struct cot_action a;
		struct cot_event ev;

		assert_int_equal(cot_event_log_parse(from->lines[i], &kind, &ev, &a, &err), 0);
		if (kind != COT_EVENT_LOG_EVENT)
			continue;
		let_time_pass(host, ev.now_ns);
		give(host, &ev);
	}
	cot_host_destroy(host);
}

/* ---- the comparison ---- */

static unsigned count(const struct record *r, const char *words)
{
	unsigned i, n = 0;

	for (i = 0; i < r->n; i++)
		n += strstr(r->lines[i], words) != NULL;
	return n;
}

/* `block_us`: what is said of the programs' blocks. */
static void compare(bool broken, uint32_t block_us)
{
	unsigned i;

	for (i = 0; i < cot_n_policies; i++) {
		bool shares = cot_policies[i]->one_pool;
		struct record sim, core, daemon;

		/* Nothing of this is about works. */
		if (shares && (broken || block_us))
			continue;
		record_init(&sim);
		record_init(&core);
		record_init(&daemon);
		simulate(cot_policies[i], broken, block_us, shares, &sim);
		play_to_core(cot_policies[i], &sim, &core);
		assert_same(&sim, &core);
		play_to_daemon(cot_policies[i], &sim, &daemon);
		assert_same(&sim, &daemon);
		print_message("%s: %u events, %u decisions, the same on three hosts\n",
			      cot_policies[i]->name, sim.n - sim.n_actions, sim.n_actions);
		if (cot_policies[i]->works) {
			assert_true(count(&sim, " > grant ") > 100);
			/* This one takes nothing back. */
			assert_true((count(&sim, " > evict ") > 10) !=
				    (cot_policies[i] == &cot_policy_baymax));
			assert_true(count(&sim, " evicted ") > 10 ||
				    count(&sim, " work-done ") > 100);
		} else if (cot_policies[i] != &cot_policy_timeslice && !shares) {
			assert_true(sim.n_actions > 10);
			/* The log tells what the policy was told, so the modes must agree too. */
			assert_int_equal(count(&sim, " mode=drain") > 0, block_us == SHORT_US);
		}
		free(sim.lines);
		free(core.lines);
		free(daemon.lines);
	}
}

static void test_same_decisions(void **state)
{
	(void)state;
	compare(false, 0);
}

static void test_same_decisions_when_actions_fail(void **state)
{
	(void)state;
	compare(true, LONG_US);
}

static void test_same_decisions_when_blocks_are_short(void **state)
{
	(void)state;
	compare(false, SHORT_US);
	compare(true, SHORT_US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_decisions),
		cmocka_unit_test(test_same_decisions_when_actions_fail),
		cmocka_unit_test(test_same_decisions_when_blocks_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
