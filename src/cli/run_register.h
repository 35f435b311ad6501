/* What `cotenant run` asks of the daemon. */
#ifndef COT_CLI_RUN_REGISTER_H
#define COT_CLI_RUN_REGISTER_H

#include "base/error.h"
#include "cli/run_options.h"
#include "proto/proto.h"

/* argv: the program and its arguments. -EINVAL with a sentence: a mistake of the user. */
int cot_run_fill_in(const struct cot_run_options *o, char *const argv[], struct cot_msg_register *m,
		    struct cot_error *err);

#endif
