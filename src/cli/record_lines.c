/* Lines of a recording from what the daemon says. */
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/record.h"
#include "cli/show.h"
#include "record/record.h"

/* Texts of the daemon are short; what is longer is cut where no character is. */
static void cut(const char *text, char *ret, size_t size)
{
	size_t n = strlen(text);

	if (n >= size) {
		n = size - 1;
		while (n && (text[n] & 0xc0) == 0x80)
			n--;
	}
	memcpy(ret, text, n);
	ret[n] = '\0';
}

static void put_text(json_t *o, const char *key, const char *text, size_t size)
{
	char copy[COT_RECORD_TEXT_MAX];

	if (!text || !*text)
		return;
	cut(text, copy, size < sizeof(copy) ? size : sizeof(copy));
	(void)json_object_set_new(o, key, json_string(copy));
}

static void put_real(json_t *o, const char *key, double number)
{
	if (number > 0)
		(void)json_object_set_new(o, key, json_real(number));
}

static void put_count(json_t *o, const char *key, long long number)
{
	if (number > 0)
		(void)json_object_set_new(o, key, json_integer(number));
}

json_t *cot_record_head(const json_t *stats, double interval_ms, const char *version,
			const char *started)
{
	const json_t *gpu = json_array_get(json_object_get(stats, "gpus"), 0);
	json_t *o = json_object();

	put_text(o, "schema", COT_RECORD_SCHEMA, 32);
	put_text(o, "version", version, 32);
	put_text(o, "started", started, 32);
	put_text(o, "gpu", json_string_value(json_object_get(gpu, "model")), 64);
	(void)json_object_set_new(o, "interval_ms", json_real(interval_ms));
	return o;
}

/* ---- samples ---- */

/* What the hardware switches: the program, or the pool that it is in. */
static const json_t *entity_of(const json_t *stats, const json_t *tenant)
{
	const char *name = json_string_value(json_object_get(tenant, "pool"));
	const json_t *gpu = json_array_get(json_object_get(tenant, "gpus"), 0), *pool;
	size_t i;

	if (!name)
		return tenant;
	json_array_foreach (json_object_get(stats, "pools"), i, pool)
		if (!strcmp(cot_show_text(pool, "name"), name) &&
		    cot_show_number(pool, "gpu") == json_integer_value(gpu))
			return pool;
	return tenant;
}

static void put_times(json_t *o, const char *key, const json_t *times)
{
	static const char *const keys[] = {"p50_ms", "p95_ms", "p99_ms"};
	json_t *copy;
	unsigned i;

	if (!json_is_object(times))
		return;
	copy = json_object();
	(void)json_object_set_new(copy, "n", json_integer(cot_show_number(times, "n")));
	for (i = 0; i < COT_ARRAY_LEN(keys); i++)
		(void)json_object_set_new(copy, keys[i], json_real(cot_show_real(times, keys[i])));
	(void)json_object_set_new(o, key, copy);
}

static void put_requests(json_t *o, const json_t *requests)
{
	const json_t *windows = json_object_get(requests, "windows"), *window;
	size_t i;

	put_count(o, "requests", cot_show_number(requests, "count"));
	put_count(o, "missed", cot_show_number(json_object_get(requests, "totals"), "missed"));
	json_array_foreach (windows, i, window) {
		bool minute = cot_show_real(window, "seconds") >= 60;

		if (!minute && cot_show_real(window, "seconds") > 1)
			continue;
		put_times(o, minute ? "response_60s" : "response_1s",
			  json_object_get(window, "response"));
		put_times(o, minute ? "service_60s" : "service_1s",
			  json_object_get(window, "service"));
	}
}

/* "0", or "0,1". */
static void put_gpus(json_t *o, const json_t *gpus)
{
	char text[COT_RECORD_TEXT_MAX] = "";
	const json_t *gpu;
	size_t i, n = 0;

	json_array_foreach (gpus, i, gpu)
		if (n + 8 < sizeof(text))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%u", n ? "," : "",
					      (unsigned)json_integer_value(gpu) %
						      COT_RECORD_GPUS_MAX);
	put_text(o, "gpus", text, sizeof(text));
}

