#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest/link.h"
#include "guest/log.h"
#include "guest/marks.h"

#define PAGE_SIZE_MAX	65536u
#define MAX_DESCRIPTORS 4u /* that one packet may bring; all but one are closed */

#ifndef F_GET_SEALS
#define F_ADD_SEALS   1033
#define F_GET_SEALS   1034
#define F_SEAL_SEAL   0x0001
#define F_SEAL_SHRINK 0x0002
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

void cot_link_init(struct cot_link *l)
{
	*l = (struct cot_link){.sock = {.fd = -1}};
}

int cot_link_open(struct cot_link *l, const char *path)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd, rc;

	memcpy(addr.sun_path, path, strlen(path) + 1); /* the settings keep it short enough */
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	cot_link_init(l);
	cot_own_fd_take(&l->sock, fd);
	return l->sock.fd < 0 ? -EBADF : 0;
}

static void drop_page(struct cot_link *l)
{
	if (l->page) {
		cot_marks_detach();
		munmap(l->page, l->page_size);
	}
	l->page = NULL;
}

void cot_link_close(struct cot_link *l)
{
	cot_own_fd_close(&l->sock);
	drop_page(l);
	cot_link_init(l);
}

int cot_link_map(int fd, size_t size, void **ret)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;
	void *p;

	if (syscall(SYS_fstat, fd, &st) < 0 || st.st_size < (off_t)size)
		return -EINVAL;
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return -EPERM;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	*ret = p;
	return 0;
}

static int map_page(struct cot_link *l, int fd, uint32_t size)
{
	void *p = NULL;
	int rc;

	if (size < sizeof(struct cot_page) || size > PAGE_SIZE_MAX)
		return -EINVAL;
	rc = cot_link_map(fd, size, &p);
	if (rc < 0)
		return rc;
	(void)madvise(p, size, MADV_DONTFORK);
	drop_page(l);
	l->page = p;
	l->page_size = size;
	if (l->page->version != COT_PAGE_VERSION) {
		drop_page(l);
		return -EPROTONOSUPPORT;
	}
	rc = cot_marks_attach(fd, size);
	if (rc < 0)
		cot_log(COT_LOG_WARN, "requests are not measured: their ring cannot be used (%d)",
			-rc);
	/* Nobody can punch holes into it from now on, which would hold up the daemon: it touches
	 * another user's page only then. Before Linux 5.1 there is no such seal. */
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
	return 0;
}

/* The first descriptor of a packet; the others are closed. -1: none. */
static int take_descriptor(struct msghdr *m)
{
	struct cmsghdr *c;
	int first = -1, fd;
	size_t i, n;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (first < 0)
				first = fd;
			else
				close(fd);
		}
	}
	return first;
}

static void accept_welcome(struct cot_link *l, const struct cot_link_packet *p, int fd)
{
	int rc;

	l->welcomed = true;
	if (fd < 0) {
		cot_log(COT_LOG_WARN, "the daemon's page did not arrive: no freezes");
		return;
	}
	rc = map_page(l, fd, p->u.welcome.page_size);
	if (rc < 0)
		cot_log(COT_LOG_WARN, "the daemon's page cannot be used (%d): no freezes", -rc);
}

int cot_link_receive(struct cot_link *l, struct cot_link_packet *p)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(MAX_DESCRIPTORS * sizeof(int))];
	struct iovec iov = {.iov_base = p->u.bytes, .iov_len = sizeof(p->u.bytes)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof(room)};
	ssize_t n;
	int fd;

	if (!cot_own_fd_valid(&l->sock))
		return -EBADF;
	n = recvmsg(l->sock.fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	fd = take_descriptor(&m);
	p->size = (size_t)n;
	p->type = n == 0		    ? -ECONNRESET
		  : m.msg_flags & MSG_TRUNC ? 0
					    : cot_proto_check(p->u.bytes, p->size);
	if (p->type == COT_MSG_WELCOME)
		accept_welcome(l, p, fd);
	if (fd >= 0)
		close(fd);
	return p->type < 0 ? p->type : 1;
}

int cot_link_send(struct cot_link *l, void *packet, enum cot_msg_type type, uint32_t size,
		  uint32_t seq)
{
	cot_proto_header(packet, type, size, seq);
	if (!cot_own_fd_valid(&l->sock))
		return -EBADF;
	if (send(l->sock.fd, packet, size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)size)
		return errno ? -errno : -EIO;
	return 0;
}
