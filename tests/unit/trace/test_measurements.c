/* The reader of power measurements: rates per cycle and SM, workloads, and every mistake. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "test.h"
#include "trace/measurements.h"

#define HEAD "workload,seconds,power_w,idle_w,sms,clock_mhz,reads,instructions\n"

static void test_rates(void **state)
{
	static const char text[] = "# a comment\n" HEAD "a,2,300,100,10,1000,4e10,2e9\n"
				   "b,1,150,100,10,500,0,5\na,4,320.5,100,10,1000,8e10,4e9\n";
	struct cot_measurements m;
	struct cot_error err = {""};

	(void)state;
	if (cot_measurements_parse("m.csv", text, strlen(text), &m, &err))
		fail_msg("%s", err.text);
	assert_int_equal(m.n, 3);
	assert_int_equal(m.n_events, 2);
	assert_string_equal(m.events[0], "reads");
	assert_string_equal(m.events[1], "instructions");
	assert_int_equal(m.n_workloads, 2);
	assert_string_equal(m.workloads[1], "b");
	assert_int_equal(m.workload[2], 0);
	assert_true(fabs(m.rates[0] - 2) < 1e-12);
	assert_true(fabs(m.rates[1] - 0.1) < 1e-12);
	assert_true(fabs(m.rates[3] - 1e-9) < 1e-20);
	assert_true(m.dynamic_w[2] == 220.5 && m.idle_w[2] == 100);
	assert_false(m.has_set);
	cot_measurements_finish(&m);
}

static void test_sets(void **state)
{
	static const char text[] = "set,workload,seconds,power_w,idle_w,sms,clock_mhz,x\n"
				   "train,a,2,300,100,10,1000,1\ntest,b,2,300,100,10,1000,1\n";
	struct cot_measurements m;
	struct cot_error err = {""};

	(void)state;
	if (cot_measurements_parse("m.csv", text, strlen(text), &m, &err))
		fail_msg("%s", err.text);
	assert_true(m.has_set && m.train[0] && !m.train[1]);
	cot_measurements_finish(&m);
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{"", "m.csv:1:1: the file is empty"},
		{"workload,seconds\na,1\n", "m.csv:1:1: the table has no column 'power_w'"},
		{"workload,seconds,power_w,idle_w,sms,clock_mhz\na,1,2,1,1,1\n",
		 "m.csv:1:1: the table has no column of an event"},
		{HEAD, "m.csv:1:1: the table has no runs; expected a line for each"},
		{HEAD "a,2,300,100,10,1000,4\n", "m.csv:2:1: the line has 7 cells; expected 8"},
		{HEAD ",2,300,100,10,1000,4,5\n", "m.csv:2:1: workload is empty"},
		{HEAD "a,0,300,100,10,1000,4,5\n", "m.csv:2:3: seconds is '0'; expected"},
		{HEAD "a,2,100,100,10,1000,4,5\n",
		 "m.csv:2:5: power_w is 100, not above the idle power of 100"},
		{HEAD "a,2,300,100,0,1000,4,5\n", "m.csv:2:13: sms is '0'; expected a whole"},
		{HEAD "a,2,300,100,10,1000,-4,5\n", "m.csv:2:21: reads is '-4'; expected a number"},
		{"set," HEAD "both,a,2,300,100,10,1000,4,5\n",
		 "m.csv:2:1: set is 'both'; expected one of train, test"},
		{"set," HEAD "train,a,2,300,100,10,1000,4,5\ntest,a,2,300,100,10,1000,4,5\n",
		 "m.csv:3:1: 'a' is in both sets; expected each workload in one"},
	};
	struct cot_measurements m;
	struct cot_error err;
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		memset(&err, 0, sizeof(err));
		assert_int_equal(cot_measurements_parse("m.csv", cases[i].text,
							strlen(cases[i].text), &m, &err),
				 -EINVAL);
		if (!strstr(err.text, cases[i].sentence))
			fail_msg("%zu: '%s', expected '%s'", i, err.text, cases[i].sentence);
	}
}

static void test_too_many(void **state)
{
	size_t cap = 256 + 40 * (size_t)(COT_MEASUREMENTS_MAX + 1), n;
	char *text = malloc(cap);
	struct cot_measurements m;
	struct cot_error err = {""};
	uint32_t i;

	(void)state;
	assert_non_null(text);
	n = (size_t)snprintf(text, cap, "%s", HEAD);
	for (i = 0; i <= COT_MEASUREMENTS_MAX; i++)
		n += (size_t)snprintf(text + n, cap - n, "w%u,2,300,100,10,1000,4,5\n", i);
	assert_int_equal(cot_measurements_parse("m.csv", text, n, &m, &err), -EINVAL);
	assert_non_null(strstr(err.text, "m.csv: the table has 4097 runs; expected at most 4096"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
