/* What a recording comes to: tables and JSON. */
#include "report/recording.h"

#include <inttypes.h>
#include <string.h>

#include "base/quantity.h"
#include "report/format.h"
#include "report/json.h"

double cot_recording_limit_ms(const struct cot_record_program *p)
{
	struct cot_quantity q;

	if (strcmp(p->target_kind, "p99") != 0 || !cot_quantity_read(p->target, COT_UNIT_US, &q))
		return 0;
	return q.number / 1e3;
}

const struct cot_record_times *cot_recording_times(const struct cot_record_total *t)
{
	return &t->times[t->times[COT_RECORD_RESPONSE].n ? COT_RECORD_RESPONSE
							 : COT_RECORD_SERVICE];
}

void cot_recording_describe(const struct cot_record *r, char text[COT_RECORDING_DESCRIPTION_MAX])
{
	struct cot_text time;

	(void)snprintf(text, COT_RECORDING_DESCRIPTION_MAX, "%s%spolicy %s, %u program%s, %s",
		       r->gpu, r->gpu[0] ? ", " : "", r->policy[0] ? r->policy : "none",
		       r->n_programs, r->n_programs == 1 ? "" : "s",
		       cot_format_us(&time, r->end_ms * 1e3));
}

static void time_cell(struct cot_table *t, uint64_t n, double ms)
{
	struct cot_text text;

	cot_table_text(t, n ? cot_format_us(&text, ms * 1e3) : "");
}

static void count_cell(struct cot_table *t, uint64_t n)
{
	struct cot_text text;

	cot_table_text(t, n ? cot_format_count(&text, n) : "");
}

static void rate_cell(struct cot_table *t, double per_s)
{
	struct cot_text text;

	cot_table_text(t, per_s > 0 ? cot_format_ratio(&text, per_s) : "");
}

static uint64_t last_freezes(const struct cot_record *r, uint32_t program)
{
	uint64_t n = 0;
	uint32_t i;

	for (i = 0; i < r->n_points; i++)
		if (r->points[i].program == program)
			n = r->points[i].freezes;
	return n;
}

struct cot_table *cot_recording_table(const struct cot_record *r)
{
	static const struct cot_column columns[] = {
		{"program", COT_ALIGN_LEFT},  {"class", COT_ALIGN_LEFT},
		{"target", COT_ALIGN_LEFT},   {"requests", COT_ALIGN_RIGHT},
		{"per s", COT_ALIGN_RIGHT},   {"p50", COT_ALIGN_RIGHT},
		{"p95", COT_ALIGN_RIGHT},     {"p99", COT_ALIGN_RIGHT},
		{"missed", COT_ALIGN_RIGHT},  {"launches/s", COT_ALIGN_RIGHT},
		{"freezes", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	struct cot_record_total total;
	uint32_t i;

	for (i = 0; i < r->n_programs; i++) {
		const struct cot_record_program *p = &r->programs[i];
		const struct cot_record_times *times;

		cot_record_sum_up(r, i, &total);
		times = cot_recording_times(&total);
		cot_table_text(t, p->name);
		cot_table_text(t, p->class_);
		cot_table_cell(t, "%s%s%s", p->target_kind, p->target[0] ? " " : "", p->target);
		count_cell(t, total.requests);
		rate_cell(t, total.per_s);
		time_cell(t, times->n, times->p50_ms);
		time_cell(t, times->n, times->p95_ms);
		time_cell(t, times->n, times->p99_ms);
		count_cell(t, total.missed);
		rate_cell(t, total.launches_per_s);
		count_cell(t, last_freezes(r, i));
	}
	cot_table_drop_empty(t);
	return t;
}

static json_t *times_json(const struct cot_record_times *t)
{
	if (!t->n)
		return json_null();
	return json_pack("{s:I, s:o, s:o, s:o}", "n", (json_int_t)t->n, "p50_ms",
			 cot_json_number(t->p50_ms), "p95_ms", cot_json_number(t->p95_ms), "p99_ms",
			 cot_json_number(t->p99_ms));
}

static json_t *number_or_null(double x)
{
	return x > 0 ? cot_json_number(x) : json_null();
}

static json_t *program_json(const struct cot_record *r, uint32_t i)
{
	const struct cot_record_program *p = &r->programs[i];
	struct cot_record_total t;

	cot_record_sum_up(r, i, &t);
	return json_pack("{s:I, s:s, s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:o, s:b, s:o, s:o, s:o}",
			 "id", (json_int_t)p->id, "name", p->name, "class", p->class_,
			 "target_kind", p->target_kind, "target", p->target, "from_ms",
			 cot_json_number(t.from_ms), "to_ms", cot_json_number(t.to_ms), "requests",
			 (json_int_t)t.requests, "missed", (json_int_t)t.missed,
			 "requests_per_second", number_or_null(t.per_s), "exact", t.exact,
			 "response", times_json(&t.times[COT_RECORD_RESPONSE]), "service",
			 times_json(&t.times[COT_RECORD_SERVICE]), "launches_per_second",
			 number_or_null(t.launches_per_s));
}

json_t *cot_recording_json(const struct cot_record *r)
{
	json_t *programs = json_array();
	uint32_t i;

	for (i = 0; i < r->n_programs; i++)
		if (json_array_append_new(programs, program_json(r, i))) {
			json_decref(programs);
			return NULL;
		}
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:o}", "schema",
			 "cotenant.report/1", "gpu", r->gpu, "policy", r->policy, "started",
			 r->started, "end", r->end, "duration_ms", cot_json_number(r->end_ms),
			 "samples", (json_int_t)r->n_samples, "changes", (json_int_t)r->n_changes,
			 "decisions", (json_int_t)r->n_decisions, "programs", programs);
}
