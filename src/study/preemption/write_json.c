/* The report for machines; schema "cotenant.reproduce/1". */
#include <errno.h>
#include <string.h>

#include "report/json.h"
#include "study/preemption/names.h"

/* json_pack() fails as a whole when memory runs out; NULL then travels up to the writer. */
static int append(json_t *array, json_t *item)
{
	return json_array_append_new(array, item) ? -ENOMEM : 0;
}

static json_t *table1(const struct cot_preemption *r)
{
	json_t *rows = json_array();
	unsigned i;

	for (i = 0; rows && i < r->printed.n_kernels; i++) {
		const struct cot_preemption_table1_row *row = &r->table1[i];

		append(rows,
		       json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "benchmark",
				 row->benchmark, "kernel", row->kernel, "save_us",
				 cot_json_rounded(row->save_us), "resource_pct",
				 cot_json_rounded(row->resource_pct), "save_us_printed",
				 cot_json_rounded(row->save_us_printed), "resource_pct_printed",
				 cot_json_rounded(row->resource_pct_printed), "block_us_consistent",
				 cot_json_rounded(row->block_us[0]), "block_us_printed",
				 cot_json_rounded(row->block_us[1])));
	}
	return rows;
}

static const struct cot_preemption_pair *find_pair(const struct cot_preemption_comparison *c,
						   const struct cot_preemption_point *p)
{
	unsigned i;

	for (i = 0; i < c->n_pairs; i++) {
		const struct cot_printed_entry *e = c->pairs[i].entry;

		if (c->pairs[i].nproc == p->nproc && !strcmp(e->figure, p->figure) &&
		    !strcmp(e->mechanism, p->mechanism) && !strcmp(e->group, p->group))
			return &c->pairs[i];
	}
	return NULL;
}

static json_t *point(const struct cot_preemption_point *p, const char *reading,
		     const struct cot_preemption_pair *pair)
{
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:s?}",
		"figure", p->figure, "metric", p->metric, "mechanism", p->mechanism, "group",
		p->group, "processes", (int)p->nproc, "reading", reading, "printed",
		pair ? cot_json_rounded(pair->printed) : json_null(), "measured",
		cot_json_rounded(p->value), "half_width_95", cot_json_rounded(p->half_width),
		"ratio_of_means", p->of_means > 0.0 ? cot_json_rounded(p->of_means) : json_null(),
		"geometric_mean", p->geomean > 0.0 ? cot_json_rounded(p->geomean) : json_null(),
		"deviation_pct", pair ? cot_json_rounded(pair->deviation_pct) : json_null(),
		"agrees", pair ? json_boolean(pair->agrees) : json_null(), "printed_kind",
		pair ? pair->entry->kind : NULL, "source", pair ? pair->entry->source : NULL);
}

static json_t *figures(const struct cot_preemption *r)
{
	json_t *all = json_array();
	unsigned m, i;

	for (m = 0; all && m < COT_PREEMPTION_MAIN; m++)
		for (i = 0; i < r->points[m].n; i++) {
			const struct cot_preemption_point *p = &r->points[m].items[i];

			append(all, point(p, r->samples[m].name, find_pair(&r->comparison[m], p)));
		}
	return all;
}

static json_t *numbers(const double *x, unsigned n)
{
	json_t *array = json_array();
	unsigned i;

	for (i = 0; array && i < n; i++)
		append(array, cot_json_rounded(x[i]));
	return array;
}

/* Shares of the workloads that gain more than a factor; for both mechanisms. */
static json_t *shares(const double share[COT_ANTT_N])
{
	return json_pack("{s:o, s:o}", "switch", cot_json_rounded(share[COT_ANTT_SWITCH]), "drain",
			 cot_json_rounded(share[COT_ANTT_DRAIN]));
}

static json_t *curve(const struct cot_preemption_sample *s, unsigned size, const char *scheduler,
		     const struct cot_antt_curves *c)
{
	return json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:o}", "reading",
			 s->name, "scheduler", scheduler, "processes", (int)s->sizes[size],
			 "antt_fcfs", numbers(c->antt[COT_ANTT_FCFS], c->n), "antt_dss_switch",
			 numbers(c->antt[COT_ANTT_SWITCH], c->n), "antt_dss_drain",
			 numbers(c->antt[COT_ANTT_DRAIN], c->n), "improved_at_all", shares(c->any),
			 "improved_5_pct", shares(c->improved), "improved_30_pct", shares(c->much),
			 "n_improved", (int)c->n_improved, "crossing_rank", (int)c->crossing.rank,
			 "crossing_agreement", cot_json_rounded(c->crossing.agreement));
}

static int append_curve(json_t *all, const struct cot_preemption_sample *s, unsigned size,
			const char *scheduler, enum cot_dss_policy by_switch)
{
	struct cot_antt_curves c;
	int rc = cot_preemption_antt(s, size, by_switch, &c);

	if (rc)
		return rc;
	rc = append(all, curve(s, size, scheduler, &c));
	cot_antt_curves_finish(&c);
	return rc;
}

