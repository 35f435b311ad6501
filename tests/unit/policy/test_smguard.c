/*
 * SMGuard's decisions on a GPU of 132 SMs, each computed by hand: the paths of Algorithm 1, the
 * reserve, quotas that change, victims, and what comes back.
 */
#include "policy/shares.h"

static struct bench *begin(void)
{
	return bench_begin(&cot_policy_smguard);
}

/* ---- Algorithm 1 ---- */

/* Lines 1 and 2, for both ways to submit. The reservation gets what is free besides. */
static void test_enough_left(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, SMS(50));
	latency(b, LATENCY, SMS(40));
	assert_int_equal(bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false), 0);
	expect(b, 1, 50, 0);
	assert_int_equal(bench_work(b, 2, LATENCY, MANY, 8, LONG_NS, false), 0);
	expect(b, 2, 82, 0);
	expect(b, 1, 50, 0);
	end(b);
}

/* A launch of 100 blocks, 8 to an SM, has work for 13. */
static void test_fewer_tasks_than_workers(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, SMS(50));
	latency(b, LATENCY, SMS(40));
	(void)bench_work(b, 1, BATCH, 100, 8, SHORT_NS, false);
	expect(b, 1, 13, 0);
	(void)bench_work(b, 2, LATENCY, 1, 8, SHORT_NS, false);
	expect(b, 2, 1, 0);
	(void)bench_work(b, 3, LATENCY, 0, 8, 0, false); /* nobody knows how many */
	expect(b, 1, 13, 12);
	expect(b, 3, 130, 0);
	end(b);
}

/* Lines 4 to 7: what is missing is taken from those who run. */
static void test_reserve_with_adjustment(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, SHORT_NS, false);
	expect(b, 1, 132, 0);
	latency(b, LATENCY, SMS(40));
	expect(b, 1, 132, 0); /* short tasks may stay until somebody wants something */
	(void)bench_work(b, 2, LATENCY, 240, 4, SHORT_NS, false); /* for 60 SMs */
	expect(b, 1, 132, 60);
	expect(b, 2, 60, 0); /* at once: the hardware places its workers when the others leave */
	end(b);
}

/* Long tasks give no more than what is reserved. */
static void test_reserve_from_long_tasks(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(1));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	expect(b, 1, 131, 0);
	latency(b, LATENCY, SMS(40));
	expect(b, 1, 131, 39);
	(void)bench_work(b, 2, LATENCY, MANY, 4, SHORT_NS, false);
	expect(b, 1, 131, 39);
	expect(b, 2, 40, 0);
	end(b);
}

/* What was told to leave before is not taken a second time. */
static void test_reserve_counts_what_leaves(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, NONE);
	latency(b, LATENCY, SMS(40));
	(void)bench_work(b, 1, BATCH, MANY, 8, SHORT_NS, false);
	(void)bench_work(b, 2, LATENCY, 160, 4, SHORT_NS, false); /* for 40 SMs */
	expect(b, 1, 132, 40);
	(void)bench_work_done(b, 2, 0);
	(void)bench_work(b, 3, LATENCY, 160, 4, SHORT_NS, false);
	expect(b, 1, 132, 40);
	expect(b, 3, 40, 0);
	(void)bench_work_evicted(b, 1, 40);
	(void)bench_work(b, 4, LATENCY, 160, 4, SHORT_NS, false);
	expect(b, 1, 132, 80);
	expect(b, 4, 40, 0);
	end(b);
}

/* Reservations take from each other what is beyond theirs, no more: the third waits. */
static void test_reserve_waits(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(100));
	latency(b, LATENCY2, SMS(100));
	(void)bench_work(b, 1, LATENCY, MANY, 8, SHORT_NS, false);
	(void)bench_work(b, 2, LATENCY2, MANY, 8, SHORT_NS, false);
	expect(b, 1, 132, 32);
	expect(b, 2, 32, 0); /* what is left, rather than nothing */
	(void)bench_work(b, 3, LATENCY2, MANY, 8, SHORT_NS, false);
	expect(b, 3, 0, 0);
	(void)bench_work_done(b, 1, 0);
	expect(b, 3, 100, 0);
	end(b);
}

