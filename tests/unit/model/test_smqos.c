/*
 * The decisions of SMQoS as numbers: Algorithm 1, the search for the best number of SMs, Algorithm
 * 2; and what the search comes to on tasks whose IPC grows up to a known number of SMs.
 */
#include <stdio.h>

#include "model/smqos.h"
#include "test.h"

#define THRESHOLD 0.03

/* Below the goal in either respect: one more. At the goal exactly: nothing. */
static void a_goal_is_kept(void **state)
{
	(void)state;
	assert_int_equal(cot_smqos_goal_wants(9.9, 12, 10, 5), COT_SMQOS_IN);
	assert_int_equal(cot_smqos_goal_wants(12, 9.9, 10, 5), COT_SMQOS_IN);
	assert_int_equal(cot_smqos_goal_wants(10, 10, 10, 1000), COT_SMQOS_NONE);
	assert_int_equal(cot_smqos_goal_wants(12, 10, 10, 1000), COT_SMQOS_NONE);
	assert_int_equal(cot_smqos_goal_wants(12, 12, 10, 4), COT_SMQOS_NONE);
	assert_int_equal(cot_smqos_goal_wants(12, 12, 10, 6), COT_SMQOS_OUT);
}

/* At the IPC alone the first SM is given away after 5, 6, 10 and 20 epochs: (1/p) N/(N+1) > 1. */
static void the_first_release_depends_on_the_target(void **state)
{
	static const struct {
		double target;
		uint64_t epochs;
	} cases[] = {{80, 5}, {85, 6}, {90, 10}, {95, 20}};
	uint64_t n;
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		for (n = 1; cot_smqos_goal_wants(100, 100, cases[i].target, n) != COT_SMQOS_OUT;
		     n++)
			assert_int_equal(cot_smqos_goal_wants(100, 100, cases[i].target, n),
					 COT_SMQOS_NONE);
		assert_int_equal(n, cases[i].epochs);
	}
}

/* An epoch in which SMs changed hands says nothing; what is missing on average may be asked for. */
static void moves_are_waited_for(void **state)
{
	(void)state;
	assert_true(cot_smqos_goal_may(COT_SMQOS_IN, true, 12, 10));
	assert_true(cot_smqos_goal_may(COT_SMQOS_OUT, true, 12, 10));
	assert_true(cot_smqos_goal_may(COT_SMQOS_IN, false, 9.9, 10));
	assert_false(cot_smqos_goal_may(COT_SMQOS_IN, false, 10, 10));
	assert_false(cot_smqos_goal_may(COT_SMQOS_OUT, false, 12, 10));
}

/* 100 per SM up to `sat` of them, 1 for each beyond. */
static double ipc_on(uint32_t n, uint32_t sat)
{
	return n <= sat ? 100.0 * n : 100.0 * sat + (n - sat);
}

/* Where the task goes from 8 SMs when 4 more are free. */
static void walk(uint32_t sat, bool printed, char *path, size_t size, struct cot_smqos_task *ret)
{
	struct cot_smqos_task t = {.opt = 8};
	uint32_t n = 8, total = 12, epoch;
	size_t used = 0;

	path[0] = '\0';
	for (epoch = 0; epoch < 40; epoch++) {
		double ipc = ipc_on(n, sat);
		enum cot_smqos_op want;

		(printed ? cot_smqos_judge_printed : cot_smqos_judge)(&t, n, ipc, THRESHOLD);
		want = (printed ? cot_smqos_batch_wants_printed : cot_smqos_batch_wants)(&t, n);
		if (want == COT_SMQOS_NONE || (want == COT_SMQOS_IN && n == total) ||
		    (want == COT_SMQOS_OUT && n == 1))
			continue;
		n = want == COT_SMQOS_IN ? n + 1 : n - 1;
		t.last = want;
		t.rate_last = ipc;
		used += (size_t)snprintf(path + used, size - used, "%s%u", used ? " " : "", n);
	}
	*ret = t;
}

static void the_search_ends_where_more_does_not_pay(void **state)
{
	static const struct {
		uint32_t sat;
		const char *path;
		uint32_t opt;
	} golden[] = {
		{4, "9 8 7 6 5 4 3 4", 4},
		{8, "9 8 7 8", 8},
		{11, "9 10 11 12 11", 11},
	};
	struct cot_smqos_task t;
	char path[128];
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		walk(golden[i].sat, false, path, sizeof(path), &t);
		assert_string_equal(path, golden[i].path);
		assert_int_equal(t.opt, golden[i].opt);
		assert_true(t.upper && t.lower);
	}
}

