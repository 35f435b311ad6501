/*
 * The driver's library: where it is looked for, and what the slots hold then. The unit is in a
 * shared library, so its source is here; files are real, and what is in them is played.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "files.h"
#include "locked.h"
#include "no_merge.h"
#include "notes.h"

static unsigned n_tried; /* paths */

static int played_access(const char *path, int mode)
{
	n_tried++;
	return access(path, mode);
}

#define access played_access
#include "guest/shim/driver.c"
#include "guest/shim/fork.c"
#include "no_memory.h"
#include "no_parts.h"
#include "no_requests.h"
#undef access

static char folder[] = P_tmpdir "/cotenant.XXXXXX";

/* ---- slots ---- */

static void *slots[3];
const struct cot_shim_slot_of cot_shim_slots[] = {
	{"cuInit", &slots[0]}, {"cuNew", &slots[1]}, {"cuLaunchKernel", &slots[2]}};
const size_t cot_shim_n_slots = COT_ARRAY_LEN(cot_shim_slots);

static int init(void)
{
	return 11;
}

static int launch(void)
{
	return 13;
}

CUresult cuInit(unsigned flags)
{
	return (int)flags;
}

/* What the three entry points return. */
static void expect_slots(int first, int second, int third)
{
	const int expected[] = {first, second, third};
	unsigned i;

	for (i = 0; i < 3; i++)
		assert_int_equal(((int (*)(void))(uintptr_t)slots[i])(), expected[i]);
}

/* ---- libraries: the file's first letter says what it is ---- */

enum kind { IS_DRIVER = 'd', IS_SHIM = 's', IS_NO_CUDA = 'n', IS_BROKEN = 'b' };

static enum kind kinds[16];
static unsigned n_opened, n_closed;
static void (*at_open)(void);

/* What stands behind our folder; NULL: it is elsewhere. */
static const char *in_folder(const char *path)
{
	const char *at = strstr(path, folder);

	return at ? at + strlen(folder) + 1 : NULL;
}

void *cot_library_open(const char *path)
{
	FILE *f = fopen(path, "r");

	/* There may be a driver on this machine. */
	if (!f || !in_folder(path)) {
		if (f)
			fclose(f);
		return NULL;
	}
	note("%s;", in_folder(path));
	assert_true(++n_opened < COT_ARRAY_LEN(kinds));
	kinds[n_opened] = (enum kind)fgetc(f);
	fclose(f);
	if (at_open)
		at_open();
	return kinds[n_opened] == IS_BROKEN ? NULL : &kinds[n_opened];
}

void cot_library_close(void *handle)
{
	assert_int_not_equal(*(enum kind *)handle, IS_DRIVER);
	n_closed++;
}

void *cot_library_symbol(void *handle, const char *name)
{
	enum kind kind = *(enum kind *)handle;

	if (kind == IS_SHIM && !strcmp(name, "cuInit"))
		return (void *)(uintptr_t)cuInit;
	if (kind != IS_NO_CUDA && !strcmp(name, "cuInit"))
		return (void *)(uintptr_t)init;
	if (kind == IS_DRIVER && !strcmp(name, "cuLaunchKernel"))
		return (void *)(uintptr_t)launch;
	return NULL;
}

/* ---- the rest of the shim ---- */

static const char *cached[3]; /* in the linker's list */
static unsigned n_errors, n_levels;
static bool asked_for;
static const char *setting; /* COTENANT_SHIM_DRIVER */

const char *cot_shim_cache_find(const unsigned char *bytes, size_t n, const char *name,
				unsigned nth)
{
	FILE *list = fopen("/etc/ld.so.cache", "re");
	size_t at = 0;
	int c;

	assert_true(list && bytes);
	while ((c = fgetc(list)) != EOF && at < n && bytes[at] == c)
		at++;
	assert_int_equal(at, n);
	assert_int_equal(c, EOF); /* all of it */
	assert_int_equal(read_until, CACHE_MAX);
	fclose(list);
	assert_string_equal(name, "libcuda.so.1");
	assert_true(nth < COT_ARRAY_LEN(cached));
	return cached[nth];
}

void cot_settings_read(struct cot_settings *s, const char *(*get)(const char *name),
		       const char *program)
{
	assert_ptr_equal(program, program_invocation_name);
	if (setting)
		strcpy(s->driver, setting);
	else
		s->driver[0] = '\0';
	s->log = COT_LOG_INFO;
	/* The first time comes before main(). */
	s->shim = asked_for && get("HOME") == getenv("HOME");
}

void cot_log_level_set(enum cot_log_level level)
{
	assert_int_equal(level, COT_LOG_INFO);
	n_levels++;
}

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	(void)fmt;
	n_errors += level == COT_LOG_ERROR;
}

