/*
 * What the commands that play scenarios share.
 */
#ifndef COT_CLI_SCENARIO_H
#define COT_CLI_SCENARIO_H

#include <stdint.h>

#include "base/error.h"
#include "trace/scenario.h"

/* What the command line says in the scenario's stead; NULL: nothing. */
struct cot_cli_overrides {
	const char *scheduler, *preempt;
	const uint64_t *seed;
};

/* Reads a scenario file ("-": standard input); release with cot_scenario_destroy(). */
int cot_cli_read_scenario(const char *path, const struct cot_cli_overrides *o,
			  struct cot_scenario **ret_sc, struct cot_error *err);

/* Time of each app alone, with a progress bar; NAN for one that never ends. -EINTR when
 * interrupted. */
int cot_cli_measure_alone(const struct cot_scenario *sc, double *ret_us, struct cot_error *err);

#endif
