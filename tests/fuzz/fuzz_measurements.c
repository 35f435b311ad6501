/*
 * Tables of power measurements and step tests: whatever the bytes are, the readers give numbers
 * within their limits, or one sentence; and what they give, the training can take.
 */
#include <errno.h>
#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/fit.h"
#include "model/heat.h"
#include "trace/measurements.h"
#include "trace/step.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void check(const struct cot_measurements *m)
{
	struct cot_model_samples samples = {m->n, m->n_events, m->rates, m->dynamic_w};
	struct cot_model_errors errors;
	struct cot_model_fit fit;
	uint32_t i, event = 0;
	int rc;

	for (i = 0; i < m->n; i++) {
		REQUIRE(m->workload[i] < m->n_workloads);
		REQUIRE(m->dynamic_w[i] > 0 && m->idle_w[i] >= 0);
	}
	for (i = 0; i < m->n * m->n_events; i++)
		REQUIRE(m->rates[i] >= 0 && m->rates[i] <= DBL_MAX);
	rc = cot_model_fit(&samples, m->has_set ? m->train : NULL, &fit, &event);
	REQUIRE(rc == 0 || rc == -EINVAL || (rc == -EDOM && event < m->n_events));
	if (rc)
		return;
	cot_model_fit_errors(&samples, NULL, true, &fit, m->idle_w, &errors);
	REQUIRE(errors.n == m->n && errors.worst >= 0);
}

/* The same bytes as a step test. */
static void check_step(const uint8_t *data, size_t size)
{
	struct cot_error err = {""};
	struct cot_model_heat heat;
	struct cot_step_test step;
	int rc = cot_step_parse("fuzz", data, size, &step, &err);

	if (rc) {
		REQUIRE(rc == -EINVAL && err.text[0] && !strchr(err.text, '\n'));
		return;
	}
	REQUIRE(step.n >= 4 && step.n <= COT_STEP_SAMPLES_MAX);
	REQUIRE(!cot_model_heat_fit(step.seconds, step.power_w, step.n, &heat));
	REQUIRE(heat.tau_s > 0 && heat.tau_s <= DBL_MAX && heat.worst_w >= 0);
	cot_step_finish(&step);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cot_measurements m;
	struct cot_error err = {""};
	int rc;

	check_step(data, size);
	rc = cot_measurements_parse("fuzz", data, size, &m, &err);
	if (rc) {
		REQUIRE(rc == -EINVAL && err.text[0] && !strchr(err.text, '\n'));
		return 0;
	}
	REQUIRE(m.n >= 1 && m.n_events >= 1 && m.n_events <= COT_MEASUREMENTS_EVENTS_MAX);
	check(&m);
	cot_measurements_finish(&m);
	return 0;
}
