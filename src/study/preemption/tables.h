/*
 * The tables that the text and the HTML report share. Each is the caller's to destroy; NULL when
 * out of memory.
 */
#ifndef COT_STUDY_PREEMPTION_TABLES_H
#define COT_STUDY_PREEMPTION_TABLES_H

#include <stdbool.h>

#include "report/table.h"
#include "study/preemption/preemption.h"

/* Printed and measured values; `headlines`: only the averages with 8 processes. */
struct cot_table *cot_preemption_table_pairs(const struct cot_preemption *r, bool headlines);

/* The claims; `all_values`: the numbers of both readings, not only of the consistent one. */
struct cot_table *cot_preemption_table_shapes(const struct cot_preemption *r, bool all_values);
struct cot_table *cot_preemption_table_kernels(const struct cot_preemption *r); /* Table 1 */

/* Every measured value of sample `index`: a row per series, a column per size. */
struct cot_table *cot_preemption_table_points(const struct cot_preemption *r, unsigned index);

/* The averages of `n` samples side by side, and the groups of benchmarks as well. */
struct cot_table *cot_preemption_table_sensitivity(const struct cot_preemption *r, unsigned first,
						   unsigned n, bool groups);

#endif
