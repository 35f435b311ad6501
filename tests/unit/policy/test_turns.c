/* Turns at their ends: what a freeze that fails costs, for how long one is let loose, who is next.
 */
#include <errno.h>
#include <string.h>

#include "policy/policy_bench.h"
#include "test.h"

#define MS COT_NS_PER_MS
#define S  COT_NS_PER_S

static struct bench b;
static unsigned n_freezes; /* of entity 1, since it was set to 0 */
static uint64_t freeze_ns; /* when the last one was */
static unsigned fail_of;   /* of so many freezes of entity 1 all but the last fail */

static int fault(struct bench *bench, const struct cot_action *a)
{
	if (a->kind != COT_ACTION_FREEZE || a->entity != 1)
		return 0;
	n_freezes++;
	freeze_ns = bench->now_ns;
	return n_freezes % fail_of ? -EIO : 0;
}

static int set_up(void **state)
{
	(void)state;
	n_freezes = 0;
	fail_of = 1;
	bench_init(&b, cot_policy_find("rotate"));
	b.fault = fault;
	b.delay_ns = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	bench_expect_no_mistakes(&b);
	bench_finish(&b);
	return 0;
}

static void solos(uint32_t n)
{
	uint32_t id;

	for (id = 1; id <= n; id++)
		(void)bench_solo(&b, id, COT_CLASS_BATCH, 100);
	bench_run(&b, 0);
}

/* The one that is not frozen; there is exactly one. */
static uint32_t owner(uint32_t n)
{
	uint32_t id, found = 0;

	for (id = 1; id <= n; id++)
		if (!b.frozen[id]) {
			assert_int_equal(found, 0);
			found = id;
		}
	assert_int_not_equal(found, 0);
	return found;
}

/* The turn goes on where nobody has had less. */
static void test_turns_to_the_nanosecond(void **state)
{
	static const uint32_t owners[] = {1, 2, 3, 3, 1, 2, 2};
	unsigned i;

	(void)state;
	solos(3);
	for (i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		assert_int_equal(owner(3), owners[i]);
		bench_run(&b, 50 * MS - 1);
		assert_int_equal(owner(3), owners[i]);
		bench_run(&b, 1);
	}
}

/* Weights 1, 2, 3 of a cycle: turns in proportion, none longer than four average ones. */
static void test_turns_by_weight(void **state)
{
	static const unsigned lasts_ms[] = {25, 50, 75};
	uint32_t id;

	(void)state;
	for (id = 1; id <= 3; id++)
		(void)bench_solo(&b, id, COT_CLASS_BATCH, 100 * id);
	bench_run(&b, 50 * MS); /* the first was alone when its turn began */
	for (id = 2; id <= 3; id++) {
		assert_int_equal(owner(3), id);
		bench_run(&b, lasts_ms[id - 1] * MS - 1);
		assert_int_equal(owner(3), id);
		bench_run(&b, 1);
	}
}

/* Half of the freezes of the first fail, and it runs on for 100 ms: that is charged to it. */
static void test_what_runs_on_is_charged(void **state)
{
	uint32_t id;

	(void)state;
	fail_of = 2;
	solos(3);
	bench_run(&b, 1 * S);
	bench_reset_times(&b);
	bench_run(&b, 60 * S);
	for (id = 1; id <= 3; id++)
		assert_in_range(b.thawed_ns[id], 19 * S, 21 * S);
	assert_true(n_freezes > 100);
}

/* It is tried again after 100 ms, the others wait for it. */
static void test_a_failed_freeze_is_tried_again(void **state)
{
	(void)state;
	fail_of = 2;
	solos(2);
	bench_run(&b, 50 * MS);
	assert_int_equal(n_freezes, 1);
	assert_int_equal(owner(2), 1);
	bench_run(&b, 100 * MS - 1);
	assert_int_equal(n_freezes, 1);
	assert_int_equal(owner(2), 1);
	bench_run(&b, 1);
	assert_int_equal(n_freezes, 2);
	assert_int_equal(owner(2), 2);
}

