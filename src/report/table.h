/*
 * Tables with aligned columns, for terminals and for HTML pages. Cells are given row by row; the
 * texts are copied. Control characters in cells are shown as '?', so that a name from a scenario
 * cannot drive the terminal. Every function takes NULL, the table that could not be made, and then
 * printing fails. Not thread-safe.
 */
#ifndef COT_REPORT_TABLE_H
#define COT_REPORT_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/compiler.h"

enum cot_align { COT_ALIGN_LEFT, COT_ALIGN_RIGHT };

struct cot_column {
	const char *head;
	enum cot_align align;
};

struct cot_table;

/* `columns` is copied, its strings are not. NULL when out of memory. */
struct cot_table *cot_table_create(const struct cot_column *columns, unsigned n_columns);
/* The same with all columns to the left. */
struct cot_table *cot_table_create_left(const char *const *heads, unsigned n_columns);
/* For a terminal of 80 columns: columns whose heads begin with '+' are left out, and cells of those
 * that begin with '~' are cut, to no less than 6 characters, until the table fits. `wide`: neither.
 */
struct cot_table *cot_table_create_narrow(const char *const *heads, unsigned n_columns, bool wide);
void cot_table_destroy(struct cot_table *t);

/* Adds the next cell; after the last column comes the next row. A lack of memory is reported by
 * the printing functions. */
void cot_table_cell(struct cot_table *t, const char *fmt, ...) COT_PRINTF(2, 3);
void cot_table_text(struct cot_table *t, const char *text);

/* Leaves out the columns that are empty in every row. In the others an empty cell is shown as "-".
 */
void cot_table_drop_empty(struct cot_table *t);

/* Prints the table and destroys it. 0 or -ENOMEM; write errors are the stream's affair. */
int cot_table_print(struct cot_table *t, FILE *out);
int cot_table_html(struct cot_table *t, FILE *out);

#endif
