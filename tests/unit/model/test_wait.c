/* How requests come, and how long they wait for each other. */
#include "model/wait.h"

#include "base/rng.h"
#include "model/tree.h"
#include "test.h"

#define MS 1000000u

static void add(struct cot_gaps *g, uint64_t gap_ns, unsigned n)
{
	while (n--)
		cot_gaps_add(g, gap_ns);
}

static void test_even(void **state)
{
	struct cot_gaps g = {0};

	(void)state;
	assert_int_equal(cot_gaps_scatter_milli(&g), 0);
	add(&g, 10 * MS, 15);
	assert_int_equal(cot_wait_p99_ns(20 * MS, &g), 0); /* too few say nothing */
	add(&g, 10 * MS, 1);
	assert_int_equal(g.mean_ns, 10 * MS);
	assert_int_equal(cot_gaps_scatter_milli(&g), 0);
	assert_int_equal(cot_wait_p99_ns(9 * MS, &g), 0); /* none meets another */
	assert_int_equal(cot_wait_p99_ns(10 * MS, &g), COT_WAIT_FOR_EVER);
	assert_int_equal(cot_wait_p99_ns(20 * MS, &g), COT_WAIT_FOR_EVER);
}

/* Two kinds of gaps, by turns: the mean is 10, the squares' 136, so 0.36 is what they scatter. */
static void test_scatter(void **state)
{
	struct cot_gaps g = {0};
	unsigned i;

	(void)state;
	for (i = 0; i < 100; i++)
		add(&g, i % 2 ? 16 * MS : 4 * MS, 1);
	assert_in_range(g.mean_ns / 1000, 9998, 10002);
	assert_in_range(cot_gaps_scatter_milli(&g), 359, 361);
	/* At half the load: 5 ms * 0.36 / (2 * 0.5) * ln(50). */
	assert_in_range(cot_wait_p99_ns(5 * MS, &g) / 1000, 7020, 7060);
	assert_int_equal(cot_wait_p99_ns(MS / 10, &g), 0); /* one in a hundred meets another */
}

/* What is far away, an idle hour, say, changes little. */
static void test_far(void **state)
{
	struct cot_gaps g = {0};

	(void)state;
	add(&g, MS, 1000);
	assert_int_equal(g.n, 256);
	add(&g, 3600ull * 1000 * MS, 1);
	assert_int_equal(g.mean_ns, MS + MS * 7 / 256);
	add(&g, 0, 1); /* at the same time */
	assert_in_range(g.mean_ns, MS + MS * 5 / 256, MS + MS * 7 / 256);
}

/* Gaps of a Poisson process, and a queue played beside the formula: it never promises too little,
 * and no more than twice as much. */
static void test_poisson(void **state)
{
	static const double loads[] = {0.2, 0.3, 0.5, 0.7};
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		double service = loads[i] * MS, left = 0.0;
		uint64_t promised, n_late = 0, n_half = 0, n;
		struct cot_rng rng = {7};
		struct cot_gaps g = {0};

		for (n = 0; n < 200000; n++) {
			double u = (double)(1 + cot_rng_below(&rng, 1000000)) / 1000001.0;

			add(&g, (uint64_t)(-cot_model_log(u) * MS), n < 256);
		}
		assert_in_range(g.mean_ns, MS * 8 / 10, MS * 12 / 10);
		g = (struct cot_gaps){.mean_ns = MS, .square = 2.0 * MS * MS, .n = 256};
		assert_int_equal(cot_gaps_scatter_milli(&g), 1000);
		promised = cot_wait_p99_ns((uint64_t)service, &g);
		for (n = 0; n < 200000; n++) {
			double u = (double)(1 + cot_rng_below(&rng, 1000000)) / 1000001.0;
			double gap = -cot_model_log(u) * MS;

			left = left + service > gap ? left + service - gap : 0.0;
			n_late += left > (double)promised;
			n_half += left > (double)promised / 2;
		}
		assert_true(n_late * 100 <= 200000);
		assert_true(n_half * 100 > 200000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_scatter),
		cmocka_unit_test(test_far),
		cmocka_unit_test(test_poisson),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
