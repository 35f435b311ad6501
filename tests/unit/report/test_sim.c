/* The outputs of a simulation, read back as a program would. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/allocation.h"
#include "report/fanout.h"
#include "report/sampler.h"
#include "report/sim_summary.h"
#include "report/timeline.h"
#include "sim/sim.h"
#include "test.h"
#include "trace/scenario_read.h"

static const char scenario_text[] =
	"schema: cotenant.scenario/1\n"
	"gpu: k20c\n"
	"scheduler: ppq\n"
	"preempt: switch\n"
	"seed: 9223372036854775807\n"
	"block_jitter_cv: 0.3\n"
	"stop: {runs: 3}\n"
	"apps:\n"
	"  - name: \"ur\\\"gent<\"\n"
	"    priority: 1\n"
	"    program:\n"
	"      - cpu_us: 50\n"
	"      - h2d_bytes: 65536\n"
	"      - kernel: {name: short, blocks: 40, block_us: 10, blocks_per_sm: 4, "
	"regs_per_block: 4096}\n"
	"      - sync\n"
	"      - d2h_bytes: 4096\n"
	"  - name: batch\n"
	"    program:\n"
	"      - cpu_us: 10\n"
	"      - kernel: {name: long, blocks: 400, block_us: 30, blocks_per_sm: 4, "
	"regs_per_block: 8192, launches: 2}\n";

#define FIRST_NAME "ur\"gent<"

struct run {
	struct cot_scenario *sc;
	struct cot_sim_summary summary;
	struct cot_allocation *allocation;
	struct cot_sampler *sampler;
	char *timeline; /* text */
};

static void start(struct run *r, const char *scheduler, const char *preempt)
{
	struct cot_scenario_options opt = {.scheduler = scheduler, .preempt = preempt};
	struct cot_fanout fanout = {0};
	double isolated_us[COT_MAX_APPS];
	struct cot_sim_result result;
	struct cot_timeline *tl;
	struct cot_error err;
	struct cot_sim *sim;
	size_t size;
	FILE *out;
	uint32_t i;

	assert_int_equal(cot_scenario_parse("test", scenario_text, strlen(scenario_text), &opt,
					    &r->sc, &err),
			 0);
	for (i = 0; i < r->sc->n_apps; i++)
		assert_int_equal(cot_sim_isolated_us(r->sc, i, NULL, NULL, &isolated_us[i]), 0);
	out = open_memstream(&r->timeline, &size);
	assert_non_null(out);
	tl = cot_timeline_create(r->sc, out);
	r->sampler = cot_sampler_create(r->sc);
	assert_non_null(tl);
	assert_non_null(r->sampler);
	assert_int_equal(cot_allocation_create(r->sc, &r->allocation, &err), 0);
	cot_fanout_add(&fanout, &cot_timeline_observer, tl);
	cot_fanout_add(&fanout, &cot_sampler_observer, r->sampler);
	cot_fanout_add(&fanout, &cot_allocation_observer, r->allocation);
	assert_int_equal(cot_sim_create(r->sc, NULL, &cot_fanout_observer, &fanout, &sim, &err), 0);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	cot_sim_result(sim, &result);
	cot_sim_summarize(r->sc, &result, isolated_us, &r->summary);
	cot_timeline_finish(tl, result.end_ps);
	cot_sampler_finish(r->sampler, result.end_ps);
	assert_int_equal(fclose(out), 0);
	cot_timeline_destroy(tl);
	cot_sim_destroy(sim);
}

static void stop(struct run *r)
{
	cot_allocation_destroy(r->allocation);
	cot_sampler_destroy(r->sampler);
	cot_scenario_destroy(r->sc);
	free(r->timeline);
}

static json_t *parse(const char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!root)
		fail_msg("line %d: %s", error.line, error.text);
	return root;
}

static json_t *json_of(struct run *r, struct cot_allocation *a)
{
	struct cot_error err;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	json_t *root;

	assert_non_null(out);
	assert_int_equal(cot_sim_print_json(&r->summary, a, out, &err), 0);
	assert_int_equal(fclose(out), 0);
	root = parse(text);
	free(text);
	return root;
}

static double real(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_real(value))
		fail_msg("'%s' is not a real", key);
	return json_real_value(value);
}

static void assert_keys(json_t *object, const char *const *keys)
{
	const char *key;
	json_t *value;
	size_t i = 0;

	json_object_foreach (object, key, value) {
		assert_non_null(keys[i]);
		assert_string_equal(key, keys[i++]);
	}
	assert_null(keys[i]);
}

