/* The report for machines; schema "cotenant.reproduce-smqos/1". */
#include <errno.h>
#include <string.h>

#include "report/json.h"
#include "study/smqos/smqos.h"

static json_t *pairs(const struct cot_smq_report *r)
{
	json_t *list = json_array();
	unsigned i;

	for (i = 0; list && i < r->n_printed; i++) {
		const struct cot_smq_pair_of_values *v = &r->pairs[i];
		const struct cot_smq_printed *p = v->printed;

		(void)json_array_append_new(
			list,
			json_pack(
				"{s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:o, "
				"s:i, s:b}",
				"id", p->id, "figure", p->figure, "metric", p->metric, "against",
				p->against, "group", p->group, "target", (int)p->target, "source",
				p->source, "printed", cot_json_rounded(p->value), "measured",
				v->measured ? cot_json_rounded(v->value) : json_null(), "deviation",
				v->measured ? cot_json_rounded(v->deviation) : json_null(), "least",
				v->measured ? cot_json_rounded(v->least) : json_null(), "greatest",
				v->measured ? cot_json_rounded(v->greatest) : json_null(), "sign",
				v->sign, "agrees", (int)v->agrees));
	}
	return list;
}

static json_t *benchmarks(const struct cot_smq_report *r)
{
	json_t *list = json_array();
	unsigned i, n;

	for (i = 0; list && i < COT_SMQ_BENCHMARKS; i++) {
		json_t *curve = json_array();

		for (n = 1; curve && n <= r->main->settings.n_sms; n++)
			(void)json_array_append_new(curve, cot_json_rounded(r->curve[i][n]));
		(void)json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:o, s:o, s:o}", "name", cot_smq_benchmarks[i],
				  "class", r->is_mi[i] ? "MI" : "CI", "isolated_ipc",
				  cot_json_rounded(r->main->isolated_ipc[i]), "isolated_power_w",
				  cot_json_rounded(r->main->isolated_watts[i]), "ipc_by_sms",
				  curve));
	}
	return list;
}

static json_t *cases(const struct cot_smq_report *r)
{
	json_t *list = json_array();
	unsigned mix, t, s, ls, batch;

	for (mix = 0; list && mix < COT_SMQ_MIXES; mix++)
		for (t = 0; t < COT_SMQ_TARGETS; t++)
			for (s = 0; s < COT_SMQ_SYSTEMS; s++) {
				const struct cot_smq_outcome *o =
					&r->main->outcomes[s][cot_smq_case(mix, t)];

				if (!o->run)
					continue;
				cot_smq_mix(mix, &ls, &batch);
				(void)json_array_append_new(
					list,
					json_pack(
						"{s:s, s:s, s:s, s:i, s:s, s:o, s:o, s:o, s:o, s:b}",
						"goal", cot_smq_benchmarks[ls], "batch",
						cot_smq_benchmarks[batch], "group",
						cot_smq_pair_names[cot_smq_pair_of(r, mix)],
						"target", (int)cot_smq_targets[t], "system",
						cot_smq_system_names[s], "ipc_of_goal",
						cot_json_rounded(o->of_goal), "throughput",
						cot_json_rounded(o->throughput), "power_w",
						cot_json_rounded(o->watts), "sms_without_power",
						cot_json_rounded(o->gated), "reached",
						(int)(o->of_goal >= 1.0)));
			}
	return list;
}

