/* What `cotenant run` was asked for, by options and by variables. */
#ifndef COT_CLI_RUN_OPTIONS_H
#define COT_CLI_RUN_OPTIONS_H

#include <argp.h>
#include <cotenant/policy.h>
#include <stdbool.h>

#include "cli/emulate.h"
#include "cli/run_backend.h"
#include "cli/run_cpu.h"

/* Texts as the user wrote them; NULL: not said. */
struct cot_run_options {
	const char *class, *name, *gpu, *weight, *block, *quota, *reserve, *sms, *pace, *memory;
	const char *policy;			  /* NULL: as it is */
	const char *targets[COT_TARGET_RATE + 1]; /* by kind */
	bool solo, required, rewrite, merge, no_store, measure, oversubscribe;
	bool gpu_of_cuda; /* `gpu` is what CUDA_VISIBLE_DEVICES says */
	struct cot_run_backend backend;
	struct cot_run_cpu cpu;
	struct cot_emulate emulate; /* device NULL: on a real GPU */
	int first;		    /* index of the program in argv */
};

/* The entries, and what takes them into `struct cot_run_options` (the state's input). */
extern const struct argp_option cot_run_option_list[];
error_t cot_run_option_parse(int key, char *arg, struct argp_state *state);

/* The variables COTENANT_* and CUDA_VISIBLE_DEVICES, where no option says it. */
void cot_run_options_from_environment(struct cot_run_options *o);

bool cot_run_has_target(const struct cot_run_options *o);

/* The name of the option, else that of the program. */
const char *cot_run_name(const struct cot_run_options *o, const char *program);

/* Of the environment: NULL where it is not set or empty. */
const char *cot_run_variable(const char *name);
/* It is set, and not to 0. */
bool cot_run_is_yes(const char *name);

/* By kind (NULL: none), as the daemon calls them, too. */
extern const char *const cot_run_target_variables[COT_TARGET_RATE + 1];

#endif
