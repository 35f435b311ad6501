/* The policy core: tables, actions and their answers, holds, the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy_bench.h"
#include "test.h"

#define MS COT_NS_PER_MS

/* A policy that does what the test writes down, and writes down what it is told. */
static struct {
	uint32_t slice_us, freeze_id;
	bool drain;
	unsigned n_joined, n_left, n_up, n_down, n_done, n_inits, n_finis;
	unsigned entity_changes, tenant_changes;
	struct cot_action_result last;
	int last_answer;
} script;

static int init(struct cot_policy *p)
{
	(void)p;
	script.n_inits++;
	return 0;
}

static void fini(struct cot_policy *p)
{
	(void)p;
	script.n_finis++;
}

static void joined(struct cot_policy *p, struct cot_tenant *t)
{
	(void)p;
	assert_true(!t->entity || t->pool);
	script.n_joined++;
}

static void left(struct cot_policy *p, struct cot_tenant *t)
{
	struct cot_tenant *other;

	cot_for_each_tenant (other, p)
		assert_ptr_not_equal(other, t);
	script.n_left++;
}

static void tenant_changed(struct cot_policy *p, struct cot_tenant *t, unsigned what)
{
	(void)p;
	(void)t;
	script.tenant_changes |= what;
}

static void up(struct cot_policy *p, struct cot_entity *e)
{
	(void)p;
	assert_int_equal(e->run, COT_RUN_RUNNING);
	script.n_up++;
}

static void down(struct cot_policy *p, struct cot_entity *e)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		assert_ptr_not_equal(t->entity, e);
	script.n_down++;
}

static void entity_changed(struct cot_policy *p, struct cot_entity *e, unsigned what)
{
	(void)p;
	(void)e;
	script.entity_changes |= what;
}

static void done(struct cot_policy *p, struct cot_entity *e, const struct cot_action_result *r)
{
	(void)p;
	(void)e;
	script.n_done++;
	script.last = *r;
}

static uint64_t tick(struct cot_policy *p)
{
	struct cot_entity *e;

	cot_for_each_entity (e, p) {
		script.last_answer = cot_set_slice(p, e, script.slice_us);
		(void)cot_set_mode(p, e, script.drain ? COT_MODE_DRAIN : COT_MODE_SWITCH);
		if (script.freeze_id == e->id)
			script.last_answer = cot_freeze(p, e);
		else
			(void)cot_thaw(p, e);
	}
	return COT_NEVER;
}

static const struct cot_policy_ops scripted = {
	.name = "scripted",
	.summary = "does what the test says",
	.abi = COT_POLICY_ABI,
	.init = init,
	.fini = fini,
	.tenant_joined = joined,
	.tenant_left = left,
	.tenant_changed = tenant_changed,
	.entity_up = up,
	.entity_down = down,
	.entity_changed = entity_changed,
	.action_done = done,
	.tick = tick,
};

static struct bench bench;

static int set_up(void **state)
{
	memset(&script, 0, sizeof(script));
	bench_init(&bench, &scripted);
	*state = &bench;
	return 0;
}

static int tear_down(void **state)
{
	bench_finish(*state);
	assert_int_equal(script.n_inits, script.n_finis);
	return 0;
}

static void run_ms(struct bench *b, uint64_t ms)
{
	bench_run(b, ms * MS);
}

static const struct cot_entity *entity(const struct bench *b, uint32_t id)
{
	return cot_sched_entity(b->sched, id);
}

static void poke(struct bench *b)
{
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
}

/* ---- tables ---- */

