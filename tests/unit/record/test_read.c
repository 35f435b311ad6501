/* The reader of recordings: what stands in one, and a sentence for every mistake. */
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "record/record.h"
#include "test.h"

#define HEAD "{\"schema\":\"cotenant.record/1\",\"gpu\":\"NVIDIA H200\",\"interval_ms\":1000}\n"
#define TIMES(n, p50, p95, p99) \
	"{\"n\":" #n ",\"p50_ms\":" #p50 ",\"p95_ms\":" #p95 ",\"p99_ms\":" #p99 "}"
#define SERVE(requests, more) \
	"{\"id\":3,\"name\":\"serve\",\"class\":\"latency\",\"requests\":" #requests more "}"
#define TRAIN		     "{\"id\":4,\"name\":\"train\",\"class\":\"batch\",\"launches_per_s\":20}"
#define SAMPLE(at, programs) "{\"at_ms\":" #at ",\"policy\":\"slo\",\"programs\":[" programs "]}\n"

static int parse(const char *text, struct cot_record *ret, struct cot_error *err)
{
	return cot_record_parse("r.cot", text, strlen(text), ret, err);
}

static void test_all(void **state)
{
	static const char text[] = HEAD SAMPLE(0, SERVE(100, "")) SAMPLE(
		1000,
		SERVE(150,
		      ",\"slice_us\":10000,\"state\":\"running\"") "," TRAIN) "{\"at_ms\":1500,\"who\":\"serve\",\"change\":\"slice_us\",\"from\":\"10\","
									      "\"to\":\"20\",\"why\":\"so\"}\n{\"at_ms\":2000,\"end\":\"time\"}\n";
	struct cot_record r;
	struct cot_error err;

	(void)state;
	assert_int_equal(parse(text, &r, &err), 0);
	assert_string_equal(r.gpu, "NVIDIA H200");
	assert_string_equal(r.policy, "slo");
	assert_string_equal(r.end, "time");
	assert_true(r.interval_ms == 1000 && r.end_ms == 2000);
	assert_int_equal(r.n_samples, 2);
	assert_int_equal(r.n_programs, 2);
	assert_int_equal(r.n_points, 3);
	assert_string_equal(r.programs[0].name, "serve");
	assert_string_equal(r.programs[1].class_, "batch");
	assert_int_equal(r.points[1].requests, 150);
	assert_string_equal(r.points[1].state, "running");
	assert_true(r.points[2].launches_per_s == 20 && r.points[2].program == 1);
	assert_int_equal(r.n_changes, 1);
	assert_string_equal(r.changes[0].why, "so");
	cot_record_finish(&r);
}

/* A minute's window that has exactly the recorded requests. */
static void test_exact(void **state)
{
	static const char text[] = HEAD SAMPLE(0, "") SAMPLE(500, SERVE(10, "")) SAMPLE(
		2500, SERVE(50, ",\"response_60s\":" TIMES(50, 5, 7, 9) ",\"service_60s\":" TIMES(
					50, 1, 2, 3)));
	struct cot_record_total t;
	struct cot_record r;
	struct cot_error err;

	(void)state;
	assert_int_equal(parse(text, &r, &err), 0);
	cot_record_sum_up(&r, 0, &t);
	assert_true(t.exact);
	assert_int_equal(t.requests, 50);
	assert_true(t.times[COT_RECORD_RESPONSE].p99_ms == 9);
	assert_true(t.times[COT_RECORD_SERVICE].p50_ms == 1);
	assert_true(t.per_s == 20);
	cot_record_finish(&r);
}

/* Of seconds that lie behind one another; one within another second does not count. */
static void test_seconds(void **state)
{
#define SECOND(at, requests, p50, p95, p99) \
	SAMPLE(at, SERVE(requests, ",\"response_1s\":" TIMES(100, p50, p95, p99)))
	static const char text[] = HEAD SAMPLE(0, SERVE(1000, "")) SECOND(1000, 1100, 1, 2, 3)
		SECOND(1500, 1150, 50, 60, 70) SECOND(2000, 1200, 10, 20, 30);
	struct cot_record_total t;
	struct cot_record r;
	struct cot_error err;

	(void)state;
	assert_int_equal(parse(text, &r, &err), 0);
	cot_record_sum_up(&r, 0, &t);
	assert_false(t.exact);
	assert_int_equal(t.requests, 200);
	assert_int_equal(t.times[COT_RECORD_RESPONSE].n, 200);
	/* 50 of 1 ms, 45 of 2, 5 of 3, 50 of 10, 45 of 20, 5 of 30 */
	assert_true(t.times[COT_RECORD_RESPONSE].p50_ms == 3);
	assert_true(t.times[COT_RECORD_RESPONSE].p95_ms == 20);
	assert_true(t.times[COT_RECORD_RESPONSE].p99_ms == 30);
	cot_record_finish(&r);
}

