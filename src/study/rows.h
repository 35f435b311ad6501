/*
 * Tables of what papers print (data/printed), which are part of the program, row by row.
 */
#ifndef COT_STUDY_ROWS_H
#define COT_STUDY_ROWS_H

#include "base/error.h"
#include "text/csv.h"

/* Reads one row; it has the columns that `fields` requires. -EINVAL with a sentence. */
typedef int cot_row_reader(const struct cot_csv *csv, uint32_t row, void *arg,
			   struct cot_error *err);

/* Gives every row to read(), until one fails; more than `max` are an error. `name` is for messages.
 * 0, -EINVAL or -ENOMEM with a sentence. */
int cot_rows_read(const char *name, const void *bytes, size_t size, const struct cot_field *fields,
		  uint32_t max, cot_row_reader *read, void *arg, struct cot_error *err);
/* The same for a table that is built in. */
int cot_rows_load(const char *name, const struct cot_field *fields, uint32_t max,
		  cot_row_reader *read, void *arg, struct cot_error *err);

#endif
