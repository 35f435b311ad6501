#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/format.h"
#include "report/html.h"
#include "report/sim_summary.h"
#include "report/svg.h"
#include "report/table.h"
#include "trace/policy_name.h"

#define MS_FROM_US     20000.0 /* from here on, the time axis counts milliseconds */
#define OVERVIEW_STEPS 320u

static void us_cell(struct cot_table *t, bool known, double us)
{
	struct cot_text text;

	cot_table_text(t, known ? cot_format_us(&text, us) : "-");
}

static int apps_table(const struct cot_sim_summary *s, FILE *out)
{
	static const struct cot_column columns[] = {
		{"app", COT_ALIGN_LEFT},    {"priority", COT_ALIGN_RIGHT},
		{"runs", COT_ALIGN_RIGHT},  {"turnaround", COT_ALIGN_RIGHT},
		{"alone", COT_ALIGN_RIGHT}, {"slowdown (NTT)", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	struct cot_text text;
	uint32_t i;

	for (i = 0; i < s->sc->n_apps; i++) {
		const struct cot_app_summary *a = &s->apps[i];

		cot_table_text(t, s->sc->apps[i].name);
		cot_table_cell(t, "%" PRId32, s->sc->apps[i].priority);
		cot_table_text(t, cot_format_count(&text, s->result.apps[i].runs));
		us_cell(t, a->finished_runs, a->turnaround_us);
		us_cell(t, a->has_isolated, a->isolated_us);
		cot_table_text(t, a->has_ntt ? cot_format_ratio(&text, a->ntt) : "-");
	}
	return cot_table_html(t, out);
}

static void row(struct cot_table *t, const char *name, bool known, const char *value,
		const char *meaning)
{
	cot_table_text(t, name);
	cot_table_text(t, known ? value : "-");
	cot_table_text(t, meaning);
}

static int totals_table(const struct cot_sim_summary *s, FILE *out)
{
	static const struct cot_column columns[] = {
		{"measure", COT_ALIGN_LEFT},
		{"value", COT_ALIGN_RIGHT},
		{"meaning", COT_ALIGN_LEFT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	const struct cot_sim_result *r = &s->result;
	bool some = r->preemptions > 0;
	struct cot_text x;

	if (s->has_metrics) {
		row(t, "ANTT", true, cot_format_ratio(&x, s->metrics.antt),
		    "mean slowdown; 1 is best");
		row(t, "STP", true, cot_format_ratio(&x, s->metrics.stp),
		    "sum of everyone's progress; the number of apps is best");
		(void)snprintf(x.s, sizeof(x.s), "%.3f", s->metrics.fairness);
		row(t, "fairness", true, x.s, "least progress over most progress; 1 is best");
	}
	row(t, "preemptions", true, cot_format_count(&x, r->preemptions),
	    "SMs taken from a kernel");
	row(t, "bytes saved", true, cot_format_bytes(&x, (double)r->saved_bytes),
	    "contexts written to memory by context switches");
	row(t, "latency, median", some, cot_format_us(&x, r->latency_p50_ps / 1e6),
	    "from the reservation of an SM to its switch");
	row(t, "latency, 99 %", some, cot_format_us(&x, r->latency_p99_ps / 1e6), "");
	row(t, "latency, longest", some, cot_format_us(&x, cot_us_from_ps(r->latency_max_ps)), "");
	row(t, "thread blocks", true, cot_format_count(&x, r->block_completions), "completed");
	row(t, "time", true, cot_format_us(&x, cot_us_from_ps(r->end_ps)), "simulated");
	return cot_table_html(t, out);
}

static void app_names(const struct cot_sim_summary *s, const char **names)
{
	uint32_t i;

	for (i = 0; i < s->sc->n_apps; i++)
		names[i] = s->sc->apps[i].name;
}

static void slowdowns(const struct cot_sim_summary *s, FILE *out)
{
	const char *names[COT_MAX_APPS];
	double ntt[COT_MAX_APPS];
	struct cot_bar_chart chart = {
		.title = "Slowdown of every application",
		.y_label = "NTT: turnaround time together / alone",
		.n_groups = s->sc->n_apps,
		.n_series = 1,
		.groups = names,
		.values = ntt,
		.reference = 1.0,
		.colour_by_group = true,
	};
	uint32_t i;

	bool any = false;

	app_names(s, names);
	for (i = 0; i < s->sc->n_apps; i++) {
		ntt[i] = s->apps[i].has_ntt ? s->apps[i].ntt : (double)NAN;
		any |= s->apps[i].has_ntt;
	}
	if (!any)
		return;
	cot_html_heading(out, "Slowdown");
	cot_html_figure_begin(out);
	cot_svg_bars(out, &chart);
	cot_html_figure_end(out, "The dashed line is an application that has the GPU to itself.");
}

/* Room for a chart of at most n steps; x and values are one block. NULL when out of memory. */
static double *open_steps(const struct cot_sim_summary *s, uint32_t n, double end_us,
			  const char **names, struct cot_step_chart *ret_chart)
{
	double *x = calloc((size_t)n * (s->sc->n_apps + 1) + 1, sizeof(*x));

	app_names(s, names);
	*ret_chart = (struct cot_step_chart){
		.x_label = end_us >= MS_FROM_US ? "time, ms" : "time, us",
		.y_label = "SMs",
		.n_steps = n,
		.n_series = s->sc->n_apps,
		.series = names,
		.x = x,
		.values = x ? x + n + 1 : NULL,
		.y_max = s->sc->gpu.n_sms,
	};
	return x;
}

/* The whole run, in slices that are wide enough to see. */
static int overview(const struct cot_sim_summary *s, const struct cot_sampler *sampler, FILE *out)
{
	uint32_t n_slices = cot_sampler_n_slices(sampler), n_apps = s->sc->n_apps;
	uint32_t merge = (n_slices + OVERVIEW_STEPS - 1) / OVERVIEW_STEPS, slice, app;
	double end_us = cot_us_from_ps(s->result.end_ps), *x, *values;
	double scale = end_us >= MS_FROM_US ? 1e-3 : 1.0;
	double step_us = cot_sampler_slice_us(sampler) * merge;
	const char *names[COT_MAX_APPS];
	struct cot_step_chart chart;
	struct cot_text text;
	char caption[160];

	if (!n_slices)
		return 0;
	x = open_steps(s, (n_slices + merge - 1) / merge, end_us, names, &chart);
	if (!x)
		return -ENOMEM;
	values = x + chart.n_steps + 1;
	for (slice = 0; slice < n_slices; slice++)
		for (app = 0; app < n_apps; app++)
			values[slice / merge * n_apps + app] +=
				cot_sampler_mean_sms(sampler, slice, app) /
				(slice / merge + 1 < chart.n_steps
					 ? merge
					 : n_slices - slice / merge * merge);
	for (slice = 0; slice < chart.n_steps; slice++)
		x[slice] = slice * step_us * scale;
	x[chart.n_steps] = end_us * scale;
	chart.title = "SMs held by every application, over the whole run";
	(void)snprintf(
		caption, sizeof(caption),
		"The whole run: means over %s. An SM being saved, drained or restored counts "
		"for its owner.",
		cot_format_us(&text, step_us));
	cot_html_figure_begin(out);
	cot_svg_steps(out, &chart);
	cot_html_figure_end(out, caption);
	free(x);
	return 0;
}

/* Every change, as far as they were kept. */
static int closeup(const struct cot_sim_summary *s, const struct cot_sampler *sampler, FILE *out)
{
	uint32_t n = cot_sampler_n_changes(sampler), n_apps = s->sc->n_apps, i, app;
	bool complete = cot_sampler_complete(sampler);
	const char *names[COT_MAX_APPS];
	double end_us, scale, *x, *values;
	struct cot_step_chart chart;

	/* The last one of many only tells where the picture ends. */
	if (!complete)
		n--;
	if (!n)
		return 0;
	end_us = cot_us_from_ps(complete ? s->result.end_ps : cot_sampler_change_ps(sampler, n));
	scale = end_us >= MS_FROM_US ? 1e-3 : 1.0;
	x = open_steps(s, n, end_us, names, &chart);
	if (!x)
		return -ENOMEM;
	values = x + n + 1;
	for (i = 0; i < n; i++) {
		x[i] = cot_us_from_ps(cot_sampler_change_ps(sampler, i)) * scale;
		for (app = 0; app < n_apps; app++)
			values[i * n_apps + app] = cot_sampler_change_sms(sampler, i, app);
	}
	x[n] = end_us * scale;
	chart.title = "SMs held by every application, at each change";
	cot_html_figure_begin(out);
	cot_svg_steps(out, &chart);
	cot_html_figure_end(
		out,
		complete
			? "Every change. An SM being saved, drained or restored counts for its owner."
			: "Every change, from shortly before the first preemption.");
	free(x);
	return 0;
}

static void latencies(const struct cot_sampler *sampler, FILE *out)
{
	struct cot_text labels[COT_SAMPLER_LATENCIES];
	const char *names[COT_SAMPLER_LATENCIES];
	double counts[COT_SAMPLER_LATENCIES];
	unsigned first = COT_SAMPLER_LATENCIES, last = 0, i;
	struct cot_bar_chart chart = {
		.title = "Preemptions by latency",
		.counts = true,
		.y_label = "preemptions",
		.n_series = 1,
		.reference = (double)NAN,
	};

	for (i = 0; i < COT_SAMPLER_LATENCIES; i++) {
		struct cot_text bound;
		bool open_end = i + 1 == COT_SAMPLER_LATENCIES;

		counts[i] = (double)cot_sampler_latencies(sampler, i);
		(void)cot_format_us(
			&bound, cot_us_from_ps(cot_sampler_latency_bound_ps(open_end ? i - 1 : i)));
		(void)snprintf(labels[i].s, sizeof(labels[i].s), "%s %.40s", open_end ? ">=" : "<",
			       bound.s);
		names[i] = labels[i].s;
		if (counts[i] > 0.0) {
			last = i;
			if (first > i)
				first = i;
		}
	}
	/* One bar would say no more than the totals do. */
	if (first >= last)
		return;
	chart.n_groups = last - first + 1;
	chart.groups = names + first;
	chart.values = counts + first;
	cot_html_heading(out, "Preemption latency");
	cot_html_figure_begin(out);
	cot_svg_bars(out, &chart);
	cot_html_figure_end(out, "Each bar reaches from the bound on its left to its own.");
}

/* Lines over time, one for each app, of what `value` tells of an epoch. */
static int epoch_lines(const struct cot_sim_summary *s, FILE *out, const char *title,
		       const char *y_label, uint32_t n_series, const char *const *names,
		       double (*value)(const struct cot_epochs *e, uint32_t row, uint32_t app))
{
	uint32_t n = cot_epochs_count(s->epochs), i, app;
	double *x = calloc((size_t)n * (n_series + 1) + 1, sizeof(*x));
	const double *xs[COT_MAX_APPS], *ys[COT_MAX_APPS];
	unsigned n_points[COT_MAX_APPS];
	struct cot_line_chart chart = {
		.title = title,
		.x_label = "time, us",
		.y_label = y_label,
		.n_series = n_series,
		.series = names,
		.n_points = n_points,
		.x = xs,
		.y = ys,
		.reference = (double)NAN,
	};

	if (!x)
		return -ENOMEM;
	for (app = 0; app < n_series; app++) {
		xs[app] = x;
		ys[app] = x + (size_t)n * (app + 1);
		n_points[app] = n;
		for (i = 0; i < n; i++) {
			x[i] = cot_epochs_row(s->epochs, i)->end_us;
			x[(size_t)n * (app + 1) + i] = value(s->epochs, i, app);
		}
	}
	cot_html_figure_begin(out);
	cot_svg_lines(out, &chart);
	cot_html_figure_end(out, title);
	free(x);
	return 0;
}

static double watts(const struct cot_epochs *e, uint32_t row, uint32_t app)
{
	(void)app;
	return cot_epochs_watts(e, row);
}

static double gbps(const struct cot_epochs *e, uint32_t row, uint32_t app)
{
	(void)app;
	return cot_epochs_dram_bps(e, row) / 1e9;
}

static int counted(const struct cot_sim_summary *s, FILE *out)
{
	static const char *const all = "GPU";
	const char *names[COT_MAX_APPS];
	int rc;

	if (!s->epochs || !cot_epochs_count(s->epochs))
		return 0;
	app_names(s, names);
	cot_html_heading(out, "Instructions, goals, bandwidth");
	rc = cot_table_html(cot_sim_counted_table(s), out);
	if (rc)
		return rc;
	rc = epoch_lines(s, out, "Instructions per cycle of every application",
			 "warp instructions per cycle", s->sc->n_apps, names, cot_epochs_ipc);
	if (!rc)
		rc = epoch_lines(s, out, "Memory bandwidth in use, copies included", "GB/s", 1,
				 &all, gbps);
	if (!rc)
		rc = epoch_lines(s, out, "Power", "W", 1, &all, watts);
	return rc;
}

/* How long requests took: a line for each app that had some. */
static void response_times(const struct cot_sim_summary *s, FILE *out)
{
	static const char *const marks[] = {"p50", "p95", "p99", "max"};
	double values[COT_MAX_APPS * COT_ARRAY_LEN(marks)], none[COT_ARRAY_LEN(values)];
	const char *names[COT_MAX_APPS];
	struct cot_dot_chart chart = {
		.title = "Response times of every application",
		.x_label = "from a request's arrival to its end",
		.n_series = COT_ARRAY_LEN(marks),
		.rows = names,
		.series = marks,
		.values = values,
		.halves = none,
		.times = true,
		.reference = (double)NAN,
	};
	uint32_t i;

	for (i = 0; i < COT_ARRAY_LEN(none); i++)
		none[i] = (double)NAN;
	for (i = 0; i < s->sc->n_apps; i++) {
		const struct cot_response_summary *r = &s->responses[i];
		const double times[] = {r->p50_us, r->p95_us, r->p99_us, r->max_us};

		if (!r->n)
			continue;
		memcpy(values + chart.n_rows * chart.n_series, times, sizeof(times));
		names[chart.n_rows++] = s->sc->apps[i].name;
	}
	if (!chart.n_rows)
		return;
	cot_html_figure_begin(out);
	cot_svg_dots(out, &chart);
	cot_html_figure_end(out, "Half, 95 %, 99 % and all of the requests took no longer.");
}

static int responses(const struct cot_sim_summary *s, FILE *out)
{
	struct cot_table *t = cot_sim_responses_table(s);
	char text[COT_NAME_MAX + 128], policy[COT_POLICY_NAME_MAX];

	cot_html_heading(out, "Responses");
	if (s->sc->policy[0])
		(void)snprintf(text, sizeof(text), "Under the policy %s.",
			       cot_policy_name_word(s->sc, policy));
	else
		(void)snprintf(text, sizeof(text), "Without a software policy.");
	cot_html_paragraph(out, text);
	cot_html_paragraph(out, "From the arrival of a request to its end; of an app without "
				"arrivals, from the moment when it enqueues work for the GPU until "
				"all of it is done.");
	response_times(s, out);
	cot_sim_spread_html(s, out);
	return cot_table_html(t, out);
}

static int parts(const struct cot_sim_summary *s, FILE *out)
{
	struct cot_table *t = cot_sim_parts_table(s);

	cot_html_heading(out, "Parts of the GPU");
	cot_html_paragraph(out, "Which SMs each app had in the end, how often that changed, and "
				"how many it had in the mean.");
	return cot_table_html(t, out);
}

static int works(const struct cot_sim_summary *s, FILE *out)
{
	struct cot_table *t = cot_sim_works_table(s);

	cot_html_heading(out, "Rewritten kernels");
	cot_html_paragraph(out, "How long they waited for SMs, how often some were taken "
				"back while they ran, and how long after the flag the last "
				"of these was free.");
	return cot_table_html(t, out);
}

int cot_sim_print_html(const struct cot_sim_summary *s, const struct cot_sampler *sampler,
		       FILE *out)
{
	char title[COT_SIM_DESCRIPTION_MAX], subtitle[COT_SIM_DESCRIPTION_MAX];
	char policy[COT_POLICY_NAME_MAX];
	int rc;

	cot_sim_describe(s->sc, subtitle, sizeof(subtitle));
	(void)snprintf(title, sizeof(title), "%s%s%s", cot_origin_title(s->origin),
		       s->sc->policy[0] ? " under " : "", cot_policy_name_word(s->sc, policy));
	cot_html_begin(out, title, subtitle);
	rc = apps_table(s, out);
	if (!rc && s->has_responses)
		rc = responses(s, out);
	if (!rc && s->parts)
		rc = parts(s, out);
	if (!rc && s->has_works)
		rc = works(s, out);
	if (!rc) {
		cot_html_heading(out, "Totals");
		rc = totals_table(s, out);
	}
	if (rc < 0)
		return rc;
	slowdowns(s, out);
	cot_html_heading(out, "Who holds the SMs");
	if (!cot_sampler_complete(sampler))
		rc = overview(s, sampler, out);
	if (!rc)
		rc = closeup(s, sampler, out);
	if (rc < 0)
		return rc;
	rc = counted(s, out);
	if (rc < 0)
		return rc;
	latencies(sampler, out);
	rc = cot_origin_print_html(s->origin, &s->sc->gpu, out);
	cot_html_end(out);
	return rc;
}
