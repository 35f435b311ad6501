/* The daemon as a whole, in this process: its beginning, its signals, what it does before it
 * sleeps, and its end. */
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
#include <unistd.h>

#include "daemon/lock.h"
#include "door_stage.h"

static int notified; /* the other end of NOTIFY_SOCKET */

static void hear_notes(const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t n = strlen(name);

	notified = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	memcpy(address.sun_path, name, n);
	if (*name == '@')
		address.sun_path[0] = '\0';
	assert_int_equal(bind(notified, (struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)),
			 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
}

/* What has been said to the service manager since, with a space between two. */
static const char *notes(void)
{
	static char text[256];
	size_t used = 0;
	ssize_t n;

	while ((n = recv(notified, text + used, sizeof(text) - used - 1, 0)) > 0) {
		used += (size_t)n;
		text[used++] = ' ';
	}
	text[used ? used - 1 : 0] = '\0';
	return text;
}

static void write_config(const char *text)
{
	FILE *f = fopen(stage.config_path, "we");

	assert_non_null(f);
	(void)fputs(text, f);
	(void)fclose(f);
}

/* As main.c does it. */
static int setup(void **state)
{
	struct cot_error err = {{0}};
	char path[80];

	if (stage_setup(state) < 0)
		return -1;
	cot_loop_finish(&stage.loop);
	memset(&stage, 0, sizeof(stage));
	snprintf(folder, sizeof(folder), P_tmpdir "/cot-whole-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/notes", folder);
	hear_notes(path);
	snprintf(path, sizeof(path), "%s/run", folder);
	assert_int_equal(setenv("COTENANT_RUNTIME_DIR", path, 1), 0);
	assert_int_equal(setenv("COTENANT_GPUS", "2", 1), 0);
	assert_int_equal(setenv("COTENANT_LIBRARY", "/bin/sh", 1), 0);
	snprintf(stage.config_path, sizeof(stage.config_path), "%s/conf", folder);
	stage.lock_fd = stage.spare_fd = stage.listener.fd = stage.signals.fd = -1;
	cot_config_default(&stage.config);
	stage.config.use_mps = stage.config.other_users = false;
	n_peers = 0;
	if (cot_daemon_begin(&stage, &err) < 0)
		fail_msg("%s", err.text);
	return 0;
}

static int teardown(void **state)
{
	char command[80];
	sigset_t all;

	while (n_peers)
		(void)close(peers[--n_peers]);
	cot_daemon_end(&stage);
	assert_int_equal(access(stage.socket_path, F_OK), -1);
	(void)close(stage.signals.fd);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_UNBLOCK, &all, NULL);
	(void)close(stage.lock_fd);
	(void)close(stage.spare_fd);
	(void)close(notified);
	(void)unsetenv("COTENANT_RUNTIME_DIR");
	(void)unsetenv("COTENANT_GPUS");
	(void)unsetenv("COTENANT_LIBRARY");
	(void)unsetenv("NOTIFY_SOCKET");
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
	return stage_teardown(state);
}

static bool too_late;

static void end_wait(struct cot_timer *timer, uint64_t now_ns)
{
	(void)timer;
	(void)now_ns;
	too_late = stage.loop.quit = true;
}

/* Whether the loop ends by itself, in that time. */
static bool ends_within(uint64_t ns)
{
	struct cot_timer end = {.fire = end_wait};

	too_late = stage.loop.quit = false;
	cot_timer_set(&stage.loop, &end, cot_now_ns() + ns);
	assert_int_equal(cot_loop_run(&stage.loop), 0);
	cot_timer_clear(&end);
	return !too_late;
}

static unsigned mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 0777;
}

/* A program with a library, whose socket this is. */
static struct conn *program(int *ret_fd)
{
	struct cot_msg_hello m = hello_of(0);
	struct conn *c = enter(getuid(), ret_fd);

	assert_int_equal(ask(*ret_fd, &m, COT_MSG_HELLO, sizeof(m)), COT_MSG_WELCOME);
	return c;
}

