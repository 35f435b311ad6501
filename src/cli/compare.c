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

#include "base/hist.h"
#include "base/outfile.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/compare.h"
#include "cli/scenario.h"
#include "report/sim_summary.h"
#include "sim/host.h"
#include "sim/sim.h"
#include "trace/scenario_read.h"

struct arguments {
	const char *scenario, *json, *policies;
	struct cot_cli_overrides overrides;
	char first[COT_NAME_MAX]; /* of the policies */
};

enum { KEY_JSON = 256, KEY_POLICY };

static const struct argp_option options[] = {
	{"policy", KEY_POLICY, "NAME,...", 0,
	 "Play only these software policies; parts@64 gives batch programs 64 SMs", 0},
	{"json", KEY_JSON, "FILE", 0, "Write the outcomes as JSON; - is standard output", 0},
	{0},
};

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
	case ARGP_KEY_ARG:
		if (a->scenario)
			argp_error(state, "one scenario at a time; '%s' is one too many", arg);
		a->scenario = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->json && a->scenario && strcmp(a->json, "-") &&
		    cot_cli_same_file(a->json, a->scenario))
			argp_error(state, "the output '%s' is the scenario itself", a->json);
		if (!a->scenario)
			argp_error(
				state,
				"no scenario given; expected a file such as scenarios/demo.yaml");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* ---- playing ---- */

/* A run of one row: with a host when it has a policy, else alone. */
struct run {
	struct cot_cli_play play;
	/* Without a host responses are looked for here, as it would. */
	struct cot_hist *responses[COT_MAX_APPS];
	uint64_t since_ps[COT_MAX_APPS]; /* IDLE_PS = it has no work for the GPU */
};

#define IDLE_PS UINT64_MAX

static void run_finish(struct run *run)
{
	unsigned i;

	cot_cli_play_end(&run->play);
	for (i = 0; i < COT_MAX_APPS; i++)
		cot_hist_destroy(run->responses[i]);
}

static int run_init(struct run *run, const struct cot_compare_row *r, struct cot_error *err)
{
	unsigned i;
	int rc;

	*run = (struct run){0};
	rc = cot_cli_play_begin(&run->play, r->sc, NULL, NULL, err);
	for (i = 0; !rc && !run->play.host && i < r->sc->n_apps; i++) {
		run->since_ps[i] = IDLE_PS;
		if (r->sc->apps[i].cls != COT_CLASS_LATENCY)
			continue;
		run->responses[i] = cot_hist_create();
		if (!run->responses[i])
			rc = cot_error_set(err, -ENOMEM, "out of memory");
	}
	return rc;
}

/* From the moment when it enqueues work for the GPU until all of that is done. */
static void look_for_responses(struct run *run, uint32_t n_apps)
{
	uint64_t now_ps = cot_sim_now_ps(run->play.sim);
	uint32_t i;

	for (i = 0; i < n_apps; i++) {
		bool active = run->responses[i] && cot_sim_app_active(run->play.sim, i);

		if (active && run->since_ps[i] == IDLE_PS)
			run->since_ps[i] = now_ps;
		if (active || run->since_ps[i] == IDLE_PS)
			continue;
		cot_hist_add(run->responses[i], now_ps - run->since_ps[i]);
		run->since_ps[i] = IDLE_PS;
	}
}

static enum cot_sim_status run_on(struct run *run, const struct cot_compare_row *r)
{
	enum cot_sim_status status = COT_SIM_MORE;
	bool look = false;
	uint32_t i;

	for (i = 0; i < r->sc->n_apps; i++)
		look |= run->responses[i] != NULL;
	if (!look)
		return cot_cli_play_on(&run->play);
	for (i = 0; i < COT_CLI_PLAY_INSTANTS && status == COT_SIM_MORE; i++) {
		status = cot_sim_run(run->play.sim, 1);
		look_for_responses(run, r->sc->n_apps);
	}
	return status;
}

static void take_results(struct run *run, struct cot_compare_row *r, const double *alone_us)
{
	struct cot_sim_result result;
	uint32_t i;

	cot_sim_result(run->play.sim, &result);
	/* A stalled run has apps without an outcome: they show as such. */
	cot_sim_summarize(r->sc, &result, alone_us, &r->summary);
	if (run->play.host)
		cot_sim_summarize_responses(&r->summary, run->play.host);
	for (i = 0; i < r->sc->n_apps; i++) {
		if (run->play.host && r->sc->apps[i].cls == COT_CLASS_LATENCY)
			r->response_p99_us[i] = r->summary.responses[i].p99_us;
		else if (run->responses[i])
			r->response_p99_us[i] =
				cot_hist_quantile(run->responses[i], 0.99) / (double)COT_PS_PER_US;
	}
}

static int play(struct cot_comparison *c, unsigned index, struct cot_progress *progress,
		struct cot_error *err)
{
	struct cot_compare_row *r = &c->rows[index];
	enum cot_sim_status status = COT_SIM_MORE;
	struct run run;
	int rc = run_init(&run, r, err);

	while (!rc && status == COT_SIM_MORE && !cot_cli_interrupted()) {
		status = run_on(&run, r);
		cot_progress_update(progress, (index + cot_sim_progress(run.play.sim)) / c->n_rows);
	}
	if (!rc)
		rc = cot_cli_play_check(status, err);
	if (!rc)
		take_results(&run, r, c->alone_us);
	run_finish(&run);
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
		rc = cot_cli_measure_alone(c->sc, c->alone_us, err);
	if (!rc)
		rc = play_all(c, err);
	if (!rc)
		rc = write_outputs(c, json, err);
	cot_outfile_destroy(json);
	return rc ? rc : cot_cli_flush(err);
}

int cot_cmd_compare(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "SCENARIO",
		.doc = "Plays SCENARIO (a YAML file; - is standard input) under every scheduler, by "
		       "context switch and by draining, and under every software policy if it names one, "
		       "or under those of --policy, and shows the outcomes side by side.",
		.children = cot_cli_argp_children,
	};
	struct arguments args = {0};
	struct cot_comparison *c;
	struct cot_error err;
	int rc, status;

	if (cot_cli_parse(&argp, argc, argv, 0, &args))
		return COT_EXIT_FAILURE;
	c = calloc(1, sizeof(*c));
	if (!c) {
		cot_cli_complain("out of memory");
		return COT_EXIT_FAILURE;
	}
	rc = cot_cli_read_scenario(args.scenario, &args.overrides, &c->sc, &err);
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
