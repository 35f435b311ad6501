#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/words.h"
#include "report/format.h"
#include "report/json.h"
#include "report/table.h"
#include "study/plan/plan.h"

static const char *const reasons[] = {
	[COT_PLAN_PLACED] = "placed",
	[COT_PLAN_NOT_ALONE] = "misses its target even alone",
	[COT_PLAN_MEMORY] = "needs more memory than a GPU has",
	[COT_PLAN_GPUS] = "no GPU has room for it",
};

static const struct cot_app *app_of(const struct cot_fleet *p, const struct cot_plan_program *o)
{
	return &p->workload->jobs[o->job].app;
}

/* ---- text ---- */

static void us_cell(struct cot_table *t, double us)
{
	struct cot_text text;

	cot_table_text(t, us > 0 ? cot_format_us(&text, us) : "-");
}

static void percent_cell(struct cot_table *t, double x)
{
	cot_table_cell(t, "%.1f %%", 100 * x);
}

static void target_cells(struct cot_table *t, const struct cot_app *app,
			 const struct cot_plan_program *o)
{
	if (!(o->target > 0)) {
		cot_table_text(t, "-");
		cot_table_text(t, "-");
		return;
	}
	if (app->target.kind == COT_TARGET_RATE)
		percent_cell(t, o->target);
	else
		us_cell(t, o->target);
	percent_cell(t, o->margin);
}

/* Requests that come by themselves set the pace. */
static bool shows_rate(const struct cot_app *app)
{
	return !(app->arrivals.per_s > 0) || app->target.kind == COT_TARGET_RATE;
}

static void program_row(struct cot_table *t, const struct cot_fleet *p, uint32_t gpu,
			const struct cot_plan_program *o)
{
	const struct cot_job *job = &p->workload->jobs[o->job];
	char name[COT_NAME_MAX];
	struct cot_text text;

	cot_table_cell(t, "%" PRIu32, gpu);
	cot_table_text(t, cot_plan_name(p, o->job, o->number, name));
	cot_table_text(t, cot_class_words[job->app.cls]);
	cot_table_text(t, job->memory_bytes ? cot_format_bytes(&text, (double)job->memory_bytes)
					    : "-");
	us_cell(t, o->p99_us);
	if (shows_rate(&job->app))
		percent_cell(t, o->part);
	else
		cot_table_text(t, "-");
	target_cells(t, &job->app, o);
}

