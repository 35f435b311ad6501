/*
 * cotenant reproduce: repeats a published evaluation (src/study).
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/origin.h"
#include "study/consolidation/consolidation.h"
#include "study/jobs.h"
#include "study/laius/laius.h"
#include "study/preemption/preemption.h"
#include "study/smqos/smqos.h"
#include "text/nearest.h"

static const struct cot_study *const studies[] = {
	&cot_preemption_study,
	&cot_smq_study,
	&cot_laius_study,
	&cot_consolidation_study,
};

struct arguments {
	const struct cot_study *study;
	void *data; /* the study's */
	struct cot_study_options options;
	struct cot_progress bar;
	struct cot_origin origin;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct cot_study_options *o = &a->options;

	switch (key) {
	case COT_STUDY_QUICK:
		o->quick = true;
		return 0;
	case COT_STUDY_JSON:
		o->json = cot_cli_json(arg, state);
		return 0;
	case COT_STUDY_REPORT:
		o->html = arg;
		return 0;
	case COT_STUDY_SEED:
		o->seed = cot_study_whole(state, "--seed", arg, 0, INT64_MAX);
		return 0;
	case COT_STUDY_THREADS:
		o->n_threads =
			(unsigned)cot_study_whole(state, "--threads", arg, 1, COT_JOBS_MAX_THREADS);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%.40s'; expected options only", arg);
		return 0;
	default:
		return a->study->parse ? a->study->parse(a->data, key, arg, state)
				       : ARGP_ERR_UNKNOWN;
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

static bool takes_seed(const struct cot_study *study)
{
	const struct argp_option *o = study->options;

	while (o->key && o->key != COT_STUDY_SEED)
		o++;
	return o->key == COT_STUDY_SEED;
}

/* argv[0] is "cotenant reproduce STUDY". */
static int find_origin(struct arguments *a, int argc, char **argv)
{
	const char *const outputs[] = {a->options.json, a->options.html};
	int rc = cot_cli_origin(argc, argv, NULL, outputs, COT_ARRAY_LEN(outputs), &a->origin);

	if (!rc)
		rc = cot_cli_origin_built_in(&a->origin);
	a->origin.gpu = a->study->gpu;
	a->origin.has_seed = takes_seed(a->study);
	a->origin.seed = a->options.seed;
	a->options.origin = &a->origin;
	return rc;
}

/* Takes what create() made; `name` is what argp and the progress bar call the study. */
static int run(struct arguments *a, const char *name, int argc, char **argv)
{
	const struct argp argp = {
		.options = a->study->options,
		.parser = parse,
		.children = cot_cli_long_argp_children,
		.doc = a->study->doc,
	};
	struct cot_error err = {"out of memory"};
	int rc = a->data ? 0 : -ENOMEM;

	if (!rc && cot_cli_parse(&argp, argc, argv, 0, a)) {
		a->study->destroy(a->data);
		return COT_EXIT_USAGE;
	}
	cot_cli_catch_signals();
	cot_progress_init(&a->bar, name + strlen("cotenant "));
	rc = rc ? rc : find_origin(a, argc, argv);
	if (!rc)
		rc = cot_study_run(a->study, a->data, &a->options, &err);
	cot_progress_finish(&a->bar);
	if (a->data)
		a->study->destroy(a->data);
	cot_origin_finish(&a->origin);
	return cot_cli_end(rc, &err);
}

static void print_usage(FILE *out)
{
	unsigned i;

	fputs("Usage: cotenant reproduce STUDY [OPTION...]\n"
	      "Repeat a published evaluation and print it beside the paper's own "
	      "values.\n\n"
	      "Studies:\n",
	      out);
	for (i = 0; i < COT_ARRAY_LEN(studies); i++)
		fprintf(out, "  %-14s %s\n", studies[i]->name, studies[i]->summary);
	fputs("\n`cotenant reproduce STUDY --help` shows the options of a study.\n", out);
}

static int unknown_study(const char *word)
{
	char list[128] = "", hint[COT_NEAREST_HINT_MAX];
	struct cot_nearest near = {.word = word};
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(studies); i++) {
		size_t n = strlen(list);

		snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", studies[i]->name);
		cot_nearest_try(&near, studies[i]->name);
	}
	cot_cli_complain("reproduce: there is no study '%.40s'%s; expected one of %s", word,
			 cot_nearest_hint(&near, hint), list);
	return COT_EXIT_USAGE;
}

int cot_cmd_reproduce(int argc, char **argv)
{
	struct arguments a = {
		.options = {.seed = 1, .progress = show_progress, .stop = interrupted}};
	char name[64];
	unsigned i;

	if (argc < 2) {
		cot_cli_complain("reproduce: no study given; expected one of the list below");
		print_usage(stderr);
		return COT_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "-?")) {
		print_usage(stdout);
		return fflush(stdout) ? COT_EXIT_FAILURE : COT_EXIT_OK;
	}
	for (i = 0; i < COT_ARRAY_LEN(studies); i++) {
		if (strcmp(argv[1], studies[i]->name))
			continue;
		snprintf(name, sizeof(name), "cotenant reproduce %s", argv[1]);
		argv[1] = name;
		a.study = studies[i];
		a.data = a.study->create();
		a.options.n_threads = cot_jobs_default_threads();
		a.options.arg = &a;
		return run(&a, name, argc - 1, argv + 1);
	}
	return unknown_study(argv[1]);
}
