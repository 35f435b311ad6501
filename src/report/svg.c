#include "report/svg.h"

#include <math.h>
#include <string.h>

#include "report/format.h"
#include "report/html.h"
#include "report/svg_inside.h"

#define PLOT_HEIGHT   250.0
#define WIDTH	      COT_SVG_WIDTH
#define MARGIN_LEFT   64.0
#define MARGIN_RIGHT  20.0
#define LEGEND_ROW    COT_SVG_LEGEND_ROW
#define CHAR_WIDTH    COT_SVG_CHAR_WIDTH
#define N_COLOURS     8u
#define MAX_LABELLED  24u /* bars: more than these get no number on top */
#define BAR_WIDTH_MAX 56.0

/* Where data coordinates land in the picture. */
struct frame {
	FILE *out;
	double left, top, width, height;
	double x_min, x_max, y_max; /* y starts at 0 */
};

static double px(const struct frame *f, double x)
{
	return f->left + (x - f->x_min) / (f->x_max - f->x_min) * f->width;
}

static double py(const struct frame *f, double y)
{
	return f->top + f->height - y / f->y_max * f->height;
}

double cot_svg_tick_step(double span, unsigned want)
{
	double step = 1.0, raw = span / (want ? want : 1);

	if (!(raw > 0.0) || raw > 1e300)
		return 1.0;
	while (step > raw)
		step /= 10.0;
	while (step * 10.0 <= raw)
		step *= 10.0;
	if (step >= raw)
		return step;
	if (step * 2.0 >= raw)
		return step * 2.0;
	return step * 5.0 >= raw ? step * 5.0 : step * 10.0;
}

static double round_up(double value, double step)
{
	double n = (double)(unsigned long long)(value / step);

	return n * step >= value ? n * step : (n + 1.0) * step;
}

static void tick_label(FILE *out, double value, double step)
{
	struct cot_text count;
	int decimals = 0;

	/* As the values at the bars are: 12,345. */
	if (step >= 1 && value >= 10000 && value < 1e15) {
		(void)fputs(cot_format_count(&count, (uint64_t)(value + 0.5)), out);
		return;
	}
	while (step < 0.9999 && decimals < 9) {
		step *= 10.0;
		decimals++;
	}
	(void)fprintf(out, "%.*f", decimals, value);
}

void cot_svg_text(FILE *out, double x, double y, const char *anchor, const char *class_name,
		  const char *s)
{
	(void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y,
		      anchor, class_name);
	cot_html_text(out, s);
	(void)fputs("</text>\n", out);
}

/* Colours repeat after N_COLOURS series, each time paler. */
static double opacity_of(unsigned series)
{
	static const double levels[] = {1.0, 0.65, 0.4, 0.22};

	return levels[series / N_COLOURS % 4];
}

void cot_svg_fill(FILE *out, unsigned series)
{
	(void)fprintf(out, " class=\"f%u\"", series % N_COLOURS);
	if (series >= N_COLOURS)
		(void)fprintf(out, " fill-opacity=\"%.2f\"", opacity_of(series));
}

unsigned cot_svg_legend(FILE *out, unsigned n, const char *const *names, double top)
{
	unsigned i, rows = 1;
	double x = MARGIN_LEFT;

	if (!names || !n)
		return 0;
	for (i = 0; i < n; i++) {
		double width = 30.0 + CHAR_WIDTH * (double)(names[i] ? strlen(names[i]) : 0);

		if (!names[i])
			continue;
		if (x > MARGIN_LEFT && x + width > WIDTH - MARGIN_RIGHT) {
			x = MARGIN_LEFT;
			rows++;
		}
		if (out) {
			double y = top + LEGEND_ROW * (rows - 1);

			(void)fprintf(
				out,
				"<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" rx=\"2\"",
				x, y);
			cot_svg_fill(out, i);
			(void)fputs("/>\n", out);
			cot_svg_text(out, x + 16.0, y + 10.0, "start", "", names[i]);
		}
		x += width;
	}
	return rows;
}

void cot_svg_open(FILE *out, double height, const char *title)
{
	(void)fprintf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>", WIDTH, height);
	cot_html_text(out, title);
	(void)fputs("</title>\n", out);
}

