/*
 * Memory of GPUs that is promised to programs (`cotenant run --memory`): whether there is enough of
 * it, and what all programs have. A program's shim keeps the bound (guest/shim/memory.h) and counts
 * what it asks for; of the others, and of what the driver adds, NVML knows (energy.h).
 */
#ifndef COT_DAEMON_MEMORY_H
#define COT_DAEMON_MEMORY_H

#include <jansson.h>

#include "base/error.h"
#include "proto/proto.h"

struct conn;
struct conns;
struct tenant;

/* -ENOSPC and a sentence: on a GPU of the program more would be promised than there is. */
int cot_memory_may_promise(const struct conn *c, const struct cot_msg_register *m,
			   struct cot_error *err);
/* What the user of this program should know of its promise; NULL: it is kept. */
const char *cot_memory_note(const struct conns *conns, const struct tenant *t);
/* Null: it has no bound, and what it has is not known. */
json_t *cot_memory_show(const struct conns *conns, const struct tenant *t);

#endif
