/* Who is at the other end of a connection, on new kernels and on old ones. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "daemon/peer.h"
#include "daemon/processes.h"
#include "door_stage.h"
#include "in_a_child.h"
#include "support/old_kernel.h"

/* Both ends are this process's. */
static int identify(struct conn *c)
{
	int ends[2], rc;

	memset(c, 0x5a, sizeof(*c));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	rc = cot_peer_identify(c, ends[0]);
	(void)close(ends[0]);
	(void)close(ends[1]);
	return rc;
}

static int check_self(bool by_pidfd)
{
	struct conn c;

	CHECK(identify(&c) == 0);
	CHECK(c.pid == getpid() && c.uid == getuid() && c.gid == getgid());
	CHECK(c.start_time == cot_process_start_time(getpid()));
	CHECK((c.pidfd >= 0) == by_pidfd);
	CHECK(c.process == cot_process_number(c.pidfd));
	CHECK(!by_pidfd || !cot_process_has_ended(c.pidfd));
	cot_peer_finish(&c);
	CHECK(c.pidfd == -1);
	cot_peer_finish(&c);
	return 0;
}

static int check_new(void)
{
	return check_self(true);
}

static int check_old(void)
{
	return old_kernel_sockets() ? check_self(true) : 0;
}

static int check_older(void)
{
	return old_kernel_pidfds(ENOSYS) && old_kernel_sockets() ? check_self(false) : 0;
}

static void test_kernels(void **state)
{
	(void)state;
	in_a_child(check_new);
	in_a_child(check_old);
	in_a_child(check_older);
}

/* The end of a connection whose process, of that user or another one, has ended. */
static int orphan(uid_t uid, bool wait)
{
	int ends[2], done[2];
	char byte;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, done) < 0)
		return -errno;
	pid = fork();
	if (!pid) { /* it makes both ends, and leaves one behind */
		union {
			struct cmsghdr header;
			char bytes[CMSG_SPACE(sizeof(int))];
		} control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)),
					.cmsg_level = SOL_SOCKET,
					.cmsg_type = SCM_RIGHTS}};
		struct iovec iov = {.iov_base = &byte, .iov_len = 1};
		struct msghdr msg = {.msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = &control,
				     .msg_controllen = sizeof(control)};

		if ((getuid() != uid && setuid(uid) < 0) ||
		    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) < 0)
			_exit(1);
		memcpy(CMSG_DATA(&control.header), ends, sizeof(int));
		_exit(sendmsg(done[1], &msg, 0) < 0);
	} else {
		char control[CMSG_SPACE(sizeof(int))];
		struct iovec iov = {.iov_base = &byte, .iov_len = 1};
		struct msghdr msg = {.msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = control,
				     .msg_controllen = sizeof(control)};
		struct pollfd p = {.fd = done[0], .events = POLLIN};

		(void)poll(&p, 1, 10000);
		if (recvmsg(done[0], &msg, MSG_DONTWAIT) < 0 || !CMSG_FIRSTHDR(&msg))
			return -EIO;
		memcpy(ends, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	}
	(void)close(done[0]);
	(void)close(done[1]);
	if (wait)
		(void)waitpid(pid, NULL, 0);
	else {
		siginfo_t info;

		(void)waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	}
	return ends[0];
}

/* Nobody for certain, but no mistake either; `wait`: not even its number is left. */
static int check_ended(bool wait)
{
	int fd = orphan(getuid(), wait);
	struct conn c;

	CHECK(fd >= 0);
	CHECK(cot_peer_identify(&c, fd) == 0);
	CHECK(c.pid > 0 && c.pid != getpid() && c.uid == getuid());
	CHECK(c.start_time == 0);
	CHECK(c.pidfd < 0 || cot_process_has_ended(c.pidfd));
	(void)close(fd);
	return 0;
}

static int check_ended_new(void)
{
	int line = check_ended(true);

	return line ? line : check_ended(false);
}

static int check_ended_old(void)
{
	return old_kernel_sockets() ? check_ended_new() : 0;
}

static void test_ended(void **state)
{
	(void)state;
	in_a_child(check_ended_new);
	in_a_child(check_ended_old);
}

