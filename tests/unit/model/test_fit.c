/* Training: known coefficients come back, what cannot be told is refused, test runs are unseen. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "model/fit.h"
#include "model/heat.h"
#include "test.h"

#define ROWS   400
#define EVENTS 5
#define SEED   5

static const double truth[EVENTS] = {1800, 45, 0.002, 7e6, -12};
static const double sizes[EVENTS] = {0.02, 0.25, 9e4, 1e-6, 1.5};
static const double lambda_w = 63.5;

static double rates[ROWS * EVENTS], watts[ROWS];

static double pick(struct cot_rng *rng)
{
	return (double)cot_rng_below(rng, 1000001) / 1e6;
}

/* `noise`: the largest error of a measurement, in watts. */
static struct cot_model_samples make(double noise)
{
	struct cot_rng rng = {SEED};
	uint32_t i, j;

	for (i = 0; i < ROWS; i++) {
		watts[i] = lambda_w + noise * (2 * pick(&rng) - 1);
		for (j = 0; j < EVENTS; j++) {
			rates[i * EVENTS + j] = sizes[j] * pick(&rng);
			watts[i] += truth[j] * rates[i * EVENTS + j];
		}
	}
	return (struct cot_model_samples){ROWS, EVENTS, rates, watts};
}

static void near(double found, double expected, double relative)
{
	if (!(fabs(found - expected) <= relative * fabs(expected)))
		fail_msg("%.15g, expected %.15g", found, expected);
}

static void test_recovers_coefficients(void **state)
{
	struct cot_model_samples s = make(0);
	struct cot_model_errors e;
	struct cot_model_fit fit;
	double shares;
	uint32_t event, j;

	(void)state;
	assert_int_equal(cot_model_fit(&s, NULL, &fit, &event), 0);
	shares = fit.lambda_share;
	for (j = 0; j < EVENTS; j++) {
		near(fit.watts[j], truth[j], 1e-9);
		shares += fit.share[j];
	}
	near(fit.lambda_w, lambda_w, 1e-9);
	near(shares, 1, 1e-12);
	cot_model_fit_errors(&s, NULL, true, &fit, NULL, &e);
	assert_int_equal(e.n, ROWS);
	assert_true(e.worst < 1e-12);
}

/* A hundred training runs with noise: test runs that were not used are met almost as well. */
static void test_noise_and_unseen_runs(void **state)
{
	struct cot_model_samples s = make(2);
	struct cot_model_errors seen, unseen, system;
	double idle[ROWS];
	bool use[ROWS];
	struct cot_model_fit fit;
	uint32_t event, i;

	(void)state;
	for (i = 0; i < ROWS; i++) {
		use[i] = i % 4 == 0;
		idle[i] = 200;
	}
	assert_int_equal(cot_model_fit(&s, use, &fit, &event), 0);
	near(fit.watts[0], truth[0], 0.1);
	cot_model_fit_errors(&s, use, true, &fit, NULL, &seen);
	cot_model_fit_errors(&s, use, false, &fit, NULL, &unseen);
	cot_model_fit_errors(&s, use, false, &fit, idle, &system);
	assert_int_equal(seen.n, ROWS / 4);
	assert_int_equal(unseen.n, ROWS - ROWS / 4);
	assert_true(unseen.mean > 1e-3 && unseen.mean < 0.03);
	assert_true(unseen.worst >= unseen.mean && !use[unseen.worst_row]);
	assert_true(system.mean < unseen.mean);
}

static void test_what_cannot_be_told(void **state)
{
	struct cot_model_samples s = make(0);
	struct cot_model_fit fit;
	uint32_t event = 99, i;

	(void)state;
	for (i = 0; i < ROWS; i++) /* event 3 is a mixture of 0 and 1 */
		rates[i * EVENTS + 3] = 2 * rates[i * EVENTS] - rates[i * EVENTS + 1] + 1;
	assert_int_equal(cot_model_fit(&s, NULL, &fit, &event), -EDOM);
	assert_int_equal(event, 3);
	for (i = 0; i < ROWS; i++)
		rates[i * EVENTS + 1] = 0.25;
	assert_int_equal(cot_model_fit(&s, NULL, &fit, &event), -EDOM);
	assert_int_equal(event, 1);
	s.n = EVENTS;
	assert_int_equal(cot_model_fit(&s, NULL, &fit, &event), -EINVAL);
	s.n = 0;
	assert_int_equal(cot_model_fit(&s, NULL, &fit, &event), -EINVAL);
	s = make(0);
	s.n_events = COT_MODEL_EVENTS_MAX + 1;
	assert_int_equal(cot_model_fit(&s, NULL, &fit, &event), -EINVAL);
}

