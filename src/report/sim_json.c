#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/words.h"
#include "report/sim_summary.h"
#include "trace/policy_name.h"

/*
 * 15 significant digits: whole picoseconds up to 10^9 us, and every double that came from such a
 * decimal prints as that decimal again.
 */
#define DUMP_FLAGS (JSON_INDENT(2) | JSON_REAL_PRECISION(15))

static json_t *real_or_null(bool known, double value)
{
	return known ? json_real(value) : json_null();
}

/* 0 or -1. */
static int add_responses(json_t *app, const struct cot_sim_summary *s, uint32_t i)
{
	bool arrivals = s->sc->apps[i].arrivals.per_s > 0.0;
	const struct cot_response_summary *r = &s->responses[i];
	const char *class_name = cot_class_words[s->sc->apps[i].cls];
	json_t *times = json_null();

	if (r->n)
		times = json_pack("{s:f, s:f, s:f, s:f}", "p50", r->p50_us, "p95", r->p95_us, "p99",
				  r->p99_us, "max", r->max_us);
	if (json_object_set_new(app, "class", json_string(class_name)) ||
	    json_object_set_new(app, "responses", json_integer((json_int_t)r->n))) {
		json_decref(times);
		return -1;
	}
	if (json_object_set_new(app, "response_us", times))
		return -1;
	return arrivals ? json_object_set_new(app, "service_p99_us",
					      real_or_null(r->n, r->service_p99_us))
			: 0;
}

/* 0 or -1. Nothing for an app without a target in time. */
static int add_target(json_t *app, const struct cot_sim_summary *s, uint32_t i)
{
	const struct cot_response_summary *r = &s->responses[i];
	const struct cot_target *t = &s->sc->apps[i].target;

	if (!r->has_limit)
		return 0;
	if (json_object_set_new(app, "target_p99_us",
				t->kind == COT_TARGET_P99 ? json_integer(t->amount)
							  : json_real(r->limit_us)))
		return -1;
	return json_object_set_new(app, "missed", json_integer((json_int_t)r->n_missed));
}

/* 0 or -1. Nothing for an app without a target that could be checked. */
static int add_kept(json_t *app, const struct cot_sim_summary *s, uint32_t i)
{
	int kept = cot_sim_keeps_target(s, i);

	return kept < 0 ? 0 : json_object_set_new(app, "kept", json_boolean(kept));
}

static json_t *spread_us(double p50_ps, double p99_ps, uint64_t max_ps)
{
	return json_pack("{s:f, s:f, s:f}", "p50", p50_ps / (double)COT_PS_PER_US, "p99",
			 p99_ps / (double)COT_PS_PER_US, "max", cot_us_from_ps(max_ps));
}

static json_t *share(struct cot_share s)
{
	char word[COT_SHARE_WORD_MAX];

	return s.sms || s.pct ? json_string(cot_share_word(s, word)) : json_null();
}

/* 0 or -1. */
static int add_works(json_t *app, const struct cot_sim_summary *s, uint32_t i)
{
	const struct cot_sim_host_works *w = &s->works[i];

	if (!w->rewritten)
		return json_object_set_new(app, "work", json_null());
	return json_object_set_new(
		app, "work",
		json_pack("{s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:o}", "quota",
			  share(s->sc->apps[i].quota), "reserve", share(s->sc->apps[i].reserve),
			  "works", (json_int_t)w->n_works, "resumes", (json_int_t)w->n_returns,
			  "evictions", (json_int_t)w->n_evictions, "evicted_sms",
			  (json_int_t)w->n_evicted_sms, "wait_us",
			  spread_us(w->wait_p50_ps, w->wait_p99_ps, w->wait_max_ps), "eviction_us",
			  spread_us(w->eviction_p50_ps, w->eviction_p99_ps, w->eviction_max_ps)));
}

/* 0 or -1. */
static int add_part(json_t *app, const struct cot_sim_summary *s, uint32_t i)
{
	struct cot_parts_app p = cot_parts_app(s->parts, i);

	return json_object_set_new(
		app, "part",
		json_pack("{s:o, s:I, s:I, s:I, s:I, s:f}", "asked_for", share(s->sc->apps[i].sms),
			  "first", (json_int_t)p.begin, "sms", (json_int_t)(p.end - p.begin),
			  "gpu_sms", (json_int_t)s->sc->gpu.n_sms, "changes",
			  (json_int_t)p.n_changes, "mean_sms", p.mean_sms));
}

