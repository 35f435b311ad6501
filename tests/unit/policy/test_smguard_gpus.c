/*
 * SMGuard with two GPUs, whose works have nothing to do with each other; among batch works; and
 * with batch works beside latency works that have more than they reserved.
 */
#include <stdlib.h>

#include "policy/shares.h"

static struct bench *begin(void)
{
	return bench_begin(&cot_policy_smguard);
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

/* Beside a latency work the parts are of what it leaves: 51 of 132. */
static void test_parts_of_what_is_not_reserved(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(81));
	batch(b, BATCH, NONE);
	batch(b, BATCH2, NONE);
	(void)bench_work(b, 1, LATENCY, 81 * 8, 8, SHORT_NS, false);
	(void)bench_work(b, 2, BATCH, MANY, 8, LONG_NS, false);
	(void)bench_work(b, 3, BATCH2, MANY, 8, LONG_NS, false);
	expect(b, 2, 51, 0);
	bench_run(b, 5 * MS);
	expect(b, 2, 51, 25);
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
	/* Its program has all that it reserved: 20 of 50 of it, in proportion. */
	(void)bench_work(b, 4, LATENCY2, 20 * 8, 8, SHORT_NS, false);
	expect(b, 1, 66, 30);
	expect(b, 2, 66, 0);
	expect(b, 3, 30, 12);
	expect(b, 4, 12, 0);
	end(b);
}

/* When there is room for several that wait, they get it at once. */
static void test_several_requests_at_once(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(132));
	latency(b, LATENCY2, SMS(30));
	(void)bench_work(b, 1, LATENCY, MANY, 8, SHORT_NS, false);
	(void)bench_work(b, 2, LATENCY2, 30 * 8, 8, SHORT_NS, false);
	(void)bench_work(b, 3, LATENCY2, 30 * 8, 8, SHORT_NS, false);
	(void)bench_work(b, 4, LATENCY2, 30 * 8, 8, SHORT_NS, false);
	expect(b, 1, 132, 0);
	expect(b, 2, 0, 0);
	(void)bench_work_done(b, 1, 0);
	expect(b, 2, 30, 0);
	expect(b, 3, 30, 0);
	expect(b, 4, 30, 0);
	end(b);
}

/* ---- the last one stays ---- */

/* Though they could start again: a quota, a reserve and a fair part are no reason to. */
static void test_the_last_one_stays(void **state)
{
	struct bench *b = begin();
	uint32_t i;

	(void)state;
	batch(b, BATCH, SMS(100));
	for (i = 1; i <= 2; i++)
		(void)bench_work(b, i, BATCH, 50 * 8 * 100, 8, LONG_NS, true);
	expect(b, 1, 100, 0);
	expect(b, 2, 0, 0);
	batch(b, BATCH2, NONE);
	(void)bench_work(b, 3, BATCH2, MANY, 8, LONG_NS, true);
	expect(b, 3, 32, 0);
	(void)bench_work_done(b, 2, 0);
	batch(b, BATCH, SMS(1));
	expect(b, 1, 100, 99);
	latency(b, LATENCY, PERCENT(100)); /* leaves 1 for both */
	expect(b, 1, 100, 99);
	expect(b, 3, 32, 31);
	assert_true(b->works[1].settled && b->works[3].settled);
	end(b);
}

/* A reservation of everything is one, for long tasks, too. */
static void test_the_last_one_leaves_for_a_reservation(void **state)
{
	struct bench *b = begin();

	(void)state;
	latency(b, LATENCY, SMS(132));
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, true);
	expect(b, 1, 1, 0);
	assert_true(b->works[1].settled);
	(void)bench_work(b, 2, LATENCY, MANY, 8, SHORT_NS, false);
	expect(b, 1, 1, 1);
	expect(b, 2, 132, 0);
	end(b);
}

static void test_quota_of_less_than_works(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, 66 * 8 * 100, 8, LONG_NS, true);
	(void)bench_work_done(b, 1, 0);
	batch(b, BATCH, SMS(132));
	assert_int_equal(bench_event(b, (struct cot_event){.type = COT_EV_WORK,
							   .id = 1,
							   .work = {.tenant = BATCH,
								    .n_sms = 132,
								    .method = COT_WORK_QUOTA,
								    .can_settle = true,
								    .n_tasks = MANY,
								    .per_sm = 8,
								    .asked = 66,
								    .task_ns = LONG_NS}}),
			 0);
	(void)bench_work(b, 2, BATCH, MANY, 8, LONG_NS, true);
	expect(b, 1, 66, 0);
	expect(b, 2, 66, 0);
	batch(b, BATCH, SMS(1));
	expect(b, 1, 66, 65);
	expect(b, 2, 66, 65);
	end(b);
}

