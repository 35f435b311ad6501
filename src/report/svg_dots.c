#include <math.h>
#include <string.h>

#include "report/format.h"
#include "report/html.h"
#include "report/svg.h"
#include "report/svg_inside.h"

#define ROW_HEIGHT   20.0
#define AXIS_HEIGHT  44.0
#define RIGHT	     28.0
#define LABEL_MAX    320.0
#define RADIUS	     4.0
#define LOG_FROM     20.0 /* the largest value over the least: from here on */
#define LOG_DECADES  3.0  /* with more of them only powers of ten get a tick */
#define WANTED_TICKS 6u

struct frame {
	FILE *out;
	const struct cot_dot_chart *c;
	double left, top, width, height;
	bool log;
	double min, max; /* the ends of the axis */
};

static double px(const struct frame *f, double x)
{
	double part = f->log ? log10(fmax(x, f->min) / f->min) / log10(f->max / f->min)
			     : (x - f->min) / (f->max - f->min);

	return f->left + fmax(0.0, fmin(part, 1.0)) * f->width;
}

static double row_y(const struct frame *f, unsigned row)
{
	return f->top + ROW_HEIGHT * (row + 0.5);
}

/* ---- the axis ---- */

static void widen(struct frame *f, double value)
{
	if (isnan(value) || isinf(value))
		return;
	if (isnan(f->min) || value < f->min)
		f->min = value;
	if (isnan(f->max) || value > f->max)
		f->max = value;
}

/* To 1, 2 or 5 times a power of ten, down or up. */
static double round_log(double x, bool up)
{
	static const double steps[] = {1, 2, 5, 10};
	double power = 1;
	unsigned i = 0;

	while (power > x)
		power /= 10;
	while (power * 10 <= x)
		power *= 10;
	while (i < 3 && steps[i + 1] * power <= x * 1.0000001)
		i++;
	if (up && steps[i] * power < x * 0.9999999)
		i++;
	return steps[i] * power;
}

static void choose_axis(struct frame *f)
{
	const struct cot_dot_chart *c = f->c;
	unsigned i;
	double step;

	f->min = f->max = (double)NAN;
	for (i = 0; i < c->n_rows * c->n_series; i++)
		widen(f, c->values[i]);
	f->log = f->min > 0.0 && f->max / f->min >= LOG_FROM;
	for (i = 0; i < c->n_rows * c->n_series; i++)
		if (!isnan(c->halves[i]))
			widen(f, c->values[i] + c->halves[i]);
	widen(f, c->reference);
	if (f->log) {
		f->min = round_log(f->min, false);
		f->max = round_log(f->max, true);
		return;
	}
	f->min = 0.0;
	step = cot_svg_tick_step(f->max > 0.0 ? f->max : 1.0, WANTED_TICKS);
	f->max = f->max > 0.0 ? ceil(f->max / step - 1e-9) * step : 1.0;
}

/* "5 ms": ticks are round numbers. */
static void tick_text(const struct frame *f, double value, char *text, size_t size)
{
	static const char *const units[] = {" ns", " us", " ms", " s"};
	unsigned unit = 1;

	if (!f->c->times) {
		(void)snprintf(text, size, "%.6g", value);
		return;
	}
	while (value >= 1e3 && unit < 3) {
		value /= 1e3;
		unit++;
	}
	if (value > 0.0 && value < 1.0) {
		value *= 1e3;
		unit--;
	}
	(void)snprintf(text, size, "%.6g%s", value, units[unit]);
}

static void tick(const struct frame *f, double value)
{
	double x = px(f, value), y = f->top + f->height;
	char text[32];

	(void)fprintf(f->out,
		      "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>\n", x,
		      x, f->top, y + 4.0);
	tick_text(f, value, text, sizeof(text));
	cot_svg_text(f->out, x, y + 18.0, "middle", "dim", text);
}

static void log_ticks(const struct frame *f)
{
	bool few = log10(f->max / f->min) > LOG_DECADES;
	double power = pow(10.0, floor(log10(f->min) + 1e-9)), v;
	unsigned i;

	for (; power <= f->max * 1.0000001; power *= 10)
		for (i = 1; i <= 5; i += i == 1 ? 1 : 3) {
			v = i * power;
			if (v >= f->min * 0.9999999 && v <= f->max * 1.0000001 && (i == 1 || !few))
				tick(f, v);
		}
}

static void axis(const struct frame *f)
{
	double step = cot_svg_tick_step(f->max - f->min, WANTED_TICKS), v;

	if (f->log)
		log_ticks(f);
	else
		for (v = f->min; v <= f->max + step * 1e-4; v += step)
			tick(f, v);
	cot_svg_text(f->out, f->left + f->width / 2.0, f->top + f->height + 36.0, "middle", "dim",
		     f->c->x_label);
}

/* ---- the rows ---- */

static void whisker(const struct frame *f, double value, double half, double y, unsigned series)
{
	if (isnan(half) || !(half > 0.0))
		return;
	(void)fprintf(
		f->out,
		"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"line l%u\"/>\n",
		px(f, value - half), px(f, value + half), y, y, series % 8u);
}

static void mark(const struct frame *f, unsigned row, unsigned series)
{
	unsigned i = row * f->c->n_series + series;
	double value = f->c->values[i], y = row_y(f, row);
	struct cot_text text;

	if (isnan(value))
		return;
	whisker(f, value, f->c->halves[i], y, series);
	(void)fprintf(f->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", px(f, value), y,
		      RADIUS);
	cot_svg_fill(f->out, series);
	(void)fputs("><title>", f->out);
	cot_html_text(f->out, f->c->rows[row]);
	(void)fputs(", ", f->out);
	cot_html_text(f->out, f->c->series[series]);
	(void)fprintf(f->out, ": %s</title></circle>\n",
		      f->c->times ? cot_format_us(&text, value) : cot_format_ratio(&text, value));
}

static void draw_row(const struct frame *f, unsigned row)
{
	double y = row_y(f, row);
	unsigned s;

	cot_svg_text(f->out, f->left - 10.0, y + 4.0, "end", "", f->c->rows[row]);
	(void)fprintf(f->out,
		      "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"grid\"/>\n",
		      f->left, f->left + f->width, y, y);
	for (s = 0; s < f->c->n_series; s++)
		mark(f, row, s);
}

void cot_svg_dots(FILE *out, const struct cot_dot_chart *chart)
{
	struct frame f = {.out = out, .c = chart};
	unsigned i;

	if (!chart->n_rows || !chart->n_series)
		return;
	for (i = 0; i < chart->n_rows; i++)
		f.left = fmax(f.left, COT_SVG_CHAR_WIDTH * (double)strlen(chart->rows[i]));
	f.left = fmin(f.left, LABEL_MAX) + 20.0;
	f.width = COT_SVG_WIDTH - f.left - RIGHT;
	f.top = 10.0 + COT_SVG_LEGEND_ROW * cot_svg_legend(NULL, chart->n_series, chart->series, 0);
	f.height = ROW_HEIGHT * chart->n_rows;
	choose_axis(&f);
	cot_svg_open(out, f.top + f.height + AXIS_HEIGHT, chart->title);
	(void)cot_svg_legend(out, chart->n_series, chart->series, 4.0);
	axis(&f);
	if (!isnan(chart->reference))
		(void)fprintf(out,
			      "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
			      "class=\"ref\"/>\n",
			      px(&f, chart->reference), px(&f, chart->reference), f.top,
			      f.top + f.height);
	for (i = 0; i < chart->n_rows; i++)
		draw_row(&f, i);
	(void)fputs("</svg>\n", out);
}