/* Opens the picture and draws the legend and the y axis. `bottom` is the room below the plot. */
static void open_chart(struct frame *f, const char *title, const char *y_label, unsigned n_series,
		       const char *const *series, double bottom)
{
	double legend_height = LEGEND_ROW * cot_svg_legend(NULL, n_series, series, 0.0);
	double step = cot_svg_tick_step(f->y_max, 5), y;

	f->left = MARGIN_LEFT;
	f->width = WIDTH - MARGIN_LEFT - MARGIN_RIGHT;
	f->top = 12.0 + legend_height + 18.0;
	f->height = PLOT_HEIGHT;
	cot_svg_open(f->out, f->top + f->height + bottom, title);
	(void)cot_svg_legend(f->out, n_series, series, 4.0);
	cot_svg_text(f->out, 4.0, f->top - 12.0, "start", "dim", y_label);
	for (y = 0.0; y <= f->y_max * 1.0001; y += step) {
		(void)fprintf(
			f->out,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n",
			f->left, f->left + f->width, py(f, y), py(f, y), y > 0.0 ? "grid" : "axis");
		(void)fprintf(f->out,
			      "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" class=\"dim\">",
			      f->left - 8.0, py(f, y) + 4.0);
		tick_label(f->out, y, step);
		(void)fputs("</text>\n", f->out);
	}
}

static void x_axis(const struct frame *f, const char *x_label)
{
	double step = cot_svg_tick_step(f->x_max - f->x_min, 8), x, y = f->top + f->height;
	double first = f->x_min > 0.0 ? round_up(f->x_min, step) : 0.0;

	for (x = first; x <= f->x_max + step * 1e-4; x += step) {
		(void)fprintf(
			f->out,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"axis\"/>\n",
			px(f, x), px(f, x), y, y + 4.0);
		(void)fprintf(f->out,
			      "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" class=\"dim\">",
			      px(f, x), y + 18.0);
		tick_label(f->out, x, step);
		(void)fputs("</text>\n", f->out);
	}
	cot_svg_text(f->out, f->left + f->width / 2.0, y + 36.0, "middle", "dim", x_label);
}

static void reference_line(const struct frame *f, double y)
{
	if (isnan(y))
		return;
	(void)fprintf(f->out,
		      "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"ref\"/>\n",
		      f->left, f->left + f->width, py(f, y), py(f, y));
}

static void grow(double *max, double value)
{
	if (!isnan(value) && value > *max)
		*max = value;
}

/* Room for the highest value, up to a tick. */
static double y_top(double max)
{
	if (!(max > 0.0) || isinf(max))
		return 1.0;
	return round_up(max * 1.02, cot_svg_tick_step(max * 1.02, 5));
}

static void bar(const struct frame *f, const struct cot_bar_chart *c, unsigned group,
		unsigned series, double x, double width)
{
	double value = c->values[group * c->n_series + series];
	struct cot_text number;

	if (isnan(value))
		return;
	(void)fprintf(f->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"", x,
		      py(f, value), width, f->top + f->height - py(f, value));
	cot_svg_fill(f->out, c->n_series == 1 && c->colour_by_group ? group : series);
	(void)fputs("><title>", f->out);
	cot_html_text(f->out, c->groups[group]);
	if (c->series) {
		(void)fputs(", ", f->out);
		cot_html_text(f->out, c->series[series]);
	}
	(void)fprintf(f->out, ": %.4g</title></rect>\n", value);
	if (c->n_groups * c->n_series <= MAX_LABELLED)
		cot_svg_text(f->out, x + width / 2.0, py(f, value) - 4.0, "middle", "dim",
			     c->counts ? cot_format_count(&number, (uint64_t)value)
				       : cot_format_ratio(&number, value));
}

static void group_label(const struct frame *f, const char *name, double centre, bool slanted)
{
	double y = f->top + f->height + 16.0;

	if (!slanted) {
		cot_svg_text(f->out, centre, y, "middle", "", name);
		return;
	}
	(void)fprintf(f->out,
		      "<text transform=\"translate(%.1f %.1f) rotate(-40)\" text-anchor=\"end\">",
		      centre + 4.0, y - 2.0);
	cot_html_text(f->out, name);
	(void)fputs("</text>\n", f->out);
}

void cot_svg_bars(FILE *out, const struct cot_bar_chart *chart)
{
	struct frame f = {.out = out, .x_max = 1.0};
	double slot, width, longest = 0.0, max = 0.0;
	unsigned g, s;
	bool slanted;

	if (!chart->n_groups || !chart->n_series)
		return;
	for (g = 0; g < chart->n_groups * chart->n_series; g++)
		grow(&max, chart->values[g]);
	grow(&max, chart->reference);
	for (g = 0; g < chart->n_groups; g++)
		grow(&longest, CHAR_WIDTH * (double)strlen(chart->groups[g]));
	slot = (WIDTH - MARGIN_LEFT - MARGIN_RIGHT) / chart->n_groups;
	slanted = longest > slot - 6.0;
	f.y_max = y_top(max);
	open_chart(&f, chart->title, chart->y_label, chart->n_series, chart->series,
		   slanted ? 24.0 + longest * 0.65 : 28.0);
	width = slot * 0.78 / chart->n_series;
	if (width > BAR_WIDTH_MAX)
		width = BAR_WIDTH_MAX;
	for (g = 0; g < chart->n_groups; g++) {
		double centre = f.left + slot * (g + 0.5);
		double x = centre - width * chart->n_series / 2.0;

		for (s = 0; s < chart->n_series; s++)
			bar(&f, chart, g, s, x + width * s, width * 0.94);
		group_label(&f, chart->groups[g], centre, slanted);
	}
	reference_line(&f, chart->reference);
	(void)fputs("</svg>\n", out);
}

