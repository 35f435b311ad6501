#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "report/format.h"
#include "report/table.h"
#include "study/mixes/mixes.h"

/* Of all scenarios, or of those in which a fixed arrangement keeps the targets. */
struct tally {
	unsigned n_kept, n_kept_of_possible;
	double sum;   /* of the batch programs, where it keeps the targets */
	double ratio; /* to the best fixed one, where both keep them */
	unsigned n_slow, n[COT_MIX_N_REASONS];
};

static unsigned n_possible(const struct cot_mixes *all, unsigned way)
{
	unsigned i, n = 0;

	for (i = 0; i < all->n; i++)
		n += cot_mix_best(&all->results[i], way) >= 0;
	return n;
}

static void add(struct tally *t, const struct cot_mix_result *r, unsigned way)
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

static struct tally count(const struct cot_mixes *all, unsigned way)
{
	struct tally t = {0};
	unsigned i;

	for (i = 0; i < all->n; i++)
		add(&t, &all->results[i], way);
	return t;
}

/* ---- text ---- */

static int print_ways(const struct cot_mixes *all, FILE *out)
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
		struct tally n = count(all, way);
		double kept = n.n_kept_of_possible ? n.n_kept_of_possible : 1;

		cot_table_text(t, cot_mixes_ways[way]);
		cot_table_cell(t, "%u", n.n_kept);
		cot_table_cell(t, "%u of %u", n.n_kept_of_possible, n_possible(all, way));
		cot_table_cell(t, "%.3f", n.sum / kept);
		cot_table_cell(t, "%.3f", n.ratio / kept);
		cot_table_cell(t, "%u", n.n_slow);
	}
	return cot_table_print(t, out);
}

/* How many faults of each class the policy's runs have. */
static int print_reasons(const struct cot_mixes *all, FILE *out)
{
	static const struct cot_column columns[] = {
		{"", COT_ALIGN_LEFT},
		{"missed: nearly kept", COT_ALIGN_RIGHT},
		{"over", COT_ALIGN_RIGHT},
		{"other topology only", COT_ALIGN_RIGHT},
		{"slow: in its topology", COT_ALIGN_RIGHT},
		{"other topology has more", COT_ALIGN_RIGHT},
	};
	static const enum cot_mix_reason reasons[] = {COT_MIX_NEAR, COT_MIX_OVER,
						      COT_MIX_OTHER_KEEPS, COT_MIX_LESS,
						      COT_MIX_OTHER_IS_MORE};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	unsigned way, i;

	for (way = COT_MIXES_FIRST; way < COT_MIXES_WAYS; way++) {
		struct tally n = count(all, way);

		cot_table_text(t, cot_mixes_ways[way]);
		for (i = 0; i < COT_ARRAY_LEN(reasons); i++)
			cot_table_cell(t, "%u", n.n[reasons[i]]);
	}
	return cot_table_print(t, out);
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

static int print_failures(const struct cot_mixes *all, FILE *out)
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
	return cot_table_print(t, out);
}

static int print_single(const struct cot_mixes *all, FILE *out)
{
	static const struct cot_column columns[] = {
		{"", COT_ALIGN_LEFT},
		{"targets", COT_ALIGN_LEFT},
		{"p99 / target", COT_ALIGN_RIGHT},
		{"batch sum", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	unsigned way;

	(void)fprintf(out, "%s\n%s\n", all->text, all->notes);
	for (way = 0; way < COT_MIXES_WAYS; way++) {
		const struct cot_mix_outcome *o = &all->results[0].outcomes[way];

		cot_table_text(t, cot_mixes_ways[way]);
		cot_table_text(t, o->kept ? "kept" : "missed");
		cot_table_cell(t, "%.3f", o->use);
		cot_table_cell(t, "%.3f", o->batch_sum);
	}
	return cot_table_print(t, out);
}

int cot_mixes_write_text(FILE *out, const void *data)
{
	const struct cot_mixes *all = data;
	int rc;

	if (all->n == 1)
		return print_single(all, out);
	(void)fprintf(out, "%u random scenarios, seeds %" PRIu64 " to %" PRIu64 "; policy %s\n\n",
		      all->n, all->results[0].seed, all->results[all->n - 1].seed,
		      all->policy ? all->policy : "slo");
	rc = print_ways(all, out);
	(void)fputs("\n", out);
	if (!rc)
		rc = print_reasons(all, out);
	if (rc)
		return rc;
	(void)fputs(
		"\nWhere one can: some fixed arrangement keeps all targets in the same seconds. "
		"Batch sum: rates\nof the batch programs, in parts of those alone, where the targets "
		"are kept; of the best: over\nthat of the best fixed arrangement that keeps them. "
		"Nearly kept: missed by 0.05 or less. Other\ntopology: of pools (pools, rotate, "
		"timeslice) and parts the one in which slo did not run.\n\n",
		out);
	return print_failures(all, out);
}

/* ---- JSON ---- */

static json_t *outcome(const struct cot_mix_outcome *o)
{
	return json_pack("{s:b, s:f, s:f}", "kept", (int)o->kept, "p99_of_target", o->use,
			 "batch_sum", o->batch_sum);
}

static json_t *ways(const struct cot_mix_outcome *outcomes, unsigned n)
{
	json_t *ways = json_object();
	unsigned way;

	for (way = 0; way < n; way++)
		if (json_object_set_new(ways, cot_mixes_ways[way], outcome(&outcomes[way]))) {
			json_decref(ways);
			return NULL;
		}
	return ways;
}

static const char *best_name(const struct cot_mix_result *r, unsigned way)
{
	int best = cot_mix_best(r, way);

	return best < 0 ? NULL : cot_mixes_ways[best];
}

static json_t *scenario(const struct cot_mix_result *r)
{
	static const char *const faults[] = {"none", "missed", "slow"};

	return json_pack("{s:I, s:s?, s:s?, s:s, s:s, s:s, s:s, s:o, s:o}", "seed",
			 (json_int_t)r->seed, "best", best_name(r, COT_MIXES_AGAIN),
			 "best_for_first_run", best_name(r, COT_MIXES_FIRST), "first_run_fault",
			 faults[cot_mix_judge(r, COT_MIXES_FIRST)], "first_run_why",
			 cot_mix_reasons[cot_mix_reason(r, COT_MIXES_FIRST)], "next_run_fault",
			 faults[cot_mix_judge(r, COT_MIXES_AGAIN)], "next_run_why",
			 cot_mix_reasons[cot_mix_reason(r, COT_MIXES_AGAIN)], "ways",
			 ways(r->outcomes, COT_MIXES_WAYS), "later",
			 ways(r->later, COT_MIXES_FIXED));
}

int cot_mixes_write_json(FILE *out, const void *data)
{
	const struct cot_mixes *all = data;
	json_t *root = json_object(), *list = json_array();
	int rc = json_object_set_new(root, "scenarios", list);
	unsigned i;

	for (i = 0; i < all->n && !rc; i++)
		rc = json_array_append_new(list, scenario(&all->results[i]));
	if (!rc)
		rc = json_object_set_new(root, "schema", json_string("cotenant.compare-random/1"));
	if (!rc && all->text)
		rc = json_object_set_new(root, "text", json_string(all->text));
	if (!rc)
		rc = json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	json_decref(root);
	(void)fputs("\n", out);
	return rc ? -ENOMEM : 0;
}
