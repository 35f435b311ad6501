#include "daemon/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/access.h"
#include "daemon/answer.h"
#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/log.h"
#include "daemon/manager.h"
#include "daemon/peer.h"
#include "daemon/roster.h"

/* Linux 6.16: a peer that passes descriptors gets EPERM. */
#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83
#endif

#define BACKLOG		  64
#define PACKETS_PER_ROUND 32
/* How long one connection is listened to at a time, or new ones are let in. */
#define ROUND_NS COT_NS_PER_MS
/* What a connection that comes, or a packet, costs beside the time that we see. */
#define ACCEPT_COST_NS (20 * COT_NS_PER_US)
#define PACKET_COST_NS COT_NS_PER_US
/* How long to leave new connections alone when descriptors have run out. */
#define PAUSE_NS (100 * COT_NS_PER_MS)
#define TOLD_NS	 (10 * COT_NS_PER_S)
/* A connection must say what it is within this time. */
#define HELLO_NS (5 * COT_NS_PER_S)

/* ---- what a user may have of our time ---- */

static void pause_if_needed(struct conn *c)
{
	uint64_t rest_ns = cot_conn_rest_ns(c);

	if (!rest_ns)
		return;
	cot_conn_pause(c, rest_ns);
	cot_conn_watch(c);
}

/* Resume all connections of a user, not just one. */
static void end_pauses(struct cot_timer *timer, uint64_t now_ns)
{
	struct conns *conns = COT_CONTAINER_OF(timer, struct conns, pauses);
	struct conn *c;

	(void)now_ns;
	for_each_conn (c, conns) {
		if (!c->paused)
			continue;
		c->paused = false;
		pause_if_needed(c);
		if (!c->paused)
			cot_conn_watch(c);
	}
}

/* ---- in ---- */

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
	case COT_MSG_PARTS:
	case COT_MSG_PLACED:
	case COT_MSG_PART_COUNTS:
	case COT_MSG_PACE_COUNTS:
	case COT_MSG_MEMORY:
	case COT_MSG_QUERY_BEGIN:
	case COT_MSG_QUERY_TASKS:
	case COT_MSG_QUERY_END:
	case COT_MSG_QUERY_COPY:
		return c->kind == CONN_WORK;
	case COT_MSG_REGISTER:
	case COT_MSG_QUERY:
	case COT_MSG_COMMAND:
	case COT_MSG_EXPLAIN:
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

/* False: the connection is to be closed. */
static bool take(struct conn *c, const void *packet, size_t size)
{
	const struct cot_msg_header *h = packet;
	int type = cot_proto_check(packet, size);

	if (type == 0)
		return true;
	if (type == -EPROTONOSUPPORT) {
		cot_answer_refuse(c, h->seq,
				  "this daemon speaks version %u of the protocol and the program's "
				  "library or command version %u; install the same version of both",
				  COT_PROTO_VERSION, h->version);
		return false;
	}
	if (type < 0 || !fits_kind(c, type)) {
		c->in->n_bad_packets++;
		if (cot_answer_may_complain(c))
			log_warn("process %d of user %u sent a malformed packet (%zu bytes)",
				 (int)c->pid, (unsigned)c->uid, size);
		return false;
	}
	return c->in->ops[c->kind].packet(c, packet, type);
}

/*
 * The daemon never takes passed descriptors out of the socket: it would have to close them, and the
 * peer that passes a file decides how long that takes. The connection is over, with all that is in
 * it.
 */
static bool has_files(struct conn *c)
{
	if (c->in->guarded || cot_closer_look(c->source.fd) != COT_HEAD_FILES)
		return false;
	c->in->n_bad_packets++;
	if (cot_answer_may_complain(c))
		log_warn("process %d of user %u passed descriptors that the daemon did not ask for",
			 (int)c->pid, (unsigned)c->uid);
	return true;
}

static bool is_heard(const struct conn *c)
{
	return conn_is_open(c) && !c->paused && !c->question.asked;
}

