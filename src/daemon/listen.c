#include "daemon/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/compiler.h"
#include "text/number.h"

/* More of them wait for their connection to be taken. */
#define BACKLOG 16

static bool read_port(const char *text, uint16_t *ret_port)
{
	uint64_t port;

	if (!cot_number_u64(text, &port) || !port || port > UINT16_MAX)
		return false;
	*ret_port = (uint16_t)port;
	return true;
}

bool cot_listen_read(const char *text, struct cot_listen *ret_listen)
{
	static const struct {
		const char *host;
		enum cot_listen_kind kind;
	} hosts[] = {{"127.0.0.1:", COT_LISTEN_IP4}, {"[::1]:", COT_LISTEN_IP6}};
	struct cot_listen l = {.kind = COT_LISTEN_NOT};
	size_t i, n;

	if (text[0] == '/') {
		n = strlen(text);
		if (n >= sizeof(((struct sockaddr_un *)0)->sun_path) || text[n - 1] == '/')
			return false;
		l.kind = COT_LISTEN_UNIX;
		(void)snprintf(l.path, sizeof(l.path), "%s", text);
	}
	for (i = 0; i < COT_ARRAY_LEN(hosts); i++) {
		n = strlen(hosts[i].host);
		if (!strncmp(text, hosts[i].host, n) && read_port(text + n, &l.port))
			l.kind = hosts[i].kind;
	}
	if (l.kind == COT_LISTEN_NOT)
		return false;
	*ret_listen = l;
	return true;
}

union address {
	struct sockaddr any;
	struct sockaddr_in ip4;
	struct sockaddr_in6 ip6;
	struct sockaddr_un path;
};

static socklen_t address_of(const struct cot_listen *l, union address *ret)
{
	memset(ret, 0, sizeof(*ret));
	switch (l->kind) {
	case COT_LISTEN_IP4:
		ret->ip4.sin_family = AF_INET;
		ret->ip4.sin_port = htons(l->port);
		ret->ip4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(ret->ip4);
	case COT_LISTEN_IP6:
		ret->ip6.sin6_family = AF_INET6;
		ret->ip6.sin6_port = htons(l->port);
		ret->ip6.sin6_addr = in6addr_loopback;
		return sizeof(ret->ip6);
	default:
		ret->path.sun_family = AF_UNIX;
		(void)snprintf(ret->path.sun_path, sizeof(ret->path.sun_path), "%s", l->path);
		return sizeof(ret->path);
	}
}

/* What a daemon that was killed has left. One that somebody listens on is somebody's. */
static void remove_stale(const struct cot_listen *l, const union address *address)
{
	struct stat st;
	int fd;

	if (l->kind != COT_LISTEN_UNIX || lstat(l->path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	if (connect(fd, &address->any, sizeof(address->path)) < 0 && errno == ECONNREFUSED)
		(void)unlink(l->path);
	(void)close(fd);
}

int cot_listen_open(const struct cot_listen *l, mode_t mode, int *ret_fd, struct cot_error *err)
{
	static const int yes = 1;
	union address address;
	socklen_t size = address_of(l, &address);
	int rc, fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask;

	if (fd < 0)
		return cot_error_set(err, -errno, "cannot make a socket for metrics: %s",
				     strerror(errno));
	remove_stale(l, &address);
	if (l->kind != COT_LISTEN_UNIX) /* after a restart */
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	mask = umask(0777 & ~mode);
	rc = bind(fd, &address.any, size) < 0 ? -errno : 0;
	(void)umask(mask);
	if (!rc && listen(fd, BACKLOG) < 0)
		rc = -errno;
	if (rc < 0) {
		(void)close(fd);
		if (l->kind == COT_LISTEN_UNIX)
			return cot_error_set(err, rc, "cannot listen on %s: %s", l->path,
					     strerror(-rc));
		return cot_error_set(err, rc, "cannot listen on port %u: %s", l->port,
				     strerror(-rc));
	}
	*ret_fd = fd;
	return 0;
}

void cot_listen_withdraw(const struct cot_listen *l)
{
	if (l->kind == COT_LISTEN_UNIX)
		(void)unlink(l->path);
}
