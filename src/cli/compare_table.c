#include <stdio.h>
#include <string.h>

#include "cli/compare.h"
#include "report/format.h"
#include "report/table.h"
#include "trace/policy_name.h"

#define MAX_APP_COLUMNS 6u /* more would not fit a terminal */
#define MAX_COLUMNS	(N_APP_CELLS * MAX_APP_COLUMNS + 10u)

/*
 * What a column says of an app. Where the scenario has a software policy it is about requests and
 * what batch programs keep; else about slowdowns.
 */
enum app_cell {
	SLOWDOWN,
	P50, /* of the responses of latency programs */
	P99,
	MISSED,
	RATE, /* of batch programs */
	GOAL, /* instructions per cycle */
	N_APP_CELLS
};

static const char *head_suffix(const struct cot_app *app, enum app_cell what)
{
	static const char *const suffixes[N_APP_CELLS] = {
		"", " p50", " p99", " missed", " rate", " IPC",
	};

	return what == GOAL && app->qos.ipc > 0.0 ? " of goal" : suffixes[what];
}

struct head {
	char text[COT_NAME_MAX + 16];
};

/* The heads of apps are in `heads`, as long as the table lives. */
static struct cot_table *create_table(const struct cot_comparison *c, unsigned n_apps,
				      struct head *heads)
{
	static const struct cot_column names[] = {
		{"scheduler", COT_ALIGN_LEFT},
		{"policy", COT_ALIGN_LEFT},
		{"preempts by", COT_ALIGN_LEFT},
	};
	static const struct cot_column totals[] = {
		{"batch sum", COT_ALIGN_RIGHT},	     {"targets", COT_ALIGN_LEFT},
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

/* False: a cell of what this scenario is not about, or of what is not known. */
static bool answer_text(const struct cot_compare_row *r, unsigned app, enum app_cell what,
			struct cot_text *text)
{
	const struct cot_response_summary *times = &r->summary.responses[app];
	const struct cot_app *desc = &r->sc->apps[app];

	if (what == RATE) {
		(void)snprintf(text->s, sizeof(text->s), "%.2f", r->summary.apps[app].rate);
		return desc->cls == COT_CLASS_BATCH && r->summary.apps[app].has_rate;
	}
	if (!times->n || desc->cls != COT_CLASS_LATENCY)
		return false;
	if (what == P50)
		(void)cot_format_us(text, times->p50_us);
	if (what == MISSED)
		(void)snprintf(text->s, sizeof(text->s), "%.2f %%",
			       100.0 * (double)times->n_missed / (double)times->n);
	return what == P50 || (what == MISSED && times->has_limit);
}

/* A cell stays empty where there is nothing to say. */
static void add_app(struct cot_table *t, const struct cot_compare_row *r, unsigned app,
		    enum app_cell what, bool policies)
{
	const struct cot_sim_summary *s = &r->summary;
	const struct cot_app *desc = &r->sc->apps[app];
	double goal = desc->qos.ipc;
	struct cot_text text;

	if (what == SLOWDOWN && s->apps[app].has_ntt && !(policies && desc->cls == COT_CLASS_BATCH))
		cot_table_cell(t, "%sx", cot_format_ratio(&text, s->apps[app].ntt));
	else if (what == P99 && desc->cls == COT_CLASS_LATENCY && s->responses[app].n)
		cot_table_text(t, cot_format_us(&text, s->responses[app].p99_us));
	else if (policies && answer_text(r, app, what, &text))
		cot_table_text(t, text.s);
	else if (what == GOAL && s->result.counted && goal > 0.0)
		cot_table_cell(t, "%.1f %%", 100.0 * cot_sim_ipc(s, app) / goal);
	else if (what == GOAL && s->result.counted && !policies)
		cot_table_cell(t, "%.3f", cot_sim_ipc(s, app));
	else
		cot_table_text(t, "");
}

/* "kept", "missed", or nothing where no app has a target. */
static const char *targets_word(const struct cot_sim_summary *s)
{
	const char *word = "";
	uint32_t i;

	for (i = 0; i < s->sc->n_apps; i++) {
		int kept = cot_sim_keeps_target(s, i);

		if (!kept)
			return "missed";
		if (kept > 0)
			word = "kept";
	}
	return word;
}

static bool any_batch(const struct cot_scenario *sc)
{
	uint32_t i;

	for (i = 0; i < sc->n_apps; i++)
		if (sc->apps[i].cls == COT_CLASS_BATCH)
			return true;
	return false;
}

static void add_answers(struct cot_table *t, const struct cot_sim_summary *s)
{
	unsigned i;

	if (any_batch(s->sc))
		cot_table_cell(t, "%.2f", s->batch_sum);
	else
		cot_table_text(t, "");
	cot_table_text(t, targets_word(s));
	for (i = 0; i < 5; i++)
		cot_table_text(t, "");
}

static void add_totals(struct cot_table *t, const struct cot_sim_summary *s)
{
	const double metrics[] = {s->metrics.antt, s->metrics.stp, s->metrics.fairness};
	struct cot_text text;
	unsigned i;

	cot_table_text(t, "");
	cot_table_text(t, "");
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

static const char explain_slowdowns[] =
	"\nUnder each app: its slowdown, time together over time alone (NTT). ANTT is their "
	"mean,\nSTP the total progress, fairness the least progress over the most. p99 of a "
	"latency app:\nof the time from its work's arrival to its end. Columns that no "
	"run has are left out.\n";

static const char explain_answers[] =
	"\nUnder a latency app: its slowdown, time together over time alone (NTT); p50 and p99 of "
	"the time\nfrom a request's arrival to its end, and how many took longer than its target. "
	"A batch app's rate is\nthat part of its rate alone that it keeps. Columns that no run has "
	"are left out.\n";

int cot_compare_print(const struct cot_comparison *c, FILE *out)
{
	unsigned n_apps = c->sc->n_apps < MAX_APP_COLUMNS ? c->sc->n_apps : MAX_APP_COLUMNS;
	struct head heads[N_APP_CELLS * MAX_APP_COLUMNS];
	struct cot_table *t = create_table(c, n_apps, heads);
	bool policies = c->sc->policy[0] != '\0';
	char word[COT_POLICY_NAME_MAX];
	unsigned i, what, app;
	int rc;

	for (i = 0; i < c->n_rows; i++) {
		const struct cot_compare_row *r = &c->rows[i];

		cot_table_text(t, r->ops->name);
		cot_table_text(t, cot_policy_name_word(r->sc, word));
		cot_table_text(t, r->ops->preempts ? cot_preempt_name(r->sc->preempt) : "");
		for (what = 0; what < N_APP_CELLS; what++)
			for (app = 0; app < n_apps; app++)
				add_app(t, r, app, (enum app_cell)what, policies);
		if (policies)
			add_answers(t, &r->summary);
		else
			add_totals(t, &r->summary);
	}
	cot_table_drop_empty(t);
	rc = cot_table_print(t, out);
	(void)fputs(policies ? explain_answers : explain_slowdowns, out);
	return rc;
}
