#include "text/csv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "text/number.h"
#include "text/text.h"

struct cell {
	uint32_t text; /* offset */
	uint32_t line, col;
};

struct cot_csv {
	char *name;
	char *text;	    /* a copy of the file in which cells end with NUL */
	struct cell *cells; /* row by row; the first row holds the names */
	uint32_t n_cells, n_columns;
	size_t cap_cells;
};

static int add_cell(struct cot_csv *csv, uint32_t text, uint32_t line, uint32_t col,
		    struct cot_error *err)
{
	struct cell *cells = cot_grow(csv->cells, csv->n_cells, &csv->cap_cells, sizeof(*cells));

	if (!cells)
		return cot_error_set(err, -ENOMEM, "%s: out of memory", csv->name);
	csv->cells = cells;
	csv->cells[csv->n_cells++] = (struct cell){text, line, col};
	return 0;
}

/* Splits the line that begins at `at` and ends with NUL. */
static int split_line(struct cot_csv *csv, uint32_t at, uint32_t line, struct cot_error *err)
{
	uint32_t start = at, n = 0;
	char *comma;
	int rc;

	for (;;) {
		comma = strchr(csv->text + at, ',');
		if (comma)
			*comma = '\0';
		if (strchr(csv->text + at, '"'))
			return cot_error_set(err, -EINVAL,
					     "%s:%u:%u: a quote in a cell; expected cells without "
					     "quotes",
					     csv->name, line, at - start + 1);
		if (++n > COT_CSV_COLUMNS_MAX)
			return cot_error_set(err, -EINVAL,
					     "%s:%u:%u: too many cells; expected at most %u",
					     csv->name, line, at - start + 1, COT_CSV_COLUMNS_MAX);
		rc = add_cell(csv, at, line, at - start + 1, err);
		if (rc || !comma)
			break;
		at = (uint32_t)(comma - csv->text) + 1;
	}
	if (rc)
		return rc;
	if (!csv->n_columns)
		csv->n_columns = n;
	if (n != csv->n_columns)
		return cot_error_set(err, -EINVAL, "%s:%u:1: the line has %u cells; expected %u",
				     csv->name, line, n, csv->n_columns);
	if (csv->n_cells / csv->n_columns > COT_CSV_ROWS_MAX)
		return cot_error_set(err, -EINVAL, "%s:%u:1: too many lines; expected at most %u",
				     csv->name, line, COT_CSV_ROWS_MAX);
	return 0;
}

static int split(struct cot_csv *csv, size_t at, size_t size, struct cot_error *err)
{
	uint32_t line = 0;
	size_t end;
	int rc;

	for (; at < size; at = end + 1) {
		line++;
		end = at + strcspn(csv->text + at, "\n");
		csv->text[end] = '\0';
		if (end > at && csv->text[end - 1] == '\r')
			csv->text[end - 1] = '\0';
		if (csv->text[at] == '#' || !csv->text[at])
			continue;
		rc = split_line(csv, (uint32_t)at, line, err);
		if (rc)
			return rc;
	}
	if (!csv->n_columns)
		return cot_error_set(err, -EINVAL,
				     "%s:1:1: the file is empty; expected a line of column names",
				     csv->name);
	return 0;
}

static int check_names(const struct cot_csv *csv, struct cot_error *err)
{
	const char *name;
	uint32_t i;

	for (i = 0; i < csv->n_columns; i++) {
		name = cot_csv_name(csv, i);
		if (!*name || cot_csv_find(csv, name) != i)
			return cot_error_set(
				err, -EINVAL,
				"%s:%u:%u: the column name '%.40s' is %s; expected a name "
				"of its own",
				csv->name, csv->cells[i].line, csv->cells[i].col, name,
				*name ? "there twice" : "empty");
	}
	return 0;
}

int cot_csv_parse(const char *name, const void *bytes, size_t size, struct cot_csv **ret_csv,
		  struct cot_error *err)
{
	struct cot_csv *csv;
	int rc;