static void test_tenants_and_entities(void **state)
{
	struct bench *b = *state;
	struct cot_event ev = {
		.type = COT_EV_TENANT,
		.id = 3,
		.tenant = {.cls = COT_CLASS_BATCH, .weight = 50, .gpu_mask = GPU0},
	};

	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(script.n_joined, 1);
	assert_int_equal(script.n_up, 0);
	assert_null(entity(b, 3));
	ev.tenant.ready = true;
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(script.n_up, 1);
	assert_non_null(entity(b, 3));
	assert_int_equal(entity(b, 3)->weight, 50);
	assert_ptr_equal(cot_sched_tenant(b->sched, 3)->entity, entity(b, 3));
	ev.tenant.weight = 60;
	ev.tenant.cls = COT_CLASS_LATENCY;
	ev.tenant.gpu_mask = GPU1;
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(script.entity_changes,
			 COT_CHANGED_WEIGHT | COT_CHANGED_CLASS | COT_CHANGED_GPU);
	assert_int_equal(script.tenant_changes, script.entity_changes);
	ev.tenant.ready = false;
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(script.n_down, 1);
	assert_int_equal(bench_leave(b, 3), 0);
	assert_int_equal(script.n_left, 1);
	assert_int_equal(script.n_down, 1);
	assert_int_equal(bench_leave(b, 3), -EINVAL);
}

static void test_pool_is_the_sum_of_its_tenants(void **state)
{
	struct bench *b = *state;

	/* A tenant may come before its pool. */
	assert_int_equal(bench_member(b, 1, COT_CLASS_BATCH, 9), 0);
	assert_null(entity(b, 9));
	assert_int_equal(bench_pool(b, 9, COT_CLASS_BATCH), 0);
	assert_int_equal(entity(b, 9)->n_tenants, 1);
	assert_int_equal(bench_member(b, 2, COT_CLASS_BATCH, 9), 0);
	assert_int_equal(entity(b, 9)->weight, 2 * COT_WEIGHT_DEFAULT);
	assert_int_equal(entity(b, 9)->activity, COT_ACTIVITY_UNKNOWN);
	assert_int_equal(bench_activity(b, 1, COT_ACTIVITY_IDLE), 0);
	assert_int_equal(entity(b, 9)->activity, COT_ACTIVITY_UNKNOWN);
	assert_int_equal(bench_activity(b, 2, COT_ACTIVITY_IDLE), 0);
	assert_int_equal(entity(b, 9)->activity, COT_ACTIVITY_IDLE);
	assert_int_equal(bench_activity(b, 1, COT_ACTIVITY_ACTIVE), 0);
	assert_int_equal(entity(b, 9)->activity, COT_ACTIVITY_ACTIVE);
	assert_int_equal(bench_leave(b, 1), 0);
	assert_int_equal(entity(b, 9)->n_tenants, 1);
	assert_int_equal(bench_event(b, (struct cot_event){.type = COT_EV_POOL_LEFT, .id = 9}), 0);
	assert_null(entity(b, 9));
	assert_null(cot_sched_tenant(b->sched, 2)->entity);
	assert_int_equal(bench_leave(b, 2), 0);
}

static void test_hints_need_everybody(void **state)
{
	struct bench *b = *state;
	struct cot_event ev = {
		.type = COT_EV_TENANT,
		.id = 1,
		.tenant = {.cls = COT_CLASS_BATCH,
			   .weight = 1,
			   .gpu_mask = GPU0,
			   .pool = 9,
			   .block_us = 30,
			   .target = {COT_TARGET_P99, 900}},
	};

	(void)bench_pool(b, 9, COT_CLASS_BATCH);
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(entity(b, 9)->block_us, 30);
	ev.id = 2;
	ev.tenant.block_us = 40;
	ev.tenant.target.amount = 500;
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(entity(b, 9)->block_us, 40);
	assert_int_equal(entity(b, 9)->target_p99_us, 500);
	assert_int_equal(bench_member(b, 3, COT_CLASS_BATCH, 9), 0);
	assert_int_equal(entity(b, 9)->block_us, 0);
}

