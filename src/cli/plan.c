/*
 * cotenant plan: which programs of a list fit together on how many GPUs, by simulation.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/origin.h"
#include "study/jobs.h"
#include "study/plan/plan.h"
#include "text/text.h"

struct arguments {
	const char *file;
	struct cot_fleet *plan;
	struct cot_workload *workload;
	struct cot_study_options options;
	struct cot_origin origin;
	struct cot_progress bar;
	bool seeded;
};

enum {
	KEY_GPUS = 256,
	KEY_PER_GPU,
	KEY_MARGIN,
	KEY_SECONDS,
	KEY_SEED,
	KEY_THREADS,
	KEY_JSON,
	KEY_CSV,
};

static const struct argp_option options[] = {
	{"gpus", KEY_GPUS, "N", 0, "Use N GPUs at most (default: as many as it takes, up to 64)",
	 0},
	{"per-gpu", KEY_PER_GPU, "N", 0, "Put N programs on a GPU at most (default: 32)", 0},
	{"margin", KEY_MARGIN, "PERCENT", 0,
	 "How far below its target a p99 has to be (default: 10)", 0},
	{"seconds", KEY_SECONDS, "S", 0,
	 "Let S seconds of each simulation count, if programs have requests enough in them "
	 "(default: 4)",
	 0},
	{"seed", KEY_SEED, "N", 0, "The random seed (default: the file's)", 2},
	{"threads", KEY_THREADS, "N", 0, "Use N threads (default: all processors)", 2},
	COT_CLI_JSON(KEY_JSON, 3),
	COT_CLI_CSV(KEY_CSV, "program", 3),
	{0},
};

static void check(const struct arguments *a, struct argp_state *state)
{
	const char *json = a->options.json, *csv = a->options.csv;

	if (!a->file)
		argp_error(state,
			   "no jobs given; expected a file such as scenarios/plan/jobs.yaml");
	if (json && csv && cot_cli_same_file(json, csv))
		argp_error(state, "two outputs are the same file '%s'", csv);
	if ((json && strcmp(json, "-") != 0 && cot_cli_same_file(json, a->file)) ||
	    (csv && strcmp(csv, "-") != 0 && cot_cli_same_file(csv, a->file)))
		argp_error(state, "an output is '%s', the file of the jobs itself", a->file);
}

/* Numbers. */
static error_t parse_plan(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct cot_fleet *p = a->plan;

	switch (key) {
	case KEY_GPUS:
		p->max_gpus = (uint32_t)cot_study_whole(state, "--gpus", arg, 1, COT_PLAN_GPUS_MAX);
		return 0;
	case KEY_PER_GPU:
		p->per_gpu = (uint32_t)cot_study_whole(state, "--per-gpu", arg, 1, COT_MAX_APPS);
		return 0;
	case KEY_MARGIN:
		p->margin =
			cot_study_real(state, "--margin", arg, 0, 100 * COT_PLAN_MARGIN_MAX) / 100;
		return 0;
	case KEY_SECONDS:
		p->seconds = cot_study_real(state, "--seconds", arg, 1, COT_PLAN_SECONDS_MAX);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_SEED:
		a->options.seed = cot_study_whole(state, "--seed", arg, 0, INT64_MAX);
		a->seeded = true;
		return 0;
	case KEY_THREADS:
		a->options.n_threads =
			(unsigned)cot_study_whole(state, "--threads", arg, 1, COT_JOBS_MAX_THREADS);
		return 0;
	case KEY_JSON:
		a->options.json = cot_cli_json(arg, state);
		return 0;
	case KEY_CSV:
		a->options.csv = arg ? arg : "-";
		return 0;
	case ARGP_KEY_ARG:
		if (a->file)
			argp_error(state, "one file at a time; '%s' is one too many", arg);
		a->file = arg;
		return 0;
	case ARGP_KEY_END:
		check(a, state);
		return 0;
	default:
		return parse_plan(key, arg, state);
	}
}

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

static int read_jobs(struct arguments *a, int argc, char **argv, struct cot_error *err)
{
	const char *const outputs[] = {a->options.json, a->options.csv};
	const char *name = strcmp(a->file, "-") != 0 ? a->file : "stdin";
	char *bytes;
	size_t size;
	int rc;

	if (cot_cli_origin(argc, argv, a->file, outputs, COT_ARRAY_LEN(outputs), &a->origin))
		return cot_error_set(err, -ENOMEM, "out of memory");
	rc = cot_text_read(a->file, &bytes, &size, err);
	if (rc)
		return rc;
	(void)cot_sha256(bytes, size, a->origin.sha256);
	rc = cot_workload_parse(name, bytes, size, &a->workload, err);
	free(bytes);
	rc = rc ? rc : cot_plan_learn(a->workload, name, err);
	if (!rc && a->seeded)
		a->workload->base.seed = a->options.seed;
	a->plan->workload = a->workload;
	a->options.origin = &a->origin;
	return rc;
}

/* Those who only look at the exit status know whether all jobs have a place. */
static int judge(const struct arguments *a)
{
	uint32_t n = a->workload->n_programs - a->plan->n_placed;

	if (!n)
		return COT_EXIT_OK;
	cot_cli_complain("%u of %u programs have no place", (unsigned)n,
			 (unsigned)a->workload->n_programs);
	return COT_EXIT_FAILURE;
}

static int run(struct arguments *a, int argc, char **argv)
{
	struct cot_error err = {"out of memory"};
	int rc = read_jobs(a, argc, argv, &err);

	if (rc) {
		cot_cli_complain("%s", err.text);
		return rc == -ENOMEM ? COT_EXIT_FAILURE : COT_EXIT_USAGE;
	}
	cot_cli_catch_signals();
	cot_progress_init(&a->bar, "planning");
	rc = cot_study_run(&cot_plan_study, a->plan, &a->options, &err);
	cot_progress_finish(&a->bar);
	rc = rc ? rc : cot_cli_flush(&err);
	return rc ? cot_cli_end(rc, &err) : judge(a);
}

int cot_cmd_plan(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "JOBS",
		.doc = "Says which programs of JOBS (a YAML file; - is standard input) fit together on "
		       "a GPU so that each keeps its target, and how many GPUs that takes. Each mix is "
		       "simulated under the policy slo.",
		.children = cot_cli_long_argp_children,
	};
	struct arguments a = {
		.plan = cot_plan_study.create(),
		.options = {.progress = show_progress, .stop = interrupted},
	};
	int status = COT_EXIT_FAILURE;

	a.options.arg = &a;
	a.options.n_threads = cot_jobs_default_threads();
	if (!a.plan)
		cot_cli_complain("out of memory");
	else if (!cot_cli_parse(&argp, argc, argv, 0, &a))
		status = run(&a, argc, argv);
	cot_plan_study.destroy(a.plan);
	cot_workload_destroy(a.workload);
	cot_origin_finish(&a.origin);
	return status;
}