	rc = cot_text_check(name, bytes, size, err);
	if (rc)
		return rc;
	csv = calloc(1, sizeof(*csv));
	if (csv) {
		csv->name = strdup(name);
		csv->text = malloc(size + 1);
	}
	if (!csv || !csv->name || !csv->text) {
		cot_csv_destroy(csv);
		return cot_error_set(err, -ENOMEM, "%s: out of memory", name);
	}
	if (size)
		memcpy(csv->text, bytes, size);
	csv->text[size] = '\0';
	rc = split(csv, cot_text_bom(csv->text, size), size, err);
	if (!rc)
		rc = check_names(csv, err);
	if (rc) {
		cot_csv_destroy(csv);
		return rc;
	}
	*ret_csv = csv;
	return 0;
}

void cot_csv_destroy(struct cot_csv *csv)
{
	if (!csv)
		return;
	free(csv->cells);
	free(csv->text);
	free(csv->name);
	free(csv);
}

uint32_t cot_csv_rows(const struct cot_csv *csv)
{
	return csv->n_cells / csv->n_columns - 1;
}

uint32_t cot_csv_columns(const struct cot_csv *csv)
{
	return csv->n_columns;
}

const char *cot_csv_name(const struct cot_csv *csv, uint32_t column)
{
	return csv->text + csv->cells[column].text;
}

uint32_t cot_csv_find(const struct cot_csv *csv, const char *column)
{
	uint32_t i;

	for (i = 0; i < csv->n_columns; i++)
		if (!strcmp(cot_csv_name(csv, i), column))
			return i;
	return COT_CSV_NONE;
}

static const struct cell *cell_at(const struct cot_csv *csv, uint32_t row, uint32_t column)
{
	return &csv->cells[(row + 1) * csv->n_columns + column];
}

const char *cot_csv_cell(const struct cot_csv *csv, uint32_t row, uint32_t column)
{
	return csv->text + cell_at(csv, row, column)->text;
}

int cot_csv_fail(const struct cot_csv *csv, uint32_t row, uint32_t column, struct cot_error *err,
		 const char *fmt, ...)
{
	const struct cell *at = cell_at(csv, row, column);
	char what[COT_ERROR_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return cot_error_set(err, -EINVAL, "%s:%u:%u: %s", csv->name, at->line, at->col, what);
}

static int fail_expected(const struct cot_csv *csv, uint32_t row, uint32_t column,
			 const char *expected, struct cot_error *err)
{
	const char *text = cot_csv_cell(csv, row, column), *mark = *text ? "'" : "";
	char quote[COT_QUOTE_MAX];

	return cot_csv_fail(csv, row, column, err, "%s is %s%s%s; expected %s",
			    cot_csv_name(csv, column), mark,
			    *text ? cot_text_quote(text, quote) : "empty", mark, expected);
}

int cot_csv_need(const struct cot_csv *csv, const struct cot_field *fields, struct cot_error *err)
{
	const struct cot_field *f;

	for (f = fields; f->key; f++)
		if (f->required && cot_csv_find(csv, f->key) == COT_CSV_NONE)
			return cot_error_set(err, -EINVAL,
					     "%s:1:1: the table has no column '%s'; expected one",
					     csv->name, f->key);
	return 0;
}

int cot_csv_fill(const struct cot_csv *csv, uint32_t row, const struct cot_field *fields, void *out,
		 struct cot_error *err)
{
	char expected[COT_FIELD_EXPECTED_MAX];
	const struct cot_field *f;
	uint32_t i;

	for (i = 0; i < csv->n_columns; i++) {
		f = cot_field_find(fields, cot_csv_name(csv, i));
		if (f && f->blank && !*cot_csv_cell(csv, row, i))
			continue;
		if (f && !cot_field_read(f, cot_csv_cell(csv, row, i), 0, out))
			return fail_expected(csv, row, i, cot_field_expected(f, expected), err);
	}
	return 0;
}

int cot_csv_double(const struct cot_csv *csv, uint32_t row, uint32_t column, double min, double max,
		   double *ret_value, struct cot_error *err)
{
	char expected[COT_NUMBER_EXPECTED_MAX];
	double v;

	if (!cot_number_double(cot_csv_cell(csv, row, column), &v) || v < min || v > max)
		return fail_expected(csv, row, column,
				     cot_number_expected(false, min, max, expected), err);
	*ret_value = v;
	return 0;
}
