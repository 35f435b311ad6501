/*
 * Which program a connection belongs to, and what its user may have: packets of libraries, shims
 * and commands at the daemon's door.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/host_work.h"
#include "daemon/peer.h"
#include "daemon/processes.h"
#include "door_stage.h"

#define OTHER (STRANGER + 1)
#define THIRD (STRANGER + 2)

static uint64_t used(uid_t uid, enum cot_account_kind kind)
{
	return cot_account_used(&stage.basis.account, uid, kind);
}

/* Says hello; the type of the answer. */
static int hello(int fd, uint64_t number)
{
	struct cot_msg_hello m = hello_of(number);

	return ask(fd, &m, COT_MSG_HELLO, sizeof(m));
}

static uint64_t welcomed(int fd, uint64_t number)
{
	assert_int_equal(hello(fd, number), COT_MSG_WELCOME);
	return ((const struct cot_msg_welcome *)packet)->tenant;
}

static void groups(int fd, unsigned n)
{
	struct cot_msg_groups m = {.n_groups = n, .n_channels = 8 * n, .gpus = 1};

	say(fd, &m, COT_MSG_GROUPS, sizeof(m));
	serve(2);
}

static int reg(int fd)
{
	struct cot_msg_register m = {.class_ = COT_CLASS_BATCH,
				     .solo = 1,
				     .weight = 100,
				     .name = "registered",
				     .gpu = "0"};

	return ask(fd, &m, COT_MSG_REGISTER, sizeof(m));
}

static int command(int fd, const char *name, uint64_t id, unsigned weight)
{
	struct cot_msg_command m = {.what = COT_COMMAND_SET,
				    .fields = COT_SET_WEIGHT,
				    .tenant = id,
				    .weight = (uint16_t)weight};

	snprintf(m.name, sizeof(m.name), "%s", name);
	assert_int_equal(ask(fd, &m, COT_MSG_COMMAND, sizeof(m)), COT_MSG_RESULT);
	return status();
}

/* ---- programs that come by themselves ---- */

static void test_by_itself(void **state)
{
	const struct tenant *t;
	uint64_t id;
	int fd;

	(void)state;
	(void)enter(OTHER, &fd);
	id = welcomed(fd, 0);
	t = cot_roster_tenant(&stage.roster, id);
	assert_non_null(t);
	assert_int_equal(t->uid, OTHER);
	assert_int_equal(t->watch.pid, getpid());
	assert_int_equal(t->watch.start_time, cot_process_start_time(getpid()));
	assert_true(t->watch.source.fd >= 0);
	assert_true(t->by_itself && !t->pool && !t->had_groups);
	assert_int_equal(t->n_conns, 1);
	assert_int_equal(used(OTHER, COT_ACCOUNT_PROGRAMS), 1);
	/* It has not used the GPU: nothing is kept for it. */
	leave(fd);
	assert_null(cot_roster_tenant(&stage.roster, id));
	assert_int_equal(used(OTHER, COT_ACCOUNT_PROGRAMS), 0);
}

static void test_comes_back(void **state)
{
	uint64_t id;
	int fd;

	(void)state;
	(void)enter(OTHER, &fd);
	id = welcomed(fd, 0);
	groups(fd, 2);
	leave(fd);
	assert_non_null(cot_roster_tenant(&stage.roster, id)); /* its process lives */
	assert_int_equal(used(OTHER, COT_ACCOUNT_PROGRAMS), 1);
	(void)enter(OTHER, &fd);
	assert_int_equal(welcomed(fd, 0), id);
	leave(fd);
	(void)enter(OTHER, &fd);
	assert_int_equal(welcomed(fd, id), id);
	assert_int_equal(used(OTHER, COT_ACCOUNT_PROGRAMS), 1);
}

