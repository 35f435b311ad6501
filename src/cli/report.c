/*
 * cotenant report: a page and a timeline of a recording, beside it unless told otherwise.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/origin.h"
#include "report/gzip.h"
#include "report/recording.h"

enum { KEY_TIMELINE = 256, KEY_JSON };

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0, "Write the page here; default: RECORDING with .html", 0},
	{"timeline", KEY_TIMELINE, "FILE", 0,
	 "Write the timeline for Perfetto here, compressed if FILE ends with .gz; default: "
	 "RECORDING with .json.gz",
	 0},
	COT_CLI_JSON(KEY_JSON, 1),
	{0},
};

struct arguments {
	const char *file, *page, *timeline, *json;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'o':
		a->page = arg;
		return 0;
	case KEY_TIMELINE:
		a->timeline = arg;
		return 0;
	case KEY_JSON:
		a->json = cot_cli_json(arg, state);
		return 0;
	case ARGP_KEY_ARG:
		if (a->file)
			argp_error(state, "one recording at a time; '%s' is one too many", arg);
		a->file = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->file)
			argp_error(state, "no recording given; expected a file of cotenant record");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

struct job {
	struct arguments *args;
	char *page, *timeline; /* paths that we made */
	struct cot_record record;
	struct cot_origin origin;
};

/* "folder/run.cot.gz" becomes "folder/run" and the ending. */
static char *beside(const char *file, const char *ending)
{
	const char *slash = strrchr(file, '/');
	size_t n = strlen(file), base = slash ? (size_t)(slash - file) + 1 : 0;
	char *path = malloc(n + strlen(ending) + 1);

	if (!path)
		return NULL;
	if (n > base + 3 && !strcmp(file + n - 3, ".gz"))
		n -= 3;
	if (n > base + 4 && !strncmp(file + n - 4, ".cot", 4))
		n -= 4;
	memcpy(path, file, n);
	memcpy(path + n, ending, strlen(ending) + 1);
	return path;
}

static int name_outputs(struct job *job, struct cot_error *err)
{
	struct arguments *a = job->args;
	const char *outputs[3];
	unsigned i, k;

	job->page = beside(a->file, ".html");
	job->timeline = beside(a->file, ".json.gz");
	if (!job->page || !job->timeline)
		return cot_error_set(err, -ENOMEM, "out of memory");
	a->page = a->page ? a->page : job->page;
	a->timeline = a->timeline ? a->timeline : job->timeline;
	outputs[0] = a->page;
	outputs[1] = a->timeline;
	outputs[2] = a->json && strcmp(a->json, "-") != 0 ? a->json : NULL;
	for (i = 0; i < COT_ARRAY_LEN(outputs); i++) {
		if (!outputs[i])
			continue;
		if (cot_cli_same_file(outputs[i], a->file))
			return cot_error_set(err, -EINVAL,
					     "an output is '%s', the recording "
					     "itself",
					     a->file);
		for (k = 0; k < i; k++)
			if (outputs[k] && cot_cli_same_file(outputs[i], outputs[k]))
				return cot_error_set(err, -EINVAL,
						     "two outputs are the same file "
						     "'%s'",
						     outputs[i]);
	}
	return 0;
}

static int write_page(const struct job *job, FILE *out)
{
	return cot_recording_print_html(&job->record, &job->origin, out);
}

static int write_timeline(const struct job *job, FILE *out)
{
	FILE *zipped;

	if (!cot_gzip_wanted(job->args->timeline)) {
		cot_recording_print_timeline(&job->record, out);
		return 0;
	}
	if (cot_gzip_open(out, &zipped))
		return -ENOMEM;
	cot_recording_print_timeline(&job->record, zipped);
	return fclose(zipped) ? -ENOMEM : 0;
}

static int write_file(const struct job *job, const char *path,
		      int (*write)(const struct job *job, FILE *out), struct cot_error *err)
{
	struct cot_outfile *file;
	int rc = cot_outfile_open(path, &file, err);

	if (rc < 0)
		return rc;
	if (write(job, cot_outfile_stream(file)))
		rc = cot_error_set(err, -ENOMEM, "cannot write %s: out of memory", path);
	if (!rc)
		rc = cot_outfile_commit(file, err);
	cot_outfile_destroy(file);
	return rc;
}

static int show(const struct job *job, struct cot_error *err)
{
	char text[COT_RECORDING_DESCRIPTION_MAX];

	if (job->args->json)
		return cot_cli_write_json(
			cot_origin_with(cot_recording_json(&job->record), &job->origin),
			job->args->json, err);
	cot_recording_describe(&job->record, text);
	(void)printf("%s\n\n", text);
	if (cot_table_print(cot_recording_table(&job->record), stdout))
		return cot_error_set(err, -ENOMEM, "out of memory");
	(void)printf("\n%s: the page\n%s: the timeline, for ui.perfetto.dev\n", job->args->page,
		     job->args->timeline);
	return 0;
}

static int run(struct job *job, struct cot_error *err)
{
	int rc = write_file(job, job->args->page, write_page, err);

	if (!rc)
		rc = write_file(job, job->args->timeline, write_timeline, err);
	return rc ? rc : show(job, err);
}

int cot_cmd_report(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "RECORDING",
		.doc = "Makes a page and a timeline of RECORDING, a file of cotenant record.",
		.children = cot_cli_argp_children,
	};
	struct arguments a = {0};
	struct job job = {.args = &a};
	const char *outputs[3];
	struct cot_error err;
	int rc;

	if (cot_cli_parse(&argp, argc, argv, 0, &a))
		return COT_EXIT_USAGE;
	outputs[0] = a.page;
	outputs[1] = a.timeline;
	outputs[2] = a.json;
	rc = name_outputs(&job, &err);
	if (!rc && cot_cli_origin(argc, argv, a.file, outputs, COT_ARRAY_LEN(outputs), &job.origin))
		rc = cot_error_set(&err, -ENOMEM, "out of memory");
	job.origin.kind = COT_ORIGIN_DATA;
	if (!rc)
		rc = cot_record_read(a.file, &job.record, job.origin.sha256, &err);
	if (rc < 0) {
		cot_cli_complain("%s", err.text);
		rc = rc == -ENOMEM ? COT_EXIT_FAILURE : COT_EXIT_USAGE;
	} else {
		rc = run(&job, &err);
		if (!rc)
			rc = cot_cli_flush(&err);
		rc = cot_cli_end(rc, &err);
	}
	cot_record_finish(&job.record);
	cot_origin_finish(&job.origin);
	free(job.page);
	free(job.timeline);
	return rc;
}
