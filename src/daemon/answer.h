/*
 * What the daemon says to a connection: packets, refusals, and answers of any length, which wait
 * until the peer reads them.
 */
#ifndef COT_DAEMON_ANSWER_H
#define COT_DAEMON_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"

struct conn;

/* What has not been sent yet of an answer. */
struct answer {
	char *text; /* owned; NULL: nothing */
	size_t size, sent, charged;
	uint32_t seq;
	int status;
};

/* Lines of the log about mistakes of peers. */
struct complaints {
	uint64_t since_ns;
	uint32_t n, n_left_out; /* since then */
};

/* Whether a line about this peer may go to the log. */
bool cot_answer_may_complain(struct conn *c);
/* 0, -EAGAIN when the peer does not read, another -errno. `fd` >= 0 goes along. */
int cot_answer_send(struct conn *c, const void *packet, size_t size, int fd);
/* For good; and for a reason that passes: -EAGAIN, -ENOSPC. */
void cot_answer_refuse(struct conn *c, uint32_t seq, const char *fmt, ...) COT_PRINTF(3, 4);
void cot_answer_defer(struct conn *c, uint32_t seq, const char *fmt, ...) COT_PRINTF(3, 4);
/* Defers for -EAGAIN, refuses for all else. */
void cot_answer_error(struct conn *c, uint32_t seq, int rc, const struct cot_error *err);
/* Answers with a RESULT in as many packets as it takes. Takes `text` (malloc) over. */
void cot_answer_result(struct conn *c, uint32_t seq, int status, char *text);
void cot_answer_resultf(struct conn *c, uint32_t seq, int status, const char *fmt, ...)
	COT_PRINTF(4, 5);
/* Sends what is left of the answer, as far as the peer reads. */
void cot_answer_flush(struct conn *c);

#endif
