/* What the daemon says of pools and programs, as rows: chosen and in order. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/show.h"
#include "cli/top.h"

const char *const cot_top_sort_words[COT_TOP_N_SORTS] = {[COT_TOP_BY_ID] = "id",
							 [COT_TOP_BY_NAME] = "name",
							 [COT_TOP_BY_CLASS] = "class",
							 [COT_TOP_BY_P99] = "p99",
							 [COT_TOP_BY_REQUESTS] = "requests",
							 [COT_TOP_BY_LAUNCHES] = "launches",
							 [COT_TOP_BY_SMS] = "sms",
							 [COT_TOP_BY_FREEZES] = "freezes",
							 [COT_TOP_BY_MEMORY] = "memory",
							 [COT_TOP_BY_POWER] = "power",
							 [COT_TOP_BY_GPU] = "gpu"};

static const double unknown = -1;

/* ---- one row ---- */

static double number_of(const json_t *o, const char *key)
{
	const json_t *value = json_object_get(o, key);

	return json_is_number(value) ? json_number_value(value) : unknown;
}

static void put_state(struct cot_top_row *r, const json_t *o)
{
	cot_show_state(o, r->state, sizeof(r->state));
	r->stuck = json_is_object(json_object_get(o, "thaw_trouble"));
	r->frozen = !strcmp(cot_show_text(o, "state"), "frozen");
	r->slice_us = number_of(o, "slice_us");
	r->freezes = number_of(o, "freezes");
}

static struct cot_top_row blank(const json_t *o)
{
	return (struct cot_top_row){.id = cot_show_number(o, "id"),
				    .weight = unknown,
				    .slice_us = unknown,
				    .sms = unknown,
				    .gpu_sms = unknown,
				    .per_second = unknown,
				    .p99_ms = unknown,
				    .target_ms = unknown,
				    .alone = unknown,
				    .launches = unknown,
				    .freezes = unknown,
				    .evictions = unknown,
				    .programs = unknown,
				    .memory = unknown,
				    .memory_max = unknown,
				    .mean_w = unknown};
}

static struct cot_top_row pool_row(const json_t *o)
{
	struct cot_top_row r = blank(o);

	r.is_pool = true;
	(void)snprintf(r.name, sizeof(r.name), "pool:%s:%lld", cot_show_text(o, "name"),
		       cot_show_number(o, "gpu"));
	(void)snprintf(r.gpus, sizeof(r.gpus), "%lld", cot_show_number(o, "gpu"));
	(void)snprintf(r.class_, sizeof(r.class_), "%s", cot_show_text(o, "mps"));
	r.programs = number_of(o, "tenants");
	put_state(&r, o);
	return r;
}

static void put_gpus(struct cot_top_row *r, const json_t *list)
{
	const json_t *gpu;
	size_t i, used = 0;

	json_array_foreach (list, i, gpu)
		if (used < sizeof(r->gpus))
			used += (size_t)snprintf(r->gpus + used, sizeof(r->gpus) - used, "%s%lld",
						 i ? "," : "", (long long)json_integer_value(gpu));
}

/* Of the last 10 s. */
static void put_requests(struct cot_top_row *r, const json_t *o)
{
	const json_t *window =
		json_array_get(json_object_get(json_object_get(o, "requests"), "windows"), 1);
	const char *judged = json_string_value(json_object_get(window, "judged"));
	const json_t *target = json_object_get(o, "target");

	r->per_second = number_of(window, "per_second");
	if (judged)
		r->p99_ms = number_of(json_object_get(window, judged), "p99_ms");
	r->target_ms = number_of(target, "ms");
	r->alone = number_of(target, "keeps");
	r->missed = r->target_ms > 0 && r->p99_ms > r->target_ms;
}

static void put_share(struct cot_top_row *r, const json_t *o)
{
	static const char *const keys[] = {"reserve", "quota", "sms"};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (json_is_string(json_object_get(o, keys[i])))
			(void)snprintf(r->share, sizeof(r->share), "%s", cot_show_text(o, keys[i]));
}

static struct cot_top_row program_row(const json_t *o)
{
	const json_t *part = json_object_get(o, "part"), *work = json_object_get(o, "work");
	const json_t *memory = json_object_get(o, "memory");
	bool alone = !json_is_string(json_object_get(o, "pool"));
	struct cot_top_row r = blank(o);

