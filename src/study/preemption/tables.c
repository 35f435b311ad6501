#include "study/preemption/tables.h"

#include <math.h>
#include <string.h>

#include "study/preemption/names.h"

static double off_by(const struct cot_preemption_pair *p, double measured)
{
	return 100.0 * (measured / p->printed - 1.0);
}

static void value_cell(struct cot_table *t, const struct cot_preemption_pair *p, double value)
{
	char buf[COT_PREEMPTION_VALUE_MAX];

	cot_table_text(t, isnan(value) ? "" : cot_preemption_value(buf, p->entry->metric, value));
}

/* The compared value, the same as a ratio of means, and the one under `dss`. */
static void measured_cells(struct cot_table *t, const struct cot_preemption_pair *p)
{
	double of_means = p->of_means > 0.0 ? p->of_means : NAN;

	if (!p->has_measured) {
		cot_table_text(t, "-");
		cot_table_text(t, "");
	} else {
		value_cell(t, p, p->measured);
		cot_table_cell(t, "%+.0f %%%s", p->deviation_pct, p->agrees ? "" : " !");
	}
	value_cell(t, p, of_means);
	if (isnan(of_means))
		cot_table_text(t, "");
	else
		cot_table_cell(t, "%+.0f %%", off_by(p, of_means));
	value_cell(t, p, p->lent);
}

static void pair_row(struct cot_table *t, const struct cot_preemption *r, unsigned i, bool first)
{
	const struct cot_preemption_pair *p = &r->comparison[0].pairs[i];
	const struct cot_preemption_pair *printed = &r->comparison[1].pairs[i];

	cot_table_text(t, first ? p->entry->figure : "");
	cot_table_text(t, cot_preemption_mechanism_name(p->entry->mechanism));
	cot_table_text(t, p->entry->group);
	cot_table_cell(t, "%u", p->nproc);
	value_cell(t, p, p->printed);
	measured_cells(t, p);
	value_cell(t, printed, printed->has_measured ? printed->measured : NAN);
}

static const struct cot_column pair_columns[] = {
	{"figure", COT_ALIGN_LEFT},   {"mechanism", COT_ALIGN_LEFT},   {"group", COT_ALIGN_LEFT},
	{"proc", COT_ALIGN_RIGHT},    {"paper", COT_ALIGN_RIGHT},      {"ours", COT_ALIGN_RIGHT},
	{"off by", COT_ALIGN_RIGHT},  {"of means", COT_ALIGN_RIGHT},   {"off by", COT_ALIGN_RIGHT},
	{"our dss", COT_ALIGN_RIGHT}, {"as printed", COT_ALIGN_RIGHT},
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

static bool is_size_class(const char *group)
{
	unsigned i;

	for (i = 0; i < COT_N_SIZES; i++)
		if (!strcmp(group, cot_size_class_names[i]))
			return true;
	return false;
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

static double measured(const struct cot_preemption_points *points,
		       const struct cot_preemption_point *like, const char *mechanism)
{
	const struct cot_preemption_point *p = cot_preemption_points_find(
		points, like->figure, mechanism, like->group, like->nproc);

	return p ? p->value : NAN;
}

/* One row: a value in each of the samples; `over`: divided by that mechanism's. */
static void sensitivity_row(struct cot_table *t, const struct cot_preemption_points *samples,
			    unsigned n, const struct cot_preemption_point *p, const char *over)
{
	char buf[COT_PREEMPTION_VALUE_MAX];
	unsigned k;
	double x;

	cot_table_text(t, p->figure);
	cot_table_cell(t, "%s%s%s", cot_preemption_mechanism_name(p->mechanism), over ? " / " : "",
		       over ? cot_preemption_mechanism_name(over) : "");
	cot_table_text(t, p->group);
	cot_table_cell(t, "%u", p->nproc);
	for (k = 0; k < n; k++) {
		x = measured(&samples[k], p, p->mechanism) /
		    (over ? measured(&samples[k], p, over) : 1.0);
		cot_table_text(t, isnan(x) ? "-" : cot_preemption_value(buf, p->metric, x));
	}
}

struct cot_table *cot_preemption_table_sensitivity(const struct cot_preemption *r, unsigned first,
						   unsigned n, bool groups)
{
	struct cot_column columns[4 + COT_PREEMPTION_MAX_SAMPLES] = {{"figure", COT_ALIGN_LEFT},
								     {"mechanism", COT_ALIGN_LEFT},
								     {"group", COT_ALIGN_LEFT},
								     {"proc", COT_ALIGN_RIGHT}};
	const struct cot_preemption_points *samples = &r->points[first];
	struct cot_table *t;
	unsigned i, k;

	for (k = 0; k < n; k++)
		columns[4 + k] = (struct cot_column){r->samples[first + k].name, COT_ALIGN_RIGHT};
	t = cot_table_create(columns, 4 + n);
	for (i = 0; i < samples[0].n; i++) {
		const struct cot_preemption_point *p = &samples[0].items[i];

		if (!strcmp(p->group, "average") || (groups && is_size_class(p->group)))
			sensitivity_row(t, samples, n, p, NULL);
		if (!strcmp(p->figure, "6a") && !strcmp(p->mechanism, "drain"))
			sensitivity_row(t, samples, n, p, "switch");
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
