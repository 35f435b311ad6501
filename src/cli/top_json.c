#include "report/json.h"

#include "cli/top.h"

#define SCHEMA "cotenant.top/1"

static void put_text(json_t *o, const char *key, const char *text)
{
	if (*text)
		(void)json_object_set_new(o, key, json_string(text));
}

/* What is not known is left out. */
static void put_number(json_t *o, const char *key, double number)
{
	if (number >= 0)
		(void)json_object_set_new(o, key, cot_json_number(number));
}

static void put_count(json_t *o, const char *key, double number)
{
	if (number >= 0)
		(void)json_object_set_new(o, key, json_integer((json_int_t)number));
}

static json_t *row_json(const struct cot_top_row *row)
{
	json_t *o = json_pack("{s:s, s:b, s:b}", "name", row->name, "frozen", row->frozen, "stuck",
			      row->stuck);

	put_text(o, "gpus", row->gpus);
	put_text(o, "state", row->state);
	put_count(o, "slice_us", row->slice_us);
	put_count(o, "freezes", row->freezes);
	if (row->is_pool) {
		put_count(o, "programs", row->programs);
		return o;
	}
	(void)json_object_set_new(o, "id", json_integer(row->id));
	(void)json_object_set_new(o, "target_missed", json_boolean(row->missed));
	put_text(o, "class", row->class_);
	put_text(o, "pool", row->pool);
	put_text(o, "share", row->share);
	put_count(o, "weight", row->weight);
	put_count(o, "sms", row->sms);
	put_count(o, "gpu_sms", row->gpu_sms);
	put_number(o, "requests_per_s", row->per_second);
	put_number(o, "p99_ms", row->p99_ms);
	put_number(o, "target_p99_ms", row->target_ms);
	put_number(o, "rate_of_alone", row->alone);
	put_number(o, "launches_per_s", row->launches);
	put_count(o, "evictions", row->evictions);
	put_count(o, "memory_bytes", row->memory);
	put_count(o, "memory_max_bytes", row->memory_max);
	put_number(o, "mean_w", row->mean_w);
	return o;
}

json_t *cot_top_json(const struct cot_top_rows *rows)
{
	json_t *o = json_pack("{s:s, s:[], s:[]}", "schema", SCHEMA, "pools", "programs");
	size_t i;

	for (i = 0; i < rows->n; i++) {
		const struct cot_top_row *row = &rows->row[i];

		(void)json_array_append_new(json_object_get(o, row->is_pool ? "pools" : "programs"),
					    row_json(row));
	}
	return o;
}