static json_t *make_apps(const struct cot_sim_summary *s)
{
	json_t *list = json_array();
	uint32_t i;

	for (i = 0; i < s->sc->n_apps; i++) {
		const struct cot_app_summary *a = &s->apps[i];
		json_t *app = json_object();

		/* jansson's setters take NULL for "could not be made" and say so. */
		if (json_object_set_new(app, "name", json_string(s->sc->apps[i].name)) ||
		    json_object_set_new(app, "runs",
					json_integer((json_int_t)s->result.apps[i].runs)) ||
		    json_object_set_new(app, "turnaround_us",
					real_or_null(a->finished_runs, a->turnaround_us)) ||
		    json_object_set_new(app, "isolated_us",
					real_or_null(a->has_isolated, a->isolated_us)) ||
		    json_object_set_new(app, "ntt", real_or_null(a->has_ntt, a->ntt)) ||
		    (s->has_responses && add_responses(app, s, i)) ||
		    (s->has_responses &&
		     json_object_set_new(app, "rate", real_or_null(a->has_rate, a->rate))) ||
		    (s->has_targets && add_target(app, s, i)) || add_kept(app, s, i) ||
		    (s->parts && add_part(app, s, i)) || (s->has_works && add_works(app, s, i)) ||
		    json_array_append(list, app)) {
			json_decref(app);
			json_decref(list);
			return NULL;
		}
		json_decref(app);
	}
	return list;
}

/* ---- what was counted ---- */