/* As printed it ends with the first SM that went without harm, or keeps one that does not pay. */
static void the_printed_search_ends_too_soon(void **state)
{
	static const struct {
		uint32_t sat;
		const char *path;
		uint32_t opt;
	} golden[] = {
		{4, "9 8", 8},
		{8, "9 8", 8},
		{11, "9 10 11 12", 12},
	};
	struct cot_smqos_task t;
	char path[128];
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		walk(golden[i].sat, true, path, sizeof(path), &t);
		assert_string_equal(path, golden[i].path);
		assert_int_equal(t.opt, golden[i].opt);
		assert_true(t.upper && t.lower);
	}
	/* Harm says that more does not pay, and the task gives on; nothing is learnt of what others
	 * do to it, and nothing is given back. */
	t = (struct cot_smqos_task){
		.opt = 6, .upper = true, .last = COT_SMQOS_OUT, .rate_last = 100};
	cot_smqos_judge_printed(&t, 5, 90, THRESHOLD);
	assert_true(t.upper && !t.lower);
	assert_int_equal(t.opt, 6);
	assert_int_equal(cot_smqos_batch_wants_printed(&t, 6), COT_SMQOS_OUT);
	assert_int_equal(cot_smqos_batch_wants_printed(&t, 5), COT_SMQOS_IN);
	cot_smqos_judge_printed(&t, 5, 200, THRESHOLD);
	assert_false(t.lower);
	t.lower = true;
	assert_int_equal(cot_smqos_batch_wants_printed(&t, 7), COT_SMQOS_NONE);
}

/* Wherever the task saturates within reach, that is what is found. */
static void every_saturation_is_found(void **state)
{
	struct cot_smqos_task t;
	char path[128];
	uint32_t sat;

	(void)state;
	for (sat = 2; sat <= 11; sat++) {
		walk(sat, false, path, sizeof(path), &t);
		assert_int_equal(t.opt, sat);
	}
}

/* Once both bounds are known nothing changes them; an epoch without a swap of its own says nothing.
 */
static void what_is_found_stays(void **state)
{
	struct cot_smqos_task t = {
		.opt = 6, .upper = true, .lower = true, .last = COT_SMQOS_OUT, .rate_last = 100};

	(void)state;
	cot_smqos_judge(&t, 5, 10, THRESHOLD);
	assert_int_equal(t.opt, 6);
	assert_int_equal(cot_smqos_batch_wants(&t, 5), COT_SMQOS_IN);
	assert_int_equal(cot_smqos_batch_wants(&t, 6), COT_SMQOS_NONE);
	assert_int_equal(cot_smqos_batch_wants(&t, 7), COT_SMQOS_OUT);
	t = (struct cot_smqos_task){.opt = 6};
	cot_smqos_judge(&t, 5, 10, THRESHOLD);
	assert_false(t.upper || t.lower);
	assert_int_equal(t.opt, 6);
}

/* What one swap says, whatever was believed to be best before, and that it is said once. */
static void what_a_swap_says(void **state)
{
	static const struct {
		enum cot_smqos_op last;
		double ipc; /* 10 before */
		uint32_t opt;
		bool upper, lower;
	} cases[] = {
		{COT_SMQOS_IN, 10.3, 3, true, false},	{COT_SMQOS_IN, 10.31, 4, false, true},
		{COT_SMQOS_OUT, 9.7, 4, true, false},	{COT_SMQOS_OUT, 9.69, 5, false, true},
		{COT_SMQOS_NONE, 1.0, 9, false, false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cot_smqos_task t = {.opt = 9, .last = cases[i].last, .rate_last = 10};

		cot_smqos_judge(&t, 4, cases[i].ipc, THRESHOLD);
		assert_int_equal(t.opt, cases[i].opt);
		assert_int_equal(t.upper, cases[i].upper);
		assert_int_equal(t.lower, cases[i].lower);
		assert_int_equal(t.last, COT_SMQOS_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_goal_is_kept),
		cmocka_unit_test(the_first_release_depends_on_the_target),
		cmocka_unit_test(moves_are_waited_for),
		cmocka_unit_test(the_printed_search_ends_too_soon),
		cmocka_unit_test(the_search_ends_where_more_does_not_pay),
		cmocka_unit_test(every_saturation_is_found),
		cmocka_unit_test(what_is_found_stays),
		cmocka_unit_test(what_a_swap_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