/* The best second alone: the first that has been alone for longer than a window looks back. */
static void test_alone(void **state)
{
#define SERVED(p50) SERVE(1, ",\"service_1s\":" TIMES(9, p50, 8, 9))
	static const char text[] = HEAD SAMPLE(0, SERVED(4) "," TRAIN) SAMPLE(1000, SERVED(1))
		SAMPLE(2000, SERVED(2)) SAMPLE(3000, SERVED(3)) SAMPLE(4000, SERVED(5) "," TRAIN);
	struct cot_record_total t;
	struct cot_record r;
	struct cot_error err;

	(void)state;
	assert_int_equal(parse(text, &r, &err), 0);
	cot_record_sum_up(&r, 0, &t);
	assert_int_equal(t.service_alone.n, 9);
	assert_true(t.service_alone.p50_ms == 3 && t.service_alone.p99_ms == 8);
	assert_true(t.service_best.n == 9 && t.service_best.p50_ms == 1);
	cot_record_sum_up(&r, 1, &t);
	assert_true(t.launches_alone_per_s == 0 && t.launches_best_per_s == 20);
	cot_record_finish(&r);
}

/* Programs on other GPUs leave a program alone; one on several is with those of each. */
static void test_gpus(void **state)
{
#define ON(gpus, id, more) \
	"{\"id\":" #id ",\"name\":\"a\",\"class\":\"batch\",\"gpus\":\"" gpus "\"" more "}"
#define RATE ",\"launches_per_s\":7"
#define OF_GPUS(first, second, third)                                                     \
	HEAD SAMPLE(0, ON(first, 1, RATE) "," ON(second, 2, RATE) "," ON(third, 3, RATE)) \
		SAMPLE(2000, ON(first, 1, RATE) "," ON(second, 2, RATE) "," ON(third, 3, RATE))
	static const struct {
		const char *text;
		uint32_t gpus[3];
		bool alone[3];
	} cases[] = {
		{OF_GPUS("0", "1", "2"), {1, 2, 4}, {true, true, true}},
		{OF_GPUS("0", "31", "0"), {1, 1u << 31, 1}, {false, true, false}},
		{OF_GPUS("0", "1,2", "2"), {1, 6, 4}, {true, false, false}},
		{OF_GPUS("0", "", "2"), {1, 0, 4}, {false, false, false}},
	};
	struct cot_record_total t;
	struct cot_record r;
	struct cot_error err;
	unsigned i, k;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		assert_int_equal(parse(cases[i].text, &r, &err), 0);
		for (k = 0; k < 3; k++) {
			assert_int_equal(r.programs[k].gpus, cases[i].gpus[k]);
			cot_record_sum_up(&r, k, &t);
			assert_int_equal(t.launches_alone_per_s > 0, cases[i].alone[k]);
		}
		cot_record_finish(&r);
	}
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"", "r.cot: the file is empty"},
		{"x\n", "r.cot:1: this is no JSON object; expected a line of a recording"},
		{"{\"schema\":\"cotenant.record/2\",\"interval_ms\":1}\n",
		 "expected cotenant.record/1"},
		{HEAD "[]\n", "r.cot:2: this is no JSON object"},
		{HEAD "{\"at_ms\":1}\n", "r.cot:2: the line is of no kind; expected 'programs'"},
		{HEAD SAMPLE(5, "") SAMPLE(4, ""), "r.cot:3: 'at_ms' goes back"},
		{HEAD "{\"at_ms\":1,\"programs\":3}\n", "'programs' is no list"},
		{HEAD "{\"at_ms\":1,\"programs\":[3]}\n", "a program is no object"},
		{HEAD "{\"at_ms\":1,\"programs\":[{\"id\":3,\"name\":\"a\"}]}\n", "class"},
		{HEAD SAMPLE(1, SERVE(-1, "")), "requests"},
		{HEAD SAMPLE(1, ON("32", 1, "")), "r.cot:2: 'gpus' is wrong; expected numbers"},
		{HEAD SAMPLE(1, ON("0;1", 1, "")), "'gpus' is wrong"},
		{HEAD SAMPLE(1, ON(",1", 1, "")), "'gpus' is wrong"},
		{HEAD "{\"at_ms\":1,\"end\":\"time\"}\n" SAMPLE(2, ""),
		 "something follows the end"},
	};
	struct cot_record r;
	struct cot_error err;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		assert_int_equal(parse(cases[i].text, &r, &err), -EINVAL);
		if (!strstr(err.text, cases[i].says))
			fail_msg("expected '%s', got '%s'", cases[i].says, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all),	cmocka_unit_test(test_exact),
		cmocka_unit_test(test_seconds), cmocka_unit_test(test_alone),
		cmocka_unit_test(test_gpus),	cmocka_unit_test(test_mistakes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
