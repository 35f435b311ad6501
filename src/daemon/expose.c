#include "daemon/expose.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

const struct cot_family cot_families[] = {
#define FAMILY(name, type, scope, key, how, scale, help) \
	{name, COT_FAMILY_##type, OF_##scope, key, BY_##how, scale, help},
#include "daemon/families.def"
#undef FAMILY
};
const size_t cot_n_families = COT_ARRAY_LEN(cot_families);

const char *const cot_family_types[] = {[COT_FAMILY_GAUGE] = "gauge",
					[COT_FAMILY_COUNTER] = "counter",
					[COT_FAMILY_HISTOGRAM] = "histogram"};

struct page {
	FILE *out;
	const json_t *stats;
	const struct cot_family *family; /* of the samples that follow */
	bool begun;			 /* its head is written */
	unsigned n_labels;		 /* of this sample, until now */
};

/* ---- values ---- */

/* The value at a path of keys with dots between them. A * stands for `star`. */
static const json_t *at(const json_t *o, const char *path, const char *star)
{
	char key[32];

	while (o && *path) {
		size_t n = strcspn(path, ".");

		(void)snprintf(key, sizeof(key), "%.*s", (int)n, path);
		o = json_object_get(o, *path == '*' ? star : key);
		path += n + (path[n] == '.');
	}
	return o;
}

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

/* Of the last 10 s, of the figure that a target is about. */
static const json_t *p99_of(const json_t *requests)
{
	const json_t *window = json_array_get(json_object_get(requests, "windows"), 1);
	const char *judged = text_of(window, "judged");

	return judged ? json_object_get(json_object_get(window, judged), "p99_ms") : NULL;
}

/* False: there is none. */
static bool value_of(const struct cot_family *f, const json_t *value, double *ret)
{
	const char *word = json_string_value(value);

	if (f->how == BY_P99)
		value = p99_of(value);
	if (!value)
		return false;
	switch (f->how) {
	case BY_TRUTH:
		*ret = json_is_true(value);
		return json_is_boolean(value);
	case BY_THERE:
		*ret = !json_is_null(value);
		return true;
	case BY_SIZE:
		*ret = (double)json_array_size(value);
		return true;
	case BY_UP:
	case BY_FROZEN:
		*ret = word && !strcmp(word, f->how == BY_UP ? "up" : "frozen");
		return word != NULL;
	case BY_INFO:
		*ret = 1;
		return true;
	default:
		*ret = json_number_value(value) * f->scale;
		return json_is_number(value) && (f->how != BY_NONZERO || *ret != 0);
	}
}

/* ---- labels ---- */

static void begin_label(struct page *p, const char *name)
{
	(void)fprintf(p->out, "%c%s=\"", p->n_labels++ ? ',' : '{', name);
}

static void put_label(struct page *p, const char *name, const char *value)
{
	FILE *out = p->out;

	if (!value)
		return;
	begin_label(p, name);
	for (; *value; value++) {
		if (*value == '\n')
			(void)fputs("\\n", out);
		else if (*value == '"' || *value == '\\')
			(void)fprintf(out, "\\%c", *value);
		else
			(void)fputc(*value, out);
	}
	(void)fputc('"', out);
}

static void put_number_label(struct page *p, const char *name, const json_t *value)
{
	if (!json_is_integer(value))
		return;
	begin_label(p, name);
	(void)fprintf(p->out, "%lld\"", (long long)json_integer_value(value));
}

/* Of a GPU, as DCGM calls them, so that the two can be joined. */
static void put_gpu(struct page *p, const json_t *index)
{
	const json_t *gpu = json_array_get(json_object_get(p->stats, "gpus"),
					   (size_t)json_integer_value(index));

	put_number_label(p, "gpu", index);
	put_label(p, "UUID", text_of(gpu, "uuid"));
}

/* Of several, "0,1"; they have no single UUID. */
static void put_gpus(struct page *p, const json_t *list)
{
	const json_t *index;
	size_t i;

	if (json_array_size(list) == 1) {
		put_gpu(p, json_array_get(list, 0));
		return;
	}
	if (!json_array_size(list))
		return;
	begin_label(p, "gpu");
	json_array_foreach (list, i, index)
		(void)fprintf(p->out, "%s%lld", i ? "," : "", (long long)json_integer_value(index));
	(void)fputc('"', p->out);
}

static void put_info(struct page *p, const json_t *o)
{
	switch (p->family->scope) {
	case OF_DAEMON:
		put_label(p, "policy", text_of(json_object_get(o, "daemon"), "policy"));
		put_label(p, "wanted", text_of(json_object_get(o, "daemon"), "policy_wanted"));
		return;
	case OF_GPU:
		put_label(p, "model", text_of(o, "model"));
		return;
	case OF_PROGRAM:
		put_label(p, "pool", text_of(o, "pool"));
		put_number_label(p, "uid", json_object_get(o, "uid"));
		put_number_label(p, "pid", json_object_get(o, "pid"));
		return;
	default:
		return;
	}
}

static void put_labels(struct page *p, const json_t *o)
{
	switch (p->family->scope) {
	case OF_GPU:
		put_gpu(p, json_object_get(o, "index"));
		break;
	case OF_POOL:
		put_label(p, "pool", text_of(o, "name"));
		put_gpu(p, json_object_get(o, "gpu"));
		break;
	case OF_PROGRAM:
		put_label(p, "program", text_of(o, "name"));
		put_number_label(p, "id", json_object_get(o, "id"));
		put_label(p, "class", text_of(o, "class"));
		put_gpus(p, json_object_get(o, "gpus"));
		break;
	default:
		break;
	}
	if (p->family->how == BY_INFO)
		put_info(p, o);
}

/* ---- samples ---- */

static void begin(struct page *p)
{
	const struct cot_family *f = p->family;

	if (p->begun)
		return;
	p->begun = true;
	(void)fprintf(p->out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name,
		      cot_family_types[f->type]);
}

/* One line; `label` comes after the object's labels, if it has a value. */
static void put_sample(struct page *p, const json_t *o, const char *suffix, const char *label,
		       const char *value, double number)
{
	begin(p);
	(void)fprintf(p->out, "%s%s", p->family->name, suffix);
	p->n_labels = 0;
	put_labels(p, o);
	put_label(p, label, value);
	(void)fprintf(p->out, "%s %.15g\n", p->n_labels ? "}" : "", number);
}

static void put_each(struct page *p, const json_t *o, const char *label, const char *const *keys,
		     size_t n)
{
	double number;
	size_t i;

	for (i = 0; i < n; i++)
		if (value_of(p->family, at(o, p->family->key, keys[i]), &number))
			put_sample(p, o, "", label, keys[i], number);
}

static void put_buckets(struct page *p, const json_t *o)
{
	const json_t *b = at(o, p->family->key, NULL), *n;
	const json_t *up_to = at(o, "requests.totals.up_to_ms", NULL);
	double sum = 0, scale = p->family->scale;
	char le[32];
	size_t i;

	if (!json_is_object(b))
		return;
	json_array_foreach (json_object_get(b, "counts"), i, n) {
		sum += json_number_value(n);
		if (i < json_array_size(up_to))
			(void)snprintf(le, sizeof(le), "%.15g",
				       json_number_value(json_array_get(up_to, i)) * scale);
		else
			(void)snprintf(le, sizeof(le), "+Inf");
		put_sample(p, o, "_bucket", "le", le, sum);
	}
	put_sample(p, o, "_sum", NULL, NULL,
		   json_number_value(json_object_get(b, "sum_ms")) * scale);
	put_sample(p, o, "_count", NULL, NULL, sum);
}

static void put_object(struct page *p, const json_t *o)
{
	static const char *const actions[] = {"slice", "mode",	"freeze", "thaw",
					      "grant", "evict", "place"};
	static const char *const places[] = {"workers", "on_part", "elsewhere", "on_cpu"};
	double number;

	switch (p->family->how) {
	case BY_ACTIONS:
		put_each(p, o, "action", actions, COT_ARRAY_LEN(actions));
		return;
	case BY_LAUNCHES:
		put_each(p, o, "where", places, COT_ARRAY_LEN(places));
		return;
	case BY_BUCKETS:
		put_buckets(p, o);
		return;
	default:
		if (value_of(p->family, at(o, p->family->key, NULL), &number))
			put_sample(p, o, "", NULL, NULL, number);
	}
}

static void put_family(struct page *p)
{
	static const char *const lists[] = {
		[OF_GPU] = "gpus", [OF_POOL] = "pools", [OF_PROGRAM] = "tenants"};
	const json_t *o;
	size_t i;

	p->begun = false;
	if (p->family->scope == OF_DAEMON) {
		put_object(p, p->stats);
		return;
	}
	json_array_foreach (json_object_get(p->stats, lists[p->family->scope]), i, o)
		put_object(p, o);
}

char *cot_expose(const json_t *stats)
{
	struct page page = {.stats = stats};
	char *text = NULL;
	bool failed;
	size_t i, size;

	page.out = open_memstream(&text, &size);
	if (!page.out)
		return NULL;
	for (i = 0; i < cot_n_families; i++) {
		page.family = &cot_families[i];
		put_family(&page);
	}
	failed = ferror(page.out);
	if (fclose(page.out) != 0 || failed) {
		free(text);
		return NULL;
	}
	return text;
}
