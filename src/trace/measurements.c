#include "trace/measurements.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/csv.h"
#include "text/text.h"

enum known { WORKLOAD, SECONDS, POWER, IDLE, SMS, CLOCK, N_NEEDED, SET = N_NEEDED, N_KNOWN };

static const char *const known_names[N_KNOWN] = {
	"workload", "seconds", "power_w", "idle_w", "sms", "clock_mhz", "set",
};

struct reader {
	const char *name;
	const struct cot_csv *csv;
	uint32_t column[N_KNOWN];
	uint32_t events[COT_MEASUREMENTS_EVENTS_MAX];
	struct cot_measurements *out;
	struct cot_error *err;
};

static bool is_known(const char *name)
{
	unsigned k;

	for (k = 0; k < N_KNOWN; k++)
		if (!strcmp(known_names[k], name))
			return true;
	return false;
}

static int find_columns(struct reader *r)
{
	uint32_t i;
	unsigned k;

	for (k = 0; k < N_KNOWN; k++) {
		r->column[k] = cot_csv_find(r->csv, known_names[k]);
		if (r->column[k] == COT_CSV_NONE && k < N_NEEDED)
			return cot_error_set(r->err, -EINVAL,
					     "%s:1:1: the table has no column '%s'; expected one",
					     r->name, known_names[k]);
	}
	for (i = 0; i < cot_csv_columns(r->csv); i++) {
		if (is_known(cot_csv_name(r->csv, i)))
			continue;
		if (r->out->n_events == COT_MEASUREMENTS_EVENTS_MAX)
			return cot_error_set(r->err, -EINVAL,
					     "%s:1:1: more than %u columns of events; expected "
					     "fewer",
					     r->name, COT_MEASUREMENTS_EVENTS_MAX);
		r->events[r->out->n_events++] = i;
	}
	if (cot_csv_rows(r->csv) > COT_MEASUREMENTS_MAX)
		return cot_error_set(r->err, -EINVAL,
				     "%s: the table has %u runs; expected at most %u", r->name,
				     cot_csv_rows(r->csv), COT_MEASUREMENTS_MAX);
	return 0;
}

/* Room for every run; there must be some, and some event. */
static int allocate(struct reader *r)
{
	struct cot_measurements *m = r->out;

	m->n = cot_csv_rows(r->csv);
	if (!m->n_events)
		return cot_error_set(r->err, -EINVAL,
				     "%s:1:1: the table has no column of an event; expected some, "
				     "such as transactions and instructions",
				     r->name);
	if (!m->n)
		return cot_error_set(r->err, -EINVAL,
				     "%s:1:1: the table has no runs; expected a line for each",
				     r->name);
	m->has_set = r->column[SET] != COT_CSV_NONE;
	m->workloads = calloc(m->n, sizeof(*m->workloads));
	m->workload = calloc(m->n, sizeof(*m->workload));
	m->rates = calloc((size_t)m->n * m->n_events, sizeof(*m->rates));
	m->dynamic_w = calloc(m->n, sizeof(*m->dynamic_w));
	m->idle_w = calloc(m->n, sizeof(*m->idle_w));
	m->train = calloc(m->n, sizeof(*m->train));
	if (!m->workloads || !m->workload || !m->rates || !m->dynamic_w || !m->idle_w || !m->train)
		return cot_error_set(r->err, -ENOMEM, "%s: out of memory", r->name);
	return 0;
}

static int read_events(struct reader *r)
{
	struct cot_measurements *m = r->out;
	const char *name;
	uint32_t i;

	for (i = 0; i < m->n_events; i++) {
		name = cot_csv_name(r->csv, r->events[i]);
		if (strlen(name) >= COT_NAME_MAX)
			return cot_error_set(r->err, -EINVAL,
					     "%s:1:1: the column name '%.20s...' is too long; "
					     "expected at most %d bytes",
					     r->name, name, COT_NAME_MAX - 1);
		(void)snprintf(m->events[i], COT_NAME_MAX, "%s", name);
	}
	return 0;
}

static int read_workload(struct reader *r, uint32_t row)
{
	struct cot_measurements *m = r->out;
	const char *name = cot_csv_cell(r->csv, row, r->column[WORKLOAD]);
	uint32_t w;

	if (!*name || strlen(name) >= COT_NAME_MAX)
		return cot_csv_fail(r->csv, row, r->column[WORKLOAD], r->err,
				    "workload is empty or too long; expected 1 to %d bytes",
				    COT_NAME_MAX - 1);
	for (w = 0; w < m->n_workloads; w++)
		if (!strcmp(m->workloads[w], name))
			break;
	if (w == m->n_workloads)
		(void)snprintf(m->workloads[m->n_workloads++], COT_NAME_MAX, "%s", name);
	m->workload[row] = w;
	return 0;
}

