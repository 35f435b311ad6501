/*
 * Runs side by side as CSV (RFC 4180, but for lines that end as Unix has them) and as JSON.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/grid.h"
#include "report/json.h"

static void print_run(const struct cot_grid *g, unsigned row, unsigned seed, const bool *says,
		      FILE *out)
{
	const double *values = cot_grid_values(g, row, seed);
	unsigned i;

	for (i = 0; i < g->n_keys; i++)
		cot_csv_cell_print(out, g->rows[row].labels[i], ',');
	(void)fprintf(out, "%" PRIu64 ",", g->first_seed + seed);
	for (i = 0; i < cot_grid_n_figures(g); i++) {
		if (says[i] && !isnan(values[i]))
			(void)fprintf(out, "%.10g", values[i]);
		if (says[i])
			(void)fputc(',', out);
	}
	cot_origin_print_csv(g->origin, &g->rows[row].sc->gpu, out);
}

int cot_grid_print_csv(const struct cot_grid *g, FILE *out)
{
	unsigned n = cot_grid_n_figures(g), i, row, seed;
	bool *says = calloc(n, sizeof(*says));
	char name[COT_FIGURE_NAME_MAX];

	if (!says)
		return -ENOMEM;
	for (i = 0; i < g->n_keys; i++)
		cot_csv_cell_print(out, g->keys[i].name, ',');
	(void)fputs("seed,", out);
	for (i = 0; i < n; i++) {
		says[i] = cot_grid_says(g, i);
		if (says[i])
			cot_csv_cell_print(
				out, cot_figure_name(cot_figure_at(g->sc->n_apps, i), g->sc, name),
				',');
	}
	(void)fputs(COT_ORIGIN_CSV_HEAD "\n", out);
	for (row = 0; row < g->n_rows; row++)
		for (seed = 0; seed < g->n_seeds; seed++)
			print_run(g, row, seed, says, out);
	free(says);
	return 0;
}

/* ---- JSON ---- */

static json_t *number(double x)
{
	return isnan(x) ? json_null() : cot_json_number(x);
}

static json_t *figures(const struct cot_grid *g, unsigned row)
{
	json_t *all = json_object();
	char name[COT_FIGURE_NAME_MAX];
	unsigned i;

	for (i = 0; i < cot_grid_n_figures(g); i++) {
		struct cot_interval v = cot_grid_interval(g, row, i);
		struct cot_figure f = cot_figure_at(g->sc->n_apps, i);

		if (!isnan(v.mean) &&
		    json_object_set_new(all, cot_figure_name(f, g->sc, name),
					json_pack("{s:o, s:o}", "mean", number(v.mean),
						  "half_width", number(v.half)))) {
			json_decref(all);
			return NULL;
		}
	}
	return all;
}

static json_t *label(const char *text)
{
	return *text ? json_string(text) : json_null();
}

static json_t *row_object(const struct cot_grid *g, unsigned row)
{
	json_t *o = json_object();
	unsigned i;
	int rc = 0;

	for (i = 0; i < g->n_keys && !rc; i++)
		rc = json_object_set_new(o, g->keys[i].name, label(g->rows[row].labels[i]));
	if (!rc && !json_object_set_new(o, "figures", figures(g, row)))
		return o;
	json_decref(o);
	return NULL;
}

static json_t *head(const struct cot_grid *g)
{
	json_t *root = json_object(), *rows = json_array();
	unsigned i;
	int rc = json_object_set_new(root, "schema", json_string(g->schema)) ||
		 cot_origin_add_json(root, g->origin, &g->sc->gpu) ||
		 json_object_set_new(root, "seeds",
				     json_pack("{s:I, s:I}", "first", (json_int_t)g->first_seed,
					       "count", (json_int_t)g->n_seeds));

	for (i = 0; i < g->n_rows && !rc; i++)
		rc = json_array_append_new(rows, row_object(g, i));
	if (!rc && !json_object_set(root, "rows", rows)) {
		json_decref(rows);
		return root;
	}
	json_decref(rows);
	json_decref(root);
	return NULL;
}

/* The runs are long and made already: they go in before the closing brace. */
int cot_grid_print_json(const struct cot_grid *g, FILE *out)
{
	json_t *root = head(g);
	char *text = root ? json_dumps(root, COT_JSON_INDENTED) : NULL;
	size_t n_runs = (size_t)g->n_rows * g->n_seeds, i;

	json_decref(root);
	if (!text)
		return -ENOMEM;
	(void)fwrite(text, 1, strlen(text) - strlen("\n}"), out);
	(void)fputs(",\n  \"runs\": [\n", out);
	for (i = 0; i < n_runs; i++)
		(void)fprintf(out, "%s%s", i ? ",\n" : "", g->json[i]);
	(void)fputs("]}\n", out);
	free(text);
	return 0;
}
