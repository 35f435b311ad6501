/*
 * cotenant sim: plays one scenario and shows the outcome.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/outfile.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/knowledge.h"
#include "cli/origin.h"
#include "cli/scenario.h"
#include "cli/settings.h"
#include "report/allocation.h"
#include "report/fanout.h"
#include "report/gzip.h"
#include "report/parts.h"
#include "report/sampler.h"
#include "report/sim_summary.h"
#include "report/timeline.h"
#include "sim/qos.h"
#include "text/nearest.h"
#include "text/number.h"
#include "text/text.h"
#include "trace/scenario_read.h"

#define MAX_NAMES_LENGTH 512u

struct arguments {
	const char *scenario;
	struct cot_cli_overrides overrides;
	struct cot_cli_settings settings;
	uint64_t seed_value;
	const char *json, *timeline, *report;
	const char *learn, *knowledge;
	bool allocation;
};

enum {
	KEY_SCHEDULER = 256,
	KEY_PREEMPT,
	KEY_POLICY,
	KEY_SEED,
	KEY_SET,
	KEY_JSON,
	KEY_ALLOCATION,
	KEY_TIMELINE,
	KEY_REPORT,
	KEY_LEARN,
	KEY_KNOWLEDGE,
};

static const struct argp_option options[] = {
	{"scheduler", KEY_SCHEDULER, "NAME", 0, "Use this scheduler, not the scenario's", 0},
	{"preempt", KEY_PREEMPT, "MODE", 0,
	 "Preempt SMs by context switch (switch) or by draining (drain)", 0},
	{"policy", KEY_POLICY, "NAME", 0,
	 "Use this software policy, not the scenario's; parts@64 gives batch programs 64 SMs", 0},
	{"seed", KEY_SEED, "N", 0, "Use this random seed", 0},
	COT_CLI_SET(KEY_SET, 0),
	COT_CLI_JSON(KEY_JSON, 1),
	{"allocation", KEY_ALLOCATION, NULL, 0,
	 "Add to the JSON how many SMs each program has, at each change", 1},
	{"timeline", KEY_TIMELINE, "FILE", 0,
	 "Write a timeline for Perfetto or chrome://tracing; compressed if FILE ends with .gz", 1},
	{"report", KEY_REPORT, "FILE", 0, "Write an HTML page with charts", 1},
	{"learn", KEY_LEARN, "FOLDER", 0,
	 "Write to FOLDER what is known of each app after playing it alone on parts of the GPU", 2},
	{"knowledge", KEY_KNOWLEDGE, "FOLDER", 0,
	 "Tell a policy that predicts only what FOLDER says of the apps", 2},
	{0},
};

/* "fcfs, npq, ..." */
static const char *scheduler_names(char *text, size_t size)
{
	unsigned i;

	text[0] = '\0';
	for (i = 0; i < hw_n_scheds; i++)
		cot_text_add_word(text, size, hw_scheds[i]->name);
	return text;
}

static void parse_seed(struct arguments *a, const char *text, struct argp_state *state)
{
	if (!cot_number_u64(text, &a->seed_value) || a->seed_value > INT64_MAX)
		argp_error(state, "--seed is '%s'; expected a whole number from 0 to %" PRId64,
			   text, INT64_MAX);
	a->overrides.seed = &a->seed_value;
}

static void parse_scheduler(struct arguments *a, const char *name, struct argp_state *state)
{
	char names[MAX_NAMES_LENGTH], hint[COT_NEAREST_HINT_MAX];
	struct cot_nearest near = {.word = name};
	unsigned i;

	for (i = 0; i < hw_n_scheds; i++)
		cot_nearest_try(&near, hw_scheds[i]->name);
	if (!hw_sched_find(name))
		argp_error(state, "unknown scheduler '%s'%s; expected one of %s", name,
			   cot_nearest_hint(&near, hint), scheduler_names(names, sizeof(names)));
	a->overrides.scheduler = name;
}

