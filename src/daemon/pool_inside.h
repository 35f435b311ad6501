/*
 * What pool.c (a pool and its control program) and pool_stop.c (its end) share. Outsiders use
 * pool.h.
 */
#ifndef COT_DAEMON_POOL_INSIDE_H
#define COT_DAEMON_POOL_INSIDE_H

#include "daemon/pool.h"

struct cot_dlog_where;

/* For both of its files: its name in the log, its timer, and a command for its control program. */
const struct cot_dlog_where *cot_pool_where(const struct pool *p);
void cot_pool_timer(struct pool *p, void (*fire)(struct cot_timer *, uint64_t), uint64_t in_ns);
int cot_pool_tell(struct pool *p, const char *line);

/* It has no tenants: it is stopped if that stays so for a while, and MPS has no clients. */
void cot_pool_linger(struct pool *p);

#endif
