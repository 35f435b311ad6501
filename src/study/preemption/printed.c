#include "study/preemption/printed.h"

#include <errno.h>
#include <string.h>

#include "study/rows.h"

const char *const cot_size_class_names[COT_N_SIZES] = {"SHORT", "MEDIUM", "LONG"};

static const struct cot_field_word classes[] = {
	{"SHORT", COT_SIZE_SHORT}, {"MEDIUM", COT_SIZE_MEDIUM}, {"LONG", COT_SIZE_LONG}, {0}};

#define PROCESSES COT_WHOLE(1, 64)
#define VALUE	  COT_NUMBER(0, 1e9)

#define ENTRY(member, ...) \
	COT_FIELD(#member, struct cot_printed_entry, member, __VA_ARGS__, .required = true)

static const struct cot_field entry_fields[] = {
	ENTRY(id, COT_TEXT),	    ENTRY(figure, COT_TEXT),	ENTRY(metric, COT_TEXT),
	ENTRY(mechanism, COT_TEXT), ENTRY(group, COT_TEXT),	ENTRY(kind, COT_TEXT),
	ENTRY(source, COT_TEXT),    ENTRY(nproc_lo, PROCESSES), ENTRY(nproc_hi, PROCESSES),
	ENTRY(value_lo, VALUE),	    ENTRY(value_hi, VALUE),	{0},
};

static int read_entry(const struct cot_csv *csv, uint32_t row, void *arg, struct cot_error *err)
{
	struct cot_printed *p = arg;
	struct cot_printed_entry *e = &p->entries[p->n_entries++];
	int rc = cot_csv_fill(csv, row, entry_fields, e, err);

	if (!rc && e->nproc_lo > e->nproc_hi)
		rc = cot_csv_fail(csv, row, cot_csv_find(csv, "nproc_hi"), err,
				  "nproc_hi is below nproc_lo; expected an ascending range");
	return rc;
}

/* A row of Table 1. */
struct table1_row {
	char benchmark[COT_PRINTED_WORD_MAX], kernel[COT_PRINTED_WORD_MAX];
	enum cot_size_class class1, class2;
	double save_us, resource_pct;
};

#define TABLE1(member, ...) \
	COT_FIELD(#member, struct table1_row, member, __VA_ARGS__, .required = true)

static const struct cot_field table1_fields[] = {
	TABLE1(benchmark, COT_TEXT),
	TABLE1(kernel, COT_TEXT),
	TABLE1(class1, COT_WORD(classes)),
	TABLE1(class2, COT_WORD(classes)),
	TABLE1(save_us, VALUE),
	TABLE1(resource_pct, VALUE),
	{0},
};

static int read_kernel(const struct cot_csv *csv, uint32_t row, void *arg, struct cot_error *err)
{
	struct cot_printed *p = arg;
	struct cot_printed_kernel *k = &p->kernels[p->n_kernels++];
	struct table1_row r;
	int rc = cot_csv_fill(csv, row, table1_fields, &r, err);

	if (rc)
		return rc;
	k->save_us = r.save_us;
	k->resource_pct = r.resource_pct;
	strcpy(k->name, r.kernel);
	for (k->benchmark = 0; k->benchmark < p->n_benchmarks; k->benchmark++)
		if (!strcmp(p->benchmarks[k->benchmark].name, r.benchmark))
			return 0;
	if (k->benchmark == COT_PRINTED_MAX_BENCHMARKS)
		return cot_csv_fail(csv, row, 0, err, "too many benchmarks; expected at most %d",
				    COT_PRINTED_MAX_BENCHMARKS);
	strcpy(p->benchmarks[k->benchmark].name, r.benchmark);
	p->benchmarks[k->benchmark].class1 = r.class1;
	p->benchmarks[k->benchmark].class2 = r.class2;
	p->n_benchmarks++;
	return 0;
}

int cot_printed_read_results(const char *name, const void *bytes, size_t size,
			     struct cot_printed *ret, struct cot_error *err)
{
	return cot_rows_read(name, bytes, size, entry_fields, COT_PRINTED_MAX_ENTRIES, read_entry,
			     ret, err);
}

int cot_printed_load(struct cot_printed *ret, struct cot_error *err)
{
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = cot_rows_load("printed/tanasic.csv", entry_fields, COT_PRINTED_MAX_ENTRIES, read_entry,
			   ret, err);
	if (!rc)
		rc = cot_rows_load("printed/tanasic_table1.csv", table1_fields,
				   COT_PRINTED_MAX_KERNELS, read_kernel, ret, err);
	return rc;
}
