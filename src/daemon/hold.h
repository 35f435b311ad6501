/* FREEZE and THAW of the command line, which wait until the core confirms them. */
#ifndef COT_DAEMON_HOLD_H
#define COT_DAEMON_HOLD_H

#include <stdint.h>

#include "base/error.h"
#include "proto/proto.h"

struct conn;
struct conns;
struct tenant;

/* FREEZE or THAW of an entity; `tenant` is NULL for a pool. -EINPROGRESS: cot_hold_check() answers.
 */
int cot_hold_begin(struct conn *c, uint32_t entity, const struct tenant *tenant, const char *name,
		   const struct cot_msg_command *m, struct cot_error *err);
void cot_hold_check(struct conns *conns, uint64_t now_ns);

#endif
