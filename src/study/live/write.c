/* The tables, and the same as JSON. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "report/json.h"
#include "report/table.h"
#include "study/live/live.h"

static const char *const kind_names[COT_LIVE_N_KINDS + 1] = {"p50", "p99", "batch rate", "all"};
static const char *const policy_names[COT_LIVE_N_POLICIES + 1] = {"time slicing", "pools", "rotate",
								  "parts", "all"};

/* ---- text ---- */

static void print_head(const struct cot_live_check *c, FILE *out)
{
	const struct cot_live_gpu *g = &c->gpu;
	uint32_t i;

	for (i = 0; i < c->file->n_runs; i++)
		(void)fprintf(out, "%s %s%s", i ? "," : c->file->runs[0].gpu, i ? "" : "measured ",
			      c->file->runs[i].date);
	(void)fprintf(
		out,
		"\n\nFrom requests that note when their kernels run: %.1f us of a request are the host's, a "
		"switch takes\n%.0f us there and %.0f us back. A program that brings the GPU to its power limit slows "
		"it by %.2f;\nwith a share s of the GPU it does s^-%.2f times as much of it, at most so many times.\n\n",
		g->host_us, g->switch_us, g->resume_us, g->hot_factor, g->hot_power);
}

static void error_cell(struct cot_table *t, double predicted, double measured)
{
	if (measured > 0.0)
		cot_table_cell(t, "%+.1f %%", 100 * (predicted / measured - 1.0));
	else
		cot_table_text(t, "");
}

static void time_cells(struct cot_table *t, double predicted, double measured)
{
	if (measured > 0.0)
		cot_table_cell(t, "%.3f", measured / 1e3);
	else
		cot_table_text(t, "");
	cot_table_cell(t, "%.3f", predicted / 1e3);
	error_cell(t, predicted, measured);
}

static void parts_cell(struct cot_table *t, const struct cot_live_case *c, bool predicted)
{
	char text[16 * COT_LIVE_APPS_MAX];
	size_t n = 0;
	uint32_t i;

	text[0] = '\0';
	for (i = 0; i < c->n_apps; i++)
		if (!c->apps[i].latency)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.2f", n ? " " : "",
					      predicted ? c->apps[i].predicted.part
							: c->apps[i].measured.part);
	cot_table_text(t, text);
}

static void batch_cells(struct cot_table *t, const struct cot_live_case *c, bool first)
{
	uint32_t i;

	if (first && cot_live_sum(c, false) > 0.0) {
		cot_table_cell(t, "%.3f", cot_live_sum(c, false));
		cot_table_cell(t, "%.3f", cot_live_sum(c, true));
		error_cell(t, cot_live_sum(c, true), cot_live_sum(c, false));
		parts_cell(t, c, false);
		parts_cell(t, c, true);
		return;
	}
	for (i = 0; i < 5; i++)
		cot_table_text(t, "");
}

