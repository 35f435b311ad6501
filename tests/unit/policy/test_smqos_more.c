/* What `smqos` decides about programs with weights, settings and a past; and what it says of it. */
#include <string.h>

#include "policy/rates.h"

static void test_weights(void **state)
{
	struct bench *b = begin();
	unsigned i;

	(void)state;
	weight = 300;
	start(b, OTHER, 132, 0);
	weight = 100;
	start(b, OTHER2, 132, 0);
	start(b, GOAL, 132, 950);
	run(b, 7);
	assert_in_range(sms(b, OTHER), 72, 80);
	for (i = 0; i < 40; i++) {
		assert_true(sms(b, OTHER2) == 24 || sms(b, OTHER) < 72);
		one_second(b);
	}
	assert_int_equal(sms(b, OTHER), 8);
	assert_int_equal(sms(b, OTHER2), 8);
	end(b);
}

static void test_who_has_less_gains_first(void **state)
{
	struct bench *b = begin();
	unsigned i;

	(void)state;
	start(b, GOAL, 132, 200);
	run(b, 10);
	start(b, OTHER, 132, 0);
	start(b, OTHER2, 132, 0);
	for (i = 0; i < 40; i++) {
		one_second(b);
		assert_true(sms(b, OTHER) <= sms(b, OTHER2) + 16 || sms(b, OTHER) == 132);
		assert_true(sms(b, OTHER2) <= sms(b, OTHER) + 16 || sms(b, OTHER2) == 132);
	}
	assert_true(sms(b, OTHER) >= 40 && sms(b, OTHER2) >= 40);
	end(b);
}

static void test_after_another_policy(void **state)
{
	struct bench *b = bench_begin(cot_policy_find("rotate"));
	struct cot_error err;

	(void)state;
	assert_int_equal(bench_solo(b, 1, COT_CLASS_BATCH, 100), 0);
	assert_int_equal(bench_solo(b, 2, COT_CLASS_BATCH, 100), 0);
	bench_run(b, S);
	assert_true(b->slice_us[1] && b->slice_us[2]);
	assert_int_equal(cot_sched_set_policy(b->sched, &cot_policy_smqos, NULL, b->now_ns, &err),
			 0);
	(void)bench_activity(b, 1, COT_ACTIVITY_ACTIVE);
	bench_run(b, S);
	assert_int_equal(b->slice_us[1] + b->slice_us[2], COT_SLICE_DRIVER);
	assert_false(b->frozen[1] || b->frozen[2]);
	end(b);
}

static void test_who_asked_has_what_he_asked_for(void **state)
{
	struct bench *b = begin();

	(void)state;
	start(b, OTHER, 132, 0);
	start(b, GOAL, 132, 500);
	run(b, 60);
	assert_int_equal(bench_sms(b, OTHER2, COT_CLASS_BATCH, SMS(40)), 0);
	assert_int_equal(bench_parts(b, OTHER2, true), 0);
	programs[OTHER2].runs = true;
	programs[OTHER2].sat = 132;
	programs[OTHER2].per_sm = 1;
	run(b, 100);
	assert_int_equal(first(b, OTHER2), 0);
	assert_int_equal(sms(b, OTHER2), 40);
	expect_apart(b, OTHER2);
	assert_int_equal(sms(b, GOAL) + sms(b, OTHER), 92);
	/* All of it: the others go where they can. */
	assert_int_equal(bench_sms(b, OTHER2, COT_CLASS_BATCH, SMS(132)), 0);
	run(b, 20);
	assert_int_equal(sms(b, OTHER2), 132);
	end(b);
}

static void test_slow_launches(void **state)
{
	struct bench *b = begin();
	unsigned i, changes = 0;
	uint32_t n = 0;

	(void)state;
	start(b, OTHER, 132, 0);
	start(b, GOAL, 132, 800);
	programs[GOAL].per_sm = 0.1; /* 13 on all, one in two seconds on a unit */
	for (i = 0; i < 300; i++) {
		one_second(b);
		changes += sms(b, GOAL) != n;
		n = sms(b, GOAL);
	}
	assert_true(changes < 40);
	assert_true(mean(b, GOAL, 200, 124) >= 0.78);
	end(b);
}

static void test_what_was_learned(void **state)
{
	struct bench *b = begin();
	uint32_t id, n;
	unsigned i;

	(void)state;
	start(b, OTHER, 132, 0);
	key = 4711;
	start(b, GOAL, 132, 300);
	run(b, 120);
	assert_in_range(sms(b, GOAL), 36, 52);
	(void)bench_leave(b, GOAL);
	programs[GOAL].runs = false;
	run(b, 20);
	start(b, GOAL2, 132, 300);
	run(b, 2);
	for (i = 0; i < 100; i++) {
		assert_in_range(sms(b, GOAL2), 36, 52);
		one_second(b);
	}
	(void)bench_leave(b, GOAL2);
	programs[GOAL2].runs = false;
	run(b, 2);
	/* It has needed more since. */
	start(b, GOAL, 132, 800);
	run(b, 18);
	n = sms(b, GOAL);
	assert_in_range(n, 68, 100);
	(void)bench_leave(b, GOAL);
	programs[GOAL].runs = false;
	run(b, 2);
	start(b, GOAL2, 132, 300);
	run(b, 2);
	assert_in_range(sms(b, GOAL2), n - 8, n);
	(void)bench_leave(b, GOAL2);
	programs[GOAL2].runs = false;
	/* But nobody's last unit is taken for it. */
	key = 0;
	for (id = OTHER2; id < OTHER2 + 14; id++)
		start(b, id, 132, 0);
	run(b, 2);
	key = 4711;
	start(b, GOAL, 132, 300);
	one_second(b);
	for (id = OTHER; id < OTHER2 + 14; id++)
		assert_int_equal(sms(b, id), 8);
	expect_apart(b, OTHER2 + 14);
	end(b);
}

