/* Which GPUs a text means. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/gpus.h"
#include "test.h"

static struct cot_gpus four(void)
{
	struct cot_gpus gpus = {.n = 4, .found = true};

	strcpy(gpus.gpu[0].uuid, "GPU-aaaa");
	strcpy(gpus.gpu[1].uuid, "GPU-aabb");
	strcpy(gpus.gpu[3].uuid, "GPU-cccc");
	return gpus;
}

static void test_mask(void **state)
{
	struct cot_gpus gpus = four();

	(void)state;
	assert_int_equal(cot_gpus_mask(&gpus, ""), 1);
	assert_int_equal(cot_gpus_mask(&gpus, "all"), 15);
	assert_int_equal(cot_gpus_mask(&gpus, "2"), 4);
	assert_int_equal(cot_gpus_mask(&gpus, "0,3"), 9);
	assert_int_equal(cot_gpus_mask(&gpus, "GPU-aabb"), 2);
	assert_int_equal(cot_gpus_mask(&gpus, "GPU-aa"), 1); /* the first that begins so */
	assert_int_equal(cot_gpus_mask(&gpus, "GPU-cccc,1"), 10);
}

static void test_mistakes(void **state)
{
	static const char *const wrong[] = {"4",   "-1", "x",	  "0,",	       ",0",
					    "0,4", "00", "GPU-d", "GPU-aaaaa", " 0"};
	struct cot_gpus gpus = four();
	char longest[300];
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(cot_gpus_mask(&gpus, wrong[i]), 0);
	memset(longest, '1', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(cot_gpus_mask(&gpus, longest), 0);
}

static void test_visible(void **state)
{
	struct cot_gpus gpus = four();
	char text[64], little[6];

	(void)state;
	cot_gpus_visible(&gpus, 5, text, sizeof(text));
	assert_string_equal(text, "GPU-aaaa,2");
	cot_gpus_visible(&gpus, 0, text, sizeof(text));
	assert_string_equal(text, "");
	cot_gpus_visible(&gpus, 15, little, sizeof(little));
	assert_string_equal(little, "GPU-a");
	cot_gpus_visible(&gpus, 12, text, sizeof(text));
	assert_string_equal(text, "2,GPU-cccc");
	cot_gpus_visible(&gpus, 6, text, sizeof(text));
	assert_string_equal(text, "GPU-aabb,2");
}

/* ---- finding them ---- */

static void test_count_from_the_environment(void **state)
{
	struct cot_gpus gpus;

	(void)state;
	(void)setenv("COTENANT_GPUS", "3", 1);
	cot_gpus_find(&gpus);
	assert_int_equal(gpus.n, 3);
	assert_true(gpus.found);
	assert_int_equal(gpus.gpu[2].minor, 2);
	assert_string_equal(gpus.gpu[2].model, "");
	(void)setenv("COTENANT_GPU_MODEL", "h200, emulated", 1);
	(void)setenv("COTENANT_GPUS", "16", 1);
	cot_gpus_find(&gpus);
	assert_int_equal(gpus.n, 16);
	assert_int_equal(gpus.gpu[15].minor, 15);
	assert_string_equal(gpus.gpu[15].model, "h200, emulated");
	(void)unsetenv("COTENANT_GPU_MODEL");
	(void)unsetenv("COTENANT_GPUS");
}

/* What cot_gpus_find() finds where `prepare` has played a machine; in a process of its own, with
 * folders of its own. False: that cannot be had here. */
static bool find_where(void (*prepare)(void), struct cot_gpus *ret_gpus)
{
	ssize_t n;
	pid_t pid;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if ((unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWNS | CLONE_NEWUSER) < 0) ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("none", "/proc/driver", "tmpfs", 0, NULL) < 0)
			_exit(1);
		prepare();
		cot_gpus_find(ret_gpus);
		_exit(write(ends[1], ret_gpus, sizeof(*ret_gpus)) < 0);
	}
	(void)close(ends[1]);
	n = read(ends[0], ret_gpus, sizeof(*ret_gpus));
	(void)close(ends[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return n == sizeof(*ret_gpus);
}

static void play_gpu(const char *address, const char *text)
{
	char path[256];
	FILE *f;

	(void)mkdir("/proc/driver/nvidia", 0755);
	(void)mkdir("/proc/driver/nvidia/gpus", 0755);
	snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s", address);
	(void)mkdir(path, 0755);
	if (!text)
		return;
	strcat(path, "/information");
	f = fopen(path, "we");
	if (!f || fputs(text, f) < 0 || fclose(f))
		_exit(1);
}

static void four_in_proc(void)
{
	play_gpu("0000:02:00.0", "Model: \t\t Second\nGPU UUID: \t GPU-2222\nDevice Minor: \t 0\n");
	play_gpu("0000:01:00.0", "Model: First GPU\nIRQ: 7\nGPU UUID: GPU-1111\nDevice Minor: 5\n");
	play_gpu("0000:03:00.0", "Model: Third\nGPU UUID: GPU-????????\nDevice Minor: 2\n");
	play_gpu("0000:04:00.0", NULL);
	play_gpu(".hidden", "Model: None\n");
}

static void test_proc(void **state)
{
	struct cot_gpus gpus;

	(void)state;
	if (!find_where(four_in_proc, &gpus))
		skip();
	assert_true(gpus.found);
	assert_int_equal(gpus.n, 4);
	assert_string_equal(gpus.gpu[0].model, "First GPU");
	assert_string_equal(gpus.gpu[0].uuid, "GPU-1111");
	assert_int_equal(gpus.gpu[0].minor, 5);
	assert_string_equal(gpus.gpu[1].model, "Second");
	assert_string_equal(gpus.gpu[1].uuid, "GPU-2222");
	assert_int_equal(gpus.gpu[1].minor, 0);
	assert_string_equal(gpus.gpu[2].model, "Third");
	assert_string_equal(gpus.gpu[2].uuid, ""); /* the driver does not know it yet */
	assert_int_equal(gpus.gpu[2].minor, 2);
	assert_string_equal(gpus.gpu[3].model, "");
	assert_int_equal(gpus.gpu[3].minor, 3);
}

static void many_in_proc(void)
{
	char address[32];
	unsigned i;

	for (i = 0; i < COT_GPUS_MAX + 2; i++) {
		snprintf(address, sizeof(address), "0000:%02x:00.0", i);
		play_gpu(address, "Model: One\n");
	}
}

/* An odd number counts as none: the machine is looked at. */
static void test_many(void **state)
{
	static const char *const numbers[] = {"0", "17", "x", ""};
	struct cot_gpus gpus;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		(void)setenv("COTENANT_GPUS", numbers[i], 1);
		if (!find_where(many_in_proc, &gpus)) {
			(void)unsetenv("COTENANT_GPUS");
			skip();
		}
		assert_int_equal(gpus.n, COT_GPUS_MAX);
		assert_string_equal(gpus.gpu[COT_GPUS_MAX - 1].model, "One");
	}
	(void)unsetenv("COTENANT_GPUS");
}

