#include "trace/contention.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"

#define COUNT_MAX 1e15
#define RATE_MAX  1e18
#define SCHEMA	  "cotenant.contention/1"

struct reader {
	const char *name;
	uint32_t line;
	struct cot_contention *out;
	uint32_t n_room; /* of runs */
	struct cot_error *err;
};

static int fail(struct reader *r, const char *what, const char *expected)
{
	return cot_error_set(r->err, -EINVAL, "%s:%u: %s; expected %s", r->name, r->line, what,
			     expected);
}

/* ---- values ---- */

static int number(struct reader *r, const json_t *object, const char *key, double min, double max,
		  double *ret)
{
	const json_t *value = json_object_get(object, key);
	double x = json_number_value(value);

	if (!value)
		return cot_error_set(r->err, -EINVAL,
				     "%s:%u: the key '%s' is missing; expected a "
				     "number",
				     r->name, r->line, key);
	if (!json_is_number(value) || !(x >= min && x <= max))
		return cot_error_set(r->err, -EINVAL,
				     "%s:%u: '%s' is no number within its limits; expected one "
				     "from %.10g to %.10g",
				     r->name, r->line, key, min, max);
	*ret = x;
	return 0;
}

static int whole(struct reader *r, const json_t *object, const char *key, uint32_t min,
		 uint32_t max, uint32_t *ret)
{
	double x = 0;
	int rc = number(r, object, key, min, max, &x);

	if (rc)
		return rc;
	if (x - (uint32_t)x > 0)
		return cot_error_set(r->err, -EINVAL,
				     "%s:%u: '%s' is %.10g; expected a whole number", r->name,
				     r->line, key, x);
	*ret = (uint32_t)x;
	return 0;
}

static int text(struct reader *r, const json_t *object, const char *key, bool needed, char *ret,
		size_t size)
{
	const json_t *value = json_object_get(object, key);

	ret[0] = '\0';
	if (!value && !needed)
		return 0;
	if (!json_is_string(value) || json_string_length(value) >= size ||
	    strlen(json_string_value(value)) != json_string_length(value) ||
	    (needed && !json_string_length(value)))
		return cot_error_set(r->err, -EINVAL,
				     "%s:%u: '%s' is missing or no text of this length; expected "
				     "%d to %zu bytes",
				     r->name, r->line, key, needed, size - 1);
	(void)snprintf(ret, size, "%s", json_string_value(value));
	return 0;
}

/* ---- lines ---- */

static int read_machine(struct reader *r, const json_t *object)
{
	struct cot_contention *out = r->out;
	char schema[COT_NAME_MAX];
	int rc;

	if (out->sms)
		return fail(r, "a second line of the kind 'machine'", "one");
	rc = text(r, object, "schema", true, schema, sizeof(schema));
	if (!rc && strcmp(schema, SCHEMA) != 0)
		return fail(r, "the schema is another", "\"" SCHEMA "\"");
	if (!rc)
		rc = text(r, object, "gpu", true, out->gpu, sizeof(out->gpu));
	if (!rc)
		rc = text(r, object, "driver", false, out->driver, sizeof(out->driver));
	if (!rc)
		rc = text(r, object, "date", false, out->date, sizeof(out->date));
	if (!rc)
		rc = text(r, object, "command", false, out->command, sizeof(out->command));
	return rc ? rc : whole(r, object, "sms", 1, COT_MAX_SMS, &out->sms);
}

static uint32_t find_kernel(const struct cot_contention *c, const char *name)
{
	uint32_t i;

	for (i = 0; i < c->n_kernels; i++)
		if (!strcmp(c->kernels[i].name, name))
			return i;
	return UINT32_MAX;
}

static int read_kernel(struct reader *r, const json_t *object)
{
	struct cot_contention *out = r->out;
	struct cot_contention_kernel k = {.name = ""};
	const struct {
		const char *key;
		double min, *value;
	} counts[] = {
		{"insts", 1, &k.insts},
		{"fma", 0, &k.fma},
		{"dfma", 0, &k.dfma},
		{"whole", 0, &k.whole},
		{"special", 0, &k.special},
		{"shared", 0, &k.shared},
		{"loads", 0, &k.loads},
		{"stores", 0, &k.stores},
		{"read_bytes", 0, &k.read_bytes},
		{"written_bytes", 0, &k.written_bytes},
	};
	size_t i;
	int rc = text(r, object, "kernel", true, k.name, sizeof(k.name));

	if (!rc && find_kernel(out, k.name) != UINT32_MAX)
		return fail(r, "the kernel was described before", "each once");
	if (!rc && out->n_kernels == COT_CONTENTION_KERNELS_MAX)
		return fail(r, "too many kernels", "at most 64");
	if (!rc)
		rc = whole(r, object, "loads_ahead", 0, 64, &k.loads_ahead);
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]) && !rc; i++)
		rc = number(r, object, counts[i].key, counts[i].min, COUNT_MAX, counts[i].value);
	if (!rc && k.loads + k.stores > k.insts)
		return fail(r, "more loads and stores than instructions", "fewer");
	if (!rc)
		out->kernels[out->n_kernels++] = k;
	return rc;
}

