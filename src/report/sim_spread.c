/*
 *   100 % |          ______----
 *         |      __/
 *         |    _/                 how many requests took no longer than this
 *       0 |___/________________
 *
 * A picture for each app, since what is long for one is nothing for another.
 */
#include <math.h>
#include <stdio.h>

#include "report/html.h"
#include "report/sim_summary.h"
#include "report/svg.h"

/* Of fewer a curve says nothing that the table does not. */
#define ENOUGH 20u

struct unit {
	const char *label;
	double us;
};

static struct unit unit_of(double max_us)
{
	static const struct unit units[] = {{"us", 1.0}, {"ms", 1e3}, {"s", 1e6}};
	unsigned i = 0;

	while (i < 2 && max_us >= 2.0 * units[i + 1].us)
		i++;
	return units[i];
}

static void curve(const struct cot_sim_summary *s, uint32_t app, FILE *out)
{
	const struct cot_response_summary *r = &s->responses[app];
	struct unit unit = unit_of(r->levels_us[COT_SIM_LEVELS - 1]);
	double x[COT_SIM_LEVELS + 1] = {0}, y[COT_SIM_LEVELS + 1] = {0};
	const double *xs = x, *ys = y;
	unsigned n = COT_SIM_LEVELS + 1, i;
	char title[COT_NAME_MAX + 64], label[64];
	struct cot_line_chart chart = {
		.title = title,
		.x_label = label,
		.y_label = "% of the requests took no longer",
		.n_series = 1,
		.n_points = &n,
		.x = &xs,
		.y = &ys,
		.reference = (double)NAN,
		.y_max = 100.0,
	};

	for (i = 0; i < COT_SIM_LEVELS; i++) {
		x[i + 1] = r->levels_us[i] / unit.us;
		y[i + 1] = 100.0 * cot_sim_level(i);
	}
	x[0] = 0.0;
	(void)snprintf(title, sizeof(title),
		       "How long requests of '%s' took, up to 99.9 %% of them",
		       s->sc->apps[app].name);
	(void)snprintf(label, sizeof(label), "from a request's arrival to its end, %s", unit.label);
	cot_html_figure_begin(out);
	cot_svg_lines(out, &chart);
	cot_html_figure_end(out, title);
}

void cot_sim_spread_html(const struct cot_sim_summary *s, FILE *out)
{
	uint32_t i;

	for (i = 0; i < s->sc->n_apps; i++)
		if (s->responses[i].n >= ENOUGH)
			curve(s, i, out);
}