static bool says(const struct bench *b, uint32_t id, const char *name, const char *text,
		 uint64_t least, uint64_t most)
{
	struct cot_fact facts[COT_FACTS_MAX];
	unsigned i, n = cot_sched_explain(b->sched, id, facts);

	for (i = 0; i < n; i++)
		if (!strcmp(facts[i].name, name))
			return (!text || !strncmp(facts[i].text, text, strlen(text))) &&
			       facts[i].value >= least && facts[i].value <= most;
	return false;
}

static void test_it_explains(void **state)
{
	struct bench *b = begin();

	(void)state;
	start(b, OTHER, 24, 0);
	start(b, GOAL, 132, 500);
	bench_run(b, S / 10);
	assert_true(says(b, OTHER, "because", "no program with a rate target", 0, 0));
	run(b, 2);
	assert_true(says(b, GOAL, "because", "its rate alone is being measured", 0, 0));
	assert_true(says(b, GOAL, "promised", NULL, 500, 500));
	assert_false(says(b, GOAL, COT_SAYS_KEEPS, NULL, 0, UINT64_MAX));
	run(b, 120);
	assert_true(says(b, GOAL, "because", "it keeps its target", 0, 0));
	assert_true(says(b, GOAL, COT_SAYS_KEEPS, "of its rate alone", 450, 600));
	assert_true(says(b, OTHER, "because", "another unit of SMs would bring", 0, 0));
	assert_true(says(b, OTHER, "SMs that nobody has", NULL, 32, 132 - 24 - 60));
	start(b, OTHER2, 132, 0);
	programs[OTHER2].runs = false;
	run(b, 1);
	assert_true(says(b, OTHER2, "because", "it launches nothing", 0, 0));
	assert_int_equal(bench_sms(b, OTHER2, COT_CLASS_BATCH, SMS(8)), 0);
	assert_true(says(b, OTHER2, "because", "its user asked", 0, 0));
	(void)bench_parts(b, OTHER2, false);
	assert_true(says(b, OTHER2, "because", "it cannot be put on a part", 0, 0));
	programs[GOAL].per_sm = 40;
	run(b, 10);
	assert_true(says(b, GOAL, "because", "it is below its target", 0, 0));
	start(b, GOAL2, 132, 500);
	run(b, 1);
	assert_true(says(b, GOAL2, "because", "its rate alone is being measured", 0, 0));
	start(b, OTHER2 + 1, 132, 500);
	run(b, 1);
	assert_true(says(b, OTHER2 + 1, "because", "its rate alone is not known yet", 0, 0));
	run(b, 30);
	end(b);
}

/* Who has more than one unit gives first when somebody asks for SMs. */
static void test_room_for_who_asks(void **state)
{
	struct bench *b = begin();
	uint32_t id;

	(void)state;
	start(b, GOAL, 132, 500);
	run(b, 10);
	for (id = OTHER; id < OTHER + 10; id++)
		start(b, id, 132, 0);
	run(b, 1);
	assert_int_equal(sms(b, GOAL), 52);
	assert_int_equal(bench_sms(b, GOAL2, COT_CLASS_BATCH, SMS(40)), 0);
	assert_int_equal(bench_parts(b, GOAL2, true), 0);
	bench_run(b, 50 * MS);
	assert_int_equal(sms(b, GOAL), 12);
	expect_apart(b, OTHER + 10);
	end(b);
}

static void test_more_programs_than_units(void **state)
{
	struct bench *b = begin();
	uint32_t id;

	(void)state;
	start(b, GOAL, 132, 500);
	for (id = GOAL + 1; id < 30; id++)
		start(b, id, 132, 0);
	run(b, 60);
	for (id = GOAL; id < 30; id++)
		assert_true(sms(b, id) >= 8 && sms(b, id) < 132);
	for (id = GOAL + 1; id < 30; id++) {
		(void)bench_leave(b, id);
		programs[id].runs = false;
	}
	run(b, 5);
	assert_int_equal(sms(b, GOAL), 132);
	end(b);
}

static void test_a_day(void **state)
{
	struct bench *b = begin();
	unsigned i;
	uint32_t id;

	(void)state;
	for (i = 0; i < 2000; i++) {
		id = 1 + (uint32_t)cot_rng_below(&rng, 6);
		if (!cot_sched_tenant(b->sched, id))
			start(b, id, 8 + (double)cot_rng_below(&rng, 125),
			      cot_rng_below(&rng, 2) ? (uint32_t)cot_rng_below(&rng, 1001) : 0);
		else if (!cot_rng_below(&rng, 8))
			set_rate(b, id, (uint32_t)cot_rng_below(&rng, 1001));
		else if (!cot_rng_below(&rng, 8))
			programs[id].runs = !programs[id].runs;
		else if (!cot_rng_below(&rng, 20)) {
			(void)bench_leave(b, id);
			programs[id].runs = false;
		}
		run(b, (unsigned)cot_rng_below(&rng, 15));
	}
	end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_who_has_less_gains_first),
		cmocka_unit_test(test_after_another_policy),
		cmocka_unit_test(test_who_asked_has_what_he_asked_for),
		cmocka_unit_test(test_slow_launches),
		cmocka_unit_test(test_what_was_learned),
		cmocka_unit_test(test_it_explains),
		cmocka_unit_test(test_room_for_who_asks),
		cmocka_unit_test(test_more_programs_than_units),
		cmocka_unit_test(test_a_day),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