static void test_wrong_events(void **state)
{
	struct bench *b = *state;
	struct cot_event ok = {
		.type = COT_EV_TENANT,
		.id = 1,
		.tenant = {.cls = COT_CLASS_BATCH, .weight = 1, .gpu_mask = 1, .ready = true},
	};
	struct cot_event ev = ok;

	ev.id = 0;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev = ok;
	ev.tenant.weight = 0;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev.tenant.weight = COT_WEIGHT_MAX + 1;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev = ok;
	ev.tenant.gpu_mask = 0;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev = ok;
	ev.tenant.cls = (enum cot_class)7;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev = ok;
	ev.tenant.target = (struct cot_target){COT_TARGET_RATE, 1001};
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev = ok;
	ev.tenant.pool = 1;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	assert_int_equal(bench_event(b, ok), 0);
	ok.tenant.pool = 5;
	assert_int_equal(bench_event(b, ok), -EINVAL); /* may not move */
	assert_int_equal(bench_pool(b, 1, COT_CLASS_BATCH), -EEXIST);
	assert_int_equal(bench_member(b, 2, COT_CLASS_BATCH, 1), -EEXIST);
	assert_int_equal(bench_activity(b, 77, COT_ACTIVITY_IDLE), -EINVAL);
	assert_int_equal(bench_activity(b, 1, (enum cot_activity)9), -EINVAL);
	assert_int_equal(bench_hold(b, 77, true), -EINVAL);
	assert_int_equal(bench_event(b, (struct cot_event){.type = COT_EV_N_TYPES}), -EINVAL);
	assert_int_equal(bench_event(b, (struct cot_event){.type = COT_EV_POOL_LEFT, .id = 1}),
			 -EINVAL);
	assert_non_null(entity(b, 1));
}

static void test_tables_are_bounded(void **state)
{
	struct bench *b = *state;
	uint32_t i;

	for (i = 1; i <= COT_SCHED_MAX_TENANTS; i++)
		assert_int_equal(bench_solo(b, i, COT_CLASS_BATCH, 1), 0);
	assert_int_equal(bench_solo(b, i, COT_CLASS_BATCH, 1), -ENOSPC);
	assert_int_equal(bench_leave(b, 7), 0);
	assert_int_equal(bench_solo(b, i, COT_CLASS_BATCH, 1), 0);
	for (i = 0; i < COT_SCHED_MAX_ENTITIES - COT_SCHED_MAX_TENANTS; i++)
		assert_int_equal(bench_pool(b, 400 + i, COT_CLASS_BATCH), 0);
	assert_int_equal(bench_pool(b, 400 + i, COT_CLASS_BATCH), -ENOSPC);
	run_ms(b, 100);
}

static void test_time_never_goes_back(void **state)
{
	struct bench *b = *state;
	struct cot_event ev = {.type = COT_EV_TICK, .now_ns = 5000};

	(void)cot_sched_event(b->sched, &ev);
	ev.now_ns = 10;
	(void)cot_sched_event(b->sched, &ev);
	assert_int_equal(cot_sched_policy(b->sched)->now_ns, 5000);
	b->now_ns = 5000;
}

/* ---- actions ---- */

static void test_wishes_become_actions_once(void **state)
{
	struct bench *b = *state;

	script.slice_us = 100;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	poke(b);
	poke(b);
	assert_int_equal(b->n_actions, 1);
	assert_int_equal(entity(b, 1)->slice_us, COT_SLICE_DRIVER);
	run_ms(b, 2);
	assert_int_equal(entity(b, 1)->slice_us, 100);
	assert_int_equal(b->slice_us[1], 100);
	assert_int_equal(script.n_done, 1);
	assert_int_equal(script.last.latency_ns, b->delay_ns);
	poke(b);
	assert_int_equal(b->n_actions, 1);
}

/* The bench takes actions after each event; here nobody does. */
static void test_contradicting_wishes_cancel_out(void **state)
{
	struct bench *b = *state;
	struct cot_event ev = {.type = COT_EV_TICK};
	struct cot_action a;

	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	script.freeze_id = 1;
	(void)cot_sched_event(b->sched, &ev);
	assert_int_equal(entity(b, 1)->run, COT_RUN_FREEZING);
	script.freeze_id = 0;
	(void)cot_sched_event(b->sched, &ev);
	assert_int_equal(entity(b, 1)->run, COT_RUN_RUNNING);
	assert_false(cot_sched_next_action(b->sched, &a));
	assert_true(cot_sched_is_quiet(b->sched));
}

