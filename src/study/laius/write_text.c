#include <string.h>

#include "report/table.h"
#include "study/laius/laius.h"

/* ---- beside the paper ---- */

static enum cot_laius_way way_of(const struct cot_laius_printed *p)
{
	unsigned way = 0;

	while (way + 1 < COT_LAIUS_WAYS && strcmp(p->way, cot_laius_ways[way]) != 0)
		way++;
	return (enum cot_laius_way)way;
}

static int print_comparison(const struct cot_laius_report *r, FILE *out)
{
	static const struct cot_column columns[] = {
		{"figure", COT_ALIGN_RIGHT}, {"", COT_ALIGN_LEFT},	{"policy", COT_ALIGN_LEFT},
		{"paper", COT_ALIGN_RIGHT},  {"ours", COT_ALIGN_RIGHT}, {"seeds", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	unsigned i;

	for (i = 0; i < r->n_printed; i++) {
		const struct cot_laius_printed *p = &r->printed[i];
		struct cot_laius_mean m = cot_laius_mean(r, 0, way_of(p));
		bool counts = !strcmp(p->metric, "violations");

		cot_table_text(t, p->figure);
		cot_table_text(t, counts ? "pairs that violate" : "batch, % of alone");
		cot_table_text(t, p->way);
		if (counts) {
			cot_table_cell(t, "%.0f of 48", p->value);
			cot_table_cell(t, "%u of %u", m.n_violated, m.n_pairs);
			cot_table_cell(t, "%u to %u", m.violated_least, m.violated_most);
			continue;
		}
		cot_table_cell(t, "%.1f", p->value);
		cot_table_cell(t, "%.1f", 100.0 * m.batch);
		cot_table_cell(t, "%.1f to %.1f", 100.0 * m.batch_least, 100.0 * m.batch_most);
	}
	return cot_table_print(t, out);
}

/* A difference has a sign if it has the same one with every seed. */
static void print_gain(const struct cot_laius_report *r, FILE *out)
{
	unsigned n = cot_laius_settings[0].n_seeds, i;
	double points[COT_LAIUS_SEEDS], least = 1e9, most = -1e9, sum = 0.0;

	cot_laius_gain(r, 0, COT_LAIUS_LAIUS, COT_LAIUS_BAYMAX, points);
	for (i = 0; i < n; i++) {
		least = points[i] < least ? points[i] : least;
		most = points[i] > most ? points[i] : most;
		sum += points[i];
	}
	(void)fprintf(
		out,
		"\nBatch programs under laius-paper against baymax: %+.1f points (seeds %+.1f to "
		"%+.1f; paper +20.8)%s.\n",
		sum / n, least, most,
		least <= 0.0 && most >= 0.0 ? ": within the spread, so neither is ahead" : "");
}

/* ---- ours ---- */

static int print_ways(const struct cot_laius_report *r, unsigned setting, FILE *out)
{
	static const struct cot_column columns[] = {
		{"policy", COT_ALIGN_LEFT},
		{"violate", COT_ALIGN_RIGHT},
		{"worst p99/target", COT_ALIGN_RIGHT},
		{"batch %", COT_ALIGN_RIGHT},
		{"least", COT_ALIGN_RIGHT},
		{"greatest", COT_ALIGN_RIGHT},
		{"violate, each seed", COT_ALIGN_RIGHT}, /* where there are several */
	};
	bool several = cot_laius_settings[setting].n_seeds > 1;
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns) - !several);
	unsigned way;

	(void)fprintf(out, "\n%s\n\n", cot_laius_settings[setting].name);
	for (way = 0; way < COT_LAIUS_WAYS; way++) {
		struct cot_laius_mean m = cot_laius_mean(r, setting, (enum cot_laius_way)way);

		cot_table_text(t, cot_laius_ways[way]);
		cot_table_cell(t, "%u of %u", m.n_violated, m.n_pairs);
		cot_table_cell(t, "%.2f", m.p99_worst);
		cot_table_cell(t, "%.1f", 100.0 * m.batch);
		cot_table_cell(t, "%.1f", 100.0 * m.batch_least);
		cot_table_cell(t, "%.1f", 100.0 * m.batch_most);
		if (several)
			cot_table_cell(t, "%u to %u", m.violated_least, m.violated_most);
	}
	return cot_table_print(t, out);
}

/* ---- pair by pair ---- */

static void put_cell(struct cot_table *t, const struct cot_laius_report *r, unsigned pair,
		     enum cot_laius_way way)
{
	double batch = 0.0, p99 = 0.0;
	unsigned seed;

	for (seed = 0; seed < COT_LAIUS_SEEDS; seed++) {
		const struct cot_laius_outcome *o = &r->results[0].outcomes[seed][pair][way];

		batch += o->batch / COT_LAIUS_SEEDS;
		p99 = o->p99 > p99 ? o->p99 : p99;
	}
	cot_table_cell(t, "%.2f%s %3.0f", p99, cot_laius_is_violated(r, 0, pair, way) ? "!" : " ",
		       100.0 * batch);
}

static int print_pairs(const struct cot_laius_report *r, FILE *out)
{
	struct cot_column columns[2 + COT_LAIUS_WAYS] = {{"service", COT_ALIGN_LEFT},
							 {"batch", COT_ALIGN_LEFT}};
	struct cot_table *t;
	unsigned pair, way;

	for (way = 0; way < COT_LAIUS_WAYS; way++)
		columns[2 + way] = (struct cot_column){cot_laius_ways[way], COT_ALIGN_RIGHT};
	t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	(void)fputs("\nPair by pair: the greatest p99 of the seeds in parts of the target (!: "
		    "violated), and the batch\nprogram's rate in per cent of that alone\n\n",
		    out);
	for (pair = 0; pair < COT_LAIUS_PAIRS; pair++) {
		if (!cot_laius_is_played(r, pair))
			continue;
		cot_table_text(t, cot_laius_services[pair / COT_LAIUS_BATCH]);
		cot_table_text(t, cot_laius_batch[pair % COT_LAIUS_BATCH]);
		for (way = 0; way < COT_LAIUS_WAYS; way++)
			put_cell(t, r, pair, (enum cot_laius_way)way);
	}
	return cot_table_print(t, out);
}

int cot_laius_write_text(FILE *out, const void *data)
{
	const struct cot_laius_report *r = data;
	unsigned setting;
	int rc = print_comparison(r, out);

	if (!rc)
		print_gain(r, out);
	for (setting = 0; setting < r->n_settings && !rc; setting++)
		rc = print_ways(r, setting, out);
	return rc ? rc : print_pairs(r, out);
}
