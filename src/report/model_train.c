/* cotenant model train: the coefficients of the power model, and how far it is off on workloads
 * that it was not trained with. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/fit.h"
#include "model/model.h"
#include "report/json.h"
#include "report/model.h"
#include "report/table.h"
#include "trace/measurements.h"

struct result {
	struct cot_measurements m;
	struct cot_model_samples samples;
	struct cot_model_fit fit;
	bool *use; /* of each run: trained with */
	/* Of the dynamic power, and of the whole system's. */
	struct cot_model_errors train, test, test_system;
	uint32_t n_train, n_test; /* workloads */
};

static int draw(struct result *r, const struct cot_model_train_options *o, const char *path,
		struct cot_error *err)
{
	bool *picked = calloc(r->m.n_workloads, sizeof(*picked));
	int rc;

	r->use = calloc(r->m.n, sizeof(*r->use));
	if (!picked || !r->use) {
		free(picked);
		return cot_error_set(err, -ENOMEM, "out of memory");
	}
	if (r->m.has_set) {
		memcpy(r->use, r->m.train, r->m.n * sizeof(*r->use));
		rc = 0;
	} else {
		rc = cot_model_fit_split(r->m.workload, r->m.n, r->m.n_workloads, o->train_pct,
					 o->seed, picked, r->use);
	}
	free(picked);
	return rc ? cot_error_set(err, rc,
				  "%s:1:1: there is one workload; expected several, to train with "
				  "some and to test with the others",
				  path)
		  : 0;
}

static void count(struct result *r)
{
	uint32_t i, j;

	for (i = 0; i < r->m.n; i++) {
		for (j = 0; j < i; j++)
			if (r->m.workload[j] == r->m.workload[i])
				break;
		if (j < i)
			continue;
		if (r->use[i])
			r->n_train++;
		else
			r->n_test++;
	}
}

static int train(struct result *r, const char *path, struct cot_error *err)
{
	uint32_t event = 0;
	int rc;

	r->samples = (struct cot_model_samples){
		.n = r->m.n,
		.n_events = r->m.n_events,
		.rates = r->m.rates,
		.watts = r->m.dynamic_w,
	};
	rc = cot_model_fit(&r->samples, r->use, &r->fit, &event);
	if (rc == -EDOM)
		return cot_error_set(err, rc,
				     "%s:1:1: in the training runs '%s' does not vary by itself; "
				     "expected runs that tell its share from the others'",
				     path, r->m.events[event]);
	if (rc)
		return cot_error_set(err, rc,
				     "%s:1:1: too few training runs for %u events; expected at "
				     "least %u",
				     path, r->m.n_events, r->m.n_events + 1);
	count(r);
	cot_model_fit_errors(&r->samples, r->use, true, &r->fit, NULL, &r->train);
	cot_model_fit_errors(&r->samples, r->use, false, &r->fit, NULL, &r->test);
	cot_model_fit_errors(&r->samples, r->use, false, &r->fit, r->m.idle_w, &r->test_system);
	if (!r->test.n)
		return cot_error_set(err, -EINVAL,
				     "%s:1:1: no run is left to test with; expected some in the "
				     "set 'test'",
				     path);
	return 0;
}

/* ---- output ---- */

static void print_errors(const struct result *r, const char *what, const struct cot_model_errors *e,
			 FILE *out)
{
	(void)fprintf(out, "%s: %u runs, mean error %.2f %%, worst %.2f %% (%s)\n", what, e->n,
		      e->mean * 100, e->worst * 100, r->m.workloads[r->m.workload[e->worst_row]]);
}