static int print_programs(FILE *out, const struct cot_fleet *p)
{
	static const struct cot_column columns[] = {
		{"GPU", COT_ALIGN_RIGHT},    {"program", COT_ALIGN_LEFT},
		{"class", COT_ALIGN_LEFT},   {"memory", COT_ALIGN_RIGHT},
		{"p99", COT_ALIGN_RIGHT},    {"of its rate", COT_ALIGN_RIGHT},
		{"target", COT_ALIGN_RIGHT}, {"margin", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	uint32_t i, j;

	for (i = 0; i < p->n_gpus; i++)
		for (j = 0; j < p->outcomes[i].n_programs; j++)
			program_row(t, p, i, &p->outcomes[i].programs[j]);
	return cot_table_print(t, out);
}

static int print_gpus(FILE *out, const struct cot_fleet *p)
{
	static const struct cot_column columns[] = {
		{"GPU", COT_ALIGN_RIGHT},    {"programs", COT_ALIGN_RIGHT},
		{"memory", COT_ALIGN_RIGHT}, {"free", COT_ALIGN_RIGHT},
		{"power", COT_ALIGN_RIGHT},  {"simulated", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	uint64_t all = p->workload->memory_bytes;
	struct cot_text text;
	uint32_t i;

	for (i = 0; i < p->n_gpus; i++) {
		const struct cot_plan_outcome *o = &p->outcomes[i];
		uint64_t bytes = cot_plan_memory(p, &p->gpus[i]);

		cot_table_cell(t, "%" PRIu32, i);
		cot_table_cell(t, "%" PRIu32, o->n_programs);
		cot_table_text(t, cot_format_bytes(&text, (double)bytes));
		cot_table_text(t, all ? cot_format_bytes(&text, (double)(all - bytes)) : "-");
		cot_table_cell(t, "%s%.0f W", o->watts_all ? "" : "at least ", o->watts);
		us_cell(t, o->seconds * 1e6);
	}
	return cot_table_print(t, out);
}

static void print_missing(FILE *out, const struct cot_fleet *p)
{
	uint32_t i;

	for (i = 0; i < p->workload->n_jobs; i++)
		if (p->missing[i])
			(void)fprintf(out, "%s: %" PRIu32 " of %" PRIu32 " not placed: %s\n",
				      p->workload->jobs[i].app.name, p->missing[i],
				      p->workload->jobs[i].count, reasons[p->reasons[i]]);
}

int cot_plan_write_text(FILE *out, const void *data)
{
	const struct cot_fleet *p = data;
	const struct cot_workload *w = p->workload;
	char gpu[COT_ORIGIN_GPU_MAX];
	int rc = 0;

	(void)fprintf(out,
		      "%" PRIu32 " of %" PRIu32 " programs on %" PRIu32 " GPU%s of at most %" PRIu32
		      ": %s, policy %s, seed %" PRIu64 "\n\n",
		      p->n_placed, w->n_programs, p->n_gpus, p->n_gpus == 1 ? "" : "s", p->max_gpus,
		      cot_origin_gpu(&w->base.gpu, gpu), w->base.policy, w->base.seed);
	if (p->n_gpus) {
		rc = print_programs(out, p);
		(void)fputs("\n", out);
		rc = rc ? rc : print_gpus(out, p);
	}
	if (p->n_placed < w->n_programs)
		(void)fputs("\n", out);
	print_missing(out, p);
	return rc;
}

/* ---- CSV ---- */

static void print_line(FILE *out, const struct cot_fleet *p, uint32_t gpu,
		       const struct cot_plan_program *o, const struct cot_origin *origin)
{
	const struct cot_job *job = &p->workload->jobs[o->job];
	char name[COT_NAME_MAX];

	(void)fprintf(out, "%" PRIu32 ",", gpu);
	cot_csv_cell_print(out, cot_plan_name(p, o->job, o->number, name), ',');
	cot_csv_cell_print(out, job->app.name, ',');
	(void)fprintf(out, "%s,%" PRIu64 ",", cot_class_words[job->app.cls], job->memory_bytes);
	if (o->n_responses)
		(void)fprintf(out, "%.6g,%.6g,", o->p50_us, o->p99_us);
	else
		(void)fputs(",,", out);
	(void)fprintf(out, "%.6g,", o->runs_per_s);
	if (shows_rate(&job->app))
		(void)fprintf(out, "%.6g", o->part);
	(void)fputs(",", out);
	if (o->target > 0)
		(void)fprintf(out, "%s,%.6g,%.6g,", cot_target_words[job->app.target.kind],
			      o->target, o->margin);
	else
		(void)fputs(",,,", out);
	(void)fprintf(out, "%.6g,", p->outcomes[gpu].watts);
	cot_origin_print_csv(origin, &p->workload->base.gpu, out);
}

int cot_plan_write_csv(FILE *out, const void *data, const struct cot_origin *origin)
{
	const struct cot_fleet *p = data;
	uint32_t i, j;

	(void)fputs("gpu,program,job,class,memory_bytes,p50_us,p99_us,runs_per_s,rate,target,"
		    "target_value,margin,gpu_watts," COT_ORIGIN_CSV_HEAD "\n",
		    out);
	for (i = 0; i < p->n_gpus; i++)
		for (j = 0; j < p->outcomes[i].n_programs; j++)
			print_line(out, p, i, &p->outcomes[i].programs[j], origin);
	return 0;
}

/* ---- JSON ---- */

static json_t *known(bool is, double x)
{
	return is ? cot_json_number(x) : json_null();
}

static json_t *target_of(const struct cot_app *app, const struct cot_plan_program *o)
{
	if (!(o->target > 0))
		return json_null();
	return json_pack("{s:s, s:o, s:o, s:b}", "kind", cot_target_words[app->target.kind],
			 app->target.kind == COT_TARGET_RATE ? "rate" : "p99_us",
			 cot_json_number(o->target), "margin", cot_json_number(o->margin), "kept",
			 (int)o->kept);
}

static json_t *program(const struct cot_fleet *p, const struct cot_plan_program *o)
{
	const struct cot_job *job = &p->workload->jobs[o->job];
	char name[COT_NAME_MAX];
	bool answered = o->n_responses > 0;

	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "name",
			 cot_plan_name(p, o->job, o->number, name), "job", job->app.name, "class",
			 cot_class_words[job->app.cls], "memory_bytes",
			 (json_int_t)job->memory_bytes, "responses", (json_int_t)o->n_responses,
			 "p50_us", known(answered, o->p50_us), "p99_us", known(answered, o->p99_us),
			 "runs_per_s", cot_json_number(o->runs_per_s), "rate",
			 cot_json_number(o->part), "target", target_of(app_of(p, o), o));
}

static json_t *gpu_of(const struct cot_fleet *p, uint32_t gpu)
{
	const struct cot_plan_outcome *o = &p->outcomes[gpu];
	json_t *list = json_array();
	uint32_t i;

	for (i = 0; i < o->n_programs; i++)
		if (json_array_append_new(list, program(p, &o->programs[i]))) {
			json_decref(list);
			return NULL;
		}
	return json_pack("{s:i, s:I, s:o, s:b, s:o, s:o}", "gpu", (int)gpu, "memory_bytes",
			 (json_int_t)cot_plan_memory(p, &p->gpus[gpu]), "watts",
			 cot_json_number(o->watts), "watts_of_all", (int)o->watts_all,
			 "simulated_s", cot_json_number(o->seconds), "programs", list);
}

static json_t *missing_of(const struct cot_fleet *p, uint32_t i)
{
	return json_pack("{s:s, s:i, s:i, s:s}", "job", p->workload->jobs[i].app.name, "programs",
			 (int)p->missing[i], "of", (int)p->workload->jobs[i].count, "why",
			 reasons[p->reasons[i]]);
}

static json_t *alone_of(const struct cot_fleet *p, uint32_t i)
{
	const struct cot_plan_alone *a = &p->alone[i];
	bool answered = a->p99_us > 0;

	return json_pack("{s:s, s:o, s:o, s:o, s:o}", "job", p->workload->jobs[i].app.name,
			 "p50_us", known(answered, a->p50_us), "p99_us", known(answered, a->p99_us),
			 "runs_per_s", cot_json_number(a->runs_per_s), "watts",
			 cot_json_number(a->watts + a->more_watts));
}

static int fill(const struct cot_fleet *p, json_t *gpus, json_t *missing, json_t *alone)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < p->n_gpus && !rc; i++)
		rc = json_array_append_new(gpus, gpu_of(p, i));
	for (i = 0; i < p->workload->n_jobs && !rc; i++) {
		rc = json_array_append_new(alone, alone_of(p, i));
		if (!rc && p->missing[i])
			rc = json_array_append_new(missing, missing_of(p, i));
	}
	return rc;
}

int cot_plan_write_json(FILE *out, const void *data, const struct cot_origin *origin)
{
	const struct cot_fleet *p = data;
	json_t *gpus = json_array(), *missing = json_array(), *alone = json_array();
	int rc = fill(p, gpus, missing, alone);
	json_t *root = json_pack(
		"{s:s, s:I, s:s, s:o, s:i, s:i, s:i, s:o, s:o, s:o}", "schema", "cotenant.plan/1",
		"seed", (json_int_t)p->workload->base.seed, "policy", p->workload->base.policy,
		"margin", cot_json_number(p->margin), "max_gpus", (int)p->max_gpus, "programs",
		(int)p->workload->n_programs, "placed", (int)p->n_placed, "gpus", gpus,
		"not_placed", missing, "alone", alone);

	if (!rc)
		rc = cot_origin_add_json(root, origin, &p->workload->base.gpu);
	if (rc) {
		json_decref(root);
		return -ENOMEM;
	}
	return cot_json_write(root, COT_JSON_INDENTED, out);
}
