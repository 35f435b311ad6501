#include "cli/target.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "report/json.h"
#include "text/number.h"

int cot_target_parse(const char *text, struct cot_msg_command *command, struct cot_error *err)
{
	uint64_t id;

	if (cot_number_u64(text, &id) && id) {
		command->tenant = id;
		return 0;
	}
	if (!*text || strlen(text) >= sizeof(command->name))
		return cot_error_set(err, -EINVAL,
				     "'%.80s' is not a name; expected a program's name or id, or "
				     "pool:latency or pool:batch",
				     text);
	(void)snprintf(command->name, sizeof(command->name), "%s", text);
	return 0;
}

static void print(const char *text, bool as_json)
{
	if (!as_json)
		(void)printf("%s\n", text);
	else
		(void)cot_json_write(json_pack("{s:s, s:b, s:s}", "schema", "cotenant.result/1",
					       "ok", 1, "message", text),
				     JSON_INDENT(2), stdout);
}

int cot_target_command(struct cot_msg_command *command, bool as_json)
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
	print(text, as_json);
	free(text);
	return COT_EXIT_OK;
}
