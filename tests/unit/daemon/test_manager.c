/* What the daemon and systemd say to each other: sockets, the watchdog, entries of the journal. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/manager.h"
#include "test.h"

static char folder[] = "manager-XXXXXX";
static char path[64];
static int saved = -1; /* what is descriptor 3 otherwise */

static int bound(int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static int setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "manager-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/s", folder);
	saved = fcntl(3, F_DUPFD_CLOEXEC, 100);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	(void)rmdir(folder);
	if (saved >= 0) {
		(void)dup2(saved, 3);
		(void)close(saved);
	}
	return 0;
}

static void hand_over(int fd, const char *pid, const char *n)
{
	if (fd >= 0 && fd != 3) {
		assert_int_equal(dup2(fd, 3), 3);
		(void)close(fd);
	}
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", n, 1);
}

static const char *own_pid(void)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", (int)getpid());
	return text;
}

static void test_socket(void **state)
{
	struct cot_error err = {{0}};
	int fd = bound(SOCK_SEQPACKET);

	(void)state;
	assert_int_equal(listen(fd, 1), 0);
	hand_over(fd, own_pid(), "1");
	assert_int_equal(cot_manager_socket(path, &fd, &err), 0);
	assert_int_equal(fd, 3);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	/* It is ours once: a child must not believe that it is meant. */
	assert_null(getenv("LISTEN_FDS"));
	assert_null(getenv("LISTEN_PID"));
	assert_int_equal(cot_manager_socket(path, &fd, &err), 0);
	assert_int_equal(fd, -1);
	/* On another path, for another process, or none. */
	hand_over(3, own_pid(), "1");
	assert_true(cot_manager_socket("/run/other", &fd, &err) < 0);
	assert_non_null(strstr(err.text, "listens on /run/other"));
	hand_over(3, "1", "1");
	assert_int_equal(cot_manager_socket(path, &fd, &err), 0);
	assert_int_equal(fd, -1);
	hand_over(3, own_pid(), "none");
	assert_int_equal(cot_manager_socket(path, &fd, &err), 0);
	assert_int_equal(fd, -1);
}

static void refused(const char *n, const char *why)
{
	struct cot_error err = {{0}};
	int fd;

	hand_over(3, own_pid(), n);
	assert_true(cot_manager_socket(path, &fd, &err) < 0);
	assert_int_equal(fd, -1);
	assert_non_null(strstr(err.text, why));
}

static void test_other_things(void **state)
{
	int fd = bound(SOCK_STREAM);

	(void)state;
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(dup2(fd, 3), 3);
	refused("1", "SOCK_SEQPACKET");
	refused("2", "several descriptors");
	(void)unlink(path);
	fd = bound(SOCK_SEQPACKET); /* nobody listens */
	assert_int_equal(dup2(fd, 3), 3);
	refused("1", "that listens");
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(dup2(fd, 3), 3);
	refused("1", "another descriptor");
}

static void test_watchdog(void **state)
{
	(void)state;
	unsetenv("WATCHDOG_PID");
	unsetenv("WATCHDOG_USEC");
	assert_int_equal(cot_manager_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "20000000", 1);
	assert_int_equal(cot_manager_watchdog_ns(), 20000000000);
	setenv("WATCHDOG_PID", own_pid(), 1);
	assert_int_equal(cot_manager_watchdog_ns(), 20000000000);
	setenv("WATCHDOG_PID", "1", 1); /* of another process */
	assert_int_equal(cot_manager_watchdog_ns(), 0);
	unsetenv("WATCHDOG_PID");
	setenv("WATCHDOG_USEC", "often", 1);
	assert_int_equal(cot_manager_watchdog_ns(), 0);
	setenv("WATCHDOG_USEC", "18446744073709551615", 1);
	assert_int_equal(cot_manager_watchdog_ns(), 0);
	unsetenv("WATCHDOG_USEC");
}

static void test_journal(void **state)
{
	static const struct cot_dlog_where where = {3, "batch"};
	char stream[64], text[256] = "";
	struct stat st;
	int fd = bound(SOCK_DGRAM);

	(void)state;
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%lu:%lu", (unsigned long)st.st_dev,
		 (unsigned long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	cot_daemon_log_init(COT_DLOG_INFO, false);
	cot_daemon_log_journal(path);
	cot_daemon_log(COT_DLOG_WARN, &where, "slow\nX=1");
	assert_true(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0);
	assert_string_equal(text, "PRIORITY=4\nSYSLOG_IDENTIFIER=cotenantd\nMESSAGE=slow?X=1\n"
				  "COTENANT_GPU=3\nCOTENANT_POOL=batch\n");
	memset(text, 0, sizeof(text));
	log_info("plain");
	assert_true(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) > 0);
	assert_string_equal(text, "PRIORITY=6\nSYSLOG_IDENTIFIER=cotenantd\nMESSAGE=plain\n");
	log_debug("not asked for");
	assert_true(recv(fd, text, sizeof(text), MSG_DONTWAIT) < 0);
	(void)close(fd);
	unsetenv("JOURNAL_STREAM");
	assert_false(cot_manager_journal(path, NULL, 0)); /* nobody there */
	assert_false(cot_manager_journal(path, NULL, 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_socket, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_things, setup, teardown),
		cmocka_unit_test(test_watchdog),
		cmocka_unit_test_setup_teardown(test_journal, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
