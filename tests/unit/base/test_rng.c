#include "base/rng.h"
#include "test.h"

/* The published outputs of SplitMix64 for seed 1234567 (its reference implementation). */
static void matches_the_reference_stream(void **state)
{
	static const uint64_t expected[] = {
		6457827717110365317ull, 3203168211198807973ull,	 9817491932198370423ull,
		4593380528125082431ull, 16408922859458223821ull,
	};
	struct cot_rng rng = {1234567};
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(expected); i++)
		assert_true(cot_rng_next(&rng) == expected[i]);
}

static void equal_seeds_give_equal_streams(void **state)
{
	struct cot_rng a = {42}, b = {42}, c = {43};
	unsigned i, n_same = 0;

	(void)state;
	for (i = 0; i < 1000; i++) {
		uint64_t x = cot_rng_next(&a);

		assert_true(x == cot_rng_next(&b));
		n_same += x == cot_rng_next(&c);
	}
	assert_int_equal(n_same, 0);
}

static void below_stays_below(void **state)
{
	static const uint64_t limits[] = {1, 2, 3, 1000, 1ull << 32, UINT64_MAX};
	struct cot_rng rng = {7};
	size_t i;
	int j;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(limits); i++)
		for (j = 0; j < 10000; j++)
			assert_true(cot_rng_below(&rng, limits[i]) < limits[i]);
}

/* Chi-squared with 9 degrees of freedom: 33.7 has a chance of 1 in 10000; the seed is fixed. */
static void below_is_uniform(void **state)
{
	enum { N = 100000, BINS = 10 };
	struct cot_rng rng = {2014};
	unsigned counts[BINS] = {0};
	double chi2 = 0.0;
	int i;

	(void)state;
	for (i = 0; i < N; i++)
		counts[cot_rng_below(&rng, BINS)]++;
	for (i = 0; i < BINS; i++) {
		double diff = (double)counts[i] - (double)N / BINS;

		chi2 += diff * diff / ((double)N / BINS);
	}
	assert_true(chi2 < 33.7);
}

static unsigned n_bits(uint64_t x)
{
	return (unsigned)__builtin_popcountll(x);
}

/* Flipping any one input bit changes about half of the output bits. */
static void mixing_spreads_every_bit(void **state)
{
	unsigned bit, total = 0;
	uint64_t x;

	(void)state;
	for (bit = 0; bit < 64; bit++)
		for (x = 1; x <= 64; x++)
			total += n_bits(cot_mix64(x) ^ cot_mix64(x ^ (1ull << bit)));
	assert_in_range(total, 64 * 64 * 31, 64 * 64 * 33);
}

static void hash_depends_on_order(void **state)
{
	(void)state;
	assert_true(cot_hash64(cot_hash64(0, 1), 2) != cot_hash64(cot_hash64(0, 2), 1));
	assert_true(cot_hash64(0, 0) != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_the_reference_stream),
		cmocka_unit_test(equal_seeds_give_equal_streams),
		cmocka_unit_test(below_stays_below),
		cmocka_unit_test(below_is_uniform),
		cmocka_unit_test(mixing_spreads_every_bit),
		cmocka_unit_test(hash_depends_on_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
