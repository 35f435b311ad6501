/*
 * cotenant compare: the rows, one for each way to play the scenario (compare_rows.c), and the table
 * of their outcomes (compare_table.c). Private to the command.
 */
#ifndef COT_CLI_COMPARE_H
#define COT_CLI_COMPARE_H

#include <stdio.h>

#include "base/error.h"
#include "cli/scenario.h"
#include "report/sim_summary.h"
#include "sim/sim.h"

#define COT_COMPARE_MAX_ROWS 96u

struct cot_compare_row {
	struct cot_scenario *sc; /* with this row's scheduler and policy; the comparison owns it */
	const struct hw_sched_ops *ops;
	struct cot_sim_summary summary;
};

struct cot_comparison {
	struct cot_scenario *sc;
	struct cot_cli_alone alone;
	struct cot_compare_row rows[COT_COMPARE_MAX_ROWS];
	struct cot_scenario *scenarios; /* COT_COMPARE_MAX_ROWS of them */
	unsigned n_rows;
};

/*
 * Rows for the policies in `words` ("pools,parts@64"); NULL: for all schedulers, and where the
 * scenario has a policy for all of them, `parts` in several sizes. -EINVAL with a sentence,
 * -ENOMEM.
 */
int cot_compare_add_rows(struct cot_comparison *c, const char *words, struct cot_error *err);
void cot_compare_finish(struct cot_comparison *c);

/* -ENOMEM. */
int cot_compare_print(const struct cot_comparison *c, FILE *out);

#endif
