/*
 * Packets of the command line.
 */
#ifndef COT_DAEMON_COMMAND_H
#define COT_DAEMON_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct cot_timer;
struct pool;

bool cot_command_packet(struct conn *c, const void *packet, int type);
/* The pool that REGISTERs wait for came up or failed. */
void cot_command_pool_settled(struct pool *p);
/* Answers the next QUERY. */
void cot_command_answer_one(struct cot_timer *timer, uint64_t now_ns);

#endif
