/* The report as a page: every figure of the paper with the printed values marked. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/format.h"
#include "report/html.h"
#include "report/svg.h"
#include "study/preemption/chart.h"
#include "study/preemption/names.h"
#include "study/preemption/tables.h"

static const char *const mechanisms[] = {"switch", "drain", "npq"};
static const char *const mechanism_names[] = {"context switch", "draining", "NPQ"};
static const unsigned mechanism_colours[] = {0, 1, 7};
static const char *const groups[] = {"SHORT", "MEDIUM", "LONG", "average"};

static double printed_value(const struct cot_preemption_comparison *c, const char *figure,
			    const char *mechanism, const char *group, unsigned nproc)
{
	unsigned i;

	for (i = 0; i < c->n_pairs; i++) {
		const struct cot_preemption_pair *p = &c->pairs[i];

		if (p->nproc == nproc && !strcmp(p->entry->figure, figure) &&
		    !strcmp(p->entry->mechanism, mechanism) && !strcmp(p->entry->group, group))
			return p->printed;
	}
	return NAN;
}

static void fill_panel(const struct cot_preemption *r, unsigned reading, const char *figure,
		       const char *group, unsigned n_mechanisms, struct cot_panel *ret)
{
	const struct cot_preemption_sample *s = &r->samples[reading];
	unsigned i, k;

	for (i = 0; i < s->n_sizes; i++) {
		for (k = 0; k < n_mechanisms; k++) {
			const struct cot_preemption_point *p = cot_preemption_points_find(
				&r->points[reading], figure, mechanisms[k], group, s->sizes[i]);

			ret->ours[i][k] = p ? p->value : NAN;
			ret->paper[i][k] = printed_value(&r->comparison[reading], figure,
							 mechanisms[k], group, s->sizes[i]);
		}
	}
}

/* One chart; panel i shows `figures[i]` for `groups[i]`. */
static void bar_figure(FILE *out, const struct cot_preemption *r, unsigned reading,
		       unsigned n_panels, const char *const *figures,
		       const char *const *panel_groups, const char *const *titles,
		       unsigned n_mechanisms, const char *caption)
{
	const struct cot_preemption_sample *s = &r->samples[reading];
	struct cot_panel panels[COT_PANELS_MAX];
	char sizes[COT_PREEMPTION_MAX_SIZES][16];
	const char *labels[COT_PREEMPTION_MAX_SIZES];
	struct cot_panel_chart chart = {.title = caption,
					.x_label = "processes",
					.n_panels = n_panels,
					.n_groups = s->n_sizes,
					.n_series = n_mechanisms,
					.groups = labels,
					.series = mechanism_names,
					.colours = mechanism_colours,
					.panels = panels};
	unsigned i;

	for (i = 0; i < s->n_sizes; i++) {
		snprintf(sizes[i], sizeof(sizes[i]), "%u", s->sizes[i]);
		labels[i] = sizes[i];
	}
	for (i = 0; i < n_panels; i++) {
		panels[i].title = titles[i];
		fill_panel(r, reading, figures[i], panel_groups[i], n_mechanisms, &panels[i]);
	}
	cot_html_figure_begin(out);
	cot_panel_chart_svg(out, &chart);
	cot_html_figure_end(out, caption);
}

static void bar_figures(FILE *out, const struct cot_preemption *r, unsigned reading)
{
	static const char *const five[] = {"5", "5", "5", "5"};
	static const char *const six[] = {"6a", "6b"};
	static const char *const six_titles[] = {"6a: exclusive access", "6b: shared access"};
	static const char *const seven_a[] = {"7a", "7a", "7a", "7a"};
	static const char *const seven_bc[] = {"7b", "7c"};
	static const char *const seven_titles[] = {"7b: fairness, DSS / FCFS",
						   "7c: throughput, FCFS / DSS"};
	static const char *const averages[] = {"average", "average"};

	bar_figure(out, r, reading, 4, five, groups, groups, 3,
		   "Figure 5: turnaround gain of the high-priority process over FCFS, by length "
		   "of its kernels. Dashed: no change.");
	bar_figure(out, r, reading, 2, six, averages, six_titles, 2,
		   "Figure 6: throughput cost of preemption, STP under NPQ / STP under PPQ. Lower "
		   "is better; the paper prints no values for 6b.");
	bar_figure(out, r, reading, 4, seven_a, groups, groups, 2,
		   "Figure 7a: turnaround gain of DSS (dss-printed) over FCFS, by length of the "
		   "application.");
	bar_figure(out, r, reading, 2, seven_bc, averages, seven_titles, 2,
		   "Figures 7b and 7c: what DSS gains in fairness and costs in throughput.");
}

