/*
 * The power that bench_contention measured, as a table that `cotenant model train` reads: what each
 * run drew, and how often what costs power happened in it.
 */
#ifndef COT_STUDY_CONTENTION_POWER_TABLE_H
#define COT_STUDY_CONTENTION_POWER_TABLE_H

#include <stdio.h>

#include "base/error.h"
#include "report/origin.h"

/* Reads what was measured from `path` and writes the table. `train_with`: the workloads of the set
 * 'train', with commas between; NULL: no sets. */
int cot_power_table_write(const struct cot_origin *origin, const char *train_with, FILE *out,
			  struct cot_error *err);

#endif