/* ---- beginning ---- */

static void test_begins(void **state)
{
	char path[96];

	(void)state;
	snprintf(path, sizeof(path), "%s/run", folder);
	assert_string_equal(stage.runtime, path);
	assert_int_equal(mode_of(path), 0700);
	snprintf(path, sizeof(path), "%s/run/cotenantd.sock", folder);
	assert_string_equal(stage.socket_path, path);
	assert_int_equal(mode_of(path), 0600);
	assert_string_equal(stage.library, "/bin/sh");
	assert_int_equal(stage.gpus.n, 2);
	assert_int_equal(stage.next_id, 1);
	assert_int_equal(stage.account.own, geteuid());
	assert_string_equal(stage_log(), "");
	assert_string_equal(notes(), "");
	assert_int_equal(cot_sched_wanted_policy(cot_host_sched(stage.host)), stage.config.policy);
}

static void test_one_at_a_time(void **state)
{
	static struct daemon second;
	struct cot_error err;
	char why[128];

	(void)state;
	cot_config_default(&second.config);
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
	(void)close(fd);
	assert_int_equal(cot_lock_take("/no/such/folder", path, &fd, &err), -ENOENT);
	assert_string_equal(err.text, "cannot open /no/such/folder/cotenantd.lock: No such file or "
				      "directory");
}

