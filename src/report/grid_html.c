/*
 * Runs side by side as a page: the table, and a chart for each measure that the scenario is about.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/grid.h"
#include "report/html.h"
#include "report/svg.h"
#include "report/table.h"

#define ROW_NAME_MAX (COT_GRID_MAX_KEYS * (COT_GRID_LABEL_MAX + 2u))

struct page {
	const struct cot_grid *g;
	FILE *out;
	char (*rows)[ROW_NAME_MAX];
	const char **row_names;
	double *values, *halves; /* [row * COT_MAX_APPS] */
};

static const struct chart {
	enum cot_figure_kind kinds[2]; /* of the same unit; the first one is of apps, or of all */
	unsigned n_kinds;
	const char *title, *x_label, *caption;
	bool times;
	double reference;
} charts[] = {
	{{COT_FIGURE_P99},
	 1,
	 "Responses, 99th percentile",
	 "p99 of responses",
	 "From the arrival of a request to its end. Left is better.",
	 true,
	 (double)NAN},
	{{COT_FIGURE_P50},
	 1,
	 "Responses, median",
	 "p50 of responses",
	 "Left is better.",
	 true,
	 (double)NAN},
	{{COT_FIGURE_RATE, COT_FIGURE_BATCH_SUM},
	 2,
	 "What batch apps keep",
	 "part of the rate alone",
	 "Right is better; 1 is as fast as alone.",
	 false,
	 1.0},
	{{COT_FIGURE_SLOWDOWN},
	 1,
	 "Slowdown",
	 "NTT: time together / alone",
	 "The dashed line is an app that has the GPU to itself. Left is better.",
	 false,
	 1.0},
	{{COT_FIGURE_GOAL},
	 1,
	 "Goals",
	 "instructions per cycle / goal",
	 "Right of the dashed line the goal is reached.",
	 false,
	 1.0},
	{{COT_FIGURE_ANTT, COT_FIGURE_STP},
	 2,
	 "Mean slowdown and total progress",
	 "ANTT, STP",
	 "ANTT: lower is better; STP: higher is better.",
	 false,
	 (double)NAN},
	{{COT_FIGURE_WATTS}, 1, "Power", "W", "The mean over the whole run.", false, (double)NAN},
};

static bool has_kind(const struct chart *c, enum cot_figure_kind kind)
{
	return kind == c->kinds[0] || (c->n_kinds > 1 && kind == c->kinds[1]);
}

/* The figures of a chart that the table has as well. */
static unsigned choose(const struct page *p, const struct chart *c, unsigned ret_figures[])
{
	unsigned i, n = 0;

	for (i = 0; i < cot_grid_n_figures(p->g) && n < COT_MAX_APPS; i++)
		if (has_kind(c, cot_figure_at(p->g->sc->n_apps, i).kind) &&
		    cot_grid_is_column(p->g, i) && cot_grid_says(p->g, i))
			ret_figures[n++] = i;
	/* The sum of one rate would lie on it. */
	if (n == 2 && cot_figure_at(p->g->sc->n_apps, ret_figures[1]).kind == COT_FIGURE_BATCH_SUM)
		n = 1;
	return n;
}

static void draw(const struct page *p, const struct chart *c)
{
	const struct cot_grid *g = p->g;
	char names[COT_MAX_APPS][COT_FIGURE_NAME_MAX];
	unsigned figures[COT_MAX_APPS], n = choose(p, c, figures), row, s;
	const char *series[COT_MAX_APPS];
	const struct cot_dot_chart chart = {
		.title = c->title,
		.x_label = c->x_label,
		.n_rows = g->n_rows,
		.n_series = n,
		.rows = p->row_names,
		.series = series,
		.values = p->values,
		.halves = p->halves,
		.times = c->times,
		.reference = c->reference,
	};

	if (!n)
		return;
	for (s = 0; s < n; s++)
		series[s] =
			cot_figure_head(cot_figure_at(g->sc->n_apps, figures[s]), g->sc, names[s]);
	for (row = 0; row < g->n_rows; row++)
		for (s = 0; s < n; s++) {
			struct cot_interval v = cot_grid_interval(g, row, figures[s]);

			p->values[row * n + s] = v.mean;
			p->halves[row * n + s] = v.half;
		}
	cot_html_heading(p->out, c->title);
	cot_html_figure_begin(p->out);
	cot_svg_dots(p->out, &chart);
	cot_html_figure_end(p->out, c->caption);
}

/* "timeslice pools switch", "quantum_us=1000". */
static void name_rows(const struct page *p)
{
	unsigned row, i;

	for (row = 0; row < p->g->n_rows; row++) {
		char *name = p->rows[row];
		size_t n = 0;

		for (i = 0; i < p->g->n_keys && n < ROW_NAME_MAX; i++) {
			const char *label = p->g->rows[row].labels[i];
			const char *key = p->g->named ? p->g->keys[i].head : "";

			if (*label)
				n += (size_t)snprintf(name + n, ROW_NAME_MAX - n, "%s%s%s%s",
						      n ? " " : "", key, *key ? "=" : "", label);
		}
		p->row_names[row] = name;
	}
}

static int print_table(const struct cot_grid *g, FILE *out)
{
	struct cot_grid_heads *heads = malloc(sizeof(*heads));
	int rc = heads ? cot_table_html(cot_grid_table(g, heads), out) : -ENOMEM;

	free(heads);
	return rc;
}

static void paragraph(FILE *out, const char *text)
{
	cot_html_paragraph(out, text);
}

static void begin(const struct cot_grid *g, FILE *out)
{
	char title[256], subtitle[256], gpu[COT_ORIGIN_GPU_MAX];

	(void)snprintf(title, sizeof(title), "%s, %u %s%s%s", cot_origin_title(g->origin),
		       g->n_rows, g->named ? "combination" : "way", g->n_rows > 1 ? "s" : "",
		       g->named ? "" : " to share a GPU");
	(void)snprintf(subtitle, sizeof(subtitle), "%u app%s on %s, %u seed%s",
		       (unsigned)g->sc->n_apps, g->sc->n_apps > 1 ? "s" : "",
		       cot_origin_gpu(&g->sc->gpu, gpu), g->n_seeds, g->n_seeds > 1 ? "s" : "");
	cot_html_begin(out, title, subtitle);
}

static int print_page(const struct page *p)
{
	unsigned i;
	int rc;

	name_rows(p);
	begin(p->g, p->out);
	rc = print_table(p->g, p->out);
	if (rc)
		return rc;
	cot_grid_explain(p->g, paragraph, p->out);
	for (i = 0; i < COT_ARRAY_LEN(charts); i++)
		draw(p, &charts[i]);
	rc = cot_origin_print_html(p->g->origin, &p->g->sc->gpu, p->out);
	cot_html_end(p->out);
	return rc;
}

int cot_grid_print_html(const struct cot_grid *g, FILE *out)
{
	size_t n = (size_t)g->n_rows * COT_MAX_APPS;
	struct page p = {
		.g = g,
		.out = out,
		.rows = calloc(g->n_rows, sizeof(*p.rows)),
		.row_names = calloc(g->n_rows, sizeof(*p.row_names)),
		.values = calloc(n, sizeof(*p.values)),
		.halves = calloc(n, sizeof(*p.halves)),
	};
	int rc = -ENOMEM;

	if (p.rows && p.row_names && p.values && p.halves)
		rc = print_page(&p);
	free(p.rows);
	free(p.row_names);
	free(p.values);
	free(p.halves);
	return rc;
}
