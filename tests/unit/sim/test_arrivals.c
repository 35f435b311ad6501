/* Arrivals: mean and spread of each kind, and the same bits with every compiler. */
#include <math.h>

#include "base/units.h"
#include "sim/arrivals.h"
#include "sim/series.h"
#include "test.h"

#define N	 200000u
#define MS	 (1000 * COT_PS_PER_US)
#define START_PS (7 * MS)

/* Of counts in windows of equal length: how much they vary, 1 for a Poisson process. */
#define WINDOWS 2000u

struct picture {
	double mean_gap_us, cv; /* of gaps */
	double dispersion;	/* variance of counts over their mean */
	uint64_t last_ps, hash;
};

static struct picture look(const struct cot_arrivals *desc, uint64_t window_ps)
{
	static uint32_t counts[WINDOWS];
	uint64_t before = START_PS, hash = 0, window;
	double sum = 0, squares = 0, mean = 0, variance = 0;
	struct arrivals a;
	struct picture p;
	uint32_t i;

	for (i = 0; i < WINDOWS; i++)
		counts[i] = 0;
	cot_arrivals_start(&a, desc, 42, START_PS);
	for (i = 0; i < N; i++) {
		uint64_t t_ps = cot_arrivals_next(&a);
		double gap_us = cot_us_from_ps(t_ps - before);

		assert_true(t_ps >= before);
		sum += gap_us;
		squares += gap_us * gap_us;
		window = (t_ps - START_PS) / window_ps;
		if (window < WINDOWS)
			counts[window]++;
		hash = cot_hash64(hash, t_ps);
		before = t_ps;
	}
	assert_true((before - START_PS) / window_ps >= WINDOWS);
	for (i = 0; i < WINDOWS; i++)
		mean += (double)counts[i] / WINDOWS;
	for (i = 0; i < WINDOWS; i++)
		variance += (counts[i] - mean) * (counts[i] - mean) / WINDOWS;
	p.mean_gap_us = sum / N;
	p.cv = sqrt(squares / N - p.mean_gap_us * p.mean_gap_us) / p.mean_gap_us;
	p.dispersion = variance / mean;
	p.last_ps = before;
	p.hash = hash;
	return p;
}

static void near(double value, double expected, double part)
{
	if (fabs(value - expected) > part * expected)
		fail_msg("%f; expected %f within %.1f %%", value, expected, 100 * part);
}

static void test_even(void **state)
{
	const struct cot_arrivals desc = {.per_s = 4000, .gaps = COT_GAPS_EVEN};
	struct arrivals a;
	uint32_t i;

	(void)state;
	cot_arrivals_start(&a, &desc, 1, START_PS);
	for (i = 1; i <= 1000; i++) {
		uint64_t t_ps = cot_arrivals_next(&a), expected = START_PS + i * MS / 4;

		assert_in_range(t_ps, expected - i, expected);
	}
}

/* Gaps of a Poisson process vary as much as they are long, and so do counts. */
static void test_poisson(void **state)
{
	const struct cot_arrivals desc = {.per_s = 1000};
	struct picture p = look(&desc, 20 * MS);

	(void)state;
	near(p.mean_gap_us, 1000, 0.01);
	near(p.cv, 1, 0.01);
	near(p.dispersion, 1, 0.1);
	assert_int_equal(p.hash, 0x9f30a7b9f4f6f85f);
}

/* In bursts the rate is higher, so that the mean stays; counts over some of them vary much more. */
static void test_bursts(void **state)
{
	const struct cot_arrivals desc = {.per_s = 1000, .on_ps = 20 * MS, .off_ps = 60 * MS};
	struct picture p = look(&desc, 20 * MS);

	(void)state;
	near(p.mean_gap_us, 1000, 0.03);
	assert_true(p.cv > 2);
	assert_true(p.dispersion > 10);
	assert_int_equal(p.hash, 0xcc3cf1bcc782a14c);
}

/* Each step of the curve has its part, and steps of 0 have nothing. */
static void test_curve(void **state)
{
	const struct cot_arrivals desc = {
		.per_s = 1000, .n_curve = 4, .curve = {0.5, 2, 0, 1}, .curve_step_ps = 50 * MS};
	uint64_t counts[4] = {0}, t_ps, end_ps = START_PS + 4000 * 50 * MS;
	struct arrivals a;
	struct picture p = look(&desc, 50 * MS);

	(void)state;
	cot_arrivals_start(&a, &desc, 1, START_PS);
	while ((t_ps = cot_arrivals_next(&a)) < end_ps)
		counts[(t_ps - START_PS) / (50 * MS) % 4]++;
	near((double)counts[0], 1000 * 25, 0.03);
	near((double)counts[1], 1000 * 100, 0.03);
	assert_int_equal(counts[2], 0);
	near((double)counts[3], 1000 * 50, 0.03);
	assert_int_equal(p.hash, 0x70d2f4c064b6a9ce);
}

