/* An app that says what it wants is given a policy that sees to it. */
#include <string.h>

#include "test.h"
#include "trace/scenario_read.h"

#define HEAD   "schema: cotenant.scenario/1\n"
#define APP(s) "apps: [{name: a, " s ", program: [{cpu_us: 1}]}]\n"

static const char *const schedulers[] = {"fcfs", "timeslice"};
static const char *const policies[] = {"slo", "smguard", "pools"};

static struct cot_scenario *parse(const char *text, const char *policy)
{
	struct cot_scenario_options options = {
		.schedulers = schedulers,
		.n_schedulers = COT_ARRAY_LEN(schedulers),
		.policies = policies,
		.n_policies = COT_ARRAY_LEN(policies),
		.policy = policy,
	};
	struct cot_scenario *sc = NULL;
	struct cot_error err = {""};

	if (cot_scenario_parse("s.yaml", text, strlen(text), &options, &sc, &err))
		fail_msg("%s", err.text);
	return sc;
}

static void test_default(void **state)
{
	static const struct {
		const char *text, *ask, *scheduler, *policy;
	} rows[] = {
		{HEAD APP("rate: 80%"), NULL, "timeslice", "slo"},
		{HEAD APP("class: latency, p99: 5ms"), NULL, "timeslice", "slo"},
		{HEAD "scheduler: timeslice\n" APP("class: latency, slowdown: 2x"), NULL,
		 "timeslice", "slo"},
		{HEAD "scheduler: timeslice\npolicy: smguard\n" APP("rate: 80%"), NULL, "timeslice",
		 "smguard"},
		{HEAD APP("rate: 80%"), "pools", "timeslice", "pools"},
		{HEAD "apps: [{name: a, program: [{cpu_us: 1}]}, {name: b, rate: 1%, program: "
		      "[{cpu_us: 1}]}]\n",
		 NULL, "timeslice", "slo"},
		{HEAD APP("weight: 5"), NULL, "fcfs", ""},
	};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		struct cot_scenario *sc = parse(rows[i].text, rows[i].ask);

		assert_string_equal(sc->scheduler, rows[i].scheduler);
		assert_string_equal(sc->policy, rows[i].policy);
		cot_scenario_destroy(sc);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
