/*
 * SMGuard with two GPUs, whose works have nothing to do with each other; with batch works beside
 * latency works that have more than they reserved; and what long tasks take to leave.
 */
#include "policy/shares.h"

static struct bench *begin(void)
{
	return shares_begin(&cot_policy_smguard);
}

static void end(struct bench *b)
{
	shares_end(b);
}

static void latency_on_both(struct bench *b, uint32_t id, struct cot_share reserve)
{
	assert_int_equal(bench_shares_on(b, id, COT_CLASS_LATENCY, GPU0 | GPU1, NONE, reserve), 0);
}

static void batch_on_both(struct bench *b, uint32_t id, struct cot_share quota)
{
	assert_int_equal(bench_shares_on(b, id, COT_CLASS_BATCH, GPU0 | GPU1, quota, NONE), 0);
}

/* A work of batch tasks without end. */
static void batch_work(struct bench *b, uint32_t gpu, uint32_t id, uint32_t tenant)
{
	assert_int_equal(bench_work_on(b, gpu, id, tenant, MANY, 8, SHORT_NS, false), 0);
}

/* ---- two GPUs ---- */

static void test_each_gpu_is_a_whole(void **state)
{
	struct bench *b = begin();
	uint32_t gpu;

	(void)state;
	batch_on_both(b, BATCH, PERCENT(50));
	batch_on_both(b, BATCH2, NONE);
	for (gpu = 0; gpu < 2; gpu++) {
		batch_work(b, gpu, 10 + gpu, BATCH);
		batch_work(b, gpu, 20 + gpu, BATCH); /* its quota is used up here */
		batch_work(b, gpu, 30 + gpu, BATCH2);
		expect(b, 10 + gpu, 66, 0);
		expect(b, 20 + gpu, 0, 0);
		expect(b, 30 + gpu, 66, 0);
	}
	/* What ends on one is free there. */
	(void)bench_work_done(b, 11, 0);
	expect(b, 20, 0, 0);
	expect(b, 21, 66, 0);
	end(b);
}

static void test_eviction_on_the_same_gpu(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch_on_both(b, BATCH, NONE);
	batch_work(b, 0, 1, BATCH);
	batch_work(b, 1, 2, BATCH);
	latency_on_both(b, LATENCY, SMS(40));
	assert_int_equal(bench_work_on(b, 1, 3, LATENCY, 40 * 8, 8, SHORT_NS, false), 0);
	expect(b, 1, 132, 0);
	expect(b, 2, 132, 40);
	expect(b, 3, 40, 0);
	end(b);
}

/* A reserve is kept where its program is, and only there. */
static void test_reserve_on_its_gpu(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch_on_both(b, BATCH, NONE);
	assert_int_equal(bench_shares_on(b, LATENCY, COT_CLASS_LATENCY, GPU1, NONE, SMS(32)), 0);
	(void)bench_work_on(b, 0, 1, BATCH, MANY, 8, LONG_NS, false);
	(void)bench_work_on(b, 1, 2, BATCH, MANY, 8, LONG_NS, false);
	expect(b, 1, 132, 0);
	expect(b, 2, 100, 0);
	/* It goes to the other GPU; what it left stays as it is. */
	assert_int_equal(bench_shares_on(b, LATENCY, COT_CLASS_LATENCY, GPU0, NONE, SMS(32)), 0);
	expect(b, 1, 132, 32);
	expect(b, 2, 100, 0);
	/* Two programs reserve together. */
	assert_int_equal(bench_shares_on(b, LATENCY2, COT_CLASS_LATENCY, GPU0, NONE, SMS(50)), 0);
	expect(b, 1, 132, 82);
	end(b);
}

static void test_quotas_on_each_gpu(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch_on_both(b, BATCH, NONE);
	batch_on_both(b, BATCH2, SMS(30));
	batch_work(b, 0, 1, BATCH);
	batch_work(b, 1, 2, BATCH2);
	batch_work(b, 1, 3, BATCH);
	expect(b, 2, 30, 0);
	expect(b, 3, 102, 0);
	batch_on_both(b, BATCH, SMS(100)); /* lowered: on both */
	expect(b, 1, 132, 32);
	expect(b, 2, 30, 0);
	expect(b, 3, 102, 2);
	end(b);
}

/* Latency works of one GPU keep batch works of the other neither waiting nor small. */
static void test_guard_of_each_gpu(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch_on_both(b, BATCH, NONE);
	latency_on_both(b, LATENCY, SMS(40));
	(void)bench_work_on(b, 1, 1, LATENCY, MANY, 8, SHORT_NS, false);
	batch_work(b, 0, 2, BATCH);
	expect(b, 2, 132, 0);
	(void)bench_work_done(b, 2, 0);
	(void)bench_work_done(b, 1, 0); /* GPU 1 is guarded for 100 us */
	batch_work(b, 0, 3, BATCH);
	batch_work(b, 1, 4, BATCH);
	expect(b, 3, 132, 0);
	expect(b, 4, 0, 0);
	bench_run(b, 99 * US);
	expect(b, 4, 0, 0);
	bench_run(b, 1 * US);
	expect(b, 4, 132, 0);
	end(b);
}

