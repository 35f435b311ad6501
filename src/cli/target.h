/*
 * What `set`, `freeze` and `thaw` share: naming a program or pool, sending a command, showing the
 * answer.
 */
#ifndef COT_CLI_TARGET_H
#define COT_CLI_TARGET_H

#include <stdbool.h>

#include "base/error.h"
#include "proto/proto.h"

/* "12" is an id, "pool:batch" a pool, everything else a name. -EINVAL. */
int cot_target_parse(const char *text, struct cot_msg_command *command, struct cot_error *err);

/* Sends it and prints the daemon's sentence, as JSON if asked. Returns an exit status. */
int cot_target_command(struct cot_msg_command *command, bool as_json);

#endif
