#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/quantity.h"
#include "test.h"

/* is -1: the text is refused; else the number, and whether it is whole. */
static void test_read(void **state)
{
	static const struct {
		const char *text;
		enum cot_unit wanted;
		double is;
		bool whole;
	} cases[] = {
		{"5ms", COT_UNIT_US, 5000, true},
		{"5", COT_UNIT_US, 5, true},
		{"0", COT_UNIT_US, 0, true},
		{"0.5", COT_UNIT_US, 0.5, false},
		{"0.07ms", COT_UNIT_US, 70, true},
		{"0.1us", COT_UNIT_US, 0.1, false},
		{"1ns", COT_UNIT_US, 0.001, false},
		{"1.5s", COT_UNIT_NS, 1500000000, true},
		{"2min", COT_UNIT_S, 120, true},
		{"1h", COT_UNIT_MS, 3600000, true},
		{"90s", COT_UNIT_MIN, 1.5, false},
		{"1KiB", COT_UNIT_B, 1024, true},
		{"1kB", COT_UNIT_B, 1000, true},
		{"1.5GiB", COT_UNIT_MIB, 1536, true},
		{"4.8TB/s", COT_UNIT_GB_S, 4800, true},
		{"1.98GHz", COT_UNIT_MHZ, 1980, true},
		{"1.5x", COT_UNIT_PERMILLE, 1500, true},
		{"80%", COT_UNIT_PERMILLE, 800, true},
		{"999999999999999999h", COT_UNIT_H, 999999999999999999.0, true},
		{"", COT_UNIT_US, -1, false},
		{"ms", COT_UNIT_US, -1, false},
		{"5 ms", COT_UNIT_US, -1, false},
		{"5ms ", COT_UNIT_US, -1, false},
		{" 5ms", COT_UNIT_US, -1, false},
		{"-5ms", COT_UNIT_US, -1, false},
		{"+5ms", COT_UNIT_US, -1, false},
		{"05ms", COT_UNIT_US, -1, false},
		{".5ms", COT_UNIT_US, -1, false},
		{"5.ms", COT_UNIT_US, -1, false},
		{"1.2.3ms", COT_UNIT_US, -1, false},
		{"5MS", COT_UNIT_US, -1, false},
		{"5m", COT_UNIT_US, -1, false},
		{"5sm", COT_UNIT_US, -1, false},
		{"5KiB", COT_UNIT_US, -1, false},
		{"5ms", COT_UNIT_B, -1, false},
		{"1e3us", COT_UNIT_US, -1, false},
		{"1234567890123456789s", COT_UNIT_S, -1, false},
		{"0.1234567891s", COT_UNIT_S, -1, false},
	};
	struct cot_quantity q;
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		double is = -1;
		bool whole = false;

		if (cot_quantity_read(cases[i].text, cases[i].wanted, &q)) {
			is = q.number;
			whole = q.is_whole;
			if (whole && (double)q.whole - is != 0)
				fail_msg("'%s': %llu is not %g", cases[i].text,
					 (unsigned long long)q.whole, is);
		}
		if (is - cases[i].is != 0 || whole != cases[i].whole)
			fail_msg("'%s' is %.17g", cases[i].text, is);
	}
}

/* 2^64 of the wanted unit are no whole number that a caller can have. */
static void test_too_large(void **state)
{
	struct cot_quantity q;

	(void)state;
	assert_true(cot_quantity_read("99999999999999999h", COT_UNIT_NS, &q));
	assert_false(q.is_whole);
	assert_true(q.number > 3.5e29);
}

static void test_the_unit_as_written(void **state)
{
	struct cot_quantity q;

	(void)state;
	assert_true(cot_quantity_read("5", COT_UNIT_MS, &q));
	assert_int_equal(q.unit, COT_UNIT_NONE);
	assert_true(cot_quantity_read("5s", COT_UNIT_MS, &q));
	assert_int_equal(q.unit, COT_UNIT_S);
}

static void test_whole_within(void **state)
{
	uint64_t n = 7;

	(void)state;
	assert_true(cot_quantity_whole("2ms", COT_UNIT_US, 1, 2000, &n));
	assert_int_equal(n, 2000);
	assert_false(cot_quantity_whole("2.001ms", COT_UNIT_US, 1, 2000, &n));
	assert_false(cot_quantity_whole("0us", COT_UNIT_US, 1, 2000, &n));
	assert_false(cot_quantity_whole("0.5us", COT_UNIT_US, 0, 2000, &n));
	assert_int_equal(n, 2000);
}

static void test_words(void **state)
{
	char list[COT_UNIT_LIST_MAX];
	enum cot_unit unit;
	struct cot_quantity q;

	(void)state;
	assert_string_equal(cot_unit_list(COT_UNIT_US, list), "ns, us, ms, s, min or h");
	assert_string_equal(cot_unit_list(COT_UNIT_GHZ, list), "MHz or GHz");
	for (unit = COT_UNIT_NS; unit < COT_N_UNITS; unit++) {
		char text[16];

		assert_true(strlen(cot_unit_list(unit, list)) + 1 < sizeof(list));
		(void)snprintf(text, sizeof(text), "3%s", cot_unit_word(unit));
		assert_true(cot_quantity_read(text, unit, &q) && q.is_whole && q.whole == 3);
		assert_int_equal(q.unit, unit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_the_unit_as_written),
		cmocka_unit_test(test_whole_within),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
