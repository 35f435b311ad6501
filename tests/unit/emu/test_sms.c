/* Sets of SMs. */
#include "emu/gpu/sms.h"
#include "test.h"

static void sets_are_counted_and_listed(void **state)
{
	struct cot_emu_sms s = cot_emu_sms_first(132), none = {{0}};
	uint32_t list[COT_EMU_SMS_MOST], i;

	(void)state;
	assert_int_equal(cot_emu_sms_count(&s), 132);
	assert_int_equal(cot_emu_sms_count(&none), 0);
	assert_int_equal(cot_emu_sms_list(&s, list), 132);
	for (i = 0; i < 132; i++)
		assert_int_equal(list[i], i);
	assert_true(cot_emu_sms_has(&s, 131));
	assert_false(cot_emu_sms_has(&s, 132));
	s = cot_emu_sms_first(COT_EMU_SMS_MOST + 7);
	assert_int_equal(cot_emu_sms_count(&s), COT_EMU_SMS_MOST);
	assert_false(cot_emu_sms_has(&s, COT_EMU_SMS_MOST));
}

static void the_lowest_are_taken(void **state)
{
	struct cot_emu_sms s = cot_emu_sms_first(70), a = cot_emu_sms_take(&s, 33);
	struct cot_emu_sms b = cot_emu_sms_take(&s, 32), back;

	(void)state;
	assert_int_equal(cot_emu_sms_count(&a), 33);
	assert_true(cot_emu_sms_has(&a, 32));
	assert_true(cot_emu_sms_has(&b, 33));
	assert_true(cot_emu_sms_has(&b, 64));
	assert_int_equal(cot_emu_sms_count(&s), 5);
	assert_false(cot_emu_sms_meet(&a, &b));
	back = a;
	cot_emu_sms_add(&back, &b);
	assert_true(cot_emu_sms_meet(&back, &b));
	assert_false(cot_emu_sms_equal(&back, &a));
	cot_emu_sms_add(&back, &s);
	s = cot_emu_sms_first(70);
	assert_true(cot_emu_sms_equal(&back, &s));
	/* More than there are. */
	a = cot_emu_sms_take(&s, 100);
	assert_int_equal(cot_emu_sms_count(&a), 70);
	assert_int_equal(cot_emu_sms_count(&s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_are_counted_and_listed),
		cmocka_unit_test(the_lowest_are_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