static void test_split(void **state)
{
	enum { WORKLOADS = 10, N = 60 };
	uint32_t group[N], i, picked_n, seed;
	bool picked[WORKLOADS], use[N], again[N], differs = false;

	(void)state;
	for (i = 0; i < N; i++)
		group[i] = i % WORKLOADS;
	for (seed = 0; seed < 50; seed++) {
		assert_int_equal(cot_model_fit_split(group, N, WORKLOADS, 60, seed, picked, use),
				 0);
		assert_int_equal(cot_model_fit_split(group, N, WORKLOADS, 60, seed, picked, again),
				 0);
		assert_memory_equal(use, again, sizeof(use));
		picked_n = 0;
		for (i = 0; i < WORKLOADS; i++)
			picked_n += picked[i];
		assert_int_equal(picked_n, 6);
		for (i = 0; i < N; i++)
			assert_int_equal(use[i], picked[group[i]]);
		differs = differs || use[0] != (seed % 2 == 0);
	}
	assert_true(differs);
	assert_int_equal(cot_model_fit_split(group, N, WORKLOADS, 99, 1, picked, use), 0);
	for (i = picked_n = 0; i < WORKLOADS; i++)
		picked_n += picked[i];
	assert_int_equal(picked_n, 9);
	assert_int_equal(cot_model_fit_split(group, N, 1, 60, 1, picked, use), -EINVAL);
}

/* A step test gives back its start, rise and time constant; with noise, nearly. */
/* Long after the start nothing creeps any more, whatever the time constant: the shortest is as good
 * as any. */
static void test_heat_of_a_warm_chip(void **state)
{
	double t[5], w[5];
	struct cot_model_heat heat;
	uint32_t i;

	(void)state;
	for (i = 0; i < 5; i++) {
		t[i] = 10000 + i;
		w[i] = 300;
	}
	assert_int_equal(cot_model_heat_fit(t, w, 5, &heat), 0);
	assert_true(heat.rise_w == 0 && heat.worst_w == 0 && heat.start_w == 300);
	assert_true(heat.tau_s < 2);
}

static void test_heat(void **state)
{
	enum { N = 200 };
	static const double taus[] = {0.7, 12, 35, 400};
	double t[N], w[N];
	struct cot_model_heat heat;
	struct cot_rng rng = {SEED};
	size_t k;
	int i;

	(void)state;
	for (k = 0; k < sizeof(taus) / sizeof(*taus); k++) {
		for (i = 0; i < N; i++) {
			t[i] = i * 0.6;
			w[i] = 300 + 24 * (1 - exp(-t[i] / taus[k]));
		}
		assert_int_equal(cot_model_heat_fit(t, w, N, &heat), 0);
		near(heat.tau_s, taus[k], 1e-4);
		near(heat.rise_w, 24, 1e-4);
		near(heat.start_w, 300, 1e-6);
		assert_true(heat.worst_w < 1e-3);
		for (i = 0; i < N; i++)
			w[i] += pick(&rng) - 0.5;
		assert_int_equal(cot_model_heat_fit(t, w, N, &heat), 0);
		assert_true(heat.worst_w > 0.3 && heat.worst_w < 1);
		if (k > 0 && k < 3)
			near(heat.tau_s, taus[k], 0.15);
	}
	assert_int_equal(cot_model_heat_fit(t, w, 3, &heat), -EINVAL);
	t[7] = t[6];
	assert_int_equal(cot_model_heat_fit(t, w, N, &heat), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recovers_coefficients),
		cmocka_unit_test(test_noise_and_unseen_runs),
		cmocka_unit_test(test_what_cannot_be_told),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_heat),
		cmocka_unit_test(test_heat_of_a_warm_chip),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
