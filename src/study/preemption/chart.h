/*
 * Small bar charts side by side, our values as bars and the paper's as marks over them; inline SVG
 * in the colours of report/html.h. Only reads its arguments.
 */
#ifndef COT_STUDY_PREEMPTION_CHART_H
#define COT_STUDY_PREEMPTION_CHART_H

#include <stdio.h>

#define COT_PANEL_MAX_GROUPS 8
#define COT_PANEL_MAX_SERIES 4
#define COT_PANELS_MAX	     4

struct cot_panel {
	const char *title;
	/* [group][series]; NAN: nothing there */
	double ours[COT_PANEL_MAX_GROUPS][COT_PANEL_MAX_SERIES];
	double paper[COT_PANEL_MAX_GROUPS][COT_PANEL_MAX_SERIES];
};

struct cot_panel_chart {
	const char *title, *x_label;
	unsigned n_panels, n_groups, n_series;
	const char *const *groups; /* labels along x, the same in all panels */
	const char *const *series;
	const unsigned *colours; /* of the series */
	const struct cot_panel *panels;
};

void cot_panel_chart_svg(FILE *out, const struct cot_panel_chart *chart);

#endif
