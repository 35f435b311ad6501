#include "study/preemption/printed.h"

#include <errno.h>
#include <string.h>

#include "base/embedded.h"
#include "text/csv.h"

const char *const cot_size_class_names[COT_N_CLASSES] = {"SHORT", "MEDIUM", "LONG"};

#define MAX_PROCESSES 64
#define MAX_VALUE     1e9

/* A row of a table; the columns are found by name. `rc` keeps the first failure. */
struct row {
	const struct cot_csv *csv;
	uint32_t index;
	struct cot_error *err;
	int rc;
};

static const char *row_cell(struct row *r, const char *column, uint32_t *ret_column)
{
	*ret_column = cot_csv_find(r->csv, column);
	if (*ret_column == COT_CSV_NONE) {
		if (!r->rc)
			r->rc = cot_csv_fail(r->csv, r->index, 0, r->err,
					     "the table has no column '%s'; expected one", column);
		return NULL;
	}
	return cot_csv_cell(r->csv, r->index, *ret_column);
}

static void row_text(struct row *r, const char *column, char *ret, size_t size)
{
	uint32_t at;
	const char *cell = row_cell(r, column, &at);

	if (!cell || r->rc)
		return;
	if (!*cell || strlen(cell) >= size)
		r->rc = cot_csv_fail(r->csv, r->index, at, r->err,
				     "%s is empty or too long; expected 1 to %zu bytes", column,
				     size - 1);
	else
		strcpy(ret, cell);
}

static void row_number(struct row *r, const char *column, double *ret)
{
	uint32_t at;

	if (row_cell(r, column, &at) && !r->rc)
		r->rc = cot_csv_double(r->csv, r->index, at, 0.0, MAX_VALUE, ret, r->err);
}

static void row_processes(struct row *r, const char *column, unsigned *ret)
{
	uint32_t at, value = 0;

	if (row_cell(r, column, &at) && !r->rc)
		r->rc = cot_csv_u32(r->csv, r->index, at, 1, MAX_PROCESSES, &value, r->err);
	*ret = value;
}

static void row_class(struct row *r, const char *column, enum cot_size_class *ret)
{
	uint32_t at;
	const char *cell = row_cell(r, column, &at);
	unsigned k;

	if (!cell || r->rc)
		return;
	for (k = 0; k < COT_N_CLASSES; k++) {
		if (!strcmp(cell, cot_size_class_names[k])) {
			*ret = (enum cot_size_class)k;
			return;
		}
	}
	r->rc = cot_csv_fail(r->csv, r->index, at, r->err,
			     "%s is '%.20s'; expected SHORT, MEDIUM or LONG", column, cell);
}

static void read_entry(struct row *r, struct cot_printed *p)
{
	struct cot_printed_entry *e = &p->entries[p->n_entries];

	row_text(r, "id", e->id, sizeof(e->id));
	row_text(r, "figure", e->figure, sizeof(e->figure));
	row_text(r, "metric", e->metric, sizeof(e->metric));
	row_text(r, "mechanism", e->mechanism, sizeof(e->mechanism));
	row_text(r, "group", e->group, sizeof(e->group));
	row_text(r, "kind", e->kind, sizeof(e->kind));
	row_text(r, "source", e->source, sizeof(e->source));
	row_processes(r, "nproc_lo", &e->nproc_lo);
	row_processes(r, "nproc_hi", &e->nproc_hi);
	row_number(r, "value_lo", &e->value_lo);
	row_number(r, "value_hi", &e->value_hi);
	if (!r->rc && e->nproc_lo > e->nproc_hi)
		r->rc = cot_csv_fail(r->csv, r->index, cot_csv_find(r->csv, "nproc_hi"), r->err,
				     "nproc_hi is below nproc_lo; expected an ascending range");
	p->n_entries++;
}

static void read_kernel(struct row *r, struct cot_printed *p)
{
	struct cot_printed_kernel *k = &p->kernels[p->n_kernels];
	struct cot_printed_benchmark b = {.class1 = COT_CLASS_SHORT};

	row_text(r, "benchmark", b.name, sizeof(b.name));
	row_class(r, "class1", &b.class1);
	row_class(r, "class2", &b.class2);
	row_text(r, "kernel", k->name, sizeof(k->name));
	row_number(r, "save_us", &k->save_us);
	row_number(r, "resource_pct", &k->resource_pct);
	for (k->benchmark = 0; k->benchmark < p->n_benchmarks; k->benchmark++)
		if (!strcmp(p->benchmarks[k->benchmark].name, b.name))
			break;
	if (k->benchmark == COT_PRINTED_MAX_BENCHMARKS)
		r->rc = cot_csv_fail(r->csv, r->index, 0, r->err,
				     "too many benchmarks; expected at most %d",
				     COT_PRINTED_MAX_BENCHMARKS);
	else if (k->benchmark == p->n_benchmarks)
		p->benchmarks[p->n_benchmarks++] = b;
	p->n_kernels++;
}

/* Reads all rows; *used of `max` places are taken. */
static int read_rows(const char *name, const void *bytes, size_t size,
		     void (*read)(struct row *r, struct cot_printed *p), unsigned used,
		     unsigned max, struct cot_printed *ret, struct cot_error *err)
{
	struct row r = {.err = err};
	struct cot_csv *csv;
	int rc;

	rc = cot_csv_parse(name, bytes, size, &csv, err);
	if (rc)
		return rc;
	r.csv = csv;
	for (; r.index < cot_csv_rows(csv) && !r.rc; r.index++) {
		if (used + r.index == max)
			r.rc = cot_csv_fail(csv, r.index, 0, err,
					    "too many lines; expected at most %u", max);
		else
			read(&r, ret);
	}
	cot_csv_destroy(csv);
	return r.rc;
}

int cot_printed_read_results(const char *name, const void *bytes, size_t size,
			     struct cot_printed *ret, struct cot_error *err)
{
	return read_rows(name, bytes, size, read_entry, ret->n_entries, COT_PRINTED_MAX_ENTRIES,
			 ret, err);
}

int cot_printed_read_table1(const char *name, const void *bytes, size_t size,
			    struct cot_printed *ret, struct cot_error *err)
{
	return read_rows(name, bytes, size, read_kernel, ret->n_kernels, COT_PRINTED_MAX_KERNELS,
			 ret, err);
}

static int load_one(const char *name,
		    int (*read)(const char *, const void *, size_t, struct cot_printed *,
				struct cot_error *),
		    struct cot_printed *ret, struct cot_error *err)
{
	const struct cot_embedded *file = cot_embedded_find(name);

	if (!file)
		return cot_error_set(err, -ENOENT, "the program was built without its table %s",
				     name);
	return read(name, file->bytes, file->size, ret, err);
}

int cot_printed_load(struct cot_printed *ret, struct cot_error *err)
{
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = load_one("printed/tanasic.csv", cot_printed_read_results, ret, err);
	if (!rc)
		rc = load_one("printed/tanasic_table1.csv", cot_printed_read_table1, ret, err);
	return rc;
}
