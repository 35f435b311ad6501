/*
 * Charts as inline SVG for the pages of report/html.h, whose style sheet gives the colours.
 * Series are numbered; numbers past 7 reuse the colours, paler. All texts are escaped.
 * A chart struct is only read; a value that is not a number (NAN) is left out.
 */
#ifndef COT_REPORT_SVG_H
#define COT_REPORT_SVG_H

#include <stdbool.h>
#include <stdio.h>

/* Grouped vertical bars: groups along x, one bar per series in each group. */
struct cot_bar_chart {
	const char *title; /* for screen readers */
	const char *y_label;
	unsigned n_groups, n_series;
	const char *const *groups;
	const char *const *series; /* NULL: one series without a legend */
	const double *values;	   /* [group * n_series + series], >= 0 */
	double reference;	   /* a dashed line at this height; NAN: none */
	bool colour_by_group;	   /* for a single series */
	bool counts;		   /* whole numbers */
};

void cot_svg_bars(FILE *out, const struct cot_bar_chart *chart);

/* Lines through points; x need not be sorted but is drawn in order. */
struct cot_line_chart {
	const char *title, *x_label, *y_label;
	unsigned n_series;
	const char *const *series; /* NULL: not in the legend; its colour is nobody's */
	const unsigned *n_points;  /* per series */
	const double *const *x;	   /* [series][point] */
	const double *const *y;
	const bool *dashed; /* per series; NULL: none */
	bool markers;
	double reference; /* NAN: none */
	double y_max;	  /* the top of the y axis; 0: as the values need */
};

void cot_svg_lines(FILE *out, const struct cot_line_chart *chart);

/* Stacked steps: from x[i] to x[i + 1], series s has the height values[i * n_series + s]. */
struct cot_step_chart {
	const char *title, *x_label, *y_label;
	unsigned n_steps, n_series;
	const char *const *series;
	const double *x; /* n_steps + 1, ascending; the x axis begins and ends with them */
	const double *values;
	double y_max; /* the top of the y axis */
};

void cot_svg_steps(FILE *out, const struct cot_step_chart *chart);

/* A line for each row, with a mark for each series at its value: for long names and many rows. */
struct cot_dot_chart {
	const char *title, *x_label;
	unsigned n_rows, n_series;
	const char *const *rows;
	const char *const *series;
	const double *values; /* [row * n_series + series], >= 0 */
	const double *halves; /* half the length of a whisker; NAN: none */
	bool times;	      /* us, so that ticks read "5 ms" */
	double reference;     /* a dashed line; NAN: none */
};

/* On a logarithmic axis where the values are of several magnitudes and none is 0. */
void cot_svg_dots(FILE *out, const struct cot_dot_chart *chart);

/* Ticks at 1, 2 or 5 times a power of ten, at most about `want` of them over `span` > 0. */
double cot_svg_tick_step(double span, unsigned want);

#endif
