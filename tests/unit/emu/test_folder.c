/* The folder of an emulated machine: what others have put there is not used. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "emu/gpu/config.h"
#include "emu/gpu/folder.h"
#include "emu/gpu/shared.h"
#include "emu_dir.h"
#include "test.h"

/* Users that nobody is: the test's own, and somebody else. */
static uid_t me(void)
{
	return 2000000000u + (uid_t)getpid();
}

static uid_t somebody(void)
{
	return 1000000000u + (uid_t)getpid();
}

static void own_folder(char path[PATH_MAX])
{
	const char *base = access("/dev/shm", W_OK) ? P_tmpdir : "/dev/shm";

	snprintf(path, PATH_MAX, "%s/cotenant-emu-%u", base, (unsigned)me());
}

/* What `f` says when it is called as this user, with the user's own folder. */
static int as_user(uid_t uid, int (*f)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		unsetenv("COTENANT_EMU_DIR");
		if (setresuid(uid, uid, uid))
			_exit(255);
		_exit(-f());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return -WEXITSTATUS(status);
}

static int open_folder(void)
{
	int fd = cot_emu_folder_open();

	return fd < 0 ? fd : 0;
}

static int open_file(void)
{
	int fd = cot_emu_folder_open();

	if (fd < 0)
		return fd;
	fd = cot_emu_folder_file(fd, "gpu", O_RDWR);
	return fd < 0 ? fd : 0;
}

static void put_file(const char *folder, uid_t owner, mode_t mode)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%.4000s/gpu", folder);
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, mode);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(fchown(fd, owner, 0), 0);
	close(fd);
}

static void remove_folder(const char *folder)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.4000s/gpu", folder);
	unlink(path);
	rmdir(folder);
}

static void make_folder(const char *path, uid_t owner, mode_t mode)
{
	assert_int_equal(mkdir(path, mode), 0);
	assert_int_equal(chmod(path, mode), 0);
	assert_int_equal(chown(path, owner, 0), 0);
}

static void somebody_elses_is_refused(void **state)
{
	char path[PATH_MAX];

	(void)state;
	if (geteuid())
		skip();
	own_folder(path);
	make_folder(path, somebody(), 0777);
	assert_int_equal(as_user(me(), open_folder), -EPERM);
	remove_folder(path);
	assert_int_equal(symlink(emu_dir, path), 0);
	assert_true(as_user(me(), open_folder) < 0);
	unlink(path);
}

static void ones_own_is_closed_to_others(void **state)
{
	char path[PATH_MAX];
	struct stat st;

	(void)state;
	if (geteuid())
		skip();
	own_folder(path);
	assert_int_equal(as_user(me(), open_folder), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(chmod(path, 0777), 0);
	put_file(path, somebody(), 0666);
	assert_int_equal(as_user(me(), open_file), -EPERM);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	put_file(path, me(), 0644);
	assert_int_equal(as_user(me(), open_file), 0);
	remove_folder(path);
}

/* A folder that is named may be everybody's; its files are what its users trust each other with. */
static void a_named_folder_may_be_shared(void **state)
{
	struct stat st;
	int folder, fd;

	(void)state;
	if (geteuid())
		skip();
	assert_int_equal(chmod(emu_dir, 01777), 0);
	put_file(emu_dir, somebody(), 0666);
	folder = cot_emu_folder_open();
	assert_true(folder >= 0);
	fd = cot_emu_folder_file(folder, "gpu", O_RDWR);
	assert_true(fd >= 0);
	close(fd);
	fd = cot_emu_folder_file(folder, "clients", O_RDWR);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666);
	close(fd);
	close(folder);
}

static void what_is_no_file_is_refused(void **state)
{
	char path[PATH_MAX];
	int folder;

	(void)state;
	snprintf(path, sizeof(path), "%s/gpu", emu_dir);
	folder = cot_emu_folder_open();
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(cot_emu_folder_file(folder, "gpu", O_RDWR), -EPERM);
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(cot_emu_folder_file(folder, "gpu", O_RDWR), -ELOOP);
	close(folder);
}

/* There is memory behind every byte: a full file system is an error here, not a signal later. */
static void a_file_is_filled(void **state)
{
	int folder = cot_emu_folder_open(), fd = cot_emu_folder_file(folder, "gpu", O_RDWR);
	struct stat st;

	(void)state;
	assert_int_equal(cot_emu_folder_fill(fd, 300000), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 300000);
	assert_true(st.st_blocks * 512 >= 300000);
	assert_int_equal(cot_emu_folder_fill(fd, 100000), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 100000);
	close(fd);
	close(folder);
}

static void a_file_that_was_cut_short_is_refused(void **state)
{
	struct cot_emu_gpu *gpu;
	char path[PATH_MAX], byte;
	int ready[2], status;
	pid_t user, other;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	user = fork();
	if (!user) {
		if (cot_emu_gpu_attach(&gpu) || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	snprintf(path, sizeof(path), "%s/gpu", emu_dir);
	assert_int_equal(truncate(path, 100), 0);
	other = fork();
	if (!other)
		_exit(-cot_emu_gpu_attach(&gpu));
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EPROTO);
	kill(user, SIGKILL);
	assert_int_equal(waitpid(user, &status, 0), user);
	/* Nobody uses it any more: it is made anew. */
	other = fork();
	if (!other)
		_exit(-cot_emu_gpu_attach(&gpu));
	assert_int_equal(waitpid(other, &status, 0), other);
	assert_int_equal(status, 0);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, emu_dir_setup, emu_dir_teardown)
	const struct CMUnitTest tests[] = {
		CASE(somebody_elses_is_refused),
		CASE(ones_own_is_closed_to_others),
		CASE(a_named_folder_may_be_shared),
		CASE(what_is_no_file_is_refused),
		CASE(a_file_is_filled),
		CASE(a_file_that_was_cut_short_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
