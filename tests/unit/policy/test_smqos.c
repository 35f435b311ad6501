/* What `smqos` decides, second by second, about programs whose rates are known. */
#include "policy/rates.h"

static void test_without_a_target_all_have_all(void **state)
{
	struct bench *b = begin();

	(void)state;
	start(b, OTHER, 132, 0);
	start(b, OTHER2, 132, 0);
	run(b, 30);
	assert_int_equal(sms(b, OTHER), 132);
	assert_int_equal(sms(b, OTHER2), 132);
	end(b);
}

/* Who launches nothing needs nothing, and nobody makes room for a promise of it. */
static void test_who_does_nothing_has_nothing(void **state)
{
	struct bench *b = begin();

	(void)state;
	start(b, OTHER, 132, 0);
	start(b, GOAL, 132, 800);
	programs[GOAL].runs = false;
	run(b, 30);
	assert_int_equal(sms(b, OTHER), 132);
	programs[GOAL].runs = true;
	run(b, 60);
	assert_true(sms(b, OTHER) < 64);
	expect_apart(b, OTHER);
	/* It pauses: that is no reason to move; it stops. */
	programs[GOAL].runs = false;
	run(b, 9);
	assert_true(sms(b, OTHER) < 64);
	run(b, 3);
	assert_int_equal(sms(b, OTHER), 132);
	/* The other way round: on the first unit it is in nobody's way. */
	programs[GOAL].runs = true;
	programs[OTHER].runs = false;
	run(b, 30);
	assert_int_equal(sms(b, GOAL), 132);
	assert_int_equal(sms(b, OTHER), 8);
	end(b);
}

/* The rate alone is measured once: the others are on one unit for some seconds. */
static void test_the_rate_alone_is_measured(void **state)
{
	struct bench *b = begin();
	unsigned i, quiet = 0, last = 0;

	(void)state;
	start(b, OTHER, 132, 0);
	start(b, OTHER2, 132, 0);
	run(b, 3);
	start(b, GOAL, 132, 500);
	for (i = 0; i < 300; i++) {
		one_second(b);
		if (!is_quiet(b, GOAL))
			continue;
		quiet++;
		last = i;
		assert_int_equal(first(b, OTHER), 0);
		assert_int_equal(sms(b, OTHER), 8);
		assert_int_equal(first(b, OTHER2), 0);
		assert_int_equal(sms(b, OTHER2), 8);
	}
	assert_in_range(quiet, 2, 4);
	assert_in_range(last, 2, 6);
	end(b);
}

/* What it does alone is measured while it is alone: nobody has to make room for that. */
static void test_alone_is_alone(void **state)
{
	struct bench *b = begin();
	uint32_t last = 132;
	unsigned i;

	(void)state;
	start(b, GOAL, 132, 500);
	run(b, 10);
	assert_int_equal(sms(b, GOAL), 132);
	start(b, OTHER, 132, 0);
	for (i = 0; i < 100; i++) {
		one_second(b);
		assert_true(sms(b, GOAL) <= last);
		last = sms(b, GOAL);
		if (last <= 76)
			break;
	}
	assert_in_range(sms(b, GOAL), 68, 76);
	end(b);
}

/* A program that scales with its SMs has as many as it was promised, and one unit more at most. */
static void test_a_rate_is_kept(void **state)
{
	static const uint32_t permille[] = {100, 300, 500, 800, 900};
	unsigned i;

	(void)state;
	for (i = 0; i < 5; i++) {
		struct bench *b = begin();
		double least = 124 * permille[i] / 1000.0, got;

		start(b, OTHER, 132, 0);
		start(b, GOAL, 132, permille[i]);
		run(b, 120);
		got = mean(b, GOAL, 120, 124);
		assert_true(got >= permille[i] / 1000.0);
		assert_true(sms(b, GOAL) < least + 2 * 8 + 4);
		assert_int_equal(sms(b, GOAL) + sms(b, OTHER), 132);
		expect_apart(b, OTHER);
		end(b);
	}
}

/* One that has no use for many SMs gives them away, however much it was promised. */
static void test_what_a_promise_does_not_need(void **state)
{
	struct bench *b = begin();

	(void)state;
	start(b, OTHER, 132, 0);
	start(b, GOAL, 40, 950);
	run(b, 150);
	assert_true(mean(b, GOAL, 60, 40) >= 0.95);
	assert_in_range(sms(b, GOAL), 38, 44);
	assert_true(sms(b, OTHER) >= 88);
	end(b);
}

/* Programs without a target have what pays for them; the rest is nobody's. */
static void test_what_does_not_pay_is_idle(void **state)
{
	struct bench *b = begin();
	unsigned i;

	(void)state;
	start(b, OTHER, 24, 0);
	start(b, OTHER2, 32, 0);
	start(b, GOAL, 40, 800);
	for (i = 0; i < 200; i++) {
		(void)bench_activity(b, OTHER, i & 1 ? COT_ACTIVITY_ACTIVE : COT_ACTIVITY_IDLE);
		one_second(b);
	}
	assert_int_equal(sms(b, OTHER), 24);
	assert_int_equal(sms(b, OTHER2), 32);
	assert_true(mean(b, GOAL, 60, 40) >= 0.8);
	/* A newcomer takes what is nobody's. */
	start(b, GOAL2, 132, 0);
	run(b, 100);
	assert_in_range(sms(b, GOAL2), 36, 48);
	assert_int_equal(sms(b, OTHER), 24);
	assert_int_equal(sms(b, OTHER2), 32);
	end(b);
}

