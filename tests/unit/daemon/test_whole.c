/* The daemon's beginning: its folder, lock, configuration and numbers, and what it says to the
 * service manager. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/lock.h"
#include "daemon/manager.h"
#include "whole_stage.h"

/* ---- beginning ---- */

static void test_begins(void **state)
{
	char path[96];

	(void)state;
	snprintf(path, sizeof(path), "%s/run", folder);
	assert_string_equal(stage.basis.runtime, path);
	assert_int_equal(mode_of(path), 0700);
	snprintf(path, sizeof(path), "%s/run/cotenantd.sock", folder);
	assert_string_equal(stage.basis.socket_path, path);
	assert_int_equal(mode_of(path), 0600);
	assert_string_equal(stage.basis.library, "/bin/sh");
	assert_int_equal(stage.basis.gpus.n, 2);
	assert_int_equal(stage.roster.next_id, 1);
	assert_int_equal(stage.basis.account.own, geteuid());
	assert_string_equal(stage_log(), "");
	assert_string_equal(notes(), "");
	assert_int_equal(cot_sched_wanted_policy(cot_host_sched(stage.basis.host)),
			 stage.basis.config.policy);
}

static void test_one_at_a_time(void **state)
{
	static struct daemon second;
	struct cot_error err;
	char why[128];

	(void)state;
	cot_config_default(&second.basis.config);
	second.lock_fd = -1;
	assert_int_equal(cot_daemon_begin(&second, &err), -EALREADY);
	snprintf(why, sizeof(why), "another cotenantd serves %s/run already", folder);
	assert_string_equal(err.text, why);
	assert_int_equal(second.lock_fd, -1);
}

/* One that ends, or has not published its socket yet, is waited for. */
static void test_lock(void **state)
{
	struct cot_error err;
	char path[96];
	int fd = -1;
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/cotenantd.lock", folder);
	pid = fork();
	if (pid == 0) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		(void)flock(fd, LOCK_EX);
		(void)usleep(100000);
		_exit(0);
	}
	while (access(path, F_OK) < 0)
		(void)usleep(1000);
	(void)usleep(20000);
	snprintf(path, sizeof(path), "%s/none", folder);
	assert_int_equal(cot_lock_take(folder, path, &fd, &err), 0);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	(void)close(fd);
	/* A link that somebody has put there is not followed. */
	snprintf(path, sizeof(path), "%s/cotenantd.lock", folder);
	assert_int_equal(unlink(path) | symlink("elsewhere", path), 0);
	assert_int_equal(cot_lock_take(folder, path, &fd, &err), -ELOOP);
	assert_int_equal(cot_lock_take("/no/such/folder", path, &fd, &err), -ENOENT);
	assert_string_equal(err.text, "cannot open /no/such/folder/cotenantd.lock: No such file or "
				      "directory");
}

/* Listens with the lock, and ends; a child that has not become another program yet keeps both. */
static void serve_and_end(const char *path, const char *lock)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (flock(fd, LOCK_EX) < 0 ||
	    bind(sock, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(sock, 128) < 0)
		_exit(1);
	if (fork() == 0)
		(void)usleep(200000);
	_exit(0);
}

static void test_lock_of_one_that_was_killed(void **state)
{
	struct cot_error err;
	char path[96], lock[96];
	int fd = -1, status;
	pid_t pid;

	(void)state;
	snprintf(path, sizeof(path), "%s/left.sock", folder);
	snprintf(lock, sizeof(lock), "%s/cotenantd.lock", folder);
	pid = fork();
	if (pid == 0)
		serve_and_end(path, lock);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(cot_lock_take(folder, path, &fd, &err), 0);
	(void)close(fd);
}

