/*
 * Actions and their answers, in detail: what the host and the policy are told, the pauses after
 * failures, what is found, and several entities at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy_bench.h"
#include "sched/inside.h"
#include "test.h"

#define MS COT_NS_PER_MS

/* How each entity shall be, by id; and what the policy was told. */
static struct {
	uint32_t slice_us[8], frozen;
	bool drain[8];
	int answer; /* of the last wish */
	unsigned n_done, changed;
	uint32_t entity;
	struct cot_action_result last;
} script;

static uint64_t tick(struct cot_policy *p)
{
	struct cot_entity *e;

	cot_for_each_entity (e, p) {
		(void)cot_set_slice(p, e, script.slice_us[e->id]);
		(void)cot_set_mode(p, e, script.drain[e->id] ? COT_MODE_DRAIN : COT_MODE_SWITCH);
		if (script.frozen >> e->id & 1)
			script.answer = cot_freeze(p, e);
		else
			(void)cot_thaw(p, e);
	}
	return COT_NEVER;
}

static void action_done(struct cot_policy *p, struct cot_entity *e,
			const struct cot_action_result *r)
{
	(void)p;
	script.n_done++;
	script.entity = e->id;
	script.last = *r;
}

static void entity_changed(struct cot_policy *p, struct cot_entity *e, unsigned what)
{
	(void)p;
	script.changed |= what;
	script.entity = e->id;
}

static const struct cot_policy_ops scripted = {
	.name = "scripted",
	.summary = "does what the test says",
	.abi = COT_POLICY_ABI,
	.action_done = action_done,
	.entity_changed = entity_changed,
	.tick = tick,
};

static struct cot_sched *sched;
static uint64_t now_ns;

