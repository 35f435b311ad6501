/*
 * cotenant freeze, cotenant thaw: hold a program or pool off the GPU, let it go on.
 */
#include <argp.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/target.h"

struct arguments {
	const char *target;
	bool json;
};

enum { KEY_JSON = 256 };

static const struct argp_option options[] = {
	{"json", KEY_JSON, NULL, 0, "Print the answer as JSON", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_JSON:
		a->json = true;
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

static int run(int argc, char **argv, enum cot_proto_command what, const char *doc)
{
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "PROGRAM|ID|pool:CLASS[:GPU]",
		.doc = doc,
		.children = cot_cli_argp_children,
	};
	struct cot_msg_command command = {.what = what};
	struct arguments a = {0};
	struct cot_error err;

	if (cot_cli_parse(&argp, argc, argv, 0, &a))
		return COT_EXIT_USAGE;
	if (cot_target_parse(a.target, &command, &err) < 0) {
		cot_cli_complain("%s", err.text);
		return COT_EXIT_USAGE;
	}
	return cot_target_command(&command, a.json);
}

int cot_cmd_freeze(int argc, char **argv)
{
	return run(argc, argv, COT_COMMAND_FREEZE,
		   "Keep a program, or a whole pool, off the GPU until cotenant thaw. Its process "
		   "goes on; its launches wait.");
}

int cot_cmd_thaw(int argc, char **argv)
{
	return run(argc, argv, COT_COMMAND_THAW, "Let a frozen program or pool use the GPU again.");
}