static void no_nodes(void)
{
	if (mount("none", "/dev", "tmpfs", 0, NULL) < 0)
		_exit(1);
}

static void two_nodes(void)
{
	static const char *const names[] = {"/dev/nvidia1", "/dev/nvidia15", "/dev/nvidia3"};
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC), fd;
	char path[64];
	unsigned i;

	no_nodes();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", null);
	for (i = 0; i < 3; i++) {
		fd = open(names[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0 || (i < 2 && mount(path, names[i], NULL, MS_BIND, NULL) < 0))
			_exit(1);
		(void)close(fd);
	}
}

/* Without the driver's list; a file that only has the name is no GPU. */
static void test_nodes(void **state)
{
	struct cot_gpus gpus;

	(void)state;
	if (!find_where(two_nodes, &gpus))
		skip();
	assert_true(gpus.found);
	assert_int_equal(gpus.n, 2);
	assert_int_equal(gpus.gpu[0].minor, 1);
	assert_int_equal(gpus.gpu[1].minor, 15);
	assert_true(find_where(no_nodes, &gpus));
	assert_false(gpus.found);
	assert_int_equal(gpus.n, 1); /* one is assumed */
	assert_int_equal(gpus.gpu[0].minor, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mask),	cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_visible), cmocka_unit_test(test_count_from_the_environment),
		cmocka_unit_test(test_proc),	cmocka_unit_test(test_many),
		cmocka_unit_test(test_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