static int set_up(void **state)
{
	struct cot_error err;

	(void)state;
	memset(&script, 0, sizeof(script));
	now_ns = 0;
	assert_int_equal(cot_sched_create(&scripted, NULL, NULL, 0, &sched, &err), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cot_sched_destroy(sched);
	return 0;
}

static int event(struct cot_event ev)
{
	ev.now_ns = now_ns;
	return cot_sched_event(sched, &ev);
}

static void tick_at(uint64_t ns)
{
	now_ns = ns;
	(void)event((struct cot_event){.type = COT_EV_TICK});
}

static void solo(uint32_t id)
{
	assert_int_equal(event((struct cot_event){.type = COT_EV_TENANT,
						  .id = id,
						  .tenant = {.cls = COT_CLASS_BATCH,
							     .weight = 1,
							     .gpu_mask = GPU0,
							     .ready = true}}),
			 0);
}

static void leave(uint32_t id)
{
	assert_int_equal(event((struct cot_event){.type = COT_EV_TENANT_LEFT, .id = id}), 0);
}

static int answer(const struct cot_action *a, int status)
{
	return event((struct cot_event){
		.type = COT_EV_DONE, .id = a->entity, .done = {.seq = a->seq, .status = status}});
}

static struct cot_action next(void)
{
	struct cot_action a;

	assert_true(cot_sched_next_action(sched, &a));
	return a;
}

static void expect_none(void)
{
	struct cot_action a;

	assert_false(cot_sched_next_action(sched, &a));
}

static const struct cot_entity *entity(uint32_t id)
{
	return cot_sched_entity(sched, id);
}

static struct cot_sched_stats stats(void)
{
	struct cot_sched_stats s;

	cot_sched_stats(sched, &s);
	return s;
}

/* ---- what the host gets ---- */

static void test_an_action(void **state)
{
	struct cot_action a;

	(void)state;
	now_ns = 7 * MS;
	script.slice_us[2] = 300;
	solo(2);
	now_ns = 8 * MS; /* it is taken later */
	a = next();
	assert_int_equal(a.seq, 1);
	assert_int_equal(a.entity, 2);
	assert_int_equal(a.kind, COT_ACTION_SLICE);
	assert_int_equal(a.value, 300);
	assert_int_equal(a.now_ns, 7 * MS);
	assert_int_equal(a.deadline_ns, 27 * MS);
	expect_none();
	assert_int_equal(cot_sched_wake_ns(sched), 27 * MS);
	assert_int_equal(stats().actions[COT_ACTION_SLICE], 1);
	script.drain[2] = true;
	script.frozen = 1 << 2;
	tick_at(9 * MS);
	a = next();
	assert_int_equal(a.seq, 2);
	assert_int_equal(a.kind, COT_ACTION_MODE);
	assert_int_equal(a.value, COT_MODE_DRAIN);
	a = next();
	assert_int_equal(a.kind, COT_ACTION_FREEZE);
	assert_int_equal(a.value, 0);
	assert_false(a.settled);
	expect_none();
}

/* Numbers go round without a 0, which means none. */
static void test_numbers_go_round(void **state)
{
	(void)state;
	sched->next_seq = UINT32_MAX - 1;
	solo(1);
	script.slice_us[1] = 100;
	tick_at(1);
	assert_int_equal(next().seq, UINT32_MAX);
	script.slice_us[1] = 200;
	tick_at(2);
	assert_int_equal(next().seq, 1);
}

/* ---- what the policy gets ---- */

static void test_a_result(void **state)
{
	struct cot_action a;

	(void)state;
	solo(1);
	solo(2);
	script.slice_us[2] = 300;
	tick_at(1 * MS);
	now_ns = 2 * MS;
	a = next();
	now_ns = 5 * MS;
	assert_int_equal(answer(&a, 0), 0);
	assert_int_equal(script.n_done, 1);
	assert_int_equal(script.entity, 2);
	assert_int_equal(script.last.kind, COT_ACTION_SLICE);
	assert_int_equal(script.last.status, 0);
	assert_int_equal(script.last.value, 300);
	assert_int_equal(script.last.latency_ns, 4 * MS);
	assert_int_equal(entity(2)->slice_us, 300);
	assert_int_equal(entity(1)->slice_us, COT_SLICE_DRIVER);
	assert_int_equal(entity(2)->mode, COT_MODE_SWITCH);
	script.drain[2] = true;
	tick_at(5 * MS);
	a = next();
	now_ns = 6 * MS;
	(void)answer(&a, -EPERM);
	assert_int_equal(script.last.kind, COT_ACTION_MODE);
	assert_int_equal(script.last.value, COT_MODE_DRAIN);
	assert_int_equal(script.last.status, -EPERM);
	assert_int_equal(entity(2)->mode, COT_MODE_SWITCH);
	assert_int_equal(stats().failed[COT_ACTION_MODE], 1);
	assert_int_equal(stats().failed[COT_ACTION_SLICE], 0);
	assert_int_equal(stats().timed_out[COT_ACTION_MODE], 0);
	assert_int_equal(stats().latency_sum_ns[COT_ACTION_SLICE], 4 * MS);
	assert_int_equal(stats().latency_max_ns[COT_ACTION_SLICE], 4 * MS);
	script.slice_us[2] = 400;
	tick_at(10 * MS);
	a = next();
	now_ns = 11 * MS;
	(void)answer(&a, 0);
	assert_int_equal(stats().latency_sum_ns[COT_ACTION_SLICE], 5 * MS);
	assert_int_equal(stats().latency_max_ns[COT_ACTION_SLICE], 4 * MS);
}

static void test_a_freeze_and_a_thaw(void **state)
{
	struct cot_action a;

	(void)state;
	solo(1);
	script.frozen = 1 << 1;
	tick_at(1 * MS);
	assert_int_equal(entity(1)->run, COT_RUN_FREEZING);
	assert_int_equal(entity(1)->run_since_ns, 1 * MS);
	a = next();
	now_ns = 3 * MS;
	(void)answer(&a, 0);
	assert_int_equal(script.last.kind, COT_ACTION_FREEZE);
	assert_int_equal(script.last.value, 0);
	assert_int_equal(entity(1)->run, COT_RUN_FROZEN);
	assert_int_equal(entity(1)->run_since_ns, 3 * MS);
	assert_int_equal(script.changed, 0); /* it was the policy's own wish */
	script.frozen = 0;
	tick_at(4 * MS);
	a = next();
	assert_int_equal(a.kind, COT_ACTION_THAW);
	assert_int_equal(entity(1)->run, COT_RUN_THAWING);
	now_ns = 5 * MS;
	(void)answer(&a, 0);
	assert_int_equal(script.last.kind, COT_ACTION_THAW);
	assert_int_equal(script.n_done, 2);
	assert_int_equal(entity(1)->run, COT_RUN_RUNNING);
	assert_int_equal(stats().rescues, 0);
	assert_true(cot_sched_is_quiet(sched));
}

static void test_wrong_answers(void **state)
{
	struct cot_action a;

	(void)state;
	solo(1);
	solo(2);
	script.slice_us[1] = 100;
	tick_at(1);
	a = next();
	assert_int_equal(answer(&a, 1), -EINVAL);
	a.seq = 0;
	assert_int_equal(answer(&a, 0), -EINVAL);
	assert_int_equal(stats().late_answers, 0);
	assert_int_equal(stats().events_refused, 2);
	a.seq = 1;
	a.entity = 2; /* not its own */
	assert_int_equal(answer(&a, 0), 0);
	a.entity = 77;
	assert_int_equal(answer(&a, 0), 0);
	assert_int_equal(stats().late_answers, 2);
	assert_int_equal(script.n_done, 0);
	a.entity = 1;
	assert_int_equal(answer(&a, 0), 0);
	assert_int_equal(script.n_done, 1);
	assert_int_equal(stats().events_refused, 2);
}

/* ---- failures ---- */

/* When the wish is tried again, in ms after the failure. */
static uint64_t fails_and_is_tried_again(uint32_t id, int status)
{
	struct cot_action a = next();
	uint64_t failed_ns = now_ns;

	assert_int_equal(a.entity, id);
	(void)answer(&a, status);
	do {
		expect_none();
		assert_true(cot_sched_wake_ns(sched) > now_ns);
		tick_at(cot_sched_wake_ns(sched));
	} while (!sched->queue_n);
	return (now_ns - failed_ns) / MS;
}

static void test_pauses_after_failed_slices(void **state)
{
	static const uint64_t pauses[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000};
	unsigned i;

	(void)state;
	solo(1);
	solo(2);
	script.slice_us[2] = 100;
	tick_at(1 * MS);
	for (i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++)
		assert_int_equal(fails_and_is_tried_again(2, -EIO), pauses[i]);
	/* After a success they are short again. */
	{
		struct cot_action a = next();

		(void)answer(&a, 0);
	}
	script.slice_us[2] = 200;
	tick_at(now_ns + MS);
	assert_int_equal(fails_and_is_tried_again(2, -EIO), 100);
}

static void test_pauses_after_failed_thaws(void **state)
{
	static const uint64_t pauses[] = {10, 20, 40, 80, 160, 320, 640, 1000, 1000};
	struct cot_action a;
	unsigned i;

	(void)state;
	solo(1);
	script.frozen = 1 << 1;
	tick_at(1 * MS);
	a = next();
	(void)answer(&a, 0);
	script.frozen = 0;
	tick_at(2 * MS);
	for (i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++)
		assert_int_equal(fails_and_is_tried_again(1, -EIO), pauses[i]);
	a = next();
	(void)answer(&a, 0);
	assert_int_equal(entity(1)->run, COT_RUN_RUNNING);
	/* A failed thaw says nothing of freezes, and the next thaws begin anew. */
	script.frozen = 1 << 1;
	tick_at(now_ns + MS);
	assert_int_equal(script.answer, 0);
	a = next();
	(void)answer(&a, 0);
	script.frozen = 0;
	tick_at(now_ns + MS);
	assert_int_equal(fails_and_is_tried_again(1, -EIO), 10);
}

/* The core thaws what may be half frozen: its own wish, of which the policy hears as a change. */
static void test_a_failed_freeze(void **state)
{
	struct cot_action a;

	(void)state;
	solo(1);
	solo(2);
	script.frozen = 1 << 2;
	tick_at(1 * MS);
	a = next();
	(void)answer(&a, -EIO);
	assert_int_equal(script.n_done, 1);
	assert_int_equal(entity(2)->n_failed, 1);
	assert_int_equal(entity(1)->n_failed, 0);
	assert_int_equal(script.answer, -EAGAIN);
	assert_int_equal(stats().deferred, 1);
	a = next();
	assert_int_equal(a.kind, COT_ACTION_THAW);
	assert_int_equal(a.entity, 2);
	assert_int_equal(stats().rescues, 1);
	script.changed = 0;
	(void)answer(&a, 0);
	assert_int_equal(script.n_done, 1);
	assert_int_equal(script.changed, COT_CHANGED_RUN);
	assert_int_equal(entity(2)->run, COT_RUN_RUNNING);
	tick_at(100 * MS);
	expect_none();
	assert_int_equal(entity(2)->n_failed, 1);
	tick_at(101 * MS);
	a = next();
	assert_int_equal(a.kind, COT_ACTION_FREEZE);
	(void)answer(&a, 0);
	assert_int_equal(entity(2)->n_failed, 0);
}

static void test_no_answer(void **state)
{
	struct cot_action a[2];
	unsigned i;

	(void)state;
	for (i = 1; i <= 3; i++)
		solo(i);
	script.slice_us[1] = script.slice_us[3] = 100;
	tick_at(1 * MS);
	for (i = 0; i < 2; i++)
		a[i] = next();
	tick_at(21 * MS - 1);
	assert_int_equal(script.n_done, 0);
	tick_at(21 * MS);
	assert_int_equal(script.n_done, 2);
	assert_int_equal(script.entity, 3);
	assert_int_equal(script.last.status, -ETIMEDOUT);
	assert_int_equal(stats().timed_out[COT_ACTION_SLICE], 2);
	assert_int_equal(stats().failed[COT_ACTION_SLICE], 0);
	(void)answer(&a[1], 0);
	assert_int_equal(stats().late_answers, 1);
	assert_int_equal(entity(3)->slice_us, COT_SLICE_DRIVER);
}

/* ---- the queue ---- */

/* What one of three wanted is forgotten with it; the others' comes in order. */
static void test_one_leaves_with_actions_in_the_queue(void **state)
{
	unsigned i;

	(void)state;
	for (i = 1; i <= 3; i++)
		solo(i);
	for (i = 1; i <= 3; i++) {
		script.slice_us[i] = 100 * i;
		script.drain[i] = true;
	}
	tick_at(1 * MS);
	leave(2);
	for (i = 1; i <= 3; i += 2) {
		struct cot_action a = next();

		assert_int_equal(a.entity, i);
		assert_int_equal(a.value, 100 * i);
		assert_int_equal(next().kind, COT_ACTION_MODE);
	}
	expect_none();
}

/* For longer than the queue is. */
static void test_the_queue_goes_round(void **state)
{
	unsigned i, id;

	(void)state;
	for (id = 1; id <= 3; id++)
		solo(id);
	for (i = 0; i < 2 * QUEUE_MAX; i++) {
		for (id = 1; id <= 3; id++)
			script.slice_us[id] = 100 + i % 2 * 100 + id;
		tick_at(now_ns + 10 * MS);
		for (id = 1; id <= 3; id++) {
			struct cot_action a = next();

			assert_int_equal(a.entity, id);
			assert_int_equal(a.value, script.slice_us[id]);
			(void)answer(&a, 0);
		}
		expect_none();
	}
	assert_int_equal(stats().fallbacks, 0);
}

/* ---- what is found ---- */

static int found(uint32_t id, bool frozen)
{
	script.changed = 0;
	return event((struct cot_event){.type = COT_EV_FOUND, .id = id, .is_frozen = frozen});
}

static void test_found_as_it_is(void **state)
{
	(void)state;
	solo(1);
	assert_int_equal(found(1, false), 0);
	assert_int_equal(script.changed, 0);
	assert_int_equal(found(2, false), -EINVAL);
	expect_none();
}

/* What is on its way decides. */
static void test_found_with_an_action_on_its_way(void **state)
{
	struct cot_action a;

	(void)state;
	solo(1);
	(void)event((struct cot_event){.type = COT_EV_HOLD, .id = 1, .hold = true});
	a = next();
	assert_int_equal(found(1, true), 0);
	assert_int_equal(script.changed, 0);
	assert_int_equal(entity(1)->run, COT_RUN_FREEZING);
	(void)answer(&a, 0);
	assert_int_equal(entity(1)->run, COT_RUN_FROZEN);
	expect_none();
}

/* What is found says nothing about slice and mode: those that failed stay unknown, and the policy's
 * next wish is carried out, even if it is what there was before. */
static void test_found_after_a_mode_that_failed(void **state)
{
	struct cot_action a;

	(void)state;
	solo(1);
	script.drain[1] = true;
	tick_at(1 * MS);
	a = next();
	assert_int_equal(a.kind, COT_ACTION_MODE);
	(void)answer(&a, -ETIMEDOUT);
	assert_int_equal(found(1, true), 0);
	a = next();
	assert_int_equal(a.kind, COT_ACTION_THAW);
	(void)answer(&a, 0);
	script.drain[1] = false;
	tick_at(1000 * MS);
	a = next();
	assert_int_equal(a.kind, COT_ACTION_MODE);
	assert_int_equal(a.value, COT_MODE_SWITCH);
	(void)answer(&a, 0);
	expect_none();
}

static void test_found_frozen(void **state)
{
	struct cot_action a;

	(void)state;
	solo(1);
	assert_int_equal(found(1, true), 0);
	assert_int_equal(script.changed, COT_CHANGED_RUN);
	a = next();
	assert_int_equal(a.kind, COT_ACTION_THAW); /* the policy does not want it so */
	(void)answer(&a, 0);
	/* One that the user holds is frozen again. */
	(void)event((struct cot_event){.type = COT_EV_HOLD, .id = 1, .hold = true});
	a = next();
	(void)answer(&a, 0);
	assert_int_equal(entity(1)->run, COT_RUN_FROZEN);
	(void)found(1, false);
	assert_int_equal(entity(1)->run, COT_RUN_FREEZING);
	a = next();
	assert_int_equal(a.kind, COT_ACTION_FREEZE);
	(void)answer(&a, 0);
	/* And at the end nobody is left frozen. */
	cot_sched_stop(sched, now_ns);
	a = next();
	assert_int_equal(a.kind, COT_ACTION_THAW);
	(void)answer(&a, 0);
	(void)found(1, true);
	a = next();
	assert_int_equal(a.kind, COT_ACTION_THAW);
	assert_false(cot_sched_is_quiet(sched));
	(void)answer(&a, 0);
	assert_true(cot_sched_is_quiet(sched));
}

/* Nobody wishes anything any more, not even what has just failed. */
static void test_no_wishes_after_the_end(void **state)
{
	struct cot_action a;
	uint64_t n;

	(void)state;
	script.slice_us[1] = 500;
	solo(1);
	a = next();
	(void)answer(&a, 0);
	cot_sched_stop(sched, now_ns);
	a = next();
	assert_int_equal(a.kind, COT_ACTION_SLICE);
	assert_int_equal(a.value, COT_SLICE_DRIVER);
	n = stats().deferred;
	(void)answer(&a, -ETIMEDOUT);
	expect_none();
	assert_int_equal(entity(1)->slice_us, 500);
	assert_true(stats().deferred > n);
	assert_true(cot_sched_is_quiet(sched));
}

/* ---- holds ---- */

static void test_hold_is_not_the_policys(void **state)
{
	const struct cot_event hold = {.type = COT_EV_HOLD, .id = 2, .hold = true};
	struct cot_action a;

	(void)state;
	solo(1);
	solo(2);
	assert_int_equal(event(hold), 0);
	assert_int_equal(script.changed, COT_CHANGED_HELD);
	script.changed = 0;
	assert_int_equal(event(hold), 0); /* it is held already */
	assert_int_equal(script.changed, 0);
	a = next();
	assert_int_equal(a.entity, 2);
	(void)answer(&a, 0);
	assert_int_equal(script.n_done, 0);
	assert_int_equal(script.changed, COT_CHANGED_RUN);
	assert_int_equal(entity(2)->run, COT_RUN_FROZEN);
	tick_at(5 * MS); /* it would thaw it */
	expect_none();
	assert_true(stats().deferred > 0);
	assert_int_equal(stats().wrong_actions, 0);
	assert_int_equal(stats().rescues, 0);
	(void)event((struct cot_event){.type = COT_EV_HOLD, .id = 2, .hold = false});
	a = next();
	assert_int_equal(a.kind, COT_ACTION_THAW);
	assert_int_equal(entity(1)->held, false);
}

static void test_a_hold_that_fails(void **state)
{
	struct cot_action a;

	(void)state;
	solo(1);
	(void)event((struct cot_event){.type = COT_EV_HOLD, .id = 1, .hold = true});
	a = next();
	script.changed = 0;
	(void)answer(&a, -EBUSY);
	assert_true(entity(1)->held);
	assert_int_equal(entity(1)->run, COT_RUN_FREEZING);
	assert_int_equal(script.changed, COT_CHANGED_RUN);
	assert_int_equal(script.n_done, 0);
	expect_none(); /* nothing is undone: it is asked again */
	assert_int_equal(cot_sched_wake_ns(sched), now_ns + 100 * MS);
	tick_at(now_ns + 99 * MS);
	expect_none();
	tick_at(now_ns + 1 * MS);
	assert_int_equal(next().kind, COT_ACTION_FREEZE);
}

/* ---- names ---- */

static void test_names_of_faults(void **state)
{
	static const char *const names[] = {"none", "init", "stall", "starved", "wrong", "storm"};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_N_FAULTS; i++)
		assert_string_equal(cot_fault_name((enum cot_fault)i), names[i]);
	assert_string_equal(cot_fault_name(COT_N_FAULTS), "unknown");
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_an_action),
		T(test_numbers_go_round),
		T(test_a_result),
		T(test_a_freeze_and_a_thaw),
		T(test_wrong_answers),
		T(test_pauses_after_failed_slices),
		T(test_pauses_after_failed_thaws),
		T(test_a_failed_freeze),
		T(test_no_answer),
		T(test_one_leaves_with_actions_in_the_queue),
		T(test_the_queue_goes_round),
		T(test_found_after_a_mode_that_failed),
		T(test_found_as_it_is),
		T(test_found_with_an_action_on_its_way),
		T(test_found_frozen),
		T(test_no_wishes_after_the_end),
		T(test_hold_is_not_the_policys),
		T(test_a_hold_that_fails),
		cmocka_unit_test(test_names_of_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