static void test_newer_wish_overtakes(void **state)
{
	struct bench *b = *state;

	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	script.freeze_id = 1;
	poke(b);
	script.freeze_id = 0;
	poke(b);
	assert_int_equal(entity(b, 1)->run, COT_RUN_THAWING);
	assert_int_equal(b->n_actions, 2);
	run_ms(b, 5);
	assert_int_equal(entity(b, 1)->run, COT_RUN_RUNNING);
	assert_false(b->frozen[1]);
	assert_int_equal(script.n_done, 1); /* the freeze was replaced */
	assert_int_equal(bench_stats(b).late_answers, 1);
}

static int fail_freezes(struct bench *b, const struct cot_action *a)
{
	(void)b;
	return a->kind == COT_ACTION_FREEZE ? -EIO : 0;
}

static int silent_freezes(struct bench *b, const struct cot_action *a)
{
	(void)b;
	return a->kind == COT_ACTION_FREEZE ? BENCH_SILENT : 0;
}

static int fail_thaws(struct bench *b, const struct cot_action *a)
{
	(void)b;
	return a->kind == COT_ACTION_THAW ? -EIO : 0;
}

static int fail_slices(struct bench *b, const struct cot_action *a)
{
	(void)b;
	return a->kind == COT_ACTION_SLICE ? -EPERM : 0;
}

static void test_failed_freeze_is_thawed(void **state)
{
	struct bench *b = *state;

	b->fault = fail_freezes;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	script.freeze_id = 1;
	poke(b);
	bench_run(b, b->delay_ns);
	assert_int_equal(script.n_done, 1);
	assert_int_equal(script.last.kind, COT_ACTION_FREEZE);
	assert_int_equal(script.last.status, -EIO);
	assert_int_equal(entity(b, 1)->n_failed, 1);
	assert_int_equal(entity(b, 1)->run, COT_RUN_THAWING);
	assert_int_equal(script.last_answer, -EAGAIN);
	run_ms(b, 50);
	assert_int_equal(entity(b, 1)->run, COT_RUN_RUNNING);
	assert_int_equal(bench_stats(b).rescues, 1);
	/* After a pause the same wish is taken again. */
	b->fault = NULL;
	run_ms(b, 100);
	assert_int_equal(entity(b, 1)->run, COT_RUN_FROZEN);
	assert_int_equal(entity(b, 1)->n_failed, 0);
}

static void test_silence_is_failure(void **state)
{
	struct bench *b = *state;

	b->fault = silent_freezes;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	script.freeze_id = 1;
	poke(b);
	run_ms(b, 19);
	assert_int_equal(entity(b, 1)->run, COT_RUN_FREEZING);
	run_ms(b, 3);
	assert_int_equal(script.last.status, -ETIMEDOUT);
	assert_int_equal(bench_stats(b).timed_out[COT_ACTION_FREEZE], 1);
	assert_int_equal(entity(b, 1)->run, COT_RUN_RUNNING);
}

static void test_late_answer_changes_nothing(void **state)
{
	struct bench *b = *state;
	uint32_t seq;

	b->delay_ns = 30 * MS;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	script.freeze_id = 1;
	poke(b);
	seq = b->pending[0].action.seq;
	b->fault = silent_freezes;
	run_ms(b, 25);
	assert_int_equal(
		bench_event(b,
			    (struct cot_event){.type = COT_EV_DONE, .id = 1, .done = {.seq = seq}}),
		0);
	assert_int_equal(entity(b, 1)->run, COT_RUN_THAWING);
	assert_int_equal(bench_stats(b).late_answers, 1);
}

