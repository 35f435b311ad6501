/*
 * cotenant record: writes down what the daemon says of a live run, at a steady pace, into a file
 * with a bound. It only asks; programs and their launches are as they are without it.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/outfile.h"
#include "base/quantity.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/record.h"
#include "record/record.h"
#include "report/gzip.h"
#include "report/json.h"

enum { KEY_FOR = 256, KEY_INTERVAL, KEY_LIMIT, KEY_JSON };

#define INTERVAL_MS_MIN 100.0
#define INTERVAL_MS_MAX 60000.0
#define FOR_S_MAX	1e8
#define EXPLAINED_MAX	8u   /* questions about changes after one sample */
#define END_ROOM	256u /* for the last line */

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0,
	 "Where to write; packed if the name ends in .gz; default run.cot", 0},
	{"for", KEY_FOR, "TIME", 0,
	 "Ends after this time, as in 30s or 10min (a number alone: s); default: at a signal", 0},
	{"interval", KEY_INTERVAL, "TIME", 0,
	 "Time between two samples, from 100ms to 60s (a number alone: s); default 1s", 0},
	{"limit", KEY_LIMIT, "SIZE", 0,
	 "Ends when so much was written, before it is packed; 64KiB to 256MiB, default 64MiB", 0},
	COT_CLI_JSON(KEY_JSON, 0),
	{0},
};

struct arguments {
	const char *path, *json; /* json: NULL: not wanted */
	double for_s, interval_ms;
	uint64_t limit_bytes;
};

static double seconds_of(const char *text, double min, double max, const char *what,
			 struct argp_state *state)
{
	struct cot_quantity q;

	if (!cot_quantity_read(text, COT_UNIT_S, &q) || q.number < min || q.number > max)
		argp_error(state, "--%s is '%s'; expected a time from %gs to %gs", what, text, min,
			   max);
	return q.number;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'o':
		a->path = arg;
		return 0;
	case KEY_FOR:
		a->for_s = seconds_of(arg, 0.1, FOR_S_MAX, "for", state);
		return 0;
	case KEY_INTERVAL:
		a->interval_ms = 1e3 * seconds_of(arg, INTERVAL_MS_MIN / 1e3, INTERVAL_MS_MAX / 1e3,
						  "interval", state);
		return 0;
	case KEY_LIMIT:
		if (!cot_quantity_whole(arg, COT_UNIT_B, 65536, COT_RECORD_SIZE_MAX,
					&a->limit_bytes))
			argp_error(state, "--limit is '%s'; expected a size from 64KiB to 256MiB",
				   arg);
		return 0;
	case KEY_JSON:
		a->json = arg ? arg : "-";
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is not an option", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- writing ---- */

struct recorder {
	const struct arguments *args;
	struct cot_client client;
	struct cot_outfile *file;
	FILE *out, *zipped; /* zipped: NULL where it is not */
	uint64_t n_bytes;
	struct timespec start;
	json_t *before; /* the last answer */
	unsigned n_samples, n_changes, n_explained;
	const char *end; /* why it is over; NULL: it is not */
	bool no_memory;
};

/* A line that would go beyond the limit is left out, and ends the recording. */
static void write_line(struct recorder *r, json_t *line, size_t room)
{
	char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(7)) : NULL;
	size_t size = text ? strlen(text) + 1 : 0;

	json_decref(line);
	if (!text) {
		r->no_memory = true;
	} else if (r->n_bytes + size + room > r->args->limit_bytes) {
		r->end = "limit";
	} else {
		r->n_bytes += size;
		(void)fprintf(r->out, "%s\n", text);
	}
	free(text);
}

static void write_change(void *arg, json_t *line)
{
	struct recorder *r = arg;

	r->n_changes++;
	if (!r->end)
		write_line(r, line, END_ROOM);
	else
		json_decref(line);
}

