#include "daemon/answer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/log.h"

/* Lines about mistakes of all peers: so many in so long. */
#define NOISE_LINES 20u
#define NOISE_NS    (10 * COT_NS_PER_S)

/* The answer that the peer waits for will not come: the end of the connection tells the peer. */
static void give_up(struct conn *c)
{
	c->deaf = true;
	(void)shutdown(c->source.fd, SHUT_RDWR);
}

int cot_answer_send(struct conn *c, const void *packet, size_t size, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)packet, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int rc;

	if (!conn_is_open(c))
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
	if (sendmsg(c->source.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 0;
	rc = -errno;
	if (rc != -EAGAIN)
		give_up(c);
	return rc;
}

/*
 * A peer may connect and do wrong as often as it likes: of the lines about that, some in a while
 * are enough. True: say it.
 */
bool cot_answer_may_complain(struct conn *c)
{
	struct conns *conns = c->in;
	uint64_t now_ns = cot_now_ns();

	if (!cot_account_take(&conns->basis->account, c->uid, COT_RATE_LINES, now_ns)) {
		conns->complaints.n_left_out++;
		return false;
	}
	if (now_ns - conns->complaints.since_ns > NOISE_NS) {
		if (conns->complaints.n_left_out)
			log_warn("left out %u more lines about peers",
				 conns->complaints.n_left_out);
		conns->complaints.since_ns = now_ns;
		conns->complaints.n = conns->complaints.n_left_out = 0;
	}
	if (++conns->complaints.n <= NOISE_LINES)
		return true;
	conns->complaints.n_left_out++;
	return false;
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
	if (cot_answer_may_complain(c))
		log_warn("%s process %d of user %u: %s",
			 type == COT_MSG_LATER ? "no place for" : "refused", (int)c->pid,
			 (unsigned)c->uid, m->text);
	cot_proto_header(&m->h, type, (uint32_t)(sizeof(*m) + (size_t)n), seq);
	(void)cot_answer_send(c, packet, m->h.length, -1);
	c->in->n_refused++;
}

void cot_answer_refuse(struct conn *c, uint32_t seq, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say_no(c, COT_MSG_REFUSED, seq, fmt, args);
	va_end(args);
}

void cot_answer_defer(struct conn *c, uint32_t seq, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say_no(c, COT_MSG_LATER, seq, fmt, args);
	va_end(args);
}

void cot_answer_error(struct conn *c, uint32_t seq, int rc, const struct cot_error *err)
{
	if (rc == -EAGAIN)
		cot_answer_defer(c, seq, "%s", err->text);
	else
		cot_answer_refuse(c, seq, "%s", err->text);
}

void cot_answer_flush(struct conn *c)
{
	static _Alignas(8) char packet[COT_PROTO_PACKET_MAX];
	struct cot_msg_result *m = (struct cot_msg_result *)packet;
	int rc = 0;

	while (c->out.text && !rc) {
		size_t n = c->out.size - c->out.sent;

		if (n > COT_PROTO_TEXT_MAX)
			n = COT_PROTO_TEXT_MAX;
		m->status = c->out.status;
		m->more = c->out.sent + n < c->out.size;
		memcpy(m->text, c->out.text + c->out.sent, n);
		cot_proto_header(&m->h, COT_MSG_RESULT, (uint32_t)(sizeof(*m) + n), c->out.seq);
		rc = cot_answer_send(c, packet, m->h.length, -1);
		if (rc < 0)
			break;
		c->out.sent += n;
		if (!m->more)
			cot_conn_forget_answer(c);
	}
	if (rc < 0 && rc != -EAGAIN)
		cot_conn_forget_answer(c);
	cot_conn_watch(c);
}

static void answer(struct conn *c, uint32_t seq, int status, char *text, size_t charged)
{
	c->out.text = text;
	c->out.size = strlen(text);
	c->out.sent = 0;
	c->out.seq = seq;
	c->out.status = status;
	c->out.charged = charged;
	cot_answer_flush(c);
}

void cot_answer_result(struct conn *c, uint32_t seq, int status, char *text)
{
	size_t size = text ? strlen(text) : 0;

	if (c->out.text) { /* one answer at a time; a peer that does not wait gets none */
		free(text);
		return;
	}
	if (!text) {
		give_up(c);
		return;
	}
	if (!cot_account_charge(&c->basis->account, c->uid, COT_ACCOUNT_BYTES, size)) {
		answer(c, seq, status, text, size);
		return;
	}
	free(text);
	text = strdup("too many answers are not read yet; read those first");
	if (text)
		answer(c, seq, -EDQUOT, text, 0);
	else
		give_up(c);
}

void cot_answer_resultf(struct conn *c, uint32_t seq, int status, const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	cot_answer_result(c, seq, status, n < 0 ? NULL : text);
}
