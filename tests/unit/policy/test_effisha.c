/* EffiSha's decisions: the whole GPU, one work at a time, by class. */
#include "policy/shares.h"

static struct bench *begin(void)
{
	struct bench *b = bench_begin(&cot_policy_effisha);

	latency(b, LATENCY, NONE);
	batch(b, BATCH, NONE);
	batch(b, BATCH2, NONE);
	return b;
}

static void test_one_at_a_time(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_work(b, 1, BATCH, 80, 8, 0, true); /* for 10 SMs; the others stay idle */
	(void)bench_work(b, 2, BATCH2, MANY, 8, 0, true);
	expect(b, 1, 10, 0);
	expect(b, 2, 0, 0);
	(void)bench_work_done(b, 1, 0);
	expect(b, 2, 132, 0);
	end(b);
}

/* The batch work leaves whole, and starts the rest again when the other has ended. */
static void test_priority(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_work(b, 1, BATCH, MANY, 8, 0, true);
	assert_true(b->works[1].settled);
	(void)bench_work(b, 2, LATENCY, MANY, 8, 0, true);
	expect(b, 1, 132, 132);
	expect(b, 2, 132, 0);
	assert_false(b->works[2].settled); /* nobody comes before it */
	(void)bench_work_evicted(b, 1, 132);
	(void)bench_work_done(b, 1, MANY / 2);
	expect(b, 1, 0, 0);
	(void)bench_work(b, 3, BATCH2, MANY, 8, 0, true);
	expect(b, 3, 0, 0);
	(void)bench_work_done(b, 2, 0);
	expect(b, 1, 132, 0);
	expect(b, 3, 0, 0);
	end(b);
}

/* A row of launches has no end: equals take turns of 50 ms. */
static void test_turns(void **state)
{
	struct bench *b = begin();
	uint64_t n;

	(void)state;
	(void)bench_work(b, 1, BATCH, MANY, 8, 0, true);
	(void)bench_work(b, 2, BATCH2, MANY, 8, 0, true);
	n = bench_stats(b).events;
	bench_run(b, 49 * MS);
	expect(b, 1, 132, 0);
	assert_int_equal(bench_stats(b).events, n); /* nobody is called before it is over */
	bench_run(b, 2 * MS);
	expect(b, 1, 132, 132);
	expect(b, 2, 132, 0);
	(void)bench_work_done(b, 1, 7);
	bench_run(b, 48 * MS);
	expect(b, 2, 132, 0);
	bench_run(b, 3 * MS);
	expect(b, 2, 132, 132);
	expect(b, 1, 1, 0);
	end(b);
}

/* What cannot be started again keeps one SM, and does not stand in the way. */
static void test_not_settled(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_work(b, 1, BATCH, MANY, 8, 0, false);
	(void)bench_work(b, 2, LATENCY, MANY, 8, 0, false);
	expect(b, 1, 132, 131);
	expect(b, 2, 132, 0);
	(void)bench_work(b, 3, BATCH2, MANY, 8, 0, false);
	expect(b, 3, 0, 0);
	(void)bench_work_done(b, 2, 0);
	expect(b, 3, 132, 0);
	end(b);
}

/* Of equals the one that has waited longest is next, not the one that came first. */
static void test_one_that_returned_waits_its_turn(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_work(b, 1, BATCH, MANY, 8, 0, true);
	(void)bench_work(b, 2, BATCH2, MANY, 8, 0, true);
	bench_run(b, 10 * MS);
	(void)bench_work(b, 3, BATCH2, MANY, 8, 0, true);
	bench_run(b, 40 * MS);
	expect(b, 1, 132, 132);
	expect(b, 2, 132, 0);
	(void)bench_work_done(b, 1, MANY / 2);
	(void)bench_work_done(b, 2, 0);
	expect(b, 3, 132, 0);
	expect(b, 1, 0, 0);
	(void)bench_work(b, 4, LATENCY, MANY, 8, 0, true); /* but class comes first */
	expect(b, 3, 132, 132);
	expect(b, 4, 132, 0);
	end(b);
}

/* Those of a lower class wait as long as it takes; equals for a turn. Nobody asks to be called. */
static void test_is_quiet(void **state)
{
	struct bench *b = begin();
	uint64_t n;

	(void)state;
	(void)bench_work(b, 1, LATENCY, MANY, 8, 0, true);
	(void)bench_work(b, 2, BATCH, MANY, 8, 0, true);
	n = bench_stats(b).events;
	bench_run(b, 900 * MS);
	assert_int_equal(bench_stats(b).events, n);
	expect(b, 1, 132, 0);
	expect(b, 2, 0, 0);
	(void)bench_work_done(b, 1, 0);
	n = bench_stats(b).events;
	bench_run(b, 900 * MS);
	assert_int_equal(bench_stats(b).events, n);
	end(b);
}

/* A latency work that came earlier is not overtaken by a batch work, whenever that came. */
static void test_class_of_those_that_wait(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_work(b, 1, LATENCY, MANY, 8, 0, false);
	(void)bench_work(b, 2, BATCH, MANY, 8, 0, false);
	bench_run(b, 1 * MS);
	(void)bench_work(b, 3, LATENCY, MANY, 8, 0, false);
	(void)bench_work(b, 4, BATCH2, MANY, 8, 0, false);
	(void)bench_work_done(b, 1, 0);
	expect(b, 2, 0, 0);
	expect(b, 3, 132, 0);
	(void)bench_work_done(b, 3, 0);
	expect(b, 2, 132, 0);
	expect(b, 4, 0, 0);
	end(b);
}

/* One of a single CapSM that must stay does not take the others' turns away. */
static void test_turns_beside_one_that_stays(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_work(b, 1, BATCH, 1, 1, 0, false);
	(void)bench_work(b, 2, BATCH, MANY, 8, 0, true);
	(void)bench_work(b, 3, BATCH2, MANY, 8, 0, true);
	expect(b, 1, 1, 0);
	bench_run(b, 50 * MS);
	expect(b, 2, 132, 0);
	bench_run(b, 25 * MS);
	(void)bench_work(b, 4, BATCH2, MANY, 8, 0, true); /* something happens */
	expect(b, 2, 132, 0);
	bench_run(b, 25 * MS - 1);
	expect(b, 2, 132, 0);
	bench_run(b, 1);
	expect(b, 2, 132, 132);
	expect(b, 3, 132, 0);
	end(b);
}

/* Each GPU has one of its own. */
static void test_two_gpus(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_work_on(b, 0, 1, BATCH, MANY, 8, 0, true);
	(void)bench_work_on(b, 1, 2, BATCH2, MANY, 8, 0, true);
	expect(b, 1, 132, 0);
	expect(b, 2, 132, 0);
	(void)bench_work_on(b, 1, 3, LATENCY, MANY, 8, 0, true);
	expect(b, 1, 132, 0);
	expect(b, 2, 132, 132);
	expect(b, 3, 132, 0);
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_priority),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_not_settled),
		cmocka_unit_test(test_one_that_returned_waits_its_turn),
		cmocka_unit_test(test_is_quiet),
		cmocka_unit_test(test_class_of_those_that_wait),
		cmocka_unit_test(test_turns_beside_one_that_stays),
		cmocka_unit_test(test_two_gpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
