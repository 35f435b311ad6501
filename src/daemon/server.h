/*
 * The socket: accepts, checks, limits, and hands packets on (conn.h). Every connection is one slot
 * of a table; a peer that breaks the rules loses its connection and nothing else.
 */
#ifndef COT_DAEMON_SERVER_H
#define COT_DAEMON_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "daemon/loop.h"

struct basis;
struct conns;

struct server {
	struct basis *basis;
	struct conns *conns;
	struct cot_source listener;
	struct cot_timer listener_timer; /* after the descriptors ran out */
	bool handed; /* the service manager's: it stays, with who waits in it, when we end */
	int spare_fd;
	uint64_t told_ns; /* of descriptors that ran out */
};

/* Takes the socket that the service manager has for us, if there is one. */
int cot_server_take_over(struct server *s, const char *path, struct cot_error *err);
/* Listens, but cannot be found until it is published. */
int cot_server_open(struct server *s, struct cot_error *err);
int cot_server_publish(struct server *s, struct cot_error *err);
/* The server accepts no more connections, so that new clients wait for the next daemon. */
void cot_server_withdraw(struct server *s);
/* Sets which users may reach the socket, the folders above it and those of the pools, as configured
 * now. */
void cot_server_set_access(struct server *s);
void cot_server_close(struct server *s);

#endif
