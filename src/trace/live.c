#include "trace/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "text/json.h"
#include "text/text.h"

#define US_MAX	  1e12
#define PER_S_MAX 1e12

struct reader {
	const char *name;
	struct cot_live *out;
	size_t room;   /* of rows */
	unsigned cell; /* counted over all runs; 0: none yet */
	struct cot_error *err;
};

static int fail(struct reader *r, const char *what, const char *expected)
{
	return cot_error_set(r->err, -EINVAL, "%s: cell:%u: %s; expected %s", r->name, r->cell,
			     what, expected);
}

/* ---- rows of members ---- */

struct cell {
	char status[COT_LIVE_TEXT_MAX];
	struct cot_live_row row; /* what its rows have in common */
};

static const struct cot_field_word schemas[] = {{"cotenant-live/1", 0}, {0}};
static const struct cot_field root_fields[] = {
	COT_FIELD_CHECKED("schema", COT_WORD(schemas), .required = true),
	{0},
};

#define RUN(key) COT_FIELD(#key, struct cot_live_run, key, COT_TEXT)
static const struct cot_field machine_fields[] = {
	COT_FIELD("gpu", struct cot_live_run, gpu, COT_TEXT, .required = true),
	RUN(date),
	{0},
};

static const struct cot_field cell_fields[] = {
	COT_FIELD("group", struct cell, row.group, COT_TEXT, .required = true),
	COT_FIELD("start", struct cell, row.start, COT_TEXT, .required = true),
	COT_FIELD("status", struct cell, status, COT_TEXT),
	{0},
};

#define ROW(key, member, ...) COT_FIELD(key, struct cot_live_row, member, __VA_ARGS__)
static const struct cot_field window_fields[] = {
	ROW("label", window, COT_TEXT, .required = true),
	{0},
};
static const struct cot_field program_fields[] = {
	ROW("p50_us", p50_us, COT_NUMBER(0, US_MAX)),
	ROW("p99_us", p99_us, COT_NUMBER(0, US_MAX)),
	ROW("rate", per_s, COT_NUMBER(0, PER_S_MAX)),
	{0},
};
static const struct cot_field noted_fields[] = {
	ROW("on_gpu_p50_us", on_gpu_us, COT_NUMBER(0, US_MAX)),
	ROW("before_and_after_p50_us", off_gpu_us, COT_NUMBER(0, US_MAX)),
	{0},
};

static int fill(struct reader *r, const json_t *object, const struct cot_field *fields, void *out)
{
	char name[COT_PATH_MAX];

	(void)snprintf(name, sizeof(name), "%.4000s: cell", r->name);
	return cot_json_fill(name, r->cell, object, fields, out, r->err);
}

/* A member that is null was not measured: no request was answered, say. */
static int fill_measured(struct reader *r, const json_t *object, const struct cot_field *fields,
			 void *out)
{
	json_t *measured = json_object(), *value;
	const struct cot_field *f;
	int rc;

	for (f = fields; f->key; f++) {
		value = json_object_get(object, f->key);
		if (value && !json_is_null(value))
			(void)json_object_set(measured, f->key, value);
	}
	rc = measured ? fill(r, measured, fields, out)
		      : cot_error_set(r->err, -ENOMEM, "%s: out of memory", r->name);
	json_decref(measured);
	return rc;
}

/* ---- cells ---- */

static int add_row(struct reader *r, const struct cot_live_row *row)
{
	struct cot_live *out = r->out;
	struct cot_live_row *rows;

	if (out->n_rows == COT_LIVE_ROWS_MAX)
		return fail(r, "too many windows of programs", "at most 16384");
	rows = cot_grow(out->rows, out->n_rows, &r->room, sizeof(*rows));
	if (!rows)
		return cot_error_set(r->err, -ENOMEM, "%s: out of memory", r->name);
	out->rows = rows;
	out->rows[out->n_rows++] = *row;
	return 0;
}

/* L1 is the first of the cell's latency programs, B2 the second of its batch programs. */
static const char *program_of(const json_t *cell, const char *app, bool *ret_latency)
{
	char *end;
	unsigned long i;

	if ((*app != 'L' && *app != 'B') || app[1] < '1' || app[1] > '9')
		return NULL;
	i = strtoul(app + 1, &end, 10);
	*ret_latency = *app == 'L';
	return *end ? NULL
		    : json_string_value(json_array_get(
			      json_object_get(cell, *ret_latency ? "latency" : "batch"), i - 1));
}

