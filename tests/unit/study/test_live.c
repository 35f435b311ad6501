/* Scenarios from what programs do alone: the GPU's figures, the scenarios, what comes of them, and
 * the errors. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/live/live.h"
#include "support/live_results.h"
#include "test.h"

#define REQ_ALONE                                      \
	LIVE_CELL("a1", "plain", "\"req\"", "\"hog\"", \
		  LIVE_WINDOW("alone:L1", LIVE_LATENCY("L1", 120, 120, 240)))
#define A1(windows) LIVE_CELL("a1", "pools", "\"req\"", "\"hog\"", windows)
#define A1_POOLS \
	A1(LIVE_WINDOW("pools", LIVE_LATENCY("L1", 310, 420, 230) "," LIVE_BATCH("B1", 45)))

static struct cot_live file;
static struct cot_live_check check;
static char text[COT_LIVE_SCENARIO_MAX];

static void find(const char *results)
{
	struct cot_error err = {""};

	cot_live_finish(&file);
	if (cot_live_parse("r", results, strlen(results), &file, &err) ||
	    cot_live_find(&file, "r", &check, &err))
		fail_msg("%s", err.text);
}

static struct cot_live_case *find_case(const char *group, const char *window)
{
	uint32_t i;

	for (i = 0; i < check.n_cases; i++)
		if (!strcmp(check.cases[i].group, group) &&
		    !strcmp(check.cases[i].way->window, window))
			return &check.cases[i];
	fail_msg("no %s, %s", group, window);
	return NULL;
}

static void near(double value, double expected, double part)
{
	if (fabs(value - expected) > part * fabs(expected))
		fail_msg("%g instead of %g", value, expected);
}

static void play(struct cot_live_case *c)
{
	struct cot_error err = {""};

	if (cot_live_play(c, &check.gpu, text, &err))
		fail_msg("%s", err.text);
}

/* By hand: live_results.h. */
static void test_gpu(void **state)
{
	(void)state;
	find(LIVE_RUN(LIVE_TRAINING));
	near(check.gpu.host_us, 20, 1e-9);
	near(check.gpu.switch_us, 180, 1e-9);
	near(check.gpu.resume_us, 150, 1e-9);
	near(check.gpu.hot_factor, 1.25 * 1.1, 1e-9);
	near(check.gpu.hot_power, log(1.1) / log(1 / 0.734), 1e-9);
	assert_int_equal(check.n_cases, 0);
}

/* Beside requests that leave it 0.734 it is 1.1 times as fast, and they take 1.25 times as long; it
 * is never faster than the GPU's clock allows, nor do others gain. */
static void test_clock(void **state)
{
	const struct cot_live_gpu *g = &check.gpu;

	(void)state;
	find(LIVE_RUN(LIVE_TRAINING));
	near(cot_live_hot_gain(g, 0.734), 1.1, 1e-9);
	near(cot_live_hot_loss(g, 0.734), 1.25, 1e-9);
	near(cot_live_hot_gain(g, 1), 1, 1e-12);
	near(cot_live_hot_gain(g, 1.2), 1, 1e-12);
	near(cot_live_hot_gain(g, 0.2), g->hot_factor, 1e-12);
	near(cot_live_hot_loss(g, 0.2), 1, 1e-12);
	near(cot_live_hot_loss(g, 1), g->hot_factor, 1e-12);
}

static void test_missing(void **state)
{
	static const char results[] = LIVE_RUN(REQ_ALONE "," A1_POOLS);
	struct cot_live l;
	struct cot_error err;

	(void)state;
	assert_int_equal(cot_live_parse("r", results, strlen(results), &l, &err), 0);
	assert_int_equal(cot_live_find(&l, "r", &check, &err), -EINVAL);
	assert_non_null(strstr(err.text, "expected windows of the mixes 'parts' and 'parts-gemm'"));
	cot_live_finish(&l);
}

/*
 * A request of 120 us waits for a switch of 180 us and a slice of 20 us at most, unless another
 * came just before. Each costs the batch program its 100 us on the GPU and both ways.
 */
static void test_pools(void **state)
{
	struct cot_live_case *c;
	const struct cot_live_app *l, *b;

	(void)state;
	find(LIVE_RUN(LIVE_TRAINING "," REQ_ALONE "," A1_POOLS));
	c = find_case("a1", "pools");
	assert_null(c->why);
	play(c);
	l = &c->apps[0];
	b = &c->apps[1];
	near(l->alone_us, 120, 1e-9);
	near(b->alone_us, 20000, 1e-9);
	near(l->measured.p50_us, 310, 1e-9);
	near(b->measured.part, 0.9, 1e-9);
	assert_true(l->predicted.p50_us > 300 && l->predicted.p50_us < 320);
	assert_true(l->predicted.p99_us > 340 && l->predicted.p99_us < 300 + 180 + 150);
	/* One request every 4310 us. */
	near(b->predicted.part, 1 - 430.0 / 4310, 0.01);
}

