#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "test.h"

static void writes_the_sentence_and_returns_the_code(void **state)
{
	struct cot_error err = {.text = "old"};

	(void)state;
	assert_int_equal(cot_error_set(&err, -EINVAL, "%s:%d: expected %s", "a.yaml", 3, "a map"),
			 -EINVAL);
	assert_string_equal(err.text, "a.yaml:3: expected a map");
}

static void shows_no_control_characters(void **state)
{
	struct cot_error err;

	(void)state;
	(void)cot_error_set(&err, -EINVAL, "'%s' is not a name", "a\nb\033[2J\x7f \xc3\xa4");
	assert_string_equal(err.text, "'a?b?[2J? \xc3\xa4' is not a name");
}

static void takes_no_place_to_write_to(void **state)
{
	(void)state;
	assert_int_equal(cot_error_set(NULL, -ENOMEM, "out of %s", "memory"), -ENOMEM);
}

static void cuts_what_is_too_long(void **state)
{
	char text[2 * COT_ERROR_MAX];
	struct {
		struct cot_error err;
		unsigned char guard[16];
	} box;
	size_t i;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memset(&box, 0xa5, sizeof(box));
	assert_int_equal(cot_error_set(&box.err, -E2BIG, "%s", text), -E2BIG);
	assert_int_equal(strlen(box.err.text), COT_ERROR_MAX - 1);
	assert_memory_equal(box.err.text, text, COT_ERROR_MAX - 1);
	for (i = 0; i < sizeof(box.guard); i++)
		assert_int_equal(box.guard[i], 0xa5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_the_sentence_and_returns_the_code),
		cmocka_unit_test(shows_no_control_characters),
		cmocka_unit_test(takes_no_place_to_write_to),
		cmocka_unit_test(cuts_what_is_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