static json_t *program(const json_t *stats, const json_t *tenant)
{
	const json_t *entity = entity_of(stats, tenant);
	const json_t *target = json_object_get(tenant, "target");
	const json_t *part = json_object_get(tenant, "part");
	json_t *o = json_object();

	(void)json_object_set_new(o, "id", json_integer(cot_show_number(tenant, "id")));
	put_text(o, "name", cot_show_text(tenant, "name"), 64);
	put_text(o, "class", cot_show_text(tenant, "class"), 16);
	put_gpus(o, json_object_get(tenant, "gpus"));
	put_text(o, "pool", json_string_value(json_object_get(tenant, "pool")), 64);
	put_text(o, "target_kind", json_string_value(json_object_get(target, "kind")), 16);
	put_text(o, "target", json_string_value(json_object_get(target, "amount")), 32);
	put_text(o, "sms", json_string_value(json_object_get(tenant, "sms")), 32);
	put_count(o, "weight", cot_show_number(tenant, "weight"));
	put_real(o, "launches_per_s", cot_show_real(tenant, "launches_per_second"));
	put_real(o, "slice_us", (double)cot_show_number(entity, "slice_us"));
	put_text(o, "state", json_string_value(json_object_get(entity, "state")), 16);
	put_count(o, "freezes", cot_show_number(entity, "freezes"));
	if (cot_show_has_part(tenant))
		put_real(o, "has_sms", (double)cot_show_number(part, "sms"));
	put_requests(o, json_object_get(tenant, "requests"));
	return o;
}

/* Orders that were sent, of all kinds. */
static long long decisions(const json_t *stats)
{
	const json_t *kind;
	long long n = 0;
	const char *key;

	json_object_foreach ((json_t *)(uintptr_t)json_object_get(stats, "core"), key, kind)
		n += cot_show_number(kind, "sent");
	return n;
}

json_t *cot_record_sample(const json_t *stats, double at_ms)
{
	json_t *o = json_object(), *programs = json_array();
	const json_t *tenant;
	size_t i;

	(void)json_object_set_new(o, "at_ms", json_real(at_ms));
	put_text(o, "policy", cot_show_text(json_object_get(stats, "daemon"), "policy"), 32);
	put_count(o, "decisions", decisions(stats));
	json_array_foreach (json_object_get(stats, "tenants"), i, tenant)
		if (i < COT_RECORD_PROGRAMS_MAX)
			(void)json_array_append_new(programs, program(stats, tenant));
	(void)json_object_set_new(o, "programs", programs);
	return o;
}

/* ---- changes ---- */

struct change {
	const char *who, *what;
	const json_t *from, *to; /* NULL or null: nothing */
};

static void put_value(json_t *o, const char *key, const json_t *value)
{
	char text[32];

	if (json_is_string(value)) {
		put_text(o, key, json_string_value(value), 64);
	} else if (json_is_number(value)) {
		(void)snprintf(text, sizeof(text), "%.10g", json_number_value(value));
		put_text(o, key, text, sizeof(text));
	} else if (json_is_boolean(value)) {
		put_text(o, key, json_is_true(value) ? "yes" : "no", 64);
	}
}

/* The facts that are texts, and the remarks of the others. */
static void put_why(json_t *o, const json_t *answer)
{
	char words[4 * COT_RECORD_TEXT_MAX] = "";
	const json_t *fact;
	size_t i, n = 0;

	json_array_foreach (json_object_get(answer, "facts"), i, fact) {
		const char *text = json_string_value(json_object_get(fact, "text"));

		if (text && n < sizeof(words) - 1)
			n += (size_t)snprintf(words + n, sizeof(words) - n, "%s%s: %s",
					      n ? "; " : "", cot_show_text(fact, "name"), text);
	}
	if (n < sizeof(words))
		put_text(o, "why", words, COT_RECORD_TEXT_MAX);
}

static void tell(const struct change *c, double at_ms, const json_t *why,
		 const struct cot_record_sink *sink)
{
	json_t *o = json_object();

	(void)json_object_set_new(o, "at_ms", json_real(at_ms));
	put_text(o, "who", c->who, COT_RECORD_TEXT_MAX);
	put_text(o, "change", c->what, 32);
	put_value(o, "from", c->from);
	put_value(o, "to", c->to);
	if (json_is_string(why))
		put_text(o, "why", json_string_value(why), COT_RECORD_TEXT_MAX);
	else
		put_why(o, why);
	sink->write(sink->arg, o);
}