static int print_text(const struct result *r, FILE *out, struct cot_error *err)
{
	static const struct cot_column columns[] = {
		{"event", COT_ALIGN_LEFT},
		{"W per event/cycle", COT_ALIGN_RIGHT},
		{"share", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	uint32_t i;
	int rc;

	for (i = 0; i < r->fit.n_events; i++) {
		cot_table_text(t, r->m.events[i]);
		cot_table_cell(t, "%.6g", r->fit.watts[i]);
		cot_table_cell(t, "%.2f %%", r->fit.share[i] * 100);
	}
	cot_table_text(t, "lambda (W)");
	cot_table_cell(t, "%.6g", r->fit.lambda_w);
	cot_table_cell(t, "%.2f %%", r->fit.lambda_share * 100);
	rc = cot_table_print(t, out);
	if (rc)
		return cot_error_set(err, rc, "out of memory");
	(void)fprintf(out, "\n%u workloads to train with, %u others to test with.\n", r->n_train,
		      r->n_test);
	print_errors(r, "training, dynamic power", &r->train, out);
	print_errors(r, "test, dynamic power    ", &r->test, out);
	print_errors(r, "test, system power     ", &r->test_system, out);
	return 0;
}

/* Which of the model's own coefficients an event is, and per how many of it; NULL: none. */
static const char *own_key(const char *event, double *ret_times)
{
	*ret_times = strcmp(event, "dram_bytes") ? 1 : COT_MODEL_TRANSACTION;
	if (!strcmp(event, "instructions"))
		return "instruction_w";
	return strcmp(event, "transactions") && strcmp(event, "dram_bytes") ? NULL : "memory_w";
}

static double mean_idle_w(const struct result *r)
{
	double sum = 0;
	uint32_t i;

	for (i = 0; i < r->m.n; i++)
		sum += r->m.idle_w[i];
	return sum / r->m.n;
}

/* The map `power` of a file of kernels. */
static void print_yaml(const struct result *r, FILE *out)
{
	const char *key, *comma = "";
	double times;
	uint32_t i;

	(void)fprintf(out, "power:\n  idle_w: %.6g\n  lambda_w: %.6g\n", mean_idle_w(r),
		      r->fit.lambda_w);
	for (i = 0; i < r->fit.n_events; i++)
		if ((key = own_key(r->m.events[i], &times)))
			(void)fprintf(out, "  %s: %.6g\n", key, r->fit.watts[i] * times);
	for (i = 0; i < r->fit.n_events; i++) {
		if (own_key(r->m.events[i], &times))
			continue;
		(void)fprintf(out, "%s    - {name: %s, w: %.6g}\n", *comma ? "" : "  events:\n",
			      r->m.events[i], r->fit.watts[i]);
		comma = ",";
	}
}

static json_t *json_errors(const struct result *r, const struct cot_model_errors *e)
{
	return json_pack("{s:i, s:o, s:o, s:s}", "runs", (int)e->n, "mean",
			 cot_json_number(e->mean), "worst", cot_json_number(e->worst),
			 "worst_workload", r->m.workloads[r->m.workload[e->worst_row]]);
}

static json_t *json_result(const struct result *r)
{
	json_t *events = json_array();
	uint32_t i;

	for (i = 0; i < r->fit.n_events; i++)
		(void)json_array_append_new(events,
					    json_pack("{s:s, s:o, s:o}", "event", r->m.events[i],
						      "watts", cot_json_number(r->fit.watts[i]),
						      "share", cot_json_number(r->fit.share[i])));
	return json_pack("{s:s, s:o, s:o, s:o, s:i, s:i, s:o, s:o, s:o}", "schema",
			 "cotenant.model.train/1", "events", events, "lambda_w",
			 cot_json_number(r->fit.lambda_w), "lambda_share",
			 cot_json_number(r->fit.lambda_share), "train_workloads", (int)r->n_train,
			 "test_workloads", (int)r->n_test, "train_errors",
			 json_errors(r, &r->train), "test_errors", json_errors(r, &r->test),
			 "test_system_errors", json_errors(r, &r->test_system));
}

int cot_model_show_training(const struct cot_origin *origin,
			    const struct cot_model_train_options *options, enum cot_model_form form,
			    FILE *out, struct cot_error *err)
{
	const char *name = cot_origin_name(origin);
	struct result r;
	int rc;

	memset(&r, 0, sizeof(r));
	rc = cot_measurements_parse(name, origin->bytes, origin->size, &r.m, err);
	if (rc)
		return rc;
	rc = draw(&r, options, name, err);
	if (!rc)
		rc = train(&r, name, err);
	if (!rc && form == COT_MODEL_YAML)
		print_yaml(&r, out);
	else if (!rc)
		rc = form == COT_MODEL_JSON
			     ? cot_json_write(cot_origin_with(json_result(&r), origin),
					      COT_JSON_INDENTED, out)
			     : print_text(&r, out, err);
	free(r.use);
	cot_measurements_finish(&r.m);
	return rc;
}
