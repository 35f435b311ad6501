/*
 * Repeats what US patent 8,643,656 prints of its two scenarios with the models of src/model. Every
 * printed number is in data/printed/consolidation.csv. Main thread only.
 */
#ifndef COT_STUDY_CONSOLIDATION_CONSOLIDATION_H
#define COT_STUDY_CONSOLIDATION_CONSOLIDATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "study/study.h"

#define COT_CONSOLIDATION_ROWS_MAX 64u

struct cot_consolidation_row {
	char id[24], quantity[96], unit[8], kind[16], note[160];
	bool has_printed, has_ours;
	double printed, ours;
};

/* How much the decisions depend on the counts that the patent does not print: of all pairs of
 * kernels from a grid of counts, made to match the printed times alone, the parts that decide as
 * the patent measured. */
struct cot_consolidation_sweep {
	uint32_t n_kernels;		/* of the grid, for each kernel of the patent */
	uint32_t n_pairs;		/* for each scenario */
	double reject1, reject1_layout; /* scenario 1: our distribution; blocks as printed */
	double accept2, accept2_layout;
	double low1_s, high1_s, low2_s, high2_s; /* 5th and 95th percentile, our distribution */
};

struct cot_consolidation {
	uint32_t n;
	struct cot_consolidation_row rows[COT_CONSOLIDATION_ROWS_MAX];
	double memory_w, instruction_w; /* trained with the four runs alone */
	double rest_w;			/* idle power and lambda together */
	struct cot_consolidation_sweep sweep;
};

int cot_consolidation_run(struct cot_consolidation *ret, struct cot_error *err);

/* As in struct cot_study. */
int cot_consolidation_write_text(FILE *out, const void *data);
int cot_consolidation_write_json(FILE *out, const void *data, const struct cot_origin *origin);

extern const struct cot_study cot_consolidation_study;

#endif
