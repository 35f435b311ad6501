/* Medians of what was measured. */
#include <stdlib.h>
#include <string.h>

#include "study/live/live.h"

#define VALUES_MAX 256u /* of one median: repeats and rounds */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double cot_live_middle(double *values, uint32_t n)
{
	if (!n)
		return 0.0;
	qsort(values, n, sizeof(*values), by_value);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static double figure_of(const struct cot_live_row *r, enum cot_live_figure figure)
{
	switch (figure) {
	case COT_LIVE_P50:
		return r->p50_us;
	case COT_LIVE_P99:
		return r->p99_us;
	case COT_LIVE_RATE:
		return r->per_s;
	case COT_LIVE_ON_GPU:
		return r->on_gpu_us;
	case COT_LIVE_OFF_GPU:
		return r->off_gpu_us;
	}
	return 0.0;
}

static bool is_that(const char *wanted, const char *found)
{
	return !wanted || !strcmp(wanted, found);
}

static bool matches(const struct cot_live_match *m, const struct cot_live_row *r)
{
	return (m->run == COT_LIVE_ANY_RUN || m->run == r->run) && is_that(m->group, r->group) &&
	       is_that(m->app, r->app) && is_that(m->program, r->program) &&
	       is_that(m->window, r->window);
}

double cot_live_median(const struct cot_live *l, const struct cot_live_match *m,
		       enum cot_live_figure figure)
{
	double values[VALUES_MAX], value;
	uint32_t n = 0, i;

	for (i = 0; i < l->n_rows && n < VALUES_MAX; i++) {
		if (!matches(m, &l->rows[i]))
			continue;
		value = figure_of(&l->rows[i], figure);
		if (value > 0.0)
			values[n++] = value;
	}
	return cot_live_middle(values, n);
}

/* Only the first of several equal programs was measured alone. */
static double alone_in(const struct cot_live *l, uint32_t run, const char *group,
		       const char *program, enum cot_live_figure figure)
{
	double values[VALUES_MAX], value;
	uint32_t n = 0, i;

	for (i = 0; i < l->n_rows && n < VALUES_MAX; i++) {
		const struct cot_live_row *r = &l->rows[i];
		const struct cot_live_match m = {run, group, NULL, NULL, program};

		if (!matches(&m, r) || strncmp(r->window, "alone:", 6) != 0)
			continue;
		value = figure_of(r, figure);
		if (value > 0.0)
			values[n++] = value;
	}
	return cot_live_middle(values, n);
}

double cot_live_alone(const struct cot_live *l, uint32_t run, const char *group,
		      const char *program, enum cot_live_figure figure)
{
	double value = alone_in(l, run, group, program, figure);

	if (!(value > 0.0))
		value = alone_in(l, COT_LIVE_ANY_RUN, group, program, figure);
	return value > 0.0 ? value : alone_in(l, COT_LIVE_ANY_RUN, NULL, program, figure);
}
