/* Where the daemon keeps its things, and where it refuses to. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/paths.h"
#include "in_a_child.h"
#include "test.h"

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

/* ---- of whom, and by what variables ---- */

/* The same as somebody else than root, if it is root. */
static int check_user(void)
{
	struct stat st;

	(void)unsetenv("COTENANT_RUNTIME_DIR");
	(void)unsetenv("XDG_RUNTIME_DIR");
	(void)unsetenv("XDG_CONFIG_HOME");
	if (geteuid() == 0) {
		CHECK(cot_paths_runtime(path, &err) == 0 && !strcmp(path, COT_SYSTEM_RUNTIME));
		CHECK(cot_paths_is_system(COT_SYSTEM_RUNTIME));
		CHECK(!cot_paths_is_system("/run/else"));
		CHECK(cot_paths_config(path, &err) == 0);
		CHECK(!strcmp(path, "/etc/cotenant/cotenantd.conf"));
		CHECK(chmod(folder, 0777) == 0 && setuid(12345) == 0);
	}
	CHECK(!cot_paths_is_system(COT_SYSTEM_RUNTIME));
	(void)setenv("HOME", "/users/ada", 1);
	CHECK(cot_paths_runtime(path, &err) == 0);
	CHECK(!strcmp(path, "/users/ada/.cache/cotenant/run"));
	CHECK(cot_paths_config(path, &err) == 0);
	CHECK(!strcmp(path, "/users/ada/.config/cotenant/cotenantd.conf"));
	(void)setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	(void)setenv("XDG_CONFIG_HOME", "/conf", 1);
	CHECK(cot_paths_runtime(path, &err) == 0 && !strcmp(path, "/run/user/7/cotenant"));
	CHECK(cot_paths_config(path, &err) == 0 && !strcmp(path, "/conf/cotenant/cotenantd.conf"));
	(void)setenv("HOME", "home", 1);
	(void)setenv("XDG_RUNTIME_DIR", "run", 1);
	(void)setenv("XDG_CONFIG_HOME", "", 1);
	CHECK(cot_paths_runtime(path, &err) == -ENOENT);
	CHECK(!strcmp(err.text, "no place for the daemon's socket: set COTENANT_RUNTIME_DIR or "
				"XDG_RUNTIME_DIR to an absolute path"));
	CHECK(cot_paths_config(path, &err) == -ENOENT);
	CHECK(!strcmp(err.text, "neither XDG_CONFIG_HOME nor HOME is set"));
	/* What it may not make, and what it may not make its own. */
	CHECK(cot_paths_make_private("/none/of/ours", 0700, &err) == -ENOENT);
	CHECK(!strcmp(err.text,
		      "cannot make the folder '/none/of/ours': No such file or directory"));
	CHECK(cot_paths_make_private("/cot-test-none", 0700, &err) == -EACCES);
	if (stat("/", &st) == 0 && st.st_uid != geteuid()) {
		CHECK(cot_paths_make_private("/", 0700, &err) == -EPERM);
		CHECK(!strcmp(err.text, "the folder '/' belongs to another user"));
	}
	return 0;
}

static void test_user(void **state)
{
	(void)state;
	in_a_child(check_user);
}

/* What the umask takes is given; what somebody took on purpose is not. */
static int check_modes(void)
{
	struct stat st;

	(void)umask(0077);
	CHECK(cot_paths_join(path, folder, "modes", &err) == 0);
	CHECK(cot_paths_make_private(path, 0755, &err) == 0);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0755);
	CHECK(chmod(path, 0500) == 0);
	CHECK(cot_paths_make_private(path, 0755, &err) == 0);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0500);
	CHECK(chmod(path, 01700) == 0);
	CHECK(cot_paths_make_private(path, 0755, &err) == 0);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 07777) == 0755);
	CHECK(rmdir(path) == 0);
	return 0;
}

static void test_modes(void **state)
{
	(void)state;
	in_a_child(check_modes);
}

static void test_lengths(void **state)
{
	char name[COT_PATH_TEXT_MAX];
	size_t n = COT_PATH_TEXT_MAX - strlen("/f/") - 1;

	(void)state;
	memset(name, 'n', n + 1);
	name[n] = '\0';
	assert_int_equal(cot_paths_join(path, "/f", name, &err), 0);
	assert_int_equal(strlen(path), COT_PATH_TEXT_MAX - 1);
	name[n] = 'n';
	name[n + 1] = '\0';
	assert_int_equal(cot_paths_join(path, "/f", name, &err), -ENAMETOOLONG);
	assert_int_equal(strncmp(err.text, "the path '/f/nnn", 16), 0);
	assert_int_equal(cot_paths_join(path, "/f", name, NULL), -ENAMETOOLONG);
}

