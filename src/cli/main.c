/*
 * The program `cotenant`: finds the subcommand and hands over to it.
 */
#include <argp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "text/json.h"
#include "text/nearest.h"

#ifndef COT_VERSION
#define COT_VERSION "0.1.0"
#endif

static const struct cot_command commands[] = {
	{"run", "run a program under control on a shared GPU", cot_cmd_run},
	{"ps", "show the programs under control", cot_cmd_ps},
	{"top", "show programs and pools as they run, and change them", cot_cmd_top},
	{"set", "change a program's class, weight, slice or mode", cot_cmd_set},
	{"freeze", "take a program off the GPU", cot_cmd_freeze},
	{"thaw", "let it use the GPU again", cot_cmd_thaw},
	{"stats", "show slices, freezes and what the policy did", cot_cmd_stats},
	{"policy", "show the policies and which is at work, or change it", cot_cmd_policy},
	{"explain", "show what the policy does with a program, and why", cot_cmd_explain},
	{"record", "write down a live run: requests, changes, rates", cot_cmd_record},
	{"report", "make a page and a timeline of a recording", cot_cmd_report},
	{"scenario-from", "make a scenario of a recording, and play it", cot_cmd_scenario_from},
	{"profile", "measure a program on parts of the GPU, for predictions", cot_cmd_profile},
	{"doctor", "say what works on this machine, and what to do", cot_cmd_doctor},
	{"cdi", "write a file by which containers get what programs need", cot_cmd_cdi},
	{"sim", "play a scenario on the simulated GPU", cot_cmd_sim},
	{"compare", "play a scenario under every scheduler and policy", cot_cmd_compare},
	{"sweep", "play a scenario with several values of its keys", cot_cmd_sweep},
	{"plan", "say which programs fit together on how many GPUs", cot_cmd_plan},
	{"model", "predict time, power and consolidation of kernels", cot_cmd_model},
	{"reproduce", "repeat a published evaluation and compare the figures", cot_cmd_reproduce},
	{"inspect", "show which kernels a program has, and what reaches them", cot_cmd_inspect},
	{"ptx", "rewrite kernels: persistent workers, slices, counters", cot_cmd_ptx},
	{"list", "list the schedulers, policies, GPUs and traces", cot_cmd_list},
};

static const struct cot_command *find(const char *name)
{
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

/* The end of --help: the commands. argp frees the text. */
static char *list_commands(int key, const char *text, void *input)
{
	char *list = NULL;
	size_t size, i;
	FILE *out;

	(void)input;
	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)(uintptr_t)text;
	out = open_memstream(&list, &size);
	if (!out)
		return NULL;
	(void)fputs("Commands:\n", out);
	for (i = 0; i < COT_ARRAY_LEN(commands); i++)
		(void)fprintf(out, "  %-13s %s\n", commands[i].name, commands[i].summary);
	(void)fputs("  help          explain a command: cotenant help COMMAND\n\n"
		    "Each command explains itself with --help and has a manual page, such as\n"
		    "cotenant-sim(1). A place to start: cotenant doctor.",
		    out);
	return fclose(out) ? NULL : list;
}

struct arguments {
	int first; /* index of the command in argv; 0: none */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_ARG:
		arguments->first = state->next - 1;
		state->next = state->argc; /* the rest is the command's */
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_state_help(state, stderr,
				ARGP_HELP_USAGE | ARGP_HELP_LONG | ARGP_HELP_POST_DOC);
		exit(COT_EXIT_USAGE);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int run(const struct cot_command *command, int argc, char **argv)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "cotenant %s", command->name);
	argv[0] = name; /* what argp calls the program in its messages */
	return command->run(argc, argv);
}

static int unknown(const char *name)
{
	char hint[COT_NEAREST_HINT_MAX];
	struct cot_nearest near = {.word = name};
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(commands); i++)
		cot_nearest_try(&near, commands[i].name);
	cot_cli_complain("unknown command '%s'%s; 'cotenant --help' lists the commands", name,
			 cot_nearest_hint(&near, hint));
	return COT_EXIT_USAGE;
}

/* `cotenant help [COMMAND]` is `cotenant [COMMAND] --help`. */
static int help(int argc, char **argv, const struct argp *argp)
{
	static char program[] = "cotenant", option[] = "--help";
	char *help_argv[] = {program, option, NULL};
	const struct cot_command *command;

	if (argc < 2)
		return cot_cli_parse(argp, 2, help_argv, 0, NULL) ? COT_EXIT_FAILURE : COT_EXIT_OK;
	command = find(argv[1]);
	return command ? run(command, 2, help_argv) : unknown(argv[1]);
}

/* No reader must take a part of an answer for all of it. */
static int whole(int status)
{
	if (cot_cli_was_complete() || status)
		return status;
	cot_cli_complain("out of memory: part of the answer is missing");
	return COT_EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static char program[] = "cotenant";
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "COMMAND [ARGUMENT...]",
		.doc = "Share one GPU between programs, so that those that answer requests keep "
		       "their latency.",
		.children = cot_cli_argp_children,
		.help_filter = list_commands,
	};
	struct arguments arguments = {0};
	const struct cot_command *command;

	argp_program_version = "cotenant " COT_VERSION;
	argp_err_exit_status = COT_EXIT_USAGE;
	if (argc < 1)
		return COT_EXIT_USAGE;
	argv[0] = program;
	if (cot_cli_parse(&argp, argc, argv, ARGP_IN_ORDER, &arguments))
		return COT_EXIT_FAILURE;
	argc -= arguments.first;
	argv += arguments.first;
	if (!strcmp(argv[0], "help"))
		return help(argc, argv, &argp);
	command = find(argv[0]);
	if (!command)
		return unknown(argv[0]);
	cot_json_count();
	return whole(run(command, argc, argv));
}
