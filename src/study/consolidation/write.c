/* The printed numbers of the patent beside ours, as text and JSON. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "report/json.h"
#include "report/table.h"
#include "study/consolidation/consolidation.h"

/* In per cent; of decisions, blocks and percentages only whether they are equal. */
static bool has_deviation(const struct cot_consolidation_row *r)
{
	return r->has_printed && r->has_ours &&
	       (r->unit[0] == 's' || r->unit[0] == 'k' || r->unit[0] == 'W');
}

static double deviation_pct(const struct cot_consolidation_row *r)
{
	return (r->ours / r->printed - 1) * 100;
}

/* ---- text ---- */

static void print_row(struct cot_table *t, const struct cot_consolidation_row *r)
{
	double d = has_deviation(r) ? deviation_pct(r) : 0;

	cot_table_text(t, r->quantity);
	cot_table_cell(t, "%.5g%s%s", r->printed, *r->unit ? " " : "", r->unit);
	cot_table_cell(t, "%.5g%s%s", r->ours, *r->unit ? " " : "", r->unit);
	if (has_deviation(r))
		cot_table_cell(t, "%+.1f %%", fabs(d) < 0.05 ? 0.0 : d);
	else
		cot_table_text(t, "");
	cot_table_text(t, r->kind);
}

/* What does not agree although it follows from the text, and what cannot be checked. */
static void print_notes(const struct cot_consolidation *c, FILE *out)
{
	uint32_t i;

	(void)fputs("\nfitted: counts and coefficients were chosen so. predicted: by the models. "
		    "derived: from the text.\n\n",
		    out);
	for (i = 0; i < c->n; i++) {
		const struct cot_consolidation_row *r = &c->rows[i];

		if (!strcmp(r->kind, "derived") && fabs(r->ours - r->printed) > 0.5 && *r->note)
			(void)fprintf(out, "%s: %s.\n", r->quantity, r->note);
	}
	(void)fputs("\nNot checked:\n", out);
	for (i = 0; i < c->n; i++) {
		const struct cot_consolidation_row *r = &c->rows[i];

		if (r->has_ours)
			continue;
		(void)fprintf(out, "  %s", r->quantity);
		if (r->has_printed)
			(void)fprintf(out, " (%.5g%s%s)", r->printed, *r->unit ? " " : "", r->unit);
		(void)fprintf(out, ": %s\n", r->note);
	}
}

static void print_sweep(const struct cot_consolidation *c, FILE *out)
{
	const struct cot_consolidation_sweep *s = &c->sweep;

	(void)fprintf(out,
		      "\nTrained with the four runs alone: %.1f W per transaction and %.1f W per "
		      "instruction and cycle,\n%.1f W idle and lambda together.\n",
		      c->memory_w, c->instruction_w, c->rest_w);
	(void)fprintf(out,
		      "\nThe patent does not print the counts of its kernels. With %u others for "
		      "each that take as long\nalone (%u pairs for each scenario):\n",
		      s->n_kernels, s->n_pairs);
	(void)fprintf(out,
		      "  scenario 1 rejected as measured: %.1f %%; blocks as the patent places "
		      "them: %.1f %%\n  scenario 2 accepted as measured: %.1f %%; blocks as the "
		      "patent places them: %.1f %%\n",
		      s->reject1 * 100, s->reject1_layout * 100, s->accept2 * 100,
		      s->accept2_layout * 100);
	(void)fprintf(out,
		      "  time together, 5th to 95th percentile: %.1f to %.1f s (84.56 measured), "
		      "%.1f to %.1f s (58.73)\n",
		      s->low1_s, s->high1_s, s->low2_s, s->high2_s);
}

int cot_consolidation_write_text(FILE *out, const void *data)
{
	const struct cot_consolidation *c = data;
	static const struct cot_column columns[] = {
		{"quantity", COT_ALIGN_LEFT}, {"printed", COT_ALIGN_RIGHT},
		{"ours", COT_ALIGN_RIGHT},    {"deviation", COT_ALIGN_RIGHT},
		{"kind", COT_ALIGN_LEFT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	uint32_t i;
	int rc;

	for (i = 0; i < c->n; i++)
		if (c->rows[i].has_printed && c->rows[i].has_ours)
			print_row(t, &c->rows[i]);
	rc = cot_table_print(t, out);
	if (!rc) {
		print_notes(c, out);
		print_sweep(c, out);
	}
	return rc;
}

/* ---- JSON ---- */

static json_t *json_row(const struct cot_consolidation_row *r)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:s, s:s}", "id", r->id, "quantity",
			 r->quantity, "unit", r->unit, "printed",
			 r->has_printed ? cot_json_number(r->printed) : json_null(), "ours",
			 r->has_ours ? cot_json_number(r->ours) : json_null(), "deviation_pct",
			 has_deviation(r) ? cot_json_number(deviation_pct(r)) : json_null(), "kind",
			 r->kind, "note", r->note);
}

static json_t *json_sweep(const struct cot_consolidation_sweep *s)
{
	return json_pack(
		"{s:i, s:i, s:o, s:o, s:o, s:o, s:[oo], s:[oo]}", "kernels", (int)s->n_kernels,
		"pairs", (int)s->n_pairs, "scenario_1_rejected", cot_json_number(s->reject1),
		"scenario_1_rejected_layout", cot_json_number(s->reject1_layout),
		"scenario_2_accepted", cot_json_number(s->accept2), "scenario_2_accepted_layout",
		cot_json_number(s->accept2_layout), "scenario_1_s_p5_p95",
		cot_json_number(s->low1_s), cot_json_number(s->high1_s), "scenario_2_s_p5_p95",
		cot_json_number(s->low2_s), cot_json_number(s->high2_s));
}

static json_t *json_all(const struct cot_consolidation *c)
{
	json_t *rows = json_array();
	uint32_t i;

	for (i = 0; i < c->n; i++)
		(void)json_array_append_new(rows, json_row(&c->rows[i]));
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "schema", "cotenant.reproduce/1",
			 "study", "consolidation", "values", rows, "memory_w",
			 cot_json_number(c->memory_w), "instruction_w",
			 cot_json_number(c->instruction_w), "idle_and_lambda_w",
			 cot_json_number(c->rest_w), "sweep", json_sweep(&c->sweep));
}

int cot_consolidation_write_json(FILE *out, const void *data, const struct cot_origin *origin)
{
	return cot_json_write(cot_origin_with(json_all(data), origin), COT_JSON_INDENTED, out);
}