/* False: there is nothing more now, or the connection has been closed. */
static bool take_one(struct conn *c)
{
	static _Alignas(8) char packet[COT_PROTO_PACKET_MAX + 1];
	ssize_t n;

	if (!has_files(c)) {
		n = recv(c->source.fd, packet, sizeof(packet), MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return false;
		if (n > 0 && take(c, packet, (size_t)n))
			return conn_is_open(c);
	}
	cot_conn_close(c);
	return false;
}

static void conn_ready(struct cot_source *source, uint32_t events)
{
	struct conn *c = COT_CONTAINER_OF(source, struct conn, source);
	uint64_t begin_ns = cot_conn_clock_ns(), end_ns = cot_now_ns() + ROUND_NS;
	struct basis *b = c->basis;
	uid_t uid = c->uid;
	unsigned i = 0;

	pause_if_needed(c); /* another one of its user has had the time */
	if (!c->paused && (events & EPOLLOUT))
		cot_answer_flush(c);
	if (c->deaf)
		cot_conn_close(c);
	while (is_heard(c) && i++ < PACKETS_PER_ROUND && cot_now_ns() < end_ns)
		if (!take_one(c))
			break;
	cot_conn_spend(b, uid, begin_ns - (i + 1) * PACKET_COST_NS);
	if (conn_is_open(c))
		pause_if_needed(c);
}

/* ---- new connections ---- */

static struct conn *free_slot(struct conns *conns)
{
	unsigned i;

	for (i = 0; i < MAX_CONNS; i++)
		if (!conn_is_open(&conns->all[i]))
			return &conns->all[i];
	return NULL;
}

static void turn_away(struct conn *c, int fd, const char *why)
{
	c->source.fd = fd;
	cot_answer_defer(c, 0, "%s", why);
	cot_peer_finish(c);
	cot_closer_end(&c->in->closer, fd, c->in->guarded);
}

static void let_in(struct conn *c, const struct conn *peer, int fd)
{
	*c = *peer;
	c->source = (struct cot_source){.fd = fd, .ready = conn_ready};
	c->since_ns = cot_now_ns();
	cot_conn_watch(c);
	if (!c->watched) {
		cot_conn_close(c);
		return;
	}
	pause_if_needed(c);
	if (!c->in->waits.armed)
		cot_timer_set(&c->basis->loop, &c->in->waits, c->since_ns + HELLO_NS);
}

static void welcome(struct server *s, int fd)
{
	struct conn peer = conn_unused(s->conns);
	uint64_t begin_ns = cot_conn_clock_ns();
	int rc = cot_peer_identify(&peer, fd);

	if (rc < 0) {
		turn_away(&peer, fd,
			  "the daemon cannot look at a program now: no memory or no file "
			  "descriptor is left");
		return;
	}
	rc = cot_account_charge(&s->basis->account, peer.uid, COT_ACCOUNT_CONNS, 1);
	if (rc < 0)
		turn_away(&peer, fd,
			  rc == -EDQUOT ? "this user has too many connections; each other user "
					  "must have as many left"
					: "too many programs are connected");
	else
		let_in(free_slot(s->conns), &peer, fd);
	cot_conn_spend(s->basis, peer.uid, begin_ns - ACCEPT_COST_NS);
}

static void resume(struct cot_timer *timer, uint64_t now_ns)
{
	struct server *s = COT_CONTAINER_OF(timer, struct server, listener_timer);

	if (cot_loop_change(&s->basis->loop, &s->listener, EPOLLIN) < 0)
		cot_timer_set(&s->basis->loop, timer, now_ns + PAUSE_NS);
}

static void pause_listener(struct server *s)
{
	(void)cot_loop_change(&s->basis->loop, &s->listener, 0);
	s->listener_timer.fire = resume;
	cot_timer_set(&s->basis->loop, &s->listener_timer, cot_now_ns() + PAUSE_NS);
}

/* No descriptor is left: tell the peer by closing, with the spare one, and wait a little. */
static void out_of_descriptors(struct server *s)
{
	uint64_t now_ns = cot_now_ns();
	int fd;

	if (now_ns - s->told_ns > TOLD_NS || !s->told_ns) {
		log_warn("out of file descriptors: a program was turned away; raise LimitNOFILE");
		s->told_ns = now_ns;
	}
	(void)close(s->spare_fd);
	fd = accept4(s->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		cot_closer_end(&s->conns->closer, fd, s->conns->guarded);
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	pause_listener(s);
}

static void listener_ready(struct cot_source *source, uint32_t events)
{
	struct server *s = COT_CONTAINER_OF(source, struct server, listener);
	uint64_t end_ns = cot_now_ns() + ROUND_NS;
	unsigned i;

	(void)events;
	if (cot_closer_is_full(&s->conns->closer)) {
		pause_listener(s);
		return;
	}
	for (i = 0; i < PACKETS_PER_ROUND && cot_now_ns() < end_ns; i++) {
		int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			welcome(s, fd);
		} else if (errno == EMFILE || errno == ENFILE) {
			out_of_descriptors(s);
			return;
		} else {
			return;
		}
	}
}

/* ---- life ---- */

/*
 * The socket listens under another name in the same folder, and gets its own one when the daemon is
 * ready: a client that finds it there gets an answer. It replaces the socket of a killed daemon.
 */
static void hidden_path(const struct server *s, char path[COT_PATH_TEXT_MAX])
{
	(void)cot_paths_join(path, s->basis->runtime, COT_SOCKET_HIDDEN, NULL);
}

/* Connections inherit it. Those that have come to a manager's socket before had no chance. */
static void guard(struct server *s)
{
	static const int no, yes = 1;

	s->conns->guarded = !s->handed && setsockopt(s->listener.fd, SOL_SOCKET, SO_PASSRIGHTS, &no,
						     sizeof(no)) == 0;
	if (!s->conns->guarded) /* for cot_closer_look() */
		(void)setsockopt(s->listener.fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes));
}

