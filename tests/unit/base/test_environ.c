/* The value of a variable in a block of an environment. */
#include <string.h>

#include "base/environ.h"
#include "test.h"

static const char block[] = "A=1\0ABC=\0AB=two\0=odd\0word\0AB=three\0B==\0LAST=x";

static const char *value(size_t size, const char *key)
{
	return cot_environ_value(block, size, key);
}

static void test_values(void **state)
{
	(void)state;
	assert_string_equal(value(sizeof(block), "A"), "1");
	assert_string_equal(value(sizeof(block), "ABC"), "");
	assert_string_equal(value(sizeof(block), "AB"), "two");
	assert_string_equal(value(sizeof(block), "B"), "=");
	assert_string_equal(value(sizeof(block), ""), "odd");
	assert_string_equal(value(sizeof(block), "LAST"), "x");
	assert_ptr_equal(value(sizeof(block), "A"), block + 2);
}

static void test_nothing(void **state)
{
	static const char *const keys[] = {"ABCD", "C", "word", "wor", "1", "two", "A=1", "LAST=x"};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		assert_null(value(sizeof(block), keys[i]));
	assert_null(cot_environ_value("", 0, "A"));
	assert_null(cot_environ_value("", 1, "A"));
	assert_null(cot_environ_value("A", 2, "A"));
}

/* Of what was cut off the last variable does not count, and nothing behind it is looked at. */
static void test_cut(void **state)
{
	size_t n;

	(void)state;
	for (n = 0; n < sizeof(block); n++) {
		assert_null(value(n, "LAST"));
		if (n >= 4)
			assert_string_equal(value(n, "A"), "1");
		else
			assert_null(value(n, "A"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