static void test_descriptors(void **state)
{
	struct rlimit was, limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	assert_true(was.rlim_cur >= 4096 || was.rlim_cur == was.rlim_max);
	assert_int_equal(whole_teardown(state), 0);
	limit = (struct rlimit){256, was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(whole_setup(state), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(limit.rlim_cur, was.rlim_max < 4096 ? was.rlim_max : 4096);
	assert_int_equal(limit.rlim_max, was.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

static void test_without(void **state)
{
	char why[96];

	(void)state;
	assert_int_equal(whole_teardown(state), 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", "notes", 1), 0); /* not a whole path */
	assert_int_equal(whole_setup(state), 0);
	cot_daemon_end(&stage);
	(void)close(stage.lock_fd);
	(void)close(stage.server.spare_fd);
	(void)close(stage.signals.fd);
	(void)stage_log();
	assert_int_equal(setenv("COTENANT_LIBRARY", "/none", 1), 0);
	assert_int_equal(cot_daemon_begin(&stage, NULL), 0);
	assert_string_equal(stage.basis.library, "");
	snprintf(why, sizeof(why), ": pools will have no slices\n");
	assert_non_null(strstr(stage_log(), why));
}

/* A daemon that cannot begin says why. */
static void expect_no_begin(const char *runtime, int rc, const char *why)
{
	static struct daemon other;
	struct cot_error err = {{0}};

	memset(&other, 0, sizeof(other));
	other.lock_fd = other.server.spare_fd = other.server.listener.fd = other.signals.fd = -1;
	cot_config_default(&other.basis.config);
	assert_int_equal(setenv("COTENANT_RUNTIME_DIR", runtime, 1), 0);
	assert_int_equal(cot_daemon_begin(&other, &err), rc);
	assert_string_equal(err.text, why);
	if (other.basis.host) /* then it has come as far as its server */
		cot_daemon_end(&other);
	if (other.server.spare_fd >= 0)
		(void)close(other.server.spare_fd);
	if (other.signals.fd >= 0)
		(void)close(other.signals.fd);
	if (other.lock_fd >= 0)
		(void)close(other.lock_fd);
}

static void test_cannot_begin(void **state)
{
	char path[200], hidden[232], why[320];
	size_t n;

	(void)state;
	n = (size_t)snprintf(path, sizeof(path), "%s/", folder);
	memset(path + n, 'x', sizeof(path) - n);
	path[108 - sizeof("cotenantd.sock")] = '\0'; /* one byte more than the socket may have */
	snprintf(why, sizeof(why),
		 "the socket's path '%s/cotenantd.sock' is longer than 107 bytes; set "
		 "COTENANT_RUNTIME_DIR to a shorter one",
		 path);
	expect_no_begin(path, -ENAMETOOLONG, why);
	snprintf(path, sizeof(path), "%s/other", folder);
	snprintf(hidden, sizeof(hidden), "%s/.cotenantd.new", path);
	assert_int_equal(mkdir(path, 0700) | mkdir(hidden, 0700), 0);
	snprintf(why, sizeof(why), "cannot listen on %s: Address already in use", hidden);
	expect_no_begin(path, -EADDRINUSE, why);
	/* A folder where its socket should be. */
	assert_int_equal(rmdir(hidden), 0);
	snprintf(path, sizeof(path), "%s/third", folder);
	snprintf(hidden, sizeof(hidden), "%s/cotenantd.sock", path);
	assert_int_equal(mkdir(path, 0700) | mkdir(hidden, 0700), 0);
	snprintf(why, sizeof(why), "cannot rename %s/.cotenantd.new to %s: Is a directory", path,
		 hidden);
	expect_no_begin(path, -EISDIR, why);
	expect_no_begin("/proc/none", -ENOENT,
			"cannot make the folder '/proc/none': No such file or directory");
}

/* ---- numbers ---- */

static void test_numbers(void **state)
{
	struct tenant *t = &stage.roster.tenants[4];
	struct pool *p = &stage.roster.pools[2];

	(void)state;
	assert_int_equal(cot_roster_new_id(&stage.roster), 1);
	assert_int_equal(cot_roster_new_id(&stage.roster), 2);
	t->id = 3;
	p->id = 4;
	assert_int_equal(cot_roster_new_id(&stage.roster), 5);
	cot_roster_old_id(&stage.roster, 5);
	assert_int_equal(stage.roster.next_id, 6);
	cot_roster_old_id(&stage.roster, 6);
	assert_int_equal(stage.roster.next_id, 7);
	cot_roster_old_id(&stage.roster, INT32_MAX);
	assert_int_equal(stage.roster.next_id, 7);
	cot_roster_old_id(&stage.roster, INT32_MAX - 1);
	assert_int_equal(stage.roster.next_id, INT32_MAX);
	/* From the last one on they begin again. */
	assert_int_equal(cot_roster_new_id(&stage.roster), INT32_MAX);
	assert_int_equal(stage.roster.next_id, 1);
	stage.roster.next_id = (uint32_t)INT32_MAX + 1;
	t->id = 1;
	assert_int_equal(cot_roster_new_id(&stage.roster), 2);
	stage.roster.next_id = 0;
	assert_int_equal(cot_roster_new_id(&stage.roster), 2);
	t->id = p->id = 0;
}

/* ---- configuration ---- */

static void test_config_file(void **state)
{
	struct cot_config config;
	struct cot_error err;

	(void)state;
	config.max_weight = 7;
	assert_int_equal(cot_daemon_read_config(&stage, &config, &err), 0); /* the defaults */
	assert_int_equal(config.max_weight, COT_WEIGHT_MAX);
	stage.config_named = true;
	assert_int_equal(cot_daemon_read_config(&stage, &config, &err), -ENOENT);
	stage.config_named = false;
	write_config("schema: cotenantd/1\npolicy: rotate\n");
	assert_int_equal(cot_daemon_read_config(&stage, &config, &err), 0);
	assert_string_equal(config.policy->name, "rotate");
	write_config("nonsense");
	assert_int_equal(cot_daemon_read_config(&stage, &config, &err), -EINVAL);
}

static const char *policy(void)
{
	return cot_sched_wanted_policy(cot_host_sched(stage.basis.host))->name;
}

static void test_reload(void **state)
{
	char line[256];

	(void)state;
	write_config("schema: cotenantd/1\npolicy: timeslice\nallow: {other_users: true}\n");
	(void)stage_log();
	assert_int_equal(kill(getpid(), SIGHUP), 0);
	serve(1);
	snprintf(line, sizeof(line), ": read %s again: policy pools -> timeslice, by ",
		 stage.basis.config_path);
	assert_non_null(strstr(stage_log(), line));
	assert_string_equal(notes(), "RELOADING=1 READY=1");
	assert_string_equal(policy(), "timeslice");
	assert_string_equal(stage.basis.config.policy->name, "timeslice");
	assert_int_equal(mode_of(stage.basis.socket_path), 0666);
	assert_int_equal(mode_of(stage.basis.runtime), 0755);
	/* A wrong one changes nothing. */
	write_config("schema: cotenantd/1\npolicy: no-such-policy\n");
	assert_int_equal(kill(getpid(), SIGHUP), 0);
	serve(1);
	assert_non_null(strstr(stage_log(), " ERROR cotenantd["));
	assert_string_equal(notes(), "RELOADING=1 READY=1");
	assert_string_equal(policy(), "timeslice");
	assert_string_equal(stage.basis.config.policy->name, "timeslice");
	assert_true(stage.basis.config.other_users);
	/* Without MPS programs take turns, whatever pools are wished for. */
	stage.roster.mps_failed = true;
	write_config("schema: cotenantd/1\npolicy: pools\n");
	assert_int_equal(kill(getpid(), SIGHUP), 0);
	serve(1);
	assert_string_equal(policy(), "rotate");
	assert_string_equal(stage.basis.config.policy->name, "pools");
	write_config("schema: cotenantd/1\npolicy: timeslice\n");
	assert_int_equal(kill(getpid(), SIGHUP), 0);
	serve(1);
	assert_string_equal(policy(), "timeslice");
	stage.roster.mps_failed = false;
	write_config("schema: cotenantd/1\npolicy: pools\n");
	assert_int_equal(kill(getpid(), SIGHUP), 0);
	serve(1);
	assert_string_equal(policy(), "pools");
	assert_false(stage.basis.stopping);
}

/* ---- the service manager ---- */

static void test_notes(void **state)
{
	static char name[] = "@cotenant-test-XXXXXX", longer[120];

	(void)state;
	snprintf(name, sizeof(name), "@cotenant-test-%06d", (int)getpid() % 1000000);
	hear_notes(name);
	cot_manager_notify("HELLO=1");
	assert_string_equal(notes(), "HELLO=1");
	/* Nobody there, no such place, no name: nothing happens. */
	assert_int_equal(setenv("NOTIFY_SOCKET", "/no/such/socket", 1), 0);
	cot_manager_notify("HELLO=2");
	memset(longer, '@', sizeof(longer) - 1);
	assert_int_equal(setenv("NOTIFY_SOCKET", longer, 1), 0);
	cot_manager_notify("HELLO=3");
	assert_int_equal(setenv("NOTIFY_SOCKET", name + 1, 1), 0);
	cot_manager_notify("HELLO=4");
	(void)unsetenv("NOTIFY_SOCKET");
	cot_manager_notify("HELLO=5");
	assert_string_equal(notes(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WHOLE(test_begins),	   WHOLE(test_one_at_a_time),
		WHOLE(test_lock),	   WHOLE(test_begins),
		WHOLE(test_one_at_a_time), WHOLE(test_lock_of_one_that_was_killed),
		WHOLE(test_descriptors),   WHOLE(test_without),
		WHOLE(test_cannot_begin),  WHOLE(test_numbers),
		WHOLE(test_config_file),   WHOLE(test_reload),
		WHOLE(test_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
