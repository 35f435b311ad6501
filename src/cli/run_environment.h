/* The environment in which `cotenant run` becomes the program. */
#ifndef COT_CLI_RUN_ENVIRONMENT_H
#define COT_CLI_RUN_ENVIRONMENT_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/run_options.h"
#include "proto/proto.h"

/* Does the daemon's answer set it? */
bool cot_run_has_variable(const struct cot_msg_registered *m, const char *name);

/* Sets what the daemon says; the note is for the user. `own_gpu`: CUDA_VISIBLE_DEVICES stays. */
int cot_run_take_environment(const struct cot_msg_registered *m, bool own_gpu);

/* Has the dynamic linker load the libraries that the options and the daemon's answer need. */
int cot_run_preload(const struct cot_run_options *o, const struct cot_msg_registered *m,
		    struct cot_error *err);

#endif
