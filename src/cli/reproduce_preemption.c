#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/reproduce.h"
#include "report/outfile.h"
#include "study/jobs.h"
#include "study/preemption/simulate.h"
#include "text/number.h"

#define JITTER_CV_MAX 2.0

struct arguments {
	struct cot_study_options study;
	const char *json, *html;
	struct cot_progress bar;
};

enum { OPT_QUICK = 256, OPT_JSON, OPT_REPORT, OPT_SEED, OPT_THREADS, OPT_JITTER, OPT_SIZES };

static const struct argp_option options[] = {
	{"quick", OPT_QUICK, NULL, 0, "Few workloads: a rough picture in seconds", 0},
	{"json", OPT_JSON, "FILE", 0, "Write all values as JSON; - is standard output", 0},
	{"report", OPT_REPORT, "FILE", 0, "Write a page with the figures (HTML)", 0},
	{"seed", OPT_SEED, "N", 0, "Draw other workloads (default 1)", 0},
	{"threads", OPT_THREADS, "N", 0, "Use N threads (default: all processors)", 0},
	{"jitter", OPT_JITTER, "CV", 0,
	 "Coefficient of variation of block times in the whole study (default 0); anything else "
	 "takes 20 to 50 times as long",
	 0},
	{"sizes", OPT_SIZES, "LIST", 0, "Processes per workload (default 2,4,6,8)", 0},
	{0},
};

/* A list such as "2,4,8", ascending. */
static void parse_sizes(struct argp_state *state, const char *text, struct cot_study_options *o)
{
	char copy[128], *rest = copy, *word;
	uint64_t value;

	if (strlen(text) >= sizeof(copy))
		argp_error(state, "--sizes: the list is too long");
	snprintf(copy, sizeof(copy), "%s", text);
	o->n_sizes = 0;
	while ((word = strsep(&rest, ","))) {
		if (!cot_number_u64(word, &value) || value < 1 || value > COT_WORKLOAD_MAX ||
		    o->n_sizes == COT_REPRO_MAX_SIZES ||
		    (o->n_sizes && value <= o->sizes[o->n_sizes - 1]))
			argp_error(state,
				   "--sizes: '%.20s' does not fit; expected at most %d ascending "
				   "whole numbers from 1 to %d",
				   word, COT_REPRO_MAX_SIZES, COT_WORKLOAD_MAX);
		o->sizes[o->n_sizes++] = (unsigned)value;
	}
}

static uint64_t parse_u64(struct argp_state *state, const char *name, const char *text,
			  uint64_t min, uint64_t max)
{
	uint64_t value = 0;

	if (!cot_number_u64(text, &value) || value < min || value > max)
		argp_error(state, "%s: '%.40s'; expected a whole number from %llu to %llu", name,
			   text, (unsigned long long)min, (unsigned long long)max);
	return value;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPT_QUICK:
		a->study.quick = true;
		break;
	case OPT_JSON:
		a->json = arg;
		break;
	case OPT_REPORT:
		a->html = arg;
		break;
	case OPT_SEED:
		a->study.seed = parse_u64(state, "--seed", arg, 0, INT64_MAX);
		break;
	case OPT_THREADS:
		a->study.n_threads =
			(unsigned)parse_u64(state, "--threads", arg, 1, COT_JOBS_MAX_THREADS);
		break;
	case OPT_JITTER:
		if (!cot_number_double(arg, &a->study.jitter_cv) || a->study.jitter_cv < 0.0 ||
		    a->study.jitter_cv > JITTER_CV_MAX)
			argp_error(state, "--jitter: '%.40s'; expected a number from 0 to %g", arg,
				   JITTER_CV_MAX);
		break;
	case OPT_SIZES:
		parse_sizes(state, arg, &a->study);
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "'%.40s' is too much; expected options only", arg);
		break;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = NULL;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.children = cot_cli_argp_children,
	.doc = "Repeat the evaluation of Tanasic et al., \"Enabling Preemptive Multiprogramming on "
	       "GPUs\" (ISCA 2014): Table 1 and Figures 5 to 8, in both readings of the paper's "
	       "Time/TB column, beside the values that the paper prints.",
};

static void show_progress(void *arg, double done)
{
	struct arguments *a = arg;

	cot_progress_update(&a->bar, done);
}

static bool interrupted(void *arg)
{
	(void)arg;
	return cot_cli_interrupted();
}

/* An output and who writes it. */
struct output {
	const char *path; /* NULL: not wanted */
	int (*write)(FILE *out, const struct cot_repro *r);
	struct cot_outfile *file;
};

#define N_OUTPUTS 3

static int open_outputs(struct output *outs, struct cot_error *err)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < N_OUTPUTS && !rc; i++)
		if (outs[i].path)
			rc = cot_outfile_open(outs[i].path, &outs[i].file, err);
	return rc;
}

/* All files are complete before the first one gets its name. */
static int write_outputs(struct output *outs, const struct cot_repro *r, struct cot_error *err)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < N_OUTPUTS && !rc; i++) {
		if (!outs[i].path)
			continue;
		rc = outs[i].write(cot_outfile_stream(outs[i].file), r);
		if (rc)
			cot_error_set(err, rc, "out of memory");
		else
			rc = cot_outfile_finish(outs[i].file, err);
	}
	for (i = 0; i < N_OUTPUTS && !rc; i++)
		if (outs[i].path)
			rc = cot_outfile_commit(outs[i].file, err);
	return rc;
}

static int run_study(struct arguments *a, struct output *outs)
{
	struct cot_repro *r = calloc(1, sizeof(*r));
	struct cot_error err = {.text = "out of memory"};
	int rc = r ? 0 : -ENOMEM;

	if (!rc)
		rc = open_outputs(outs, &err);
	if (!rc) {
		cot_progress_init(&a->bar, "reproduce preemption");
		rc = cot_study_run(&a->study, r, &err);
		cot_progress_finish(&a->bar);
		if (!rc)
			rc = write_outputs(outs, r, &err);
		cot_repro_finish(r);
	}
	free(r);
	if (rc == -EINTR) {
		cot_cli_complain("interrupted; nothing was written");
		return COT_EXIT_INTERRUPTED;
	}
	if (rc)
		cot_cli_complain("%s", err.text);
	return rc ? COT_EXIT_FAILURE : COT_EXIT_OK;
}

int cot_reproduce_preemption(int argc, char **argv)
{
	struct arguments a = {
		.study = {.seed = 1, .n_sizes = 4, .sizes = {2, 4, 6, 8}},
	};
	struct output outs[N_OUTPUTS] = {{.write = cot_repro_write_json},
					 {.write = cot_repro_write_html},
					 {.write = cot_repro_write_text}};
	unsigned i;
	int status;

	argp_err_exit_status = COT_EXIT_USAGE;
	a.study.n_threads = cot_jobs_default_threads();
	if (cot_cli_parse(&argp, argc, argv, 0, &a))
		return COT_EXIT_USAGE;
	a.study.progress = show_progress;
	a.study.stop = interrupted;
	a.study.arg = &a;
	outs[0].path = a.json;
	outs[1].path = a.html;
	/* JSON on standard output stands alone. */
	outs[2].path = a.json && !strcmp(a.json, "-") ? NULL : "-";
	cot_cli_catch_signals();
	status = run_study(&a, outs);
	for (i = 0; i < N_OUTPUTS; i++)
		cot_outfile_destroy(outs[i].file);
	return status;
}