/* The batch program's slices are 2048 us each: half of one is waited for in the mean, and more by
 * those who come early in it, of whom there are more. */
static void test_timeslice(void **state)
{
	struct cot_live_case *c;

	(void)state;
	find(LIVE_RUN(LIVE_TRAINING "," REQ_ALONE "," LIVE_CELL(
		"a1", "plain", "\"req\"", "\"hog\"",
		LIVE_WINDOW("timeslice",
			    LIVE_LATENCY("L1", 1400, 2400, 180) "," LIVE_BATCH("B1", 46)))));
	c = find_case("a1", "timeslice");
	play(c);
	assert_true(c->apps[0].predicted.p50_us > 300 + 1024);
	assert_true(c->apps[0].predicted.p50_us < 300 + 1324);
	assert_true(c->apps[0].predicted.p99_us > 2200 && c->apps[0].predicted.p99_us < 2600);
}

/* A program that fills the GPU to its power limit keeps more than its share, and requests beside it
 * take longer. */
static void test_hot(void **state)
{
	struct cot_live_case *c;

	(void)state;
	find(LIVE_RUN(LIVE_TRAINING "," LIVE_CELL(
		"b1-high", "plain", "\"resnet-graph@high\"", "\"gemm\"",
		LIVE_WINDOW(
			"alone:L1",
			LIVE_LATENCY(
				"L1", 820, 820,
				600))) "," LIVE_CELL("b1-high", "rotate", "\"resnet-graph@high\"",
						     "\"gemm\"",
						     LIVE_WINDOW(
							     "rotate",
							     LIVE_LATENCY(
								     "L1", 1000, 1100,
								     600) "," LIVE_BATCH("B1",
											 60)))));
	c = find_case("b1-high", "rotate");
	play(c);
	/* As fast as it can: its share of the GPU is less than half. */
	near(c->apps[1].predicted.part, check.gpu.hot_factor * (1 - (800 + 330) / 1633.0), 0.03);
	assert_true(c->apps[0].predicted.p50_us < 820 + 180 + 25);
	assert_non_null(strstr(text, "policy: rotate"));
}

/* On SMs of their own: nobody waits, and the batch program has its part. */
static void test_parts(void **state)
{
	struct cot_live_case *c;

	(void)state;
	find(LIVE_RUN(LIVE_TRAINING "," REQ_ALONE "," LIVE_CELL(
		"a1", "parts", "\"req\"", "\"hog\"",
		LIVE_WINDOW("parts-latency-only", LIVE_LATENCY("L1", 130, 130, 230)) "," LIVE_WINDOW(
			"parts64",
			LIVE_LATENCY("L1", 128, 160, 230) "," LIVE_BATCH(
				"B1", 25)) "," LIVE_WINDOW("parts64-rest",
							   LIVE_LATENCY("L1", 128, 160,
									230) "," LIVE_BATCH("B1",
											    25)))));
	assert_int_equal(check.n_cases, 2);
	c = find_case("a1", "parts64");
	play(c);
	near(c->apps[0].predicted.p50_us, 130, 0.01);
	near(c->apps[1].predicted.part, 64.0 / 132, 0.02);
	assert_non_null(strstr(text, "sms: 64sm"));
	c = find_case("a1", "parts64-rest");
	play(c);
	near(c->apps[0].predicted.p50_us, 130, 0.01);
}

/* Copies by a kernel have all of the memory long before they have all SMs. */
static void test_copy_on_parts(void **state)
{
	struct cot_live_case *c;

	(void)state;
	find(LIVE_RUN(LIVE_TRAINING "," REQ_ALONE "," LIVE_CELL(
		"m1", "parts", "\"req\"", "\"copy\"",
		LIVE_WINDOW("alone:B1", LIVE_BATCH("B1", 920)) "," LIVE_WINDOW(
			"parts96", LIVE_LATENCY("L1", 128, 160, 230) "," LIVE_BATCH("B1", 900)))));
	c = find_case("m1", "parts96");
	play(c);
	assert_true(c->apps[1].predicted.part > 0.9 && c->apps[1].predicted.part < 1.01);
}

