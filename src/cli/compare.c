/*
 * cotenant compare: plays one scenario under every scheduler, the preempting ones by both
 * mechanisms, and, where the scenario names a software policy, under every policy; and puts the
 * outcomes side by side. Or many random scenarios (study/mixes).
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/compare.h"
#include "cli/grid.h"
#include "cli/origin.h"
#include "cli/scenario.h"
#include "cli/settings.h"
#include "study/jobs.h"
#include "study/mixes/mixes.h"
#include "trace/scenario_read.h"

struct arguments {
	const char *scenario, *schedulers, *policies;
	struct cot_cli_settings settings;
	struct cot_cli_grid_options grid;
	/* Random scenarios: */
	unsigned n_random; /* 0: none */
	struct cot_progress bar;
};

enum { KEY_SCHEDULER = 256, KEY_POLICY, KEY_SET, KEY_RANDOM };

#define MAX_RANDOM 1000000u

static const struct argp_option options[] = {
	{"scheduler", KEY_SCHEDULER, "NAME,...", 0,
	 "Play only these schedulers; all is all of them", 0},
	{"policy", KEY_POLICY, "NAME,...", 0,
	 "Play only these software policies; parts@64 gives batch programs 64 SMs, all is all", 0},
	COT_CLI_SET(KEY_SET, 0),
	{"random", KEY_RANDOM, "N", 0,
	 "Play N random scenarios under every fixed arrangement and under slo, or --policy", 0},
	{0},
};

static void check_random(const struct arguments *a, struct argp_state *state)
{
	if (a->scenario)
		argp_error(state, "--random makes its own scenarios; '%s' is one too many",
			   a->scenario);
	if (a->policies && strchr(a->policies, ','))
		argp_error(state, "--random plays one policy; '%s' are several", a->policies);
	if (a->schedulers || a->settings.n || a->grid.n_seeds)
		argp_error(state, "--random has no %s",
			   a->schedulers   ? "--scheduler"
			   : a->settings.n ? "--set, as there is no scenario"
					   : "--seeds, as each scenario has a seed of its own");
}

static void check(const struct arguments *a, struct argp_state *state)
{
	if (a->n_random)
		check_random(a, state);
	else if (!a->scenario)
		argp_error(state, "no scenario given; expected a file such as scenarios/demo.yaml");
	cot_cli_grid_check(&a->grid, a->scenario, state);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_SCHEDULER:
		a->schedulers = arg;
		return 0;
	case KEY_POLICY:
		a->policies = arg;
		return 0;
	case KEY_SET:
		cot_cli_settings_add(&a->settings, arg, state);
		return 0;
	case KEY_RANDOM:
		a->n_random = (unsigned)cot_study_whole(state, "--random", arg, 1, MAX_RANDOM);
		return 0;
	case ARGP_KEY_ARG:
		if (a->scenario)
			argp_error(state, "one scenario at a time; '%s' is one too many", arg);
		a->scenario = arg;
		return 0;
	case ARGP_KEY_END:
		check(a, state);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->grid;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- random scenarios ---- */

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

static int check_policy(const char *word, struct cot_error *err)
{
	struct cot_scenario sc = {.gpu.n_sms = COT_MIXES_SMS};

	return word ? cot_cli_set_policy(word, &sc, err) : 0;
}

static int origin_of_random(const struct arguments *a, int argc, char **argv,
			    struct cot_origin *ret)
{
	const char *const outputs[] = {a->grid.json, a->grid.csv, a->grid.report};
	int rc = cot_cli_origin(argc, argv, NULL, outputs, COT_ARRAY_LEN(outputs), ret);

	ret->kind = COT_ORIGIN_DRAWN;
	ret->gpu = cot_mixes_study.gpu;
	ret->has_seed = true;
	ret->seed = a->grid.seeded ? a->grid.seed : 1;
	return rc;
}

static int compare_random(struct arguments *a, int argc, char **argv)
{
	struct cot_origin origin = {.file = NULL};
	const struct cot_cli_grid_options *o = &a->grid;
	const struct cot_study_options study = {
		.seed = o->seeded ? o->seed : 1,
		.n_threads = o->n_threads ? o->n_threads : cot_jobs_default_threads(),
		.json = o->json,
		.csv = o->csv,
		.html = o->report,
		.origin = &origin,
		.progress = show_progress,
		.stop = interrupted,
		.arg = a,
	};
	struct cot_mixes *mixes = cot_mixes_study.create();
	struct cot_error err = {"out of memory"};
	int rc = mixes ? origin_of_random(a, argc, argv, &origin) : -ENOMEM;

	rc = rc ? rc : check_policy(a->policies, &err);

	if (rc == -EINVAL) {
		cot_cli_complain("%s", err.text);
		cot_mixes_study.destroy(mixes);
		cot_origin_finish(&origin);
		return COT_EXIT_USAGE;
	}
	cot_cli_catch_signals();
	cot_progress_init(&a->bar, "simulating");
	if (!rc) {
		mixes->n = a->n_random;
		mixes->policy = a->policies;
		rc = cot_study_run(&cot_mixes_study, mixes, &study, &err);
	}
	cot_progress_finish(&a->bar);
	if (mixes)
		cot_mixes_study.destroy(mixes);
	cot_origin_finish(&origin);
	if (!rc)
		rc = cot_cli_flush(&err);
	return cot_cli_end(rc, &err);
}

/* ---- one scenario ---- */

/* Policies need contexts, whatever scheduler the scenario has for itself. */
static int begin(struct cot_comparison *c, const struct arguments *a, int argc, char **argv,
		 struct cot_error *err)
{
	const char *const outputs[] = {a->grid.json, a->grid.csv, a->grid.report};
	const struct cot_cli_overrides o = {.scheduler = a->policies ? "timeslice" : NULL,
					    .settings = a->settings.of,
					    .n_settings = a->settings.n};
	int rc;

	if (cot_cli_origin(argc, argv, a->scenario, outputs, COT_ARRAY_LEN(outputs), &c->origin))
		return cot_error_set(err, -ENOMEM, "out of memory");
	rc = cot_cli_read_scenario(a->scenario, &o, &c->origin, &c->sc, err);
	return rc ? rc : cot_compare_add_rows(c, a->schedulers, a->policies, err);
}

int cot_cmd_compare(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "SCENARIO\n--random N",
		.doc = "Plays SCENARIO (a YAML file; - is standard input) under every scheduler, by "
		       "context switch and by draining, and under every software policy if it names one, "
		       "or under those of --scheduler and --policy, and shows the outcomes side by "
		       "side.",
		.children = cot_cli_grid_children,
	};
	struct arguments args = {0};
	struct cot_comparison c = {0};
	struct cot_error err;
	int rc, status;

	if (cot_cli_parse(&argp, argc, argv, 0, &args))
		return COT_EXIT_FAILURE;
	if (args.n_random)
		return compare_random(&args, argc, argv);
	rc = begin(&c, &args, argc, argv, &err);
	if (rc) {
		cot_cli_complain("%s", err.text);
		status = rc == -ENOMEM ? COT_EXIT_FAILURE : COT_EXIT_USAGE;
	} else {
		status = cot_cli_end(cot_cli_grid_run(&c.grid, &args.grid, &err), &err);
	}
	cot_compare_finish(&c);
	cot_cli_settings_finish(&args.settings);
	return status;
}