/* Only a freeze that fails lets one run on: not a slice of one that waits. */
static int fail_slices(struct bench *bench, const struct cot_action *a)
{
	(void)bench;
	return a->kind == COT_ACTION_SLICE ? -EIO : 0;
}

static void test_failed_slice_is_no_turn(void **state)
{
	(void)state;
	solos(2);
	b.fault = fail_slices;
	(void)bench_solo(&b, 9, COT_CLASS_LATENCY, 100); /* shorter slices for all */
	bench_run(&b, 49 * MS);
	assert_true(bench_stats(&b).failed[COT_ACTION_SLICE] >= 2);
	assert_int_equal(owner(2), 1);
	bench_run(&b, 1 * MS);
	assert_int_equal(owner(2), 2);
}

/* After the third failure it is let loose for 10 s, and the others take their turns beside it. */
static void test_loose_for_ten_seconds(void **state)
{
	uint64_t third_ns;

	(void)state;
	fail_of = 1000;
	solos(3);
	while (n_freezes < 3)
		bench_run(&b, 1 * MS);
	assert_false(b.frozen[1]);
	third_ns = freeze_ns;
	bench_reset_times(&b);
	bench_run(&b, 9990 * MS);
	assert_int_equal(n_freezes, 3);
	assert_int_equal(b.thawed_ns[1], 9990 * MS);
	assert_in_range(b.thawed_ns[2], 4800 * MS, 5100 * MS);
	assert_in_range(b.thawed_ns[3], 4800 * MS, 5100 * MS);
	bench_run(&b, 80 * MS); /* another one has its turn */
	assert_int_equal(n_freezes, 4);
	assert_int_equal(freeze_ns, third_ns + 10 * S);
}

/* One that is idle gives its turn up after 2 ms, not sooner. */
static void test_grace(void **state)
{
	(void)state;
	solos(2);
	(void)bench_activity(&b, 1, COT_ACTIVITY_ACTIVE);
	(void)bench_activity(&b, 2, COT_ACTIVITY_ACTIVE);
	bench_run(&b, 10 * MS);
	assert_int_equal(owner(2), 1);
	(void)bench_activity(&b, 1, COT_ACTIVITY_IDLE);
	bench_run(&b, 2 * MS - 1);
	assert_int_equal(owner(2), 1);
	bench_run(&b, 1);
	assert_false(b.frozen[2]);
	/* It comes back as one that waits. */
	(void)bench_activity(&b, 1, COT_ACTIVITY_ACTIVE);
	bench_run(&b, 1 * MS);
	assert_int_equal(owner(2), 2);
}

/* Of a weight of one in ten thousand it would be next after an hour; it waits for a cycle. */
static void test_nobody_waits_longer_than_a_cycle(void **state)
{
	(void)state;
	(void)bench_solo(&b, 1, COT_CLASS_BATCH, 10000);
	(void)bench_solo(&b, 2, COT_CLASS_BATCH, 1);
	bench_run(&b, 300 * MS);
	bench_reset_times(&b);
	bench_run(&b, 60 * S);
	assert_in_range(b.thawed_ns[2], 11 * 5 * MS, 13 * 10 * MS);
}

static uint64_t events_of(uint64_t for_ns)
{
	uint64_t n = bench_stats(&b).events;

	bench_run(&b, for_ns);
	return bench_stats(&b).events - n;
}

/* One that is alone on its GPU asks for nothing, whoever waits on another one. */
static void test_turns_of_each_gpu(void **state)
{
	uint64_t n;

	(void)state;
	solos(2);
	bench_run(&b, 10 * MS);
	n = events_of(1 * S);
	(void)bench_solo_on(&b, 3, COT_CLASS_BATCH, 100, GPU1);
	bench_run(&b, 1 * S);
	assert_int_equal(events_of(1 * S), n);
}

