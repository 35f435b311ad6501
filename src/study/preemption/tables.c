#include "study/preemption/tables.h"

#include <string.h>

#include "study/preemption/names.h"

static void measured_cells(struct cot_table *t, const struct cot_preemption_pair *p)
{
	char buf[COT_PREEMPTION_VALUE_MAX];

	if (!p->has_measured) {
		cot_table_text(t, "-");
		cot_table_text(t, "");
		return;
	}
	cot_table_text(t, cot_preemption_value(buf, p->entry->metric, p->measured));
	cot_table_cell(t, "%+.0f %%%s", p->deviation_pct, p->agrees ? "" : " !");
}

static void pair_row(struct cot_table *t, const struct cot_preemption *r, unsigned i, bool first)
{
	const struct cot_preemption_pair *p = &r->comparison[0].pairs[i];
	char buf[COT_PREEMPTION_VALUE_MAX];
	unsigned m;

	cot_table_text(t, first ? p->entry->figure : "");
	cot_table_text(t, cot_preemption_mechanism_name(p->entry->mechanism));
	cot_table_text(t, p->entry->group);
	cot_table_cell(t, "%u", p->nproc);
	cot_table_text(t, cot_preemption_value(buf, p->entry->metric, p->printed));
	for (m = 0; m < COT_PREEMPTION_MAIN; m++)
		measured_cells(t, &r->comparison[m].pairs[i]);
}

static const struct cot_column pair_columns[] = {
	{"figure", COT_ALIGN_LEFT},	{"mechanism", COT_ALIGN_LEFT},
	{"group", COT_ALIGN_LEFT},	{"processes", COT_ALIGN_RIGHT},
	{"paper", COT_ALIGN_RIGHT},	{"consistent", COT_ALIGN_RIGHT},
	{"deviation", COT_ALIGN_RIGHT}, {"as printed", COT_ALIGN_RIGHT},
	{"deviation", COT_ALIGN_RIGHT},
};

/* The rows of the first screen: averages with most processes. */
static bool is_headline(const struct cot_preemption_pair *p)
{
	return p->nproc == 8 &&
	       (!strcmp(p->entry->group, "average") || !strcmp(p->entry->group, "workloads") ||
		!strcmp(p->entry->group, "improved"));
}

struct cot_table *cot_preemption_table_pairs(const struct cot_preemption *r, bool headlines)
{
	struct cot_table *t = cot_table_create(pair_columns, COT_ARRAY_LEN(pair_columns));
	const char *figure = "";
	unsigned i;

	for (i = 0; i < r->comparison[0].n_pairs; i++) {
		const struct cot_preemption_pair *p = &r->comparison[0].pairs[i];

		if (headlines && !is_headline(p))
			continue;
		pair_row(t, r, i, strcmp(figure, p->entry->figure) != 0);
		figure = p->entry->figure;
	}
	return t;
}

struct cot_table *cot_preemption_table_shapes(const struct cot_preemption *r, bool all_values)
{
	static const struct cot_column columns[] = {{"claim of the paper", COT_ALIGN_LEFT},
						    {"consistent", COT_ALIGN_LEFT},
						    {"values", COT_ALIGN_LEFT},
						    {"as printed", COT_ALIGN_LEFT},
						    {"values", COT_ALIGN_LEFT}};
	struct cot_table *t =
		cot_table_create(columns, (unsigned)COT_ARRAY_LEN(columns) - !all_values);
	unsigned i, m;

	for (i = 0; i < r->comparison[0].n_shapes; i++) {
		cot_table_text(t, r->comparison[0].shapes[i].name);
		for (m = 0; m < COT_PREEMPTION_MAIN; m++) {
			const struct cot_preemption_shape *s = &r->comparison[m].shapes[i];

			cot_table_text(t, !s->applies ? "-" : s->holds ? "yes" : "NO");
			if (m == 0 || all_values)
				cot_table_text(t, s->applies ? s->detail : "");
		}
	}
	return t;
}

/* Heads of columns outlive their table. */
static const char *const size_heads[COT_WORKLOAD_MAX + 1] = {
	"0 proc",  "1 proc",  "2 proc",	 "3 proc",  "4 proc",  "5 proc",
	"6 proc",  "7 proc",  "8 proc",	 "9 proc",  "10 proc", "11 proc",
	"12 proc", "13 proc", "14 proc", "15 proc", "16 proc",
};