/* Even gaps through a curve: the rate that holds counts, also within a gap. */
static void test_even_gap_over_steps(void **state)
{
	const struct cot_arrivals desc = {.per_s = 100,
					  .gaps = COT_GAPS_EVEN,
					  .n_curve = 2,
					  .curve = {0.5, 1.5},
					  .curve_step_ps = 10 * MS};
	struct arrivals a;

	(void)state;
	cot_arrivals_start(&a, &desc, 1, 0);
	/* Half of a request in the first 10 ms, the rest at 150 a second. */
	assert_in_range(cot_arrivals_next(&a), 13333333333 - 2, 13333333333 + 2);
	/* One at 150 a second would be at 20 ms sharp. */
	assert_in_range(cot_arrivals_next(&a), 20 * MS - 2, 20 * MS + 2);
	assert_in_range(cot_arrivals_next(&a), 33333333333 - 4, 33333333333 + 4);
}

/* A closed loop: each from the answer before, by the same gaps as in an open one; also after many
 * bursts. */
static void test_after(void **state)
{
	const struct cot_arrivals open = {.per_s = 1000};
	const struct cot_arrivals closed = {.per_s = 1000, .gaps = COT_GAPS_AFTER};
	const struct cot_arrivals bursts = {
		.per_s = 1000, .gaps = COT_GAPS_AFTER, .on_ps = 2 * MS, .off_ps = 8 * MS};
	uint64_t before_ps = START_PS, at_ps = START_PS, t_ps, answer_ps;
	struct arrivals a, b;
	uint32_t i;
	double sum = 0;

	(void)state;
	cot_arrivals_start(&a, &open, 42, START_PS);
	cot_arrivals_start(&b, &closed, 42, START_PS);
	for (i = 0; i < 1000; i++) {
		t_ps = cot_arrivals_next(&a);
		cot_arrivals_answered(&a, t_ps + 5 * MS); /* it does not care */
		answer_ps = at_ps + 5 * MS;
		cot_arrivals_answered(&b, answer_ps);
		at_ps = cot_arrivals_next(&b);
		/* The same gap, but for a double's last bits of a longer time. */
		assert_in_range(at_ps - answer_ps + 2, t_ps - before_ps, t_ps - before_ps + 4);
		before_ps = t_ps;
	}
	cot_arrivals_start(&b, &bursts, 42, START_PS);
	at_ps = START_PS;
	for (i = 0; i < 20000; i++) {
		cot_arrivals_answered(&b, at_ps + 30 * MS);
		t_ps = cot_arrivals_next(&b);
		assert_true(t_ps >= at_ps + 30 * MS);
		sum += cot_us_from_ps(t_ps - at_ps - 30 * MS);
		at_ps = t_ps;
	}
	/* An answer falls into a pause four times of five, of which 8 ms are left in the mean. From
	 * a burst on a request comes within 0.2 ms, but for one of eleven times, when that burst
	 * ends before: 1 ms in the mean. */
	near(sum / 20000, 0.8 * 8000 + 1000, 0.05);
}

/* Another seed, other times; the same seed, the same. */
static void test_seeds(void **state)
{
	const struct cot_arrivals desc = {.per_s = 1000};
	struct arrivals a, b, c;
	unsigned i, same = 0;

	(void)state;
	cot_arrivals_start(&a, &desc, 1, 0);
	cot_arrivals_start(&b, &desc, 1, 0);
	cot_arrivals_start(&c, &desc, 2, 0);
	for (i = 0; i < 100; i++) {
		uint64_t t_ps = cot_arrivals_next(&a);

		assert_int_equal(t_ps, cot_arrivals_next(&b));
		same += t_ps == cot_arrivals_next(&c);
	}
	assert_int_equal(same, 0);
}

/* No rate at all: never, and soon told. */
static void test_never(void **state)
{
	const struct cot_arrivals desc = {
		.per_s = 1000, .n_curve = 1, .curve = {0}, .curve_step_ps = UINT64_MAX / 64};
	struct arrivals a;

	(void)state;
	cot_arrivals_start(&a, &desc, 1, 0);
	assert_true(cot_arrivals_next(&a) == UINT64_MAX);
	assert_true(cot_arrivals_next(&a) == UINT64_MAX);
}

static void test_series(void **state)
{
	double x;

	(void)state;
	for (x = 1; x <= 5; x += 0.01)
		assert_true(fabs(cot_ln_series(x) - log(x)) < 1e-14);
	for (x = -5; x <= 5; x += 0.01)
		assert_true(fabs(cot_exp_series(x) / exp(x) - 1) < 1e-10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_poisson),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_curve),
		cmocka_unit_test(test_even_gap_over_steps),
		cmocka_unit_test(test_after),
		cmocka_unit_test(test_seeds),
		cmocka_unit_test(test_never),
		cmocka_unit_test(test_series),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