/* Line 9: what is left, up to the quota. Nothing left: it waits; printed are 0 workers. */
static void test_quota_waits(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, SMS(100));
	batch(b, BATCH2, SMS(100));
	batch(b, BATCH3, SMS(100));
	(void)bench_work(b, 1, BATCH, MANY, 8, SHORT_NS, false);
	(void)bench_work(b, 2, BATCH2, MANY, 8, SHORT_NS, false);
	(void)bench_work(b, 3, BATCH3, MANY, 8, SHORT_NS, false);
	expect(b, 1, 100, 0);
	expect(b, 2, 32, 0);
	expect(b, 3, 0, 0);
	(void)bench_work_done(b, 2, 0);
	expect(b, 3, 32, 0);
	end(b);
}

/* A quota is of all works of a program together. */
static void test_quota_is_of_the_program(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, PERCENT(50));
	batch(b, BATCH2, NONE);
	(void)bench_work(b, 1, BATCH, 400, 8, SHORT_NS, false);
	(void)bench_work(b, 2, BATCH, MANY, 8, SHORT_NS, false);
	(void)bench_work(b, 3, BATCH, MANY, 8, SHORT_NS, false);
	expect(b, 1, 50, 0);
	expect(b, 2, 16, 0); /* 50 % of 132 are 66 */
	expect(b, 3, 0, 0);
	(void)bench_work(b, 4, BATCH2, MANY, 8, SHORT_NS, false); /* is not held up by it */
	expect(b, 4, 66, 0);
	(void)bench_work_done(b, 1, 0);
	expect(b, 3, 50, 0);
	end(b);
}

/* ---- eviction ---- */

/* E == Q: the last one goes too where that is needed, and comes back for the rest. */
static void test_all_evicted(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(132));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, SHORT_NS, true);
	assert_true(b->works[1].settled);
	expect(b, 1, 132, 0);
	(void)bench_work(b, 2, LATENCY, MANY, 8, SHORT_NS, false);
	expect(b, 1, 132, 132);
	expect(b, 2, 132, 0);
	(void)bench_work_done(b, 1, 5000);
	expect(b, 1, 0, 0);
	assert_int_equal(cot_sched_work(b->sched, 1)->state, COT_WORK_WAITING);
	(void)bench_work_done(b, 2, 0);
	/* 5000 tasks of 8 workers per SM. The next request may come at once. */
	bench_run(b, 50 * US);
	assert_int_equal(cot_sched_work(b->sched, 1)->state, COT_WORK_WAITING);
	bench_run(b, 100 * US);
	expect(b, 1, 132, 0);
	end(b);
}

/* Latency works come without a pause long enough: what the reserve leaves is better than nothing.
 */
static void test_all_evicted_again_and_again(void **state)
{
	struct bench *b = begin();
	uint64_t id;

	(void)state;
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, SHORT_NS, true);
	(void)bench_work(b, 2, LATENCY, MANY, 8, SHORT_NS, false);
	expect(b, 1, 132, 132);
	(void)bench_work_done(b, 1, 50000);
	for (id = 2; id < 20; id++) {
		bench_run(b, 300 * US);
		assert_int_equal(cot_sched_work(b->sched, 1)->state, COT_WORK_WAITING);
		(void)bench_work_done(b, id, 0);
		bench_run(b, 50 * US);
		if (cot_sched_work(b->sched, 1)->state == COT_WORK_RUNNING)
			break;
		(void)bench_work(b, id + 1, LATENCY, MANY, 8, SHORT_NS, false);
	}
	assert_in_range(id, 14, 16); /* after 5 ms */
	expect(b, 1, 51, 0);
	end(b);
}

/* One that cannot be started again keeps one SM. */
static void test_one_stays(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(132));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, SHORT_NS, false);
	(void)bench_work(b, 2, LATENCY, MANY, 8, SHORT_NS, false);
	expect(b, 1, 132, 131);
	expect(b, 2, 131, 0);
	end(b);
}

/* The one with the most gives first, down to one; of equals the youngest. Long tasks last. */
static void test_victims(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, SMS(30));
	batch(b, BATCH2, SMS(40));
	batch(b, BATCH3, SMS(30));
	(void)bench_work(b, 1, BATCH, MANY, 8, SHORT_NS, false);
	(void)bench_work(b, 2, BATCH2, MANY, 8, SHORT_NS, false);
	bench_run(b, 1 * MS);
	(void)bench_work(b, 3, BATCH3, MANY, 8, SHORT_NS, false);
	latency(b, LATENCY, SMS(52));
	(void)bench_work(b, 4, LATENCY, 52 * 8, 8, SHORT_NS, false); /* 20 from the largest */
	expect(b, 2, 40, 20);
	expect(b, 4, 52, 0);
	latency(b, LATENCY2, SMS(10)); /* 30, 20, 30: from the younger one */
	(void)bench_work(b, 5, LATENCY2, 10 * 8, 8, SHORT_NS, false);
	expect(b, 1, 30, 0);
	expect(b, 2, 40, 20);
	expect(b, 3, 30, 10);
	end(b);
}

