#include <inttypes.h>

#include "report/table.h"
#include "study/mixes/tables.h"

unsigned cot_mixes_n_possible(const struct cot_mixes *all, unsigned way)
{
	unsigned i, n = 0;

	for (i = 0; i < all->n; i++)
		n += cot_mix_best(&all->results[i], way) >= 0;
	return n;
}

static void add(struct cot_mixes_tally *t, const struct cot_mix_result *r, unsigned way)
{
	const struct cot_mix_outcome *o = &r->outcomes[way], *fixed = cot_mix_fixed(r, way);
	int best = cot_mix_best(r, way);

	t->n_kept += o->kept;
	t->n[cot_mix_reason(r, way)]++;
	t->n_slow += cot_mix_judge(r, way) == COT_MIX_SLOW;
	if (best < 0 || !o->kept)
		return;
	t->n_kept_of_possible++;
	t->sum += o->batch_sum;
	t->ratio += fixed[best].batch_sum > 0.0 ? o->batch_sum / fixed[best].batch_sum : 1.0;
}

struct cot_mixes_tally cot_mixes_count(const struct cot_mixes *all, unsigned way)
{
	struct cot_mixes_tally t = {0};
	unsigned i;

	for (i = 0; i < all->n; i++)
		add(&t, &all->results[i], way);
	return t;
}

struct cot_table *cot_mixes_table_ways(const struct cot_mixes *all)
{
	static const struct cot_column columns[] = {
		{"", COT_ALIGN_LEFT},
		{"targets kept", COT_ALIGN_RIGHT},
		{"where one can", COT_ALIGN_RIGHT},
		{"batch sum", COT_ALIGN_RIGHT},
		{"of the best", COT_ALIGN_RIGHT},
		{"below 0.95", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	unsigned way;

	for (way = 0; way < COT_MIXES_WAYS; way++) {
		struct cot_mixes_tally n = cot_mixes_count(all, way);
		double kept = cot_mixes_n_counted(&n);

		cot_table_text(t, cot_mixes_ways[way]);
		cot_table_cell(t, "%u", n.n_kept);
		cot_table_cell(t, "%u of %u", n.n_kept_of_possible, cot_mixes_n_possible(all, way));
		cot_table_cell(t, "%.3f", n.sum / kept);
		cot_table_cell(t, "%.3f", n.ratio / kept);
		cot_table_cell(t, "%u", n.n_slow);
	}
	return t;
}

struct cot_table *cot_mixes_table_reasons(const struct cot_mixes *all)
{
	static const struct cot_column columns[] = {
		{"", COT_ALIGN_LEFT},
		{"missed: nearly kept", COT_ALIGN_RIGHT},
		{"over", COT_ALIGN_RIGHT},
		{"other topology only", COT_ALIGN_RIGHT},
		{"slow: shares more evenly", COT_ALIGN_RIGHT},
		{"in its topology", COT_ALIGN_RIGHT},
		{"other topology has more", COT_ALIGN_RIGHT},
	};
	static const enum cot_mix_reason reasons[] = {COT_MIX_NEAR,	   COT_MIX_OVER,
						      COT_MIX_OTHER_KEEPS, COT_MIX_EVENER,
						      COT_MIX_LESS,	   COT_MIX_OTHER_IS_MORE};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	unsigned way, i;

	for (way = COT_MIXES_FIRST; way < COT_MIXES_WAYS; way++) {
		struct cot_mixes_tally n = cot_mixes_count(all, way);

		cot_table_text(t, cot_mixes_ways[way]);
		for (i = 0; i < COT_ARRAY_LEN(reasons); i++)
			cot_table_cell(t, "%u", n.n[reasons[i]]);
	}
	return t;
}

static void add_failure(struct cot_table *t, const struct cot_mix_result *r, unsigned way)
{
	const struct cot_mix_outcome *fixed = cot_mix_fixed(r, way);
	enum cot_mix_fault fault = cot_mix_judge(r, way);
	int best = cot_mix_best(r, way);

	if (fault == COT_MIX_FINE)
		return;
	cot_table_cell(t, "%" PRIu64, r->seed);
	cot_table_text(t, cot_mixes_ways[way]);
	cot_table_text(t, fault == COT_MIX_MISSED ? "missed" : "slow");
	cot_table_text(t, cot_mix_reasons[cot_mix_reason(r, way)]);
	cot_table_cell(t, "%.3f", r->outcomes[way].use);
	cot_table_cell(t, "%.3f", r->outcomes[way].batch_sum);
	cot_table_text(t, cot_mixes_ways[best]);
	cot_table_cell(t, "%.3f", fixed[best].use);
	cot_table_cell(t, "%.3f", fixed[best].batch_sum);
}

struct cot_table *cot_mixes_table_failures(const struct cot_mixes *all)
{
	static const struct cot_column columns[] = {
		{"seed", COT_ALIGN_RIGHT},	   {"run", COT_ALIGN_LEFT},
		{"what", COT_ALIGN_LEFT},	   {"why", COT_ALIGN_LEFT},
		{"p99 / target", COT_ALIGN_RIGHT}, {"batch sum", COT_ALIGN_RIGHT},
		{"best", COT_ALIGN_LEFT},	   {"its p99 / target", COT_ALIGN_RIGHT},
		{"its sum", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	unsigned i, way;

	for (i = 0; i < all->n; i++)
		for (way = COT_MIXES_FIRST; way < COT_MIXES_WAYS; way++)
			add_failure(t, &all->results[i], way);
	return t;
}

struct cot_table *cot_mixes_table_single(const struct cot_mixes *all)
{
	static const struct cot_column columns[] = {
		{"", COT_ALIGN_LEFT},
		{"targets", COT_ALIGN_LEFT},
		{"p99 / target", COT_ALIGN_RIGHT},
		{"batch sum", COT_ALIGN_RIGHT},
		{"least", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	unsigned way;

	for (way = 0; way < COT_MIXES_WAYS; way++) {
		const struct cot_mix_outcome *o = &all->results[0].outcomes[way];

		cot_table_text(t, cot_mixes_ways[way]);
		cot_table_text(t, o->kept ? "kept" : "missed");
		cot_table_cell(t, "%.3f", o->use);
		cot_table_cell(t, "%.3f", o->batch_sum);
		cot_table_cell(t, "%.3f", o->batch_least);
	}
	return t;
}