static void test_left_out(void **state)
{
	(void)state;
	find(LIVE_RUN(
		LIVE_TRAINING
		"," LIVE_CELL("g1", "pools", "\"gpt@low\"", "\"gemm\"", LIVE_WINDOW("pools", LIVE_LATENCY("L1", 1, 2, 3))) "," LIVE_CELL(
			"z", "pools", "\"who\"", "\"gemm\"",
			LIVE_WINDOW(
				"pools",
				LIVE_LATENCY(
					"L1", 1,
					2,
					3))) "," LIVE_CELL("b1", "parts", "\"bert-graph@low\"",
							   "\"gemm\"",
							   LIVE_WINDOW(
								   "parts32",
								   LIVE_LATENCY(
									   "L1", 1,
									   2,
									   3))) "," LIVE_CELL("c2",
											      "parts",
											      "",
											      "\"resnet-train\"",
											      LIVE_WINDOW(
												      "parts32",
												      LIVE_BATCH(
													      "B1",
													      3)))));
	assert_int_equal(check.n_cases, 4);
	assert_non_null(strstr(find_case("g1", "pools")->why, "whose CPU is slower"));
	assert_non_null(strstr(find_case("z", "pools")->why, "not known"));
	assert_non_null(strstr(find_case("b1", "parts32")->why, "not measured alone"));
	assert_non_null(strstr(find_case("c2", "parts32")->why, "training"));
}

/* A window without the first of its programs says nothing of the mix. */
static void test_no_programs(void **state)
{
	(void)state;
	find(LIVE_RUN(LIVE_TRAINING "," LIVE_CELL("a2", "parts", "", "\"hog\",\"hog\"",
						  LIVE_WINDOW("parts112", LIVE_BATCH("B2", 5)))));
	assert_int_equal(check.n_cases, 0);
}

/* The last run that measured a mix counts, with what it says of programs alone. */
static void test_last_run(void **state)
{
	struct cot_live_case *c;

	(void)state;
	find(LIVE_RUN(LIVE_TRAINING "," REQ_ALONE "," A1_POOLS) LIVE_RUN(LIVE_CELL(
		"a1", "plain", "\"req\"", "\"hog\"",
		LIVE_WINDOW(
			"alone:L1",
			LIVE_LATENCY(
				"L1", 140, 150,
				240))) "," A1(LIVE_WINDOW("pools",
							  LIVE_LATENCY("L1", 330, 420, 230) "," LIVE_BATCH(
								  "B1",
								  40)) "," LIVE_WINDOW("pools",
										       LIVE_LATENCY("L1", 350, 420, 230) "," LIVE_BATCH(
											       "B1",
											       44)))));
	assert_int_equal(check.n_cases, 1);
	c = find_case("a1", "pools");
	assert_int_equal(c->run, 1);
	near(c->apps[0].measured.p50_us, 340, 1e-9);
	near(c->apps[1].measured.part, 0.84, 1e-9);
	near(c->apps[0].alone_us, 140, 1e-9);
	near(c->apps[0].alone_p99_us, 150, 1e-9);
}

static void test_errors(void **state)
{
	struct cot_live_errors e;
	struct cot_live_case *c;

	(void)state;
	find(LIVE_RUN(LIVE_TRAINING "," REQ_ALONE "," A1_POOLS));
	c = find_case("a1", "pools");
	c->apps[0].predicted.p50_us = 310 * 1.04;
	c->apps[0].predicted.p99_us = 420 * 0.8;
	c->apps[1].predicted.part = 0.9 * 1.1;
	assert_int_equal(cot_live_errors(&check, COT_LIVE_POOLS, COT_LIVE_KIND_P99, &e), 0);
	assert_int_equal(e.n, 1);
	near(e.median, 0.2, 1e-9);
	near(e.worst, -0.2, 1e-9);
	assert_int_equal(cot_live_errors(&check, COT_LIVE_N_POLICIES, COT_LIVE_N_KINDS, &e), 0);
	assert_int_equal(e.n, 3);
	assert_int_equal(e.n_near, 1);
	assert_int_equal(e.n_goal, 2);
	near(e.median, 0.1, 1e-9);
	near(e.worst, -0.2, 1e-9);
	assert_int_equal(cot_live_errors(&check, COT_LIVE_ROTATE, COT_LIVE_N_KINDS, &e), 0);
	assert_int_equal(e.n, 0);
}

static int teardown(void **state)
{
	(void)state;
	cot_live_finish(&file);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpu),	    cmocka_unit_test(test_clock),
		cmocka_unit_test(test_missing),	    cmocka_unit_test(test_pools),
		cmocka_unit_test(test_timeslice),   cmocka_unit_test(test_hot),
		cmocka_unit_test(test_parts),	    cmocka_unit_test(test_copy_on_parts),
		cmocka_unit_test(test_left_out),    cmocka_unit_test(test_last_run),
		cmocka_unit_test(test_no_programs), cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
