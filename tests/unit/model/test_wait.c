/* How requests come, and how long they wait for each other. */
#include "model/number.h"
#include "model/wait.h"

#include "base/rng.h"
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
	add(&g, 10 * MS, 3);
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
	/* At half the load (1 + 2.772 * 0.36)^2.778 is e^3.6035 nearly, so 5 ms * 4.194 / 3.49. */
	assert_in_range(cot_wait_p99_ns(5 * MS, &g) / 1000, 5990, 6020);
	assert_in_range(cot_wait_p99_ns(MS / 10, &g), 0, MS / 50); /* hardly one meets another */
}

/* What is far away, an idle hour, say, changes little. */
static void test_far(void **state)
{
	struct cot_gaps g = {0};

	(void)state;
	add(&g, MS, 1000);
	assert_int_equal(g.n, 1000);
	add(&g, 3600ull * 1000 * MS, 1);
	assert_int_equal(g.mean_ns, MS + MS * 7 / 512);
	assert_in_range(cot_gaps_scatter_milli(&g), 30, 70);
	add(&g, 0, 1); /* at the same time */
	assert_in_range(g.mean_ns, MS + MS * 5 / 512, MS + MS * 7 / 512);
}

/* Gaps of a gamma distribution whose shape is one of 4, 2 and 1, as sums of exponential ones. */
static double gap(struct cot_rng *rng, unsigned shape)
{
	double sum = 0.0;
	unsigned i;

	for (i = 0; i < shape; i++)
		sum -= cot_model_log((double)(1 + cot_rng_below(rng, 1000000)) / 1000001.0);
	return sum * MS / shape;
}

/* A queue played beside the formula: so many of 1000 wait for longer than is promised. For Poisson
 * arrivals that is the one in a hundred, nearly; gaps that scatter less wait less. */
static double late_milli(double load, unsigned shape, double of_promised)
{
	struct cot_gaps g = {.mean_ns = MS, .square = (1.0 + 1.0 / shape) * MS * MS, .n = 256};
	double promised = of_promised * (double)cot_wait_p99_ns((uint64_t)(load * MS), &g);
	double left = 0.0, after;
	struct cot_rng rng = {7};
	uint64_t n_late = 0, n;

	for (n = 0; n < 200000; n++) {
		after = left + load * MS - gap(&rng, shape);
		left = after > 0.0 ? after : 0.0;
		n_late += left > promised;
	}
	return (double)n_late / 200.0;
}

static void test_queues(void **state)
{
	static const double loads[] = {0.1, 0.2, 0.3, 0.5, 0.7, 0.9};
	static const unsigned shapes[] = {1, 2, 4};
	unsigned i, k;

	(void)state;
	for (i = 0; i < 6; i++)
		for (k = 0; k < 3; k++) {
			double late = late_milli(loads[i], shapes[k], 1.0);

			print_message("load %.1f shape %u: %.2f of 1000 wait longer\n", loads[i],
				      shapes[k], late);
			assert_true(late <= 12.0);
			if (shapes[k] == 1)
				assert_true(late_milli(loads[i], 1, 0.9) > 10.0);
		}
}

/* As learned: about what the gaps of a Poisson process are. */
static void test_poisson(void **state)
{
	struct cot_rng rng = {7};
	struct cot_gaps g = {0};
	unsigned i;

	(void)state;
	for (i = 0; i < 256; i++)
		add(&g, (uint64_t)gap(&rng, 1), 1);
	assert_in_range(g.mean_ns, MS * 8 / 10, MS * 12 / 10);
	assert_in_range(cot_gaps_scatter_milli(&g), 700, 1300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_even),   cmocka_unit_test(test_scatter),
		cmocka_unit_test(test_far),    cmocka_unit_test(test_poisson),
		cmocka_unit_test(test_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