/* One number for each epoch, as a list. */
static json_t *series(const struct cot_sim_summary *s, uint32_t app,
		      double (*value)(const struct cot_epochs *e, uint32_t row, uint32_t app))
{
	json_t *list = json_array();
	uint32_t i;

	for (i = 0; i < cot_epochs_count(s->epochs); i++)
		if (json_array_append_new(list, json_real(value(s->epochs, i, app)))) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static double row_end(const struct cot_epochs *e, uint32_t row, uint32_t app)
{
	(void)app;
	return cot_epochs_row(e, row)->end_us;
}

static double row_sms(const struct cot_epochs *e, uint32_t row, uint32_t app)
{
	return cot_epochs_row(e, row)->sms[app];
}

static double row_gated(const struct cot_epochs *e, uint32_t row, uint32_t app)
{
	(void)app;
	return cot_epochs_row(e, row)->gated;
}

static double row_watts(const struct cot_epochs *e, uint32_t row, uint32_t app)
{
	(void)app;
	return cot_epochs_watts(e, row);
}

static double row_dram(const struct cot_epochs *e, uint32_t row, uint32_t app)
{
	(void)app;
	return cot_epochs_dram_bps(e, row) / 1e9;
}

static json_t *make_counted_app(const struct cot_sim_summary *s, uint32_t i)
{
	const struct cot_app *app = &s->sc->apps[i];
	json_t *o = json_object();

	if (json_object_set_new(o, "name", json_string(app->name)) ||
	    json_object_set_new(o, "insts", json_real(s->result.counts.insts[i])) ||
	    json_object_set_new(o, "ipc", json_real(cot_sim_ipc(s, i))) ||
	    json_object_set_new(o, "dram_bytes", json_real(s->result.counts.bytes[i])) ||
	    (app->qos.ipc > 0.0 && json_object_set_new(o, "ipc_target", json_real(app->qos.ipc))) ||
	    json_object_set_new(o, "epoch_ipc", series(s, i, cot_epochs_ipc)) ||
	    json_object_set_new(o, "epoch_sms", series(s, i, row_sms))) {
		json_decref(o);
		return NULL;
	}
	return o;
}

static json_t *make_counted(const struct cot_sim_summary *s)
{
	const struct cot_sim_counts *n = &s->result.counts;
	json_t *root = json_object(), *apps = json_array();
	uint32_t i;

	for (i = 0; i < s->sc->n_apps; i++)
		if (json_array_append_new(apps, make_counted_app(s, i)))
			goto err_apps;
	if (json_object_set_new(root, "apps", apps)) {
		json_decref(root);
		return NULL;
	}
	if (json_object_set_new(root, "energy_j", json_real(n->energy_j)) ||
	    json_object_set_new(root, "power_w", json_real(cot_sim_mean_watts(s))) ||
	    json_object_set_new(root, "dram_gbps", json_real(cot_sim_dram_bps(s) / 1e9)) ||
	    json_object_set_new(
		    root, "dram_utilisation",
		    json_real(cot_sim_dram_bps(s) / (double)s->sc->gpu.dram_bytes_per_s)) ||
	    json_object_set_new(root, "active_sm_us", json_real(n->active_sm_us)) ||
	    json_object_set_new(root, "gated_sm_us", json_real(n->gated_sm_us)) ||
	    json_object_set_new(root, "epoch_end_us", series(s, 0, row_end)) ||
	    json_object_set_new(root, "epoch_power_w", series(s, 0, row_watts)) ||
	    json_object_set_new(root, "epoch_dram_gbps", series(s, 0, row_dram)) ||
	    json_object_set_new(root, "epoch_gated_sms", series(s, 0, row_gated))) {
		json_decref(root);
		return NULL;
	}
	return root;

err_apps:
	json_decref(apps);
	json_decref(root);
	return NULL;
}

static json_t *make_preemptions(const struct cot_sim_result *r)
{
	return json_pack("{s:I, s:I, s:{s:f, s:f, s:f}}", "count", (json_int_t)r->preemptions,
			 "saved_bytes", (json_int_t)r->saved_bytes, "latency_us", "p50",
			 r->latency_p50_ps / (double)COT_PS_PER_US, "p99",
			 r->latency_p99_ps / (double)COT_PS_PER_US, "max",
			 cot_us_from_ps(r->latency_max_ps));
}

static json_t *make_root(const struct cot_sim_summary *s)
{
	const struct cot_scenario *sc = s->sc;
	bool known = s->has_metrics;
	char policy[COT_POLICY_NAME_MAX];
	json_t *root = json_object();

	if (json_object_set_new(root, "schema", json_string("cotenant.sim/1")) ||
	    cot_origin_add_json(root, s->origin, &sc->gpu) ||
	    json_object_set_new(root, "scheduler", json_string(sc->scheduler)) ||
	    (s->has_responses &&
	     json_object_set_new(root, "policy", json_string(cot_policy_name_word(sc, policy)))) ||
	    json_object_set_new(root, "preempt", json_string(cot_preempt_name(sc->preempt))) ||
	    json_object_set_new(root, "seed", json_integer((json_int_t)sc->seed)) ||
	    json_object_set_new(root, "end_us", json_real(cot_us_from_ps(s->result.end_ps))) ||
	    json_object_set_new(root, "apps", make_apps(s)) ||
	    json_object_set_new(root, "antt", real_or_null(known, s->metrics.antt)) ||
	    json_object_set_new(root, "stp", real_or_null(known, s->metrics.stp)) ||
	    json_object_set_new(root, "fairness", real_or_null(known, s->metrics.fairness)) ||
	    json_object_set_new(root, "preemptions", make_preemptions(&s->result)) ||
	    json_object_set_new(root, "block_completions",
				json_integer((json_int_t)s->result.block_completions)) ||
	    (s->epochs && json_object_set_new(root, "counted", make_counted(s)))) {
		json_decref(root);
		return NULL;
	}
	return root;
}

int cot_sim_print_json(const struct cot_sim_summary *s, struct cot_allocation *a, FILE *out,
		       struct cot_error *err)
{
	json_t *root = make_root(s);
	char *text = root ? json_dumps(root, DUMP_FLAGS) : NULL;
	int rc = 0;

	json_decref(root);
	if (!text)
		return cot_error_set(err, -ENOMEM, "cannot make the JSON: out of memory");
	if (a) {
		/* The list may be larger than memory: it goes in before the closing brace. */
		(void)fwrite(text, 1, strlen(text) - strlen("\n}"), out);
		(void)fputs(",\n  \"allocation\": ", out);
		rc = cot_allocation_write(a, out, "  ", err);
		(void)fputs("\n}\n", out);
	} else {
		(void)fprintf(out, "%s\n", text);
	}
	free(text);
	return rc;
}
