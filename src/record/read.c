#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "record/record.h"
#include "text/json.h"
#include "text/text.h"

#define COUNT_MAX 9e15

struct reader {
	const char *name;
	unsigned line;
	struct cot_record *out;
	size_t room_programs, room_points, room_changes;
	double at_ms;		  /* of the last line */
	uint64_t decisions_first; /* of the first sample */
	struct cot_error *err;
};

static int fail(struct reader *r, const char *what, const char *expected)
{
	return cot_error_set(r->err, -EINVAL, "%s:%u: %s; expected %s", r->name, r->line, what,
			     expected);
}

static int no_memory(struct reader *r)
{
	return cot_error_set(r->err, -ENOMEM, "%s: out of memory", r->name);
}

static int fill(struct reader *r, const json_t *object, const struct cot_field *fields, void *out)
{
	return cot_json_fill(r->name, r->line, object, fields, out, r->err);
}

/* ---- rows of members ---- */

#define ROW(type, key, member, ...) COT_FIELD(key, struct type, member, __VA_ARGS__)
#define MS			    COT_NUMBER(0, COT_RECORD_MS_MAX)
#define COUNT			    COT_WHOLE(0, COUNT_MAX)

static const struct cot_field_word schemas[] = {{COT_RECORD_SCHEMA, 0}, {0}};
static const struct cot_field head_fields[] = {
	COT_FIELD_CHECKED("schema", COT_WORD(schemas), .required = true),
	ROW(cot_record, "version", version, COT_TEXT),
	ROW(cot_record, "started", started, COT_TEXT),
	ROW(cot_record, "gpu", gpu, COT_TEXT),
	ROW(cot_record, "interval_ms", interval_ms, MS, .required = true),
	{0},
};

struct where {
	char gpus[COT_RECORD_TEXT_MAX]; /* "0" or "0,1" */
};

static const struct cot_field where_fields[] = {
	ROW(where, "gpus", gpus, COT_TEXT),
	{0},
};

struct line {
	double at_ms;
	uint64_t decisions;
	char policy[32], end[32];
};

static const struct cot_field line_fields[] = {
	ROW(line, "at_ms", at_ms, MS, .required = true),
	ROW(line, "decisions", decisions, COUNT),
	ROW(line, "policy", policy, COT_TEXT),
	ROW(line, "end", end, COT_TEXT),
	{0},
};

static const struct cot_field program_fields[] = {
	ROW(cot_record_program, "id", id, COUNT, .required = true),
	ROW(cot_record_program, "name", name, COT_TEXT, .required = true),
	ROW(cot_record_program, "class", class_, COT_TEXT, .required = true),
	ROW(cot_record_program, "pool", pool, COT_TEXT),
	ROW(cot_record_program, "target_kind", target_kind, COT_TEXT),
	ROW(cot_record_program, "target", target, COT_TEXT),
	ROW(cot_record_program, "sms", sms, COT_TEXT),
	ROW(cot_record_program, "weight", weight, COT_WHOLE(1, 10000)),
	{0},
};

static const struct cot_field point_fields[] = {
	ROW(cot_record_point, "requests", requests, COUNT),
	ROW(cot_record_point, "missed", missed, COUNT),
	ROW(cot_record_point, "freezes", freezes, COUNT),
	ROW(cot_record_point, "launches_per_s", launches_per_s, MS),
	ROW(cot_record_point, "slice_us", slice_us, MS),
	ROW(cot_record_point, "has_sms", has_sms, COT_NUMBER(0, 1024)),
	ROW(cot_record_point, "state", state, COT_TEXT),
	{0},
};

static const struct cot_field times_fields[] = {
	ROW(cot_record_times, "n", n, COUNT, .required = true),
	ROW(cot_record_times, "p50_ms", p50_ms, MS, .required = true),
	ROW(cot_record_times, "p95_ms", p95_ms, MS, .required = true),
	ROW(cot_record_times, "p99_ms", p99_ms, MS, .required = true),
	{0},
};

static const struct cot_field change_fields[] = {
	ROW(cot_record_change, "at_ms", at_ms, MS, .required = true),
	ROW(cot_record_change, "who", who, COT_TEXT, .required = true),
	ROW(cot_record_change, "change", what, COT_TEXT, .required = true),
	ROW(cot_record_change, "from", from, COT_TEXT),
	ROW(cot_record_change, "to", to, COT_TEXT),
	ROW(cot_record_change, "why", why, COT_TEXT),
	{0},
};

/* ---- samples ---- */

static int read_gpus(struct reader *r, const json_t *object, uint32_t *ret_gpus)
{
	struct where where = {0};
	const char *text = where.gpus;
	int rc = fill(r, object, where_fields, &where);

	*ret_gpus = 0;
	while (!rc && *text) {
		unsigned gpu = 0, digits = 0;

		for (; *text >= '0' && *text <= '9' && digits < 3; text++, digits++)
			gpu = 10 * gpu + (unsigned)(*text - '0');
		if (!digits || gpu >= COT_RECORD_GPUS_MAX || (*text && *text != ','))
			return fail(r, "'gpus' is wrong", "numbers below 32, as in \"0,1\"");
		*ret_gpus |= 1u << gpu;
		text += *text == ',';
	}
	return rc;
}

/* Programs are few; what was said of one last counts. */
static int find_program(struct reader *r, const struct cot_record_program *p, uint32_t *ret_index)
{
	struct cot_record *out = r->out;
	struct cot_record_program *programs;
	uint32_t i;

	for (i = 0; i < out->n_programs; i++)
		if (out->programs[i].id == p->id)
			break;
	if (i == out->n_programs) {
		if (i == COT_RECORD_PROGRAMS_MAX)
			return fail(r, "too many programs", "at most 256");
		programs = cot_grow(out->programs, i, &r->room_programs, sizeof(*programs));
		if (!programs)
			return no_memory(r);
		out->programs = programs;
		out->n_programs++;
	}
	out->programs[i] = *p;
	*ret_index = i;
	return 0;
}