/* Where the number is all there is, it must be of a process of the same user. */
static int check_number(void)
{
	int fd = orphan(12345, true), taken = -1, i;
	struct ucred peer;
	socklen_t size = sizeof(peer);
	struct conn c;
	pid_t pid;

	if (fd < 0 || !old_kernel_sockets())
		return 0;
	CHECK(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0);
	/* Somebody else's process gets it. */
	for (i = 0; i < 100 && taken < 0; i++) {
		FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "we");

		if (!f || fprintf(f, "%d", peer.pid - 1) < 0 || fclose(f))
			return 0;
		pid = fork();
		if (!pid)
			_exit(pause());
		if (pid == peer.pid)
			taken = pid;
		else
			(void)kill(pid, SIGKILL);
	}
	if (taken < 0)
		return 0;
	i = cot_peer_identify(&c, fd) == 0 && c.pid == taken && c.pidfd == -1 && !c.start_time;
	(void)kill(taken, SIGKILL);
	CHECK(i);
	return 0;
}

static void test_number_of_another(void **state)
{
	(void)state;
	in_a_child(check_number);
}

/* No descriptor for it is an error, and leaves nothing behind. */
static int check_no_descriptor(void)
{
	struct rlimit few = {32, 32};
	struct conn c = {.pidfd = 77};
	int ends[2], fd, last = -1;

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	while ((fd = dup(ends[0])) >= 0)
		last = fd;
	CHECK(cot_peer_identify(&c, ends[0]) == -EMFILE);
	CHECK(c.pidfd == -1 && !c.start_time);
	/* Room for it and not for what /proc says of it. */
	(void)close(last);
	CHECK(cot_peer_identify(&c, ends[0]) == -EMFILE);
	CHECK(c.pidfd == -1 && !c.start_time);
	CHECK(dup(ends[0]) == last);
	return 0;
}

static int check_no_descriptor_old(void)
{
	return old_kernel_sockets() ? check_no_descriptor() : 0;
}

static int check_none_in_all(void)
{
	struct conn c;

	if (!old_kernel_pidfds(ENFILE) || !old_kernel_sockets())
		return 0;
	CHECK(identify(&c) == -ENFILE);
	return 0;
}

static int check_not_a_socket(void)
{
	struct conn c = {0};

	CHECK(cot_peer_identify(&c, STDIN_FILENO) == -ENOTSOCK);
	return 0;
}

static void test_no_descriptor(void **state)
{
	(void)state;
	in_a_child(check_no_descriptor);
	in_a_child(check_no_descriptor_old);
	in_a_child(check_none_in_all);
	in_a_child(check_not_a_socket);
}

/* ---- the same process or not ---- */

static void test_is(void **state)
{
	struct conn c = {.pid = 7, .start_time = 100, .process = 55};
	struct watch seen = {.pid = 7, .start_time = 100, .process = 55};

	(void)state;
	assert_true(cot_peer_is(&c, &seen));
	seen.process = 56; /* the kernel's own number goes before */
	assert_false(cot_peer_is(&c, &seen));
	seen = (struct watch){.pid = 8, .start_time = 101, .process = 55};
	assert_true(cot_peer_is(&c, &seen));
	seen.process = 0;
	assert_false(cot_peer_is(&c, &seen));
	seen.pid = 7;
	assert_false(cot_peer_is(&c, &seen));
	seen.start_time = 100;
	assert_true(cot_peer_is(&c, &seen));
	c.process = 0;
	seen.process = 55;
	assert_true(cot_peer_is(&c, &seen));
	seen.pid = 8;
	assert_false(cot_peer_is(&c, &seen));
	/* What is not known is nobody. */
	c.start_time = seen.start_time = 0;
	seen.pid = 7;
	assert_false(cot_peer_is(&c, &seen));
	c = (struct conn){.start_time = 100};
	seen = (struct watch){.start_time = 100};
	assert_false(cot_peer_is(&c, &seen));
}

static void test_process_numbers(void **state)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct statfs fs;
	struct stat st;

	(void)state;
	assert_int_equal(cot_process_number(-1), 0);
	assert_int_equal(cot_process_number(STDERR_FILENO), 0);
	/* Since Linux 6.9 they are files of their own, each process one. */
	assert_int_equal(fstatfs(fd, &fs) | fstat(fd, &st), 0);
	assert_int_equal(cot_process_number(fd), fs.f_type == 0x50494446 ? st.st_ino : 0);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_number_of_another),
		cmocka_unit_test(test_no_descriptor),
		cmocka_unit_test(test_is),
		cmocka_unit_test(test_process_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