/* Of another user's program the daemon says nothing. */
static json_t *explain(void *arg, long long id)
{
	struct cot_msg_explain question = {.tenant = (uint64_t)id};
	struct recorder *r = arg;
	struct cot_error err;
	json_t *answer;
	char *text;

	if (r->n_explained++ >= EXPLAINED_MAX ||
	    cot_client_explain(&r->client, &question, &text, &err) < 0)
		return NULL;
	answer = json_loads(text, 0, NULL);
	free(text);
	return answer;
}

/* ---- time ---- */

static double now_ms(const struct recorder *r)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - r->start.tv_sec) * 1e3 +
	       (double)(now.tv_nsec - r->start.tv_nsec) / 1e6;
}

/* Until then, or a signal. */
static void sleep_until(const struct recorder *r, double at_ms)
{
	double left_ms = at_ms - now_ms(r);
	struct timespec pause;

	/* A signal between the look and the sleep costs a piece of it at most. */
	while (left_ms > 0 && !cot_cli_interrupted()) {
		double piece_ms = left_ms < 200 ? left_ms : 200;

		pause = (struct timespec){.tv_nsec = (long)(piece_ms * 1e6)};
		(void)nanosleep(&pause, NULL);
		left_ms = at_ms - now_ms(r);
	}
}

/* ---- recording ---- */

static int ask(struct recorder *r, json_t **ret, struct cot_error *err)
{
	json_error_t json_err;
	char *text;
	int rc = cot_client_query(&r->client, COT_QUERY_STATS, &text, err);

	if (rc < 0)
		return rc;
	*ret = json_loads(text, 0, &json_err);
	free(text);
	return *ret ? 0
		    : cot_error_set(err, -EBADMSG, "cotenantd's answer is not JSON: %s",
				    json_err.text);
}

static int take_sample(struct recorder *r, struct cot_error *err)
{
	const struct cot_record_sink sink = {explain, write_change, r};
	double at_ms = now_ms(r);
	json_t *now;
	int rc = ask(r, &now, err);

	if (rc < 0)
		return rc;
	r->n_explained = 0;
	if (r->before)
		cot_record_compare(r->before, now, at_ms, &sink);
	json_decref(r->before);
	r->before = now;
	if (!r->end) {
		write_line(r, cot_record_sample(now, at_ms), END_ROOM);
		r->n_samples += !r->end;
	}
	return 0;
}

