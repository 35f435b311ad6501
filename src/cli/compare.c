/*
 * cotenant compare: plays one scenario under every scheduler, the preempting ones by both
 * mechanisms, and, where the scenario names a software policy, under every policy; and puts the
 * outcomes side by side.
 */
#include <argp.h>
#include <cotenant/policy.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hist.h"
#include "base/outfile.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/scenario.h"
#include "report/format.h"
#include "report/sim_summary.h"
#include "report/table.h"
#include "sim/host.h"
#include "sim/sim.h"
#include "trace/scenario_read.h"

#define MAX_ROWS	64u /* schedulers times mechanisms */
#define MAX_APP_COLUMNS 6u  /* more would not fit a terminal */
#define MAX_COLUMNS	(3u * MAX_APP_COLUMNS + 8u)

struct arguments {
	const char *scenario, *json;
};

enum { KEY_JSON = 256 };

static const struct argp_option options[] = {
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

struct row {
	struct cot_scenario *sc; /* the scenario with this scheduler; owned by the comparison */
	const struct hw_sched_ops *ops;
	struct cot_sim_summary summary;
	double response_p99_us[COT_MAX_APPS]; /* 0 = it had none */
};

struct comparison {
	struct cot_scenario *sc;
	double alone_us[COT_MAX_APPS];
	struct row rows[MAX_ROWS];
	struct cot_scenario scenarios[MAX_ROWS];
	unsigned n_rows;
};

static struct row *add_row(struct comparison *c, const struct hw_sched_ops *ops,
			   enum cot_preempt preempt)
{
	struct row *r = &c->rows[c->n_rows];

	r->ops = ops;
	r->sc = &c->scenarios[c->n_rows++];
	*r->sc = *c->sc;
	(void)snprintf(r->sc->scheduler, sizeof(r->sc->scheduler), "%s", ops->name);
	r->sc->policy[0] = '\0';
	r->sc->preempt = preempt;
	return r;
}

static bool any_goal(const struct cot_scenario *sc)
{
	uint32_t i;

	for (i = 0; i < sc->n_apps; i++)
		if (sc->apps[i].qos.ipc > 0.0)
			return true;
	return false;
}

/* Schedulers that keep goals would all be the same where there is none. */
static void add_schedulers(struct comparison *c)
{
	unsigned i;

	for (i = 0; i < hw_n_scheds && c->n_rows + 2 <= MAX_ROWS; i++) {
		if (hw_scheds[i]->needs_goals && !any_goal(c->sc))
			continue;
		(void)add_row(c, hw_scheds[i], COT_PREEMPT_SWITCH);
		if (hw_scheds[i]->preempts)
			(void)add_row(c, hw_scheds[i], COT_PREEMPT_DRAIN);
	}
}

/* Over the scheduler that the scenario has for its policy. */
static void add_policies(struct comparison *c)
{
	const struct hw_sched_ops *ops = hw_sched_find(c->sc->scheduler);
	unsigned i;

	for (i = 0; ops && c->sc->policy[0] && i < cot_n_policies && c->n_rows < MAX_ROWS; i++) {
		struct row *r = add_row(c, ops, c->sc->preempt);

		(void)snprintf(r->sc->policy, sizeof(r->sc->policy), "%s", cot_policies[i]->name);
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

static int run_init(struct run *run, const struct row *r, struct cot_error *err)
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

static enum cot_sim_status run_on(struct run *run, const struct row *r)
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

static void take_results(struct run *run, struct row *r, const double *alone_us)
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

static int play(struct comparison *c, unsigned index, struct cot_progress *progress,
		struct cot_error *err)
{
	struct row *r = &c->rows[index];
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

static int play_all(struct comparison *c, struct cot_error *err)
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

/* Of an app: its slowdown; for latency programs how long a request takes; instructions per cycle.
 */
enum app_cell { SLOWDOWN, RESPONSE, GOAL, N_APP_CELLS };

static const char *head_suffix(const struct cot_app *app, enum app_cell what)
{
	if (what == SLOWDOWN)
		return "";
	if (what == RESPONSE)
		return " p99";
	return app->qos.ipc > 0.0 ? " of goal" : " IPC";
}

struct head {
	char text[COT_NAME_MAX + 16];
};

/* The heads of apps are in `heads`, as long as the table lives. */
static struct cot_table *create_table(const struct comparison *c, unsigned n_apps,
				      struct head *heads)
{
	static const struct cot_column names[] = {
		{"scheduler", COT_ALIGN_LEFT},
		{"policy", COT_ALIGN_LEFT},
		{"preempts by", COT_ALIGN_LEFT},
	};
	static const struct cot_column totals[] = {
		{"ANTT", COT_ALIGN_RIGHT},	     {"STP", COT_ALIGN_RIGHT},
		{"fairness", COT_ALIGN_RIGHT},	     {"power", COT_ALIGN_RIGHT},
		{"p99 preemption", COT_ALIGN_RIGHT},
	};
	struct cot_column columns[MAX_COLUMNS];
	unsigned n = COT_ARRAY_LEN(names), what, i;

	memcpy(columns, names, sizeof(names));
	for (what = 0; what < N_APP_CELLS; what++)
		for (i = 0; i < n_apps; i++, heads++) {
			const struct cot_app *app = &c->sc->apps[i];

			(void)snprintf(heads->text, sizeof(heads->text), "%s%s", app->name,
				       head_suffix(app, (enum app_cell)what));
			columns[n++] = (struct cot_column){heads->text, COT_ALIGN_RIGHT};
		}
	memcpy(&columns[n], totals, sizeof(totals));
	return cot_table_create(columns, n + COT_ARRAY_LEN(totals));
}

/* A cell stays empty where there is nothing to say. */
static void add_app(struct cot_table *t, const struct row *r, unsigned app, enum app_cell what)
{
	const struct cot_sim_summary *s = &r->summary;
	double goal = r->sc->apps[app].qos.ipc;
	struct cot_text text;

	if (what == SLOWDOWN && s->apps[app].has_ntt)
		cot_table_cell(t, "%sx", cot_format_ratio(&text, s->apps[app].ntt));
	else if (what == RESPONSE && r->response_p99_us[app] > 0.0)
		cot_table_text(t, cot_format_us(&text, r->response_p99_us[app]));
	else if (what == GOAL && s->result.counted && goal > 0.0)
		cot_table_cell(t, "%.1f %%", 100.0 * cot_sim_ipc(s, app) / goal);
	else if (what == GOAL && s->result.counted)
		cot_table_cell(t, "%.3f", cot_sim_ipc(s, app));
	else
		cot_table_text(t, "");
}

static void add_totals(struct cot_table *t, const struct cot_sim_summary *s)
{
	const double metrics[] = {s->metrics.antt, s->metrics.stp, s->metrics.fairness};
	struct cot_text text;
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(metrics); i++)
		cot_table_text(t, s->has_metrics ? cot_format_ratio(&text, metrics[i]) : "");
	if (s->result.counted)
		cot_table_cell(t, "%.1f W", cot_sim_mean_watts(s));
	else
		cot_table_text(t, "");
	cot_table_text(t, s->result.preemptions
				  ? cot_format_us(&text, s->result.latency_p99_ps / 1e6)
				  : "");
}

static int print_text(const struct comparison *c, FILE *out)
{
	unsigned n_apps = c->sc->n_apps < MAX_APP_COLUMNS ? c->sc->n_apps : MAX_APP_COLUMNS;
	struct head heads[N_APP_CELLS * MAX_APP_COLUMNS];
	struct cot_table *t = create_table(c, n_apps, heads);
	unsigned i, what, app;
	int rc;

	for (i = 0; i < c->n_rows; i++) {
		const struct row *r = &c->rows[i];

		cot_table_text(t, r->ops->name);
		cot_table_text(t, r->sc->policy);
		cot_table_text(t, r->ops->preempts ? cot_preempt_name(r->sc->preempt) : "");
		for (what = 0; what < N_APP_CELLS; what++)
			for (app = 0; app < n_apps; app++)
				add_app(t, r, app, (enum app_cell)what);
		add_totals(t, &r->summary);
	}
	cot_table_drop_empty(t);
	rc = cot_table_print(t, out);
	(void)fputs(
		"\nUnder each app: its slowdown, time together over time alone (NTT). ANTT is their "
		"mean,\nSTP the total progress, fairness the least progress over the most. p99 of a "
		"latency app:\nof the time from its work's arrival to its end. Columns that no "
		"run has are left out.\n",
		out);
	return rc;
}

static int print_json(const struct comparison *c, FILE *out, struct cot_error *err)
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

static int write_outputs(const struct comparison *c, struct cot_outfile *json,
			 struct cot_error *err)
{
	int rc;

	if (!json) {
		if (print_text(c, stdout) < 0)
			return cot_error_set(err, -ENOMEM, "out of memory");
		return 0;
	}
	rc = print_json(c, cot_outfile_stream(json), err);
	return rc ? rc : cot_outfile_commit(json, err);
}

static int compare(const struct arguments *a, struct comparison *c, struct cot_error *err)
{
	struct cot_outfile *json = NULL;
	int rc;

	cot_cli_catch_signals();
	/* Before the work, so that a wrong path is noticed at once. */
	rc = a->json ? cot_outfile_open(a->json, &json, err) : 0;
	if (!rc)
		rc = cot_cli_measure_alone(c->sc, c->alone_us, err);
	add_schedulers(c);
	add_policies(c);
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
		       "and shows the outcomes side by side.",
		.children = cot_cli_argp_children,
	};
	static const struct cot_cli_overrides none;
	struct arguments args = {0};
	struct comparison *c;
	struct cot_error err;
	int rc;

	if (cot_cli_parse(&argp, argc, argv, 0, &args))
		return COT_EXIT_FAILURE;
	c = calloc(1, sizeof(*c));
	if (!c) {
		cot_cli_complain("out of memory");
		return COT_EXIT_FAILURE;
	}
	rc = cot_cli_read_scenario(args.scenario, &none, &c->sc, &err);
	if (rc < 0) {
		cot_cli_complain("%s", err.text);
		free(c);
		return rc == -ENOMEM ? COT_EXIT_FAILURE : COT_EXIT_USAGE;
	}
	rc = compare(&args, c, &err);
	cot_scenario_destroy(c->sc);
	free(c);
	return cot_cli_end(rc, &err);
}
