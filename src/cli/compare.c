/*
 * cotenant compare: plays one scenario under every scheduler, the preempting ones by both
 * mechanisms, and puts the outcomes side by side.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "cli/scenario.h"
#include "report/format.h"
#include "report/outfile.h"
#include "report/sim_summary.h"
#include "report/table.h"
#include "sim/sim.h"
#include "trace/scenario_read.h"

/* Points in time between two looks at the signals and the progress bar: some 30 ms. */
#define SLICE_INSTANTS	200000u
#define MAX_ROWS	64u /* schedulers times mechanisms */
#define MAX_APP_COLUMNS 6u  /* more would not fit a terminal */
#define MAX_COLUMNS	(MAX_APP_COLUMNS + 6u)

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
	case ARGP_KEY_INIT:
		state->child_inputs[0] = NULL;
		return 0;
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
};

struct comparison {
	struct cot_scenario *sc;
	double alone_us[COT_MAX_APPS];
	struct row rows[MAX_ROWS];
	struct cot_scenario scenarios[MAX_ROWS];
	unsigned n_rows;
};

static void add_row(struct comparison *c, const struct hw_sched_ops *ops, enum cot_preempt preempt)
{
	struct row *r = &c->rows[c->n_rows];

	r->ops = ops;
	r->sc = &c->scenarios[c->n_rows++];
	*r->sc = *c->sc;
	(void)snprintf(r->sc->scheduler, sizeof(r->sc->scheduler), "%s", ops->name);
	r->sc->preempt = preempt;
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
static void add_rows(struct comparison *c)
{
	unsigned i;

	for (i = 0; i < hw_n_scheds && c->n_rows + 2 <= MAX_ROWS; i++) {
		if (hw_scheds[i]->needs_goals && !any_goal(c->sc))
			continue;
		add_row(c, hw_scheds[i], COT_PREEMPT_SWITCH);
		if (hw_scheds[i]->preempts)
			add_row(c, hw_scheds[i], COT_PREEMPT_DRAIN);
	}
}

static int play(struct comparison *c, unsigned index, struct cot_progress *progress,
		struct cot_error *err)
{
	struct row *r = &c->rows[index];
	struct cot_sim_result result;
	enum cot_sim_status status;
	struct cot_sim *sim;
	int rc = cot_sim_create(r->sc, r->ops, NULL, NULL, &sim, err);

	if (rc < 0)
		return rc;
	do {
		status = cot_sim_run(sim, SLICE_INSTANTS);
		cot_progress_update(progress, (index + cot_sim_progress(sim)) / c->n_rows);
	} while (status == COT_SIM_MORE && !cot_cli_interrupted());
	cot_sim_result(sim, &result);
	cot_sim_destroy(sim);
	if (cot_cli_interrupted())
		return cot_error_set(err, -EINTR, "interrupted; nothing was written");
	if (status == COT_SIM_NO_MEMORY)
		return cot_error_set(err, -ENOMEM, "out of memory");
	/* A stalled run has apps without an outcome: they show as such. */
	cot_sim_summarize(r->sc, &result, c->alone_us, &r->summary);
	return 0;
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

static void cell_ratio(struct cot_table *t, bool known, double x, const char *unit)
{
	struct cot_text text;

	if (known)
		cot_table_cell(t, "%s%s", cot_format_ratio(&text, x), unit);
	else
		cot_table_text(t, "-");
}

static void print_row(struct cot_table *t, const struct row *r, unsigned n_apps)
{
	const struct cot_sim_summary *s = &r->summary;
	struct cot_text text;
	unsigned i;

	cot_table_text(t, r->ops->name);
	cot_table_text(t, r->ops->preempts ? cot_preempt_name(r->sc->preempt) : "-");
	for (i = 0; i < n_apps; i++)
		cell_ratio(t, s->apps[i].has_ntt, s->apps[i].ntt, "x");
	cell_ratio(t, s->has_metrics, s->metrics.antt, "");
	cell_ratio(t, s->has_metrics, s->metrics.stp, "");
	cell_ratio(t, s->has_metrics, s->metrics.fairness, "");
	if (s->result.preemptions)
		cot_table_text(t, cot_format_us(&text, s->result.latency_p99_ps / 1e6));
	else
		cot_table_text(t, "-");
}

static int print_text(const struct comparison *c, FILE *out)
{
	struct cot_column columns[MAX_COLUMNS] = {
		{"scheduler", COT_ALIGN_LEFT},
		{"preempts by", COT_ALIGN_LEFT},
	};
	unsigned n_apps = c->sc->n_apps < MAX_APP_COLUMNS ? c->sc->n_apps : MAX_APP_COLUMNS;
	unsigned n = 2, i;
	struct cot_table *t;
	int rc;

	for (i = 0; i < n_apps; i++)
		columns[n++] = (struct cot_column){c->sc->apps[i].name, COT_ALIGN_RIGHT};
	columns[n++] = (struct cot_column){"ANTT", COT_ALIGN_RIGHT};
	columns[n++] = (struct cot_column){"STP", COT_ALIGN_RIGHT};
	columns[n++] = (struct cot_column){"fairness", COT_ALIGN_RIGHT};
	columns[n++] = (struct cot_column){"p99 preemption", COT_ALIGN_RIGHT};
	t = cot_table_create(columns, n);
	if (!t)
		return -ENOMEM;
	for (i = 0; i < c->n_rows; i++)
		print_row(t, &c->rows[i], n_apps);
	rc = cot_table_print(t, out);
	cot_table_destroy(t);
	(void)fputs(
		"\nUnder each app: its slowdown, time together over time alone (NTT). ANTT is their "
		"mean,\nSTP the total progress, fairness the least progress over the most.\n",
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
	add_rows(c);
	if (!rc)
		rc = play_all(c, err);
	if (!rc)
		rc = write_outputs(c, json, err);
	cot_outfile_destroy(json);
	if (!rc && fflush(stdout))
		rc = cot_error_set(err, -EIO, "cannot write to standard output: %s",
				   strerror(errno));
	return rc;
}

int cot_cmd_compare(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "SCENARIO",
		.doc = "Plays SCENARIO (a YAML file; - is standard input) under every scheduler, by "
		       "context switch and by draining, and shows the outcomes side by side.",
		.children = cot_cli_argp_children,
	};
	static const struct cot_cli_overrides none;
	struct arguments args = {0};
	struct comparison *c;
	struct cot_error err;
	int rc;

	if (argp_parse(&argp, argc, argv, 0, NULL, &args))
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
	if (rc < 0)
		cot_cli_complain("%s", err.text);
	if (!rc)
		return COT_EXIT_OK;
	return rc == -EINTR ? COT_EXIT_INTERRUPTED : COT_EXIT_FAILURE;
}
