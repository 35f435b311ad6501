/*
 * Which process is at the other end of a connection. A process number says so only while the
 * process lives: later a process of another user may have the number. A pidfd stays with its
 * process, so the daemon takes one when it accepts the connection: the kernel's own pidfd of the
 * peer (SO_PEERPIDFD, Linux 6.5). On older kernels it opens one by the number, if the process with
 * that number belongs to the peer's user and is still there after the check.
 */
#include "daemon/peer.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/conn.h"
#include "daemon/processes.h"
#include "daemon/watch.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

static bool belongs_to(pid_t pid, uid_t uid)
{
	char path[32];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) == 0 && st.st_uid == uid;
}

/* -ESRCH: it has ended, or another one may have its number. -ENOSYS: the kernel has no pidfds. */
static int open_by_number(pid_t pid, uid_t uid)
{
	int pidfd;

	if (pid <= 0)
		return -ESRCH;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ESRCH ? -errno : -ENOSYS;
	if (belongs_to(pid, uid) && !cot_process_has_ended(pidfd))
		return pidfd;
	(void)close(pidfd);
	return -ESRCH;
}

static int open_peer(const struct conn *c, int fd)
{
	socklen_t size = sizeof(int);
	int pidfd = -1;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0)
		return pidfd;
	if (errno == ENOPROTOOPT)
		return open_by_number(c->pid, c->uid);
	/* It had ended before, or shows no process: everything else is a lack of ours. */
	return errno == ENODATA || errno == EINVAL ? -ESRCH : -errno;
}

/* While the process of a pidfd lives, no other process has its number. */
static int find_start(struct conn *c, int pidfd)
{
	uint64_t start_time;
	int rc;

	if (c->pid <= 0 || (pidfd < 0 && !belongs_to(c->pid, c->uid)))
		return 0;
	rc = cot_process_start(c->pid, &start_time);
	if (!rc && (pidfd < 0 || !cot_process_has_ended(pidfd)))
		c->start_time = start_time;
	return rc == -ESRCH ? 0 : rc;
}

int cot_peer_identify(struct conn *c, int fd)
{
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);
	int pidfd, rc;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	c->pid = peer.pid;
	c->uid = peer.uid;
	c->gid = peer.gid;
	c->start_time = c->process = 0;
	c->pidfd = -1;
	pidfd = open_peer(c, fd);
	if (pidfd == -ESRCH)
		return 0;
	rc = pidfd >= 0 || pidfd == -ENOSYS ? find_start(c, pidfd) : pidfd;
	if (pidfd < 0)
		return rc;
	c->pidfd = pidfd;
	c->process = cot_process_number(pidfd);
	if (rc < 0)
		cot_peer_finish(c);
	return rc;
}

void cot_peer_finish(struct conn *c)
{
	if (c->pidfd >= 0)
		(void)close(c->pidfd);
	c->pidfd = -1;
}

bool cot_peer_is(const struct conn *c, const struct watch *w)
{
	if (c->process && w->process)
		return c->process == w->process;
	return c->pid > 0 && c->start_time && c->pid == w->pid && c->start_time == w->start_time;
}
