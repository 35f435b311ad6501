#include "daemon/lock.h"

#include <cotenant/policy.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "daemon/loop.h"
#include "daemon/paths.h"
#include "daemon/processes.h"

#define WAIT_NS (20 * COT_NS_PER_S)

/* The process that began to listen, as the kernel remembers it. A killed daemon leaves the socket,
 * with the lock, to a child that has not become another program yet: that child does not answer. */
static bool listener_lives(int fd)
{
	struct ucred listener = {.pid = 0};
	socklen_t size = sizeof(listener);
	uint64_t start_time;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &listener, &size) < 0 || listener.pid <= 0 ||
	       cot_process_start(listener.pid, &start_time) != -ESRCH;
}

/* Whether a process listens there. A full queue means yes. */
static bool is_answered(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	bool yes = false;
	int fd;

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
	    (int)sizeof(address.sun_path))
		return false;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		yes = listener_lives(fd);
	else
		yes = errno == EAGAIN;
	(void)close(fd);
	return yes;
}

static int wait_for(int fd, const char *runtime, const char *socket_path, struct cot_error *err)
{
	static const struct timespec pause = {.tv_nsec = 10 * COT_NS_PER_MS};
	uint64_t until_ns = cot_now_ns() + WAIT_NS;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return cot_error_set(err, -errno, "cannot lock %s: %s", runtime,
					     strerror(errno));
		if (socket_path && is_answered(socket_path))
			return cot_error_set(err, -EALREADY, "another cotenantd serves %s already",
					     runtime);
		if (cot_now_ns() >= until_ns)
			return cot_error_set(err, -EBUSY,
					     "another cotenantd holds %s/cotenantd.lock, but does "
					     "not answer",
					     runtime);
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

int cot_lock_take(const char *runtime, const char *socket_path, int *ret_fd, struct cot_error *err)
{
	char path[COT_PATH_TEXT_MAX];
	int fd, rc = cot_paths_join(path, runtime, COT_LOCK_NAME, err);

	if (rc < 0)
		return rc;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return cot_error_set(err, -errno, "cannot open %s: %s", path, strerror(errno));
	rc = wait_for(fd, runtime, socket_path, err);
	if (rc < 0) {
		(void)close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}
