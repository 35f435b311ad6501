/* Parts that hold: how long they last, and how a policy makes them last. */
#include <errno.h>

#include "policy/policy_bench.h"
#include "test.h"

#define MS COT_NS_PER_MS

/* Where tenant 1 shall be, and what the policy was told. */
static struct {
	struct cot_part part;
	uint64_t every_ns; /* how often it says so; 0: only at events */
	unsigned n_placed, n_changed;
	struct cot_action_result last;
} script;

static uint64_t tick(struct cot_policy *p)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (t->id == 1)
			(void)cot_place(p, t, script.part);
	return script.every_ns ? p->now_ns + script.every_ns : COT_NEVER;
}

static void placed(struct cot_policy *p, struct cot_tenant *t, const struct cot_action_result *r)
{
	(void)p;
	(void)t;
	script.n_placed++;
	script.last = *r;
}

static void tenant_changed(struct cot_policy *p, struct cot_tenant *t, unsigned what)
{
	(void)p;
	if (what != COT_CHANGED_PARTS)
		return;
	script.n_changed++;
	assert_false(t->part.hold);
	/* It wants no more than what is left. */
	script.part.hold = false;
}

static const struct cot_policy_ops scripted = {
	.name = "scripted",
	.summary = "places as a test says",
	.abi = COT_POLICY_ABI,
	.places = true,
	.placed = placed,
	.tenant_changed = tenant_changed,
	.tick = tick,
};

static struct bench *begin(uint64_t every_ns)
{
	struct bench *b = bench_begin(&scripted);

	script.part = (struct cot_part){.first = 64, .n = 32};
	script.every_ns = every_ns;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 100);
	(void)bench_parts(b, 1, true);
	bench_run(b, 2 * MS);
	script.n_placed = script.n_changed = 0;
	return b;
}

static void hold(struct bench *b, bool on)
{
	script.part.hold = on;
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
}

static struct cot_part part_of(const struct bench *b)
{
	return cot_sched_tenant(b->sched, 1)->part;
}

static uint64_t n_orders(const struct bench *b)
{
	return bench_stats(b).actions[COT_ACTION_PLACE];
}

static void test_it_ends_by_the_next_part(void **state)
{
	struct bench *b = begin(0);

	(void)state;
	hold(b, true);
	assert_false(part_of(b).hold);
	bench_run(b, 1 * MS);
	assert_true(part_of(b).hold && bench_is_held(b, 1));
	assert_int_equal(part_of(b).first, 64);
	assert_int_equal(part_of(b).n, 32);
	assert_true(script.last.part.hold);
	/* Saying it again soon is free. */
	hold(b, true);
	bench_run(b, 10 * MS);
	hold(b, true);
	assert_int_equal(n_orders(b), 2);
	hold(b, false);
	bench_run(b, 1 * MS);
	assert_false(part_of(b).hold || bench_is_held(b, 1));
	assert_int_equal(n_orders(b), 3);
	assert_int_equal(script.n_placed, 2);
	assert_int_equal(script.n_changed, 0);
	bench_end(b);
}

/* 50 ms after the order, not after the answer. */
static void test_it_ends_by_itself(void **state)
{
	struct bench *b = begin(0);

	(void)state;
	hold(b, true);
	bench_run(b, COT_HOLD_MAX_NS - 1);
	assert_true(part_of(b).hold);
	assert_int_equal(script.n_changed, 0);
	bench_run(b, 1);
	assert_false(part_of(b).hold);
	assert_int_equal(script.n_changed, 1);
	assert_int_equal(part_of(b).n, 32);
	/* There is nothing left to order. */
	bench_run(b, 1000 * MS);
	assert_int_equal(n_orders(b), 2);
	assert_int_equal(script.n_changed, 1);
	/* And the next one is as the first one. */
	hold(b, true);
	bench_run(b, 1 * MS);
	assert_true(part_of(b).hold);
	assert_int_equal(n_orders(b), 3);
	bench_end(b);
}

static void test_who_says_so_again_holds_on(void **state)
{
	struct bench *b = begin(1 * MS);

	(void)state;
	hold(b, true);
	bench_run(b, 1 * MS);
	bench_reset_times(b);
	bench_run(b, 1000 * MS);
	assert_int_equal(b->held_ns[1], 1000 * MS);
	assert_int_equal(script.n_changed, 0);
	/* No more often than twice in the time that one lasts. */
	assert_in_range(n_orders(b), 30, 42);
	assert_int_equal(script.n_placed, n_orders(b) - 1);
	bench_end(b);
}

