#include "sim/jitter.h"
#include "test.h"

#define ONE	  4294967296.0 /* of the table's fixed point */
#define N_SAMPLES 400000

static const double cvs[] = {0.01, 0.1, 0.3, 0.7, 1.0, 2.0};

static void assert_near(double got, double want, double tolerance)
{
	if (got < want - tolerance || got > want + tolerance)
		fail_msg("got %.9g, want %.9g +- %g", got, want, tolerance);
}

/* The mean and the mean square of the piecewise linear quantile function, exactly. */
static void moments(const struct jitter *j, double *ret_mean, double *ret_square)
{
	uint32_t i;

	*ret_mean = *ret_square = 0.0;
	for (i = 0; i < COT_JITTER_BINS; i++) {
		double a = (double)j->mult_q32[i] / ONE, b = (double)j->mult_q32[i + 1] / ONE;

		*ret_mean += (a + b) / 2.0 / COT_JITTER_BINS;
		*ret_square += (a * a + a * b + b * b) / 3.0 / COT_JITTER_BINS;
	}
}

static void the_mean_is_one(void **state)
{
	struct jitter j;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cvs); i++) {
		double mean, square;

		cot_jitter_init(&j, cvs[i]);
		moments(&j, &mean, &square);
		assert_near(mean, 1.0, 1e-9);
	}
}

/* The tails are cut, which costs the widest distribution 5 % of its spread. */
static void the_spread_is_as_asked(void **state)
{
	struct jitter j;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cvs); i++) {
		double mean, square;

		cot_jitter_init(&j, cvs[i]);
		moments(&j, &mean, &square);
		assert_near((square - mean * mean) / (cvs[i] * cvs[i]), 1.0,
			    cvs[i] > 1.0 ? 0.1 : 0.02);
	}
}

/* What the blocks get is what the table says, up to the widest bins. */
static void samples_follow_the_table(void **state)
{
	const uint64_t mean_ps = 1000000000;
	struct jitter j;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cvs); i++) {
		double sum = 0.0, squares = 0.0, mean, square;
		uint32_t n;

		cot_jitter_init(&j, cvs[i]);
		for (n = 0; n < N_SAMPLES; n++) {
			double x = (double)jitter_block_ps(&j, 99, n, mean_ps) / (double)mean_ps;

			sum += x;
			squares += x * x;
		}
		mean = sum / N_SAMPLES;
		square = squares / N_SAMPLES;
		/* four standard errors */
		assert_near(mean, 1.0, 4.0 * cvs[i] / 632.0);
		assert_near((square - mean * mean) / (cvs[i] * cvs[i]), 1.0,
			    cvs[i] > 0.5 ? 0.2 : 0.03);
	}
}

static void quantiles_rise(void **state)
{
	struct jitter j;
	uint32_t i;

	(void)state;
	cot_jitter_init(&j, 0.3);
	assert_true(j.mult_q32[0] > 0);
	for (i = 0; i < COT_JITTER_BINS; i++)
		assert_true(j.mult_q32[i] < j.mult_q32[i + 1]);
}

/* Every compiler and machine must agree on these. */
static void the_table_is_the_same_everywhere(void **state)
{
	static const uint64_t tenth[] = {2964030856, 3995583505, 4273661215, 4571092097,
					 6161939962},
			      two[] = {18337175, 818131931, 1925047168, 4529595363, 202092559206};
	struct jitter j;
	unsigned i;

	(void)state;
	cot_jitter_init(&j, 0.1);
	for (i = 0; i < 5; i++)
		assert_int_equal(j.mult_q32[i * 512], tenth[i]);
	cot_jitter_init(&j, 2.0);
	for (i = 0; i < 5; i++)
		assert_int_equal(j.mult_q32[i * 512], two[i]);
}

static void block_times_are_the_same_everywhere(void **state)
{
	static const uint64_t tenth[] = {860618, 967717, 804826, 1131060},
			      three_tenths[] = {624893, 882493, 513028, 1396551};
	struct jitter j;
	uint32_t i;

	(void)state;
	cot_jitter_init(&j, 0.1);
	for (i = 0; i < 4; i++)
		assert_int_equal(jitter_block_ps(&j, 7, i, 1000000), tenth[i]);
	assert_int_equal(jitter_block_ps(&j, UINT64_MAX, 4000000000u, 31245000000ull), 32368548266);
	assert_int_equal(jitter_block_ps(&j, 1, 1, 1), 1); /* never nothing */
	cot_jitter_init(&j, 0.3);
	for (i = 0; i < 4; i++)
		assert_int_equal(jitter_block_ps(&j, 7, i, 1000000), three_tenths[i]);
	cot_jitter_init(&j, 2.0);
	assert_int_equal(jitter_block_ps(&j, 7, 7620, 1000000), 33239702); /* in the last bin */
}

/* The launch matters, and so does the block. */
static void blocks_and_launches_differ(void **state)
{
	struct jitter j;
	uint32_t i, same = 0;

	(void)state;
	cot_jitter_init(&j, 0.3);
	for (i = 0; i < 1000; i++) {
		uint64_t t = jitter_block_ps(&j, 1, i, 1000000000);

		same += t == jitter_block_ps(&j, 2, i, 1000000000);
		same += t == jitter_block_ps(&j, 1, i + 1, 1000000000);
	}
	assert_true(same < 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mean_is_one),
		cmocka_unit_test(the_spread_is_as_asked),
		cmocka_unit_test(samples_follow_the_table),
		cmocka_unit_test(quantiles_rise),
		cmocka_unit_test(the_table_is_the_same_everywhere),
		cmocka_unit_test(block_times_are_the_same_everywhere),
		cmocka_unit_test(blocks_and_launches_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
