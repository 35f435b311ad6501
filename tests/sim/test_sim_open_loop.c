/*
 * Requests that come whether the program is ready or not: schedules worked out by hand, with a
 * policy and without one.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "sim/host.h"
#include "sim/host_measure.h"
#include "support/sim_build.h"
#include "test.h"

#define US COT_PS_PER_US

/* A request every 100 us: 20 us of CPU, a kernel of `kernel_us`. */
static struct cot_app *make(struct sim_build *b, double kernel_us)
{
	struct cot_app *app;

	build_init(b, "timeslice", 2);
	app = build_app(b, "serve");
	app->cls = COT_CLASS_LATENCY;
	app->arrivals = (struct cot_arrivals){.per_s = 10000, .gaps = COT_GAPS_EVEN};
	build_cpu(b, 20);
	build_kernel(b, 2, kernel_us, 1, 0);
	return app;
}

static struct cot_sim_host_times times_of(const struct sim_build *b, bool by_policy)
{
	struct cot_sim_host_times t;
	struct host_measures m;
	struct cot_sim_host *h;
	struct cot_sim *sim;
	struct cot_error err;

	if (by_policy) {
		struct cot_scenario sc = b->sc;

		(void)snprintf(sc.policy, sizeof(sc.policy), "pools");
		assert_int_equal(cot_sim_host_create(&sc, NULL, NULL, NULL, &h, &err), 0);
		assert_int_equal(cot_sim_host_run(h, UINT64_MAX), COT_SIM_DONE);
		cot_sim_host_times(h, 0, &t);
		cot_sim_host_destroy(h);
		return t;
	}
	assert_int_equal(cot_sim_host_measure_init(&m, &b->sc, NULL, NULL, NULL), 0);
	assert_int_equal(cot_sim_create(&b->sc, NULL, &cot_sim_measures_observer, &m, &sim, &err),
			 0);
	cot_sim_host_measure_start(&m, sim);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	cot_sim_host_measure_times(&m, 0, &t);
	cot_sim_host_measure_finish(&m);
	cot_sim_destroy(sim);
	return t;
}

/* The GPU idles between requests; a run begins when one comes. */
static void test_idle_between(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	make(&b, 30);
	build_stop_at(&b, 360);
	play(&p, &b);
	assert_string_equal(p.app[0].text,
			    "100 cpu, 120 wait, 200 cpu, 220 wait, 300 cpu, 320 wait");
	assert_string_equal(p.runs.text, "serve 100-150, serve 200-250, serve 300-350");
	play_end(&p);
}

/* Alone for two thirds longer than the gap: the n-th request waits for those before. */
static void test_backlog(void **state)
{
	struct cot_sim_host_times t;
	struct sim_build b;
	struct play p;
	int by_policy;

	(void)state;
	make(&b, 130);
	build_stop_runs(&b, 4);
	play(&p, &b);
	assert_string_equal(p.runs.text,
			    "serve 100-250, serve 250-400, serve 400-550, serve 550-700");
	assert_int_equal(p.status, COT_SIM_DONE);
	play_end(&p);
	for (by_policy = 0; by_policy < 2; by_policy++) {
		t = times_of(&b, by_policy);
		/* 150, 200, 250 and 300 from the arrival, and 150 of service. */
		assert_int_equal(t.n_responses, 4);
		assert_int_equal(t.response_p50_ps, 200 * US);
		assert_int_equal(t.response_max_ps, 300 * US);
		assert_int_equal(t.service_p99_ps, 150 * US);
	}
}

/* The start is that of the arrivals. */
static void test_start(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	make(&b, 30)->start_ps = 70 * US;
	build_stop_runs(&b, 1);
	play(&p, &b);
	assert_string_equal(p.runs.text, "serve 170-220");
	play_end(&p);
}

/* Requests of different sizes: the same mean, and as much spread as was asked for. */
static void test_sizes(void **state)
{
	struct cot_sim_host_times t;
	struct sim_build b;
	struct cot_sim_result r;
	struct cot_sim *sim;
	struct cot_app *app;
	struct cot_error err;
	double mean_us;

	(void)state;
	app = make(&b, 30);
	app->arrivals.per_s = 100;
	app->arrivals.size_cv = 0.5;
	build_stop_runs(&b, 4000);
	assert_int_equal(cot_sim_create(&b.sc, NULL, NULL, NULL, &sim, &err), 0);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	cot_sim_result(sim, &r);
	cot_sim_destroy(sim);
	mean_us = (double)r.apps[0].turnaround_sum_ps / 4000 / (double)US;
	assert_true(fabs(mean_us - 50) < 1);
	t = times_of(&b, false);
	/* Of a lognormal variable with that cv: median 0.894, 99th percentile 2.686 times the mean.
	 */
	assert_true(fabs(t.response_p50_ps / (double)US - (20 + 30 * 0.894)) < 1);
	assert_true(fabs(t.response_p99_ps / (double)US - (20 + 30 * 2.686)) < 5);
}

/* Alone an app has neither arrivals nor other sizes; the p99 alone has both. */
static void test_alone(void **state)
{
	struct sim_build b;
	double us;
	uint64_t p99_ps;

	(void)state;
	make(&b, 130)->arrivals.size_cv = 1;
	build_stop_runs(&b, 4);
	assert_int_equal(cot_sim_isolated_us(&b.sc, 0, NULL, NULL, &us), 0);
	assert_true(fabs(us - 150) < 1e-9);
	b.sc.apps[0].arrivals.size_cv = 0;
	assert_int_equal(cot_sim_alone_p99_ps(&b.sc, 0, NULL, NULL, &p99_ps), 0);
	assert_int_equal(p99_ps, 300 * US);
}

/* Misses of a target that is a multiple of the p99 alone. */
static void test_slowdown_target(void **state)
{
	static const uint64_t alone_p99_ps[COT_MAX_APPS] = {150 * US};
	struct cot_sim_host_options options = {.alone_p99_ps = alone_p99_ps};
	struct cot_sim_host_times t;
	struct cot_sim_host *h;
	struct sim_build b;
	struct cot_error err;

	(void)state;
	make(&b, 130)->target = (struct cot_target){COT_TARGET_SLOWDOWN, 1400};
	build_stop_runs(&b, 4);
	(void)snprintf(b.sc.policy, sizeof(b.sc.policy), "pools");
	assert_int_equal(cot_sim_host_create(&b.sc, &options, NULL, NULL, &h, &err), 0);
	assert_int_equal(cot_sim_host_run(h, UINT64_MAX), COT_SIM_DONE);
	cot_sim_host_times(h, 0, &t);
	assert_int_equal(t.limit_ps, 210 * US);
	assert_int_equal(t.n_missed, 2); /* 250 and 300 us */
	cot_sim_host_destroy(h);
}

/* A curve of silence first: nothing runs, and the stop rule still holds. */
static void test_silence(void **state)
{
	struct sim_build b;
	struct cot_app *app;
	struct play p;

	(void)state;
	app = make(&b, 30);
	app->arrivals.n_curve = 2;
	app->arrivals.curve[1] = 1;
	app->arrivals.curve_step_ps = 1000 * US;
	build_stop_at(&b, 1160);
	play(&p, &b);
	assert_string_equal(p.runs.text, "serve 1100-1150");
	play_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_between), cmocka_unit_test(test_backlog),
		cmocka_unit_test(test_start),	     cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_alone),	     cmocka_unit_test(test_slowdown_target),
		cmocka_unit_test(test_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
