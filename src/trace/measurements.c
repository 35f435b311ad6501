#include "trace/measurements.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/csv.h"
#include "text/text.h"

/* One run. */
struct line {
	char workload[COT_NAME_MAX];
	double seconds, power_w, idle_w, clock_mhz;
	uint32_t sms;
	bool set; /* whether it is for training */
};

#define COLUMN(key, ...) COT_FIELD(#key, struct line, key, __VA_ARGS__)
#define NEEDED(key, ...) COLUMN(key, __VA_ARGS__, .required = true)

static const struct cot_field_word sets[] = {{"train", true}, {"test", false}, {0}};

/* Every other column is an event. */
static const struct cot_field columns[] = {
	NEEDED(workload, COT_TEXT),
	NEEDED(seconds, COT_NUMBER(1e-9, 1e9)),
	NEEDED(power_w, COT_NUMBER(0, 1e6)),
	NEEDED(idle_w, COT_NUMBER(0, 1e6)),
	NEEDED(sms, COT_WHOLE(1, COT_MAX_SMS)),
	NEEDED(clock_mhz, COT_NUMBER(1, 1e5)),
	COLUMN(set, COT_WORD(sets)),
	{0},
};

struct reader {
	const char *name;
	const struct cot_csv *csv;
	uint32_t events[COT_MEASUREMENTS_EVENTS_MAX];
	struct cot_measurements *out;
	struct cot_error *err;
};

static int find_columns(struct reader *r)
{
	uint32_t i;
	int rc = cot_csv_need(r->csv, columns, r->err);

	if (rc)
		return rc;
	for (i = 0; i < cot_csv_columns(r->csv); i++) {
		if (cot_field_find(columns, cot_csv_name(r->csv, i)))
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
	m->has_set = cot_csv_find(r->csv, "set") != COT_CSV_NONE;
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

static uint32_t workload_of(struct cot_measurements *m, const char *name)
{
	uint32_t w;

	for (w = 0; w < m->n_workloads; w++)
		if (!strcmp(m->workloads[w], name))
			return w;
	(void)snprintf(m->workloads[w], COT_NAME_MAX, "%s", name);
	return m->n_workloads++;
}

static int read_row(struct reader *r, uint32_t row)
{
	struct cot_measurements *m = r->out;
	struct line line = {.set = false};
	double count, cycles;
	uint32_t i;
	int rc = cot_csv_fill(r->csv, row, columns, &line, r->err);

	if (rc)
		return rc;
	if (line.power_w <= line.idle_w)
		return cot_csv_fail(r->csv, row, cot_csv_find(r->csv, "power_w"), r->err,
				    "power_w is %.10g, not above the idle power of %.10g; expected "
				    "the mean power while the GPU was busy",
				    line.power_w, line.idle_w);
	m->workload[row] = workload_of(m, line.workload);
	m->train[row] = line.set;
	m->dynamic_w[row] = line.power_w - line.idle_w;
	m->idle_w[row] = line.idle_w;
	cycles = line.seconds * line.clock_mhz * 1e6 * line.sms;
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
			rc = cot_csv_fail(r->csv, row, cot_csv_find(r->csv, "set"), r->err,
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
	for (row = 0; !rc && row < r->out->n; row++)
		rc = read_row(r, row);
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