static int print_cases(const struct cot_live_check *c, FILE *out)
{
	static const struct cot_column columns[] = {
		{"mix", COT_ALIGN_LEFT},	 {"way", COT_ALIGN_LEFT},
		{"p50 ms", COT_ALIGN_RIGHT},	 {"predicted", COT_ALIGN_RIGHT},
		{"error", COT_ALIGN_RIGHT},	 {"p99 ms", COT_ALIGN_RIGHT},
		{"predicted", COT_ALIGN_RIGHT},	 {"error", COT_ALIGN_RIGHT},
		{"batch rate", COT_ALIGN_RIGHT}, {"predicted", COT_ALIGN_RIGHT},
		{"error", COT_ALIGN_RIGHT},	 {"each", COT_ALIGN_LEFT},
		{"predicted", COT_ALIGN_LEFT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	uint32_t i, j;

	for (i = 0; i < c->n_cases; i++) {
		const struct cot_live_case *one = &c->cases[i];

		for (j = 0; !one->why && j < one->n_apps && one->apps[j].latency; j++) {
			const struct cot_live_app *a = &one->apps[j];

			cot_table_text(t, j ? "" : one->group);
			cot_table_text(t, j ? "" : one->way->window);
			time_cells(t, a->predicted.p50_us, a->measured.p50_us);
			time_cells(t, a->predicted.p99_us, a->measured.p99_us);
			batch_cells(t, one, !j);
		}
	}
	return cot_table_print(t, out);
}

static int add_errors(const struct cot_live_check *c, struct cot_table *t, int policy, int kind)
{
	struct cot_live_errors e;
	const struct cot_live_case *worst;
	int rc = cot_live_errors(c, (enum cot_live_policy)policy, (enum cot_live_kind)kind, &e);

	if (rc || !e.n)
		return rc;
	worst = &c->cases[e.worst_case];
	cot_table_text(t, policy_names[policy]);
	cot_table_text(t, kind_names[kind]);
	cot_table_cell(t, "%u", e.n);
	cot_table_cell(t, "%.1f %%", 100 * e.median);
	cot_table_cell(t, "%.0f %%", 100.0 * e.n_near / e.n);
	cot_table_cell(t, "%.0f %%", 100.0 * e.n_goal / e.n);
	cot_table_cell(t, "%+.1f %%", 100 * e.worst);
	cot_table_cell(t, "%s, %s", worst->group, worst->way->window);
	return 0;
}

static int print_errors(const struct cot_live_check *c, FILE *out)
{
	static const struct cot_column columns[] = {
		{"way", COT_ALIGN_LEFT},	 {"of", COT_ALIGN_LEFT},
		{"values", COT_ALIGN_RIGHT},	 {"median error", COT_ALIGN_RIGHT},
		{"within 5 %", COT_ALIGN_RIGHT}, {"within 15 %", COT_ALIGN_RIGHT},
		{"worst", COT_ALIGN_RIGHT},	 {"where it is", COT_ALIGN_LEFT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	int policy, kind, rc = 0;

	for (policy = 0; !rc && policy < COT_LIVE_N_POLICIES; policy++)
		for (kind = 0; !rc && kind < COT_LIVE_N_KINDS; kind++)
			rc = add_errors(c, t, policy, kind);
	if (!rc)
		rc = add_errors(c, t, COT_LIVE_N_POLICIES, COT_LIVE_N_KINDS);
	if (rc) {
		cot_table_destroy(t);
		return rc;
	}
	return cot_table_print(t, out);
}

/* Whether an earlier one of the mix has the same reason. */
static bool was_said(const struct cot_live_check *c, uint32_t i)
{
	uint32_t j;

	for (j = 0; j < i; j++)
		if (c->cases[j].why == c->cases[i].why &&
		    !strcmp(c->cases[j].group, c->cases[i].group))
			return true;
	return false;
}

static void print_left_out(const struct cot_live_check *c, FILE *out)
{
	const char *why;
	uint32_t i, first;
	bool any = false;

	for (first = 0; first < c->n_cases; first++) {
		why = c->cases[first].why;
		for (i = 0; why && i < first; i++)
			if (c->cases[i].why == why)
				why = NULL;
		if (!why)
			continue;
		(void)fprintf(out, "%s%s:", any ? "" : "\nNot predicted:\n", why);
		any = true;
		for (i = first; i < c->n_cases; i++)
			if (c->cases[i].why == why && !was_said(c, i))
				(void)fprintf(out, " %s", c->cases[i].group);
		(void)fputc('\n', out);
	}
}

int cot_live_write_text(const struct cot_live_check *c, FILE *out)
{
	int rc;

	print_head(c, out);
	rc = print_cases(c, out);
	(void)fputc('\n', out);
	if (!rc)
		rc = print_errors(c, out);
	print_left_out(c, out);
	return rc;
}

/* ---- JSON ---- */

static json_t *json_figures(const struct cot_live_app *a, const struct cot_live_figures *f)
{
	return a->latency ? json_pack("{s:o, s:o}", "p50_us", cot_json_rounded(f->p50_us), "p99_us",
				      cot_json_rounded(f->p99_us))
			  : json_pack("{s:o}", "rate", cot_json_rounded(f->part));
}

static json_t *json_case(const struct cot_live_case *c)
{
	json_t *apps = json_array(), *one;
	uint32_t i;

	for (i = 0; i < c->n_apps; i++) {
		const struct cot_live_app *a = &c->apps[i];

		one = json_pack("{s:s, s:s, s:o, s:o}", "program", a->program->name, "class",
				a->latency ? "latency" : "batch", "alone_us",
				cot_json_rounded(a->alone_us), "measured",
				json_figures(a, &a->measured));
		if (!c->why)
			(void)json_object_set_new(one, "predicted", json_figures(a, &a->predicted));
		(void)json_array_append_new(apps, one);
	}
	one = json_pack("{s:s, s:s, s:i, s:o}", "mix", c->group, "way", c->way->window, "run",
			(int)c->run + 1, "apps", apps);
	if (c->why)
		(void)json_object_set_new(one, "not_predicted", json_string(c->why));
	return one;
}

static json_t *json_errors(const struct cot_live_check *c)
{
	json_t *all = json_array();
	struct cot_live_errors e;
	int policy, kind;

	for (policy = 0; policy <= COT_LIVE_N_POLICIES; policy++)
		for (kind = 0; kind <= COT_LIVE_N_KINDS; kind++) {
			if (cot_live_errors(c, (enum cot_live_policy)policy,
					    (enum cot_live_kind)kind, &e) ||
			    !e.n)
				continue;
			(void)json_array_append_new(
				all,
				json_pack("{s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:s, s:s}", "way",
					  policy_names[policy], "of", kind_names[kind], "values",
					  (int)e.n, "median", cot_json_rounded(e.median),
					  "within_near", cot_json_rounded((double)e.n_near / e.n),
					  "within_goal", cot_json_rounded((double)e.n_goal / e.n),
					  "worst", cot_json_rounded(e.worst), "worst_mix",
					  c->cases[e.worst_case].group, "worst_way",
					  c->cases[e.worst_case].way->window));
		}
	return all;
}

int cot_live_write_json(const struct cot_live_check *c, const struct cot_origin *origin, FILE *out)
{
	const struct cot_live_gpu *g = &c->gpu;
	json_t *cases = json_array(), *runs = json_array();
	uint32_t i;

	for (i = 0; i < c->file->n_runs; i++)
		(void)json_array_append_new(runs,
					    json_pack("{s:s, s:s}", "gpu", c->file->runs[i].gpu,
						      "date", c->file->runs[i].date));
	for (i = 0; i < c->n_cases; i++)
		(void)json_array_append_new(cases, json_case(&c->cases[i]));
	return cot_json_write(
		cot_origin_with(json_pack("{s:s, s:o, s:{s:o, s:o, s:o, s:o, s:o}, s:o, s:o}",
					  "schema", "cotenant.model.live/1", "runs", runs, "gpu",
					  "host_us", cot_json_rounded(g->host_us), "switch_us",
					  cot_json_rounded(g->switch_us), "resume_us",
					  cot_json_rounded(g->resume_us), "hot_factor",
					  cot_json_rounded(g->hot_factor), "hot_power",
					  cot_json_rounded(g->hot_power), "errors", json_errors(c),
					  "mixes", cases),
				origin),
		COT_JSON_INDENTED, out);
}