	(void)snprintf(r.name, sizeof(r.name), "%s", cot_show_text(o, "name"));
	(void)snprintf(r.class_, sizeof(r.class_), "%s", cot_show_text(o, "class"));
	(void)snprintf(r.pool, sizeof(r.pool), "%s", alone ? "alone" : cot_show_text(o, "pool"));
	r.is_latency = !strcmp(r.class_, "latency");
	r.weight = number_of(o, "weight");
	put_gpus(&r, json_object_get(o, "gpus"));
	put_share(&r, o);
	put_requests(&r, o);
	r.launches = number_of(o, "launches_per_second");
	r.evictions = number_of(work, "evictions");
	r.memory = number_of(memory, "used_bytes");
	if (r.memory < 0)
		r.memory = number_of(memory, "on_gpu_bytes");
	r.memory_max = number_of(memory, "limit_bytes");
	r.mean_w = number_of(json_object_get(o, "energy"), "mean_w");
	if (cot_show_bool(part, "can_be_placed")) {
		r.sms = number_of(part, "sms");
		r.gpu_sms = number_of(part, "gpu_sms");
	} else if (json_is_object(work)) {
		r.sms = number_of(work, "granted") - number_of(work, "evicted");
		r.gpu_sms = number_of(work, "n_sms");
	}
	if (alone)
		put_state(&r, o);
	return r;
}

/* ---- which, and in which order ---- */

static bool matches(const struct cot_top_row *r, const char *filter)
{
	return !*filter || strcasestr(r->name, filter) || strcasestr(r->class_, filter) ||
	       strcasestr(r->pool, filter);
}

/* The largest first, as one looks for it. */
static int fall(double a, double b)
{
	return (a < b) - (a > b);
}

static int compare_by(enum cot_top_sort sort, const struct cot_top_row *a,
		      const struct cot_top_row *b)
{
	switch (sort) {
	case COT_TOP_BY_NAME:
		return strcasecmp(a->name, b->name);
	case COT_TOP_BY_CLASS:
		return (int)b->is_latency - (int)a->is_latency;
	case COT_TOP_BY_P99:
		return fall(a->p99_ms, b->p99_ms);
	case COT_TOP_BY_REQUESTS:
		return fall(a->per_second, b->per_second);
	case COT_TOP_BY_LAUNCHES:
		return fall(a->launches, b->launches);
	case COT_TOP_BY_SMS:
		return fall(a->sms, b->sms);
	case COT_TOP_BY_FREEZES:
		return fall(a->freezes, b->freezes);
	case COT_TOP_BY_MEMORY:
		return fall(a->memory, b->memory);
	case COT_TOP_BY_POWER:
		return fall(a->mean_w, b->mean_w);
	case COT_TOP_BY_GPU:
		return strverscmp(a->gpus, b->gpus);
	default:
		return 0;
	}
}

static int compare(const void *a_, const void *b_, void *view_)
{
	const struct cot_top_row *a = a_, *b = b_;
	const struct cot_top_view *view = view_;
	int order;

	if (a->is_pool != b->is_pool)
		return a->is_pool ? -1 : 1;
	order = a->is_pool ? 0 : compare_by(view->sort, a, b);
	if (!order)
		order = (a->id > b->id) - (a->id < b->id);
	return view->reverse && !a->is_pool ? -order : order;
}

int cot_top_rows_create(const json_t *stats, const struct cot_top_view *view,
			struct cot_top_rows *ret_rows)
{
	const json_t *pools = json_object_get(stats, "pools"), *o;
	const json_t *tenants = json_object_get(stats, "tenants");
	struct cot_top_rows rows = {.n = 0};
	size_t i;

	rows.row = calloc(json_array_size(pools) + json_array_size(tenants) + 1, sizeof(*rows.row));
	if (!rows.row)
		return -ENOMEM;
	json_array_foreach (pools, i, o)
		rows.row[rows.n++] = pool_row(o);
	json_array_foreach (tenants, i, o) {
		rows.row[rows.n] = program_row(o);
		rows.n += matches(&rows.row[rows.n], view->filter);
	}
	qsort_r(rows.row, rows.n, sizeof(*rows.row), compare, (void *)view);
	*ret_rows = rows;
	return 0;
}

void cot_top_rows_destroy(struct cot_top_rows *rows)
{
	free(rows->row);
	*rows = (struct cot_top_rows){.n = 0};
}
