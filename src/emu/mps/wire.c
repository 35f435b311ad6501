#include "emu/mps/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MAGIC	0x31736d63u
#define BACKLOG 64

struct cot_emu_mps_message cot_emu_mps_message(enum cot_emu_mps_type type)
{
	return (struct cot_emu_mps_message){.magic = MAGIC, .type = type};
}

int cot_emu_mps_send(int sock, const struct cot_emu_mps_message *m, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.bytes = {0}};
	struct iovec data = {.iov_base = (void *)(uintptr_t)m, .iov_len = sizeof(*m)};
	struct msghdr msg = {.msg_iov = &data, .msg_iovlen = 1};
	struct cmsghdr *c;
	ssize_t n;

	if (fd >= 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	do {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static int passed_fd(struct msghdr *msg)
{
	struct cmsghdr *c;
	int fd;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
		    c->cmsg_len == CMSG_LEN(sizeof(int))) {
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
			return fd;
		}
	return -1;
}

static int wait_readable(int sock, int timeout_ms)
{
	struct pollfd p = {.fd = sock, .events = POLLIN};
	int n;

	do {
		n = poll(&p, 1, timeout_ms);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n ? 0 : -ETIMEDOUT;
}

int cot_emu_mps_receive(int sock, struct cot_emu_mps_message *ret_message, int *ret_fd,
			int timeout_ms)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = {.iov_base = ret_message, .iov_len = sizeof(*ret_message)};
	struct msghdr msg = {.msg_iov = &data,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	int err = wait_readable(sock, timeout_ms), fd;
	ssize_t n;

	if (err)
		return err;
	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 && errno != ECONNRESET ? -errno : -EPIPE;
	fd = passed_fd(&msg);
	if (n != sizeof(*ret_message) || ret_message->magic != MAGIC ||
	    msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || ret_message->n > COT_EMU_MPS_MAX_CLIENTS) {
		if (fd >= 0)
			close(fd);
		return -EBADMSG;
	}
	ret_message->text[COT_EMU_MPS_TEXT - 1] = 0;
	if (ret_fd)
		*ret_fd = fd;
	else if (fd >= 0)
		close(fd);
	return 0;
}

const char *cot_emu_mps_pipe_dir(void)
{
	const char *dir = getenv("CUDA_MPS_PIPE_DIRECTORY");

	return dir && *dir ? dir : P_tmpdir "/nvidia-mps";
}

/* A name that fits into an address, however long the folder's is. */
static int control_address(struct sockaddr_un *a)
{
	int dir = open(cot_emu_mps_pipe_dir(), O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return -errno;
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(a->sun_path, sizeof(a->sun_path), "/proc/self/fd/%d/control", dir);
	return dir;
}

int cot_emu_mps_connect_control(void)
{
	struct sockaddr_un a;
	int dir = control_address(&a), sock, err = 0;

	if (dir < 0)
		return dir;
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (sock < 0 || connect(sock, (struct sockaddr *)&a, sizeof(a)))
		err = -errno;
	close(dir);
	if (!err)
		return sock;
	if (sock >= 0)
		close(sock);
	return err;
}

int cot_emu_mps_listen_control(void)
{
	struct sockaddr_un a;
	int dir, sock, err = 0;

	if (mkdir(cot_emu_mps_pipe_dir(), 0755) && errno != EEXIST)
		return -errno;
	dir = control_address(&a);
	if (dir < 0)
		return dir;
	/* The caller has found that no process listens: the socket is left from a killed daemon. */
	unlinkat(dir, "control", 0);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0 || bind(sock, (struct sockaddr *)&a, sizeof(a)) || chmod(a.sun_path, 0666) ||
	    listen(sock, BACKLOG))
		err = -errno;
	close(dir);
	if (!err)
		return sock;
	if (sock >= 0)
		close(sock);
	return err;
}