/* Figure 8: the curves of every size, the worst workload under FCFS first. */
static int curves(const struct cot_preemption *r, json_t **ret)
{
	json_t *all = json_array();
	unsigned m, i;
	int rc = all ? 0 : -ENOMEM;

	for (m = 0; m < COT_PREEMPTION_MAIN; m++) {
		const struct cot_preemption_sample *s = &r->samples[m];

		for (i = 0; i < s->n_sizes && !rc; i++) {
			rc = append_curve(all, s, i, "dss-printed", COT_DSS_SWITCH);
			if (!rc && s->lends)
				rc = append_curve(all, s, i, "dss", COT_DSS_LEND_SWITCH);
		}
	}
	if (rc) {
		json_decref(all);
		return rc;
	}
	*ret = all;
	return 0;
}

static json_t *shapes(const struct cot_preemption *r)
{
	json_t *all = json_array();
	unsigned m, i;

	for (m = 0; all && m < COT_PREEMPTION_MAIN; m++) {
		for (i = 0; i < r->comparison[m].n_shapes; i++) {
			const struct cot_preemption_shape *s = &r->comparison[m].shapes[i];

			if (s->applies)
				append(all, json_pack("{s:s, s:s, s:b, s:s}", "name", s->name,
						      "reading", r->samples[m].name, "holds",
						      s->holds, "values", s->detail));
		}
	}
	return all;
}

static json_t *sensitivity(const struct cot_preemption *r)
{
	json_t *all = json_array();
	unsigned k, i;

	for (k = COT_PREEMPTION_MAIN; all && k < r->n_samples; k++) {
		for (i = 0; i < r->points[k].n; i++) {
			const struct cot_preemption_point *p = &r->points[k].items[i];

			append(all, json_pack("{s:o, s:b, s:s, s:s, s:s, s:s, s:i, s:o, s:o}",
					      "block_jitter_cv",
					      cot_json_rounded(r->samples[k].jitter_cv),
					      "cpu_between_launches", r->samples[k].spread_cpu,
					      "figure", p->figure, "metric", p->metric, "mechanism",
					      p->mechanism, "group", p->group, "processes",
					      (int)p->nproc, "measured", cot_json_rounded(p->value),
					      "half_width_95", cot_json_rounded(p->half_width)));
		}
	}
	return all;
}

static json_t *readings(const struct cot_preemption *r)
{
	json_t *all = json_array();
	unsigned m, judged, held;

	for (m = 0; all && m < COT_PREEMPTION_MAIN; m++) {
		held = cot_preemption_shapes_held(&r->comparison[m], &judged);
		append(all,
		       json_pack("{s:s, s:o, s:o, s:i, s:i, s:i, s:b}", "name", r->samples[m].name,
				 "mean_abs_ln_ratio", cot_json_rounded(r->comparison[m].fit),
				 "mean_abs_ln_ratio_of_means",
				 cot_json_rounded(r->comparison[m].fit_of_means),
				 "n_printed_values", (int)r->comparison[m].n_fit, "shapes_held",
				 (int)held, "shapes_judged", (int)judged, "closer",
				 cot_preemption_better_reading(r) == m));
	}
	return all;
}

static json_t *workload_counts(const struct cot_preemption *r)
{
	const struct cot_preemption_sample *s = &r->samples[0];
	json_t *all = json_array();
	unsigned i;

	for (i = 0; all && i < s->n_sizes; i++)
		append(all, json_pack("{s:i, s:i, s:i}", "processes", (int)s->sizes[i], "priority",
				      (int)s->n_prio[i], "dss", (int)s->n_dss));
	return all;
}

int cot_preemption_write_json(FILE *out, const void *data, const struct cot_origin *origin)
{
	const struct cot_preemption *r = data;
	json_t *root, *figure8 = NULL;
	int rc;

	rc = curves(r, &figure8);
	if (rc)
		return rc;
	root = json_pack("{s:s, s:s, s:I, s:b, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "schema", "cotenant.reproduce/1", "study", "preemption", "seed",
			 (json_int_t)r->seed, "quick", r->quick, "block_jitter_cv",
			 cot_json_rounded(r->samples[0].jitter_cv), "workloads", workload_counts(r),
			 "simulations", (json_int_t)r->n_simulations, "block_completions",
			 (json_int_t)r->block_completions, "readings", readings(r), "shape",
			 shapes(r), "table1", table1(r), "figures", figures(r), "antt_curves",
			 figure8, "sensitivity", sensitivity(r));
	return cot_json_write(cot_origin_with(root, origin),
			      JSON_INDENT(1) | JSON_REAL_PRECISION(10), out);
}
