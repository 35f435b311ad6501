/*
 * cotenant compare: plays one scenario under every scheduler, the preempting ones by both
 * mechanisms, and, where the scenario names a software policy, under every policy; and puts the
 * outcomes side by side.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/compare.h"
#include "cli/scenario.h"
#include "report/sim_summary.h"
#include "sim/host.h"
#include "sim/sim.h"
#include "study/jobs.h"
#include "study/mixes/mixes.h"
#include "trace/scenario_read.h"

struct arguments {
	const char *scenario, *json, *policies;
	struct cot_cli_overrides overrides;
	char first[COT_NAME_MAX]; /* of the policies */
	/* Random scenarios: */
	unsigned n_random; /* 0: none */
	bool seeded, threaded;
	struct cot_study_options study;
	struct cot_progress bar;
};

enum { KEY_JSON = 256, KEY_POLICY, KEY_RANDOM };

#define MAX_RANDOM 1000000u

static const struct argp_option options[] = {
	{"policy", KEY_POLICY, "NAME,...", 0,
	 "Play only these software policies; parts@64 gives batch programs 64 SMs", 0},
	{"random", KEY_RANDOM, "N", 0,
	 "Play N random scenarios under every fixed arrangement and under slo, or --policy", 1},
	{"seed", COT_STUDY_SEED, "N", 0, "Seed of the first of them (default 1)", 1},
	{"threads", COT_STUDY_THREADS, "N", 0, "Use N threads (default: all processors)", 1},
	{"json", KEY_JSON, "FILE", 0, "Write the outcomes as JSON; - is standard output", 0},
	{0},
};

