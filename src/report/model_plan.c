/*
 * cotenant model consolidate: judges the candidate sets, and says what to run with what; or judges
 * the whole of what waits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/format.h"
#include "report/json.h"
#include "report/model.h"
#include "report/table.h"

#define NAME_MAX_LEN	160
#define CANDIDATES_TEXT 20u /* more would not fit a screen: then the chosen ones only */

struct candidate {
	uint32_t copies[COT_MODEL_KINDS_MAX];
	struct cot_model_verdict verdict;
};

struct plan {
	const struct cot_model_input *in;
	struct candidate *candidates;
	uint32_t n_candidates;
	size_t cap;
	struct cot_model_step *steps;
	uint32_t n_steps;
};

/* ---- the predictions ---- */

static int add_candidate(struct plan *p, const uint32_t *copies)
{
	const struct cot_model_input *in = p->in;
	struct candidate *bigger;

	bigger = cot_grow(p->candidates, p->n_candidates, &p->cap, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	p->candidates = bigger;
	memcpy(p->candidates[p->n_candidates].copies, copies, sizeof(p->candidates[0].copies));
	return cot_model_judge(&in->machine, in->file.kernels, copies, in->file.n,
			       &p->candidates[p->n_candidates++].verdict);
}

static void take_step(void *arg, const struct cot_model_step *step)
{
	struct plan *p = arg;

	p->steps[p->n_steps++] = *step;
}

static int search(struct plan *p)
{
	const struct cot_model_input *in = p->in;
	uint32_t copies[COT_MODEL_KINDS_MAX] = {0};
	int rc = 0;

	p->steps = calloc(COT_MODEL_STEPS_MAX, sizeof(*p->steps));
	if (!p->steps)
		return -ENOMEM;
	while (!rc && cot_model_next_candidate(in->file.pending, in->file.n, copies))
		rc = add_candidate(p, copies);
	return rc ? rc
		  : cot_model_plan(&in->machine, in->file.kernels, in->file.pending, in->file.n,
				   take_step, p);
}

static uint32_t n_instances(const struct cot_kernels *file)
{
	uint32_t i, sum = 0;

	for (i = 0; i < file->n; i++)
		sum += file->pending[i];
	return sum;
}

static int make_plan(struct plan *p, struct cot_error *err)
{
	const struct cot_model_input *in = p->in;
	int rc;

	if (in->whole && n_instances(&in->file) < 2)
		return cot_error_set(err, -EINVAL,
				     "%s: fewer than two instances of kernels; --whole judges two "
				     "and more together",
				     cot_origin_name(&in->origin));
	rc = in->whole ? add_candidate(p, in->file.pending) : search(p);
	if (rc == -ENOMEM)
		return cot_error_set(err, rc, "out of memory");
	return rc ? cot_error_set(err, rc, "the kernels cannot be judged") : 0;
}

static const char *reason(const struct cot_model_verdict *v)
{
	if (v->consolidate)
		return "yes";
	if (!v->fits)
		return "no: does not fit";
	if (!v->energy_ok && !v->time_ok)
		return "no: slower, more energy";
	if (!v->energy_ok)
		return "no: more energy";
	if (!v->time_ok)
		return "no: slower";
	return v->together.energy_j < v->least_j ? "no: saves too little" : "no: less on the CPU";
}

static const char *where_name(enum cot_model_where where)
{
	static const char *const names[] = {
		[COT_MODEL_TOGETHER] = "together",
		[COT_MODEL_GPU] = "gpu",
		[COT_MODEL_CPU] = "cpu",
	};

	return names[where];
}

/* ---- text ---- */

static void print_candidate(struct cot_table *t, const struct plan *p, const struct candidate *c)
{
	const struct cot_model_verdict *v = &c->verdict;
	bool runs = v->together.exec_s > 0;
	char name[NAME_MAX_LEN];
	struct cot_text text;

	cot_table_text(t, cot_model_set_name(&p->in->file, c->copies, name, sizeof(name)));
	cot_table_text(t, cot_format_us(&text, v->apart_s * 1e6));
	cot_table_text(t, runs ? cot_format_us(&text, v->together.seconds * 1e6) : "-");
	cot_table_cell(t, "%.5g", v->apart_j);
	if (runs) {
		cot_table_cell(t, "%.5g", v->together.energy_j);
		cot_table_cell(t, "%+.1f %%", (v->together.energy_j / v->apart_j - 1) * 100);
	} else {
		cot_table_text(t, "-");
		cot_table_text(t, "-");
	}
	cot_table_text(t, reason(v));
}

static int print_candidates(const struct plan *p, FILE *out)
{
	static const struct cot_column columns[] = {
		{"set", COT_ALIGN_LEFT},	 {"apart", COT_ALIGN_RIGHT},
		{"together", COT_ALIGN_RIGHT},	 {"apart J", COT_ALIGN_RIGHT},
		{"together J", COT_ALIGN_RIGHT}, {"energy", COT_ALIGN_RIGHT},
		{"consolidate", COT_ALIGN_LEFT},
	};
	bool all = p->n_candidates <= CANDIDATES_TEXT;
	struct cot_table *t;
	uint32_t i, shown = 0;
	int rc;

	t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	for (i = 0; i < p->n_candidates && shown < CANDIDATES_TEXT; i++) {
		if (!all && !p->candidates[i].verdict.consolidate)
			continue;
		print_candidate(t, p, &p->candidates[i]);
		shown++;
	}
	rc = cot_table_print(t, out);
	if (!all)
		(void)fprintf(out, "%u of %u sets; --json has all.\n", shown, p->n_candidates);
	return rc;
}

static void print_steps(const struct plan *p, FILE *out)
{
	double seconds = 0, energy_j = 0;
	char name[NAME_MAX_LEN];
	struct cot_text text;
	uint32_t i;

	(void)fputs(p->n_candidates ? "\nPlan:\n" : "Plan:\n", out);
	for (i = 0; i < p->n_steps; i++) {
		const struct cot_model_step *s = &p->steps[i];

		cot_model_set_name(&p->in->file, s->copies, name, sizeof(name));
		(void)fprintf(out, "  %-8s %s: %s, %.5g J\n", where_name(s->where), name,
			      cot_format_us(&text, s->seconds * 1e6), s->energy_j);
		seconds += s->seconds;
		energy_j += s->energy_j;
	}
	(void)fprintf(out, "One after another: %s, %.5g J.\n", cot_format_us(&text, seconds * 1e6),
		      energy_j);
}

/* ---- JSON ---- */

static json_t *json_copies(const struct plan *p, const uint32_t *copies)
{
	json_t *object = json_object();
	uint32_t i;

	for (i = 0; i < p->in->file.n; i++)
		if (copies[i])
			(void)json_object_set_new(object, p->in->file.names[i],
						  json_integer(copies[i]));
	return object;
}

static json_t *json_candidate(const struct plan *p, const struct candidate *c)
{
	const struct cot_model_verdict *v = &c->verdict;
	bool runs = v->together.exec_s > 0;

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:b, s:b, s:s}", "kernels",
			 json_copies(p, c->copies), "apart_s", cot_json_number(v->apart_s),
			 "apart_j", cot_json_number(v->apart_j), "least_j",
			 cot_json_number(v->least_j), "together_s",
			 runs ? cot_json_number(v->together.seconds) : json_null(), "together_j",
			 runs ? cot_json_number(v->together.energy_j) : json_null(), "fits",
			 v->fits, "energy_ok", v->energy_ok, "time_ok", v->time_ok, "consolidate",
			 v->consolidate, "reason", reason(v));
}