static void test_json(void **state)
{
	static const char *const keys[] = {"schema",
					   "scheduler",
					   "preempt",
					   "seed",
					   "end_us",
					   "apps",
					   "antt",
					   "stp",
					   "fairness",
					   "preemptions",
					   "block_completions",
					   NULL};
	static const char *const app_keys[] = {"name",	      "runs", "turnaround_us",
					       "isolated_us", "ntt",  NULL};
	static const char *const preemption_keys[] = {"count", "saved_bytes", "latency_us", NULL};
	static const char *const latency_keys[] = {"p50", "p99", "max", NULL};
	json_t *root, *app, *preemptions, *latency;
	struct run r;
	double ntt = 0.0;
	size_t i;

	(void)state;
	start(&r, NULL, NULL);
	root = json_of(&r, NULL);
	assert_keys(root, keys);
	assert_string_equal(json_string_value(json_object_get(root, "schema")), "cotenant.sim/1");
	assert_string_equal(json_string_value(json_object_get(root, "scheduler")), "ppq");
	assert_string_equal(json_string_value(json_object_get(root, "preempt")), "switch");
	assert_true(json_integer_value(json_object_get(root, "seed")) == INT64_MAX);
	assert_true(real(root, "end_us") > 0.0);
	assert_int_equal(json_array_size(json_object_get(root, "apps")), 2);
	json_array_foreach (json_object_get(root, "apps"), i, app) {
		assert_keys(app, app_keys);
		assert_true(json_integer_value(json_object_get(app, "runs")) >= 3);
		ntt += real(app, "ntt");
		assert_true(fabs(real(app, "ntt") * real(app, "isolated_us") -
				 real(app, "turnaround_us")) < 1e-6);
	}
	app = json_array_get(json_object_get(root, "apps"), 0);
	assert_string_equal(json_string_value(json_object_get(app, "name")), FIRST_NAME);
	assert_true(fabs(real(root, "antt") - ntt / 2.0) < 1e-9);
	preemptions = json_object_get(root, "preemptions");
	assert_keys(preemptions, preemption_keys);
	assert_true(json_integer_value(json_object_get(preemptions, "count")) > 0);
	latency = json_object_get(preemptions, "latency_us");
	assert_keys(latency, latency_keys);
	assert_true(real(latency, "p50") <= real(latency, "p99"));
	assert_true(real(latency, "p99") <= real(latency, "max") + 1e-6);
	json_decref(root);
	stop(&r);
}

/* Entries ascend, each differs from the one before, and no SM is handed out twice. */
static void check_allocation(json_t *list, double end_us)
{
	json_t *entry, *before = NULL, *count;
	double last_us = -1.0;
	const char *name;
	size_t i;

	assert_true(json_array_size(list) > 2);
	json_array_foreach (list, i, entry) {
		json_t *sms = json_object_get(entry, "sms");
		json_int_t sum = 0;

		assert_true(real(entry, "t_us") > last_us);
		last_us = real(entry, "t_us");
		json_object_foreach (sms, name, count) {
			assert_true(!strcmp(name, FIRST_NAME) || !strcmp(name, "batch"));
			assert_true(json_integer_value(count) > 0);
			sum += json_integer_value(count);
		}
		assert_true(sum <= 13);
		assert_false(before && json_equal(before, sms));
		before = sms;
	}
	assert_true(last_us <= end_us);
}

static void test_allocation(void **state)
{
	struct run r;
	json_t *root;

	(void)state;
	start(&r, NULL, NULL);
	root = json_of(&r, r.allocation);
	check_allocation(json_object_get(root, "allocation"), real(root, "end_us"));
	json_decref(root);
	stop(&r);
}

#define MAX_TRACKS 4096

/* Complete events lie within the run and do not overlap on their track. */
static void check_event(json_t *event, double *track_end_us, double end_us)
{
	json_int_t tid = json_integer_value(json_object_get(event, "tid"));
	double begin = json_number_value(json_object_get(event, "ts"));
	double end = begin + json_number_value(json_object_get(event, "dur"));

	assert_in_range(tid, 1, MAX_TRACKS - 1);
	assert_true(json_is_string(json_object_get(event, "name")));
	assert_true(begin >= track_end_us[tid] - 1e-6);
	assert_true(end > begin && end <= end_us + 1e-6);
	track_end_us[tid] = end;
}

