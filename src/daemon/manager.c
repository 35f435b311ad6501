#include "daemon/manager.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/words.h"
#include "text/number.h"

#define LISTEN_FD	   3 /* SD_LISTEN_FDS_START */
#define JOURNAL_FIELDS_MAX 8u

/* ---- sd_notify ---- */

void cot_manager_notify(const char *text)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	size_t n;
	int fd;

	if (!path || (path[0] != '/' && path[0] != '@'))
		return;
	n = strlen(path);
	if (n >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, n);
	if (path[0] == '@') /* an abstract name */
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	(void)close(fd);
}

/* ---- what the manager says in variables ---- */

/* Meant for this process, not for one that started it. */
static bool is_ours(const char *pid_name)
{
	const char *text = getenv(pid_name);
	uint64_t pid;

	return text && cot_number_u64(text, &pid) && pid == (uint64_t)getpid();
}

static uint64_t number_of(const char *name)
{
	const char *text = getenv(name);
	uint64_t n;

	return text && cot_number_u64(text, &n) ? n : 0;
}

uint64_t cot_manager_watchdog_ns(void)
{
	uint64_t us = number_of("WATCHDOG_USEC");

	if (!us || us > UINT64_MAX / COT_NS_PER_US)
		return 0;
	if (getenv("WATCHDOG_PID") && !is_ours("WATCHDOG_PID"))
		return 0;
	return us * COT_NS_PER_US;
}

static int int_option(int fd, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, name, &value, &size) < 0 ? -1 : value;
}

static bool listens_on(int fd, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNSPEC};
	socklen_t size = sizeof(address);

	return int_option(fd, SO_TYPE) == SOCK_SEQPACKET && int_option(fd, SO_ACCEPTCONN) == 1 &&
	       getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
	       address.sun_family == AF_UNIX && size > offsetof(struct sockaddr_un, sun_path) &&
	       !strncmp(address.sun_path, path, sizeof(address.sun_path));
}

int cot_manager_socket(const char *path, int *ret_fd, struct cot_error *err)
{
	uint64_t n = is_ours("LISTEN_PID") ? number_of("LISTEN_FDS") : 0;

	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	*ret_fd = -1;
	if (!n)
		return 0;
	if (n > 1 || !listens_on(LISTEN_FD, path))
		return cot_error_set(err, -EINVAL,
				     "the service manager handed over %s; expected one socket of "
				     "type SOCK_SEQPACKET that listens on %s",
				     n > 1 ? "several descriptors" : "another descriptor", path);
	if (fcntl(LISTEN_FD, F_SETFD, FD_CLOEXEC) < 0 || fcntl(LISTEN_FD, F_SETFL, O_NONBLOCK) < 0)
		return cot_error_set(err, -errno, "cannot use the service manager's socket: %s",
				     strerror(errno));
	*ret_fd = LISTEN_FD;
	return 0;
}

/* ---- the journal's own protocol: NAME=value lines in one datagram ---- */

bool cot_manager_journal(const char *socket_path, const struct cot_journal_field *fields,
			 size_t n_fields)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct iovec parts[JOURNAL_FIELDS_MAX * 4];
	struct msghdr message = {
		.msg_name = &address, .msg_namelen = sizeof(address), .msg_iov = parts};
	static char equals[] = "=", end[] = "\n";
	size_t i;
	bool sent;
	int fd;

	if (n_fields > JOURNAL_FIELDS_MAX || strlen(socket_path) >= sizeof(address.sun_path))
		return false;
	memcpy(address.sun_path, socket_path, strlen(socket_path) + 1);
	for (i = 0; i < n_fields; i++) {
		const char *texts[] = {fields[i].name, equals, fields[i].value, end};
		size_t k;

		for (k = 0; k < COT_ARRAY_LEN(texts); k++)
			parts[message.msg_iovlen++] =
				(struct iovec){.iov_base = (void *)(uintptr_t)texts[k],
					       .iov_len = strlen(texts[k])};
	}
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	/* A journal that is behind must not hold the daemon up. */
	sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
	(void)close(fd);
	return sent;
}
