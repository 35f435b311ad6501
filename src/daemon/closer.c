#include "daemon/closer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* More packets than the send buffer of a peer holds. */
#define PACKETS_MAX 4096u

/*
 * The packet stays where it is. With SO_PASSCRED every packet says who sent it, so that an empty
 * one can be told from the end; there is room for that only, and what else there is is cut off.
 */
enum cot_closer_head cot_closer_look(int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct iovec iov = {.iov_base = &control, .iov_len = 0};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};

	if (recvmsg(fd, &msg, MSG_PEEK | MSG_DONTWAIT) < 0)
		return COT_HEAD_NONE;
	if (msg.msg_flags & MSG_CTRUNC)
		return COT_HEAD_FILES;
	return CMSG_FIRSTHDR(&msg) ? COT_HEAD_PLAIN : COT_HEAD_NONE;
}

/* False: something is in the way. */
static bool drain(int fd, bool guarded)
{
	enum cot_closer_head head = COT_HEAD_PLAIN;
	unsigned i;
	char byte;

	for (i = 0; i < PACKETS_MAX; i++) {
		if (!guarded)
			head = cot_closer_look(fd);
		if (head != COT_HEAD_PLAIN)
			return head == COT_HEAD_NONE;
		if (recv(fd, &byte, 1, MSG_DONTWAIT) <= 0 && guarded)
			return true;
	}
	return guarded;
}

void cot_closer_keep(struct cot_closer *closer, int fd)
{
	if (closer->n == COT_CLOSER_MAX) { /* cannot be: a full one is not used */
		(void)close(fd);
		return;
	}
	closer->fds[closer->n++] = fd;
}

void cot_closer_end(struct cot_closer *closer, int fd, bool guarded)
{
	(void)shutdown(fd, SHUT_RDWR);
	if (drain(fd, guarded))
		(void)close(fd);
	else
		cot_closer_keep(closer, fd);
}

bool cot_closer_is_full(const struct cot_closer *closer)
{
	return closer->n >= COT_CLOSER_MAX / 2;
}

static bool is_kept(const struct cot_closer *closer, int fd)
{
	unsigned i;

	for (i = 0; i < closer->n; i++)
		if (closer->fds[i] == fd)
			return true;
	return false;
}

/*
 * The child. It keeps nothing of the daemon's open, waits until it alone has what is to be closed,
 * and ends: the kernel does not wait for sockets of a process that ends.
 */
static void close_by_ending(const struct cot_closer *closer, int until_fd)
{
	long max = sysconf(_SC_OPEN_MAX);
	sigset_t none;
	char byte;
	int fd;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (fd = 0; fd < max && fd < 65536; fd++)
		if (fd != until_fd && !is_kept(closer, fd))
			(void)close(fd);
	while (read(until_fd, &byte, 1) < 0 && errno == EINTR)
		continue;
	_exit(0);
}

static pid_t *free_child(struct cot_closer *closer)
{
	unsigned i;

	for (i = 0; i < COT_CLOSER_CHILDREN; i++)
		if (!closer->children[i])
			return &closer->children[i];
	return NULL;
}

int cot_closer_run(struct cot_closer *closer)
{
	pid_t *child = free_child(closer), pid;
	int ends[2];
	unsigned i;

	if (!closer->n)
		return 0;
	if (!child || pipe2(ends, O_CLOEXEC) < 0)
		return -EAGAIN;
	pid = fork();
	if (pid == 0) {
		(void)close(ends[1]);
		close_by_ending(closer, ends[0]);
	}
	(void)close(ends[0]);
	if (pid < 0) {
		(void)close(ends[1]);
		return -EAGAIN;
	}
	*child = pid;
	for (i = 0; i < closer->n; i++)
		(void)close(closer->fds[i]);
	closer->n_closed += closer->n;
	closer->n = 0;
	(void)close(ends[1]); /* from here on the child has the last ones */
	return 0;
}

void cot_closer_reap(struct cot_closer *closer)
{
	unsigned i;

	for (i = 0; i < COT_CLOSER_CHILDREN; i++)
		if (closer->children[i] && waitpid(closer->children[i], NULL, WNOHANG) != 0)
			closer->children[i] = 0;
}
