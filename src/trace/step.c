#include "trace/step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text/csv.h"
#include "text/text.h"

#define SAMPLES_MIN 4u

struct sample {
	double seconds, power_w, idle_w;
};

#define COLUMN(key, ...) COT_FIELD(#key, struct sample, key, __VA_ARGS__, .required = true)

static const struct cot_field columns[] = {
	COLUMN(seconds, COT_NUMBER(0, 1e9)),
	COLUMN(power_w, COT_NUMBER(0, 1e6)),
	COLUMN(idle_w, COT_NUMBER(0, 1e6)),
	{0},
};

static int check_table(const char *name, const struct cot_csv *csv, struct cot_error *err)
{
	uint32_t rows = cot_csv_rows(csv);
	int rc = cot_csv_need(csv, columns, err);

	if (rc || (rows >= SAMPLES_MIN && rows <= COT_STEP_SAMPLES_MAX))
		return rc;
	return cot_error_set(err, -EINVAL, "%s:1:1: the table has %u samples; expected %u to %u",
			     name, rows, SAMPLES_MIN, COT_STEP_SAMPLES_MAX);
}

static int read_row(const struct cot_csv *csv, uint32_t row, struct cot_step_test *step,
		    struct cot_error *err)
{
	struct sample s;
	int rc = cot_csv_fill(csv, row, columns, &s, err);

	if (rc)
		return rc;
	if (row && !(s.seconds > step->seconds[row - 1]))
		return cot_csv_fail(csv, row, cot_csv_find(csv, "seconds"), err,
				    "seconds is %.10g after %.10g; expected times that grow",
				    s.seconds, step->seconds[row - 1]);
	if (!row)
		step->idle_w = s.idle_w;
	if (s.idle_w < step->idle_w || s.idle_w > step->idle_w)
		return cot_csv_fail(csv, row, cot_csv_find(csv, "idle_w"), err,
				    "idle_w is %.10g, above it is %.10g; expected one idle power",
				    s.idle_w, step->idle_w);
	step->seconds[row] = s.seconds;
	step->power_w[row] = s.power_w;
	return 0;
}

int cot_step_parse(const char *name, const void *bytes, size_t size, struct cot_step_test *ret,
		   struct cot_error *err)
{
	struct cot_step_test step = {0};
	struct cot_csv *csv;
	uint32_t row;
	int rc;

	rc = cot_csv_parse(name, bytes, size, &csv, err);
	if (rc)
		return rc;
	rc = check_table(name, csv, err);
	if (!rc) {
		step.n = cot_csv_rows(csv);
		step.seconds = calloc(step.n + 1, sizeof(*step.seconds));
		step.power_w = calloc(step.n + 1, sizeof(*step.power_w));
		if (!step.seconds || !step.power_w)
			rc = cot_error_set(err, -ENOMEM, "%s: out of memory", name);
	}
	for (row = 0; !rc && row < step.n; row++)
		rc = read_row(csv, row, &step, err);
	cot_csv_destroy(csv);
	if (rc)
		cot_step_finish(&step);
	else
		*ret = step;
	return rc;
}

void cot_step_finish(struct cot_step_test *step)
{
	free(step->seconds);
	free(step->power_w);
	memset(step, 0, sizeof(*step));
}