struct cot_table *cot_preemption_table_points(const struct cot_preemption *r, unsigned index)
{
	const struct cot_preemption_sample *s = &r->samples[index];
	const struct cot_preemption_points *points = &r->points[index];
	struct cot_column columns[3 + COT_PREEMPTION_MAX_SIZES] = {{"figure", COT_ALIGN_LEFT},
								   {"mechanism", COT_ALIGN_LEFT},
								   {"group", COT_ALIGN_LEFT}};
	char buf[COT_PREEMPTION_VALUE_MAX];
	struct cot_table *t;
	unsigned i, k;

	for (k = 0; k < s->n_sizes; k++) {
		columns[3 + k] = (struct cot_column){size_heads[s->sizes[k]], COT_ALIGN_RIGHT};
	}
	t = cot_table_create(columns, 3 + s->n_sizes);
	for (i = 0; i < points->n; i++) {
		const struct cot_preemption_point *p = &points->items[i];

		if (p->nproc != s->sizes[s->n_sizes - 1])
			continue;
		cot_table_text(t, p->figure);
		cot_table_text(t, cot_preemption_mechanism_name(p->mechanism));
		cot_table_text(t, p->group);
		for (k = 0; k < s->n_sizes; k++) {
			const struct cot_preemption_point *q = cot_preemption_points_find(
				points, p->figure, p->mechanism, p->group, s->sizes[k]);

			cot_table_text(t, q ? cot_preemption_value(buf, q->metric, q->value) : "-");
		}
	}
	return t;
}

struct cot_table *cot_preemption_table_jitter(const struct cot_preemption *r)
{
	struct cot_column columns[3 + COT_PREEMPTION_MAX_SAMPLES] = {{"figure", COT_ALIGN_LEFT},
								     {"mechanism", COT_ALIGN_LEFT},
								     {"group", COT_ALIGN_LEFT}};
	const struct cot_preemption_points *base = &r->points[COT_PREEMPTION_MAIN];
	char buf[COT_PREEMPTION_VALUE_MAX];
	struct cot_table *t;
	unsigned i, k;

	for (k = COT_PREEMPTION_MAIN; k < r->n_samples; k++)
		columns[3 + k - COT_PREEMPTION_MAIN] =
			(struct cot_column){r->samples[k].name, COT_ALIGN_RIGHT};
	t = cot_table_create(columns, 3 + r->n_samples - COT_PREEMPTION_MAIN);
	for (i = 0; i < base->n; i++) {
		const struct cot_preemption_point *p = &base->items[i];

		if (strcmp(p->group, "average"))
			continue;
		cot_table_text(t, p->figure);
		cot_table_text(t, cot_preemption_mechanism_name(p->mechanism));
		cot_table_text(t, p->group);
		for (k = COT_PREEMPTION_MAIN; k < r->n_samples; k++) {
			const struct cot_preemption_point *q = cot_preemption_points_find(
				&r->points[k], p->figure, p->mechanism, p->group, p->nproc);

			cot_table_text(t, q ? cot_preemption_value(buf, q->metric, q->value) : "-");
		}
	}
	return t;
}

struct cot_table *cot_preemption_table_kernels(const struct cot_preemption *r)
{
	static const struct cot_column columns[] = {
		{"benchmark", COT_ALIGN_LEFT},	 {"kernel", COT_ALIGN_LEFT},
		{"save us", COT_ALIGN_RIGHT},	 {"paper", COT_ALIGN_RIGHT},
		{"resource %", COT_ALIGN_RIGHT}, {"paper", COT_ALIGN_RIGHT},
		{"block us", COT_ALIGN_RIGHT},	 {"as printed", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	unsigned i;

	for (i = 0; i < r->printed.n_kernels; i++) {
		const struct cot_preemption_table1_row *row = &r->table1[i];

		cot_table_text(t, row->benchmark);
		cot_table_text(t, row->kernel);
		cot_table_cell(t, "%.2f", row->save_us);
		cot_table_cell(t, "%.2f", row->save_us_printed);
		cot_table_cell(t, "%.2f", row->resource_pct);
		cot_table_cell(t, "%.2f", row->resource_pct_printed);
		cot_table_cell(t, "%.2f", row->block_us[0]);
		cot_table_cell(t, "%.2f", row->block_us[1]);
	}
	return t;
}