static void test_thaw_is_tried_until_it_works(void **state)
{
	struct bench *b = *state;

	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	script.freeze_id = 1;
	poke(b);
	run_ms(b, 5);
	assert_int_equal(entity(b, 1)->run, COT_RUN_FROZEN);
	b->fault = fail_thaws;
	script.freeze_id = 0;
	poke(b);
	run_ms(b, 5000);
	assert_int_equal(entity(b, 1)->run, COT_RUN_THAWING);
	assert_in_range(bench_stats(b).failed[COT_ACTION_THAW], 8, 15);
	b->fault = NULL;
	run_ms(b, 1100);
	assert_int_equal(entity(b, 1)->run, COT_RUN_RUNNING);
	assert_false(b->frozen[1]);
	assert_int_equal(bench_stats(b).fallbacks, 0);
}

static void test_failed_slice_is_tried_more_and_more_seldom(void **state)
{
	struct bench *b = *state;

	b->fault = fail_slices;
	script.slice_us = 100;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	run_ms(b, 60000);
	/* 0.1 0.2 0.4 0.8 1.6 3.2, then every 5 s. */
	assert_in_range(bench_stats(b).failed[COT_ACTION_SLICE], 14, 20);
	b->fault = NULL;
	run_ms(b, 6000);
	assert_int_equal(entity(b, 1)->slice_us, 100);
}

static void test_entity_goes_down_with_actions_on_their_way(void **state)
{
	struct bench *b = *state;

	script.freeze_id = 1;
	script.slice_us = 100;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	assert_int_equal(bench_leave(b, 1), 0);
	run_ms(b, 5);
	assert_int_equal(script.n_done, 0);
	assert_int_equal(bench_stats(b).late_answers, 2);
	/* The same id again starts anew. */
	b->frozen[1] = false;
	script.freeze_id = 0;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	run_ms(b, 5);
	assert_int_equal(entity(b, 1)->run, COT_RUN_RUNNING);
	assert_int_equal(entity(b, 1)->slice_us, 100);
}

/* ---- what others do ---- */

static void test_hold(void **state)
{
	struct bench *b = *state;

	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	assert_int_equal(bench_hold(b, 1, true), 0);
	assert_true(entity(b, 1)->held);
	assert_true(script.entity_changes & COT_CHANGED_HELD);
	run_ms(b, 60000); /* nobody calls that starving */
	assert_int_equal(entity(b, 1)->run, COT_RUN_FROZEN);
	assert_int_equal(bench_stats(b).fallbacks, 0);
	assert_int_equal(bench_hold(b, 1, false), 0);
	run_ms(b, 5);
	assert_int_equal(entity(b, 1)->run, COT_RUN_RUNNING);
}

static void test_hold_that_fails_is_tried_again(void **state)
{
	struct bench *b = *state;

	b->fault = fail_freezes;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	assert_int_equal(bench_hold(b, 1, true), 0);
	run_ms(b, 5000);
	assert_true(entity(b, 1)->held);
	assert_int_equal(entity(b, 1)->run, COT_RUN_FREEZING);
	assert_in_range(entity(b, 1)->n_failed, 6, 10);
	assert_int_equal(bench_stats(b).fallbacks, 0);
	b->fault = NULL;
	run_ms(b, 1100);
	assert_int_equal(entity(b, 1)->run, COT_RUN_FROZEN);
	assert_int_equal(entity(b, 1)->n_failed, 0);
}

static void test_found_state(void **state)
{
	struct bench *b = *state;
	struct cot_event ev = {.type = COT_EV_FOUND, .id = 1, .is_frozen = true};

	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	script.freeze_id = 1;
	b->frozen[1] = true;
	assert_int_equal(bench_event(b, ev), 0);
	/* It is already as the policy wants it. */
	assert_int_equal(entity(b, 1)->run, COT_RUN_FROZEN);
	assert_int_equal(b->n_actions, 0);
	/* Its lease ran out: it has thawed itself, and is frozen again. */
	script.entity_changes = 0;
	ev.is_frozen = false;
	b->frozen[1] = false;
	assert_int_equal(bench_event(b, ev), 0);
	assert_true(script.entity_changes & COT_CHANGED_RUN);
	assert_int_equal(b->n_actions, 1);
	run_ms(b, 5);
	assert_int_equal(entity(b, 1)->run, COT_RUN_FROZEN);
}

