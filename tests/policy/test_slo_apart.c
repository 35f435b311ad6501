/* Several latency programs on parts: together on what batch programs leave, or each on its own. */
#include "policy/policies.h"
#include "policy/slo_suite.h"

enum { OTHER = 2 };

static bool are_apart(const struct slo_bench *of)
{
	const struct cot_part *a = &of->b->part[SERVER], *b = &of->b->part[OTHER];

	return a->n && b->n && (a->first + a->n <= b->first || b->first + b->n <= a->first);
}

static bool have_the_rest(const struct slo_bench *of, uint32_t id)
{
	const struct cot_part *part = &of->b->part[id];

	return part->first == slo_bench_batch_end(of) && part->first + part->n == of->b->n_sms;
}

/* `load` times as long together as alone; apart a fifth longer than alone. */
static double better_apart(const struct slo_bench *of)
{
	return are_apart(of) ? 1.2 : of->load;
}

static double worse_apart(const struct slo_bench *of)
{
	return are_apart(of) ? 3 : of->load;
}

static void serve(double (*slowdown)(const struct slo_bench *of), double together)
{
	sb->slowdown = slowdown;
	sb->load = together;
	slo_bench_server(sb, 1500);
	slo_bench_other(sb, OTHER, LATENCY_POOL, 5000);
	slo_bench_batch(sb, TRAIN, LATENCY_POOL, 100);
	slo_bench_load(sb, 300, 1000);
}

static void test_together_where_that_is_enough(void **state)
{
	(void)state;
	serve(better_apart, 1.3);
	slo_bench_run(sb, 120 * S);
	assert_true(have_the_rest(sb, SERVER));
	assert_true(have_the_rest(sb, OTHER));
	assert_null(slo_bench_text(sb, SERVER, "latency programs"));
}

static void test_apart_where_together_misses(void **state)
{
	uint32_t end;

	(void)state;
	serve(better_apart, 2);
	slo_bench_run(sb, 60 * S);
	assert_true(are_apart(sb));
	end = slo_bench_batch_end(sb);
	assert_true(end >= 8);
	assert_true(sb->b->part[SERVER].first >= end);
	assert_true(sb->b->part[OTHER].first >= end);
	slo_bench_count(sb);
	slo_bench_run(sb, 3600 * S);
	assert_true(slo_bench_missed(sb) < 10);
	assert_true(are_apart(sb));
	assert_non_null(slo_bench_text(sb, SERVER, "latency programs"));
	/* Nobody is left to be kept away from. */
	assert_int_equal(bench_leave(sb->b, OTHER), 0);
	slo_bench_run(sb, 1 * S);
	assert_true(have_the_rest(sb, SERVER));
	assert_null(slo_bench_text(sb, SERVER, "latency programs"));
}

/* What helps nothing is undone, and tried ever more seldom. */
static void test_together_again(void **state)
{
	uint32_t n = 0, i;
	bool was = false;

	(void)state;
	serve(worse_apart, 2);
	for (i = 0; i < 3600; i++) {
		slo_bench_run(sb, 1 * S);
		n += are_apart(sb) != was;
		was = are_apart(sb);
	}
	assert_in_range(n, 2, 12);
}

/* Who has it to itself already. */
static void test_one_alone(void **state)
{
	(void)state;
	sb->slowdown = better_apart;
	sb->load = 2;
	slo_bench_server(sb, 1500);
	slo_bench_batch(sb, TRAIN, LATENCY_POOL, 100);
	slo_bench_load(sb, 300, 1000);
	slo_bench_run(sb, 120 * S);
	assert_true(have_the_rest(sb, SERVER));
}

/* A unit for batch programs, and one for both. */
static void test_too_few_units(void **state)
{
	(void)state;
	sb->b->n_sms = 16;
	sb->b->n_units = 2;
	serve(better_apart, 2);
	slo_bench_run(sb, 120 * S);
	assert_true(have_the_rest(sb, SERVER));
	assert_true(have_the_rest(sb, OTHER));
	assert_null(slo_bench_text(sb, SERVER, "latency programs"));
}

/* Where turns missed the target of two, batch programs were not what was in the way. */
static void test_begins_apart_after_turns_that_missed(void **state)
{
	(void)state;
	sb->slowdown = better_apart;
	sb->load = 2;
	slo_bench_server(sb, 1500);
	slo_bench_other(sb, OTHER, LATENCY_POOL, 5000);
	slo_bench_batch(sb, TRAIN, BATCH_POOL, 100);
	slo_bench_load(sb, 300, 1000);
	slo_bench_run(sb, 60 * S);
	assert_int_equal(bench_leave(sb->b, TRAIN), 0);
	slo_bench_batch(sb, TRAIN, LATENCY_POOL, 100);
	bench_run(sb->b, 100 * MS);
	assert_true(are_apart(sb));
}

static void test_goes_on_apart(void **state)
{
	struct cot_error err;

	(void)state;
	sb->nameless = true;
	serve(better_apart, 2);
	slo_bench_run(sb, 60 * S);
	assert_true(are_apart(sb));
	slo_bench_count(sb);
	assert_int_equal(
		cot_sched_set_policy(sb->b->sched, &cot_policy_slo, NULL, sb->b->now_ns, &err), 0);
	slo_bench_run(sb, 1 * S);
	assert_true(are_apart(sb));
	assert_int_equal(sb->n_changes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SLO_TEST(test_together_where_that_is_enough),
		SLO_TEST(test_apart_where_together_misses),
		SLO_TEST(test_together_again),
		SLO_TEST(test_one_alone),
		SLO_TEST(test_too_few_units),
		SLO_TEST(test_begins_apart_after_turns_that_missed),
		SLO_TEST(test_goes_on_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
