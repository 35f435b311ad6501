/*
 * The outcomes of random scenarios as tables, for terminals and pages.
 */
#ifndef COT_STUDY_MIXES_TABLES_H
#define COT_STUDY_MIXES_TABLES_H

#include "report/table.h"
#include "study/mixes/mixes.h"

/* Of all scenarios, or of those in which a fixed arrangement keeps the targets. */
struct cot_mixes_tally {
	unsigned n_kept, n_kept_of_possible;
	double sum;   /* of the batch programs, where it keeps the targets */
	double ratio; /* to the best fixed one, where both keep them */
	unsigned n_slow, n[COT_MIX_N_REASONS];
};

struct cot_mixes_tally cot_mixes_count(const struct cot_mixes *all, unsigned way);
/* What `sum` and `ratio` are sums of; at least 1. */
static inline double cot_mixes_n_counted(const struct cot_mixes_tally *t)
{
	return t->n_kept_of_possible ? t->n_kept_of_possible : 1;
}
/* In how many scenarios a fixed arrangement keeps the targets. */
unsigned cot_mixes_n_possible(const struct cot_mixes *all, unsigned way);

struct cot_table *cot_mixes_table_ways(const struct cot_mixes *all);
/* How many faults of each class the policy's runs have. */
struct cot_table *cot_mixes_table_reasons(const struct cot_mixes *all);
struct cot_table *cot_mixes_table_failures(const struct cot_mixes *all);
/* Of a single scenario. */
struct cot_table *cot_mixes_table_single(const struct cot_mixes *all);

/* What the first tables say. */
#define COT_MIXES_EXPLAINED                                                                     \
	"Where one can: some fixed arrangement keeps all targets in the same seconds. "         \
	"Batch sum: rates\nof the batch programs, in parts of those alone, where the targets "  \
	"are kept; of the best: over\nthat of the best fixed arrangement that keeps them. "     \
	"Nearly kept: missed by 0.05 or less. More\nevenly: less in all than an arrangement "   \
	"of its topology has, and 1.05 times as much or more\nfor the batch program with "      \
	"least, by weight. Other topology: of pools (pools, rotate, timeslice)\nand parts the " \
	"one in which slo did not run."

#endif
