/* QUERY: what `cotenant ps`, `stats` and `doctor` ask. */
#ifndef COT_DAEMON_QUERY_H
#define COT_DAEMON_QUERY_H

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct cot_msg_query;
struct cot_timer;

struct question {
	bool asked; /* it is not answered yet, and nothing is read until then */
	uint32_t what, seq;
};

void cot_query_packet(struct conn *c, const struct cot_msg_query *m);
/* Answers the next one. */
void cot_query_answer_one(struct cot_timer *timer, uint64_t now_ns);

#endif
