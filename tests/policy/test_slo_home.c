/* Where `slo` puts programs that start, and what it does outside MPS. */
#include <string.h>

#include "policy/slo_suite.h"

/* ---- in pools or on parts ---- */

static enum cot_home home(enum cot_class cls, uint32_t id, uint32_t p99_us)
{
	struct cot_tenant_desc d = {
		.cls = cls, .weight = 100, .gpu_mask = GPU0, .key = 0x1000 + id};

	if (p99_us)
		d.target = (struct cot_target){COT_TARGET_P99, p99_us};
	return cot_sched_home(sb->b->sched, &d, NULL, 0);
}

static void says(uint32_t id, const char *name, const char *word)
{
	const char *text = slo_bench_text(sb, id, name);

	assert_non_null(text);
	assert_memory_equal(text, word, strlen(word));
}

static void test_home_of_the_first(void **state)
{
	(void)state;
	assert_int_equal(home(COT_CLASS_LATENCY, SERVER, 2000), COT_HOME_CLASS);
	assert_int_equal(home(COT_CLASS_BATCH, TRAIN, 0), COT_HOME_CLASS);
	/* Nothing is known of the one that is there. */
	slo_bench_server(sb, 2000);
	assert_int_equal(home(COT_CLASS_BATCH, TRAIN, 0), COT_HOME_CLASS);
}

/* Its target is no longer than a few switches. */
static void test_home_of_a_short_target(void **state)
{
	(void)state;
	slo_bench_server(sb, 1000);
	assert_int_equal(home(COT_CLASS_BATCH, TRAIN, 0), COT_HOME_LATENCY);
	assert_int_equal(bench_leave(sb->b, SERVER), 0);
	slo_bench_batch(sb, TRAIN, BATCH_POOL, 100);
	assert_int_equal(home(COT_CLASS_LATENCY, SERVER, 1000), COT_HOME_BATCH);
	assert_int_equal(home(COT_CLASS_LATENCY, SERVER, 1100), COT_HOME_CLASS);
}

/* A pool is up when its first program has begun: several that start together come before that, and
 * go where the first of them went, not where their class does. */
static void test_home_before_the_pool_is_up(void **state)
{
	const struct cot_event down = {
		.type = COT_EV_POOL, .id = LATENCY_POOL, .pool = {COT_CLASS_LATENCY, GPU0, false}};

	(void)state;
	assert_int_equal(bench_event(sb->b, down), 0);
	slo_bench_server(sb, 1000);
	assert_int_equal(home(COT_CLASS_BATCH, TRAIN, 0), COT_HOME_LATENCY);
	slo_bench_batch(sb, TRAIN, LATENCY_POOL, 100);
	assert_int_equal(home(COT_CLASS_BATCH, TRAIN + 1, 0), COT_HOME_LATENCY);
}

/* Where a batch program goes when so many requests of 1 ms have come a second. */
static enum cot_home home_at(double per_s)
{
	slo_bench_load(sb, per_s, 1000);
	slo_bench_run(sb, 30 * S);
	return home(COT_CLASS_BATCH, TRAIN, 0);
}

/* 60 % of the time busy, by requests of 1 ms: pools would leave a fifth. */
static void test_home_by_load(void **state)
{
	(void)state;
	slo_bench_server(sb, 2500);
	assert_int_equal(home_at(600), COT_HOME_LATENCY);
	/* 6 %: parts would give less. */
	assert_int_equal(home_at(60), COT_HOME_CLASS);
}

/* Requests wait for each other: at 60 % pools are too slow for 1.5 times alone, at 6 % they are
 * not. */
static void test_home_by_target(void **state)
{
	(void)state;
	slo_bench_server(sb, 1750);
	assert_int_equal(home_at(600), COT_HOME_LATENCY);
	assert_int_equal(home_at(60), COT_HOME_CLASS);
}

/* Where a batch program goes, if 300 requests of 1 ms with so many kernels each came in a second.
 */
static enum cot_home home_by_launches(uint64_t n)
{
	begin_anew();
	slo_bench_server(sb, 1450);
	sb->launches = n;
	return home_at(300);
}

/* Kernel after kernel, it needs few SMs. */
static void test_home_by_launches(void **state)
{
	(void)state;
	assert_int_equal(home_by_launches(0), COT_HOME_CLASS);
	assert_int_equal(home_by_launches(10), COT_HOME_CLASS);
	assert_int_equal(home_by_launches(20), COT_HOME_LATENCY);
	/* The target is below what was seen on parts. */
	slo_bench_target(sb, SERVER, COT_TARGET_P99, 1300);
	assert_int_equal(home(COT_CLASS_BATCH, TRAIN, 0), COT_HOME_CLASS);
}

