/* Kernels of whole waves from times on fewer and fewer SMs. */
#include <math.h>

#include "base/compiler.h"
#include "model/waves.h"
#include "test.h"

/* A kernel of 16 blocks of 30 us, and one of 64 of 50 us. */
static double truth_us(uint32_t sms)
{
	return 30.0 * ((16 + sms - 1) / sms) + 50.0 * ((64 + sms - 1) / sms);
}

static void test_gives_them_back(void **state)
{
	static const uint32_t sms[] = {8, 16, 24, 32, 48, 64, 96, 132};
	struct cot_waves_sample samples[COT_ARRAY_LEN(sms)];
	struct cot_waves w;
	uint32_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(sms); i++)
		samples[i] = (struct cot_waves_sample){sms[i], truth_us(sms[i])};
	cot_waves_fit(samples, COT_ARRAY_LEN(sms), &w);
	for (i = 0; i < COT_ARRAY_LEN(sms); i++)
		assert_true(fabs(cot_waves_us(&w, sms[i]) / truth_us(sms[i]) - 1) < 1e-6);
	assert_true(w.n >= 2);
	for (i = 0; i < w.n; i++)
		assert_true(w.block_us[i] > 0);
	/* Between: two waves of the second kernel. */
	assert_true(fabs(cot_waves_us(&w, 40) - truth_us(40)) < 1);
}

/* More SMs that take longer: no time is negative, and the middle is met. */
static void test_cannot_fall(void **state)
{
	static const struct cot_waves_sample samples[] = {{32, 100}, {64, 110}};
	struct cot_waves w;

	(void)state;
	cot_waves_fit(samples, 2, &w);
	assert_int_equal(w.n, 1);
	assert_int_equal(w.blocks[0], 32);
	assert_true(w.block_us[0] > 100 && w.block_us[0] < 110);
}

static void test_one(void **state)
{
	static const struct cot_waves_sample sample = {132, 960};
	struct cot_waves w;

	(void)state;
	cot_waves_fit(&sample, 1, &w);
	assert_int_equal(w.n, 1);
	assert_true(fabs(cot_waves_us(&w, 132) - 960) < 1e-9);
	assert_true(fabs(cot_waves_us(&w, 66) - 2 * 960) < 1e-9);
	cot_waves_fit(&sample, 0, &w);
	assert_int_equal(w.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gives_them_back),
		cmocka_unit_test(test_cannot_fall),
		cmocka_unit_test(test_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
