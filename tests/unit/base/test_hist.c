#include <stdlib.h>

#include "base/hist.h"
#include "base/rng.h"
#include "test.h"

#define WIDTH 0.004 /* of a bucket, relative to its values */

static int create(void **state)
{
	*state = cot_hist_create();
	return *state ? 0 : -1;
}

static int destroy(void **state)
{
	cot_hist_destroy(*state);
	return 0;
}

static void assert_near(double got, double want, double tolerance)
{
	if (got < want - tolerance || got > want + tolerance)
		fail_msg("got %.17g, want %.17g +- %g", got, want, tolerance);
}

static void empty_is_all_zero(void **state)
{
	struct cot_hist *h = *state;

	assert_int_equal(cot_hist_count(h), 0);
	assert_int_equal(cot_hist_max(h), 0);
	assert_near(cot_hist_quantile(h, 0.5), 0.0, 0.0);
	assert_near(cot_hist_quantile(h, 1.0), 0.0, 0.0);
}

static void small_values_are_exact(void **state)
{
	struct cot_hist *h = *state;
	uint64_t v;

	for (v = 1; v <= 200; v++)
		cot_hist_add(h, v);
	assert_int_equal(cot_hist_count(h), 200);
	assert_int_equal(cot_hist_max(h), 200);
	assert_near(cot_hist_quantile(h, 0.5), 100.0, 0.0);
	assert_near(cot_hist_quantile(h, 0.99), 198.0, 0.0);
	assert_near(cot_hist_quantile(h, 1.0), 200.0, 0.0);
	assert_near(cot_hist_quantile(h, 1e-9), 1.0, 0.0);
}

/* The rank is ceil(q * n): of five values the median is the third, and 0.41 also means the third.
 */
static void rank_is_rounded_up(void **state)
{
	static const double several[] = {0.0, 0.4, 0.41, 0.5, 1.0};
	struct cot_hist *h = *state;
	double values[5];
	uint64_t v;

	for (v = 10; v <= 50; v += 10)
		cot_hist_add(h, v);
	assert_near(cot_hist_quantile(h, 0.4), 20.0, 0.0);
	assert_near(cot_hist_quantile(h, 0.41), 30.0, 0.0);
	cot_hist_quantiles(h, several, 5, values);
	assert_near(values[0], 10.0, 0.0);
	assert_near(values[1], 20.0, 0.0);
	assert_near(values[2], 30.0, 0.0);
	assert_near(values[3], 30.0, 0.0);
	assert_near(values[4], 50.0, 0.0);
	assert_near(cot_hist_quantile(h, 0.5), 30.0, 0.0);
	assert_near(cot_hist_quantile(h, 0.81), 50.0, 0.0);
}

/* A bucket with one distinct value gives it back exactly, however large it is. */
static void one_distinct_value_is_exact(void **state)
{
	struct cot_hist *h = *state;
	const uint64_t value = 123456789012345ull;
	int i;

	for (i = 0; i < 1000; i++)
		cot_hist_add(h, value);
	assert_near(cot_hist_quantile(h, 0.5), (double)value, 0.0);
	assert_int_equal(cot_hist_max(h), value);
}

static void takes_the_extremes(void **state)
{
	struct cot_hist *h = *state;

	cot_hist_add(h, 0);
	cot_hist_add(h, UINT64_MAX);
	assert_int_equal(cot_hist_count(h), 2);
	assert_true(cot_hist_max(h) == UINT64_MAX);
	assert_near(cot_hist_quantile(h, 0.5), 0.0, 0.0);
	assert_near(cot_hist_quantile(h, 1.0), (double)UINT64_MAX, WIDTH * (double)UINT64_MAX);
}

/* One value on each side of every power of two: buckets must neither overlap nor leave gaps. */
static void order_holds_at_bucket_edges(void **state)
{
	struct cot_hist *h = *state;
	unsigned shift, rank = 0;

	for (shift = 1; shift < 63; shift++) {
		cot_hist_add(h, (1ull << shift) - 1);
		cot_hist_add(h, 1ull << shift);
	}
	/* The powers 1 and 2 share no value but 2^1 - 1 = 1 comes first, then 2, 3, 4, 7, 8... */
	for (shift = 1; shift < 63; shift++) {
		double n = (double)cot_hist_count(h);
		double below = cot_hist_quantile(h, ((double)++rank - 0.5) / n);
		double power = cot_hist_quantile(h, ((double)++rank - 0.5) / n);

		assert_near(below, (double)((1ull << shift) - 1), 0.0);
		assert_near(power, (double)(1ull << shift), 0.0);
	}
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Random values over many magnitudes: every percentile is within one bucket of the true one. */
static void quantiles_are_near_the_sorted_ones(void **state)
{
	enum { N = 20000 };
	struct cot_hist *h = *state;
	struct cot_rng rng = {99};
	uint64_t *values = malloc(N * sizeof(*values));
	int i;

	assert_non_null(values);
	print_message("seed %llu\n", (unsigned long long)rng.state);
	for (i = 0; i < N; i++) {
		values[i] = cot_rng_next(&rng) >> cot_rng_below(&rng, 60);
		cot_hist_add(h, values[i]);
	}
	qsort(values, N, sizeof(*values), compare_u64);
	for (i = 1; i <= 100; i++) {
		double want = (double)values[(size_t)i * N / 100 - 1];

		/* q a hair below the rank, so that its product cannot round up to the next. */
		assert_near(cot_hist_quantile(h, i / 100.0 - 1e-7), want, WIDTH * want);
	}
	assert_true(cot_hist_max(h) == values[N - 1]);
	free(values);
}

static void destroy_takes_null(void **state)
{
	(void)state;
	cot_hist_destroy(NULL);
}

#define with_hist(f) cmocka_unit_test_setup_teardown(f, create, destroy)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_hist(empty_is_all_zero),
		with_hist(small_values_are_exact),
		with_hist(rank_is_rounded_up),
		with_hist(one_distinct_value_is_exact),
		with_hist(takes_the_extremes),
		with_hist(order_holds_at_bucket_edges),
		with_hist(quantiles_are_near_the_sorted_ones),
		cmocka_unit_test(destroy_takes_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
