/* Which task `baymax` issues. */
#include "policy/queries.h"

#define PER_SM 8u

/* One quota: all SMs. One task takes all the time. */
static struct cot_plan plan_of(const uint32_t *sms, const uint64_t *ns)
{
	return (struct cot_plan){1, 1, sms, ns, ns, NULL};
}

/* A launch that fills the GPU once. */
static void work(struct bench *b, uint32_t id, uint32_t tenant, uint64_t ns)
{
	assert_int_equal(bench_work(b, id, tenant, 132 * PER_SM, PER_SM, (uint32_t)ns, false), 0);
	bench_run(b, 0);
}

static void expect_issued(const struct bench *b, uint32_t id, bool is)
{
	assert_int_equal(b->works[id].granted, is ? 132 : 0);
}

/* Query A: 50 ms of its 100 are needed, 10 gone. Query B behind it: 25 ms, arrived 5 ago. */
static struct bench *two_queries(uint32_t target_b_us)
{
	static const uint32_t all = 132;
	static const uint64_t a_ns = 50 * MS, b_ns = 25 * MS;
	static struct cot_plan a, b_plan;
	struct bench *b = queries_begin(&cot_policy_baymax, 0);

	a = plan_of(&all, &a_ns);
	b_plan = plan_of(&all, &b_ns);
	service(b, SERVICE, 100000);
	service(b, SERVICE2, target_b_us);
	batch(b, BATCH);
	batch(b, BATCH2);
	query(b, 1, SERVICE, 10 * MS, &a);
	query(b, 2, SERVICE2, 5 * MS, &b_plan);
	return b;
}

/* A task runs meanwhile; then all four wait. */
static void all_wait(struct bench *b)
{
	work(b, 9, SERVICE, MS);
	expect_issued(b, 9, true);
	work(b, 1, BATCH, 35 * MS);
	work(b, 2, BATCH2, 45 * MS);
	work(b, 3, SERVICE2, 25 * MS);
	work(b, 4, SERVICE, 50 * MS);
	expect_issued(b, 1, false);
	expect_issued(b, 4, false);
	assert_int_equal(bench_work_done(b, 9, 0), 0);
	bench_run(b, 0);
}

static void test_no_headroom(void **state)
{
	struct bench *b = two_queries(60000);

	(void)state;
	batch(b, BATCH2 + 1);
	work(b, 8, SERVICE, MS);
	work(b, 5, BATCH2 + 1, 1 * MS);
	assert_int_equal(bench_work_done(b, 8, 0), 0);
	all_wait(b);
	/* B has 60 - 5 - 50 - 25 ms: none. The oldest query's task goes. */
	expect_issued(b, 5, false);
	expect_issued(b, 4, true);
	expect_issued(b, 1, false);
	expect_issued(b, 2, false);
	expect_issued(b, 3, false);
	queries_end(b);
}

static void test_headroom(void **state)
{
	struct bench *b = two_queries(120000);

	(void)state;
	all_wait(b);
	/* Both have 40 ms: of 35 and 45 the 35. */
	expect_issued(b, 1, true);
	expect_issued(b, 4, false);
	bench_run(b, 35 * MS);
	assert_int_equal(bench_work_done(b, 1, 0), 0);
	bench_run(b, 0);
	expect_issued(b, 4, true);
	/* Its task is done: A needs nothing any longer, and B has what is left of 120. */
	bench_run(b, 50 * MS);
	tasks(b, 1, 1);
	query_ends(b, 1);
	assert_int_equal(bench_work_done(b, 4, 0), 0);
	bench_run(b, 0);
	expect_issued(b, 3, true);
	queries_end(b);
}

/* The longest that fits; without queries the one that came first. */
static void test_longest(void **state)
{
	struct bench *b = two_queries(120000);

	(void)state;
	work(b, 9, SERVICE, MS);
	work(b, 1, BATCH, 20 * MS);
	work(b, 2, BATCH2, 30 * MS);
	assert_int_equal(bench_work_done(b, 9, 0), 0);
	bench_run(b, 0);
	expect_issued(b, 2, true);
	query_ends(b, 1);
	query_ends(b, 2);
	work(b, 3, BATCH2, 30 * MS);
	assert_int_equal(bench_work_done(b, 2, 0), 0);
	bench_run(b, 0);
	expect_issued(b, 1, true);
	queries_end(b);
}

/* Its last task took half as long as its blocks made believe. */
static void test_what_was_predicted_gives_way(void **state)
{
	struct bench *b = two_queries(120000);

	(void)state;
	all_wait(b);
	expect_issued(b, 1, true); /* 35 of 40 ms, says the guess */
	bench_run(b, 14 * MS);
	assert_int_equal(bench_work_done(b, 1, 0), 0);
	bench_run(b, 0);
	/* 26 ms are left: 70 are 28, and 60 are 24. */
	expect_issued(b, 4, true);
	work(b, 5, BATCH, 70 * MS);
	work(b, 6, BATCH, 60 * MS);
	assert_int_equal(bench_work_done(b, 4, 0), 0);
	bench_run(b, 0);
	expect_issued(b, 5, false);
	expect_issued(b, 6, true);
	queries_end(b);
}

/* What is no work is held while it would take longer than the headroom. */
static void test_hold(void **state)
{
	static const uint32_t all = 132;
	static const uint64_t ns = 50 * MS;
	static const struct cot_prediction rows[] = {{.sms = 132, .duration_ns = 30 * MS}};
	struct cot_plan plan = plan_of(&all, &ns);
	struct bench *b = queries_begin(&cot_policy_baymax, 0);

	(void)state;
	service(b, SERVICE, 100000);
	batch(b, BATCH);
	batch(b, BATCH2);
	predict(b, BATCH, rows, 1);
	query(b, 1, SERVICE, 10 * MS, &plan);
	expect_part(b, BATCH, 0, 0);
	EXPECT_HELD(b, BATCH2); /* nothing is known of it */
	query_ends(b, 1);
	expect_part(b, BATCH2, 0, 0);
	query(b, 2, SERVICE, 21 * MS, &plan);
	EXPECT_HELD(b, BATCH);
	expect_part(b, SERVICE, 0, 0);
	tasks(b, 2, 1);
	expect_part(b, BATCH, 0, 0);
	query(b, 3, SERVICE, 0, NULL);
	EXPECT_HELD(b, BATCH);
	queries_end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_headroom),
		cmocka_unit_test(test_headroom),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_what_was_predicted_gives_way),
		cmocka_unit_test(test_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