/* Two of the three outputs with one name would overwrite each other. */
static void check(const struct arguments *a, struct argp_state *state)
{
	const char *files[] = {a->json, a->timeline, a->report};
	unsigned i, j;

	if (!a->scenario)
		argp_error(state, "no scenario given; expected a file such as scenarios/demo.yaml");
	if (a->learn && a->knowledge)
		argp_error(state, "--learn and --knowledge exclude each other; what was learned "
				  "is used at once");
	if (a->allocation && !a->json)
		argp_error(state, "--allocation adds to the JSON; it needs --json");
	for (i = 0; i < COT_ARRAY_LEN(files); i++) {
		if (!files[i])
			continue;
		if (i && !strcmp(files[i], "-"))
			argp_error(state, "only --json can go to standard output");
		for (j = 0; j < i; j++)
			if (files[j] && cot_cli_same_file(files[i], files[j]))
				argp_error(state, "two outputs are the same file '%s'", files[i]);
		if (strcmp(files[i], "-") && cot_cli_same_file(files[i], a->scenario))
			argp_error(state, "the output '%s' is the scenario itself", files[i]);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_SCHEDULER:
		parse_scheduler(a, arg, state);
		return 0;
	case KEY_PREEMPT:
		if (strcmp(arg, "switch") && strcmp(arg, "drain"))
			argp_error(state, "--preempt is '%s'; expected switch or drain", arg);
		a->overrides.preempt = arg;
		return 0;
	case KEY_POLICY:
		a->overrides.policy = arg;
		return 0;
	case KEY_SEED:
		parse_seed(a, arg, state);
		return 0;
	case KEY_SET:
		cot_cli_settings_add(&a->settings, arg, state);
		a->overrides.settings = a->settings.of;
		a->overrides.n_settings = a->settings.n;
		return 0;
	case KEY_JSON:
		a->json = cot_cli_json(arg, state);
		return 0;
	case KEY_ALLOCATION:
		a->allocation = true;
		return 0;
	case KEY_TIMELINE:
		a->timeline = arg;
		return 0;
	case KEY_REPORT:
		a->report = arg;
		return 0;
	case KEY_LEARN:
		a->learn = arg;
		return 0;
	case KEY_KNOWLEDGE:
		a->knowledge = arg;
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

/* Everything that one simulation needs; all of it is released by finish(). */
struct job {
	struct arguments *args;
	struct cot_scenario *sc;
	struct cot_origin origin;
	struct cot_cli_alone alone;
	struct cot_cli_knowledge knowledge;
	struct cot_outfile *json, *timeline_file, *report;
	struct cot_allocation *allocation;
	struct cot_timeline *timeline;
	FILE *zipped; /* of a timeline in ".gz"; NULL */
	struct cot_sampler *sampler;
	struct cot_epochs *epochs;
	struct cot_parts *parts;
	struct cot_fanout fanout;
	struct cot_cli_play play;
};

static void finish(struct job *job)
{
	cot_cli_play_end(&job->play);
	cot_sampler_destroy(job->sampler);
	cot_epochs_destroy(job->epochs);
	cot_parts_destroy(job->parts);
	cot_timeline_destroy(job->timeline);
	if (job->zipped)
		(void)fclose(job->zipped);
	cot_allocation_destroy(job->allocation);
	cot_outfile_destroy(job->report);
	cot_outfile_destroy(job->timeline_file);
	cot_outfile_destroy(job->json);
	cot_cli_knowledge_finish(&job->knowledge);
	cot_origin_finish(&job->origin);
	cot_scenario_destroy(job->sc);
	cot_cli_settings_finish(&job->args->settings);
}

static int open_file(const char *path, struct cot_outfile **ret_out, struct cot_error *err)
{
	return path ? cot_outfile_open(path, ret_out, err) : 0;
}

static int open_timeline(struct job *job, struct cot_error *err)
{
	FILE *out = cot_outfile_stream(job->timeline_file);

	if (cot_gzip_wanted(job->args->timeline)) {
		if (cot_gzip_open(out, &job->zipped))
			return cot_error_set(err, -ENOMEM, "out of memory");
		out = job->zipped;
	}
	job->timeline = cot_timeline_create(job->sc, out);
	if (!job->timeline)
		return cot_error_set(err, -ENOMEM, "out of memory");
	cot_fanout_add(&job->fanout, &cot_timeline_observer, job->timeline);
	return 0;
}

/* A full disk is the file's affair; there is nothing else that can go wrong. */
static void finish_timeline(struct job *job, uint64_t end_ps)
{
	cot_timeline_finish(job->timeline, end_ps);
	if (job->zipped)
		(void)fclose(job->zipped);
	job->zipped = NULL;
}

/* Opens what will be written before the run, so that a wrong path is noticed at once. */
static int open_outputs(struct job *job, struct cot_error *err)
{
	const struct arguments *a = job->args;
	int rc = open_file(a->json, &job->json, err);

	if (!rc)
		rc = open_file(a->timeline, &job->timeline_file, err);
	if (!rc)
		rc = open_file(a->report, &job->report, err);
	if (!rc && a->allocation)
		rc = cot_allocation_create(job->sc, &job->allocation, err);
	if (rc < 0)
		return rc;
	if (job->allocation)
		cot_fanout_add(&job->fanout, &cot_allocation_observer, job->allocation);
	if (a->timeline) {
		rc = open_timeline(job, err);
		if (rc)
			return rc;
	}
	if (a->report) {
		job->sampler = cot_sampler_create(job->sc);
		if (!job->sampler)
			return cot_error_set(err, -ENOMEM, "out of memory");
		cot_fanout_add(&job->fanout, &cot_sampler_observer, job->sampler);
	}
	if (cot_qos_is_counted(job->sc)) {
		job->epochs = cot_epochs_create(job->sc);
		if (!job->epochs)
			return cot_error_set(err, -ENOMEM, "out of memory");
		cot_fanout_add(&job->fanout, &cot_epochs_observer, job->epochs);
	}
	if (job->sc->policy[0]) {
		job->parts = cot_parts_create(job->sc);
		if (!job->parts)
			return cot_error_set(err, -ENOMEM, "out of memory");
		cot_fanout_add(&job->fanout, &cot_parts_observer, job->parts);
	}
	return 0;
}

/* The applications that had not reached the stop rule when nothing more could happen. */
static int explain_stall(const struct job *job, struct cot_error *err)
{
	const struct cot_scenario *sc = job->sc;
	char names[COT_ERROR_MAX / 2] = "";
	struct cot_sim_result result;
	uint32_t i;

	cot_sim_result(job->play.sim, &result);
	for (i = 0; i < sc->n_apps; i++)
		if (!sc->stop_runs || result.apps[i].runs < sc->stop_runs)
			cot_text_add_word(names, sizeof(names), sc->apps[i].name);
	return cot_error_set(
		err, -EDEADLK, "%s: the simulation stalled at %.6f us under %s; not finished: %s",
		job->args->scenario, (double)result.end_ps / 1e6, sc->scheduler, names);
}

static int know(struct job *job, struct cot_error *err)
{
	if (job->args->learn)
		return cot_cli_knowledge_learn(job->sc, job->args->learn, &job->knowledge, err);
	if (job->args->knowledge)
		return cot_cli_knowledge_read(job->sc, job->args->knowledge, &job->knowledge, err);
	return 0;
}

static int simulate(struct job *job, struct cot_error *err)
{
	const struct cot_knowledge *const *known =
		job->knowledge.n ? (const struct cot_knowledge *const *)job->knowledge.apps : NULL;
	const struct cot_sim_observer *observer = job->fanout.n ? &cot_fanout_observer : NULL;
	struct cot_progress progress;
	enum cot_sim_status status;
	int rc;

	rc = cot_cli_play_begin(&job->play, job->sc, &job->alone, known, observer, &job->fanout,
				err);
	if (rc < 0)
		return rc;
	cot_progress_init(&progress, "simulating");
	do {
		status = cot_cli_play_on(&job->play);
		cot_progress_update(&progress, cot_sim_progress(job->play.sim));
	} while (status == COT_SIM_MORE && !cot_cli_interrupted());
	cot_progress_finish(&progress);
	rc = cot_cli_play_check(status, err);
	return !rc && status == COT_SIM_STALLED ? explain_stall(job, err) : rc;
}

/* Writes all outputs; then, when all of them are safe, gives them their names. */
static int write_outputs(struct job *job, struct cot_error *err)
{
	struct cot_outfile *files[] = {job->timeline_file, job->report, job->json};
	struct cot_sim_summary summary;
	struct cot_sim_result result;
	unsigned i;
	int rc = 0;

	cot_sim_result(job->play.sim, &result);
	cot_sim_summarize(job->sc, &result, job->alone.us, &summary);
	summary.origin = &job->origin;
	summary.epochs = job->epochs;
	if (job->parts) {
		cot_parts_finish(job->parts, result.end_ps);
		summary.parts = cot_parts_any(job->parts) ? job->parts : NULL;
	}
	cot_cli_play_summarize(&job->play, &summary);
	if (job->timeline)
		finish_timeline(job, result.end_ps);
	if (job->report) {
		cot_sampler_finish(job->sampler, result.end_ps);
		rc = cot_sim_print_html(&summary, job->sampler, cot_outfile_stream(job->report));
		if (rc < 0)
			return cot_error_set(err, rc, "cannot make the report: %s", strerror(-rc));
	}
	if (job->json)
		rc = cot_sim_print_json(&summary, job->allocation, cot_outfile_stream(job->json),
					err);
	else if (cot_sim_print_text(&summary, stdout) < 0)
		rc = cot_error_set(err, -ENOMEM, "out of memory");
	for (i = 0; !rc && i < COT_ARRAY_LEN(files); i++)
		if (files[i])
			rc = cot_outfile_finish(files[i], err);
	if (!rc && cot_cli_interrupted())
		return cot_error_set(err, -EINTR, "interrupted; nothing was written");
	for (i = 0; !rc && i < COT_ARRAY_LEN(files); i++)
		if (files[i])
			rc = cot_outfile_commit(files[i], err);
	if (!rc && result.refused)
		cot_cli_complain("scheduler %s asked %" PRIu64
				 " times for an impossible action; its results are doubtful",
				 job->sc->scheduler, result.refused);
	return rc;
}

static int begin(struct job *job, int argc, char **argv, struct cot_error *err)
{
	const struct arguments *a = job->args;
	const char *const outputs[] = {a->json, a->timeline, a->report};

	if (cot_cli_origin(argc, argv, a->scenario, outputs, COT_ARRAY_LEN(outputs), &job->origin))
		return cot_error_set(err, -ENOMEM, "out of memory");
	return cot_cli_read_scenario(a->scenario, &a->overrides, &job->origin, &job->sc, err);
}

int cot_cmd_sim(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "SCENARIO",
		.doc = "Plays SCENARIO (a YAML file; - is standard input) on the simulated GPU and "
		       "shows how long every application took, alone and together.",
		.children = cot_cli_long_argp_children,
	};
	struct arguments args = {0};
	struct job job = {.args = &args};
	struct cot_error err;
	int rc;

	if (cot_cli_parse(&argp, argc, argv, 0, &args))
		return COT_EXIT_FAILURE;
	rc = begin(&job, argc, argv, &err);
	if (rc < 0) {
		cot_cli_complain("%s", err.text);
		finish(&job);
		return rc == -ENOMEM ? COT_EXIT_FAILURE : COT_EXIT_USAGE;
	}
	cot_cli_catch_signals();
	rc = know(&job, &err);
	if (rc == -EINVAL) {
		cot_cli_complain("%s", err.text);
		finish(&job);
		return COT_EXIT_USAGE;
	}
	if (!rc)
		rc = open_outputs(&job, &err);
	if (!rc)
		rc = cot_cli_measure_alone(job.sc, &job.alone, &err);
	if (!rc)
		rc = simulate(&job, &err);
	if (!rc)
		rc = write_outputs(&job, &err);
	finish(&job);
	if (!rc)
		rc = cot_cli_flush(&err);
	return cot_cli_end(rc, &err);
}
