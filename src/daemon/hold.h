/* FREEZE and THAW of the command line, which wait until the core confirms them. */
#ifndef COT_DAEMON_HOLD_H
#define COT_DAEMON_HOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "proto/proto.h"

struct conn;
struct conns;
struct tenant;

/* A FREEZE or THAW that waits for the core to confirm it. */
struct hold {
	uint32_t entity; /* 0: none */
	bool freeze;
	uint32_t seq;
	uint64_t until_ns, since_ns;
	/* FREEZE: */
	uint32_t tenant;   /* the program, 0 = a pool */
	uint64_t retry_ns; /* not 0: not ordered yet */
	uint32_t n_failed; /* freezes of the entity, when it was ordered */
	bool was_held;	   /* before */
	int status;	   /* not 0: why it is taken back */
};

/* FREEZE or THAW of an entity; `tenant` is NULL for a pool. -EINPROGRESS: cot_hold_check() answers.
 */
int cot_hold_begin(struct conn *c, uint32_t entity, const struct tenant *tenant, const char *name,
		   const struct cot_msg_command *m, struct cot_error *err);
void cot_hold_check(struct conns *conns, uint64_t now_ns);

#endif
