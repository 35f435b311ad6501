/* Descriptors at the daemon's door: those that come along with packets, which it may not close
 * itself, and those that it has not, or cannot watch. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/server.h"
#include "door_stage.h"

static bool pass(int fd, size_t size, int n)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = {0};
	struct cot_msg_query m = {.what = COT_QUERY_PS};
	struct iovec iov = {.iov_base = &m, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control};
	int i, passed = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ssize_t rc;

	cot_proto_header(&m.h, COT_MSG_QUERY, sizeof(m), 1);
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
	for (i = 0; i < n; i++)
		memcpy(CMSG_DATA(&control.header) + (size_t)i * sizeof(int), &passed, sizeof(int));
	msg.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
	rc = sendmsg(fd, &msg, MSG_NOSIGNAL);
	(void)close(passed);
	return rc >= 0;
}

static unsigned n_descriptors(void)
{
	unsigned n = 0;
	int fd;

	for (fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* ---- those that come along ---- */

/* Each kind of packet that may carry files, where the kernel lets them through: the connection is
 * over, a child gets it, and nothing stays. */
static void test_files(void **state)
{
	unsigned i, before;
	int fd;

	(void)state;
	if (stage.conns.guarded) {
		fd = dial();
		assert_false(pass(fd, sizeof(struct cot_msg_query), 1));
		assert_false(pass(fd, 0, 8));
	}
	let_files_through();
	serve(1);
	before = n_descriptors();
	for (i = 0; i < 6; i++) {
		fd = dial();
		if (i & 1) /* behind an empty one */
			assert_int_equal(send(fd, "", 0, 0), 0);
		assert_true(pass(fd, i & 2 ? 0 : sizeof(struct cot_msg_query), i & 4 ? 8 : 1));
		serve(2);
		assert_int_equal(hear(fd), -1);
		assert_int_equal(stage.conns.closer.n, 1);
		assert_int_equal(cot_closer_run(&stage.conns.closer), 0);
		assert_int_equal(stage.conns.closer.n, 0);
		assert_int_equal(stage.conns.closer.n_closed, i + 1);
		while (stage.conns.closer.children[0]) {
			(void)usleep(1000);
			cot_closer_reap(&stage.conns.closer);
		}
		(void)close(fd);
		n_peers--;
		assert_int_equal(n_descriptors(), before);
	}
	assert_true(stage.conns.n_bad_packets >= 3);
}

/* What has nothing with it is closed at once, whatever has not been read. */
static void test_plain_ends(void **state)
{
	struct cot_msg_query query = {.what = COT_QUERY_PS};
	unsigned i;
	int fd;

	(void)state;
	let_files_through();
	fd = dial();
	serve(1);
	for (i = 0; i < 20; i++)
		say(fd, &query, COT_MSG_QUERY, sizeof(query));
	assert_int_equal(send(fd, "", 0, 0), 0);
	cot_conn_close(&stage.conns.all[0]);
	assert_int_equal(stage.conns.closer.n, 0);
	assert_int_equal(hear(fd), -1);
	/* From here on nothing gets in. */
	assert_int_equal(send(fd, "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(errno, EPIPE);
}

static void test_closer_bounds(void **state)
{
	struct cot_closer *closer = &stage.conns.closer;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_CLOSER_MAX / 2 - 1; i++)
		cot_closer_keep(closer, open("/dev/null", O_RDONLY | O_CLOEXEC));
	assert_false(cot_closer_is_full(closer));
	cot_closer_keep(closer, open("/dev/null", O_RDONLY | O_CLOEXEC));
	assert_true(cot_closer_is_full(closer));
	/* Nobody is let in then, but later. */
	(void)dial();
	serve(2);
	assert_int_equal(stage.conns.all[0].source.fd, -1);
	assert_true(stage.server.listener_timer.armed);
	assert_int_equal(cot_closer_run(closer), 0);
	assert_false(cot_closer_is_full(closer));
	for (i = 1; i < COT_CLOSER_CHILDREN; i++)
		closer->children[i] = INT32_MAX; /* never reaped by us */
	cot_closer_keep(closer, open("/dev/null", O_RDONLY | O_CLOEXEC));
	assert_int_equal(cot_closer_run(closer), closer->children[0] ? -EAGAIN : 0);
	memset(closer->children + 1, 0, sizeof(closer->children) - sizeof(closer->children[0]));
	assert_int_equal(cot_closer_run(closer), 0);
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	memset(closer->children, 0, sizeof(closer->children));
	stage.server.listener_timer.fire(&stage.server.listener_timer, cot_now_ns());
	serve(2);
	assert_true(stage.conns.all[0].source.fd >= 0);
}

/* ---- none is left ---- */

static struct rlimit limit_before;
static int held[64], n_held;

/* There are so many of them left, and no more. */
static void leave_descriptors(int n)
{
	struct rlimit few;
	int fd;

	if (!n_held) {
		assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit_before), 0);
		few = (struct rlimit){.rlim_cur = 64, .rlim_max = limit_before.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	}
	while ((fd = fcntl(stage.server.listener.fd, F_DUPFD_CLOEXEC, 3)) >= 0)
		held[n_held++] = fd;
	while (n--)
		(void)close(held[--n_held]);
}