static void write_head(struct recorder *r, const json_t *stats)
{
	time_t now = time(NULL);
	char text[32] = "";
	struct tm utc;

	if (gmtime_r(&now, &utc))
		(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
	write_line(r, cot_record_head(stats, r->args->interval_ms, argp_program_version, text),
		   END_ROOM);
}

/* Samples until the end. What the daemon's end leaves is whole, too. */
static int record(struct recorder *r, struct cot_error *err)
{
	double for_ms = r->args->for_s * 1e3, next_ms = 0;
	json_t *first = NULL;
	int rc = ask(r, &first, err);

	if (rc < 0)
		return rc;
	write_head(r, first);
	json_decref(first);
	while (!r->end && !r->no_memory) {
		rc = take_sample(r, err);
		next_ms += r->args->interval_ms;
		if (rc < 0)
			r->end = "daemon";
		if (r->end)
			break;
		if (for_ms > 0 && now_ms(r) >= for_ms) {
			r->end = "time";
			break;
		}
		if (next_ms < now_ms(r)) /* the machine was busy: no sample is made up for */
			next_ms = now_ms(r);
		sleep_until(r, for_ms > 0 && for_ms < next_ms ? for_ms : next_ms);
		if (cot_cli_interrupted()) {
			rc = take_sample(r, err);
			r->end = rc < 0 ? "daemon" : r->end ? r->end : "signal";
		}
	}
	return rc;
}

static int open_file(struct recorder *r, struct cot_error *err)
{
	int rc = cot_outfile_open(r->args->path, &r->file, err);

	if (rc < 0)
		return rc;
	r->out = cot_outfile_stream(r->file);
	if (!cot_gzip_wanted(r->args->path))
		return 0;
	if (cot_gzip_open(r->out, &r->zipped))
		return cot_error_set(err, -ENOMEM, "out of memory");
	r->out = r->zipped;
	return 0;
}

static int close_file(struct recorder *r, struct cot_error *err)
{
	json_t *line = json_pack("{s:f, s:s, s:i, s:i}", "at_ms", now_ms(r), "end", r->end,
				 "samples", (int)r->n_samples, "changes", (int)r->n_changes);
	FILE *zipped = r->zipped;

	write_line(r, line, 0);
	r->zipped = NULL;
	if ((zipped && fclose(zipped)) || r->no_memory)
		return cot_error_set(err, -ENOMEM, "cannot write %s: out of memory", r->args->path);
	return cot_outfile_commit(r->file, err);
}

static int run(struct recorder *r, struct cot_error *err)
{
	struct cot_error end_err;
	int rc = cot_client_open(&r->client, false, err), end_rc;

	if (rc < 0)
		return rc;
	rc = open_file(r, err);
	if (!rc)
		rc = record(r, err);
	if (r->end || (!rc && r->no_memory)) {
		end_rc = close_file(r, &end_err);
		if (end_rc < 0)
			*err = end_err;
		rc = end_rc < 0 ? end_rc : rc;
	}
	cot_client_close(&r->client);
	return rc;
}

static void say(const struct recorder *r)
{
	static const char *const reasons[][2] = {{"limit", "the limit is reached"},
						 {"time", "the time is over"},
						 {"signal", "a signal"},
						 {"daemon", "the daemon's end"}};
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(reasons); i++)
		if (!strcmp(r->end, reasons[i][0]))
			(void)fprintf(stderr,
				      "%s: %u sample%s, %u change%s, %.1f KiB before packing; "
				      "ended by: %s\n",
				      r->args->path, r->n_samples, r->n_samples == 1 ? "" : "s",
				      r->n_changes, r->n_changes == 1 ? "" : "s",
				      (double)r->n_bytes / 1024, reasons[i][1]);
}

/* The same for programs. */
static int say_json(const struct recorder *r, struct cot_error *err)
{
	return cot_cli_write_json(json_pack("{s:s, s:s, s:i, s:i, s:I, s:s}", "schema",
					    "cotenant.recorded/1", "file", r->args->path, "samples",
					    (int)r->n_samples, "changes", (int)r->n_changes,
					    "bytes", (json_int_t)r->n_bytes, "end", r->end),
				  r->args->json, err);
}

int cot_cmd_record(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.doc = "Record a live run: programs, requests, rates, changes and why.",
		.children = cot_cli_argp_children,
	};
	struct arguments a = {.path = "run.cot", .interval_ms = 1000, .limit_bytes = 64u << 20};
	struct recorder r = {.args = &a, .client = {.fd = -1}};
	struct cot_error err;
	int rc;

	if (cot_cli_parse(&argp, argc, argv, 0, &a))
		return COT_EXIT_USAGE;
	if (a.json && cot_cli_same_file(a.json, a.path)) {
		cot_cli_complain("the recording and --json are both to go to %s", a.path);
		return COT_EXIT_USAGE;
	}
	cot_cli_catch_signals();
	(void)clock_gettime(CLOCK_MONOTONIC, &r.start);
	rc = run(&r, &err);
	if (rc < 0)
		cot_cli_complain("%s", err.text);
	if (r.end && (rc >= 0 || !strcmp(r.end, "daemon")))
		say(&r);
	if (rc >= 0 && a.json) {
		rc = say_json(&r, &err);
		if (rc < 0)
			cot_cli_complain("%s", err.text);
	}
	if (r.zipped)
		(void)fclose(r.zipped);
	cot_outfile_destroy(r.file);
	json_decref(r.before);
	return rc < 0 ? cot_client_exit_status(rc) : COT_EXIT_OK;
}