static bool same(const json_t *a, const json_t *b)
{
	return (!a || json_is_null(a))
		       ? (!b || json_is_null(b))
		       : b && json_equal((json_t *)(uintptr_t)a, (json_t *)(uintptr_t)b);
}

static const json_t *by_id(const json_t *list, long long id)
{
	const json_t *o;
	size_t i;

	json_array_foreach (list, i, o)
		if (cot_show_number(o, "id") == id)
			return o;
	return NULL;
}

/* What of a pool or program, and what of an object in it. */
static const struct {
	const char *of, *key, *name;
} watched[] = {
	{NULL, "class", "class"},	{NULL, "weight", "weight"},
	{NULL, "pool", "pool"},		{NULL, "quota", "quota"},
	{NULL, "reserve", "reserve"},	{NULL, "sms", "SMs asked for"},
	{"target", "amount", "target"}, {NULL, "slice_us", "slice_us"},
	{NULL, "state", "state"},	{NULL, "held", "held"},
	{NULL, "freezes", "freezes"},	{"part", "sms", "SMs"},
	{"part", "first", "first SM"},	{"part", "pace_us", "pace_us"},
};

static const json_t *member(const json_t *o, unsigned i)
{
	return json_object_get(watched[i].of ? json_object_get(o, watched[i].of) : o,
			       watched[i].key);
}

static void compare_one(const json_t *a, const json_t *b, const char *who, double at_ms,
			bool may_ask, const struct cot_record_sink *sink)
{
	json_t *why = NULL;
	bool asked = !may_ask;
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(watched); i++) {
		const struct change c = {who, watched[i].name, member(a, i), member(b, i)};

		if (same(c.from, c.to))
			continue;
		if (!asked)
			why = sink->explain(sink->arg, cot_show_number(b, "id"));
		asked = true;
		tell(&c, at_ms, why, sink);
	}
	json_decref(why);
}

static void compare_programs(const json_t *before, const json_t *now, double at_ms,
			     const struct cot_record_sink *sink)
{
	const json_t *a, *b;
	size_t i;

	json_array_foreach (before, i, a)
		if (!by_id(now, cot_show_number(a, "id")))
			tell(&(struct change){cot_show_text(a, "name"), "ended",
					      json_object_get(a, "class"), NULL},
			     at_ms, NULL, sink);
	json_array_foreach (now, i, b) {
		a = by_id(before, cot_show_number(b, "id"));
		if (a)
			compare_one(a, b, cot_show_text(b, "name"), at_ms, true, sink);
		else
			tell(&(struct change){cot_show_text(b, "name"), "began", NULL,
					      json_object_get(b, "class")},
			     at_ms, NULL, sink);
	}
}

static void compare_pools(const json_t *before, const json_t *now, double at_ms,
			  const struct cot_record_sink *sink)
{
	const json_t *a, *b;
	char who[64];
	size_t i;

	json_array_foreach (now, i, b) {
		a = by_id(before, cot_show_number(b, "id"));
		(void)snprintf(who, sizeof(who), "pool:%.32s:%lld", cot_show_text(b, "name"),
			       cot_show_number(b, "gpu"));
		if (a)
			compare_one(a, b, who, at_ms, false, sink);
	}
}

void cot_record_compare(const json_t *before, const json_t *now, double at_ms,
			const struct cot_record_sink *sink)
{
	const json_t *a = json_object_get(before, "daemon"), *b = json_object_get(now, "daemon");
	const struct change policy = {"daemon", "policy", json_object_get(a, "policy"),
				      json_object_get(b, "policy")};

	if (!same(policy.from, policy.to))
		tell(&policy, at_ms, json_object_get(b, "policy_reason"), sink);
	compare_pools(json_object_get(before, "pools"), json_object_get(now, "pools"), at_ms, sink);
	compare_programs(json_object_get(before, "tenants"), json_object_get(now, "tenants"), at_ms,
			 sink);
}
