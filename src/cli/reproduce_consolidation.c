/* cotenant reproduce consolidation: the printed numbers of the patent beside ours. */
#include <argp.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/reproduce.h"
#include "report/json.h"
#include "report/outfile.h"
#include "report/table.h"
#include "study/consolidation/consolidation.h"

enum { KEY_JSON = 256 };

static const struct argp_option options[] = {
	{"json", KEY_JSON, "FILE", 0, "Write all values as JSON; - is standard output", 0},
	{0},
};

struct arguments {
	const char *json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = NULL;
		return 0;
	case KEY_JSON:
		a->json = arg;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%.40s' is too much; expected options only", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

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

static int print_text(const struct cot_consolidation *c, FILE *out)
{
	static const struct cot_column columns[] = {
		{"quantity", COT_ALIGN_LEFT}, {"printed", COT_ALIGN_RIGHT},
		{"ours", COT_ALIGN_RIGHT},    {"deviation", COT_ALIGN_RIGHT},
		{"kind", COT_ALIGN_LEFT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	uint32_t i;
	int rc = -ENOMEM;

	if (t) {
		for (i = 0; i < c->n; i++)
			if (c->rows[i].has_printed && c->rows[i].has_ours)
				print_row(t, &c->rows[i]);
		rc = cot_table_print(t, out);
	}
	cot_table_destroy(t);
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

/* ---- the command ---- */

static int show(const struct arguments *a, const struct cot_consolidation *c,
		struct cot_outfile *file, struct cot_error *err)
{
	int rc;

	if (file) {
		rc = cot_json_write(json_all(c), COT_JSON_INDENTED, cot_outfile_stream(file));
		if (!rc)
			rc = cot_outfile_commit(file, err);
		if (rc || !strcmp(a->json, "-"))
			return rc;
	}
	if (print_text(c, stdout))
		return cot_error_set(err, -ENOMEM, "out of memory");
	if (fflush(stdout))
		return cot_error_set(err, -EIO, "cannot write to standard output: %s",
				     strerror(errno));
	return 0;
}

int cot_reproduce_consolidation(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.children = cot_cli_argp_children,
		.doc = "Put the numbers that US patent 8,643,656 (energy-aware task consolidation "
		       "on GPUs) prints beside those of our models: times and energies of its two "
		       "scenarios, whether to consolidate, and what of the rest can be checked.",
	};
	struct cot_consolidation *c = calloc(1, sizeof(*c));
	struct cot_outfile *file = NULL;
	struct arguments a = {0};
	struct cot_error err = {"out of memory"};
	int rc = c ? 0 : -ENOMEM;

	argp_err_exit_status = COT_EXIT_USAGE;
	if (cot_cli_parse(&argp, argc, argv, 0, &a)) {
		free(c);
		return COT_EXIT_USAGE;
	}
	if (!rc && a.json)
		rc = cot_outfile_open(a.json, &file, &err);
	rc = rc ? rc : cot_consolidation_run(c, &err);
	rc = rc ? rc : show(&a, c, file, &err);
	cot_outfile_destroy(file);
	free(c);
	if (rc)
		cot_cli_complain("%s", err.text);
	return rc ? COT_EXIT_FAILURE : COT_EXIT_OK;
}
