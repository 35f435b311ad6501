/*
 * A daemon without sockets to the world, for tests of single files of it: tables that the test
 * fills in, the host of host_world.h, the log in a string, and a command's connection whose other
 * end the test reads.
 */
#ifndef COT_TESTS_DAEMON_STAGE_H
#define COT_TESTS_DAEMON_STAGE_H

#include "daemon/daemon.h"
#include "host_world.h"

extern struct daemon stage;

int stage_setup(void **state); /* under the policy pools, log at debug */
int stage_teardown(void **state);

/* Programs and pools as the core knows them, too. */
struct tenant *stage_tenant(uint32_t id, const char *name, struct pool *pool);
struct pool *stage_pool(uint32_t id, const char *name, unsigned gpu);
/* A library of one of them, in conns[member], with a page; settled. */
struct conn *stage_library(unsigned member, struct tenant *t, struct pool *p);
/* A command's connection. */
struct conn *stage_command(unsigned index);
/* What the command got; NULL when there is nothing. Valid until the next call. */
const char *stage_answer(int *ret_status);
/* What has been logged since the last call; likewise. */
const char *stage_log(void);

#endif