int cot_server_take_over(struct server *s, const char *path, struct cot_error *err)
{
	int rc = cot_manager_socket(path, &s->listener.fd, err);

	s->handed = !rc && s->listener.fd >= 0;
	return rc;
}

/* A socket of our own, that listens. */
static int make_listener(struct server *s, const char *path, struct cot_error *err)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	mode_t mode = s->basis->config.other_users ? 0666 : 0600;
	mode_t mask;
	int rc;

	if (strlen(s->basis->socket_path) >= sizeof(address.sun_path))
		return cot_error_set(err, -ENAMETOOLONG,
				     "the socket's path '%s' is longer than %zu bytes; set "
				     "COTENANT_RUNTIME_DIR to a shorter one",
				     s->basis->socket_path, sizeof(address.sun_path) - 1);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	s->listener.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->listener.fd < 0)
		return cot_error_set(err, -errno, "cannot make a socket: %s", strerror(errno));
	(void)unlink(path); /* left by one that was killed: we hold the lock */
	mask = umask(0777 & ~mode);
	rc = bind(s->listener.fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	(void)umask(mask);
	guard(s);
	if (!rc && listen(s->listener.fd, BACKLOG) < 0)
		rc = -errno;
	if (rc < 0)
		return cot_error_set(err, rc, "cannot listen on %s: %s", path, strerror(-rc));
	return 0;
}

int cot_server_open(struct server *s, struct cot_error *err)
{
	char path[COT_PATH_TEXT_MAX];
	unsigned i;
	int rc = 0;

	for (i = 0; i < MAX_CONNS; i++)
		s->conns->all[i] = conn_unused(s->conns);
	s->conns->pauses.fire = end_pauses;
	hidden_path(s, path);
	s->listener.ready = listener_ready;
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (s->spare_fd < 0)
		return cot_error_set(err, -errno, "cannot make a socket: %s", strerror(errno));
	if (s->handed)
		guard(s);
	else
		rc = make_listener(s, path, err);
	if (rc < 0)
		return rc;
	rc = cot_loop_add(&s->basis->loop, &s->listener, EPOLLIN);
	if (rc < 0)
		return cot_error_set(err, rc, "cannot listen on %s: %s", path, strerror(-rc));
	return 0;
}

int cot_server_publish(struct server *s, struct cot_error *err)
{
	char path[COT_PATH_TEXT_MAX];

	if (s->handed) {
		cot_server_set_access(s);
		return 0;
	}
	hidden_path(s, path);
	if (rename(path, s->basis->socket_path) == 0)
		return 0;
	return cot_error_set(err, -errno, "cannot rename %s to %s: %s", path, s->basis->socket_path,
			     strerror(errno));
}

static void set_mode(const char *path, unsigned mode)
{
	if (chmod(path, (mode_t)mode) < 0)
		log_error("cannot change who may use %s: %s", path, strerror(errno));
}

/* Existing connections stay. */
void cot_server_set_access(struct server *s)
{
	unsigned mode = cot_config_folder_mode(&s->basis->config);
	const struct pool *p;

	set_mode(s->basis->socket_path, s->basis->config.other_users ? 0666 : 0600);
	set_mode(s->basis->runtime, mode);
	for_each_pool (p, s->conns->roster) {
		if (access(p->pipe, F_OK) < 0)
			continue;
		set_mode(p->folder, mode);
		set_mode(p->pipe, mode);
		set_mode(p->log, mode);
	}
}

void cot_server_withdraw(struct server *s)
{
	if (s->listener.fd < 0)
		return;
	if (!s->handed)
		(void)unlink(s->basis->socket_path);
	cot_timer_clear(&s->listener_timer);
	cot_loop_remove(&s->basis->loop, &s->listener);
	if (!s->handed)
		(void)shutdown(s->listener.fd, SHUT_RDWR);
	if (s->conns->guarded || s->handed)
		(void)close(s->listener.fd);
	else /* files may wait in connections that were not accepted */
		cot_closer_keep(&s->conns->closer, s->listener.fd);
	s->listener.fd = -1;
}

void cot_server_close(struct server *s)
{
	struct conn *c;

	cot_server_withdraw(s);
	for_each_conn (c, s->conns)
		cot_conn_close(c);
	(void)cot_closer_run(&s->conns->closer);
}
