#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "report/html.h"
#include "report/svg.h"
#include "study/mixes/tables.h"

/* A mark for each way of sharing. */
static void draw(FILE *out, const char *title, const char *x, const char *caption,
		 const double values[COT_MIXES_WAYS], double reference)
{
	double none[COT_MIXES_WAYS];
	const struct cot_dot_chart chart = {
		.title = title,
		.x_label = x,
		.n_rows = COT_MIXES_WAYS,
		.n_series = 1,
		.rows = cot_mixes_ways,
		.series = &title,
		.values = values,
		.halves = none,
		.times = false,
		.reference = reference,
	};
	unsigned way;

	for (way = 0; way < COT_MIXES_WAYS; way++)
		none[way] = (double)NAN;
	cot_html_heading(out, title);
	cot_html_figure_begin(out);
	cot_svg_dots(out, &chart);
	cot_html_figure_end(out, caption);
}

static void draw_many(FILE *out, const struct cot_mixes *all)
{
	double kept[COT_MIXES_WAYS], rates[COT_MIXES_WAYS];
	unsigned way;

	for (way = 0; way < COT_MIXES_WAYS; way++) {
		struct cot_mixes_tally t = cot_mixes_count(all, way);
		unsigned possible = cot_mixes_n_possible(all, way);

		kept[way] = possible ? (double)t.n_kept_of_possible / possible : (double)NAN;
		rates[way] = t.n_kept_of_possible ? t.ratio / cot_mixes_n_counted(&t) : (double)NAN;
	}
	draw(out, "Targets kept", "part of the scenarios in which a fixed arrangement keeps them",
	     "Right is better.", kept, (double)NAN);
	draw(out, "What batch programs have",
	     "of what the best fixed arrangement leaves them, where the targets are kept",
	     "Right is better; the dashed line is the best fixed arrangement of each scenario.",
	     rates, 1.0);
}

static void draw_single(FILE *out, const struct cot_mixes *all)
{
	double use[COT_MIXES_WAYS], rates[COT_MIXES_WAYS];
	unsigned way;

	for (way = 0; way < COT_MIXES_WAYS; way++) {
		use[way] = all->results[0].outcomes[way].use;
		rates[way] = all->results[0].outcomes[way].batch_sum;
	}
	draw(out, "Responses, 99th percentile", "p99 over the target, of the worst program",
	     "Left of the dashed line all targets are kept.", use, 1.0);
	draw(out, "What batch programs have", "rates in parts of those alone, summed",
	     "Right is better.", rates, (double)NAN);
	cot_html_heading(out, "The scenario");
	cot_html_listing(out, all->text);
	cot_html_heading(out, "What the policy says at the end");
	cot_html_listing(out, all->notes);
}

static int table(FILE *out, const char *heading, struct cot_table *t)
{
	cot_html_heading(out, heading);
	return cot_table_html(t, out);
}

static int many(FILE *out, const struct cot_mixes *all)
{
	int rc = cot_table_html(cot_mixes_table_ways(all), out);

	if (rc)
		return rc;
	cot_html_paragraph(out, COT_MIXES_EXPLAINED);
	draw_many(out, all);
	rc = table(out, "What went wrong, by kind", cot_mixes_table_reasons(all));
	return rc ? rc : table(out, "What went wrong, one by one", cot_mixes_table_failures(all));
}

int cot_mixes_write_html(FILE *out, const void *data, const struct cot_origin *origin)
{
	const struct cot_mixes *all = data;
	const char *policy = all->policy ? all->policy : "slo";
	char title[96], subtitle[96];
	int rc;

	(void)snprintf(title, sizeof(title), "%s beside every fixed arrangement", policy);
	if (all->n == 1)
		(void)snprintf(subtitle, sizeof(subtitle), "The random scenario of seed %" PRIu64,
			       all->results[0].seed);
	else
		(void)snprintf(subtitle, sizeof(subtitle),
			       "%u random scenarios, seeds %" PRIu64 " to %" PRIu64, all->n,
			       all->results[0].seed, all->results[all->n - 1].seed);
	cot_html_begin(out, title, subtitle);
	if (all->n == 1) {
		rc = cot_table_html(cot_mixes_table_single(all), out);
		draw_single(out, all);
	} else {
		rc = many(out, all);
	}
	rc = rc ? rc : cot_origin_print_html(origin, NULL, out);
	cot_html_end(out);
	return rc;
}