static void line(const struct frame *f, const struct cot_line_chart *c, unsigned s)
{
	bool pen_down = false;
	unsigned i;

	if (!c->n_points[s])
		return;
	(void)fprintf(f->out, "<path class=\"line l%u%s\" stroke-opacity=\"%.2f\" d=\"",
		      s % N_COLOURS, c->dashed && c->dashed[s] ? " dash" : "", opacity_of(s));
	for (i = 0; i < c->n_points[s]; i++) {
		if (isnan(c->y[s][i])) {
			pen_down = false;
			continue;
		}
		(void)fprintf(f->out, "%c%.1f %.1f", pen_down ? 'L' : 'M', px(f, c->x[s][i]),
			      py(f, c->y[s][i]));
		pen_down = true;
	}
	(void)fputs("\"/>\n", f->out);
	for (i = 0; c->markers && i < c->n_points[s]; i++) {
		if (isnan(c->y[s][i]))
			continue;
		(void)fprintf(f->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"",
			      px(f, c->x[s][i]), py(f, c->y[s][i]));
		cot_svg_fill(f->out, s);
		(void)fputs("><title>", f->out);
		cot_html_text(f->out, c->series[s]);
		(void)fprintf(f->out, ": %.4g at %.4g</title></circle>\n", c->y[s][i], c->x[s][i]);
	}
}

void cot_svg_lines(FILE *out, const struct cot_line_chart *chart)
{
	struct frame f = {.out = out};
	double max = 0.0;
	bool any = false;
	unsigned s, i;

	for (s = 0; s < chart->n_series; s++) {
		for (i = 0; i < chart->n_points[s]; i++) {
			double x = chart->x[s][i];

			if (!any || x < f.x_min)
				f.x_min = x;
			if (!any || x > f.x_max)
				f.x_max = x;
			any = true;
			grow(&max, chart->y[s][i]);
		}
	}
	grow(&max, chart->reference);
	if (!(f.x_max > f.x_min))
		f.x_max = f.x_min + 1.0;
	f.y_max = chart->y_max > 0.0 ? chart->y_max : y_top(max);
	open_chart(&f, chart->title, chart->y_label, chart->n_series, chart->series, 44.0);
	x_axis(&f, chart->x_label);
	reference_line(&f, chart->reference);
	for (s = 0; s < chart->n_series; s++)
		line(&f, chart, s);
	(void)fputs("</svg>\n", out);
}

/* Series `s` as one area from the sum of the series below it to that sum and its own height. */
static void step_area(const struct frame *f, const struct cot_step_chart *c, unsigned s)
{
	unsigned i, pass;

	(void)fputs("<path shape-rendering=\"crispEdges\"", f->out);
	cot_svg_fill(f->out, s);
	(void)fputs(" d=\"", f->out);
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < c->n_steps; i++) {
			unsigned at = pass ? c->n_steps - 1 - i : i, below;
			double level = pass ? 0.0 : c->values[at * c->n_series + s];
			double begin = c->x[at], end = c->x[at + 1];

			for (below = 0; below < s; below++)
				level += c->values[at * c->n_series + below];
			if (!pass && !i)
				(void)fprintf(f->out, "M%.2f %.1f", px(f, begin), py(f, level));
			else
				(void)fprintf(f->out, "H%.2fV%.1f", px(f, pass ? end : begin),
					      py(f, level));
			if (i + 1 == c->n_steps)
				(void)fprintf(f->out, "H%.2f", px(f, pass ? begin : end));
		}
	}
	(void)fputs("Z\"><title>", f->out);
	cot_html_text(f->out, c->series[s]);
	(void)fputs("</title></path>\n", f->out);
}

void cot_svg_steps(FILE *out, const struct cot_step_chart *chart)
{
	struct frame f = {.out = out, .y_max = chart->y_max};
	unsigned s;

	if (!chart->n_steps || !(chart->y_max > 0.0))
		return;
	f.x_min = chart->x[0];
	f.x_max = chart->x[chart->n_steps];
	if (!(f.x_max > f.x_min))
		return;
	open_chart(&f, chart->title, chart->y_label, chart->n_series, chart->series, 44.0);
	for (s = 0; s < chart->n_series; s++)
		step_area(&f, chart, s);
	x_axis(&f, chart->x_label);
	(void)fputs("</svg>\n", out);
}