/* The second needs both GPUs. The first, with nearly all the weight, will not be stopped for long:
 * meanwhile the third runs on the other one. */
static void test_nobody_keeps_a_gpu_idle(void **state)
{
	(void)state;
	(void)bench_solo_on(&b, 1, COT_CLASS_BATCH, 10000, GPU1);
	(void)bench_solo_on(&b, 2, COT_CLASS_BATCH, 100, GPU0 | GPU1);
	(void)bench_solo_on(&b, 3, COT_CLASS_BATCH, 100, GPU0);
	bench_run(&b, 101 * S);
	assert_in_range(b.thawed_ns[2], 9 * S / 10, 11 * S / 10);
	assert_in_range(b.thawed_ns[1], 98 * S, 101 * S);
	assert_in_range(b.thawed_ns[3], 90 * S, 101 * S);
}

/* On neither of its GPUs do turns end when they do on the other one: the free one is kept for it.
 */
static void test_one_of_two_gpus_has_its_share(void **state)
{
	uint32_t id;

	(void)state;
	for (id = 1; id <= 4; id++) {
		(void)bench_solo_on(&b, id, COT_CLASS_BATCH, 200, id % 2 ? GPU0 : GPU1);
		bench_run(&b, 7 * MS);
	}
	(void)bench_solo_on(&b, 5, COT_CLASS_BATCH, 100, GPU0 | GPU1);
	bench_reset_times(&b);
	bench_run(&b, 60 * S);
	assert_in_range(b.thawed_ns[5], 60 * S / 5 * 95 / 100, 60 * S / 5 * 105 / 100);
}

static int first_goes_on(struct bench *bench, const struct cot_action *a)
{
	(void)bench;
	return a->kind == COT_ACTION_FREEZE && a->entity == 1 ? -EIO : 0;
}

/* One that waits for a program that cannot be frozen keeps its other GPU for a turn at most. */
static void test_nobody_keeps_a_gpu_behind_a_failing_one(void **state)
{
	unsigned ms, idle_ms = 0;

	(void)state;
	b.fault = first_goes_on;
	(void)bench_solo_on(&b, 1, COT_CLASS_BATCH, 100, GPU1);
	(void)bench_solo_on(&b, 2, COT_CLASS_BATCH, 100, GPU0 | GPU1);
	(void)bench_solo_on(&b, 3, COT_CLASS_BATCH, 100, GPU0);
	(void)bench_solo_on(&b, 4, COT_CLASS_BATCH, 100, GPU1);
	for (ms = 0; ms < 60000; ms++) {
		bench_run(&b, 1 * MS);
		idle_ms = b.frozen[2] && b.frozen[3] ? idle_ms + 1 : 0;
		assert_true(idle_ms <= 51);
	}
}

/* Of five one has nearly all the weight: its turns are of 200 ms, four times an average one. */
static void test_longest_turn(void **state)
{
	uint32_t id;

	(void)state;
	(void)bench_solo(&b, 1, COT_CLASS_BATCH, 10000);
	for (id = 2; id <= 5; id++)
		(void)bench_solo(&b, id, COT_CLASS_BATCH, 1);
	bench_run(&b, 80 * MS); /* 50 alone, and 5 for each of the others */
	assert_int_equal(owner(5), 1);
	assert_in_range(events_of(1 * S), 4, 6);
	assert_int_equal(owner(5), 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_turns_to_the_nanosecond),
		T(test_turns_by_weight),
		T(test_what_runs_on_is_charged),
		T(test_a_failed_freeze_is_tried_again),
		T(test_failed_slice_is_no_turn),
		T(test_loose_for_ten_seconds),
		T(test_grace),
		T(test_nobody_waits_longer_than_a_cycle),
		T(test_turns_of_each_gpu),
		T(test_nobody_keeps_a_gpu_idle),
		T(test_one_of_two_gpus_has_its_share),
		T(test_nobody_keeps_a_gpu_behind_a_failing_one),
		T(test_longest_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