static int read_memory(struct reader *r, const json_t *object, enum cot_contention_memory *ret)
{
	static const char *const names[COT_CONTENTION_N_MEMORIES] = {"none", "dram", "l2"};
	char name[8];
	unsigned i;
	int rc = text(r, object, "memory", true, name, sizeof(name));

	if (rc)
		return rc;
	for (i = 0; i < COT_CONTENTION_N_MEMORIES; i++) {
		if (!strcmp(names[i], name)) {
			*ret = (enum cot_contention_memory)i;
			return 0;
		}
	}
	return fail(r, "'memory' is another word", "none, dram or l2");
}

/* A kernel that shares SMs may get nothing at all. */
static int read_part(struct reader *r, const json_t *object, bool may_starve,
		     struct cot_contention_part *part)
{
	double chunks_min = may_starve ? 0 : 1e-9;
	char name[COT_NAME_MAX];
	uint32_t n_late;
	int rc = text(r, object, "kernel", true, name, sizeof(name));

	if (rc)
		return rc;
	part->kernel = find_kernel(r->out, name);
	if (part->kernel == UINT32_MAX)
		return fail(r, "the kernel is not described", "a line of the kind 'kernel' before");
	rc = read_memory(r, object, &part->memory);
	if (!rc)
		rc = whole(r, object, "warps", 1, COT_CONTENTION_WARPS_MAX, &part->warps);
	if (!rc)
		rc = whole(r, object, "sms", 1, r->out->sms, &part->sms);
	if (!rc)
		rc = number(r, object, "chunks_per_s", chunks_min, RATE_MAX, &part->chunks_per_s);
	if (!rc)
		rc = number(r, object, "mhz", part->chunks_per_s > 0 ? 1 : 0, 1e5, &part->mhz);
	if (!rc)
		rc = whole(r, object, "n_late", 0, UINT32_MAX, &n_late);
	if (!rc && n_late)
		return fail(r, "warps came late, so the rate says nothing", "n_late of 0");
	if (!rc)
		rc = whole(r, object, "n_starved", 0, UINT32_MAX, &part->n_starved);
	return rc;
}

static int check_sms(struct reader *r, const struct cot_contention_run *run)
{
	const struct cot_contention_part *a = &run->parts[0], *b = &run->parts[1];

	if (run->shared && run->n != 2)
		return fail(r, "'shared' is true with another number of kernels than two", "false");
	if (run->shared && a->sms != b->sms)
		return fail(r, "kernels that share SMs have different numbers of them", "the same");
	if (run->shared && !(a->mhz > 0) && !(b->mhz > 0))
		return fail(r, "neither kernel did anything", "one that did");
	if (run->shared && a->warps + b->warps > COT_CONTENTION_WARPS_MAX)
		return fail(r, "kernels that share SMs have more than 64 warps on one", "fewer");
	if (run->n == 2 && !run->shared && a->sms + b->sms > r->out->sms)
		return fail(r, "the kernels of 'mix' have more SMs than the GPU", "fewer");
	return 0;
}

static int read_mix(struct reader *r, const json_t *object, struct cot_contention_run *run)
{
	const json_t *mix = json_object_get(object, "mix"), *part;
	size_t i;
	int rc;

	if (!json_is_array(mix) || json_array_size(mix) > COT_CONTENTION_PARTS_MAX)
		return fail(r, "'mix' is missing or too long", "a list of at most two kernels");
	run->shared = json_is_true(json_object_get(object, "shared"));
	for (i = 0; i < json_array_size(mix); i++) {
		part = json_array_get(mix, i);
		if (!json_is_object(part))
			return fail(r, "a kernel of 'mix' is no object", "one");
		rc = read_part(r, part, run->shared && !run->is_power, &run->parts[run->n++]);
		if (rc)
			return rc;
	}
	run->on_rest = json_is_true(json_object_get(object, "on_rest"));
	if (run->on_rest && run->n != 1)
		return fail(r, "'on_rest' is true with another number of kernels than one",
			    "false");
	return check_sms(r, run);
}

