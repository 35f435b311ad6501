/*
 * The socket: accepts connections and hands their packets on. Calls no handler but by the table
 * of conn.h.
 */
#ifndef COT_DAEMON_SERVER_H
#define COT_DAEMON_SERVER_H

#include "base/error.h"

struct daemon;

/* Listens, but cannot be found until it is published. */
int cot_server_open(struct daemon *d, struct cot_error *err);
int cot_server_publish(struct daemon *d, struct cot_error *err);
/* The server accepts no more connections, so that new clients wait for the next daemon. */
void cot_server_withdraw(struct daemon *d);
/* Sets which users may reach the socket, the folders above it and those of the pools, as configured
 * now. */
void cot_server_set_access(struct daemon *d);
void cot_server_close(struct daemon *d);

#endif
