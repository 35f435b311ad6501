#include "report/grid.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/table.h"

int cot_grid_open(struct cot_grid *g, bool json)
{
	size_t n_runs = (size_t)g->n_rows * g->n_seeds;

	g->values = calloc(n_runs * cot_grid_n_figures(g), sizeof(*g->values));
	g->json = json ? calloc(n_runs, sizeof(*g->json)) : NULL;
	return g->values && (g->json || !json) ? 0 : -ENOMEM;
}

void cot_grid_finish(struct cot_grid *g)
{
	size_t n_runs = (size_t)g->n_rows * g->n_seeds, i;

	for (i = 0; g->json && i < n_runs; i++)
		free(g->json[i]);
	free(g->json);
	free(g->values);
	free(g->rows);
}

unsigned cot_grid_n_figures(const struct cot_grid *g)
{
	return cot_figures_count(g->sc->n_apps);
}

double *cot_grid_values(const struct cot_grid *g, unsigned row, unsigned seed)
{
	return g->values + ((size_t)row * g->n_seeds + seed) * cot_grid_n_figures(g);
}

struct cot_interval cot_grid_interval(const struct cot_grid *g, unsigned row, unsigned figure)
{
	return cot_interval_of(cot_grid_values(g, row, 0) + figure, g->n_seeds,
			       cot_grid_n_figures(g));
}

bool cot_grid_says(const struct cot_grid *g, unsigned figure)
{
	unsigned row, seed;

	for (row = 0; row < g->n_rows; row++)
		for (seed = 0; seed < g->n_seeds; seed++)
			if (!isnan(cot_grid_values(g, row, seed)[figure]))
				return true;
	return false;
}

/* ---- the table ---- */

/*
 * Where the scenario has a software policy it is about requests and what batch programs keep; else
 * about slowdowns.
 */
static bool is_about(const struct cot_grid *g, struct cot_figure f)
{
	bool policies = g->sc->policy[0] != '\0';
	const struct cot_app *app = &g->sc->apps[f.app];

	switch (f.kind) {
	case COT_FIGURE_SLOWDOWN:
		return !policies || app->cls == COT_CLASS_LATENCY;
	case COT_FIGURE_P50:
	case COT_FIGURE_MISSED:
	case COT_FIGURE_RATE:
	case COT_FIGURE_BATCH_SUM:
	case COT_FIGURE_TARGETS:
		return policies;
	case COT_FIGURE_IPC:
		return !policies && !(app->qos.ipc > 0.0);
	case COT_FIGURE_ANTT:
	case COT_FIGURE_STP:
	case COT_FIGURE_FAIRNESS:
	case COT_FIGURE_PREEMPTION:
		return !policies;
	default:
		return true;
	}
}

bool cot_grid_is_column(const struct cot_grid *g, unsigned i)
{
	struct cot_figure f = cot_figure_at(g->sc->n_apps, i);

	return (f.kind >= COT_FIGURE_APP_KINDS || f.app < COT_GRID_APPS) && is_about(g, f);
}

static void add_row(const struct cot_grid *g, struct cot_table *t, unsigned row)
{
	struct cot_text text;
	unsigned i;

	for (i = 0; i < g->n_keys; i++)
		cot_table_text(t, g->rows[row].labels[i]);
	for (i = 0; i < cot_grid_n_figures(g); i++)
		if (cot_grid_is_column(g, i))
			cot_table_text(t, cot_figure_text(cot_figure_at(g->sc->n_apps, i).kind,
							  cot_grid_interval(g, row, i), &text));
}

struct cot_table *cot_grid_table(const struct cot_grid *g, struct cot_grid_heads *ret_heads)
{
	struct cot_column
		columns[COT_GRID_MAX_KEYS + sizeof(*ret_heads) / sizeof(ret_heads->texts[0])];
	struct cot_table *t;
	unsigned n = 0, i;

	for (i = 0; i < g->n_keys; i++)
		columns[n++] = (struct cot_column){g->keys[i].head, COT_ALIGN_LEFT};
	for (i = 0; i < cot_grid_n_figures(g); i++) {
		struct cot_figure f = cot_figure_at(g->sc->n_apps, i);
		bool word = f.kind == COT_FIGURE_TARGETS || f.kind == COT_FIGURE_GOALS;

		if (cot_grid_is_column(g, i)) {
			columns[n].head =
				cot_figure_head(f, g->sc, ret_heads->texts[n - g->n_keys]);
			columns[n++].align = word ? COT_ALIGN_LEFT : COT_ALIGN_RIGHT;
		}
	}
	t = cot_table_create(columns, n);
	for (i = 0; i < g->n_rows; i++)
		add_row(g, t, i);
	cot_table_drop_empty(t);
	return t;
}

void cot_grid_explain(const struct cot_grid *g, void (*paragraph)(FILE *out, const char *text),
		      FILE *out)
{
	char seeds[256];

	if (g->sc->policy[0])
		paragraph(
			out,
			"Under a latency app: its slowdown, time together over time alone (NTT); "
			"p50 and p99 of the time from a request's arrival to its end, and how many "
			"took longer than its target. A batch app's rate is that part of its rate "
			"alone that it keeps. Columns that no run has are left out.");
	else
		paragraph(out,
			  "Under each app: its slowdown, time together over time alone (NTT). ANTT "
			  "is their mean, STP the total progress, fairness the least progress over "
			  "the most. p99 of a latency app: of the time from its work's arrival to "
			  "its end. Columns that no run has are left out.");
	if (g->n_seeds < 2)
		return;
	(void)snprintf(seeds, sizeof(seeds),
		       "Each figure is the mean of %u runs, with the seeds from %llu on; behind ± "
		       "half of the 95 %% interval of that mean (Student's t, %u degree%s of "
		       "freedom).",
		       g->n_seeds, (unsigned long long)g->first_seed, g->n_seeds - 1,
		       g->n_seeds == 2 ? "" : "s");
	paragraph(out, seeds);
}

/* ---- text ---- */

#define LINE_MAX_WIDTH 100

/* Lines that fit a terminal. */
static void wrap(FILE *out, const char *text)
{
	int at = 0;

	(void)fputc('\n', out);
	while (*text) {
		int n = (int)strcspn(text, " ");

		if (at && at + 1 + n > LINE_MAX_WIDTH) {
			(void)fputc('\n', out);
			at = 0;
		}
		at += fprintf(out, "%s%.*s", at ? " " : "", n, text);
		text += n + (text[n] == ' ');
	}
	(void)fputc('\n', out);
}

int cot_grid_print_text(const struct cot_grid *g, FILE *out)
{
	struct cot_grid_heads *heads = malloc(sizeof(*heads));
	int rc = heads ? cot_table_print(cot_grid_table(g, heads), out) : -ENOMEM;

	free(heads);
	if (!rc)
		cot_grid_explain(g, wrap, out);
	return rc;
}
