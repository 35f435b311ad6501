#include "cli/target.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "text/number.h"

error_t cot_target_parse(int key, char *arg, struct argp_state *state)
{
	struct cot_target_arguments *a = state->input;

	switch (key) {
	case COT_TARGET_JSON:
		a->json = arg ? arg : "-";
		return 0;
	case ARGP_KEY_ARG:
		if (a->target)
			argp_error(state, "one at a time; '%s' is one too many", arg);
		a->target = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->target)
			argp_error(state, "no program given; cotenant ps lists them");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int cot_target_name(const char *text, uint64_t *ret_id, char ret_name[COT_PROTO_NAME_MAX],
		    struct cot_error *err)
{
	uint64_t id;

	if (cot_number_u64(text, &id) && id) {
		*ret_id = id;
		return 0;
	}
	if (!*text || strlen(text) >= COT_PROTO_NAME_MAX)
		return cot_error_set(err, -EINVAL,
				     "'%.80s' is not a name; expected a program's name or id, or "
				     "pool:latency or pool:batch",
				     text);
	(void)snprintf(ret_name, COT_PROTO_NAME_MAX, "%s", text);
	return 0;
}

static int print(const char *text, const char *json, struct cot_error *err)
{
	if (!json) {
		(void)printf("%s\n", text);
		return 0;
	}
	return cot_cli_write_json(json_pack("{s:s, s:b, s:s}", "schema", "cotenant.result/1", "ok",
					    1, "message", text),
				  json, err);
}

int cot_target_send(struct cot_msg_command *command, const char *json)
{
	struct cot_client client;
	struct cot_error err = {{0}};
	char *text;
	int rc = cot_client_open(&client, false, &err);

	if (!rc)
		rc = cot_client_command(&client, command, &text, &err);
	cot_client_close(&client);
	if (rc < 0) {
		cot_cli_complain("%s", err.text);
		return cot_client_exit_status(rc);
	}
	rc = print(text, json, &err);
	free(text);
	return cot_cli_end(rc, &err);
}

int cot_target_run(const struct argp_option *options, argp_parser_t parser, const char *doc,
		   int argc, char **argv, enum cot_proto_command command)
{
	const struct argp argp = {
		.options = options,
		.parser = parser,
		.args_doc = "PROGRAM|ID|PID|pool:CLASS[:GPU]",
		.doc = doc,
		.children = cot_cli_argp_children,
	};
	struct cot_target_arguments a = {.command = {.what = command}};
	struct cot_error err;

	if (cot_cli_parse(&argp, argc, argv, 0, &a))
		return COT_EXIT_USAGE;
	if (cot_target_name(a.target, &a.command.tenant, a.command.name, &err) < 0) {
		cot_cli_complain("%s", err.text);
		return COT_EXIT_USAGE;
	}
	return cot_target_send(&a.command, a.json);
}