/* Another range, or another pace, is another order at once. */
static void test_it_may_move(void **state)
{
	struct bench *b = begin(0);

	(void)state;
	hold(b, true);
	bench_run(b, 1 * MS);
	script.part.n = 64;
	script.part.pace_us = COT_PACE_US_MAX;
	hold(b, true);
	bench_run(b, 1 * MS);
	assert_int_equal(part_of(b).n, 64);
	assert_int_equal(part_of(b).pace_us, COT_PACE_US_MAX);
	assert_true(part_of(b).hold);
	assert_int_equal(n_orders(b), 3);
	bench_end(b);
}

static int silent(struct bench *b, const struct cot_action *a)
{
	(void)b;
	(void)a;
	return BENCH_SILENT;
}

/* The answer of the second order stays out: the first one's time is over when that is known. */
static void test_an_order_without_an_answer(void **state)
{
	struct bench *b = begin(0);

	(void)state;
	hold(b, true);
	bench_run(b, 30 * MS);
	b->fault = silent;
	hold(b, true);
	assert_int_equal(n_orders(b), 3);
	bench_run(b, 999 * MS);
	assert_true(part_of(b).hold);
	bench_run(b, 1 * MS);
	assert_int_equal(script.last.status, -ETIMEDOUT);
	assert_false(part_of(b).hold);
	assert_int_equal(script.n_changed, 1);
	bench_end(b);
}

static void test_nobody_is_held_for_ever(void **state)
{
	struct bench *b = begin(1 * MS);

	(void)state;
	hold(b, true);
	bench_run(b, 9999 * MS);
	assert_int_equal(bench_stats(b).fallbacks, 0);
	bench_run(b, 5 * MS);
	assert_int_equal(bench_stats(b).fallbacks, 1);
	assert_int_equal(bench_stats(b).fault, COT_FAULT_STARVED);
	assert_int_equal(bench_stats(b).fault_entity, 1);
	bench_run(b, 2 * MS);
	assert_false(bench_is_held(b, 1));
	bench_end(b);
}

/* A program without work does not starve, and one that goes on in between neither. */
static void test_who_does_not_starve(void **state)
{
	struct bench *b = begin(1 * MS);

	(void)state;
	(void)bench_activity(b, 1, COT_ACTIVITY_IDLE);
	hold(b, true);
	bench_run(b, 9000 * MS);
	(void)bench_activity(b, 1, COT_ACTIVITY_ACTIVE);
	hold(b, true);
	bench_run(b, 9000 * MS);
	hold(b, false);
	bench_run(b, 2 * MS);
	hold(b, true);
	bench_run(b, 9000 * MS);
	assert_int_equal(bench_stats(b).fallbacks, 0);
	bench_end(b);
}

/* What the end of a policy, or of the host, leaves behind ends by itself. */
static void test_another_policy(void **state)
{
	struct bench *b = begin(1 * MS);
	struct cot_error err;

	(void)state;
	hold(b, true);
	bench_run(b, 2 * MS);
	cot_sched_stop(b->sched, b->now_ns);
	bench_run(b, COT_HOLD_MAX_NS);
	assert_false(part_of(b).hold);
	bench_end(b);

	b = begin(1 * MS);
	hold(b, true);
	bench_run(b, 2 * MS);
	/* `timeslice` places as users asked. */
	assert_int_equal(
		cot_sched_set_policy(b->sched, &cot_policy_timeslice, NULL, b->now_ns, &err), 0);
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	bench_run(b, 2 * MS);
	assert_false(part_of(b).hold);
	assert_int_equal(part_of(b).n, 0);
	bench_end(b);
}

/* A host never finds a program that holds. */
static void test_parts_that_are_found(void **state)
{
	struct bench *b = begin(0);
	struct cot_event ev = {.type = COT_EV_PARTS, .id = 1};

	(void)state;
	ev.parts.n_sms = 132;
	ev.parts.unit = 8;
	ev.parts.part = (struct cot_part){.n = 64, .hold = true};
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev.parts.part.hold = false;
	assert_int_equal(bench_event(b, ev), 0);
	bench_end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_ends_by_the_next_part),
		cmocka_unit_test(test_it_ends_by_itself),
		cmocka_unit_test(test_who_says_so_again_holds_on),
		cmocka_unit_test(test_it_may_move),
		cmocka_unit_test(test_an_order_without_an_answer),
		cmocka_unit_test(test_nobody_is_held_for_ever),
		cmocka_unit_test(test_who_does_not_starve),
		cmocka_unit_test(test_another_policy),
		cmocka_unit_test(test_parts_that_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
