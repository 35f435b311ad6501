/* The file of what policies learned: when it is written, and what the next daemon makes of it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon_life.h"

#define HEAD "cotenant lessons 1\n"

static struct cot_policy *policy(void)
{
	return (struct cot_policy *)cot_sched_policy(cot_host_sched(stage.basis.host));
}

static void learn(uint64_t key, uint32_t value)
{
	struct cot_lesson l = {.key = key, .kind = 3, .value = {value}};

	assert_int_equal(cot_learn(policy(), &l), 0);
}

static uint32_t known(uint64_t key)
{
	const struct cot_lesson *l = cot_lesson_find(policy(), key, 3);

	return l ? l->value[0] : 0;
}

/* What the daemon does before each sleep. */
static const char *keep(void)
{
	cot_lessons_keep(&stage.lessons);
	return life_read("lessons");
}

static void after_the_pause(void)
{
	stage.lessons.pause.due_ns = 1;
	life_run(20);
	assert_false(stage.lessons.pause.armed);
}

static void test_written_soon_and_not_often(void **state)
{
	(void)state;
	assert_string_equal(keep(), "");
	learn(5, 50);
	learn(4, 40);
	assert_string_equal(keep(), HEAD "5 3 50 0 0 0 0 0\n4 3 40 0 0 0 0 0\n");
	learn(5, 51);
	assert_string_equal(keep(), HEAD "5 3 50 0 0 0 0 0\n4 3 40 0 0 0 0 0\n");
	assert_true(stage.lessons.pause.armed);
	assert_in_range(stage.lessons.pause.due_ns, cot_now_ns() + COT_NS_PER_S,
			cot_now_ns() + 2 * COT_NS_PER_S);
	after_the_pause();
	assert_string_equal(keep(), HEAD "4 3 40 0 0 0 0 0\n5 3 51 0 0 0 0 0\n");
	/* Not again for nothing. */
	after_the_pause();
	life_remove("lessons");
	assert_string_equal(keep(), "");
	assert_false(stage.lessons.pause.armed);
	/* At the end without waiting. */
	learn(6, 60);
	(void)keep();
	learn(7, 70);
	cot_lessons_end(&stage.lessons);
	assert_non_null(strstr(life_read("lessons"), "\n7 3 70"));
}

static void test_the_next_daemon_knows(void **state)
{
	(void)state;
	learn(5, 50);
	learn(4, 40);
	(void)keep();
	life_next_daemon();
	cot_lessons_load(&stage.lessons);
	assert_int_equal(known(5), 50);
	assert_int_equal(known(4), 40);
	/* It has nothing new to write, and then all of it in the same order. */
	life_remove("lessons");
	assert_string_equal(keep(), "");
	learn(6, 60);
	assert_string_equal(keep(), HEAD "5 3 50 0 0 0 0 0\n4 3 40 0 0 0 0 0\n6 3 60 0 0 0 0 0\n");
}

static void test_only_for_us(void **state)
{
	char path[COT_PATH_TEXT_MAX];
	struct stat st;

	(void)state;
	learn(5, 50);
	(void)keep();
	assert_int_equal(cot_paths_join(path, stage.basis.runtime, "lessons", NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* Only the machine's daemon has a place that systemd made. */
static void test_where(void **state)
{
	char path[COT_PATH_TEXT_MAX], runtime[COT_PATH_TEXT_MAX];

	(void)state;
	strcpy(runtime, stage.basis.runtime);
	assert_int_equal(cot_paths_join(path, runtime, "state", NULL), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(setenv("STATE_DIRECTORY", path, 1), 0);
	learn(5, 50);
	assert_string_equal(keep(), HEAD "5 3 50 0 0 0 0 0\n");
	assert_string_equal(life_read("state/lessons"), "");
	after_the_pause();
	strcpy(stage.basis.runtime, COT_SYSTEM_RUNTIME);
	learn(5, 51);
	cot_lessons_keep(&stage.lessons);
	strcpy(stage.basis.runtime, runtime);
	assert_string_equal(life_read("state/lessons"), HEAD "5 3 51 0 0 0 0 0\n");
	assert_int_equal(unsetenv("STATE_DIRECTORY"), 0);
	life_remove("state/lessons");
	assert_int_equal(rmdir(path), 0);
}

static void test_nonsense(void **state)
{
	char line[2 * COT_PATH_TEXT_MAX];

	(void)state;
	life_write("lessons", HEAD "5 3 50 0 0 0 0 0\n4 3 40", 0600);
	(void)stage_log();
	cot_lessons_load(&stage.lessons);
	snprintf(line, sizeof(line),
		 "what was learned before is lost: %s/lessons, line 3: expected a key that is not "
		 "0, a kind and six values\n",
		 stage.basis.runtime);
	assert_non_null(strstr(stage_log(), line));
	assert_int_equal(known(5), 0);
	/* None is no news. */
	life_remove("lessons");
	cot_lessons_load(&stage.lessons);
	assert_string_equal(stage_log(), "");
}

/* Said once, and tried again. */
static void test_cannot_be_written(void **state)
{
	char path[COT_PATH_TEXT_MAX];

	(void)state;
	assert_int_equal(cot_paths_join(path, stage.basis.runtime, "lessons.new", NULL), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	learn(5, 50);
	(void)stage_log();
	assert_string_equal(keep(), "");
	assert_non_null(strstr(stage_log(), "lessons: File exists; trying again every 2 s\n"));
	after_the_pause();
	assert_string_equal(keep(), "");
	assert_string_equal(stage_log(), "");
	assert_int_equal(rmdir(path), 0);
	after_the_pause();
	assert_string_equal(keep(), HEAD "5 3 50 0 0 0 0 0\n");
	assert_non_null(strstr(stage_log(), "lessons is written again\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, life_setup, life_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(written_soon_and_not_often),
		TEST(the_next_daemon_knows),
		TEST(only_for_us),
		TEST(where),
		TEST(nonsense),
		TEST(cannot_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
