/* Where the daemon keeps its things, and where it refuses to. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/paths.h"

static char folder[] = P_tmpdir "/cot-test-XXXXXX";
static char path[COT_PATH_TEXT_MAX];
static struct cot_error err;

static int setup(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(folder);
}

static void test_runtime(void **state)
{
	(void)state;
	(void)setenv("COTENANT_RUNTIME_DIR", "/some/where", 1);
	assert_int_equal(cot_paths_runtime(path, &err), 0);
	assert_string_equal(path, "/some/where");
	/* A relative path would depend on who asks. */
	(void)setenv("COTENANT_RUNTIME_DIR", "where", 1);
	(void)setenv("XDG_RUNTIME_DIR", "/run/user/1", 1);
	assert_int_equal(cot_paths_runtime(path, &err), 0);
	assert_string_equal(path, geteuid() ? "/run/user/1/cotenant" : COT_SYSTEM_RUNTIME);
	(void)unsetenv("COTENANT_RUNTIME_DIR");
}

static void test_private_folder(void **state)
{
	char deep[COT_PATH_TEXT_MAX];
	struct stat st;

	(void)state;
	assert_int_equal(cot_paths_join(path, folder, "a", &err), 0);
	assert_int_equal(cot_paths_join(deep, path, "b", &err), 0);
	assert_int_equal(cot_paths_make_private(deep, 0700, &err), 0);
	assert_int_equal(stat(deep, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	/* One that is too open is closed. */
	assert_int_equal(chmod(deep, 0777), 0);
	assert_int_equal(cot_paths_make_private(deep, 0700, &err), 0);
	assert_int_equal(stat(deep, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(rmdir(deep), 0);
	/* A link that somebody has put there is not followed. */
	assert_int_equal(symlink("/", deep), 0);
	assert_int_equal(cot_paths_make_private(deep, 0700, &err), -ENOTDIR);
	assert_int_equal(unlink(deep), 0);
	assert_int_equal(rmdir(path), 0);
}

static void test_somebody_elses_folder(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(cot_paths_join(path, folder, "c", &err), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_int_equal(cot_paths_make_private(path, 0700, &err), -EPERM);
	assert_non_null(strstr(err.text, "another user"));
	assert_int_equal(rmdir(path), 0);
}

static void test_too_long(void **state)
{
	char name[COT_PATH_TEXT_MAX];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(cot_paths_join(path, folder, name, &err), -ENAMETOOLONG);
}

static void test_program(void **state)
{
	(void)state;
	assert_true(cot_paths_program("sh", path));
	assert_int_equal(path[0], '/');
	assert_true(cot_paths_program("/bin/sh", path));
	assert_false(cot_paths_program("no-program-of-this-name", path));
	assert_false(cot_paths_program("/etc/passwd", path));
}

static void test_library_from_the_environment(void **state)
{
	(void)state;
	(void)setenv("COTENANT_LIBRARY", "/bin/sh", 1);
	assert_int_equal(cot_paths_library(path, &err), 0);
	assert_string_equal(path, "/bin/sh");
	(void)setenv("COTENANT_LIBRARY", "/none", 1);
	assert_int_equal(cot_paths_library(path, &err), -ENOENT);
	(void)setenv("COTENANT_LIBRARY", "bin/sh", 1);
	assert_int_equal(cot_paths_library(path, &err), -ENOENT);
	(void)unsetenv("COTENANT_LIBRARY");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runtime),
		cmocka_unit_test(test_private_folder),
		cmocka_unit_test(test_somebody_elses_folder),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_library_from_the_environment),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
