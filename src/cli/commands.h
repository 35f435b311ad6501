/*
 * The subcommands of `cotenant`. To add one: a file of its own, a declaration here and a line in
 * the table of main.c. A command gets its own arguments, argv[0] being "cotenant NAME", and
 * returns an exit status.
 */
#ifndef COT_CLI_COMMANDS_H
#define COT_CLI_COMMANDS_H

enum cot_exit {
	COT_EXIT_OK = 0,
	COT_EXIT_FAILURE = 1,	    /* it went wrong on the way */
	COT_EXIT_USAGE = 2,	    /* the user's mistake: arguments, input files */
	COT_EXIT_INTERRUPTED = 130, /* stopped by SIGINT or SIGTERM */
};

struct cot_command {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
};

int cot_cmd_cdi(int argc, char **argv);
int cot_cmd_compare(int argc, char **argv);
int cot_cmd_doctor(int argc, char **argv);
int cot_cmd_freeze(int argc, char **argv);
int cot_cmd_explain(int argc, char **argv);
int cot_cmd_inspect(int argc, char **argv);
int cot_cmd_list(int argc, char **argv);
int cot_cmd_model(int argc, char **argv);
int cot_cmd_plan(int argc, char **argv);
int cot_cmd_policy(int argc, char **argv);
int cot_cmd_profile(int argc, char **argv);
int cot_cmd_ps(int argc, char **argv);
int cot_cmd_ptx(int argc, char **argv);
int cot_cmd_record(int argc, char **argv);
int cot_cmd_report(int argc, char **argv);
int cot_cmd_reproduce(int argc, char **argv);
int cot_cmd_run(int argc, char **argv);
int cot_cmd_scenario_from(int argc, char **argv);
int cot_cmd_set(int argc, char **argv);
int cot_cmd_sim(int argc, char **argv);
int cot_cmd_stats(int argc, char **argv);
int cot_cmd_sweep(int argc, char **argv);
int cot_cmd_thaw(int argc, char **argv);
int cot_cmd_top(int argc, char **argv);

#endif