void cot_shim_runtime_forget(void)
{
	note("runtime;");
}

pthread_mutex_t cot_shim_lock = PTHREAD_MUTEX_INITIALIZER;

void cot_shim_wait_forget(void)
{
	note("wait;");
}

void cot_shim_gpus_forget(void)
{
	note("gpus;");
}

void cot_shim_contexts_forget(void)
{
	note("contexts;");
}

void cot_shim_cpu_forget(void)
{
	note("cpu;");
}

void cot_shim_code_reset(void)
{
	note("code;");
}

/* ---- set-up ---- */

/* A file in a folder of that name. */
static void put_library(const char *where, const char *file, enum kind kind)
{
	char path[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, where);
	(void)mkdir(path, 0700);
	(void)snprintf(path, sizeof(path), "%s/%s/%s", folder, where, file);
	f = fopen(path, "w");
	assert_non_null(f);
	fputc((int)kind, f);
	fclose(f);
}

static int make_folder(void **state)
{
	(void)state;
	return !mkdtemp(folder);
}

static void remove_all(void)
{
	char command[256];

	(void)snprintf(command, sizeof(command), "rm -rf %s/*", folder);
	assert_int_equal(system(command), 0);
}

static int remove_folder(void **state)
{
	(void)state;
	remove_all();
	return rmdir(folder);
}

/* The next time the environment is read as at the library's load. */
static void forget_environment(void)
{
	has_read = false;
	free(path_list);
	path_list = NULL;
}

static int set_up(void **state)
{
	(void)state;
	remove_all();
	memset(cached, 0, sizeof(cached));
	memset(slots, 0, sizeof(slots));
	setting = NULL;
	asked_for = false;
	at_open = NULL;
	n_opened = n_closed = n_errors = n_levels = 0;
	atomic_store(&cot_shim_state, COT_SHIM_OFF);
	setenv("LD_LIBRARY_PATH", "", 1);
	forget_environment();
	written[0] = '\0';
	return 0;
}