static double so_much(const struct slo_bench *of)
{
	return of->load;
}

/* Where a batch program goes after a run in pools, in which requests took so much longer. */
static enum cot_home home_after_pools(uint32_t p99_us, double longer)
{
	begin_anew();
	slo_bench_server(sb, p99_us);
	assert_int_equal(home_at(300), COT_HOME_CLASS);
	slo_bench_batch(sb, TRAIN, BATCH_POOL, 100);
	sb->slowdown = so_much;
	sb->load = longer;
	slo_bench_run(sb, 90 * S);
	assert_int_equal(bench_leave(sb->b, TRAIN), 0);
	return home(COT_CLASS_BATCH, TRAIN, 0);
}

/* Where all is lost in pools, parts are tried if they could keep the target at all. */
static void test_home_after_a_miss_by_far(void **state)
{
	(void)state;
	assert_int_equal(home_after_pools(1600, 3), COT_HOME_LATENCY);
	assert_int_equal(home_after_pools(1400, 3), COT_HOME_CLASS);
	assert_int_equal(home_after_pools(1700, 2), COT_HOME_CLASS);
}

/* What pools were good for is given up for a guess only where requests need few SMs. */
static void test_home_after_good_pools(void **state)
{
	(void)state;
	assert_int_equal(home_after_pools(1700, 1.3), COT_HOME_CLASS);
	sb->launches = 25;
	slo_bench_run(sb, 30 * S);
	assert_int_equal(home(COT_CLASS_BATCH, TRAIN, 0), COT_HOME_LATENCY);
}

/* Who comes later goes where its like are. */
static void test_home_beside_others(void **state)
{
	(void)state;
	slo_bench_server(sb, 2000);
	slo_bench_batch(sb, TRAIN, LATENCY_POOL, 100);
	assert_int_equal(home(COT_CLASS_BATCH, TRAIN + 1, 0), COT_HOME_LATENCY);
	assert_int_equal(home(COT_CLASS_LATENCY, 2, 3000), COT_HOME_LATENCY);
}

/* One that is in another pool all the same, since it was there before, is told so. */
static void test_one_in_another_pool(void **state)
{
	(void)state;
	slo_bench_server(sb, 2000);
	slo_bench_batch(sb, TRAIN, LATENCY_POOL, 100);
	slo_bench_batch(sb, TRAIN + 1, BATCH_POOL, 100);
	slo_bench_load(sb, 300, 1000);
	slo_bench_run(sb, 2 * S);
	says(TRAIN, "arrangement", "parts");
	says(TRAIN + 1, "pool", "another");
	assert_null(slo_bench_text(sb, TRAIN, "pool"));
	assert_null(slo_bench_text(sb, SERVER, "pool"));
}

/* ---- outside MPS ---- */

/* Where requests take so much longer than alone, in turns of whatever kind. */
static void serve(uint32_t pool, uint32_t p99_us, double longer)
{
	if (pool)
		slo_bench_server(sb, p99_us);
	else
		slo_bench_solo(sb, p99_us);
	slo_bench_load(sb, 300, 1000);
	sb->slowdown = so_much;
	sb->load = longer;
}

/* What a target of 1.3 times alone costs in pools, nobody outside MPS knows yet: it is tried, once.
 */
static void test_outside_after_a_miss(void **state)
{
	(void)state;
	assert_int_equal(home_after_pools(1300, 1.45), COT_HOME_CLASS);
	slo_bench_batch(sb, TRAIN, BATCH_POOL, 100);
	says(SERVER, COT_SAYS_NEXT, "solo");
	assert_int_equal(bench_leave(sb->b, SERVER), 0);
	assert_int_equal(home(COT_CLASS_LATENCY, SERVER, 1300), COT_HOME_ALONE);
	/* Another target, and another program. */
	assert_int_equal(home(COT_CLASS_LATENCY, SERVER, 2600), COT_HOME_CLASS);
	assert_int_equal(home(COT_CLASS_LATENCY, SERVER + 1, 1300), COT_HOME_CLASS);
	/* With nobody there it is the same. */
	assert_int_equal(bench_leave(sb->b, TRAIN), 0);
	assert_int_equal(home(COT_CLASS_LATENCY, SERVER, 1300), COT_HOME_ALONE);
	/* Outside it kept the target: batch programs come to their pool, and it goes there again.
	 */
	serve(0, 1300, 1.2);
	slo_bench_run(sb, 5 * S);
	assert_int_equal(home(COT_CLASS_BATCH, TRAIN, 0), COT_HOME_CLASS);
	slo_bench_batch(sb, TRAIN, BATCH_POOL, 100);
	slo_bench_run(sb, 90 * S);
	says(SERVER, "arrangement", "solo");
	assert_null(slo_bench_text(sb, SERVER, COT_SAYS_NEXT));
	assert_int_equal(bench_leave(sb->b, SERVER), 0);
	assert_int_equal(home(COT_CLASS_LATENCY, SERVER, 1300), COT_HOME_ALONE);
}

