/* Output files are complete or not there. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outfile.h"
#include "test.h"

static char folder[256];
static char path[300];

static int setup(void **state)
{
	const char *dir = getenv("TMPDIR");

	(void)state;
	(void)snprintf(folder, sizeof(folder), "%s/cot_outfile.XXXXXX", dir ? dir : P_tmpdir);
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/out.json", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(folder); /* fails when something else was left behind */
}

static unsigned n_files(void)
{
	unsigned n = 0;
	DIR *dir = opendir(folder);

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	(void)closedir(dir);
	return n - 2; /* . and .. */
}

static struct cot_outfile *open_out(void)
{
	struct cot_outfile *out;
	struct cot_error err;

	assert_int_equal(cot_outfile_open(path, &out, &err), 0);
	assert_true(fputs("new", cot_outfile_stream(out)) >= 0);
	return out;
}

static void assert_content(const char *expected)
{
	char text[16] = "";
	FILE *in = fopen(path, "r");

	assert_non_null(in);
	assert_non_null(fgets(text, sizeof(text), in));
	(void)fclose(in);
	assert_string_equal(text, expected);
}

static void write_old(void)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs("old", f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void test_commit(void **state)
{
	struct cot_outfile *out = open_out();
	struct cot_error err;

	(void)state;
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(cot_outfile_finish(out, &err), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(cot_outfile_commit(out, &err), 0);
	cot_outfile_destroy(out);
	assert_content("new");
	assert_int_equal(n_files(), 1);
}

static void test_abandoned(void **state)
{
	struct cot_outfile *out;

	(void)state;
	cot_outfile_destroy(open_out());
	assert_int_equal(n_files(), 0);
	write_old();
	out = open_out();
	assert_int_equal(n_files(), 2);
	cot_outfile_destroy(out);
	assert_int_equal(n_files(), 1);
	assert_content("old");
}

static void test_keeps_mode(void **state)
{
	struct cot_outfile *out;
	struct cot_error err;
	struct stat st;

	(void)state;
	write_old();
	assert_int_equal(chmod(path, 0604), 0);
	out = open_out();
	assert_int_equal(cot_outfile_commit(out, &err), 0);
	cot_outfile_destroy(out);
	assert_content("new");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0604);
}

static void test_full_disk(void **state)
{
	struct cot_outfile *out;
	struct cot_error err;

	(void)state;
	if (access("/dev/full", W_OK))
		skip();
	assert_int_equal(cot_outfile_open("/dev/full", &out, &err), 0);
	(void)fputs("x", cot_outfile_stream(out));
	assert_int_equal(cot_outfile_commit(out, &err), -ENOSPC);
	assert_string_equal(err.text, "cannot write /dev/full: No space left on device");
	cot_outfile_destroy(out);
	assert_int_equal(access("/dev/full", W_OK), 0);
}

static void test_wrong_paths(void **state)
{
	struct cot_outfile *out = NULL;
	struct cot_error err;

	(void)state;
	assert_int_equal(cot_outfile_open(folder, &out, &err), -EISDIR);
	assert_int_equal(cot_outfile_open("/no/such/folder/x", &out, &err), -ENOENT);
	assert_null(out);
	assert_non_null(strstr(err.text, "/no/such/folder/x"));
	cot_outfile_destroy(NULL);
}

static void test_scratch(void **state)
{
	struct cot_error err;
	FILE *f;

	(void)state;
	assert_int_equal(cot_outfile_scratch(folder, &f, &err), 0);
	assert_int_equal(n_files(), 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(cot_outfile_scratch("/no/such/folder", &f, &err), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_commit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_abandoned, setup, teardown),
		cmocka_unit_test_setup_teardown(test_keeps_mode, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_disk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_scratch, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