static void test_fair_parts_of_each_gpu(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch_on_both(b, BATCH, NONE);
	batch_on_both(b, BATCH2, NONE);
	batch_work(b, 0, 1, BATCH);
	batch_work(b, 1, 2, BATCH);
	batch_work(b, 1, 3, BATCH2);
	bench_run(b, 5 * MS);
	expect(b, 1, 132, 0);
	expect(b, 2, 132, 66);
	end(b);
}

/* ---- fair parts ---- */

/* Of a third each: those of the waiting tenant keep what they have, and small ones, too. */
static void test_who_gives_a_part(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, SMS(60));
	batch(b, BATCH2, SMS(72));
	batch(b, BATCH3, NONE);
	batch_work(b, 0, 1, BATCH);
	batch_work(b, 0, 2, BATCH2);
	expect(b, 2, 72, 0);
	batch_work(b, 0, 3, BATCH3);
	bench_run(b, 5 * MS);
	/* 44 are missing: 28 from the one with 72, then both have more than 44. */
	expect(b, 2, 72, 28);
	expect(b, 1, 60, 16);
	end(b);
}

/* Several have waited: each of them gets its part, as far as there is something to give. */
static void test_parts_for_several(void **state)
{
	struct bench *b = begin();
	uint32_t i;

	(void)state;
	batch(b, BATCH, NONE);
	batch(b, BATCH2, NONE);
	batch(b, BATCH3, NONE);
	batch_work(b, 0, 1, BATCH);
	for (i = 0; i < 5; i++)
		batch_work(b, 0, 2 + i, i % 2 ? BATCH2 : BATCH3);
	bench_run(b, 5 * MS); /* 22 for each of six */
	expect(b, 1, 132, 110);
	(void)bench_work_evicted(b, 1, 110);
	/* The first takes what there is, and gives two of them back: not to its own tenant's. */
	expect(b, 2, 110, 44);
	for (i = 1; i < 5; i++)
		expect(b, 2 + i, 0, 0);
	end(b);
}

/* A work of the tenant that has it all gets nothing from itself. */
static void test_no_part_from_oneself(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, NONE);
	batch_work(b, 0, 1, BATCH);
	batch_work(b, 0, 2, BATCH);
	bench_run(b, 50 * MS);
	expect(b, 1, 132, 0);
	expect(b, 2, 0, 0);
	end(b);
}

/* ---- surplus ---- */

/*
 * The first has 131 beside a batch work of one CapSM, and reserved 60. A second of 72 takes 71 of
 * it. The other GPU has a latency work with as much surplus.
 */
static void test_surplus_is_of_latency_works(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency_on_both(b, LATENCY, SMS(60));
	latency_on_both(b, LATENCY2, SMS(72));
	batch_on_both(b, BATCH, NONE);
	(void)bench_work_on(b, 1, 1, LATENCY, MANY, 8, SHORT_NS, false);
	(void)bench_work_on(b, 0, 2, BATCH, MANY, 8, SHORT_NS, false);
	(void)bench_work_on(b, 0, 3, LATENCY, MANY, 8, SHORT_NS, false);
	expect(b, 2, 132, 131);
	expect(b, 3, 131, 0);
	(void)bench_work_on(b, 0, 4, LATENCY2, MANY, 8, SHORT_NS, false);
	expect(b, 1, 132, 0);
	expect(b, 2, 132, 131);
	expect(b, 3, 131, 71);
	expect(b, 4, 71, 0);
	end(b);
}

/* Only as much as is missing, in order of their start. */
static void test_surplus_of_several(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(30));
	latency(b, LATENCY2, SMS(30));
	(void)bench_work(b, 1, LATENCY, 66 * 8, 8, SHORT_NS, false);
	(void)bench_work(b, 2, LATENCY, 66 * 8, 8, SHORT_NS, false);
	expect(b, 1, 66, 0);
	expect(b, 2, 66, 0);
	(void)bench_work(b, 3, LATENCY2, MANY, 8, SHORT_NS, false);
	expect(b, 1, 66, 30);
	expect(b, 2, 66, 0);
	expect(b, 3, 30, 0);
	(void)bench_work(b, 4, LATENCY2, 20 * 8, 8, SHORT_NS, false);
	expect(b, 1, 66, 36);
	expect(b, 2, 66, 14);
	expect(b, 4, 20, 0);
	end(b);
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
	bench_run(b, 299 * US);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_gpu_is_a_whole),
		cmocka_unit_test(test_eviction_on_the_same_gpu),
		cmocka_unit_test(test_reserve_on_its_gpu),
		cmocka_unit_test(test_quotas_on_each_gpu),
		cmocka_unit_test(test_guard_of_each_gpu),
		cmocka_unit_test(test_fair_parts_of_each_gpu),
		cmocka_unit_test(test_who_gives_a_part),
		cmocka_unit_test(test_parts_for_several),
		cmocka_unit_test(test_no_part_from_oneself),
		cmocka_unit_test(test_surplus_is_of_latency_works),
		cmocka_unit_test(test_surplus_of_several),
		cmocka_unit_test(test_what_long_tasks_leave_is_not_there_yet),
		cmocka_unit_test(test_what_is_soon_there_counts),
		cmocka_unit_test(test_growing_waits_for_two_tasks),
		cmocka_unit_test(test_requests_again_and_again_cost_no_new_start),
		cmocka_unit_test(test_growing_without_latency_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