static void check(const struct arguments *a, struct argp_state *state)
{
	if (a->n_random && a->scenario)
		argp_error(state, "--random makes its own scenarios; '%s' is one too many",
			   a->scenario);
	if (a->n_random && a->policies && strchr(a->policies, ','))
		argp_error(state, "--random plays one policy; '%s' are several", a->policies);
	if (a->n_random)
		return;
	if (a->seeded || a->threaded)
		argp_error(state, "%s is for --random", a->seeded ? "--seed" : "--threads");
	if (!a->scenario)
		argp_error(state, "no scenario given; expected a file such as scenarios/demo.yaml");
	if (a->json && strcmp(a->json, "-") && cot_cli_same_file(a->json, a->scenario))
		argp_error(state, "the output '%s' is the scenario itself", a->json);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_JSON:
		a->json = arg;
		return 0;
	case KEY_POLICY:
		a->policies = arg;
		(void)snprintf(a->first, sizeof(a->first), "%.*s", (int)strcspn(arg, ","), arg);
		a->overrides.policy = a->first;
		return 0;
	case KEY_RANDOM:
		a->n_random = (unsigned)cot_study_whole(state, "--random", arg, 1, MAX_RANDOM);
		return 0;
	case COT_STUDY_SEED:
		a->study.seed = cot_study_whole(state, "--seed", arg, 0, INT64_MAX - MAX_RANDOM);
		a->seeded = true;
		return 0;
	case COT_STUDY_THREADS:
		a->study.n_threads =
			(unsigned)cot_study_whole(state, "--threads", arg, 1, COT_JOBS_MAX_THREADS);
		a->threaded = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->scenario)
			argp_error(state, "one scenario at a time; '%s' is one too many", arg);
		a->scenario = arg;
		return 0;
	case ARGP_KEY_END:
		check(a, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- playing ---- */

static void take_results(const struct cot_cli_play *play, struct cot_compare_row *r,
			 const double *alone_us)
{
	struct cot_sim_result result;

	cot_sim_result(play->sim, &result);
	/* A stalled run has apps without an outcome: they show as such. */
	cot_sim_summarize(r->sc, &result, alone_us, &r->summary);
	cot_cli_play_summarize(play, &r->summary);
}

static int play(struct cot_comparison *c, unsigned index, struct cot_progress *progress,
		struct cot_error *err)
{
	struct cot_compare_row *r = &c->rows[index];
	enum cot_sim_status status = COT_SIM_MORE;
	struct cot_cli_play run;
	int rc = cot_cli_play_begin(&run, r->sc, &c->alone, NULL, NULL, NULL, err);

	while (!rc && status == COT_SIM_MORE && !cot_cli_interrupted()) {
		status = cot_cli_play_on(&run);
		cot_progress_update(progress, (index + cot_sim_progress(run.sim)) / c->n_rows);
	}
	if (!rc)
		rc = cot_cli_play_check(status, err);
	if (!rc)
		take_results(&run, r, c->alone.us);
	cot_cli_play_end(&run);
	return rc;
}

static int play_all(struct cot_comparison *c, struct cot_error *err)
{
	struct cot_progress progress;
	unsigned i;
	int rc = 0;

	cot_progress_init(&progress, "simulating");
	for (i = 0; i < c->n_rows && !rc; i++)
		rc = play(c, i, &progress, err);
	cot_progress_finish(&progress);
	return rc;
}

/* ---- output ---- */

static int print_json(const struct cot_comparison *c, FILE *out, struct cot_error *err)
{
	unsigned i;
	int rc = 0;

	(void)fputs("{\"schema\": \"cotenant.compare/1\", \"runs\": [\n", out);
	for (i = 0; i < c->n_rows && !rc; i++) {
		if (i)
			(void)fputs(",\n", out);
		rc = cot_sim_print_json(&c->rows[i].summary, NULL, out, err);
	}
	(void)fputs("]}\n", out);
	return rc;
}

static int write_outputs(const struct cot_comparison *c, struct cot_outfile *json,
			 struct cot_error *err)
{
	int rc;

	if (!json) {
		if (cot_compare_print(c, stdout) < 0)
			return cot_error_set(err, -ENOMEM, "out of memory");
		return 0;
	}
	rc = print_json(c, cot_outfile_stream(json), err);
	return rc ? rc : cot_outfile_commit(json, err);
}

static int compare(const struct arguments *a, struct cot_comparison *c, struct cot_error *err)
{
	struct cot_outfile *json = NULL;
	int rc;

	cot_cli_catch_signals();
	/* Before the work, so that a wrong path is noticed at once. */
	rc = a->json ? cot_outfile_open(a->json, &json, err) : 0;
	if (!rc)
		rc = cot_cli_measure_alone(c->sc, &c->alone, err);
	if (!rc)
		rc = play_all(c, err);
	if (!rc)
		rc = write_outputs(c, json, err);
	cot_outfile_destroy(json);
	return rc ? rc : cot_cli_flush(err);
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

static int compare_random(struct arguments *a)
{
	struct cot_mixes *mixes = cot_mixes_study.create();
	struct cot_error err = {"out of memory"};
	int rc = mixes ? check_policy(a->policies, &err) : -ENOMEM;

	if (rc == -EINVAL) {
		cot_cli_complain("%s", err.text);
		cot_mixes_study.destroy(mixes);
		return COT_EXIT_USAGE;
	}
	cot_cli_catch_signals();
	cot_progress_init(&a->bar, "simulating");
	if (!rc) {
		mixes->n = a->n_random;
		mixes->policy = a->policies;
		rc = cot_study_run(&cot_mixes_study, mixes, &a->study, &err);
	}
	cot_progress_finish(&a->bar);
	if (mixes)
		cot_mixes_study.destroy(mixes);
	if (!rc)
		rc = cot_cli_flush(&err);
	return cot_cli_end(rc, &err);
}

int cot_cmd_compare(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "SCENARIO\n--random N",
		.doc = "Plays SCENARIO (a YAML file; - is standard input) under every scheduler, by "
		       "context switch and by draining, and under every software policy if it names one, "
		       "or under those of --policy, and shows the outcomes side by side.",
		.children = cot_cli_argp_children,
	};
	struct arguments args = {.study = {.seed = 1,
					   .n_threads = cot_jobs_default_threads(),
					   .progress = show_progress,
					   .stop = interrupted}};
	struct cot_comparison *c;
	struct cot_origin origin;
	struct cot_error err;
	int rc, status;

	if (cot_cli_parse(&argp, argc, argv, 0, &args))
		return COT_EXIT_FAILURE;
	args.study.json = args.json;
	args.study.arg = &args;
	if (args.n_random)
		return compare_random(&args);
	c = calloc(1, sizeof(*c));
	if (!c) {
		cot_cli_complain("out of memory");
		return COT_EXIT_FAILURE;
	}
	rc = cot_cli_read_scenario(args.scenario, &args.overrides, &origin, &c->sc, &err);
	if (!rc)
		rc = cot_compare_add_rows(c, args.policies, &err);
	if (rc < 0) {
		cot_cli_complain("%s", err.text);
		status = rc == -ENOMEM ? COT_EXIT_FAILURE : COT_EXIT_USAGE;
	} else {
		status = cot_cli_end(compare(&args, c, &err), &err);
	}
	cot_compare_finish(c);
	cot_scenario_destroy(c->sc);
	free(c);
	return status;
}