static void check_timeline(const char *scheduler, const char *preempt)
{
	double *track_end_us = calloc(MAX_TRACKS, sizeof(*track_end_us));
	unsigned n_complete = 0, n_names = 0, n_preempting = 0;
	struct run r;
	json_t *root, *event;
	size_t i;

	assert_non_null(track_end_us);
	start(&r, scheduler, preempt);
	root = parse(r.timeline);
	json_array_foreach (json_object_get(root, "traceEvents"), i, event) {
		const char *ph = json_string_value(json_object_get(event, "ph"));
		const char *cat = json_string_value(json_object_get(event, "cat"));
		const char *name = json_string_value(json_object_get(event, "name"));

		assert_non_null(ph);
		if (!strcmp(ph, "X")) {
			check_event(event, track_end_us, cot_us_from_ps(r.summary.result.end_ps));
			n_complete++;
		}
		n_preempting += cat && (!strcmp(cat, "save") || !strcmp(cat, "drain"));
		n_names += !strcmp(name, "thread_name");
	}
	assert_true(n_complete > 20);
	assert_int_equal(n_names, 13 + 2 * 2);
	assert_int_equal(n_preempting > 0, r.summary.result.preemptions > 0);
	json_decref(root);
	stop(&r);
	free(track_end_us);
}

static void test_timeline(void **state)
{
	(void)state;
	check_timeline("ppq", "switch");
	check_timeline("ppq", "drain");
	check_timeline("dss", "switch");
	check_timeline("fcfs", NULL);
	check_timeline("timeslice", "drain");
}

static void test_sampler(void **state)
{
	uint64_t n_latencies = 0;
	uint32_t slice, app;
	struct run r;
	unsigned i;

	(void)state;
	start(&r, NULL, NULL);
	assert_in_range(cot_sampler_n_slices(r.sampler), COT_SAMPLER_SLICES / 2,
			COT_SAMPLER_SLICES);
	for (slice = 0; slice < cot_sampler_n_slices(r.sampler); slice++) {
		double sum = 0.0;

		for (app = 0; app < r.sc->n_apps; app++)
			sum += cot_sampler_mean_sms(r.sampler, slice, app);
		assert_true(sum >= 0.0 && sum <= 13.0 + 1e-9);
	}
	for (i = 0; i < COT_SAMPLER_LATENCIES; i++)
		n_latencies += cot_sampler_latencies(r.sampler, i);
	assert_true(n_latencies <= r.summary.result.preemptions && n_latencies > 0);
	assert_true(cot_sampler_latency_bound_ps(0) == 100000);
	assert_true(cot_sampler_latency_bound_ps(5) == 5000000);
	stop(&r);
}

static void test_html(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out;
	struct run r;

	(void)state;
	start(&r, NULL, NULL);
	out = open_memstream(&text, &size);
	assert_non_null(out);
	assert_int_equal(cot_sim_print_html(&r.summary, r.sampler, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "ur&quot;gent&lt;"));
	assert_null(strstr(text, FIRST_NAME));
	assert_null(strstr(text, "\"nan"));
	assert_null(strstr(text, "-nan"));
	assert_null(strstr(text, "inf\""));
	assert_non_null(strstr(text, "</html>"));
	free(text);
	stop(&r);
}

/* A hundred requests per run alone on the GPU: 90 of 10 us, 5 of 20, 4 of 30, one of 40. */
#define REQUESTS(times, us)                                                                   \
	"      - repeat: {times: " #times ", program: [{kernel: {name: k" #us ", blocks: 1, " \
	"block_us: " #us "}}, sync, {cpu_us: 5}]}\n"

static const char requests_text[] =
	"schema: cotenant.scenario/1\n"
	"scheduler: timeslice\n"
	"policy: pools\n"
	"stop: {runs: 1}\n"
	"apps:\n"
	"  - name: \"re<quests\"\n"
	"    class: latency\n"
	"    program:\n" REQUESTS(4, 30) REQUESTS(89, 10) REQUESTS(1, 40) REQUESTS(
		5,
		20) "      - kernel: {name: last, blocks: 1, block_us: 10}\n" /* to the very end */
		    "  - name: waits\n"
		    "    program: [{cpu_us: 1}]\n";

static void play_requests(struct cot_scenario **ret_sc, struct cot_sampler **ret_sampler,
			  struct cot_sim_summary *summary)
{
	static const char *const policies[] = {"pools"};
	struct cot_scenario_options opt = {.policies = policies, .n_policies = 1};
	double isolated_us[COT_MAX_APPS] = {1, 1};
	struct cot_fanout fanout = {0};
	struct cot_sim_result result;
	struct cot_sim_host *host;
	struct cot_error err;

