/*
 * What `compare` and `sweep` share: playing the rows of a grid (report/grid.h) with every seed on
 * all cores, and writing what was wanted of the outcome.
 */
#ifndef COT_CLI_GRID_H
#define COT_CLI_GRID_H

#include <argp.h>
#include <stdbool.h>

#include "base/error.h"
#include "report/grid.h"

#define COT_GRID_MAX_SEEDS 1000u
#define COT_GRID_MAX_RUNS  20000u

struct cot_cli_grid_options {
	const char *json, *csv, *report; /* files; NULL: not wanted */
	bool seeded;
	uint64_t seed;	  /* the first one; else the scenario's */
	unsigned n_seeds; /* 0: one */
	unsigned n_threads;
};

/* Their options, and -h. Whose child it is sets child_inputs[0] to a cot_cli_grid_options when its
 * parser is asked for ARGP_KEY_INIT. */
extern const struct argp_child cot_cli_grid_children[];

/* Complains by argp where an output is the scenario (NULL: none), or two are one file. */
void cot_cli_grid_check(const struct cot_cli_grid_options *o, const char *scenario,
			struct argp_state *state);

/* Plays all of `g`, whose keys, rows, scenario and origin are there, and writes. Its outcomes are
 * in `g`. -EINTR, -ENOMEM, others, with a sentence: nothing was written then. */
int cot_cli_grid_run(struct cot_grid *g, const struct cot_cli_grid_options *o,
		     struct cot_error *err);

#endif