static void antt_chart(FILE *out, unsigned nproc, const char *scheduler,
		       const struct cot_antt_curves *c, const double *ranks)
{
	const char *const series[] = {"FCFS", "context switch", "draining"};
	const unsigned n_points[COT_ANTT_N] = {c->n, c->n, c->n};
	const double *x[COT_ANTT_N] = {ranks, ranks, ranks};
	const double *y[COT_ANTT_N] = {c->antt[0], c->antt[1], c->antt[2]};
	char caption[400], title[64];
	struct cot_line_chart chart = {.title = title,
				       .x_label = "workloads, in order of their ANTT under FCFS",
				       .y_label = "ANTT",
				       .n_series = COT_ANTT_N,
				       .series = series,
				       .n_points = n_points,
				       .x = x,
				       .y = y,
				       .reference = NAN};

	snprintf(title, sizeof(title), "Figure 8, %u processes, %s", nproc, scheduler);
	snprintf(caption, sizeof(caption),
		 "Figure 8, %u processes, %s: ANTT of the workloads (lower is better), the worst "
		 "under FCFS first. DSS gains more than %.0f %% in %.0f %% of them with context "
		 "switches, in %.0f %% with draining. Among these, context switches are better "
		 "in the first %.0f %%, draining in the rest (true of %.0f %% of them).",
		 nproc, scheduler, 100.0 * (COT_ANTT_GAIN - 1.0),
		 100.0 * c->improved[COT_ANTT_SWITCH], 100.0 * c->improved[COT_ANTT_DRAIN],
		 c->n_improved ? 100.0 * c->crossing.rank / c->n_improved : 0.0,
		 100.0 * c->crossing.agreement);
	cot_html_figure_begin(out);
	cot_svg_lines(out, &chart);
	cot_html_figure_end(out, caption);
}

static int antt_figures(FILE *out, const struct cot_preemption *r, unsigned reading)
{
	const struct cot_preemption_sample *s = &r->samples[reading];
	static const struct {
		const char *scheduler;
		enum cot_dss_policy by_switch;
	} kinds[] = {{"dss-printed", COT_DSS_SWITCH}, {"dss", COT_DSS_LEND_SWITCH}};
	struct cot_antt_curves c;
	double *ranks = calloc(s->n_dss + 1, sizeof(*ranks));
	unsigned i, k;
	int rc = ranks ? 0 : -ENOMEM;

	for (i = 0; ranks && i < s->n_dss; i++)
		ranks[i] = i + 1;
	for (i = 0; i < s->n_sizes && !rc; i++) {
		for (k = 0; k < (s->lends ? 2 : 1) && !rc; k++) {
			rc = cot_preemption_antt(s, i, kinds[k].by_switch, &c);
			if (rc)
				break;
			antt_chart(out, s->sizes[i], kinds[k].scheduler, &c, ranks);
			cot_antt_curves_finish(&c);
		}
	}
	free(ranks);
	return rc;
}

static int summary(FILE *out, const struct cot_preemption *r)
{
	unsigned m, judged, held, better = cot_preemption_better_reading(r);
	char text[320];

	for (m = 0; m < COT_PREEMPTION_MAIN; m++) {
		held = cot_preemption_shapes_held(&r->comparison[m], &judged);
		snprintf(text, sizeof(text),
			 "With the %s reading of Table 1's Time/TB column %u of %u of the paper's "
			 "statements about order and crossings hold; over %u printed values the "
			 "mean of |ln(ours / paper)| is %.3f (with ratios of means %.3f)%s.",
			 r->samples[m].name, held, judged, r->comparison[m].n_fit,
			 r->comparison[m].fit, r->comparison[m].fit_of_means,
			 m == better ? ": the closer reading" : "");
		cot_html_paragraph(out, text);
	}
	return cot_table_html(cot_preemption_table_pairs(r, true), out);
}

static int details(FILE *out, const struct cot_preemption *r)
{
	unsigned i;
	int rc;

	cot_html_heading(out, "All printed values");
	rc = cot_table_html(cot_preemption_table_pairs(r, false), out);
	if (rc)
		return rc;
	cot_html_heading(out, "Why values deviate");
	for (i = 0; cot_preemption_reasons[i]; i++)
		cot_html_paragraph(out, cot_preemption_reasons[i]);
	if (r->n_samples > COT_PREEMPTION_MAIN) {
		cot_html_heading(out, "Sensitivity: spread of block times");
		rc = cot_table_html(cot_preemption_table_sensitivity(r, COT_PREEMPTION_MAIN,
								     r->n_jitters, false),
				    out);
		if (rc)
			return rc;
		cot_html_heading(out, "Sensitivity: where the CPU works");
		rc = cot_table_html(
			cot_preemption_table_sensitivity(r, COT_PREEMPTION_MAIN + r->n_jitters,
							 r->n_phases, true),
			out);
		if (rc)
			return rc;
	}
	cot_html_heading(out, "Table 1: context save time and share of the on-chip memory");
	return cot_table_html(cot_preemption_table_kernels(r), out);
}

int cot_preemption_write_html(FILE *out, const void *data, const struct cot_origin *origin)
{
	const struct cot_preemption *r = data;
	unsigned m = cot_preemption_better_reading(r), k;
	struct cot_text blocks;
	char text[160];
	int rc;

	snprintf(text, sizeof(text), "%u simulations, %s thread blocks, seed %llu%s",
		 r->n_simulations, cot_format_count(&blocks, r->block_completions),
		 (unsigned long long)r->seed, r->quick ? ", quick: few workloads" : "");
	cot_html_begin(out, "Preemptive multiprogramming on GPUs, reproduced", text);
	rc = summary(out, r);
	if (rc)
		return rc;
	cot_html_heading(out, "Who wins, in what order, where lines cross");
	rc = cot_table_html(cot_preemption_table_shapes(r, true), out);
	for (k = 0; k < COT_PREEMPTION_MAIN && !rc; k++, m = 1 - m) {
		snprintf(text, sizeof(text), "The figures, %s reading", r->samples[m].name);
		cot_html_heading(out, text);
		bar_figures(out, r, m);
		rc = antt_figures(out, r, m);
	}
	if (!rc)
		rc = details(out, r);
	if (!rc)
		rc = cot_origin_print_html(origin, NULL, out);
	cot_html_end(out);
	return rc;
}
