#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/sim_summary.h"

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
	const struct cot_response_summary *r = &s->responses[i];
	const char *class_name = cot_app_class_name(s->sc->apps[i].cls);
	json_t *times = json_null();

	if (r->n)
		times = json_pack("{s:f, s:f, s:f, s:f}", "p50", r->p50_us, "p95", r->p95_us, "p99",
				  r->p99_us, "max", r->max_us);
	if (json_object_set_new(app, "class", json_string(class_name)) ||
	    json_object_set_new(app, "responses", json_integer((json_int_t)r->n))) {
		json_decref(times);
		return -1;
	}
	return json_object_set_new(app, "response_us", times);
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
		    json_array_append(list, app)) {
			json_decref(app);
			json_decref(list);
			return NULL;
		}
		json_decref(app);
	}
	return list;
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
	json_t *root = json_object();

	if (json_object_set_new(root, "schema", json_string("cotenant.sim/1")) ||
	    json_object_set_new(root, "scheduler", json_string(sc->scheduler)) ||
	    (s->has_responses && json_object_set_new(root, "policy", json_string(sc->policy))) ||
	    json_object_set_new(root, "preempt", json_string(cot_preempt_name(sc->preempt))) ||
	    json_object_set_new(root, "seed", json_integer((json_int_t)sc->seed)) ||
	    json_object_set_new(root, "end_us", json_real(cot_us_from_ps(s->result.end_ps))) ||
	    json_object_set_new(root, "apps", make_apps(s)) ||
	    json_object_set_new(root, "antt", real_or_null(known, s->metrics.antt)) ||
	    json_object_set_new(root, "stp", real_or_null(known, s->metrics.stp)) ||
	    json_object_set_new(root, "fairness", real_or_null(known, s->metrics.fairness)) ||
	    json_object_set_new(root, "preemptions", make_preemptions(&s->result)) ||
	    json_object_set_new(root, "block_completions",
				json_integer((json_int_t)s->result.block_completions))) {
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
