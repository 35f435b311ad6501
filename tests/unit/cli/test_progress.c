/* How far a command is: what is said about the rest, and only where it means something. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/progress.h"
#include "test.h"

static void expect(double done, double elapsed_s, const char *text)
{
	char said[128];

	cot_progress_say(done, elapsed_s, said, sizeof(said));
	assert_string_equal(said, text);
}

static void test_the_rest(void **state)
{
	(void)state;
	expect(0.4, 12, " 40 %, 12 s, about 18 s left");
	expect(0.25, 600, " 25 %, 10 min, about 30 min left");
	expect(0.01, 1, "  1 %, 1 s, about 99 s left");
	expect(0.009, 100, "  1 %, 100 s");
	expect(0.5, 0.9, " 50 %, 1 s");
	expect(1, 5, "100 %, 5 s");
	expect(0, 0, "  0 %, 0 s");
}

static void ask(char *option)
{
	char name[] = "x";
	char *argv[] = {name, option, NULL};

	assert_int_equal(argp_parse(&cot_progress_argp, option ? 2 : 1, argv, 0, NULL, NULL), 0);
}

/* What goes to a standard error that is no terminal. */
static const char *said(char *option)
{
	static char text[256];
	struct cot_progress p;
	FILE *file = tmpfile();
	int kept = dup(STDERR_FILENO);

	assert_non_null(file);
	(void)fflush(stderr);
	(void)dup2(fileno(file), STDERR_FILENO);
	ask(option);
	cot_progress_init(&p, "playing");
	cot_progress_update(&p, 0.5);
	cot_progress_update(&p, 0.6); /* too early for another line */
	cot_progress_finish(&p);
	cot_progress_update(&p, 0.7);
	(void)dup2(kept, STDERR_FILENO);
	(void)close(kept);
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	(void)fclose(file);
	return text;
}

static void test_without_terminal(void **state)
{
	char option[] = "--progress";
	const char *text = said(option);

	(void)state;
	assert_non_null(strstr(text, "playing:  50 %, "));
	assert_null(strstr(text, "60 %"));
	assert_null(strstr(text, "70 %"));
	assert_non_null(strstr(text, "\nplaying: ended after "));
	assert_null(strchr(text, '\r'));
	assert_string_equal(said(NULL), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_rest),
		cmocka_unit_test(test_without_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
