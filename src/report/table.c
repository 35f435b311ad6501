#include "report/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/html.h"

#define LINE_WIDTH 80 /* of a narrow table, at most */
#define CUT_MIN	   6  /* of a column that is cut */

struct cot_table {
	unsigned n_columns;
	struct cot_column *columns;
	uint64_t left_out, may_be_cut; /* bits of the columns */
	char **cells;		       /* row by row */
	size_t n_cells, capacity;
	bool incomplete; /* a cell was lost for want of memory */
};

static struct cot_table *allocate(unsigned n_columns)
{
	struct cot_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->columns = calloc(n_columns, sizeof(*t->columns));
	t->n_columns = n_columns;
	if (t->columns)
		return t;
	free(t);
	return NULL;
}

struct cot_table *cot_table_create(const struct cot_column *columns, unsigned n_columns)
{
	struct cot_table *t = allocate(n_columns);

	if (t)
		memcpy(t->columns, columns, n_columns * sizeof(*columns));
	return t;
}

struct cot_table *cot_table_create_left(const char *const *heads, unsigned n_columns)
{
	struct cot_table *t = allocate(n_columns);
	unsigned i;

	for (i = 0; t && i < n_columns; i++)
		t->columns[i] = (struct cot_column){heads[i], COT_ALIGN_LEFT};
	return t;
}

struct cot_table *cot_table_create_narrow(const char *const *heads, unsigned n_columns, bool wide)
{
	struct cot_table *t = cot_table_create_left(heads, n_columns);
	unsigned i;

	for (i = 0; t && i < n_columns; i++) {
		if (heads[i][0] == '+')
			t->left_out |= (uint64_t)!wide << i;
		else if (heads[i][0] == '~')
			t->may_be_cut |= (uint64_t)!wide << i;
		t->columns[i].head += heads[i][0] == '+' || heads[i][0] == '~';
	}
	return t;
}

void cot_table_destroy(struct cot_table *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->n_cells; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t->columns);
	free(t);
}

/* Takes `text`, which may be NULL. */
static void add(struct cot_table *t, char *text)
{
	char **cells = NULL;
	char *p;

	if (text)
		cells = cot_grow(t->cells, t->n_cells, &t->capacity, sizeof(*cells));
	if (!cells) {
		t->incomplete = true;
		free(text);
		return;
	}
	t->cells = cells;
	for (p = text; *p; p++)
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			*p = '?';
	t->cells[t->n_cells++] = text;
}

void cot_table_cell(struct cot_table *t, const char *fmt, ...)
{
	va_list ap;
	char *text = NULL;

	if (!t)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	add(t, text);
}

void cot_table_text(struct cot_table *t, const char *text)
{
	if (t)
		add(t, strdup(text));
}

static bool is_empty(const struct cot_table *t, unsigned column)
{
	size_t i;

	for (i = column; i < t->n_cells; i += t->n_columns)
		if (*t->cells[i])
			return false;
	return true;
}

void cot_table_drop_empty(struct cot_table *t)
{
	unsigned c, n_columns = 0;
	size_t i, n_cells = 0;

	if (!t || t->incomplete || !t->n_cells)
		return;
	for (c = 0; c < t->n_columns; c++)
		if (is_empty(t, c))
			t->columns[c].head = NULL;
	for (i = 0; i < t->n_cells; i++) {
		bool keep = t->columns[i % t->n_columns].head, empty = !*t->cells[i];

		if (empty)
			free(t->cells[i]);
		if (!keep)
			continue;
		t->cells[n_cells] = empty ? strdup("-") : t->cells[i];
		t->incomplete |= !t->cells[n_cells++];
	}
	t->n_cells = n_cells;
	for (c = 0; c < t->n_columns; c++)
		if (t->columns[c].head)
			t->columns[n_columns++] = t->columns[c];
	t->n_columns = n_columns;
}

/* Characters, not bytes: every one counts as one column wide. */
static int width_of(const char *s)
{
	int width = 0;

	for (; *s; s++)
		width += ((unsigned char)*s & 0xc0) != 0x80;
	return width;
}

/* How many bytes its first characters have. */
static int bytes_of(const char *s, int width)
{
	const char *end = s;

	for (; *end; end++)
		if (((unsigned char)*end & 0xc0) != 0x80 && !width--)
			break;
	return (int)(end - s);
}