static void give_descriptors(void)
{
	while (n_held)
		(void)close(held[--n_held]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit_before), 0);
}

static void resume(void)
{
	cot_timer_clear(&stage.server.listener_timer);
	stage.server.listener_timer.fire(&stage.server.listener_timer, cot_now_ns());
	serve(2);
}

/* A daemon out of descriptors turns those away who come, says so once in a while, goes on to serve
 * those who are there, and lets in again when there is room. */
static void test_none_left(void **state)
{
	struct cot_msg_query query = {.what = COT_QUERY_PS};
	struct conn *old, *c = &stage.conns.all[1];
	int fd_old, fds[5], i;
	uint64_t now_ns;

	(void)state;
	old = enter(getuid(), &fd_old);
	assert_ptr_equal(old, &stage.conns.all[0]);
	for (i = 0; i < 5; i++)
		fds[i] = i < 2 ? dial() : socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	leave_descriptors(0);
	(void)stage_log();
	now_ns = cot_now_ns();
	serve(1);
	assert_int_equal(c->source.fd, -1);
	assert_int_equal(hear(fds[0]), -1);
	assert_string_equal(strstr(stage_log(), ": out of"),
			    ": out of file descriptors: a program was turned away; raise "
			    "LimitNOFILE\n");
	assert_true(stage.server.spare_fd >= 0);
	/* It looks again a little later, and not before. */
	assert_true(stage.server.listener_timer.armed);
	assert_in_range(stage.server.listener_timer.due_ns, now_ns + 100 * MS,
			cot_now_ns() + 100 * MS);
	serve(2);
	assert_int_equal(hear(fds[1]), 0);
	/* Who is there is served. */
	assert_int_equal(ask(fd_old, &query, COT_MSG_QUERY, sizeof(query)), COT_MSG_RESULT);
	assert_int_equal(status(), 0);
	/* The next one is told of by its own connection; the log has it already. */
	resume();
	assert_int_equal(hear(fds[1]), -1);
	assert_string_equal(stage_log(), "");
	give_descriptors();
	for (i = 0; i < 5; i++)
		(void)close(fds[i]);
	peers[1] = peers[2] = -1;
	(void)dial();
	resume();
	assert_true(c->source.fd >= 0);
}

