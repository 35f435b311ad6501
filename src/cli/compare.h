/*
 * cotenant compare: the rows, one for each way to play the scenario. Private to the command.
 */
#ifndef COT_CLI_COMPARE_H
#define COT_CLI_COMPARE_H

#include "base/error.h"
#include "cli/scenario.h"
#include "report/grid.h"

#define COT_COMPARE_MAX_ROWS 96u

struct cot_comparison {
	struct cot_scenario *sc;
	struct cot_origin origin;
	struct cot_scenario *scenarios; /* of the rows: COT_COMPARE_MAX_ROWS of them */
	struct cot_grid grid;
};

/*
 * Rows for the schedulers and policies in the lists ("dss,ppq", "pools,parts@64"), "all" being all
 * of them. Both NULL: for all schedulers, and where the scenario has a policy for all of these.
 * -EINVAL with a sentence, -ENOMEM.
 */
int cot_compare_add_rows(struct cot_comparison *c, const char *schedulers, const char *policies,
			 struct cot_error *err);
void cot_compare_finish(struct cot_comparison *c);

#endif
