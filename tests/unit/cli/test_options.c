/* Options that are written wrong: which one is named, and what is left to argp. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common.h"
#include "cli/options.h"
#include "test.h"

static const struct argp_option options[] = {
	{"policy", 'p', "NAME", 0, "", 0},
	{"name", 'n', "NAME", 0, "", 0},
	{"called", 0, NULL, OPTION_ALIAS, NULL, 0},
	{"json", 'j', "FILE", OPTION_ARG_OPTIONAL, "", 0},
	{"quick", 'q', NULL, 0, "", 0},
	{"secret", 's', NULL, OPTION_HIDDEN, "", 0},
	{0},
};
static const struct argp argp = {.options = options, .children = cot_cli_long_argp_children};

/* `words` are what stands behind the command, with a blank between them. */
static void expect(const char *words, unsigned flags, const char *wanted)
{
	char text[256], name[] = "cotenant x", *argv[16] = {name}, *word, *rest = NULL,
			*said = NULL;
	size_t n_said;
	int argc = 1;
	bool hinted;
	FILE *out = open_memstream(&said, &n_said);

	assert_non_null(out);
	(void)snprintf(text, sizeof(text), "%s", words);
	for (word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	hinted = cot_options_hint(&argp, argc, argv, flags, out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(hinted, wanted != NULL);
	if (wanted) {
		(void)snprintf(text, sizeof(text), "cotenant x: there is no option '--%s?)\n",
			       wanted);
		assert_non_null(strchr(said, '\n'));
		strchr(said, '\n')[1] = '\0';
		assert_string_equal(said, text);
	} else {
		assert_string_equal(said, "");
	}
	free(said);
}

static void test_near_ones(void **state)
{
	(void)state;
	expect("--plicy", 0, "plicy' (did you mean '--policy'");
	expect("a --plicy=b", 0, "plicy' (did you mean '--policy'");
	expect("--quick --progess", 0, "progess' (did you mean '--progress'");
	expect("--json --quik", 0, "quik' (did you mean '--quick'");
	expect("-q -j --nmae x", 0, "nmae' (did you mean '--name'");
	expect("--hepl", 0, "hepl' (did you mean '--help'");
}

static void test_left_to_argp(void **state)
{
	(void)state;
	expect("", 0, NULL);
	expect("--policy=a --name b --js -qn --plicy --called --plicy", 0, NULL);
	expect("--something-else", 0, NULL);
	expect("-", 0, NULL);
	expect("-z", 0, NULL);
	expect("--secre", 0, NULL);
	expect("--secrte", 0, NULL);
	expect("--a-word-that-is-longer-than-all-that-are-near-to-another", 0, NULL);
}

static void test_arguments_of_options(void **state)
{
	(void)state;
	expect("--name --plicy", 0, NULL);
	expect("-n --plicy", 0, NULL);
	expect("-qn --plicy", 0, NULL);
	expect("-nq --plicy", 0, "plicy' (did you mean '--policy'");
	expect("--name=a --plicy", 0, "plicy' (did you mean '--policy'");
}

static void test_where_options_end(void **state)
{
	(void)state;
	expect("-- --plicy", 0, NULL);
	expect("program --plicy", ARGP_IN_ORDER, NULL);
	expect("--plicy program", ARGP_IN_ORDER, "plicy' (did you mean '--policy'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_near_ones),
		cmocka_unit_test(test_left_to_argp),
		cmocka_unit_test(test_arguments_of_options),
		cmocka_unit_test(test_where_options_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
