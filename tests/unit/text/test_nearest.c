/* Which word was meant. */
#include "test.h"
#include "text/nearest.h"

static const char *meant(const char *word)
{
	static const char *const words[] = {
		"run",	  "set",  "sim",	"stats",
		"freeze", "thaw", "preemption", "a-word-that-is-longer-than-letters-are"};
	struct cot_nearest n = {.word = word};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		cot_nearest_try(&n, words[i]);
	return n.found;
}

static void the_nearest_word_is_found(void **state)
{
	(void)state;
	assert_string_equal(meant("preemtion"), "preemption");
	assert_string_equal(meant("preeemptoin"), "preemption");
	assert_string_equal(meant("freez"), "freeze");
	assert_string_equal(meant("feerze"), "freeze");
	assert_string_equal(meant("stast"), "stats");
	assert_string_equal(meant("sm"), "sim");
	assert_string_equal(meant("siim"), "sim");
	assert_string_equal(meant("thaw"), "thaw");
	/* Of "set" and "sim" the first is as near as the second. */
	assert_string_equal(meant("sem"), "set");
}

static void a_word_far_from_all_is_near_to_none(void **state)
{
	(void)state;
	assert_null(meant("zzz"));
	assert_null(meant(""));
	assert_null(meant("rnu-it"));
	/* Two letters of five, three of ten. */
	assert_null(meant("stXXs"));
	assert_null(meant("preemXYZon"));
	assert_string_equal(meant("preemXYion"), "preemption");
	assert_null(meant("a-word-that-is-longer-than-letters-ar"));
}

static void a_long_word_is_not_compared(void **state)
{
	struct cot_nearest n = {.word = "123456789012345678901234567890123"};

	(void)state;
	cot_nearest_try(&n, "12345678901234567890123456789012");
	assert_null(n.found);
	n.word = "12345678901234567890123456789012";
	cot_nearest_try(&n, "123456789012345678901234567890123");
	assert_null(n.found);
	cot_nearest_try(&n, "1234567890123456789012345678901X");
	assert_non_null(n.found);
}

static void the_hint_is_at_the_nearest_of_a_list(void **state)
{
	static const char *const words[] = {"latency", "batch"};
	char hint[COT_NEAREST_HINT_MAX];

	(void)state;
	assert_string_equal(cot_nearest_of("bacth", words, 2, hint), " (did you mean 'batch'?)");
	assert_string_equal(cot_nearest_of("bacth", words, 1, hint), "");
	assert_string_equal(cot_nearest_of("none", words, 2, hint), "");
}

static void the_hint_says_so(void **state)
{
	char text[COT_NEAREST_HINT_MAX];
	struct cot_nearest n = {.word = "bloks"};

	(void)state;
	assert_string_equal(cot_nearest_hint(&n, text), "");
	cot_nearest_try(&n, "blocks");
	assert_string_equal(cot_nearest_hint(&n, text), " (did you mean 'blocks'?)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_word_is_found),
		cmocka_unit_test(a_word_far_from_all_is_near_to_none),
		cmocka_unit_test(a_long_word_is_not_compared),
		cmocka_unit_test(the_hint_is_at_the_nearest_of_a_list),
		cmocka_unit_test(the_hint_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