static void print_row(const struct cot_table *t, FILE *out, const int *widths, char *const *cells,
		      size_t n_cells)
{
	const char *gap = "";
	int owed = 0; /* blanks that only what follows needs */
	unsigned c;

	for (c = 0; c < t->n_columns; c++) {
		const char *text = !cells ? t->columns[c].head : c < n_cells ? cells[c] : "";
		int pad = widths[c] - width_of(text);

		if (t->left_out & 1ull << c)
			continue;
		(void)fprintf(out, "%*s%s", owed, "", gap);
		gap = "  ";
		owed = 0;
		if (pad < 0)
			(void)fprintf(out, "%.*s~", bytes_of(text, widths[c] - 1), text);
		else if (t->columns[c].align == COT_ALIGN_RIGHT)
			(void)fprintf(out, "%*s%s", pad, "", text);
		else
			(void)fputs(text, out);
		if (pad > 0 && t->columns[c].align == COT_ALIGN_LEFT)
			owed = pad;
	}
	(void)fputc('\n', out);
}

/* The widest of the columns that may be cut further; n_columns: there is none. */
static unsigned widest(const struct cot_table *t, const int *widths)
{
	unsigned c, found = t->n_columns;

	for (c = 0; c < t->n_columns; c++)
		if ((t->may_be_cut & 1ull << c) && widths[c] > CUT_MIN &&
		    (found == t->n_columns || widths[c] > widths[found]))
			found = c;
	return found;
}

static void cut(const struct cot_table *t, int *widths)
{
	int sum = -2;
	unsigned c;

	for (c = 0; c < t->n_columns; c++)
		sum += t->left_out & 1ull << c ? 0 : widths[c] + 2;
	for (; sum > LINE_WIDTH; sum--) {
		c = widest(t, widths);
		if (c == t->n_columns)
			return;
		widths[c]--;
	}
}

static int print(const struct cot_table *t, FILE *out)
{
	int *widths;
	size_t i;

	widths = calloc(t->n_columns, sizeof(*widths));
	if (!widths)
		return -ENOMEM;
	for (i = 0; i < t->n_columns; i++)
		widths[i] = width_of(t->columns[i].head);
	for (i = 0; i < t->n_cells; i++) {
		int width = width_of(t->cells[i]);

		if (width > widths[i % t->n_columns])
			widths[i % t->n_columns] = width;
	}
	cut(t, widths);
	print_row(t, out, widths, NULL, 0);
	for (i = 0; i < t->n_cells; i += t->n_columns)
		print_row(t, out, widths, t->cells + i, t->n_cells - i);
	free(widths);
	return 0;
}

int cot_table_print(struct cot_table *t, FILE *out)
{
	int rc = t && !t->incomplete ? print(t, out) : -ENOMEM;

	cot_table_destroy(t);
	return rc;
}

static void html_cell(const struct cot_table *t, FILE *out, const char *tag, unsigned column,
		      const char *text)
{
	bool right = t->columns[column].align == COT_ALIGN_RIGHT;

	(void)fprintf(out, "<%s%s>", tag, right ? " class=\"num\"" : "");
	cot_html_text(out, text);
	(void)fprintf(out, "</%s>", tag);
}

static void print_html(const struct cot_table *t, FILE *out)
{
	unsigned c;
	size_t i;

	(void)fputs("<div class=\"scroll\"><table>\n<thead><tr>", out);
	for (c = 0; c < t->n_columns; c++)
		html_cell(t, out, "th", c, t->columns[c].head);
	(void)fputs("</tr></thead>\n<tbody>\n", out);
	for (i = 0; i < t->n_cells; i++) {
		c = (unsigned)(i % t->n_columns);
		if (!c)
			(void)fputs("<tr>", out);
		html_cell(t, out, "td", c, t->cells[i]);
		if (c + 1 == t->n_columns || i + 1 == t->n_cells)
			(void)fputs("</tr>\n", out);
	}
	(void)fputs("</tbody></table></div>\n", out);
}

int cot_table_html(struct cot_table *t, FILE *out)
{
	int rc = t && !t->incomplete ? 0 : -ENOMEM;

	if (!rc)
		print_html(t, out);
	cot_table_destroy(t);
	return rc;
}
