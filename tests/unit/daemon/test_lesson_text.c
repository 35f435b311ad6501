/* The file of lessons as text: what is written can be read, and nothing else. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/lesson_text.h"
#include "test.h"

#define HEAD "cotenant lessons 1\n"

static struct cot_lesson read_back[COT_LESSONS_MAX];
static char text[COT_LESSON_TEXT_MAX + 4096];

static int read_text(const char *t, uint32_t *ret_n, struct cot_error *err)
{
	return cot_lesson_text_read(t, strlen(t), read_back, ret_n, err);
}

static void test_round_trip(void **state)
{
	const struct cot_lesson lessons[] = {
		{1, 0, {0}},
		{UINT64_MAX, UINT32_MAX, {UINT32_MAX, 1, 2, 3, 4, UINT32_MAX}},
	};
	size_t size = cot_lesson_text_write(lessons, 2, text);
	uint32_t n;

	(void)state;
	assert_int_equal(size, strlen(text));
	assert_string_equal(text, HEAD "1 0 0 0 0 0 0 0\n"
				       "18446744073709551615 4294967295 4294967295 1 2 3 4 "
				       "4294967295\n");
	assert_int_equal(read_text(text, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_memory_equal(&read_back[1].value, lessons[1].value, sizeof(lessons[1].value));
	assert_true(read_back[0].key == 1 && read_back[1].key == UINT64_MAX);
	assert_true(!read_back[0].kind && read_back[1].kind == UINT32_MAX);
	assert_int_equal(cot_lesson_text_write(NULL, 0, text), strlen(HEAD));
	assert_int_equal(read_text(text, &n, NULL), 0);
	assert_int_equal(n, 0);
}

/* As many as there may be, as long as they can be. */
static void test_the_longest(void **state)
{
	static struct cot_lesson lessons[COT_LESSONS_MAX];
	uint32_t n, i;
	size_t size;

	(void)state;
	for (i = 0; i < COT_LESSONS_MAX; i++)
		memset(&lessons[i], 0xff, sizeof(lessons[i]));
	size = cot_lesson_text_write(lessons, COT_LESSONS_MAX, text);
	assert_true(size < COT_LESSON_TEXT_MAX && size == strlen(text));
	assert_int_equal(read_text(text, &n, NULL), 0);
	assert_int_equal(n, COT_LESSONS_MAX);
	strcat(text, "1 0 0 0 0 0 0 0\n");
	assert_int_equal(read_text(text, &n, NULL), -EINVAL);
}

static void test_wrong_texts(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"", "line 1: expected 'cotenant lessons 1'"},
		{"cotenant lessons 2\n", "line 1: expected 'cotenant lessons 1'"},
		{"cotenant lessons 1", "line 1: expected 'cotenant lessons 1'"},
		{HEAD "1 0 0 0 0 0 0 0", NULL}, /* cut */
		{HEAD "1 0 0 0 0 0 0\n", NULL},
		{HEAD "1 0 0 0 0 0 0 0 0\n", NULL},
		{HEAD "0 0 0 0 0 0 0 0\n", NULL},
		{HEAD "1 4294967296 0 0 0 0 0 0\n", NULL},
		{HEAD "1 0 0 0 0 0 0 4294967296\n", NULL},
		{HEAD "18446744073709551616 0 0 0 0 0 0 0\n", NULL},
		{HEAD "-1 0 0 0 0 0 0 0\n", NULL},
		{HEAD "01 0 0 0 0 0 0 0\n", NULL},
		{HEAD "1  0 0 0 0 0 0\n", NULL},
		{HEAD " 1 0 0 0 0 0 0\n", NULL},
		{HEAD "1 0 0 0 0 0 0 0 \n", NULL},
		{HEAD "1 0 0 0 0 0 0 0\r\n", NULL},
		{HEAD "\n", NULL},
		{HEAD "1 0 0 0 0 0 0 0x\n", NULL},
	};
	struct cot_error err;
	uint32_t n = 7;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (read_text(cases[i].text, &n, &err) != -EINVAL)
			fail_msg("'%s' was taken", cases[i].text);
		assert_string_equal(err.text, cases[i].why ? cases[i].why
							   : "line 2: expected a key that is "
							     "not 0, a kind and six values");
	}
	assert_int_equal(n, 7);
	/* A zero in the midst of a number. */
	assert_int_equal(cot_lesson_text_read(HEAD "1\0 0 0 0 0 0 0 0\n", strlen(HEAD) + 17,
					      read_back, &n, NULL),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_the_longest),
		cmocka_unit_test(test_wrong_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
