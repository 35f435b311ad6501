#include "trace/step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text/csv.h"
#include "text/text.h"

#define SAMPLES_MIN 4u

enum column { SECONDS, POWER, IDLE, N_COLUMNS };

static const char *const names[N_COLUMNS] = {"seconds", "power_w", "idle_w"};

static int find_columns(const char *name, const struct cot_csv *csv, uint32_t *ret_columns,
			struct cot_error *err)
{
	uint32_t rows = cot_csv_rows(csv);
	unsigned i;

	for (i = 0; i < N_COLUMNS; i++) {
		ret_columns[i] = cot_csv_find(csv, names[i]);
		if (ret_columns[i] == COT_CSV_NONE)
			return cot_error_set(err, -EINVAL,
					     "%s:1:1: the table has no column '%s'; expected one",
					     name, names[i]);
	}
	if (rows < SAMPLES_MIN || rows > COT_STEP_SAMPLES_MAX)
		return cot_error_set(err, -EINVAL,
				     "%s:1:1: the table has %u samples; expected %u to %u", name,
				     rows, SAMPLES_MIN, COT_STEP_SAMPLES_MAX);
	return 0;
}

static int read_row(const struct cot_csv *csv, uint32_t row, const uint32_t *columns,
		    struct cot_step_test *step, struct cot_error *err)
{
	double idle = 0;
	int rc;

	rc = cot_csv_double(csv, row, columns[SECONDS], 0, 1e9, &step->seconds[row], err);
	if (!rc)
		rc = cot_csv_double(csv, row, columns[POWER], 0, 1e6, &step->power_w[row], err);
	if (!rc)
		rc = cot_csv_double(csv, row, columns[IDLE], 0, 1e6, &idle, err);
	if (rc)
		return rc;
	if (row && !(step->seconds[row] > step->seconds[row - 1]))
		return cot_csv_fail(csv, row, columns[SECONDS], err,
				    "seconds is %.10g after %.10g; expected times that grow",
				    step->seconds[row], step->seconds[row - 1]);
	if (!row)
		step->idle_w = idle;
	if (idle < step->idle_w || idle > step->idle_w)
		return cot_csv_fail(csv, row, columns[IDLE], err,
				    "idle_w is %.10g, above it is %.10g; expected one idle power",
				    idle, step->idle_w);
	return 0;
}

int cot_step_parse(const char *name, const void *bytes, size_t size, struct cot_step_test *ret,
		   struct cot_error *err)
{
	struct cot_step_test step = {0};
	uint32_t columns[N_COLUMNS], row;
	struct cot_csv *csv;
	int rc;

	rc = cot_csv_parse(name, bytes, size, &csv, err);
	if (rc)
		return rc;
	rc = find_columns(name, csv, columns, err);
	if (!rc) {
		step.n = cot_csv_rows(csv);
		step.seconds = calloc(step.n + 1, sizeof(*step.seconds));
		step.power_w = calloc(step.n + 1, sizeof(*step.power_w));
		if (!step.seconds || !step.power_w)
			rc = cot_error_set(err, -ENOMEM, "%s: out of memory", name);
	}
	for (row = 0; !rc && row < step.n; row++)
		rc = read_row(csv, row, columns, &step, err);
	cot_csv_destroy(csv);
	if (rc)
		cot_step_finish(&step);
	else
		*ret = step;
	return rc;
}

int cot_step_read(const char *path, struct cot_step_test *ret, struct cot_error *err)
{
	const char *name = strcmp(path, "-") != 0 ? path : "stdin";
	size_t size;
	char *bytes;
	int rc;

	rc = cot_text_read(path, &bytes, &size, err);
	if (rc)
		return rc;
	rc = cot_step_parse(name, bytes, size, ret, err);
	free(bytes);
	return rc;
}

void cot_step_finish(struct cot_step_test *step)
{
	free(step->seconds);
	free(step->power_w);
	memset(step, 0, sizeof(*step));
}
