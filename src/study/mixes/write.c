#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "report/table.h"
#include "study/mixes/tables.h"

static const char *const faults[] = {"none", "missed", "slow"};

/* ---- text ---- */

int cot_mixes_write_text(FILE *out, const void *data)
{
	const struct cot_mixes *all = data;
	int rc;

	if (all->n == 1) {
		(void)fprintf(out, "%s\n%s\n", all->text, all->notes);
		return cot_table_print(cot_mixes_table_single(all), out);
	}
	(void)fprintf(out, "%u random scenarios, seeds %" PRIu64 " to %" PRIu64 "; policy %s\n\n",
		      all->n, all->results[0].seed, all->results[all->n - 1].seed,
		      all->policy ? all->policy : "slo");
	rc = cot_table_print(cot_mixes_table_ways(all), out);
	(void)fputs("\n", out);
	if (!rc)
		rc = cot_table_print(cot_mixes_table_reasons(all), out);
	if (rc)
		return rc;
	(void)fputs("\n" COT_MIXES_EXPLAINED "\n\n", out);
	return cot_table_print(cot_mixes_table_failures(all), out);
}

/* ---- CSV ---- */

static void print_line(FILE *out, const struct cot_mix_result *r, unsigned way,
		       const struct cot_origin *origin)
{
	const struct cot_mix_outcome *o = &r->outcomes[way];
	int best = cot_mix_best(r, way);

	(void)fprintf(out, "%" PRIu64 ",%s,%s,%.6g,%.6g,%.6g,%s,", r->seed, cot_mixes_ways[way],
		      o->kept ? "yes" : "no", o->use, o->batch_sum, o->batch_least,
		      best < 0 ? "" : cot_mixes_ways[best]);
	if (way >= COT_MIXES_FIXED)
		(void)fprintf(out, "%s,%s,", faults[cot_mix_judge(r, way)],
			      cot_mix_reasons[cot_mix_reason(r, way)]);
	else
		(void)fputs(",,", out);
	cot_origin_print_csv(origin, NULL, out);
}

int cot_mixes_write_csv(FILE *out, const void *data, const struct cot_origin *origin)
{
	const struct cot_mixes *all = data;
	unsigned i, way;

	(void)fputs(
		"seed,run,kept,p99_of_target,batch_sum,batch_least,best,fault,why," COT_ORIGIN_CSV_HEAD
		"\n",
		out);
	for (i = 0; i < all->n; i++)
		for (way = 0; way < COT_MIXES_WAYS; way++)
			print_line(out, &all->results[i], way, origin);
	return 0;
}

/* ---- JSON ---- */

static json_t *outcome(const struct cot_mix_outcome *o)
{
	return json_pack("{s:b, s:f, s:f, s:f}", "kept", (int)o->kept, "p99_of_target", o->use,
			 "batch_sum", o->batch_sum, "batch_least", o->batch_least);
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

int cot_mixes_write_json(FILE *out, const void *data, const struct cot_origin *origin)
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
		rc = cot_origin_add_json(root, origin, NULL);
	if (!rc)
		rc = json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	json_decref(root);
	(void)fputs("\n", out);
	return rc ? -ENOMEM : 0;
}