static int read_times(struct reader *r, const json_t *object, struct cot_record_point *p)
{
	static const char *const keys[COT_RECORD_N_HORIZONS][COT_RECORD_N_FIGURES] = {
		{"response_1s", "service_1s"}, {"response_60s", "service_60s"}};
	unsigned h, f;
	int rc = 0;

	for (h = 0; !rc && h < COT_RECORD_N_HORIZONS; h++)
		for (f = 0; !rc && f < COT_RECORD_N_FIGURES; f++) {
			const json_t *times = json_object_get(object, keys[h][f]);

			if (times)
				rc = fill(r, times, times_fields, &p->times[h][f]);
		}
	return rc;
}

static int add_point(struct reader *r, const json_t *object)
{
	struct cot_record_program program = {.weight = 100};
	struct cot_record_point point = {.at_ms = r->at_ms, .sample = r->out->n_samples};
	struct cot_record_point *points;
	int rc = json_is_object(object) ? 0 : fail(r, "a program is no object", "an object");

	if (!rc)
		rc = fill(r, object, program_fields, &program);
	if (!rc)
		rc = read_gpus(r, object, &program.gpus);
	if (!rc)
		rc = fill(r, object, point_fields, &point);
	if (!rc)
		rc = read_times(r, object, &point);
	if (!rc)
		rc = find_program(r, &program, &point.program);
	if (rc)
		return rc;
	if (r->out->n_points == COT_RECORD_POINTS_MAX)
		return fail(r, "too many samples", "at most 1048576 of all programs together");
	points = cot_grow(r->out->points, r->out->n_points, &r->room_points, sizeof(*points));
	if (!points)
		return no_memory(r);
	r->out->points = points;
	points[r->out->n_points++] = point;
	return 0;
}

static int read_sample(struct reader *r, const struct line *l, const json_t *programs)
{
	const json_t *program;
	size_t i;
	int rc;

	if (!json_is_array(programs))
		return fail(r, "'programs' is no list", "a list");
	json_array_foreach (programs, i, program) {
		rc = add_point(r, program);
		if (rc)
			return rc;
	}
	if (!r->out->n_samples)
		r->decisions_first = l->decisions;
	if (l->decisions >= r->decisions_first)
		r->out->n_decisions = l->decisions - r->decisions_first;
	if (l->policy[0])
		(void)snprintf(r->out->policy, sizeof(r->out->policy), "%s", l->policy);
	r->out->n_samples++;
	return 0;
}

static int read_change(struct reader *r, const json_t *object)
{
	struct cot_record_change change = {0}, *changes;
	int rc = fill(r, object, change_fields, &change);

	if (rc)
		return rc;
	if (r->out->n_changes == COT_RECORD_CHANGES_MAX)
		return fail(r, "too many changes", "at most 262144");
	changes = cot_grow(r->out->changes, r->out->n_changes, &r->room_changes, sizeof(*changes));
	if (!changes)
		return no_memory(r);
	r->out->changes = changes;
	changes[r->out->n_changes++] = change;
	return 0;
}

/* ---- lines ---- */

static int read_line(struct reader *r, const json_t *object)
{
	const json_t *programs = json_object_get(object, "programs");
	struct line l = {0};
	int rc = fill(r, object, line_fields, &l);

	if (rc)
		return rc;
	if (r->out->end[0])
		return fail(r, "something follows the end", "nothing");
	if (l.at_ms < r->at_ms)
		return fail(r, "'at_ms' goes back", "lines in the order of time");
	r->at_ms = r->out->end_ms = l.at_ms;
	if (l.end[0]) {
		(void)snprintf(r->out->end, sizeof(r->out->end), "%s", l.end);
		return 0;
	}
	if (programs)
		return read_sample(r, &l, programs);
	if (json_object_get(object, "change"))
		return read_change(r, object);
	return fail(r, "the line is of no kind", "'programs', 'change' or 'end'");
}

static int read_text(struct reader *r, const char *text, size_t size)
{
	json_error_t json_err;
	json_t *object;
	int rc;

	r->line++;
	if (size > COT_RECORD_LINE_MAX)
		return fail(r, "the line is too long", "at most 1048576 bytes");
	object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &json_err);
	if (!json_is_object(object)) {
		json_decref(object);
		return fail(r, "this is no JSON object", "a line of a recording");
	}
	rc = r->line == 1 ? fill(r, object, head_fields, r->out) : read_line(r, object);
	json_decref(object);
	return rc;
}

int cot_record_parse(const char *name, const char *bytes, size_t size, struct cot_record *ret,
		     struct cot_error *err)
{
	struct cot_record out = {.interval_ms = 0};
	struct reader r = {.name = name, .out = &out, .err = err};
	const char *end = bytes + size, *next;
	int rc = 0;

	while (!rc && bytes < end) {
		next = memchr(bytes, '\n', (size_t)(end - bytes));
		if (!next)
			next = end;
		rc = read_text(&r, bytes, (size_t)(next - bytes));
		bytes = next + (next < end);
	}
	if (!rc && !r.line)
		rc = cot_error_set(err, -EINVAL, "%s: the file is empty; expected a recording",
				   name);
	if (rc) {
		cot_record_finish(&out);
		return rc;
	}
	*ret = out;
	return 0;
}

void cot_record_finish(struct cot_record *r)
{
	free(r->programs);
	free(r->points);
	free(r->changes);
	*r = (struct cot_record){0};
}
