#include "trace/contention.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "text/json.h"
#include "text/text.h"

#define COUNT_MAX 1e15
#define RATE_MIN  1e-9
#define RATE_MAX  1e18

enum kind { MACHINE, KERNEL_LINE, RATE, POWER, FAILURE, END };

struct line {
	enum kind kind;
};

struct reader {
	const char *name;
	uint32_t line;
	struct cot_contention *out;
	size_t room; /* of runs */
	struct cot_error *err;
};

static int fail(struct reader *r, const char *what, const char *expected)
{
	return cot_error_set(r->err, -EINVAL, "%s:%u: %s; expected %s", r->name, r->line, what,
			     expected);
}

/* ---- the contents of a line ---- */

struct part {
	char kernel[COT_NAME_MAX];
	uint32_t n_late;
	struct cot_contention_part part;
};

#define ALL(key, ...) COT_FIELD(#key, struct cot_contention, key, __VA_ARGS__)
#define KERNEL(key, min)                                                               \
	COT_FIELD(#key, struct cot_contention_kernel, key, COT_NUMBER(min, COUNT_MAX), \
		  .required = true)
#define PART(key, member, ...) COT_FIELD(key, struct part, member, __VA_ARGS__, .required = true)
#define RUN(key, ...)	       COT_FIELD(#key, struct cot_contention_run, key, __VA_ARGS__)

static const struct cot_field_word kinds[] = {
	{"machine", MACHINE},
	{"kernel", KERNEL_LINE},
	{"rate", RATE},
	{"power", POWER},
	{"failure", FAILURE},
	{"end", END},
	{0},
};
static const struct cot_field line_fields[] = {
	COT_FIELD("kind", struct line, kind, COT_WORD(kinds), .required = true),
	{0},
};

static const struct cot_field_word schemas[] = {{"cotenant.contention/1", 0}, {0}};
static const struct cot_field machine_fields[] = {
	COT_FIELD_CHECKED("schema", COT_WORD(schemas), .required = true),
	ALL(gpu, COT_TEXT, .required = true),
	ALL(driver, COT_TEXT),
	ALL(date, COT_TEXT),
	ALL(command, COT_TEXT),
	ALL(sms, COT_WHOLE(1, COT_MAX_SMS), .required = true),
	{0},
};

static const struct cot_field kernel_fields[] = {
	COT_FIELD("kernel", struct cot_contention_kernel, name, COT_TEXT, .required = true),
	COT_FIELD("loads_ahead", struct cot_contention_kernel, loads_ahead, COT_WHOLE(0, 64),
		  .required = true),
	KERNEL(insts, 1),
	KERNEL(fma, 0),
	KERNEL(dfma, 0),
	KERNEL(whole, 0),
	KERNEL(special, 0),
	KERNEL(shared, 0),
	KERNEL(loads, 0),
	KERNEL(stores, 0),
	KERNEL(read_bytes, 0),
	KERNEL(written_bytes, 0),
	{0},
};

static const struct cot_field_word memories[] = {
	{"none", COT_CONTENTION_NONE},
	{"dram", COT_CONTENTION_DRAM},
	{"l2", COT_CONTENTION_L2},
	{0},
};
static const struct cot_field part_fields[] = {
	PART("kernel", kernel, COT_TEXT),
	PART("memory", part.memory, COT_WORD(memories)),
	PART("warps", part.warps, COT_WHOLE(1, COT_CONTENTION_WARPS_MAX)),
	PART("sms", part.sms, COT_WHOLE(1, COT_MAX_SMS)),
	PART("chunks_per_s", part.chunks_per_s, COT_NUMBER(0, RATE_MAX)),
	PART("mhz", part.mhz, COT_NUMBER(0, 1e5)),
	PART("n_late", n_late, COT_WHOLE(0, UINT32_MAX)),
	PART("n_starved", part.n_starved, COT_WHOLE(0, UINT32_MAX)),
	{0},
};

