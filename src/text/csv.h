/*
 * A strict reader of small tables: the first line names the columns, every other line has as many
 * cells, cells are separated by commas. Lines that begin with '#' and empty lines are skipped. No
 * quotes. A table belongs to one thread at a time; it is not changed once read.
 */
#ifndef COT_TEXT_CSV_H
#define COT_TEXT_CSV_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "text/field.h"

#define COT_CSV_COLUMNS_MAX 64
#define COT_CSV_ROWS_MAX    65536
#define COT_CSV_NONE	    UINT32_MAX

struct cot_csv;

int cot_csv_parse(const char *name, const void *bytes, size_t size, struct cot_csv **ret_csv,
		  struct cot_error *err);
void cot_csv_destroy(struct cot_csv *csv);

uint32_t cot_csv_rows(const struct cot_csv *csv); /* without the names */
uint32_t cot_csv_columns(const struct cot_csv *csv);
const char *cot_csv_name(const struct cot_csv *csv, uint32_t column);
uint32_t cot_csv_find(const struct cot_csv *csv, const char *column); /* COT_CSV_NONE */
const char *cot_csv_cell(const struct cot_csv *csv, uint32_t row, uint32_t column);

/* Sets a sentence that begins with the place of the cell and returns -EINVAL. */
int cot_csv_fail(const struct cot_csv *csv, uint32_t row, uint32_t column, struct cot_error *err,
		 const char *fmt, ...) COT_PRINTF(5, 6);

/* -EINVAL with a sentence when a required column is missing. */
int cot_csv_need(const struct cot_csv *csv, const struct cot_field *fields, struct cot_error *err);
/* Puts the cells of a row whose columns have rows in `fields` into *out; -EINVAL with a sentence.
 */
int cot_csv_fill(const struct cot_csv *csv, uint32_t row, const struct cot_field *fields, void *out,
		 struct cot_error *err);
/* The cell as a number within limits; -EINVAL with a sentence. */
int cot_csv_double(const struct cot_csv *csv, uint32_t row, uint32_t column, double min, double max,
		   double *ret_value, struct cot_error *err);

#endif