/* A process is one program, whatever it connects and whatever numbers it says. */
static void test_one_process(void **state)
{
	struct cot_msg_work_hello work = {
		.class_ = COT_CLASS_BATCH, .weight = 100, .n_sms = 10, .gpu = "0", .name = "w"};
	uint64_t id;
	int fd;

	(void)state;
	(void)enter(OTHER, &fd);
	id = welcomed(fd, 0);
	(void)enter(OTHER, &fd);
	assert_int_equal(welcomed(fd, 0), id);
	(void)enter(OTHER, &fd);
	assert_int_equal(welcomed(fd, 777), id);
	(void)enter(OTHER, &fd);
	assert_int_equal(ask(fd, &work, COT_MSG_WORK_HELLO, sizeof(work)), COT_MSG_WORK_WELCOME);
	assert_int_equal(((const struct cot_msg_work_welcome *)packet)->tenant, id);
	assert_int_equal(used(OTHER, COT_ACCOUNT_PROGRAMS), 1);
	/* The same number of a process is another user's by mistake or on purpose: not the same. */
	(void)enter(THIRD, &fd);
	assert_int_not_equal(welcomed(fd, 0), id);
}

static void test_numbers(void **state)
{
	struct conn *c;
	uint64_t id;
	int fd;

	(void)state;
	(void)stage_pool(9, "batch", 0);
	(void)enter(OTHER, &fd);
	id = welcomed(fd, 2147483647);
	assert_int_equal(id, 1);
	assert_int_equal(stage.roster.next_id, 2);
	c = enter(THIRD, &fd);
	assert_int_equal(hello(fd, 9), COT_MSG_REFUSED);
	assert_non_null(strstr(words(), "not the number of a program"));
	assert_null(c->tenant);
	(void)enter(THIRD, &fd);
	assert_int_equal(hello(fd, 2147483648), COT_MSG_REFUSED);
	/* Another user's, be it root who says so. */
	(void)enter(THIRD, &fd);
	assert_int_equal(hello(fd, id), COT_MSG_REFUSED);
	assert_non_null(strstr(words(), "belongs to another user"));
	(void)enter(0, &fd);
	assert_int_equal(hello(fd, id), COT_MSG_REFUSED);
}

/* A process that cannot be told: each connection is a program, which lasts as long. */
static void test_unseen(void **state)
{
	struct conn *c;
	uint64_t id[2];
	int fd[2], i;

	(void)state;
	for (i = 0; i < 2; i++) {
		c = enter(OTHER, &fd[i]);
		c->pid = 0;
		c->start_time = c->process = 0;
		id[i] = welcomed(fd[i], 0);
	}
	assert_int_not_equal(id[0], id[1]);
	groups(fd[0], 1);
	leave(fd[0]);
	assert_null(cot_roster_tenant(&stage.roster, id[0]));
	assert_non_null(cot_roster_tenant(&stage.roster, id[1]));
	c = enter(OTHER, &fd[0]);
	c->start_time = 0;
	assert_int_equal(reg(fd[0]), COT_MSG_REFUSED);
	assert_non_null(strstr(words(), "cannot be seen"));
	assert_int_equal(used(OTHER, COT_ACCOUNT_PROGRAMS), 1);
}