/* Of the folders in PATH, in their order; an empty one is the current one. */
static int check_path(void)
{
	char entries[3 * COT_PATH_TEXT_MAX], longest[COT_PATH_TEXT_MAX];

	CHECK(chdir("/bin") == 0);
	(void)setenv("PATH", "/none:/bin:/usr/bin", 1);
	CHECK(cot_paths_program("sh", path) && !strcmp(path, "/bin/sh"));
	(void)setenv("PATH", "/none::/usr/bin", 1);
	CHECK(cot_paths_program("sh", path) && !strcmp(path, "sh"));
	(void)setenv("PATH", "/none:", 1);
	CHECK(cot_paths_program("sh", path) && !strcmp(path, "sh"));
	(void)setenv("PATH", "/none", 1);
	CHECK(!cot_paths_program("sh", path));
	(void)unsetenv("PATH");
	CHECK(cot_paths_program("sh", path) && !strcmp(path, "/bin/sh"));
	/* One that is too long is passed over. */
	memset(longest, '/', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	snprintf(entries, sizeof(entries), "%s:/usr/bin", longest);
	(void)setenv("PATH", entries, 1);
	CHECK(cot_paths_program("env", path) && !strcmp(path, "/usr/bin/env"));
	CHECK(!cot_paths_program("/none/sh", path));
	return 0;
}

static void test_path(void **state)
{
	(void)state;
	in_a_child(check_path);
}

/* ---- beside the program ---- */

/* This program elsewhere, which says what it finds: a line each, in the place of `folder` a dot. */
static const char *found(const char *program)
{
	static char text[4096];
	char command[256], *at;
	size_t n;
	FILE *f;

	snprintf(command, sizeof(command), "cd / && PATH=%s/path '%s/%s' where", folder, folder,
		 program);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	assert_int_equal(pclose(f), 0);
	while ((at = strstr(text, folder))) {
		*at = '.';
		memmove(at + 1, at + strlen(folder), strlen(at + strlen(folder)) + 1);
	}
	return text;
}

static int say_where(void)
{
	printf("%s\n", cot_paths_library(path, &err) ? err.text : path);
	printf("%s\n", cot_paths_shim(path, &err) ? err.text : path);
	printf("%s\n", cot_paths_daemon(path, &err) ? err.text : path);
	return 0;
}

static void sh(const char *words)
{
	char command[600];

	snprintf(command, sizeof(command), "cd '%s' && %s", folder, words);
	assert_int_equal(system(command), 0);
}

static void test_beside(void **state)
{
	static const char no_library[] =
		"libcotenant.so is not where this program looks for it (../lib/cotenant beside "
		"it); set COTENANT_LIBRARY to its full path\n";
	char words[600];

	(void)state;
	(void)unsetenv("COTENANT_LIBRARY");
	snprintf(words, sizeof(words), "mkdir bin path && cp /proc/%d/exe bin/prog", (int)getpid());
	sh(words);
	snprintf(words, sizeof(words), "%s%s%s", no_library, no_library,
		 "cotenantd is neither beside this program nor in PATH\n");
	assert_string_equal(found("bin/prog"), words);
	/* All in one folder; and a daemon in PATH. */
	sh("touch bin/libcotenant.so path/cotenantd && chmod +x path/cotenantd");
	assert_string_equal(found("bin/prog"),
			    "./bin/libcotenant.so\n"
			    "shim/libcuda.so.1 is not beside libcotenant.so in './bin'\n"
			    "./path/cotenantd\n");
	sh("mkdir -p bin/cotenant/shim && touch bin/cotenant/shim/libcuda.so.1 bin/cotenantd");
	assert_string_equal(found("bin/prog"), "./bin/libcotenant.so\n"
					       "./bin/cotenant/shim/libcuda.so.1\n"
					       "./bin/cotenantd\n");
	sh("mkdir bin/shim && touch bin/shim/libcuda.so.1");
	assert_non_null(strstr(found("bin/prog"), "\n./bin/shim/libcuda.so.1\n"));
	/* As it is built, and as it is installed, before that. */
	sh("rm bin/cotenantd && mkdir -p sbin lib && touch sbin/cotenantd lib/libcotenant.so");
	assert_int_equal(strncmp(found("bin/prog"), "./lib/libcotenant.so\n", 21), 0);
	assert_non_null(strstr(found("bin/prog"), "\n./sbin/cotenantd\n"));
	sh("mkdir -p real lib/cotenant && touch real/libcotenant.so && "
	   "ln -s ../../real/libcotenant.so lib/cotenant");
	assert_int_equal(strncmp(found("bin/prog"), "./real/libcotenant.so\n", 22), 0);
	sh("rm -r bin sbin lib path real");
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runtime),
		cmocka_unit_test(test_private_folder),
		cmocka_unit_test(test_somebody_elses_folder),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_user),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_beside),
		cmocka_unit_test(test_library_from_the_environment),
	};

	if (argc > 1 && !strcmp(argv[1], "where"))
		return say_where();
	return cmocka_run_group_tests(tests, setup, teardown);
}
