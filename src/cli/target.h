/*
 * What `set`, `freeze` and `thaw` share: naming a program or pool, sending a command, showing the
 * answer.
 */
#ifndef COT_CLI_TARGET_H
#define COT_CLI_TARGET_H

#include <argp.h>
#include <stdbool.h>

#include "base/error.h"
#include "proto/proto.h"

/* The options that all have, and the first of a command's own. */
enum { COT_TARGET_JSON = 256, COT_TARGET_OWN };

struct cot_target_arguments {
	const char *target; /* "12" is an id, "pool:batch" a pool, everything else a name */
	struct cot_msg_command command;
	const char *json; /* NULL: text */
};

/* What the user wrote, an id or a name. -EINVAL with a sentence. */
int cot_target_name(const char *text, uint64_t *ret_id, char ret_name[COT_PROTO_NAME_MAX],
		    struct cot_error *err);

/* A parser for argp whose input is a struct cot_target_arguments. */
error_t cot_target_parse(int key, char *arg, struct argp_state *state);

/* Sends a command and prints the daemon's sentence, as JSON to that file if that is not NULL.
 * Returns an exit status. */
int cot_target_send(struct cot_msg_command *command, const char *json);

/* Reads the arguments, sends `command` with what they say, and prints the daemon's sentence, as
 * JSON if asked. Returns an exit status. */
int cot_target_run(const struct argp_option *options, argp_parser_t parser, const char *doc,
		   int argc, char **argv, enum cot_proto_command command);

#endif
