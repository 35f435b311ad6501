/* The just-enough quota: the repair of predicted times, the budget, the choice. */
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "model/quota.h"
#include "test.h"

static void more_of_the_gpu_never_takes_longer(void **state)
{
	uint64_t t[10] = {420, 230, 168, 171, 120, 96, 99, 80, 78, 76};
	static const uint64_t repaired[10] = {420, 230, 168, 168, 120, 96, 96, 80, 78, 76};

	(void)state;
	cot_quota_repair(t, 10);
	assert_memory_equal(t, repaired, sizeof(t));
	assert_int_equal(cot_quota_just_enough(t, 10, 170), 2);
	assert_int_equal(cot_quota_just_enough(t, 10, 100), 5);
	assert_int_equal(cot_quota_just_enough(t, 10, 76), 9);
	assert_int_equal(cot_quota_just_enough(t, 10, 420), 0);
	assert_int_equal(cot_quota_just_enough(t, 10, 75), 9);
	assert_int_equal(cot_quota_just_enough(t, 10, 0), 9);
	assert_int_equal(cot_quota_just_enough(t, 1, 0), 0);
}

/* Products of 4096 x 4096 matrices on parts of an H200. */
static void parts_of_an_h200(void **state)
{
	static const uint32_t sms[] = {8, 32, 64, 112, 128, 132};
	static const uint64_t us[] = {2492, 658, 364, 264, 229, 191};
	static const struct {
		uint64_t budget;
		uint32_t sms;
	} cases[] = {{370, 64}, {300, 112}, {200, 132}, {100, 132}};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++)
		assert_int_equal(sms[cot_quota_just_enough(us, 6, cases[i].budget)], cases[i].sms);
}

static void waiting_and_transfers_cost_of_the_budget(void **state)
{
	(void)state;
	assert_int_equal(cot_quota_budget(100, 10, 5, 3), 82);
	assert_int_equal(cot_quota_budget(100, 0, 0, 0), 100);
	assert_int_equal(cot_quota_budget(100, 101, 5, 3), 0);
	assert_int_equal(cot_quota_budget(100, 90, 11, 3), 0);
	assert_int_equal(cot_quota_budget(100, 90, 5, 6), 0);
	assert_int_equal(cot_quota_budget(100, UINT64_MAX, UINT64_MAX, UINT64_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(more_of_the_gpu_never_takes_longer),
		cmocka_unit_test(parts_of_an_h200),
		cmocka_unit_test(waiting_and_transfers_cost_of_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