static int read_power(struct reader *r, const json_t *object, struct cot_contention_run *run)
{
	int rc;

	run->is_power = true;
	rc = number(r, object, "watts", 1e-3, 1e6, &run->watts);
	if (!rc)
		rc = number(r, object, "seconds", 1e-6, 1e9, &run->seconds);
	if (!rc)
		rc = number(r, object, "sm_mhz", 1, 1e5, &run->sm_mhz);
	if (!rc)
		rc = text(r, object, "benchmark", false, run->benchmark, sizeof(run->benchmark));
	if (rc)
		return rc;
	if (run->benchmark[0])
		return number(r, object, "runs_per_s", 1e-9, RATE_MAX, &run->runs_per_s);
	return read_mix(r, object, run);
}

static int add_run(struct reader *r, const struct cot_contention_run *run)
{
	struct cot_contention *out = r->out;
	struct cot_contention_run *more;
	uint32_t n = r->n_room ? 2 * r->n_room : 256;

	if (out->n_runs == COT_CONTENTION_RUNS_MAX)
		return fail(r, "too many runs", "at most 16384");
	if (out->n_runs == r->n_room) {
		more = realloc(out->runs, n * sizeof(*more));
		if (!more)
			return cot_error_set(r->err, -ENOMEM, "%s: out of memory", r->name);
		out->runs = more;
		r->n_room = n;
	}
	out->runs[out->n_runs++] = *run;
	return 0;
}

static int read_object(struct reader *r, const json_t *object)
{
	struct cot_contention_run run = {.line = r->line};
	char kind[COT_NAME_MAX];
	int rc = text(r, object, "kind", true, kind, sizeof(kind));

	if (rc)
		return rc;
	if (!strcmp(kind, "machine"))
		return read_machine(r, object);
	if (!r->out->sms)
		return fail(r, "the first line is of another kind", "the kind 'machine'");
	if (!strcmp(kind, "kernel"))
		return read_kernel(r, object);
	if (!strcmp(kind, "failure")) {
		r->out->n_failures++;
		return 0;
	}
	if (!strcmp(kind, "end"))
		return 0;
	if (!strcmp(kind, "rate"))
		rc = read_mix(r, object, &run);
	else if (!strcmp(kind, "power"))
		rc = read_power(r, object, &run);
	else
		return fail(r, "'kind' is another word",
			    "machine, kernel, rate, power, failure or end");
	if (!rc && !run.is_power && !run.n)
		return fail(r, "'mix' is empty", "a kernel");
	return rc ? rc : add_run(r, &run);
}

static int read_line(struct reader *r, const char *line, size_t length)
{
	json_error_t error;
	json_t *object;
	int rc;

	object = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
	if (!object)
		return cot_error_set(r->err, -EINVAL, "%s:%u: no JSON: %s; expected one object",
				     r->name, r->line, error.text);
	rc = json_is_object(object) ? read_object(r, object)
				    : fail(r, "this is no object", "one on each line");
	json_decref(object);
	return rc;
}

int cot_contention_parse(const char *name, const void *bytes, size_t size,
			 struct cot_contention *ret, struct cot_error *err)
{
	struct cot_contention out = {0};
	struct reader r = {.name = name, .out = &out, .err = err};
	const char *text_of = bytes, *newline;
	size_t at, length;
	int rc = cot_text_check(name, bytes, size, err);

	for (at = 0; !rc && at < size; at += length + 1) {
		newline = memchr(text_of + at, '\n', size - at);
		length = newline ? (size_t)(newline - text_of) - at : size - at;
		r.line++;
		if (length)
			rc = read_line(&r, text_of + at, length);
	}
	if (!rc && !out.sms) {
		r.line = 1;
		rc = fail(&r, "nothing is in this file", "lines that bench_contention wrote");
	}
	if (rc)
		cot_contention_finish(&out);
	else
		*ret = out;
	return rc;
}

int cot_contention_read(const char *path, struct cot_contention *ret, struct cot_error *err)
{
	const char *name = strcmp(path, "-") != 0 ? path : "stdin";
	size_t size;
	char *bytes;
	int rc = cot_text_read(path, &bytes, &size, err);

	if (rc)
		return rc;
	rc = cot_contention_parse(name, bytes, size, ret, err);
	free(bytes);
	return rc;
}

void cot_contention_finish(struct cot_contention *c)
{
	free(c->runs);
	memset(c, 0, sizeof(*c));
}
