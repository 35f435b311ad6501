/*
 * SMGuard: what long tasks take to leave, when a work starts again to get more, what nobody asks
 * for, and when nothing is decided at all.
 */
#include "policy/shares.h"

static struct bench *begin(void)
{
	return bench_begin(&cot_policy_smguard);
}

static uint64_t ticks_of(struct bench *b, uint64_t for_ns)
{
	uint64_t n = bench_stats(b).events;

	bench_run(b, for_ns);
	return bench_stats(b).events - n;
}

/* ---- long tasks take long to leave ---- */

/*
 * 65 CapSMs of long tasks are on their way out, since their quota was lowered. A request of 40 does
 * not wait for them: short tasks leave.
 */
static void test_what_long_tasks_leave_is_not_there_yet(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, SMS(66));
	batch(b, BATCH2, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	(void)bench_work(b, 2, BATCH2, MANY, 8, SHORT_NS, false);
	expect(b, 2, 66, 0);
	batch(b, BATCH, SMS(1));
	expect(b, 1, 66, 65);
	latency(b, LATENCY, SMS(40));
	(void)bench_work(b, 3, LATENCY, 40 * 8, 8, SHORT_NS, false);
	expect(b, 2, 66, 40);
	expect(b, 3, 40, 0);
	end(b);
}

/* When half of them have left that counts, and what short ones leave is there soon. */
static void test_what_is_soon_there_counts(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, SMS(66));
	batch(b, BATCH2, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	(void)bench_work(b, 2, BATCH2, MANY, 8, SHORT_NS, false);
	batch(b, BATCH, SMS(1));
	(void)bench_work_evicted(b, 1, 30); /* and are free: the short one cannot grow */
	latency(b, LATENCY, SMS(40));
	(void)bench_work(b, 3, LATENCY, 40 * 8, 8, SHORT_NS, false);
	expect(b, 2, 66, 10);
	expect(b, 3, 40, 0);
	(void)bench_work_done(b, 3, 0);
	(void)bench_work(b, 4, LATENCY, 40 * 8, 8, SHORT_NS, false);
	expect(b, 2, 66, 10);
	expect(b, 4, 40, 0);
	end(b);
}

/*
 * A settled work of tasks of 150 us starts again with more when two of them could have ended since
 * the last request, and no sooner: the next may come.
 */
static struct bench *half_evicted(void)
{
	struct bench *b = begin();

	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, 150000, true);
	assert_true(b->works[1].settled);
	(void)bench_work(b, 2, LATENCY, 66 * 8, 8, SHORT_NS, false);
	expect(b, 1, 132, 66);
	(void)bench_work_evicted(b, 1, 66);
	bench_run(b, 1 * MS);
	(void)bench_work_done(b, 2, 0);
	return b;
}

static void test_growing_waits_for_two_tasks(void **state)
{
	struct bench *b = half_evicted();

	(void)state;
	bench_run(b, 101 * US); /* it might have been 0.1 ms */
	assert_int_equal(ticks_of(b, 198 * US), 0);
	expect(b, 1, 132, 66);
	bench_run(b, 1 * US);
	expect(b, 1, 132, 132);
	(void)bench_work_done(b, 1, MANY / 2);
	expect(b, 1, 132, 0);
	end(b);
}

static void test_requests_again_and_again_cost_no_new_start(void **state)
{
	struct bench *b = half_evicted();
	uint32_t i;

	(void)state;
	for (i = 0; i < 50; i++) {
		bench_run(b, 250 * US);
		(void)bench_work(b, 2, LATENCY, 66 * 8, 8, SHORT_NS, false);
		expect(b, 1, 132, 66);
		expect(b, 2, 66, 0);
		bench_run(b, 50 * US);
		(void)bench_work_done(b, 2, 0);
	}
	assert_int_equal(b->works[1].n_evictions, 1);
	end(b);
}

/* Nobody is left who could come. */
static void test_growing_without_latency_programs(void **state)
{
	struct bench *b = half_evicted();

	(void)state;
	(void)bench_leave(b, LATENCY);
	bench_run(b, 99 * US);
	expect(b, 1, 132, 66);
	bench_run(b, 1 * US);
	expect(b, 1, 132, 132);
	end(b);
}

/* ---- when it is worth it to start again ---- */

