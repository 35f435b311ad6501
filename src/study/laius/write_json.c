#include <errno.h>
#include <jansson.h>

#include "study/laius/laius.h"

static json_t *outcome(const struct cot_laius_outcome *o)
{
	return json_pack("{s:I, s:I, s:f, s:f}", "responses", (json_int_t)o->n, "missed",
			 (json_int_t)o->n_missed, "p99_of_target", o->p99, "batch_of_alone",
			 o->batch);
}

static json_t *seeds(const struct cot_laius_report *r, unsigned setting, unsigned pair,
		     unsigned way)
{
	json_t *list = json_array();
	unsigned seed;

	for (seed = 0; seed < cot_laius_settings[setting].n_seeds; seed++)
		(void)json_array_append_new(
			list, outcome(&r->results[setting].outcomes[seed][pair][way]));
	return list;
}

static json_t *pair_of(const struct cot_laius_report *r, unsigned setting, unsigned pair)
{
	json_t *ways = json_object();
	unsigned way;

	for (way = 0; way < COT_LAIUS_WAYS; way++)
		(void)json_object_set_new(ways, cot_laius_ways[way], seeds(r, setting, pair, way));
	return json_pack("{s:s, s:s, s:f, s:o}", "service",
			 cot_laius_services[pair / COT_LAIUS_BATCH], "batch",
			 cot_laius_batch[pair % COT_LAIUS_BATCH], "target_us",
			 r->results[setting].target_us[pair / COT_LAIUS_BATCH], "ways", ways);
}

static json_t *setting_of(const struct cot_laius_report *r, unsigned setting)
{
	const struct cot_laius_setting *s = &cot_laius_settings[setting];
	json_t *means = json_object(), *pairs = json_array();
	unsigned pair, way;

	for (way = 0; way < COT_LAIUS_WAYS; way++) {
		struct cot_laius_mean m = cot_laius_mean(r, setting, (enum cot_laius_way)way);

		(void)json_object_set_new(
			means, cot_laius_ways[way],
			json_pack("{s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:f}", "pairs",
				  (int)m.n_pairs, "violated", (int)m.n_violated, "violated_least",
				  (int)m.violated_least, "violated_greatest", (int)m.violated_most,
				  "batch", m.batch, "batch_least", m.batch_least, "batch_greatest",
				  m.batch_most, "p99_worst", m.p99_worst));
	}
	for (pair = 0; pair < COT_LAIUS_PAIRS; pair++)
		if (cot_laius_is_played(r, pair))
			(void)json_array_append_new(pairs, pair_of(r, setting, pair));
	return json_pack("{s:s, s:s, s:f, s:f, s:b, s:o, s:o}", "name", s->name, "gpu", s->gpu,
			 "target", s->target, "load", s->load, "random", (int)s->random, "means",
			 means, "pairs", pairs);
}

static json_t *printed_of(const struct cot_laius_printed *p)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:f, s:s}", "id", p->id, "figure", p->figure,
			 "metric", p->metric, "way", p->way, "value", p->value, "source",
			 p->source);
}

int cot_laius_write_json(FILE *out, const void *data, const struct cot_origin *origin)
{
	const struct cot_laius_report *r = data;
	json_t *printed = json_array(), *settings = json_array(), *root;
	unsigned i;
	int rc;

	for (i = 0; i < r->n_printed; i++)
		(void)json_array_append_new(printed, printed_of(&r->printed[i]));
	for (i = 0; i < r->n_settings; i++)
		(void)json_array_append_new(settings, setting_of(r, i));
	root = json_pack("{s:s, s:I, s:o, s:o}", "schema", "cotenant.reproduce-laius/1", "seed",
			 (json_int_t)r->seed, "printed", printed, "settings", settings);
	root = cot_origin_with(root, origin);
	rc = root ? json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) : -1;
	json_decref(root);
	(void)fputs("\n", out);
	return rc ? -ENOMEM : 0;
}
