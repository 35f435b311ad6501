/* Names of policies as users write them: `cotenant policy NAME`, `cotenant run --policy NAME`. */
#ifndef COT_CLI_POLICY_NAME_H
#define COT_CLI_POLICY_NAME_H

#include "base/error.h"
#include "proto/proto.h"

/* A policy, or auto. -EINVAL with a sentence that names the one that was meant, maybe. */
int cot_policy_name_check(const char *name, struct cot_error *err);

/* The command that has the daemon go over to it; `name` was checked. */
void cot_policy_name_command(const char *name, struct cot_msg_command *ret);

#endif