static const char *path_of(const char *rest)
{
	static char paths[4][256];
	static unsigned n;
	char *path = paths[n++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", folder, rest);
	return path;
}

/* ---- finding it ---- */

/* The setting first, then LD_LIBRARY_PATH, then the linker's list. */
static void in_order(void **state)
{
	char list[600];

	(void)state;
	put_library("set", "any.so", IS_DRIVER);
	put_library("one", "libcuda.so.1", IS_DRIVER);
	put_library("two", "libcuda.so.1", IS_DRIVER);
	put_library("cached", "libcuda.so.1", IS_DRIVER);
	setting = path_of("set/any.so");
	(void)snprintf(list, sizeof(list), "/nowhere:%s;%s", path_of("one"), path_of("two"));
	setenv("LD_LIBRARY_PATH", list, 1);
	cached[0] = path_of("cached/libcuda.so.1");
	load();
	expect_done("set/any.so;");
	expect_slots(11, CUDA_ERROR_NOT_SUPPORTED, 13);
	assert_int_equal(n_levels, 1);
	setting = path_of("set/none.so");
	forget_environment();
	load();
	expect_done("one/libcuda.so.1;");
	unlink(path_of("one/libcuda.so.1"));
	load();
	expect_done("two/libcuda.so.1;");
	unlink(path_of("two/libcuda.so.1"));
	load();
	expect_done("cached/libcuda.so.1;");
	assert_int_equal(n_errors + n_closed, 0);
}

/* The shim itself, what cannot be loaded and what is no driver are passed over. */
static void others(void **state)
{
	(void)state;
	put_library("a", "libcuda.so.1", IS_SHIM);
	put_library("b", "libcuda.so.1", IS_NO_CUDA);
	put_library("c", "libcuda.so.1", IS_BROKEN);
	put_library("d", "libcuda.so.1", IS_DRIVER);
	cached[0] = path_of("a/libcuda.so.1");
	cached[1] = path_of("b/libcuda.so.1");
	load();
	expect_slots(CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
	assert_int_equal(n_errors, 1);
	assert_int_equal(n_closed, 2);
	expect_done("a/libcuda.so.1;b/libcuda.so.1;");
	free(path_list);
	path_list = strdup(path_of("c"));
	cached[1] = path_of("d/libcuda.so.1");
	load();
	expect_done("c/libcuda.so.1;a/libcuda.so.1;d/libcuda.so.1;");
	expect_slots(11, CUDA_ERROR_NOT_SUPPORTED, 13);
	assert_int_equal(n_errors, 1);
}

/* A program may have closed its standard input. */
static void the_lowest_descriptor(void **state)
{
	int before = dup(0);

	(void)state;
	put_library("x", "libcuda.so.1", IS_DRIVER);
	cached[0] = path_of("x/libcuda.so.1");
	close(0);
	load();
	expect_done("x/libcuda.so.1;");
	assert_int_equal(lowest_fd(), 0);
	dup2(before, 0);
	close(before);
}

/* Nothing is enabled where nothing is found, and a fork is none of our affair. */
static void no_library(void **state)
{
	(void)state;
	asked_for = true;
	load();
	expect_slots(CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
	assert_int_equal(n_errors, 1);
	assert_false(cot_shim_is_on());
}

static void expect_list(const char *list, const char *found, unsigned n_paths)
{
	n_tried = 0;
	assert_int_equal(try_list(list) != NULL, *found != '\0');
	expect_done(found);
	assert_int_equal(n_tried, n_paths);
}

/* As the linker reads it: what is empty, or too long for a path, is nothing. */
static void lists(void **state)
{
	const size_t longest = PATH_SIZE - sizeof("/libcuda.so.1");
	char list[PATH_SIZE], at[256];

	(void)state;
	put_library("x", "libcuda.so.1", IS_DRIVER);
	(void)snprintf(at, sizeof(at), "%s", path_of("x"));
	expect_list(NULL, "", 0);
	expect_list("", "", 0);
	expect_list(at, "x/libcuda.so.1;", 1);
	(void)snprintf(list, sizeof(list), "::%s:", at);
	expect_list(list, "x/libcuda.so.1;", 1);
	(void)snprintf(list, sizeof(list), ";/nowhere;%s;%s", at, at);
	expect_list(list, "x/libcuda.so.1;", 2);
	/* Slashes before it change nothing but its length. */
	memset(list, '/', longest);
	memcpy(list + longest - strlen(at), at, strlen(at) + 1);
	expect_list(list, "x/libcuda.so.1;", 1);
	memset(list, '/', longest + 1);
	(void)snprintf(list + longest + 1 - strlen(at), sizeof(at), "%s", at);
	expect_list(list, "", 0);
}

/* ---- once ---- */

static void again(void)
{
	int before = (int)n_opened;

	cot_shim_driver_load();
	assert_int_equal(n_opened, before);
	/* Meanwhile the program gets an error, not a deadlock. */
	expect_slots(CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
}

/* The driver's own start-up may call us; and nobody loads it twice. */
static void once(void **state)
{
	(void)state;
	put_library("x", "libcuda.so.1", IS_DRIVER);
	cached[0] = path_of("x/libcuda.so.1");
	asked_for = true;
	at_open = again;
	cot_shim_driver_load();
	expect_slots(11, CUDA_ERROR_NOT_SUPPORTED, 13);
	assert_int_equal(n_opened, 1);
	assert_true(cot_shim_is_on());
	cot_shim_driver_load();
	assert_int_equal(n_opened, 1);
	expect_slots(11, CUDA_ERROR_NOT_SUPPORTED, 13);
}

static void not_asked_for(void **state)
{
	(void)state;
	put_library("x", "libcuda.so.1", IS_DRIVER);
	cached[0] = path_of("x/libcuda.so.1");
	load();
	expect_slots(11, CUDA_ERROR_NOT_SUPPORTED, 13);
	assert_false(cot_shim_is_on());
}

/* Programs change their environment, or clear it: what counts is what it was at first. */
static void environment(void **state)
{
	(void)state;
	asked_for = true;
	setenv("LD_LIBRARY_PATH", "/first", 1);
	at_load();
	setenv("LD_LIBRARY_PATH", "/second", 1);
	asked_for = false;
	at_load();
	read_environment();
	assert_string_equal(path_list, "/first");
	assert_true(cot_shim_settings.shim);
	forget_environment();
	unsetenv("LD_LIBRARY_PATH");
	at_load();
	assert_null(path_list);
	assert_false(cot_shim_settings.shim);
}

/* The parent's threads, connections and GPU are not the child's. */
static void a_child(void **state)
{
	(void)state;
	after_fork_in_child();
	expect_done("runtime;wait;gpus;contexts;code;cpu;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(in_order, set_up),
		cmocka_unit_test_setup(others, set_up),
		cmocka_unit_test_setup(the_lowest_descriptor, set_up),
		cmocka_unit_test_setup(no_library, set_up),
		cmocka_unit_test_setup(lists, set_up),
		cmocka_unit_test_setup(once, set_up),
		cmocka_unit_test_setup(not_asked_for, set_up),
		cmocka_unit_test_setup(environment, set_up),
		cmocka_unit_test_setup(a_child, set_up),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