static void test_change_of_policy_keeps_what_is_wanted(void **state)
{
	struct bench *b = *state;
	struct cot_error err;
	uint64_t n;

	script.slice_us = 100;
	script.freeze_id = 1;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	run_ms(b, 5);
	n = b->n_actions;
	assert_int_equal(cot_sched_set_policy(b->sched, &scripted, NULL, b->now_ns, &err), 0);
	poke(b);
	assert_int_equal(b->n_actions, n); /* thawed and frozen again on paper only */
	assert_int_equal(entity(b, 1)->run, COT_RUN_FROZEN);
	assert_int_equal(
		cot_sched_set_policy(b->sched, &cot_policy_timeslice, NULL, b->now_ns, &err), 0);
	poke(b);
	run_ms(b, 5);
	assert_false(b->frozen[1]);
	assert_int_equal(b->slice_us[1], COT_SLICE_DRIVER);
}

static void test_stop(void **state)
{
	struct bench *b = *state;

	script.slice_us = 100;
	script.freeze_id = 2;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 1);
	(void)bench_solo(b, 2, COT_CLASS_BATCH, 1);
	(void)bench_hold(b, 1, true);
	run_ms(b, 5);
	assert_true(b->frozen[1] && b->frozen[2]);
	cot_sched_stop(b->sched, b->now_ns);
	poke(b);
	assert_false(cot_sched_is_quiet(b->sched));
	run_ms(b, 5);
	assert_true(cot_sched_is_quiet(b->sched));
	assert_false(b->frozen[1] || b->frozen[2]);
	assert_int_equal(b->slice_us[1], COT_SLICE_DRIVER);
}

static void test_wrong_policies_are_refused(void **state)
{
	struct cot_policy_ops ops = scripted;
	struct cot_sched *s = NULL;
	struct cot_error err;
	unsigned i;

	(void)state;
	ops.tick = NULL;
	assert_int_equal(cot_sched_create(&ops, NULL, NULL, 0, &s, &err), -EINVAL);
	ops = scripted;
	ops.name = NULL;
	assert_int_equal(cot_sched_create(&ops, NULL, NULL, 0, &s, &err), -EINVAL);
	ops = scripted;
	ops.summary = NULL;
	assert_int_equal(cot_sched_create(&ops, NULL, NULL, 0, &s, &err), -EINVAL);
	ops = scripted;
	ops.abi = COT_POLICY_ABI + 1;
	assert_int_equal(cot_sched_create(&ops, NULL, NULL, 0, &s, &err), -EINVAL);
	ops = scripted;
	ops.state_bytes = COT_POLICY_STATE_MAX + 1;
	assert_int_equal(cot_sched_create(&ops, NULL, NULL, 0, &s, &err), -EINVAL);
	for (i = 0; i < 3; i++) {
		ops = scripted;
		*(i == 0   ? &ops.entity_bytes
		  : i == 1 ? &ops.tenant_bytes
			   : &ops.work_bytes) = COT_POLICY_OWN_MAX + 1;
		assert_int_equal(cot_sched_create(&ops, NULL, NULL, 0, &s, &err), -EINVAL);
	}
	assert_null(s);
}

