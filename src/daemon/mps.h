/* NVIDIA's MPS programs: how they are started, told and found. */
#ifndef COT_DAEMON_MPS_H
#define COT_DAEMON_MPS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

struct pool;

/* Starts the control program in the foreground. The pid, or -errno with a sentence. */
pid_t cot_mps_start_control(const struct pool *p, struct cot_error *err);
/* Tells it one line of text; returns the pid of the process that does. What that one prints can be
 * read from *ret_out (not blocking; the caller's to close) when it has ended; NULL: into the log.
 */
pid_t cot_mps_tell(const struct pool *p, const char *line, int *ret_out, struct cot_error *err);
bool cot_mps_listens(const struct pool *p);
/* The variables that make a program join the pool: "KEY=VALUE\0..."; -ENOSPC. */
int cot_mps_environment(const struct pool *p, char *block, size_t size, size_t *used);

#endif
