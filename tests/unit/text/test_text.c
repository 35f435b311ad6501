/* Which bytes are text: the ends of every range of characters, by their number. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "test.h"
#include "text/csv.h"
#include "text/text.h"

static const struct {
	const char *bytes;
	bool text;
} cases[] = {
	{"\x1f", false},
	{" ", true},
	{"~", true},
	{"\x7f", false},
	{"\t\r\n", true},
	{"\v", false},
	{"\x80", false},
	{"\xc1\xbf", false},
	{"\xc2\x9f", false},
	{"\xc2\xa0", true},
	{"\xdf\xbf", true},
	{"\xc3", false},
	{"\xc3z", false},
	{"\xe0\x9f\xbf", false},
	{"\xe0\xa0\x80", true},
	{"\xe0\xbf\xbf", true},
	{"\xe1\x80\x80", true},
	{"\xed\x9f\xbf", true},
	{"\xed\xa0\x80", false},
	{"\xed\xbf\xbf", false},
	{"\xee\x80\x80", true},
	{"\xe2\x80\xa7", true},
	{"\xe2\x80\xa8", false},
	{"\xe2\x80\xa9", false},
	{"\xe2\x80\xaa", true},
	{"\xef\xbf\xbd", true},
	{"\xef\xbf\xbe", false},
	{"a\xef\xbb\xbf", false},
	{"\xe1\x80", false},
	{"\xe1\x80z", false},
	{"\xf0\x8f\xbf\xbf", false},
	{"\xf0\x90\x80\x80", true},
	{"\xf4\x8f\xbf\xbf", true},
	{"\xf4\x90\x80\x80", false},
	{"\xf5\x80\x80\x80", false},
	{"\xf1\x80\x80", false},
	{"\xf1\x80\x80z", false},
};

static void characters(void **state)
{
	struct cot_error err;
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		size_t size = strlen(cases[i].bytes);
		/* Exactly as long: a sanitizer sees a byte that is read behind it. */
		char *copy = memcpy(malloc(size), cases[i].bytes, size);
		int rc = cot_text_check("t", copy, size, &err);

		if (cases[i].text != !rc)
			fail_msg("case %zu: %s", i, rc ? err.text : "taken for text");
		free(copy);
	}
}

/* A mark at the start is none of the text; line and column are those of the byte. */
static void places(void **state)
{
	static const char text[] = "\xef\xbb\xbf"
				   "a\n\xc3\xa9 \x01";
	struct cot_error err;

	(void)state;
	assert_int_equal(cot_text_check("f", text, sizeof(text) - 2, &err), 0);
	assert_int_equal(cot_text_check("f", text, sizeof(text) - 1, &err), -22);
	assert_string_equal(err.text, "f:2:3: byte 0x01 is not text; expected UTF-8 without "
				      "control characters");
	assert_int_equal(cot_text_bom(text, 3), 3);
	assert_int_equal(cot_text_bom(text, 2), 0);
	assert_int_equal(cot_text_bom(text + 1, 3), 0);
	assert_int_equal(cot_text_check("f", "", 0, &err), 0);
}

static void nothing_is_destroyed(void **state)
{
	(void)state;
	cot_csv_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters),
		cmocka_unit_test(places),
		cmocka_unit_test(nothing_is_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
