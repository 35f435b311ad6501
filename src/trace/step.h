/*
 * A step test of the power model's thermal term: a CSV (csv.h) with the columns seconds (from the
 * start of a steady load, growing), power_w (of the whole system), and idle_w (the same before the
 * start; equal in all lines).
 */
#ifndef COT_TRACE_STEP_H
#define COT_TRACE_STEP_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define COT_STEP_SAMPLES_MAX 4096u

struct cot_step_test {
	uint32_t n; /* at least 4 */
	double *seconds, *power_w;
	double idle_w;
};

/* -EINVAL with file, line and column; -ENOMEM. Release with cot_step_finish(). */
int cot_step_parse(const char *name, const void *bytes, size_t size, struct cot_step_test *ret,
		   struct cot_error *err);
void cot_step_finish(struct cot_step_test *step);

#endif