static int read_set(struct reader *r, uint32_t row)
{
	char quote[COT_QUOTE_MAX];
	const char *word;

	if (!r->out->has_set)
		return 0;
	word = cot_csv_cell(r->csv, row, r->column[SET]);
	r->out->train[row] = !strcmp(word, "train");
	if (!r->out->train[row] && strcmp(word, "test") != 0)
		return cot_csv_fail(r->csv, row, r->column[SET], r->err,
				    "set is '%s'; expected train or test",
				    cot_text_quote(word, quote));
	return 0;
}

static int read_numbers(struct reader *r, uint32_t row)
{
	struct cot_measurements *m = r->out;
	double seconds, power = 0, idle = 0, clock_mhz = 0, count, cycles;
	uint32_t sms = 0, i;
	int rc;

	rc = cot_csv_double(r->csv, row, r->column[SECONDS], 1e-9, 1e9, &seconds, r->err);
	if (!rc)
		rc = cot_csv_double(r->csv, row, r->column[POWER], 0, 1e6, &power, r->err);
	if (!rc)
		rc = cot_csv_double(r->csv, row, r->column[IDLE], 0, 1e6, &idle, r->err);
	if (!rc)
		rc = cot_csv_u32(r->csv, row, r->column[SMS], 1, COT_MAX_SMS, &sms, r->err);
	if (!rc)
		rc = cot_csv_double(r->csv, row, r->column[CLOCK], 1, 1e5, &clock_mhz, r->err);
	if (rc)
		return rc;
	if (power <= idle)
		return cot_csv_fail(r->csv, row, r->column[POWER], r->err,
				    "power_w is %.10g, not above the idle power of %.10g; expected "
				    "the mean power while the GPU was busy",
				    power, idle);
	m->dynamic_w[row] = power - idle;
	m->idle_w[row] = idle;
	cycles = seconds * clock_mhz * 1e6 * sms;
	for (i = 0; i < m->n_events; i++) {
		rc = cot_csv_double(r->csv, row, r->events[i], 0, 1e18, &count, r->err);
		if (rc)
			return rc;
		m->rates[(size_t)row * m->n_events + i] = count / cycles;
	}
	return 0;
}

/* A workload on both sides would test what was trained. */
static int check_sets(struct reader *r)
{
	const struct cot_measurements *m = r->out;
	uint32_t *first = calloc(m->n_workloads, sizeof(*first));
	uint32_t row, w;
	int rc = 0;

	if (!first)
		return cot_error_set(r->err, -ENOMEM, "%s: out of memory", r->name);
	for (row = 0; row < m->n && !rc; row++) {
		w = m->workload[row];
		if (!first[w])
			first[w] = row + 1;
		else if (m->train[row] != m->train[first[w] - 1])
			rc = cot_csv_fail(r->csv, row, r->column[SET], r->err,
					  "'%s' is in both sets; expected each workload in one",
					  m->workloads[w]);
	}
	free(first);
	return rc;
}

static int read_all(struct reader *r)
{
	uint32_t row;
	int rc;

	rc = find_columns(r);
	rc = rc ? rc : allocate(r);
	rc = rc ? rc : read_events(r);
	for (row = 0; !rc && row < r->out->n; row++) {
		rc = read_workload(r, row);
		rc = rc ? rc : read_set(r, row);
		rc = rc ? rc : read_numbers(r, row);
	}
	return rc || !r->out->has_set ? rc : check_sets(r);
}

int cot_measurements_parse(const char *name, const void *bytes, size_t size,
			   struct cot_measurements *ret, struct cot_error *err)
{
	struct cot_measurements out = {0};
	struct reader r = {.name = name, .out = &out, .err = err};
	struct cot_csv *csv;
	int rc;

	rc = cot_csv_parse(name, bytes, size, &csv, err);
	if (rc)
		return rc;
	r.csv = csv;
	rc = read_all(&r);
	cot_csv_destroy(csv);
	if (rc)
		cot_measurements_finish(&out);
	else
		*ret = out;
	return rc;
}

int cot_measurements_read(const char *path, struct cot_measurements *ret, struct cot_error *err)
{
	const char *name = strcmp(path, "-") != 0 ? path : "stdin";
	size_t size;
	char *bytes;
	int rc;

	rc = cot_text_read(path, &bytes, &size, err);
	if (rc)
		return rc;
	rc = cot_measurements_parse(name, bytes, size, ret, err);
	free(bytes);
	return rc;
}

void cot_measurements_finish(struct cot_measurements *m)
{
	free(m->workloads);
	free(m->workload);
	free(m->rates);
	free(m->dynamic_w);
	free(m->idle_w);
	free(m->train);
	memset(m, 0, sizeof(*m));
}
