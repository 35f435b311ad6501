/* The reader of what bench/live measured: values, and a sentence for every mistake. */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "support/live_results.h"
#include "test.h"
#include "trace/live.h"

static int parse(const char *text, struct cot_live *ret, struct cot_error *err)
{
	return cot_live_parse("r.json", text, strlen(text), ret, err);
}

static void test_all(void **state)
{
	static const char text[] = LIVE_RUN(LIVE_CELL(
		"a1", "plain", "\"req\"", "\"hog\",\"gemm\"",
		LIVE_WINDOW("alone:B2", LIVE_BATCH("B2", 12.5)) "," LIVE_WINDOW(
			"timeslice",
			LIVE_LATENCY(
				"L1", 100, 200.5,
				300))) ",{\"group\":\"cost\",\"start\":\"cost\",\"daemon\":3}") "  \n" LIVE_RUN(LIVE_CELL("parts",
															  "pools",
															  "\"req-parts\"",
															  "",
															  LIVE_WINDOW(
																  "alone:L1",
																  LIVE_NOTED(
																	  200,
																	  800,
																	  20))));
	struct cot_live l;
	struct cot_error err;

	(void)state;
	assert_int_equal(parse(text, &l, &err), 0);
	assert_int_equal(l.n_runs, 2);
	assert_string_equal(l.runs[0].gpu, "NVIDIA H200");
	assert_string_equal(l.runs[1].date, "a day");
	assert_int_equal(l.n_rows, 3);
	assert_string_equal(l.rows[0].group, "a1");
	assert_string_equal(l.rows[0].start, "plain");
	assert_string_equal(l.rows[0].window, "alone:B2");
	assert_string_equal(l.rows[0].app, "B2");
	assert_string_equal(l.rows[0].program, "gemm");
	assert_false(l.rows[0].latency);
	assert_true(l.rows[0].per_s == 12.5 && l.rows[0].p50_us == 0.0);
	assert_true(l.rows[1].latency && l.rows[1].p50_us == 100 && l.rows[1].p99_us == 200.5);
	assert_int_equal(l.rows[1].run, 0);
	assert_int_equal(l.rows[2].run, 1);
	assert_true(l.rows[2].on_gpu_us == 800 && l.rows[2].off_gpu_us == 20);
	cot_live_finish(&l);
}

/* Nobody answered in the window; and a cell that failed. */
static void test_not_measured(void **state)
{
	static const char text[] = LIVE_RUN(LIVE_CELL(
		"a1", "plain", "\"req\"", "",
		LIVE_WINDOW(
			"timeslice",
			"\"L1\":{\"p50_us\":null,\"rate\":7}")) ",{\"group\":\"a2\",\"start\":\"mps\",\"status\":\"failed\",\"latency\":[\"req\"],"
								"\"windows\":[" LIVE_WINDOW(
									"mps",
									LIVE_LATENCY("L1", 1, 2,
										     3)) "]}");
	struct cot_live l;
	struct cot_error err;

	(void)state;
	assert_int_equal(parse(text, &l, &err), 0);
	assert_int_equal(l.n_rows, 1);
	assert_true(l.rows[0].p50_us == 0.0 && l.rows[0].per_s == 7);
	cot_live_finish(&l);
}

static void test_mistakes(void **state)
{
#define WITH(program) \
	LIVE_RUN(LIVE_CELL("a1", "plain", "\"req\"", "", LIVE_WINDOW("pools", program)))
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"", "r.json: cell:0: there is nothing; expected a result of bench/live"},
		{"{\"schema\":",
		 "r.json: cell:0: this is no JSON; expected a result of bench/live, "
		 "unpacked"},
		{"[]",
		 "r.json: cell:0: this is no result of bench/live; expected its result.json, an "
		 "object with 'machine' and 'cells'"},
		{"{\"schema\":\"else/1\",\"machine\":{\"gpu\":\"g\"},\"cells\":[]}",
		 "r.json: cell:0: 'schema' is 'else/1'; expected cotenant-live/1"},
		{"{\"schema\":\"cotenant-live/1\",\"machine\":{},\"cells\":[]}",
		 "r.json: cell:0: the key 'gpu' is missing"},
		{LIVE_RUN("7"), "r.json: cell:1: a cell is no object; expected one"},
		{LIVE_RUN("{\"windows\":[],\"start\":\"plain\"}"),
		 "r.json: cell:1: the key 'group' is missing"},
		{LIVE_RUN(LIVE_CELL("a1", "plain", "", "", "{\"label\":\"pools\"}")),
		 "r.json: cell:1: a window has no 'programs'"},
		{LIVE_RUN(LIVE_CELL("a1", "plain", "", "", "{\"programs\":{}}")),
		 "r.json: cell:1: the key 'label' is missing"},
		{WITH("\"L2\":{}"), "r.json: cell:1: a program of a window is not one of its cell"},
		{WITH("\"B1\":{}"), "a program of a window is not one of its cell"},
		{WITH("\"L0\":{}"), "a program of a window is not one of its cell"},
		{WITH("\"L1x\":{}"), "a program of a window is not one of its cell"},
		{WITH("\"M1\":{}"), "a program of a window is not one of its cell"},
		{WITH("\"L99999999999999999999\":{}"),
		 "a program of a window is not one of its cell"},
		{WITH("\"L1\":5"), "a program of a window is not one of its cell"},
		{WITH("\"L1\":{\"p50_us\":-1}"), "r.json: cell:1: 'p50_us' is -1; expected"},
		{WITH("\"L1\":{\"rate\":\"fast\"}"), "'rate' is 'fast'; expected"},
		{LIVE_RUN("") LIVE_RUN("") "x", "this is no JSON"},
	};
	struct cot_live l;
	struct cot_error err;
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(bad); i++) {
		assert_int_equal(parse(bad[i].text, &l, &err), -EINVAL);
		if (!strstr(err.text, bad[i].says))
			fail_msg("'%s' does not say '%s'", err.text, bad[i].says);
		assert_null(l.rows);
	}
}

static void test_too_many_runs(void **state)
{
	static char text[(COT_LIVE_RUNS_MAX + 1) * sizeof(LIVE_RUN("")) + 1];
	struct cot_live l;
	struct cot_error err;
	uint32_t i;

	(void)state;
	for (i = 0; i < COT_LIVE_RUNS_MAX; i++)
		strcat(text, LIVE_RUN(""));
	assert_int_equal(parse(text, &l, &err), 0);
	assert_int_equal(l.n_runs, COT_LIVE_RUNS_MAX);
	cot_live_finish(&l);
	strcat(text, LIVE_RUN(""));
	assert_int_equal(parse(text, &l, &err), -EINVAL);
	assert_non_null(strstr(err.text, "too many runs; expected at most 16"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_not_measured),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_too_many_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
