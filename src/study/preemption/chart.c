#include "study/preemption/chart.h"

#include <math.h>
#include <string.h>

#include "report/html.h"
#include "report/svg.h"

#define WIDTH	    960.0
#define HEIGHT	    270.0
#define PLOT_TOP    62.0
#define PLOT_HEIGHT 150.0
#define AXIS_ROOM   42.0 /* left of a panel, for the numbers */
#define PANEL_GAP   14.0
#define BAR_MAX	    30.0
#define CHAR_WIDTH  6.8
#define LEGEND_TOP  6.0

/* One panel's place in the picture. */
struct frame {
	FILE *out;
	double left, width, y_max;
};

static double py(const struct frame *f, double y)
{
	return PLOT_TOP + PLOT_HEIGHT - y / f->y_max * PLOT_HEIGHT;
}

static void label(FILE *out, double x, double y, const char *anchor, const char *class_name,
		  const char *s)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor,
		class_name);
	cot_html_text(out, s);
	fputs("</text>\n", out);
}

static void diamond(FILE *out, double x, double y)
{
	fprintf(out,
		"<path d=\"M%.1f %.1fl5 -5l5 5l-5 5z\" fill=\"var(--bg)\" stroke=\"var(--fg)\" "
		"stroke-width=\"1.5\"/>\n",
		x - 5.0, y);
}

static void legend(FILE *out, const struct cot_panel_chart *c)
{
	double x = AXIS_ROOM;
	unsigned s;

	for (s = 0; s < c->n_series; s++) {
		fprintf(out,
			"<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" rx=\"2\" "
			"class=\"f%u\"/>\n",
			x, LEGEND_TOP, c->colours[s]);
		label(out, x + 16.0, LEGEND_TOP + 10.0, "start", "", c->series[s]);
		x += 36.0 + CHAR_WIDTH * (double)strlen(c->series[s]);
	}
	diamond(out, x + 5.0, LEGEND_TOP + 6.0);
	label(out, x + 16.0, LEGEND_TOP + 10.0, "start", "", "printed in the paper");
}

static double highest(const struct cot_panel_chart *c, const struct cot_panel *p)
{
	double max = 0.0, step;
	unsigned g, s;

	for (g = 0; g < c->n_groups; g++) {
		for (s = 0; s < c->n_series; s++) {
			max = fmax(max, isnan(p->ours[g][s]) ? 0.0 : p->ours[g][s]);
			max = fmax(max, isnan(p->paper[g][s]) ? 0.0 : p->paper[g][s]);
		}
	}
	if (!(max > 0.0))
		return 1.0;
	step = cot_svg_tick_step(max * 1.05, 4);
	return step * ceil(max * 1.05 / step);
}

static void axes(const struct frame *f, const struct cot_panel_chart *c, const char *title)
{
	double step = cot_svg_tick_step(f->y_max, 4), y;
	char text[32];

	label(f->out, f->left, PLOT_TOP - 12.0, "start", "", title);
	for (y = 0.0; y <= f->y_max * 1.0001; y += step) {
		fprintf(f->out,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n",
			f->left, f->left + f->width, py(f, y), py(f, y), y > 0.0 ? "grid" : "axis");
		snprintf(text, sizeof(text), "%.4g", y);
		label(f->out, f->left - 6.0, py(f, y) + 4.0, "end", "dim", text);
	}
	if (f->y_max > 1.0)
		fprintf(f->out,
			"<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"ref\"/>\n",
			f->left, f->left + f->width, py(f, 1.0), py(f, 1.0));
	label(f->out, f->left + f->width / 2.0, PLOT_TOP + PLOT_HEIGHT + 38.0, "middle", "dim",
	      c->x_label);
}

static void bars(const struct frame *f, const struct cot_panel_chart *c, const struct cot_panel *p)
{
	double pitch = f->width / c->n_groups;
	double bar = fmin(BAR_MAX, pitch * 0.78 / c->n_series);
	unsigned g, s;

	for (g = 0; g < c->n_groups; g++) {
		double x = f->left + pitch * (g + 0.5) - bar * c->n_series / 2.0;

		label(f->out, f->left + pitch * (g + 0.5), PLOT_TOP + PLOT_HEIGHT + 18.0, "middle",
		      "dim", c->groups[g]);
		for (s = 0; s < c->n_series; s++, x += bar) {
			double ours = p->ours[g][s], paper = p->paper[g][s];

			if (!isnan(ours))
				fprintf(f->out,
					"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
					"height=\"%.1f\" class=\"f%u\"><title>%.3g</title>"
					"</rect>\n",
					x, py(f, ours), bar - 1.0,
					PLOT_TOP + PLOT_HEIGHT - py(f, ours), c->colours[s], ours);
			if (!isnan(paper))
				diamond(f->out, x + bar / 2.0, py(f, paper));
		}
	}
}

void cot_panel_chart_svg(FILE *out, const struct cot_panel_chart *chart)
{
	double each = WIDTH / chart->n_panels;
	unsigned i;

	fprintf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\">\n<title>", WIDTH, HEIGHT);
	cot_html_text(out, chart->title);
	fputs("</title>\n", out);
	legend(out, chart);
	for (i = 0; i < chart->n_panels; i++) {
		struct frame f = {.out = out,
				  .left = each * i + AXIS_ROOM,
				  .width = each - AXIS_ROOM - PANEL_GAP,
				  .y_max = highest(chart, &chart->panels[i])};

		axes(&f, chart, chart->panels[i].title);
		bars(&f, chart, &chart->panels[i]);
	}
	fputs("</svg>\n", out);
}
