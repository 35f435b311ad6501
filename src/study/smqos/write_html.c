/* The report as one page: Figures 2 to 4, the curves of the benchmarks, one mix over time. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/html.h"
#include "report/svg.h"
#include "report/table.h"
#include "study/smqos/smqos.h"

#define N_GROUPS ((COT_SMQ_PAIRS + 1) * COT_SMQ_TARGETS)

static int comparison(FILE *out, const struct cot_smq_report *r)
{
	static const struct cot_column columns[] = {
		{"what", COT_ALIGN_LEFT},     {"than", COT_ALIGN_LEFT},
		{"mixes", COT_ALIGN_LEFT},    {"target", COT_ALIGN_RIGHT},
		{"paper %", COT_ALIGN_RIGHT}, {"ours %", COT_ALIGN_RIGHT},
		{"off by", COT_ALIGN_RIGHT},  {"source", COT_ALIGN_LEFT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	unsigned i;

	for (i = 0; i < r->n_printed; i++) {
		const struct cot_smq_pair_of_values *v = &r->pairs[i];

		cot_table_text(t, v->printed->metric);
		cot_table_text(t, v->printed->against);
		cot_table_text(t, v->printed->group);
		if (v->printed->target)
			cot_table_cell(t, "%u %%", v->printed->target);
		else
			cot_table_text(t, "all");
		cot_table_cell(t, "%.2f", v->printed->value);
		if (v->measured)
			cot_table_cell(t, "%.2f", v->value);
		else
			cot_table_text(t, "-");
		if (v->measured)
			cot_table_cell(t, "%+.2f", v->deviation);
		else
			cot_table_text(t, "-");
		cot_table_text(t, v->printed->source);
	}
	return cot_table_html(t, out);
}

static double reach(const struct cot_smq_mean *m, const struct cot_smq_mean *base)
{
	(void)base;
	return m->reach_pct;
}

static double throughput(const struct cot_smq_mean *m, const struct cot_smq_mean *base)
{
	(void)base;
	return m->throughput;
}

static double power(const struct cot_smq_mean *m, const struct cot_smq_mean *base)
{
	return m->watts / base->watts;
}

static void figure(FILE *out, const struct cot_smq_report *r, const char *title, const char *y,
		   const char *caption, double reference,
		   double (*value)(const struct cot_smq_mean *m, const struct cot_smq_mean *base))
{
	char labels[N_GROUPS][24];
	const char *groups[N_GROUPS];
	double values[N_GROUPS * COT_SMQ_SYSTEMS];
	struct cot_bar_chart chart = {
		.title = title,
		.y_label = y,
		.n_groups = N_GROUPS,
		.n_series = COT_SMQ_SYSTEMS,
		.groups = groups,
		.series = cot_smq_system_names,
		.values = values,
		.reference = reference,
	};
	unsigned g, s;

	for (g = 0; g < N_GROUPS; g++) {
		unsigned pair = g / COT_SMQ_TARGETS, t = g % COT_SMQ_TARGETS;
		struct cot_smq_mean base = cot_smq_mean_of(r, r->main, COT_SMQ_ROLLOVER, pair, t);

		(void)snprintf(labels[g], sizeof(labels[g]), "%s %u",
			       pair < COT_SMQ_PAIRS ? cot_smq_pair_names[pair] : "all",
			       cot_smq_targets[t]);
		groups[g] = labels[g];
		for (s = 0; s < COT_SMQ_SYSTEMS; s++) {
			struct cot_smq_mean m =
				cot_smq_mean_of(r, r->main, (enum cot_smq_system)s, pair, t);

			values[g * COT_SMQ_SYSTEMS + s] = m.n ? value(&m, &base) : (double)NAN;
		}
	}
	cot_html_heading(out, title);
	cot_html_figure_begin(out);
	cot_svg_bars(out, &chart);
	cot_html_figure_end(out, caption);
}

/* IPC of benchmarks of one class against SMs, 1 being all of them. */
static void curves(FILE *out, const struct cot_smq_report *r, bool mi)
{
	double x[COT_SMQ_MAX_SMS], y[COT_SMQ_BENCHMARKS][COT_SMQ_MAX_SMS];
	const double *xs[COT_SMQ_BENCHMARKS], *ys[COT_SMQ_BENCHMARKS];
	const char *names[COT_SMQ_BENCHMARKS];
	unsigned points[COT_SMQ_BENCHMARKS], n_sms = r->main->settings.n_sms, i, n, k = 0;
	struct cot_line_chart chart = {
		.title = mi ? "Bound by memory" : "Bound by computation",
		.x_label = "SMs",
		.y_label = "IPC, 1 on all SMs",
		.series = names,
		.n_points = points,
		.x = xs,
		.y = ys,
		.reference = 1.0,
	};

	for (i = 0; i < COT_SMQ_BENCHMARKS; i++) {
		if (r->is_mi[i] != mi)
			continue;
		for (n = 1; n <= n_sms; n++) {
			x[n - 1] = n;
			y[k][n - 1] = r->curve[i][n] / r->curve[i][n_sms];
		}
		xs[k] = x;
		ys[k] = y[k];
		points[k] = n_sms;
		names[k++] = cot_smq_benchmarks[i];
	}
	chart.n_series = k;
	if (!k)
		return;
	cot_html_figure_begin(out);
	cot_svg_lines(out, &chart);
	cot_html_figure_end(out, chart.title);
}

