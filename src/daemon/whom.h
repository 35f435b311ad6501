/* Whom a command is about. */
#ifndef COT_DAEMON_WHOM_H
#define COT_DAEMON_WHOM_H

#include <stdint.h>

#include "base/error.h"

struct conn;
struct pool;
struct tenant;

/* A program or a pool. */
struct whom {
	struct tenant *tenant;
	struct pool *pool;
	uint32_t entity;
	const char *name; /* of the one */
};

/*
 * By its id, or the number of its process; or, with number 0, by its name: of programs with one
 * name the caller's own is meant, since another user may have chosen the name so. -ESRCH: there is
 * none; -EINVAL: there are several.
 */
int cot_whom_find(struct conn *c, uint64_t number, const char *name, struct whom *ret_whom,
		  struct cot_error *err);

#endif