	if (cot_scenario_parse("test", requests_text, strlen(requests_text), &opt, ret_sc, &err))
		fail_msg("%s", err.text);
	*ret_sampler = cot_sampler_create(*ret_sc);
	cot_fanout_add(&fanout, &cot_sampler_observer, *ret_sampler);
	if (cot_sim_host_create(*ret_sc, NULL, &cot_fanout_observer, &fanout, &host, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cot_sim_host_run(host, UINT64_MAX), COT_SIM_DONE);
	cot_sim_result(cot_sim_host_sim(host), &result);
	cot_sampler_finish(*ret_sampler, result.end_ps);
	cot_sim_summarize(*ret_sc, &result, isolated_us, summary);
	cot_sim_summarize_responses(summary, host);
	cot_sim_host_destroy(host);
}

static void test_responses(void **state)
{
	static const char *const app_keys[] = {"name", "runs",	"turnaround_us", "isolated_us",
					       "ntt",  "class", "responses",	 "response_us",
					       "rate", NULL};
	static const char *const time_keys[] = {"p50", "p95", "p99", "max", NULL};
	static const double expected[] = {10, 20, 30, 40};
	json_t *root, *app, *times;
	struct run r = {0};
	char *text = NULL;
	size_t size, i;
	FILE *out;

	(void)state;
	play_requests(&r.sc, &r.sampler, &r.summary);
	root = json_of(&r, NULL);
	assert_string_equal(json_string_value(json_object_get(root, "policy")), "pools");
	app = json_array_get(json_object_get(root, "apps"), 0);
	assert_keys(app, app_keys);
	assert_string_equal(json_string_value(json_object_get(app, "class")), "latency");
	assert_int_equal(json_integer_value(json_object_get(app, "responses")), 100);
	times = json_object_get(app, "response_us");
	assert_keys(times, time_keys);
	for (i = 0; i < 4; i++)
		if (fabs(real(times, time_keys[i]) - expected[i]) > 1e-3)
			fail_msg("%s is %f", time_keys[i], real(times, time_keys[i]));
	/* One run in all the time, which alone takes 1 us. */
	assert_true(fabs(real(app, "rate") - 1 / real(root, "end_us")) < 1e-9);
	app = json_array_get(json_object_get(root, "apps"), 1);
	assert_true(fabs(real(app, "rate") - 1) < 1e-2);
	assert_string_equal(json_string_value(json_object_get(app, "class")), "batch");
	assert_int_equal(json_integer_value(json_object_get(app, "responses")), 0);
	assert_true(json_is_null(json_object_get(app, "response_us")));
	json_decref(root);

	out = open_memstream(&text, &size);
	assert_non_null(out);
	assert_int_equal(cot_sim_print_html(&r.summary, r.sampler, out), 0);
	assert_int_equal(cot_sim_print_text(&r.summary, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "Under the policy pools"));
	assert_non_null(strstr(text, "<td>re&lt;quests</td><td>latency</td>"));
	assert_non_null(strstr(text, "re<quests  latency        100  10.0 us  20.0 us  30.0 us  "
				     "40.0 us\n"));
	free(text);
	stop(&r);
}

/* Nobody completed a run: null where nothing is known. */
static void test_unknown(void **state)
{
	struct cot_sim_result nothing = {.end_ps = 1};
	double unknown_us[COT_MAX_APPS] = {(double)NAN, 5.0};
	struct run r;
	json_t *root, *app;

	(void)state;
	start(&r, NULL, NULL);
	cot_sim_summarize(r.sc, &nothing, unknown_us, &r.summary);
	root = json_of(&r, NULL);
	app = json_array_get(json_object_get(root, "apps"), 0);
	assert_true(json_is_null(json_object_get(app, "turnaround_us")));
	assert_true(json_is_null(json_object_get(app, "isolated_us")));
	assert_true(json_is_null(json_object_get(app, "ntt")));
	app = json_array_get(json_object_get(root, "apps"), 1);
	assert_true(real(app, "isolated_us") == 5.0);
	assert_true(json_is_null(json_object_get(root, "antt")));
	assert_true(json_is_null(json_object_get(root, "stp")));
	assert_true(json_is_null(json_object_get(root, "fairness")));
	json_decref(root);
	stop(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),	  cmocka_unit_test(test_allocation),
		cmocka_unit_test(test_timeline),  cmocka_unit_test(test_sampler),
		cmocka_unit_test(test_html),	  cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_responses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
