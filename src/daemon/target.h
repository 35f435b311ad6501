/* Whom a COMMAND is about: a program or a pool, by its name or number. */
#ifndef COT_DAEMON_TARGET_H
#define COT_DAEMON_TARGET_H

#include <stdint.h>

#include "base/error.h"
#include "proto/proto.h"

struct conn;
struct pool;
struct tenant;

/* One of the two. */
struct command_target {
	struct tenant *tenant;
	struct pool *pool;
	uint32_t entity;
	const char *name; /* of the one */
};

/* Of programs with one name the caller's own is meant: another user may have chosen the name so.
 * -ESRCH: there is none; -EINVAL: there are several. */
int cot_target_find(struct conn *c, const struct cot_msg_command *m,
		    struct command_target *ret_target, struct cot_error *err);

#endif