static json_t *means(const struct cot_smq_report *r, const struct cot_smq_run *run)
{
	json_t *list = json_array();
	unsigned pair, t, s;

	for (pair = 0; list && pair <= COT_SMQ_PAIRS; pair++)
		for (t = 0; t <= COT_SMQ_TARGETS; t++)
			for (s = 0; s < COT_SMQ_SYSTEMS; s++) {
				struct cot_smq_mean m =
					cot_smq_mean_of(r, run, (enum cot_smq_system)s, pair, t);

				if (!m.n)
					continue;
				(void)json_array_append_new(
					list,
					json_pack(
						"{s:s, s:i, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o}",
						"group",
						pair < COT_SMQ_PAIRS ? cot_smq_pair_names[pair]
								     : "all",
						"target",
						t < COT_SMQ_TARGETS ? (int)cot_smq_targets[t] : 0,
						"system", cot_smq_system_names[s], "cases",
						(int)m.n, "reach_pct",
						cot_json_rounded(m.reach_pct), "throughput",
						cot_json_rounded(m.throughput), "power_w",
						cot_json_rounded(m.watts), "within_1_pct",
						cot_json_rounded(m.near_pct), "moves_per_epoch",
						cot_json_rounded(m.moves), "sms_without_power",
						cot_json_rounded(m.gated)));
			}
	return list;
}

static json_t *senses(const struct cot_smq_report *r, bool ablation)
{
	json_t *list = json_array();
	unsigned i;

	for (i = 0; list && i < r->n_senses; i++)
		if (r->senses[i].ablation == ablation)
			(void)json_array_append_new(list, json_pack("{s:s, s:o}", "settings",
								    r->senses[i].what, "means",
								    means(r, r->senses[i].run)));
	return list;
}

static json_t *series(const struct cot_epochs *e, unsigned app, bool sms)
{
	json_t *list = json_array();
	uint32_t i;

	for (i = 0; list && i < cot_epochs_count(e); i++)
		(void)json_array_append_new(list,
					    cot_json_rounded(sms ? cot_epochs_row(e, i)->sms[app]
								 : cot_epochs_ipc(e, i, app)));
	return list;
}

static json_t *timeline(const struct cot_smq_report *r)
{
	const struct cot_smq_timeline *t = &r->timeline;
	json_t *systems = json_array();
	unsigned s;

	for (s = 0; systems && s < COT_SMQ_SYSTEMS; s++)
		(void)json_array_append_new(systems,
					    json_pack("{s:s, s:o, s:o, s:o, s:o}", "system",
						      cot_smq_system_names[s], "goal_ipc",
						      series(t->epochs[s], 0, false), "goal_sms",
						      series(t->epochs[s], 0, true), "batch_ipc",
						      series(t->epochs[s], 1, false), "batch_sms",
						      series(t->epochs[s], 1, true)));
	return json_pack("{s:s, s:s, s:i, s:o, s:o}", "goal", cot_smq_benchmarks[t->ls], "batch",
			 cot_smq_benchmarks[t->batch], "target", (int)cot_smq_targets[t->target],
			 "promised_ipc", cot_json_rounded(t->scenarios[0]->apps[0].qos.ipc),
			 "systems", systems);
}

int cot_smq_write_json(FILE *out, const void *data, const struct cot_origin *origin)
{
	const struct cot_smq_report *r = data;
	const struct cot_smq_settings *s = &r->main->settings;
	json_t *root = json_pack(
		"{s:s, s:I, s:i, s:b, s:{s:i, s:i, s:o, s:o}, s:o, s:o, s:o, s:o, s:o, s:o}",
		"schema", "cotenant.reproduce-smqos/1", "seed", (json_int_t)r->seed, "seeds",
		(int)r->n_seeds, "quick", (int)r->quick, "settings", "sms", (int)s->n_sms,
		"epoch_cycles", (int)s->epoch_cycles, "threshold", cot_json_rounded(s->threshold),
		"noise", cot_json_rounded(s->noise), "comparison", pairs(r), "benchmarks",
		benchmarks(r), "means", means(r, r->main), "sensitivity", senses(r, false),
		"ablation", senses(r, true), "cases", cases(r));

	if (r->has_timeline && json_object_set_new(root, "timeline", timeline(r))) {
		json_decref(root);
		return -ENOMEM;
	}
	return cot_json_write(cot_origin_with(root, origin),
			      JSON_INDENT(1) | JSON_REAL_PRECISION(10), out);
}