/*
 * One of `n_tasks` of 50 us has 132 CapSMs, gives `n` to a request that ends at `end_ns`, and is
 * alone from then on. Whether it starts again.
 */
static bool starts_again(uint32_t n_tasks, uint32_t n, uint64_t end_ns)
{
	struct bench *b = begin();
	bool did;

	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, n_tasks, 8, SHORT_NS, true);
	(void)bench_work(b, 2, LATENCY, n * 8, 8, SHORT_NS, false);
	expect(b, 1, 132, n);
	(void)bench_work_evicted(b, 1, n);
	bench_run(b, end_ns);
	(void)bench_work_done(b, 2, 0);
	bench_run(b, 10 * MS);
	did = b->works[1].evicted == 132;
	end(b);
	return did;
}

/* 105600 tasks take 10 ms on 66 CapSMs; 1 ms more than is gone by must be left. */
static void test_not_for_the_last_millisecond(void **state)
{
	(void)state;
	assert_true(starts_again(105600, 66, 8900 * US - 1));
	assert_false(starts_again(105600, 66, 8900 * US));
}

/* Of 105 CapSMs a quarter and one are 27. */
static void test_not_for_a_few(void **state)
{
	(void)state;
	assert_true(starts_again(MANY, 27, 1 * MS));
	assert_false(starts_again(MANY, 26, 1 * MS));
}

/* 42240 tasks take 2 ms on 132 CapSMs. */
static void test_settled_if_it_lasts(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, 42239, 8, SHORT_NS, true);
	assert_false(b->works[1].settled);
	(void)bench_work_done(b, 1, 0);
	(void)bench_work(b, 1, BATCH, 42240, 8, SHORT_NS, true);
	assert_true(b->works[1].settled);
	end(b);
}

/* It would be in the way of one that waits: for its own quota, here. */
/* One whose workers have all left comes back by itself. */
static void test_one_that_has_left(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(132));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, SHORT_NS, true);
	(void)bench_work(b, 2, LATENCY, MANY, 8, SHORT_NS, false);
	expect(b, 1, 132, 132);
	(void)bench_work_evicted(b, 1, 132);
	(void)bench_work_done(b, 2, 0);
	bench_run(b, 10 * MS);
	expect(b, 1, 132, 132);
	assert_int_equal(b->works[1].n_evictions, 1);
	(void)bench_work_done(b, 1, MANY / 2);
	expect(b, 1, 132, 0);
	end(b);
}

static void test_no_growing_while_somebody_waits(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, NONE);
	batch(b, BATCH2, SMS(10));
	(void)bench_work(b, 1, BATCH2, MANY, 8, SHORT_NS, false);
	(void)bench_work(b, 2, BATCH, MANY, 8, SHORT_NS, true);
	(void)bench_work(b, 3, BATCH2, MANY, 8, SHORT_NS, false);
	(void)bench_work(b, 4, LATENCY, 66 * 8, 8, SHORT_NS, false);
	expect(b, 2, 122, 66);
	(void)bench_work_evicted(b, 2, 66);
	(void)bench_work_done(b, 4, 0);
	bench_run(b, 4 * MS);
	expect(b, 2, 122, 66);
	(void)bench_work_done(b, 3, 0);
	bench_run(b, 1 * MS);
	expect(b, 2, 122, 122);
	end(b);
}

/* ---- quiet ---- */

/* smguard sums up in what it has of a tenant whenever it decides; this is no sum of anything. */
#define MARK 77777777u

static void mark(const struct bench *b)
{
	*(uint32_t *)cot_sched_tenant(b->sched, BATCH)->own = MARK;
}

static bool has_decided(const struct bench *b)
{
	return *(const uint32_t *)cot_sched_tenant(b->sched, BATCH)->own != MARK;
}

