/*
 * Packets of libcotenant.so: a program or an MPS server says what it is, what channel groups it
 * has, and how it carried out an order.
 */
#ifndef COT_DAEMON_LIBRARY_H
#define COT_DAEMON_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "daemon/host.h"
#include "proto/proto.h"

struct conn;
struct conns;

extern const struct cot_host_ops cot_library_host_ops; /* their argument: struct conns */
/* False: the connection is to be closed. */
bool cot_library_packet(struct conn *c, const void *packet, int type);
void cot_library_gone(struct conn *c);
/* Whether no process of the program or pool has set up channels lately. */
bool cot_library_is_quiet(const struct conns *conns, uint32_t entity, uint64_t now_ns);
/* Sets c->tenant: the program that says this of itself, maybe a new one. -EAGAIN: not now. */
int cot_library_tenant(struct conn *c, const struct cot_msg_hello *m, struct cot_error *err);
#endif