static void test_long_tasks_last(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, SMS(60));
	batch(b, BATCH2, SMS(40));
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	(void)bench_work(b, 2, BATCH2, MANY, 8, SHORT_NS, false);
	latency(b, LATENCY, SMS(62));
	(void)bench_work(b, 3, LATENCY, 62 * 8, 8, SHORT_NS, false);
	expect(b, 1, 60, 0);
	expect(b, 2, 40, 30);
	latency(b, LATENCY2, SMS(20));
	(void)bench_work(b, 4, LATENCY2, 20 * 8, 8, SHORT_NS, false);
	expect(b, 2, 40, 39);
	/* 82 of 132 are reserved, so long tasks have 50 at most; one more is missing. */
	expect(b, 1, 60, 11);
	expect(b, 4, 20, 0);
	end(b);
}

/* ---- the reserve ---- */

/* Long tasks stay out of what latency programs want; 8 of 13 if these do not say how much. */
static void test_standing_reserve(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	expect(b, 1, 132, 0); /* nobody to keep anything for */
	latency(b, LATENCY, NONE);
	expect(b, 1, 132, 81); /* 8/13 of 132 is 81.2 */
	(void)bench_work(b, 2, LATENCY, MANY, 8, SHORT_NS, false);
	expect(b, 2, 81, 0);
	(void)bench_work_evicted(b, 1, 81);
	(void)bench_work_done(b, 1, 0);
	(void)bench_work(b, 3, BATCH, MANY, 8, 0, false); /* of unknown length: taken for long */
	expect(b, 3, 51, 0);
	end(b);
}

static void test_reserve_as_said(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, PERCENT(30)); /* 39.6 of 132 */
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	expect(b, 1, 92, 0);
	(void)bench_work(b, 2, LATENCY, MANY, 8, SHORT_NS, false);
	expect(b, 2, 40 + 92, 0); /* of which run what fits beside the 92 */
	expect(b, 1, 92, 0);
	end(b);
}

static void test_everything_reserved(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, PERCENT(100));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	expect(b, 1, 1, 0);
	end(b);
}

/* ---- live changes ---- */

static void test_quota_lowered_and_raised(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, SMS(100));
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	expect(b, 1, 100, 0);
	batch(b, BATCH, SMS(30));
	expect(b, 1, 100, 70);
	batch(b, BATCH, SMS(120)); /* of the next launch */
	expect(b, 1, 100, 70);
	(void)bench_work_done(b, 1, 0);
	(void)bench_work(b, 2, BATCH, MANY, 8, LONG_NS, false);
	expect(b, 2, 120, 0);
	end(b);
}

/* ---- among batch programs ---- */

static void test_fair_parts(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, NONE);
	batch(b, BATCH2, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	(void)bench_work(b, 2, BATCH2, MANY, 8, LONG_NS, false);
	expect(b, 1, 132, 0);
	expect(b, 2, 0, 0);
	bench_run(b, 4 * MS);
	expect(b, 1, 132, 0);
	bench_run(b, 2 * MS); /* it has waited for 5 ms */
	expect(b, 1, 132, 66);
	expect(b, 2, 0, 0);
	(void)bench_work_evicted(b, 1, 66);
	expect(b, 2, 66, 0);
	end(b);
}

/* ---- growing ---- */

static void test_settled_one_grows_again(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, SHORT_NS, true);
	(void)bench_work(b, 2, LATENCY, 131 * 8, 8, SHORT_NS, false);
	expect(b, 1, 132, 131);
	(void)bench_work_evicted(b, 1, 131);
	(void)bench_work_done(b, 2, 0);
	bench_run(b, 50 * US);
	expect(b, 1, 132, 131); /* the next request may come at once */
	bench_run(b, 100 * US);
	expect(b, 1, 132, 132);
	(void)bench_work_done(b, 1, MANY / 2);
	expect(b, 1, 132, 0);
	end(b);
}