/* A tick without anything new costs nothing, on whichever GPU works wait. */
static void test_nothing_new_is_not_decided_again(void **state)
{
	struct bench *b = begin();
	uint32_t gpu;

	(void)state;
	batch_on_both(b, BATCH, NONE);
	batch_on_both(b, BATCH2, NONE);
	for (gpu = 0; gpu < 2; gpu++) {
		batch_work(b, gpu, 10 + gpu, BATCH);
		batch_work(b, gpu, 20 + gpu, BATCH2);
	}
	bench_run(b, 20 * MS);
	mark(b);
	bench_run(b, 100 * MS);
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	(void)bench_hold(b, BATCH2, true); /* nothing that is about works */
	assert_false(has_decided(b));
	for (gpu = 0; gpu < 2; gpu++) {
		batch_work(b, gpu, 30 + gpu, BATCH2);
		assert_true(has_decided(b));
		bench_run(b, 20 * MS);
		mark(b);
		(void)bench_work_evicted(b, 10 + gpu, 10);
		assert_true(has_decided(b));
		mark(b);
		(void)bench_work_done(b, 10 + gpu, 0);
		assert_true(has_decided(b));
		bench_run(b, 20 * MS);
		mark(b);
	}
	latency_on_both(b, LATENCY, NONE);
	assert_true(has_decided(b));
	mark(b);
	latency_on_both(b, LATENCY, SMS(3));
	assert_true(has_decided(b));
	mark(b);
	(void)bench_leave(b, LATENCY);
	assert_true(has_decided(b));
	end(b);
}

/* Nobody asks to be called while only an event can change something. */
static void test_is_quiet(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(60));
	batch(b, BATCH, NONE);
	batch(b, BATCH2, SMS(10));
	(void)bench_work(b, 1, LATENCY, MANY, 8, SHORT_NS, false);
	bench_run(b, 20 * MS);
	assert_int_equal(ticks_of(b, 900 * MS), 0);
	batch_work(b, 0, 2, BATCH2);
	(void)bench_work_evicted(b, 1, 72);
	(void)bench_work(b, 3, BATCH, MANY, 8, SHORT_NS, true);
	bench_run(b, 20 * MS);
	assert_int_equal(ticks_of(b, 900 * MS), 0);
	batch_work(b, 0, 4, BATCH2); /* its quota is used up */
	bench_run(b, 20 * MS);
	assert_int_equal(ticks_of(b, 900 * MS), 0);
	(void)bench_work_done(b, 1, 0);
	bench_run(b, 20 * MS);
	assert_int_equal(ticks_of(b, 900 * MS), 0);
	end(b);
}

/* Nor for one that has all it wants, one that cannot get more, and one that is not worth it. */
static void test_is_quiet_beside_free_sms(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, SMS(10));
	batch_work(b, 0, 1, BATCH);
	assert_int_equal(ticks_of(b, 900 * MS), 0);
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, NONE);
	(void)bench_work_done(b, 1, 0);
	batch_work(b, 0, 1, BATCH);
	(void)bench_work(b, 2, LATENCY, 66 * 8, 8, SHORT_NS, false);
	(void)bench_work_evicted(b, 1, 66);
	(void)bench_work_done(b, 2, 0);
	bench_run(b, 1 * MS);
	expect(b, 1, 132, 66);
	assert_int_equal(ticks_of(b, 900 * MS), 0);
	(void)bench_work_done(b, 1, 0);
	(void)bench_work(b, 1, BATCH, 60000, 8, SHORT_NS, true);
	(void)bench_work(b, 2, LATENCY, 66 * 8, 8, SHORT_NS, false);
	(void)bench_work_evicted(b, 1, 66);
	bench_run(b, 6 * MS);
	(void)bench_work_done(b, 2, 0);
	bench_run(b, 1 * MS);
	expect(b, 1, 132, 66);
	assert_int_equal(ticks_of(b, 900 * MS), 0);
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_long_tasks_leave_is_not_there_yet),
		cmocka_unit_test(test_what_is_soon_there_counts),
		cmocka_unit_test(test_growing_waits_for_two_tasks),
		cmocka_unit_test(test_requests_again_and_again_cost_no_new_start),
		cmocka_unit_test(test_growing_without_latency_programs),
		cmocka_unit_test(test_not_for_the_last_millisecond),
		cmocka_unit_test(test_not_for_a_few),
		cmocka_unit_test(test_settled_if_it_lasts),
		cmocka_unit_test(test_one_that_has_left),
		cmocka_unit_test(test_no_growing_while_somebody_waits),
		cmocka_unit_test(test_nothing_new_is_not_decided_again),
		cmocka_unit_test(test_is_quiet),
		cmocka_unit_test(test_is_quiet_beside_free_sms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