/* What it turns away then may have files with it, which go to nobody else either. */
static void test_none_left_for_files(void **state)
{
	int fd;

	(void)state;
	let_files_through();
	fd = dial();
	assert_true(pass(fd, 0, 1));
	leave_descriptors(0);
	serve(1);
	assert_int_equal(stage.conns.closer.n, 1);
	assert_true(fcntl(stage.conns.closer.fds[0], F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(stage.server.spare_fd, F_GETFD) & FD_CLOEXEC);
	give_descriptors();
}

static void test_none_left_to_begin(void **state)
{
	static struct daemon other;
	struct cot_error err;

	(void)state;
	cot_daemon_wire(&other);
	snprintf(other.basis.socket_path, sizeof(other.basis.socket_path), "%s/other", folder);
	snprintf(other.basis.runtime, sizeof(other.basis.runtime), "%s", folder);
	leave_descriptors(0);
	assert_int_equal(cot_server_open(&other.server, &err), -EMFILE);
	assert_string_equal(err.text, "cannot make a socket: Too many open files");
	give_descriptors();
}

static void test_told_again(void **state)
{
	(void)state;
	(void)dial();
	leave_descriptors(0);
	(void)stage_log();
	stage.server.told_ns = cot_now_ns() - 9 * COT_NS_PER_S;
	serve(1);
	assert_string_equal(stage_log(), "");
	stage.server.told_ns = cot_now_ns() - 10 * COT_NS_PER_S - 1;
	give_descriptors();
	(void)dial();
	leave_descriptors(0);
	resume();
	assert_non_null(strstr(stage_log(), "out of file descriptors"));
	assert_in_range(stage.server.told_ns, cot_now_ns() - COT_NS_PER_S, cot_now_ns());
	give_descriptors();
}

/* With one for the connection but not for its process, it is told to come again. */
static void test_one_left(void **state)
{
	int fd = dial();

	(void)state;
	leave_descriptors(1);
	serve(1);
	assert_int_equal(hear(fd), COT_MSG_LATER);
	assert_string_equal(
		words(), "the daemon cannot look at a program now: no memory or no file descriptor "
			 "is left");
	assert_int_equal(hear(fd), -1);
	assert_int_equal(stage.conns.all[0].source.fd, -1);
	assert_int_equal(cot_account_used(&stage.basis.account, getuid(), COT_ACCOUNT_CONNS), 0);
	give_descriptors();
	fd = dial();
	serve(1);
	assert_true(stage.conns.all[0].source.fd >= 0);
}

/* ---- no memory ---- */

static bool no_memory;

/* In place of libc's. */
int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	if (no_memory && op == EPOLL_CTL_ADD) {
		errno = ENOMEM;
		return -1;
	}
	return (int)syscall(SYS_epoll_ctl, epoll, op, fd, event);
}

/* Who asks while the kernel has no memory to watch connections is answered, keeps no place after
 * it has hung up, and is heard again when there is memory. */
static void test_no_memory_to_watch(void **state)
{
	struct cot_msg_query query = {.what = COT_QUERY_PS};
	struct conn *c[2];
	int fds[2], i;

	(void)state;
	for (i = 0; i < 2; i++)
		c[i] = enter(STRANGER, &fds[i]);
	no_memory = true;
	for (i = 0; i < 2; i++)
		assert_int_equal(ask(fds[i], &query, COT_MSG_QUERY, sizeof(query)), COT_MSG_RESULT);
	leave(fds[1]);
	assert_false(c[0]->watched || c[1]->watched);
	cot_timer_clear(&stage.conns.pauses);
	stage.conns.pauses.fire(&stage.conns.pauses, cot_now_ns());
	assert_false(c[0]->watched || c[1]->watched);
	assert_true(stage.conns.pauses.due_ns > cot_now_ns() + 50 * MS);
	no_memory = false;
	cot_timer_set(&stage.basis.loop, &stage.conns.pauses, cot_now_ns());
	serve(2);
	assert_false(conn_is_open(c[1]));
	assert_int_equal(cot_account_used(&stage.basis.account, STRANGER, COT_ACCOUNT_CONNS), 1);
	assert_int_equal(ask(fds[0], &query, COT_MSG_QUERY, sizeof(query)), COT_MSG_RESULT);
	/* Nobody is let in meanwhile, nor has a place. */
	no_memory = true;
	(void)dial();
	serve(1);
	assert_int_equal(cot_account_used(&stage.basis.account, getuid(), COT_ACCOUNT_CONNS), 0);
	no_memory = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AT_THE_DOOR(test_files),
		AT_THE_DOOR(test_plain_ends),
		AT_THE_DOOR(test_closer_bounds),
		AT_THE_DOOR(test_none_left),
		AT_THE_DOOR(test_none_left_for_files),
		AT_THE_DOOR(test_none_left_to_begin),
		AT_THE_DOOR(test_told_again),
		AT_THE_DOOR(test_no_memory_to_watch),
		AT_THE_DOOR(test_one_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