/* Its process has ended since: the connection may be anybody's. */
static void test_ended_since(void **state)
{
	struct conn *c;
	int fd, ends[2];
	pid_t pid;

	(void)state;
	c = enter(OTHER, &fd);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		(void)close(ends[1]);
		(void)!read(ends[0], packet, 1);
		_exit(0);
	}
	stand_in(c, pid);
	assert_false(cot_process_has_ended(c->pidfd));
	(void)close(ends[0]);
	(void)close(ends[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(cot_process_has_ended(c->pidfd));
	assert_int_equal(reg(fd), COT_MSG_REFUSED);
	assert_int_equal(used(OTHER, COT_ACCOUNT_PROGRAMS), 0);
}

/* ---- places and rates ---- */

static void test_places(void **state)
{
	struct conn *c;
	int fd;

	(void)state;
	stage.basis.account.limits[COT_ACCOUNT_PROGRAMS] = (struct cot_account_limit){4, 1};
	c = enter(OTHER, &fd);
	assert_int_equal(reg(fd), COT_MSG_REGISTERED);
	c = enter(OTHER, &fd);
	assert_int_equal(reg(fd), COT_MSG_LATER);
	assert_non_null(strstr(words(), "too many programs; each other user"));
	assert_int_equal(c->source.fd, -1);
	(void)enter(THIRD, &fd);
	assert_int_equal(reg(fd), COT_MSG_LATER);
	(void)enter(0, &fd);
	assert_int_equal(reg(fd), COT_MSG_REGISTERED);
	(void)enter(0, &fd);
	assert_int_equal(reg(fd), COT_MSG_REGISTERED);
	(void)enter(THIRD, &fd);
	c = enter(THIRD, &fd);
	c->process = c->start_time = 0;
	assert_int_equal(hello(fd, 0), COT_MSG_LATER);
	assert_non_null(strstr(words(), "too many programs (256"));
}

static void test_starts(void **state)
{
	int fd;

	(void)state;
	stage.basis.account.paces[COT_RATE_STARTS] =
		(struct cot_account_pace){COT_NS_PER_S * 100, 2};
	(void)enter(OTHER, &fd);
	assert_int_equal(reg(fd), COT_MSG_REGISTERED);
	(void)enter(OTHER, &fd);
	assert_int_equal(reg(fd), COT_MSG_REGISTERED);
	(void)enter(OTHER, &fd);
	assert_int_equal(reg(fd), COT_MSG_LATER);
	assert_non_null(strstr(words(), "too fast"));
	(void)enter(THIRD, &fd);
	assert_int_equal(hello(fd, 0), COT_MSG_WELCOME);
	assert_int_equal(used(OTHER, COT_ACCOUNT_PROGRAMS), 2);
}

/* No descriptor for its process: later, and not never. */
static void test_no_descriptor(void **state)
{
	struct rlimit was, few;
	int fd, other, held[64], n = 0;

	(void)state;
	(void)enter(OTHER, &fd);
	(void)enter(OTHER, &other);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	few = (struct rlimit){.rlim_cur = 64, .rlim_max = was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	while ((held[n] = fcntl(fd, F_DUPFD_CLOEXEC, 3)) >= 0)
		n++;
	assert_int_equal(reg(fd), COT_MSG_LATER);
	assert_non_null(strstr(words(), "cannot be watched now"));
	while ((held[n] = fcntl(other, F_DUPFD_CLOEXEC, 3)) >= 0) /* what that one had */
		n++;
	assert_int_equal(hello(other, 0), COT_MSG_LATER);
	assert_int_equal(used(OTHER, COT_ACCOUNT_PROGRAMS), 0);
	while (n--)
		(void)close(held[n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	(void)enter(OTHER, &fd);
	assert_int_equal(reg(fd), COT_MSG_REGISTERED);
}

static void test_changes(void **state)
{
	struct tenant *t;
	int fd, i;

	(void)state;
	stage.basis.account.paces[COT_RATE_CHANGES] = (struct cot_account_pace){COT_NS_PER_S, 60};
	t = stage_tenant(3, "mine", NULL);
	t->uid = OTHER;
	(void)enter(OTHER, &fd);
	cot_account_spend(&stage.basis.account, OTHER, COT_RATE_CHANGES, 57, cot_now_ns());
	for (i = 0; i < 3; i++)
		assert_int_equal(command(fd, "mine", 0, 50 + (unsigned)i), 0);
	cot_account_spend(&stage.basis.account, OTHER, COT_RATE_CHANGES, 1000, cot_now_ns());
	assert_int_equal(t->weight, 52);
	assert_int_equal(command(fd, "mine", 0, 60), -EAGAIN);
	assert_non_null(strstr(words(), "60 changes at once are allowed, and 1 per second"));
	assert_non_null(strstr(words(), "try again in "));
	assert_int_equal(t->weight, 52);
	/* Root's are not counted. */
	(void)enter(0, &fd);
	for (i = 0; i < 10; i++)
		assert_int_equal(command(fd, "mine", 0, 70 + (unsigned)i), 0);
	assert_int_equal(t->weight, 79);
}

/* ---- names ---- */

static void test_names(void **state)
{
	struct tenant *t[3];
	unsigned i;
	int fd;

	(void)state;
	for (i = 0; i < 3; i++) {
		t[i] = stage_tenant(3 + i, "serve", NULL);
		t[i]->uid = i == 1 ? OTHER : i == 2 ? THIRD : 0;
	}
	(void)enter(OTHER, &fd);
	assert_int_equal(command(fd, "serve", 0, 50), 0);
	assert_int_equal(t[1]->weight, 50);
	(void)enter(0, &fd);
	assert_int_equal(command(fd, "serve", 0, 60), 0);
	assert_int_equal(t[0]->weight, 60);
	(void)enter(THIRD, &fd);
	assert_int_equal(command(fd, "serve", 0, 70), 0);
	assert_int_equal(t[2]->weight, 70);
	assert_int_equal(command(fd, "", 3, 80), -EPERM);
	assert_int_equal(t[0]->weight, 60);
	/* Nobody's own: one must say which. */
	(void)enter(STRANGER, &fd);
	assert_int_equal(command(fd, "serve", 0, 80), -EINVAL);
	assert_non_null(strstr(words(), "3 programs are called 'serve'"));
	t[1]->uid = t[2]->uid = STRANGER;
	assert_int_equal(command(fd, "serve", 0, 80), -EINVAL);
	assert_non_null(strstr(words(), "2 programs are called 'serve'"));
	assert_int_equal(command(fd, "serves", 0, 80), -ESRCH);
}

/* ---- works ---- */

static void work(int fd, uint64_t name, bool done)
{
	struct cot_msg_work_request request = {
		.work = name, .n_tasks = 1000, .per_sm = 1, .flags = 3, .task_ns = 1000};
	struct cot_msg_work_done end = {.work = name, .n_tasks = 1};

	if (done)
		say(fd, &end, COT_MSG_WORK_DONE, sizeof(end));
	else
		say(fd, &request, COT_MSG_WORK_REQUEST, sizeof(request));
	serve(1);
}

static void test_works(void **state)
{
	struct cot_msg_work_hello m = {
		.class_ = COT_CLASS_BATCH, .weight = 100, .n_sms = 10, .gpu = "0", .name = "w"};
	struct conn *c;
	uint64_t i;
	int fd;

	(void)state;
	stage.basis.account.limits[COT_ACCOUNT_WORKS] = (struct cot_account_limit){10, 4};
	c = enter(OTHER, &fd);
	assert_int_equal(ask(fd, &m, COT_MSG_WORK_HELLO, sizeof(m)), COT_MSG_WORK_WELCOME);
	for (i = 1; i <= 5; i++)
		work(fd, i, false);
	/* Three are its part; the others run without being counted. */
	assert_int_equal(used(OTHER, COT_ACCOUNT_WORKS), 3);
	assert_int_equal(c->n_works_charged, 3);
	assert_int_equal(cot_host_work_count(stage.basis.host, conn_index(c)), 3);
	work(fd, 2, true);
	assert_int_equal(used(OTHER, COT_ACCOUNT_WORKS), 2);
	work(fd, 5, true); /* not one that is known */
	assert_int_equal(used(OTHER, COT_ACCOUNT_WORKS), 2);
	work(fd, 6, false);
	assert_int_equal(used(OTHER, COT_ACCOUNT_WORKS), 3);
	leave(fd);
	assert_int_equal(used(OTHER, COT_ACCOUNT_WORKS), 0);
	/* A name that is in use ends the connection, and leaves nothing behind. */
	c = enter(OTHER, &fd);
	assert_int_equal(ask(fd, &m, COT_MSG_WORK_HELLO, sizeof(m)), COT_MSG_WORK_WELCOME);
	work(fd, 1, false);
	work(fd, 1, false);
	assert_int_equal(c->source.fd, -1);
	assert_int_equal(used(OTHER, COT_ACCOUNT_WORKS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AT_THE_DOOR(test_by_itself),	 AT_THE_DOOR(test_comes_back),
		AT_THE_DOOR(test_one_process),	 AT_THE_DOOR(test_numbers),
		AT_THE_DOOR(test_unseen),	 AT_THE_DOOR(test_ended_since),
		AT_THE_DOOR(test_places),	 AT_THE_DOOR(test_starts),
		AT_THE_DOOR(test_no_descriptor), AT_THE_DOOR(test_changes),
		AT_THE_DOOR(test_names),	 AT_THE_DOOR(test_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
