/*
 * The socket: accepts, checks, limits, and hands packets on. Every connection is one slot of a
 * table; a peer that breaks the rules loses its connection and nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/daemon.h"

#define BACKLOG		   64
#define PACKETS_PER_ROUND  32
#define PACKETS_PER_SECOND 4000u
/* Some for every launch of a kernel. */
#define WORK_PACKETS_PER_SECOND 200000u
#define CONNS_PER_USER		(MAX_CONNS / 2)
/* Places that only root and the daemon's own user, with the servers of its pools, may take. */
#define CONNS_RESERVED 16u
/* How long to leave new connections alone when descriptors have run out. */
#define PAUSE_NS (100 * COT_NS_PER_MS)
/* A connection must say what it is within this time. */
#define HELLO_NS (5 * COT_NS_PER_S)
/* Lines about peers' mistakes: so many in so long. */
#define NOISE_LINES 20u
#define NOISE_NS    (10 * COT_NS_PER_S)

/* ---- out ---- */

int cot_conn_send(struct conn *c, const void *packet, size_t size, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)packet, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (c->source.fd < 0)
		return -ENOTCONN;
	if (fd >= 0) {
		struct cmsghdr *cmsg = &control.header;

		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int));
	}
	if (sendmsg(c->source.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	return 0;
}

/*
 * A peer may connect and do wrong as often as it likes: of the lines about that, some in a while
 * are enough. True: say it.
 */
static bool may_complain(struct daemon *d)
{
	uint64_t now_ns = cot_now_ns();

	if (now_ns - d->noise_since_ns > NOISE_NS) {
		if (d->n_noise > NOISE_LINES)
			log_warn("left out %u more lines about peers", d->n_noise - NOISE_LINES);
		d->noise_since_ns = now_ns;
		d->n_noise = 0;
	}
	return ++d->n_noise <= NOISE_LINES;
}

static void say_no(struct conn *c, enum cot_msg_type type, uint32_t seq, const char *fmt,
		   va_list args) COT_PRINTF(4, 0);

static void say_no(struct conn *c, enum cot_msg_type type, uint32_t seq, const char *fmt,
		   va_list args)
{
	_Alignas(8) char packet[sizeof(struct cot_msg_text) + COT_ERROR_MAX];
	struct cot_msg_text *m = (struct cot_msg_text *)packet;
	int n = vsnprintf(m->text, COT_ERROR_MAX, fmt, args);

	if (n < 0 || n >= COT_ERROR_MAX)
		n = COT_ERROR_MAX - 1;
	if (may_complain(c->d))
		log_warn("%s process %d of user %u: %s",
			 type == COT_MSG_LATER ? "no place for" : "refused", (int)c->pid,
			 (unsigned)c->uid, m->text);
	cot_proto_header(&m->h, type, (uint32_t)(sizeof(*m) + (size_t)n), seq);
	(void)cot_conn_send(c, packet, m->h.length, -1);
	c->d->n_refused++;
}

void cot_conn_refuse(struct conn *c, uint32_t seq, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say_no(c, COT_MSG_REFUSED, seq, fmt, args);
	va_end(args);
}

void cot_conn_defer(struct conn *c, uint32_t seq, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say_no(c, COT_MSG_LATER, seq, fmt, args);
	va_end(args);
}

/* What the peer has sent already must be read first: else it gets a reset in place of our words. */
static void close_politely(int fd)
{
	char byte;
	unsigned i;

	for (i = 0; i < PACKETS_PER_ROUND && recv(fd, &byte, 1, MSG_DONTWAIT) > 0; i++)
		continue;
	(void)close(fd);
}

static void flush_result(struct conn *c)
{
	static _Alignas(8) char packet[COT_PROTO_PACKET_MAX];
	struct cot_msg_result *m = (struct cot_msg_result *)packet;
	int rc = 0;

	while (c->out && !rc) {
		size_t n = c->out_size - c->out_sent;

		if (n > COT_PROTO_TEXT_MAX)
			n = COT_PROTO_TEXT_MAX;
		m->status = c->out_status;
		m->more = c->out_sent + n < c->out_size;
		memcpy(m->text, c->out + c->out_sent, n);
		cot_proto_header(&m->h, COT_MSG_RESULT, (uint32_t)(sizeof(*m) + n), c->out_seq);
		rc = cot_conn_send(c, packet, m->h.length, -1);
		if (rc < 0)
			break;
		c->out_sent += n;
		if (!m->more) {
			free(c->out);
			c->out = NULL;
		}
	}
	if (rc < 0 && rc != -EAGAIN) {
		free(c->out);
		c->out = NULL;
	}
	(void)cot_loop_change(&c->d->loop, &c->source, c->out ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void cot_conn_result(struct conn *c, uint32_t seq, int status, char *text)
{
	if (c->out || !text) { /* one answer at a time; a peer that does not wait gets none */
		free(text);
		return;
	}
	c->out = text;
	c->out_size = strlen(text);
	c->out_sent = 0;
	c->out_seq = seq;
	c->out_status = status;
	flush_result(c);
}

void cot_conn_resultf(struct conn *c, uint32_t seq, int status, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	cot_conn_result(c, seq, status, n < 0 ? NULL : text);
}

/* ---- in ---- */

void cot_conn_close(struct conn *c)
{
	if (c->source.fd < 0)
		return;
	cot_loop_remove(&c->d->loop, &c->source);
	close_politely(c->source.fd);
	c->source.fd = -1;
	if (c->kind == CONN_LIBRARY)
		cot_library_gone(c);
	if (c->kind == CONN_WORK)
		cot_work_gone(c);
	if (c->page)
		(void)munmap(c->page, sizeof(*c->page));
	free(c->register_);
	free(c->counts);
	free(c->out);
	*c = (struct conn){.d = c->d, .source = {.fd = -1}};
}

/* The first packet decides what the connection is. */
static bool fits_kind(struct conn *c, int type)
{
	enum conn_kind kind;

	switch (type) {
	case COT_MSG_HELLO:
		if (c->kind != CONN_NEW)
			return false;
		kind = CONN_LIBRARY;
		break;
	case COT_MSG_WORK_HELLO:
		if (c->kind != CONN_NEW)
			return false;
		kind = CONN_WORK;
		break;
	case COT_MSG_GROUPS:
	case COT_MSG_ACK:
		return c->kind == CONN_LIBRARY;
	case COT_MSG_WORK_REQUEST:
	case COT_MSG_WORK_EVICTED:
	case COT_MSG_WORK_DONE:
	case COT_MSG_WORK_COUNTS:
		return c->kind == CONN_WORK;
	case COT_MSG_REGISTER:
	case COT_MSG_QUERY:
	case COT_MSG_COMMAND:
		kind = CONN_COMMAND;
		break;
	default: /* one that only the daemon sends */
		return false;
	}
	if (c->kind != CONN_NEW && c->kind != kind)
		return false;
	c->kind = kind;
	return true;
}

static bool too_fast(struct conn *c)
{
	uint64_t second = cot_now_ns() / COT_NS_PER_S;

	if (c->second != second) {
		c->second = second;
		c->n_packets = 0;
	}
	return ++c->n_packets >
	       (c->kind == CONN_WORK ? WORK_PACKETS_PER_SECOND : PACKETS_PER_SECOND);
}

/* False: the connection is to be closed. */
static bool take(struct conn *c, const void *packet, size_t size)
{
	const struct cot_msg_header *h = packet;
	int type = cot_proto_check(packet, size);

	if (type == 0)
		return true;
	if (type == -EPROTONOSUPPORT) {
		cot_conn_refuse(c, h->seq,
				"this daemon speaks version %u of the protocol and the program's "
				"library or command version %u; install the same version of both",
				COT_PROTO_VERSION, h->version);
		return false;
	}
	if (type < 0 || !fits_kind(c, type)) {
		c->d->n_bad_packets++;
		if (may_complain(c->d))
			log_warn("process %d of user %u sent a malformed packet (%zu bytes)",
				 (int)c->pid, (unsigned)c->uid, size);
		return false;
	}
	if (too_fast(c)) {
		if (may_complain(c->d))
			log_warn("process %d of user %u sends too much", (int)c->pid,
				 (unsigned)c->uid);
		return false;
	}
	if (c->kind == CONN_LIBRARY)
		return cot_library_packet(c, packet, type);
	if (c->kind == CONN_WORK)
		return cot_work_packet(c, packet, type);
	cot_command_packet(c, packet, type);
	return true;
}

static void close_passed(struct msghdr *msg)
{
	struct cmsghdr *cmsg;

	for (cmsg = CMSG_FIRSTHDR(msg); cmsg; cmsg = CMSG_NXTHDR(msg, cmsg)) {
		size_t i, n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		for (i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(fd), sizeof(fd));
			(void)close(fd);
		}
	}
}

static void conn_ready(struct cot_source *source, uint32_t events)
{
	static _Alignas(8) char packet[COT_PROTO_PACKET_MAX + 1];
	struct conn *c = (struct conn *)((char *)source - offsetof(struct conn, source));
	unsigned i;

	if (events & EPOLLOUT)
		flush_result(c);
	for (i = 0; i < PACKETS_PER_ROUND && c->source.fd >= 0 && !c->asked; i++) {
		union {
			struct cmsghdr header;
			char bytes[CMSG_SPACE(4 * sizeof(int))];
		} control;
		struct iovec iov = {.iov_base = packet, .iov_len = sizeof(packet)};
		struct msghdr msg = {.msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = &control,
				     .msg_controllen = sizeof(control)};
		ssize_t n = recvmsg(c->source.fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n > 0)
			close_passed(&msg); /* nobody is asked for descriptors */
		if (n <= 0 || !take(c, packet, (size_t)n)) {
			cot_conn_close(c);
			return;
		}
	}
}

/* ---- new connections ---- */

static unsigned conns_of(const struct daemon *d, uid_t uid)
{
	unsigned i, n = 0;

	for (i = 0; i < MAX_CONNS; i++)
		n += d->conns[i].source.fd >= 0 && d->conns[i].uid == uid;
	return n;
}

/* A place for a connection of this user, or NULL. */
static struct conn *free_slot(struct daemon *d, uid_t uid)
{
	bool stranger = uid != 0 && uid != geteuid();
	struct conn *c = NULL;
	unsigned i, n_free = 0;

	for (i = 0; i < MAX_CONNS; i++) {
		if (d->conns[i].source.fd >= 0)
			continue;
		c = &d->conns[i];
		n_free++;
	}
	if (stranger && (n_free <= CONNS_RESERVED || conns_of(d, uid) >= CONNS_PER_USER))
		return NULL;
	return c;
}

static void welcome(struct daemon *d, int fd)
{
	struct conn full = {.d = d, .source = {.fd = fd}};
	struct conn *c;
	struct ucred peer = {0};
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
		(void)close(fd);
		return;
	}
	full.pid = peer.pid;
	full.uid = peer.uid;
	c = free_slot(d, peer.uid);
	if (!c) {
		cot_conn_defer(&full, 0,
			       "too many programs are connected (%u at most, %u of one user)",
			       MAX_CONNS, CONNS_PER_USER);
		close_politely(fd);
		return;
	}
	*c = (struct conn){.d = d,
			   .source = {.fd = fd, .ready = conn_ready},
			   .pid = peer.pid,
			   .uid = peer.uid,
			   .gid = peer.gid,
			   .since_ns = cot_now_ns()};
	if (cot_loop_add(&d->loop, &c->source, EPOLLIN) < 0) {
		(void)close(fd);
		c->source.fd = -1;
		return;
	}
	if (!d->waits.armed)
		cot_timer_set(&d->loop, &d->waits, c->since_ns + HELLO_NS);
}

static void resume(struct cot_timer *timer, uint64_t now_ns)
{
	struct daemon *d =
		(struct daemon *)((char *)timer - offsetof(struct daemon, listener_timer));

	(void)now_ns;
	(void)cot_loop_change(&d->loop, &d->listener, EPOLLIN);
}

/* No descriptor is left: tell the peer by closing, with the spare one, and wait a little. */
static void out_of_descriptors(struct daemon *d)
{
	int fd;

	if (may_complain(d))
		log_warn("out of file descriptors: a program was turned away; raise LimitNOFILE");
	(void)close(d->spare_fd);
	fd = accept4(d->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		(void)close(fd);
	d->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	(void)cot_loop_change(&d->loop, &d->listener, 0);
	d->listener_timer.fire = resume;
	cot_timer_set(&d->loop, &d->listener_timer, cot_now_ns() + PAUSE_NS);
}

static void listener_ready(struct cot_source *source, uint32_t events)
{
	struct daemon *d = (struct daemon *)((char *)source - offsetof(struct daemon, listener));
	unsigned i;

	(void)events;
	for (i = 0; i < PACKETS_PER_ROUND; i++) {
		int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			welcome(d, fd);
		} else if (errno == EMFILE || errno == ENFILE) {
			out_of_descriptors(d);
			return;
		} else {
			return;
		}
	}
}

/* ---- life ---- */

/*
 * The socket listens under another name in the same folder, and gets its own one when the daemon is
 * ready: whoever finds it there is answered. That of a daemon that was killed is replaced.
 */
static void hidden_path(const struct daemon *d, char path[COT_PATH_TEXT_MAX])
{
	(void)cot_paths_join(path, d->runtime, COT_SOCKET_HIDDEN, NULL);
}

int cot_server_open(struct daemon *d, struct cot_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	mode_t mode = d->config.other_users ? 0666 : 0600;
	char path[COT_PATH_TEXT_MAX];
	mode_t mask;
	unsigned i;
	int rc;

	for (i = 0; i < MAX_CONNS; i++)
		d->conns[i] = (struct conn){.d = d, .source = {.fd = -1}};
	if (strlen(d->socket_path) >= sizeof(address.sun_path))
		return cot_error_set(err, -ENAMETOOLONG,
				     "the socket's path '%s' is longer than %zu bytes; set "
				     "COTENANT_RUNTIME_DIR to a shorter one",
				     d->socket_path, sizeof(address.sun_path) - 1);
	hidden_path(d, path);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	d->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	d->listener.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	d->listener.ready = listener_ready;
	if (d->listener.fd < 0 || d->spare_fd < 0)
		return cot_error_set(err, -errno, "cannot make a socket: %s", strerror(errno));
	(void)unlink(path); /* left by one that was killed: we hold the lock */
	mask = umask(0777 & ~mode);
	rc = bind(d->listener.fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	(void)umask(mask);
	if (!rc && listen(d->listener.fd, BACKLOG) < 0)
		rc = -errno;
	if (!rc)
		rc = cot_loop_add(&d->loop, &d->listener, EPOLLIN);
	if (rc < 0)
		return cot_error_set(err, rc, "cannot listen on %s: %s", path, strerror(-rc));
	return 0;
}

int cot_server_publish(struct daemon *d, struct cot_error *err)
{
	char path[COT_PATH_TEXT_MAX];

	hidden_path(d, path);
	if (rename(path, d->socket_path) == 0)
		return 0;
	return cot_error_set(err, -errno, "cannot rename %s to %s: %s", path, d->socket_path,
			     strerror(errno));
}

void cot_server_withdraw(struct daemon *d)
{
	if (d->listener.fd < 0)
		return;
	(void)unlink(d->socket_path);
	cot_timer_clear(&d->listener_timer);
	cot_loop_remove(&d->loop, &d->listener);
	(void)close(d->listener.fd);
	d->listener.fd = -1;
}

void cot_server_close(struct daemon *d)
{
	unsigned i;

	cot_server_withdraw(d);
	for (i = 0; i < MAX_CONNS; i++)
		cot_conn_close(&d->conns[i]);
}