/* Whole works leave for what is missing, no more. */
static void test_one_whole_work_is_enough(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, SMS(66));
	batch(b, BATCH2, SMS(66));
	(void)bench_work(b, 1, BATCH, MANY, 8, SHORT_NS, true);
	(void)bench_work(b, 2, BATCH2, MANY, 8, SHORT_NS, true);
	latency(b, LATENCY, SMS(131));
	(void)bench_work(b, 3, LATENCY, 131 * 8, 8, SHORT_NS, false);
	expect(b, 3, 131, 0);
	assert_int_equal(b->works[1].evicted + b->works[2].evicted, 131);
	end(b);
}

/* ---- small numbers ---- */

static int small_work(struct bench *b, uint32_t id, uint32_t tenant)
{
	return bench_event(b, (struct cot_event){.type = COT_EV_WORK,
						 .id = id,
						 .work = {.tenant = tenant,
							  .n_sms = 2,
							  .method = COT_WORK_QUOTA,
							  .can_settle = true,
							  .n_tasks = MANY,
							  .per_sm = 1,
							  .task_ns = SHORT_NS}});
}

/* More works than SMs: a part is one, and nobody leaves for it. */
static void test_more_works_than_sms(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, SMS(1));
	batch(b, BATCH2, NONE);
	batch(b, BATCH3, NONE);
	(void)small_work(b, 1, BATCH);
	(void)small_work(b, 2, BATCH2);
	(void)small_work(b, 3, BATCH3);
	expect(b, 1, 1, 0);
	expect(b, 2, 1, 0);
	bench_run(b, 100 * MS);
	expect(b, 1, 1, 0);
	expect(b, 2, 1, 0);
	expect(b, 3, 0, 0);
	(void)bench_work_done(b, 1, 0);
	expect(b, 3, 1, 0);
	end(b);
}

/* One SM is kept even if the configuration says nothing is to be reserved. */
static void test_reserve_of_nothing(void **state)
{
	struct bench *b = malloc(sizeof(*b));
	struct cot_policy_config config;

	(void)state;
	assert_non_null(b);
	cot_policy_config_init(&config);
	config.reserve_permille = 0;
	bench_init_with(b, &cot_policy_smguard, &config, NULL);
	latency(b, LATENCY, NONE);
	batch(b, BATCH, NONE);
	(void)bench_work(b, 1, BATCH, MANY, 8, LONG_NS, false);
	expect(b, 1, 131, 0);
	end(b);
}

/* ---- what is on its way ---- */

/* At the very moment when its 5 ms are over a quota is lowered: what leaves for that is counted. */
static void test_what_a_quota_sets_free_counts(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, BATCH, NONE);
	batch(b, BATCH2, NONE);
	batch(b, BATCH3, NONE);
	batch_work(b, 0, 1, BATCH);
	batch_work(b, 0, 2, BATCH2);
	bench_run(b, 1 * MS);
	batch_work(b, 0, 3, BATCH3);
	bench_run(b, 4 * MS - 1);
	expect(b, 1, 132, 0);
	b->now_ns++;
	batch(b, BATCH, SMS(100));
	expect(b, 1, 132, 44); /* a third, 32 of it for the quota */
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
		cmocka_unit_test(test_parts_of_what_is_not_reserved),
		cmocka_unit_test(test_parts_for_several),
		cmocka_unit_test(test_no_part_from_oneself),
		cmocka_unit_test(test_surplus_is_of_latency_works),
		cmocka_unit_test(test_surplus_of_several),
		cmocka_unit_test(test_several_requests_at_once),
		cmocka_unit_test(test_the_last_one_stays),
		cmocka_unit_test(test_the_last_one_leaves_for_a_reservation),
		cmocka_unit_test(test_quota_of_less_than_works),
		cmocka_unit_test(test_one_whole_work_is_enough),
		cmocka_unit_test(test_more_works_than_sms),
		cmocka_unit_test(test_reserve_of_nothing),
		cmocka_unit_test(test_what_a_quota_sets_free_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