static const struct cot_field power_fields[] = {
	RUN(watts, COT_NUMBER(1e-3, 1e6), .required = true),
	RUN(seconds, COT_NUMBER(1e-6, 1e9), .required = true),
	RUN(sm_mhz, COT_NUMBER(1, 1e5), .required = true),
	RUN(benchmark, COT_TEXT),
	{0},
};
static const struct cot_field benchmark_fields[] = {
	RUN(runs_per_s, COT_NUMBER(RATE_MIN, RATE_MAX), .required = true),
	{0},
};

static int fill(struct reader *r, const json_t *object, const struct cot_field *fields, void *out)
{
	return cot_json_fill(r->name, r->line, object, fields, out, r->err);
}

/* ---- lines ---- */

static int read_machine(struct reader *r, const json_t *object)
{
	if (r->out->sms)
		return fail(r, "a second line of the kind 'machine'", "one");
	return fill(r, object, machine_fields, r->out);
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
	int rc = fill(r, object, kernel_fields, &k);

	if (rc)
		return rc;
	if (find_kernel(out, k.name) != UINT32_MAX)
		return fail(r, "the kernel was described before", "each once");
	if (out->n_kernels == COT_CONTENTION_KERNELS_MAX)
		return fail(r, "too many kernels", "at most 64");
	if (k.loads + k.stores > k.insts)
		return fail(r, "more loads and stores than instructions", "fewer");
	out->kernels[out->n_kernels++] = k;
	return 0;
}

/* A kernel that shares SMs may get nothing at all. */
static int read_part(struct reader *r, const json_t *object, bool may_starve,
		     struct cot_contention_part *ret)
{
	struct part p = {.n_late = 0};
	int rc = fill(r, object, part_fields, &p);

	if (rc)
		return rc;
	p.part.kernel = find_kernel(r->out, p.kernel);
	if (p.part.kernel == UINT32_MAX)
		return fail(r, "the kernel is not described", "a line of the kind 'kernel' before");
	if (p.part.sms > r->out->sms)
		return fail(r, "the kernel has more SMs than the GPU", "fewer");
	if (p.part.chunks_per_s < RATE_MIN && !may_starve)
		return fail(r, "the kernel did nothing", "'chunks_per_s' above 0");
	if (p.part.chunks_per_s > 0 && p.part.mhz < 1)
		return fail(r, "the kernel ran without a clock", "'mhz' of at least 1");
	if (p.n_late)
		return fail(r, "warps came late, so the rate says nothing", "n_late of 0");
	*ret = p.part;
	return 0;
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
	int rc = fill(r, object, power_fields, run);

	run->is_power = true;
	if (rc)
		return rc;
	if (run->benchmark[0])
		return fill(r, object, benchmark_fields, run);
	return read_mix(r, object, run);
}

static int add_run(struct reader *r, const struct cot_contention_run *run)
{
	struct cot_contention *out = r->out;
	struct cot_contention_run *runs;

	if (out->n_runs == COT_CONTENTION_RUNS_MAX)
		return fail(r, "too many runs", "at most 16384");
	runs = cot_grow(out->runs, out->n_runs, &r->room, sizeof(*runs));
	if (!runs)
		return cot_error_set(r->err, -ENOMEM, "%s: out of memory", r->name);
	out->runs = runs;
	out->runs[out->n_runs++] = *run;
	return 0;
}

static int read_object(struct reader *r, const json_t *object)
{
	struct cot_contention_run run = {.line = r->line};
	struct line line;
	int rc = fill(r, object, line_fields, &line);

	if (rc)
		return rc;
	if (line.kind == MACHINE)
		return read_machine(r, object);
	if (!r->out->sms)
		return fail(r, "the first line is of another kind", "the kind 'machine'");
	switch (line.kind) {
	case KERNEL_LINE:
		return read_kernel(r, object);
	case FAILURE:
		r->out->n_failures++;
		return 0;
	case RATE:
		rc = read_mix(r, object, &run);
		break;
	case POWER:
		rc = read_power(r, object, &run);
		break;
	default:
		return 0;
	}
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

void cot_contention_finish(struct cot_contention *c)
{
	free(c->runs);
	memset(c, 0, sizeof(*c));
}