/* Each number just beyond what is allowed; all of them at their bounds are right. */
static void test_wrong_configs_are_refused(void **state)
{
	struct cot_policy_config wrong[20];
	struct cot_sched *s = NULL;
	struct cot_error err;
	unsigned i, n = sizeof(wrong) / sizeof(wrong[0]);

	(void)state;
	for (i = 0; i < n; i++) {
		cot_policy_config_init(&wrong[i]);
		wrong[i].reserve_permille = wrong[i].latency_permille = 1000;
		wrong[i].bandwidth_permille = 1000;
		wrong[i].dram_bytes_per_s = COT_BYTES_PER_S_MAX;
		wrong[i].pace_us = COT_PACE_US_MAX;
		wrong[i].latency_slice_us = COT_SLICE_US_MAX;
		wrong[i].batch_slice_us = COT_SLICE_US_MIN;
		wrong[i].turn_ns = COT_NS_PER_MS;
		wrong[i].cycle_ns = 3600 * COT_NS_PER_S;
		wrong[i].gather_ns = COT_GATHER_NS_MAX;
		wrong[i].aim = COT_AIM_TIME;
		wrong[i].min_gain_permille = 999;
		wrong[i].base_w = COT_POWER_W_MAX - 1;
		wrong[i].limit_w = COT_POWER_W_MAX;
	}
	wrong[1].latency_slice_us++;
	wrong[2].batch_slice_us--;
	wrong[3].equal_slice_us = 1;
	wrong[4].turn_ns--;
	wrong[5].cycle_ns++;
	wrong[6].turn_ns = wrong[6].cycle_ns + 1;
	wrong[7].reserve_permille++;
	wrong[8].latency_permille++;
	wrong[9].bandwidth_permille++;
	wrong[10].dram_bytes_per_s++;
	wrong[11].pace_us++;
	wrong[12].turn_ns = 0;
	wrong[13].gather_ns++;
	wrong[14].aim++;
	wrong[15].min_gain_permille++;
	wrong[16].base_w++;
	wrong[17].base_w = 0;
	wrong[18].limit_w++;
	wrong[19].base_w += 2;
	wrong[19].limit_w = 0;
	assert_int_equal(cot_sched_create(&scripted, &wrong[0], NULL, 0, &s, &err), 0);
	cot_sched_destroy(s);
	s = NULL;
	for (i = 1; i < n; i++) {
		err.text[0] = '\0';
		if (cot_sched_create(&scripted, &wrong[i], NULL, 0, &s, &err) != -EINVAL)
			fail_msg("case %u was taken", i);
		assert_true(err.text[0] && !s);
	}
}

/* What GPUs say stays, whatever the configuration is. */
static void test_power_limit(void **state)
{
	struct cot_policy_config config;
	const struct cot_policy *p;
	struct cot_sched *s;
	struct cot_error err;

	(void)state;
	cot_policy_config_init(&config);
	assert_int_equal(cot_sched_create(&scripted, &config, NULL, 0, &s, &err), 0);
	p = cot_sched_policy(s);
	assert_true(cot_sched_set_limit_w(s, 0, 700));
	assert_false(cot_sched_set_limit_w(s, 0, 700));
	assert_true(cot_sched_set_limit_w(s, 1, 300));
	assert_false(cot_sched_set_limit_w(s, COT_POLICY_GPUS_MAX, 1)); /* there is none */
	config.limit_w = 400;
	assert_int_equal(cot_sched_set_policy(s, &scripted, &config, 1, &err), 0);
	assert_int_equal(p->config->limit_w, 400);
	assert_int_equal(p->config->gpu_limit_w[0], 700);
	assert_int_equal(p->config->gpu_limit_w[1], 300);
	assert_int_equal(p->config->gpu_limit_w[2], 0);
	cot_sched_destroy(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_tenants_and_entities),
		T(test_pool_is_the_sum_of_its_tenants),
		T(test_hints_need_everybody),
		T(test_wrong_events),
		T(test_tables_are_bounded),
		T(test_time_never_goes_back),
		T(test_wishes_become_actions_once),
		T(test_contradicting_wishes_cancel_out),
		T(test_newer_wish_overtakes),
		T(test_failed_freeze_is_thawed),
		T(test_silence_is_failure),
		T(test_late_answer_changes_nothing),
		T(test_thaw_is_tried_until_it_works),
		T(test_failed_slice_is_tried_more_and_more_seldom),
		T(test_entity_goes_down_with_actions_on_their_way),
		T(test_hold),
		T(test_hold_that_fails_is_tried_again),
		T(test_found_state),
		T(test_change_of_policy_keeps_what_is_wanted),
		T(test_stop),
		cmocka_unit_test(test_wrong_policies_are_refused),
		cmocka_unit_test(test_wrong_configs_are_refused),
		cmocka_unit_test(test_power_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