static void test_descriptors(void **state)
{
	struct rlimit was, limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	assert_true(was.rlim_cur >= 4096 || was.rlim_cur == was.rlim_max);
	assert_int_equal(teardown(state), 0);
	limit = (struct rlimit){256, was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(setup(state), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(limit.rlim_cur, was.rlim_max < 4096 ? was.rlim_max : 4096);
	assert_int_equal(limit.rlim_max, was.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
}

static void test_without(void **state)
{
	char why[96];

	(void)state;
	assert_int_equal(teardown(state), 0);
	assert_int_equal(setenv("NOTIFY_SOCKET", "notes", 1), 0); /* not a whole path */
	assert_int_equal(setup(state), 0);
	cot_daemon_end(&stage);
	(void)close(stage.lock_fd);
	(void)close(stage.spare_fd);
	(void)close(stage.signals.fd);
	(void)stage_log();
	assert_int_equal(setenv("COTENANT_LIBRARY", "/none", 1), 0);
	assert_int_equal(cot_daemon_begin(&stage, NULL), 0);
	assert_string_equal(stage.library, "");
	snprintf(why, sizeof(why), ": pools will have no slices\n");
	assert_non_null(strstr(stage_log(), why));
}

/* ---- numbers ---- */

static void test_numbers(void **state)
{
	struct tenant *t = &stage.tenants[4];
	struct pool *p = &stage.pools[2];

	(void)state;
	assert_int_equal(cot_daemon_new_id(&stage), 1);
	assert_int_equal(cot_daemon_new_id(&stage), 2);
	t->id = 3;
	p->id = 4;
	assert_int_equal(cot_daemon_new_id(&stage), 5);
	cot_daemon_old_id(&stage, 5);
	assert_int_equal(stage.next_id, 6);
	cot_daemon_old_id(&stage, 6);
	assert_int_equal(stage.next_id, 7);
	cot_daemon_old_id(&stage, INT32_MAX);
	assert_int_equal(stage.next_id, 7);
	cot_daemon_old_id(&stage, INT32_MAX - 1);
	assert_int_equal(stage.next_id, INT32_MAX);
	/* From the last one on they begin again. */
	assert_int_equal(cot_daemon_new_id(&stage), INT32_MAX);
	assert_int_equal(stage.next_id, 1);
	stage.next_id = (uint32_t)INT32_MAX + 1;
	t->id = 1;
	assert_int_equal(cot_daemon_new_id(&stage), 2);
	stage.next_id = 0;
	assert_int_equal(cot_daemon_new_id(&stage), 2);
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
	return cot_sched_wanted_policy(cot_host_sched(stage.host))->name;
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
		 stage.config_path);
	assert_non_null(strstr(stage_log(), line));
	assert_string_equal(notes(), "RELOADING=1 READY=1");
	assert_string_equal(policy(), "timeslice");
	assert_string_equal(stage.config.policy->name, "timeslice");
	assert_int_equal(mode_of(stage.socket_path), 0666);
	assert_int_equal(mode_of(stage.runtime), 0755);
	/* A wrong one changes nothing. */
	write_config("schema: cotenantd/1\npolicy: no-such-policy\n");
	assert_int_equal(kill(getpid(), SIGHUP), 0);
	serve(1);
	assert_non_null(strstr(stage_log(), " ERROR cotenantd["));
	assert_string_equal(notes(), "RELOADING=1 READY=1");
	assert_string_equal(policy(), "timeslice");
	assert_string_equal(stage.config.policy->name, "timeslice");
	assert_true(stage.config.other_users);
	/* Without MPS programs take turns, whatever pools are wished for. */
	stage.mps_failed = true;
	write_config("schema: cotenantd/1\npolicy: pools\n");
	assert_int_equal(kill(getpid(), SIGHUP), 0);
	serve(1);
	assert_string_equal(policy(), "rotate");
	assert_string_equal(stage.config.policy->name, "pools");
	write_config("schema: cotenantd/1\npolicy: timeslice\n");
	assert_int_equal(kill(getpid(), SIGHUP), 0);
	serve(1);
	assert_string_equal(policy(), "timeslice");
	stage.mps_failed = false;
	write_config("schema: cotenantd/1\npolicy: pools\n");
	assert_int_equal(kill(getpid(), SIGHUP), 0);
	serve(1);
	assert_string_equal(policy(), "pools");
	assert_false(stage.stopping);
}

/* ---- the end ---- */

static void test_stops(void **state)
{
	(void)state;
	(void)stage_log();
	assert_false(ends_within(20 * MS));
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_true(ends_within(10 * COT_NS_PER_S));
	assert_true(stage.stopping);
	assert_int_equal(access(stage.socket_path, F_OK), -1);
	assert_int_equal(stage.listener.fd, -1);
	assert_string_equal(notes(), "STOPPING=1");
	assert_non_null(strstr(stage_log(), " INFO cotenantd["));
}

/* What is frozen is thawed first, for as long as half a second. */
static void test_stop_waits(void **state)
{
	struct cot_msg_groups groups = {.n_groups = 1, .n_channels = 1, .gpus = 1};
	struct cot_event ev = {.type = COT_EV_HOLD, .hold = true};
	struct cot_msg_ack ack = {0};
	struct conn *c;
	int fd, type;

	(void)state;
	c = program(&fd);
	say(fd, &groups, COT_MSG_GROUPS, sizeof(groups));
	serve(1);
	c->settle.fire(&c->settle, cot_now_ns());
	ev.id = c->entity;
	ev.now_ns = cot_now_ns();
	assert_int_equal(cot_host_event(stage.host, &ev), 0);
	while ((type = hear(fd)) > 0) {
		cot_proto_header(&ack.h, COT_MSG_ACK, sizeof(ack),
				 ((const struct cot_msg_header *)packet)->seq);
		assert_int_equal(send(fd, &ack, sizeof(ack), 0), sizeof(ack));
		serve(1);
	}
	assert_true(stage.host_timer.armed);
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	serve(1);
	assert_true(stage.stopping);
	assert_true(stage.idle.armed);
	assert_in_range(stage.idle.due_ns, cot_now_ns() + 1, cot_now_ns() + 500 * MS);
	assert_int_equal(hear(fd), COT_MSG_THAW);
	assert_true(c->source.fd >= 0);
	assert_true(ends_within(10 * COT_NS_PER_S));
}

static void test_stop_is_bounded(void **state)
{
	(void)state;
	stage.stopping = true;
	stage.exit_idle_s = 1;
	stage.pools[0] = (struct pool){.d = &stage, .id = 9, .state = POOL_STOPPING};
	stage.pools[0].clients.asked = true; /* busy */
	assert_false(ends_within(20 * MS));
	/* A second signal does not wait, nor is there more than so much time. */
	assert_int_equal(kill(getpid(), SIGINT), 0);
	assert_true(ends_within(10 * COT_NS_PER_S));
	assert_string_equal(notes(), "");
	stage.loop.quit = false;
	stage.idle.fire(&stage.idle, cot_now_ns());
	assert_true(stage.loop.quit);
	stage.pools[0].id = 0;
	assert_true(ends_within(10 * COT_NS_PER_S));
}

static void test_idle(void **state)
{
	(void)state;
	stage.exit_idle_s = 7;
	stage.tenants[0].id = 1;
	(void)stage_log();
	stage.idle.fire(&stage.idle, cot_now_ns());
	assert_false(stage.stopping);
	stage.tenants[0].id = 0;
	stage.idle.fire(&stage.idle, cot_now_ns());
	assert_true(stage.stopping);
	assert_false(stage.loop.quit);
	assert_non_null(strstr(stage_log(), ": no program for 7 s\n"));
}

/* ---- what it does between ---- */

/* Whoever says nothing for five seconds has had its place for long enough. */
static void test_silent(void **state)
{
	struct cot_msg_query query = {.what = COT_QUERY_PS};
	struct conn *silent, *later, *asks, *lib;
	int fd[4];
	uint64_t now_ns;

	(void)state;
	silent = enter(getuid(), &fd[0]);
	later = enter(getuid(), &fd[1]);
	asks = enter(getuid(), &fd[2]);
	assert_int_equal(ask(fd[2], &query, COT_MSG_QUERY, sizeof(query)), COT_MSG_RESULT);
	lib = program(&fd[3]);
	now_ns = cot_now_ns();
	silent->since_ns = now_ns - 5 * COT_NS_PER_S;
	later->since_ns = silent->since_ns + 1;
	asks->since_ns = lib->since_ns = now_ns - 9 * COT_NS_PER_S;
	stage.waits.fire(&stage.waits, now_ns);
	assert_int_equal(silent->source.fd, -1);
	assert_true(later->source.fd >= 0 && asks->source.fd >= 0 && lib->source.fd >= 0);
	assert_true(stage.waits.armed);
	assert_int_equal(stage.waits.due_ns, now_ns + 1);
	/* A command that waits is looked at in its time. */
	asks->wait_entity = lib->entity;
	asks->wait_until_ns = now_ns + 1;
	asks->wait_retry_ns = 1;
	asks->wait_frozen = true;
	asks->wait_since_ns = now_ns;
	later->since_ns = now_ns;
	cot_timer_clear(&stage.waits);
	stage.waits.fire(&stage.waits, now_ns);
	assert_true(asks->source.fd >= 0);
	assert_int_equal(stage.waits.due_ns, asks->wait_until_ns);
	assert_true(asks->wait_until_ns < later->since_ns + 5 * COT_NS_PER_S);
	asks->wait_entity = 0;
	cot_conn_close(later);
	cot_timer_clear(&stage.waits);
	stage.waits.fire(&stage.waits, now_ns);
	assert_false(stage.waits.armed); /* there is nobody to wait for */
}

static void test_lateness(void **state)
{
	struct cot_lateness *l = &stage.loop.lateness;

	(void)state;
	serve(1);
	(void)stage_log();
	l->n_late = stage.n_late_told + 3;
	l->worst_own_ns = 1717 * MS;
	stage.late_again_ns = 0;
	serve(1);
	assert_non_null(strstr(stage_log(),
			       ": deadlines came late 3 times, by up to 1717 ms of the daemon's "
			       "own: it was stopped or is overloaded\n"));
	assert_in_range(stage.late_again_ns, cot_now_ns() + 9 * COT_NS_PER_S,
			cot_now_ns() + 10 * COT_NS_PER_S);
	l->n_late++;
	serve(1);
	assert_string_equal(stage_log(), "");
	stage.late_again_ns = cot_now_ns();
	serve(1);
	assert_non_null(strstr(stage_log(), ": deadlines came late 1 times"));
	stage.late_again_ns = 0;
	serve(1);
	assert_string_equal(stage_log(), "");
}

/* What the closer keeps goes to one child at a time, and no more often than every 20 ms. */
static void test_closes(void **state)
{
	(void)state;
	cot_closer_keep(&stage.closer, open("/dev/null", O_RDONLY | O_CLOEXEC));
	stage.loop.settle(&stage);
	assert_int_equal(stage.closer.n, 0);
	assert_int_equal(stage.closer.n_closed, 1);
	assert_true(stage.closes.armed);
	assert_in_range(stage.closes.due_ns, cot_now_ns(), cot_now_ns() + 20 * MS);
	cot_closer_keep(&stage.closer, open("/dev/null", O_RDONLY | O_CLOEXEC));
	stage.loop.settle(&stage);
	assert_int_equal(stage.closer.n, 1);
	/* Its time comes by itself, and the end of each child is noticed. */
	while (stage.closer.n || stage.closer.children[0] || stage.closer.children[1])
		assert_false(ends_within(5 * MS));
	assert_int_equal(stage.closer.n_closed, 2);
}

/* The host's next deadline is the loop's. */
static void test_host_timer(void **state)
{
	(void)state;
	stage.loop.settle(&stage);
	assert_int_equal(stage.host_timer.armed, cot_host_wake_ns(stage.host) != COT_NEVER);
	cot_timer_set(&stage.loop, &stage.host_timer, 77);
	stage.loop.settle(&stage);
	if (cot_host_wake_ns(stage.host) == COT_NEVER)
		assert_false(stage.host_timer.armed);
	else
		assert_int_equal(stage.host_timer.due_ns, cot_host_wake_ns(stage.host));
}

static void test_keeps_state(void **state)
{
	char path[96];

	(void)state;
	snprintf(path, sizeof(path), "%s/run/state.json", folder);
	stage.state_dirty = true;
	stage.loop.settle(&stage);
	assert_int_equal(access(path, F_OK), 0);
	assert_false(stage.state_dirty);
}

static void test_notes(void **state)
{
	static char name[] = "@cotenant-test-XXXXXX", longer[120];

	(void)state;
	(void)close(notified);
	snprintf(name, sizeof(name), "@cotenant-test-%06d", (int)getpid() % 1000000);
	hear_notes(name);
	cot_daemon_notify("HELLO=1");
	assert_string_equal(notes(), "HELLO=1");
	/* Nobody there, no such place, no name: nothing happens. */
	assert_int_equal(setenv("NOTIFY_SOCKET", "/no/such/socket", 1), 0);
	cot_daemon_notify("HELLO=2");
	memset(longer, '@', sizeof(longer) - 1);
	assert_int_equal(setenv("NOTIFY_SOCKET", longer, 1), 0);
	cot_daemon_notify("HELLO=3");
	assert_int_equal(setenv("NOTIFY_SOCKET", name + 1, 1), 0);
	cot_daemon_notify("HELLO=4");
	(void)unsetenv("NOTIFY_SOCKET");
	cot_daemon_notify("HELLO=5");
	assert_string_equal(notes(), "");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(begins),	   TEST(one_at_a_time),	  TEST(lock),
		TEST(descriptors), TEST(without),	  TEST(numbers),
		TEST(config_file), TEST(reload),	  TEST(stops),
		TEST(stop_waits),  TEST(stop_is_bounded), TEST(idle),
		TEST(silent),	   TEST(lateness),	  TEST(closes),
		TEST(host_timer),  TEST(keeps_state),	  TEST(notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