static int read_program(struct reader *r, const json_t *cell, const char *app,
			const json_t *figures, struct cot_live_row row)
{
	const char *program = program_of(cell, app, &row.latency);
	const json_t *noted = json_object_get(figures, "parts");
	int rc;

	if (!program || !*program || strlen(program) >= sizeof(row.program) ||
	    strlen(app) >= sizeof(row.app) || !json_is_object(figures))
		return fail(r, "a program of a window is not one of its cell",
			    "L1, L2, ... of 'latency' and B1, B2, ... of 'batch'");
	(void)snprintf(row.program, sizeof(row.program), "%s", program);
	(void)snprintf(row.app, sizeof(row.app), "%s", app);
	rc = fill_measured(r, figures, program_fields, &row);
	if (!rc && json_is_object(noted))
		rc = fill_measured(r, noted, noted_fields, &row);
	return rc ? rc : add_row(r, &row);
}

static int read_window(struct reader *r, const json_t *cell, const json_t *window,
		       struct cot_live_row row)
{
	json_t *programs = json_object_get(window, "programs"), *figures;
	const char *app;
	int rc;

	if (!json_is_object(programs))
		return fail(r, "a window has no 'programs'", "an object of them");
	rc = fill(r, window, window_fields, &row);
	json_object_foreach (programs, app, figures) {
		if (rc)
			break;
		rc = read_program(r, cell, app, figures, row);
	}
	return rc;
}

/* Cells without windows measure something else; those that failed say nothing. */
static int read_cell(struct reader *r, const json_t *object)
{
	const json_t *windows = json_object_get(object, "windows");
	struct cell cell = {.row.run = r->out->n_runs};
	size_t i;
	int rc;

	r->cell++;
	if (!json_is_object(object))
		return fail(r, "a cell is no object", "one");
	if (!json_is_array(windows))
		return 0;
	rc = fill(r, object, cell_fields, &cell);
	if (cell.status[0] && strcmp(cell.status, "ok") != 0)
		return rc;
	for (i = 0; !rc && i < json_array_size(windows); i++)
		rc = read_window(r, object, json_array_get(windows, i), cell.row);
	return rc;
}

/* ---- runs ---- */

static int read_run(struct reader *r, const json_t *root)
{
	const json_t *machine = json_object_get(root, "machine");
	const json_t *cells = json_object_get(root, "cells");
	size_t i;
	int rc;

	if (r->out->n_runs == COT_LIVE_RUNS_MAX)
		return fail(r, "too many runs", "at most 16");
	if (!json_is_object(root) || !json_is_object(machine) || !json_is_array(cells))
		return fail(r, "this is no result of bench/live",
			    "its result.json, an object with 'machine' and 'cells'");
	rc = fill(r, root, root_fields, NULL);
	if (!rc)
		rc = fill(r, machine, machine_fields, &r->out->runs[r->out->n_runs]);
	for (i = 0; !rc && i < json_array_size(cells); i++)
		rc = read_cell(r, json_array_get(cells, i));
	r->out->n_runs++;
	return rc;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static int parse_all(struct reader *r, const char *bytes, size_t size)
{
	json_error_t error;
	json_t *root;
	int rc = 0;

	while (!rc) {
		for (; size && is_space(*bytes); bytes++)
			size--;
		if (!size)
			break;
		root = json_loadb(bytes, size, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES,
				  &error);
		if (!root && json_error_code(&error) == json_error_out_of_memory)
			return cot_error_set(r->err, -ENOMEM, "%s: out of memory", r->name);
		if (!root)
			return fail(r, "this is no JSON", "a result of bench/live, unpacked");
		rc = read_run(r, root);
		json_decref(root);
		bytes += error.position;
		size -= (size_t)error.position;
	}
	return rc || r->out->n_runs ? rc : fail(r, "there is nothing", "a result of bench/live");
}

int cot_live_parse(const char *name, const char *bytes, size_t size, struct cot_live *ret,
		   struct cot_error *err)
{
	struct reader r = {.name = name, .out = ret, .err = err};
	int rc;

	*ret = (struct cot_live){0};
	rc = cot_text_check(name, bytes, size, err);
	if (!rc)
		rc = parse_all(&r, bytes, size);
	if (rc)
		cot_live_finish(ret);
	return rc;
}

void cot_live_finish(struct cot_live *l)
{
	free(l->rows);
	*l = (struct cot_live){0};
}