/* Not for what is over soon: the whole kernel takes 5.7 ms with 66 SMs, and began 6 ms ago. */
static void test_short_one_does_not_grow(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, 60000, 8, SHORT_NS, true); /* 2.8 ms */
	assert_true(b->works[1].settled);
	(void)bench_work(b, 2, LATENCY, 66 * 8, 8, SHORT_NS, false);
	(void)bench_work_evicted(b, 1, 66);
	bench_run(b, 6 * MS);
	(void)bench_work_done(b, 2, 0);
	bench_run(b, 1 * MS);
	expect(b, 1, 132, 66);
	end(b);
}

static void test_lease_grows(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, SMS(100));
	batch_lease(b, 1, BATCH);
	expect(b, 1, 100, 0);
	(void)bench_work(b, 2, LATENCY, MANY, 8, SHORT_NS, false);
	expect(b, 1, 100, 99);
	(void)bench_work_evicted(b, 1, 99);
	(void)bench_work_done(b, 2, 0);
	bench_run(b, 1 * MS);
	expect(b, 1, 199, 99); /* 100 again */
	end(b);
}

/*
 * A latency work that stays, as a row of launches may, has 132 for 5 ms. Then what is beyond its 81
 * is for those who miss it: the batch lease gets 51 again.
 */
static void test_latency_that_stays(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, NONE);
	batch_lease(b, 1, BATCH);
	(void)bench_work(b, 2, LATENCY, 0, 8, SHORT_NS, false);
	(void)bench_work_evicted(b, 1, 131);
	expect(b, 1, 132, 131);
	expect(b, 2, 131, 0);
	bench_run(b, 4 * MS);
	expect(b, 2, 131, 0);
	bench_run(b, 2 * MS);
	expect(b, 2, 131, 50);
	expect(b, 1, 132, 131); /* nobody has left yet */
	(void)bench_work_evicted(b, 2, 50);
	expect(b, 1, 182, 131);
	end(b);
}

/* Nobody misses it: a batch work that cannot grow, and one that has all it can use. */
static void test_latency_keeps_what_nobody_misses(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(10));
	batch(b, BATCH, SMS(5));
	batch(b, BATCH2, SMS(50));
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, true);
	(void)bench_work(b, 2, BATCH2, MANY, 8, SHORT_NS, false);
	(void)bench_work(b, 3, LATENCY, 0, 8, SHORT_NS, false);
	expect(b, 1, 5, 0);
	expect(b, 2, 50, 49);
	expect(b, 3, 126, 0);
	bench_run(b, 20 * MS);
	expect(b, 3, 126, 0);
	end(b);
}

/* A batch program that comes meanwhile waits as long, and no longer. */
static void test_batch_beside_latency(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, LATENCY, 0, 8, SHORT_NS, false);
	expect(b, 1, 132, 0);
	bench_run(b, 1 * MS);
	(void)bench_work(b, 2, BATCH, MANY, 8, SHORT_NS, false);
	expect(b, 2, 0, 0);
	bench_run(b, 5 * MS);
	expect(b, 1, 132, 51);
	(void)bench_work_evicted(b, 1, 51);
	expect(b, 2, 51, 0);
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enough_left),
		cmocka_unit_test(test_fewer_tasks_than_workers),
		cmocka_unit_test(test_reserve_with_adjustment),
		cmocka_unit_test(test_reserve_from_long_tasks),
		cmocka_unit_test(test_reserve_counts_what_leaves),
		cmocka_unit_test(test_reserve_waits),
		cmocka_unit_test(test_quota_waits),
		cmocka_unit_test(test_quota_is_of_the_program),
		cmocka_unit_test(test_all_evicted),
		cmocka_unit_test(test_all_evicted_again_and_again),
		cmocka_unit_test(test_one_stays),
		cmocka_unit_test(test_victims),
		cmocka_unit_test(test_long_tasks_last),
		cmocka_unit_test(test_standing_reserve),
		cmocka_unit_test(test_reserve_as_said),
		cmocka_unit_test(test_everything_reserved),
		cmocka_unit_test(test_quota_lowered_and_raised),
		cmocka_unit_test(test_fair_parts),
		cmocka_unit_test(test_settled_one_grows_again),
		cmocka_unit_test(test_short_one_does_not_grow),
		cmocka_unit_test(test_lease_grows),
		cmocka_unit_test(test_latency_that_stays),
		cmocka_unit_test(test_latency_keeps_what_nobody_misses),
		cmocka_unit_test(test_batch_beside_latency),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