/* At first shares are by weight, and who has most gives first. */
/* What becomes free is first for who has less. */
/* What another policy did to entities does not stay. */
/* Two promises at once. */
static void test_two_rates(void **state)
{
	struct bench *b = begin();
	double before;

	(void)state;
	start(b, OTHER, 132, 0);
	start(b, GOAL, 132, 400);
	start(b, GOAL2, 60, 700);
	run(b, 150);
	before = programs[GOAL2].done;
	assert_true(mean(b, GOAL, 120, 124) >= 0.4);
	assert_true((programs[GOAL2].done - before) / 120 / 6000 >= 0.7);
	assert_true(sms(b, OTHER) >= 16);
	expect_apart(b, OTHER);
	end(b);
}

/* Promises that cannot all be kept: each has its part, and nobody measures for ever. */
static void test_too_much_is_promised(void **state)
{
	struct bench *b = begin();
	unsigned i, quiet = 0;

	(void)state;
	start(b, OTHER, 132, 0);
	start(b, GOAL, 132, 900);
	start(b, GOAL2, 132, 900);
	for (i = 0; i < 3600; i++) {
		one_second(b);
		quiet += is_quiet(b, GOAL) || is_quiet(b, GOAL2);
	}
	assert_int_equal(sms(b, OTHER), 8);
	assert_true(sms(b, GOAL) >= 56);
	assert_true(sms(b, GOAL2) >= 56);
	assert_in_range(quiet, 4, 72); /* of 100 seconds two */
	end(b);
}

/* A program that has become slower or faster than it was alone is measured again. */
static void test_another_program_than_before(void **state)
{
	struct bench *b = begin();

	(void)state;
	start(b, OTHER, 132, 0);
	start(b, GOAL, 132, 500);
	run(b, 100);
	programs[GOAL].per_sm = 30; /* more to do in each launch */
	run(b, 200);
	assert_in_range(sms(b, GOAL), 60, 84);
	assert_true(mean(b, GOAL, 60, 124) >= 0.5);
	programs[GOAL].per_sm = 200;
	run(b, 200);
	assert_true(mean(b, GOAL, 60, 124) >= 0.5);
	assert_in_range(sms(b, GOAL), 60, 84);
	end(b);
}

static void test_another_target(void **state)
{
	struct bench *b = begin();

	(void)state;
	start(b, OTHER, 132, 0);
	start(b, GOAL, 132, 300);
	run(b, 120);
	assert_in_range(sms(b, GOAL), 36, 52);
	set_rate(b, GOAL, 700);
	run(b, 150);
	assert_in_range(sms(b, GOAL), 84, 100);
	/* What it had too little under the old promise it does not get back. */
	set_rate(b, GOAL, 300);
	run(b, 120);
	assert_in_range(sms(b, GOAL), 36, 52);
	set_rate(b, GOAL, 0);
	run(b, 2);
	assert_int_equal(sms(b, GOAL), 132);
	assert_int_equal(sms(b, OTHER), 132);
	end(b);
}

/* A p99 is not its business. */
static void test_other_targets(void **state)
{
	struct bench *b = begin();

	(void)state;
	start(b, OTHER, 132, 0);
	start(b, GOAL, 132, 0);
	set_target(b, GOAL, (struct cot_target){COT_TARGET_P99, 100});
	run(b, 30);
	assert_int_equal(sms(b, GOAL), 132);
	assert_int_equal(sms(b, OTHER), 132);
	end(b);
}

/* Who asked for SMs has them, below and above the others. */
/* Few launches a second: an epoch lasts until they say something. */
/* The next time it runs it is known: nobody makes room, and it begins with what it needed. */
/* `cotenant explain` says what a program was promised and has, and why. */
/* Rates that vary by two hundredths from second to second: the mean is kept all the same. */
static void test_noise(void **state)
{
	struct bench *b = begin();

	(void)state;
	start(b, OTHER, 132, 0);
	start(b, GOAL, 132, 800);
	programs[OTHER].noise = programs[GOAL].noise = 0.02;
	run(b, 60);
	assert_true(mean(b, GOAL, 600, 124) >= 0.79);
	assert_true(mean(b, OTHER, 600, 132) >= 0.15);
	end(b);
}

/* Programs that come, go, pause and are promised other rates: what runs has SMs of its own. */
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_a_target_all_have_all),
		cmocka_unit_test(test_who_does_nothing_has_nothing),
		cmocka_unit_test(test_the_rate_alone_is_measured),
		cmocka_unit_test(test_alone_is_alone),
		cmocka_unit_test(test_a_rate_is_kept),
		cmocka_unit_test(test_what_a_promise_does_not_need),
		cmocka_unit_test(test_what_does_not_pay_is_idle),
		cmocka_unit_test(test_two_rates),
		cmocka_unit_test(test_too_much_is_promised),
		cmocka_unit_test(test_another_program_than_before),
		cmocka_unit_test(test_another_target),
		cmocka_unit_test(test_other_targets),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
