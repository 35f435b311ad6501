/*
 * A socket pair, not an eventfd: its inode is unique, so that we notice before a write that the
 * number is now another file's descriptor; and not a pipe: writing cannot raise SIGPIPE.
 */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/wake.h"

int cot_wake_open(struct cot_wake *w)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	atomic_store(&w->pending, false);
	cot_own_fd_take(&w->ring, fds[0]);
	cot_own_fd_take(&w->listen, fds[1]);
	if (w->ring.fd < 0 || w->listen.fd < 0) {
		cot_wake_close(w);
		return -EBADF;
	}
	return 0;
}

void cot_wake_close(struct cot_wake *w)
{
	cot_own_fd_close(&w->ring);
	cot_own_fd_close(&w->listen);
}

void cot_wake_ring(struct cot_wake *w)
{
	int saved = errno;

	if (atomic_exchange(&w->pending, true))
		return; /* it has not looked since the last one */
	if (cot_own_fd_valid(&w->ring))
		(void)!send(w->ring.fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	errno = saved;
}

void cot_wake_clear(struct cot_wake *w)
{
	char byte[8];

	if (cot_own_fd_valid(&w->listen))
		while (recv(w->listen.fd, byte, sizeof(byte), MSG_DONTWAIT) > 0)
			;
	atomic_store(&w->pending, false);
}
