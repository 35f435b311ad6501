/*
 * The words of the reproduction reports: what a figure shows, what a mechanism is called.
 */
#ifndef COT_STUDY_PREEMPTION_NAMES_H
#define COT_STUDY_PREEMPTION_NAMES_H

#include <stdbool.h>

#include "study/preemption/preemption.h"

const char *cot_preemption_figure_title(const char *figure);
const char *cot_preemption_mechanism_name(const char *mechanism);

/* "70 %" for shares, "2.45" for ratios. `buf` is returned. */
#define COT_PREEMPTION_VALUE_MAX 32
const char *cot_preemption_value(char buf[COT_PREEMPTION_VALUE_MAX], const char *metric,
				 double value);

/* Claims that hold, out of those that could be judged. */
unsigned cot_preemption_shapes_held(const struct cot_preemption_comparison *c,
				    unsigned *ret_n_judged);

/* Which reading is closer to the paper; an index of samples. */
unsigned cot_preemption_better_reading(const struct cot_preemption *r);

/* The reasons for deviations, two or three sentences each; ends with NULL. */
extern const char *const cot_preemption_reasons[];

#endif