/* SMs or IPC of the two tasks of the mix under each system. */
static int mix_lines(FILE *out, const struct cot_smq_timeline *t, bool sms)
{
	char labels[2 * COT_SMQ_SYSTEMS][32];
	const char *names[2 * COT_SMQ_SYSTEMS];
	const double *xs[2 * COT_SMQ_SYSTEMS], *ys[2 * COT_SMQ_SYSTEMS];
	unsigned points[2 * COT_SMQ_SYSTEMS], k;
	bool dashed[2 * COT_SMQ_SYSTEMS];
	double *room = calloc(2 * COT_SMQ_SYSTEMS * 2 * COT_EPOCHS_MAX, sizeof(*room));
	struct cot_line_chart chart = {
		.title = sms ? "SMs of both tasks" : "IPC of both tasks",
		.x_label = "epoch",
		.y_label = sms ? "SMs" : "warp instructions per cycle",
		.n_series = 2 * COT_SMQ_SYSTEMS,
		.series = names,
		.n_points = points,
		.x = xs,
		.y = ys,
		.dashed = dashed,
		.reference = sms ? (double)NAN : t->scenarios[0]->apps[0].qos.ipc,
	};

	if (!room)
		return -ENOMEM;
	for (k = 0; k < 2 * COT_SMQ_SYSTEMS; k++) {
		const struct cot_epochs *e = t->epochs[k / 2];
		double *x = room + (size_t)2 * k * COT_EPOCHS_MAX, *y = x + COT_EPOCHS_MAX;
		uint32_t i;

		for (i = 0; i < cot_epochs_count(e); i++) {
			x[i] = i + 1;
			y[i] = sms ? cot_epochs_row(e, i)->sms[k % 2] : cot_epochs_ipc(e, i, k % 2);
		}
		(void)snprintf(labels[k], sizeof(labels[k]), "%s: %s", cot_smq_system_names[k / 2],
			       cot_smq_benchmarks[k % 2 ? t->batch : t->ls]);
		names[k] = labels[k];
		xs[k] = x;
		ys[k] = y;
		points[k] = cot_epochs_count(e);
		dashed[k] = k % 2;
	}
	cot_html_figure_begin(out);
	cot_svg_lines(out, &chart);
	cot_html_figure_end(out, sms ? "SMs on which each task has blocks, at the end of epochs."
				     : "The dashed level is the promised IPC.");
	free(room);
	return 0;
}

static int mix(FILE *out, const struct cot_smq_report *r)
{
	char title[128];
	int rc;

	if (!r->has_timeline)
		return 0;
	(void)snprintf(title, sizeof(title), "%s, promised %u %%, beside %s",
		       cot_smq_benchmarks[r->timeline.ls], cot_smq_targets[r->timeline.target],
		       cot_smq_benchmarks[r->timeline.batch]);
	cot_html_heading(out, title);
	rc = mix_lines(out, &r->timeline, true);
	return rc ? rc : mix_lines(out, &r->timeline, false);
}

int cot_smq_write_html(FILE *out, const void *data, const struct cot_origin *origin)
{
	const struct cot_smq_report *r = data;
	char subtitle[160];
	int rc;

	(void)snprintf(subtitle, sizeof(subtitle),
		       "%u SMs, epochs of %u cycles, threshold %g, noise %g, seed %llu",
		       r->main->settings.n_sms, r->main->settings.epoch_cycles,
		       r->main->settings.threshold, r->main->settings.noise,
		       (unsigned long long)r->seed);
	cot_html_begin(out, "SMQoS, repeated in simulation", subtitle);
	cot_html_heading(out, "Printed and measured");
	rc = comparison(out, r);
	if (rc)
		return rc;
	figure(out, r, "Figure 2: promises kept", "per cent of the cases",
	       "By classes of the mix (task with the goal, batch task) and target.", (double)NAN,
	       reach);
	figure(out, r, "Figure 3: throughput of the batch task", "IPC, 1 alone",
	       "Normalised to the batch task alone on all SMs.", 1.0, throughput);
	figure(out, r, "Figure 4: power", "power, 1 under Rollover",
	       "Mean power of the mixes over that under Rollover.", 1.0, power);
	rc = mix(out, r);
	if (rc)
		return rc;
	cot_html_heading(out, "The benchmarks alone");
	curves(out, r, false);
	curves(out, r, true);
	rc = cot_origin_print_html(origin, NULL, out);
	cot_html_end(out);
	return rc;
}