/* Pools kept the target with all slices as usual: there is nothing to be gained. */
static void test_good_pools_stay(void **state)
{
	(void)state;
	(void)home_after_pools(1700, 1.3);
	slo_bench_batch(sb, TRAIN, BATCH_POOL, 100);
	assert_null(slo_bench_text(sb, SERVER, COT_SAYS_NEXT));
	assert_int_equal(bench_leave(sb->b, SERVER), 0);
	assert_int_equal(home(COT_CLASS_LATENCY, SERVER, 1700), COT_HOME_CLASS);
}

/* Where that misses the target as well, batch programs leave MPS, too. */
static void test_rotate_after_a_miss_outside(void **state)
{
	(void)state;
	serve(0, 1300, 1.5);
	slo_bench_batch(sb, TRAIN, BATCH_POOL, 100);
	slo_bench_run(sb, 90 * S);
	says(SERVER, COT_SAYS_NEXT, "rotate");
	assert_int_equal(bench_leave(sb->b, TRAIN), 0);
	assert_int_equal(home(COT_CLASS_BATCH, TRAIN, 0), COT_HOME_ALONE);
	/* A batch program of which nothing is known goes to the pool. */
	assert_int_equal(home(COT_CLASS_BATCH, TRAIN + 1, 0), COT_HOME_CLASS);
}

/* Outside they have slices, and below the usual ones breaths, as in pools. */
static void test_turns_outside(void **state)
{
	(void)state;
	serve(0, 1300, 1.1);
	slo_bench_batch(sb, TRAIN, BATCH_POOL, 100);
	slo_bench_run(sb, 2 * S);
	assert_int_equal(sb->b->slice_us[SERVER], 10000);
	assert_int_equal(sb->b->slice_us[BATCH_POOL], 20);
	sb->load = 3;
	bench_reset_times(sb->b);
	slo_bench_run(sb, 5 * S);
	assert_in_range(sb->b->thawed_ns[BATCH_POOL], 1, 4 * S);
	assert_in_range(sb->b->thawed_ns[SERVER], 5 * S, 6 * S);
}

/* In a breath only one of several batch programs outside runs, by weight. */
static void test_breaths_of_several(void **state)
{
	uint64_t a, b;

	(void)state;
	serve(0, 1300, 3);
	assert_int_equal(bench_solo(sb->b, TRAIN, COT_CLASS_BATCH, 100), 0);
	assert_int_equal(bench_solo(sb->b, TRAIN + 1, COT_CLASS_BATCH, 300), 0);
	assert_int_equal(bench_parts(sb->b, TRAIN, true), 0);
	assert_int_equal(bench_parts(sb->b, TRAIN + 1, true), 0);
	slo_bench_run(sb, 8 * S);
	says(SERVER, "arrangement", "rotate");
	bench_reset_times(sb->b);
	slo_bench_run(sb, 20 * S);
	a = sb->b->thawed_ns[TRAIN];
	b = sb->b->thawed_ns[TRAIN + 1];
	assert_in_range(a, 20 * MS, 5 * S);
	assert_in_range(b, 2 * a, 4 * a);
	/* They take turns, so each has all of the GPU. */
	assert_int_equal(sb->b->part[TRAIN].n, 0);
	assert_int_equal(sb->b->part[TRAIN + 1].n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SLO_TEST(test_home_of_the_first),
		SLO_TEST(test_home_of_a_short_target),
		SLO_TEST(test_home_before_the_pool_is_up),
		SLO_TEST(test_home_by_load),
		SLO_TEST(test_home_by_target),
		SLO_TEST(test_home_by_launches),
		SLO_TEST(test_home_after_a_miss_by_far),
		SLO_TEST(test_home_after_good_pools),
		SLO_TEST(test_home_beside_others),
		SLO_TEST(test_one_in_another_pool),
		SLO_TEST(test_outside_after_a_miss),
		SLO_TEST(test_good_pools_stay),
		SLO_TEST(test_rotate_after_a_miss_outside),
		SLO_TEST(test_turns_outside),
		SLO_TEST(test_breaths_of_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
