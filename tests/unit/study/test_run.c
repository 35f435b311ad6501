/* The driver of studies, with a study of the test's own making: outputs are all there or none. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "study/study.h"
#include "test.h"

static char json[64], html[64];
static int outcome; /* of run() */
static const char *sentence;
static bool stopped;

static int run(void *data, const struct cot_study_options *options, struct cot_error *err)
{
	(void)data;
	options->progress(options->arg, 0.5);
	return sentence ? cot_error_set(err, outcome, "%s", sentence) : outcome;
}

static int write_word(FILE *out, const void *data)
{
	return fprintf(out, "%s\n", (const char *)data) < 0 ? -EIO : 0;
}

static int fail_to_write(FILE *out, const void *data, const struct cot_origin *origin)
{
	(void)out;
	(void)data;
	(void)origin;
	return -ENOMEM;
}

static int write_word_of(FILE *out, const void *data, const struct cot_origin *origin)
{
	(void)origin;
	return write_word(out, data);
}

static void progress(void *arg, double done)
{
	*(double *)arg = done;
}

static bool stop(void *arg)
{
	(void)arg;
	return stopped;
}

static int study(int (*write_html)(FILE *out, const void *data, const struct cot_origin *origin),
		 struct cot_error *err)
{
	const struct cot_study s = {.run = run,
				    .write_text = write_word,
				    .write_json = write_word_of,
				    .write_html = write_html};
	static char data[] = "word";
	double done = 0;
	const struct cot_study_options options = {
		.json = json, .html = html, .progress = progress, .stop = stop, .arg = &done};

	return cot_study_run(&s, data, &options, err);
}

static bool is_there(const char *path)
{
	bool there = access(path, F_OK) == 0;

	(void)unlink(path);
	return there;
}

static int setup(void **state)
{
	(void)state;
	snprintf(json, sizeof(json), "%s/cotenant-study-%d.json", P_tmpdir, (int)getpid());
	snprintf(html, sizeof(html), "%s/cotenant-study-%d.html", P_tmpdir, (int)getpid());
	outcome = 0;
	sentence = NULL;
	stopped = false;
	return 0;
}

static void all_outputs_are_written(void **state)
{
	struct cot_error err;

	(void)state;
	assert_int_equal(study(write_word_of, &err), 0);
	assert_true(is_there(json));
	assert_true(is_there(html));
}

static void one_that_fails_leaves_none(void **state)
{
	struct cot_error err;

	(void)state;
	assert_int_equal(study(fail_to_write, &err), -ENOMEM);
	assert_string_equal(err.text, "out of memory");
	assert_false(is_there(json));
	assert_false(is_there(html));
}

static void who_stops_it_gets_nothing(void **state)
{
	struct cot_error err;

	(void)state;
	stopped = true;
	assert_int_equal(study(write_word_of, &err), -EINTR);
	assert_string_equal(err.text, "interrupted; nothing was written");
	assert_false(is_there(json));
}

static void errors_have_a_sentence(void **state)
{
	struct cot_error err = {"of something else"};

	(void)state;
	outcome = -EDEADLK;
	assert_int_equal(study(write_word_of, &err), -EDEADLK);
	assert_string_equal(err.text, "a simulation stalled");
	sentence = "the study knows better";
	assert_int_equal(study(write_word_of, &err), -EDEADLK);
	assert_string_equal(err.text, "the study knows better");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(all_outputs_are_written, setup),
		cmocka_unit_test_setup(one_that_fails_leaves_none, setup),
		cmocka_unit_test_setup(who_stops_it_gets_nothing, setup),
		cmocka_unit_test_setup(errors_have_a_sentence, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