static json_t *json_steps(const struct plan *p)
{
	json_t *steps = json_array();
	uint32_t i;

	for (i = 0; i < p->n_steps; i++)
		(void)json_array_append_new(
			steps, json_pack("{s:o, s:s, s:o, s:o}", "kernels",
					 json_copies(p, p->steps[i].copies), "where",
					 where_name(p->steps[i].where), "seconds",
					 cot_json_number(p->steps[i].seconds), "energy_j",
					 cot_json_number(p->steps[i].energy_j)));
	return steps;
}

/* What judges the whole has planned nothing. */
static json_t *json_plan(const struct plan *p)
{
	json_t *candidates = json_array(), *object;
	uint32_t i;

	for (i = 0; i < p->n_candidates; i++)
		(void)json_array_append_new(candidates, json_candidate(p, &p->candidates[i]));
	object = json_pack("{s:s, s:s, s:o}", "schema", "cotenant.model.consolidate/1", "gpu",
			   p->in->file.gpu_name, "candidates", candidates);
	if (!p->in->whole && json_object_set_new(object, "plan", json_steps(p))) {
		json_decref(object);
		return NULL;
	}
	return object;
}

int cot_model_show_plan(const struct cot_model_input *in, bool json, FILE *out,
			struct cot_error *err)
{
	struct plan p = {.in = in};
	int rc;

	rc = make_plan(&p, err);
	if (!rc && json) {
		rc = cot_json_write(cot_origin_with(json_plan(&p), &in->origin), COT_JSON_INDENTED,
				    out);
	} else if (!rc) {
		if (p.n_candidates)
			rc = print_candidates(&p, out);
		if (rc)
			(void)cot_error_set(err, rc, "out of memory");
		else if (!in->whole)
			print_steps(&p, out);
	}
	free(p.candidates);
	free(p.steps);
	return rc;
}
