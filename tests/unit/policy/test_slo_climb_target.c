/* What a climb does when its target becomes another one. */
#include "test.h"
#include "unit/policy/climb.h"

/* Under a longer one all used less, and what failed may be tried. */
static void test_a_longer_target_forgives(void **state)
{
	(void)state;
	begin(SLO_PARTS);
	look(second(500), 1600 * MS);
	look(second(1300), 100 * MS);
	assert_int_equal(c.rung, 4);
	assert_int_equal(c.rungs[5].n_failed, 1);
	assert_int_equal(c.rungs[5].failed_use, 1300);
	assert_int_equal(c.rungs[4].use, 500);
	cot_slo_climb_target(&c, 3000, 6000, true);
	assert_int_equal(c.rungs[4].use, 250);
	assert_int_equal(c.rungs[5].failed_use, 650);
	assert_int_equal(c.rungs[5].n_failed, 0);
	look(second(450), 2200 * MS);
	assert_int_equal(c.rung, 5);
}

/* Of several programs another may have used the most: seconds are seen anew, and lead on by
 * themselves. */
static void test_seconds_anew_under_a_longer_target(void **state)
{
	struct slo_use few = {.fast = 900, .fast_high = 900, .n = 5};

	(void)state;
	begin(SLO_PARTS);
	look(few, 30 * S);
	assert_int_equal(c.rung, 4);
	cot_slo_climb_target(&c, 1500, 6000, false);
	few.fast = few.fast_high = 300;
	look(few, 2 * S);
	assert_int_equal(c.rung, 4);
	look(few, 5 * S);
	assert_in_range(c.rung, 5, 6);
}

/* A step up that is taken back leaves a queue, of which the rung below is not to blame: it has time
 * until that has gone. After another step down what is seen counts sooner. */
static void test_a_queue_of_a_step_that_was_taken_back(void **state)
{
	struct slo_use far = second(3000);

	(void)state;
	far.missing = far.far = true;
	begin(SLO_PARTS);
	c.rung = 6;
	look(second(500), 1600 * MS);
	assert_int_equal(c.rung, 7);
	look(far, 100 * MS);
	assert_int_equal(c.rung, 6);
	look(far, 2000 * MS);
	assert_int_equal(c.rung, 6);
	look(far, 200 * MS);
	assert_true(c.rung < 6);
	begin(SLO_PARTS);
	c.rung = 6;
	look(far, 1200 * MS);
	assert_int_equal(c.rung, 4);
	look(far, 1200 * MS);
	assert_true(c.rung < 4);
}

/* Not if it missed the longer one, too; nor under a shorter one, and all use more. */
static void test_a_failure_that_stays(void **state)
{
	(void)state;
	begin(SLO_PARTS);
	look(second(500), 1600 * MS);
	look(second(1300), 100 * MS);
	cot_slo_climb_target(&c, 3000, 3300, true);
	assert_int_equal(c.rungs[5].n_failed, 1);
	look(second(300), 50 * S);
	assert_int_equal(c.rung, 4);
	cot_slo_climb_target(&c, 3300, 2200, true);
	assert_int_equal(c.rungs[5].n_failed, 1);
	assert_in_range(c.rungs[5].failed_use, 1770, 1775);
}

/* What a shorter target does not leave room for is left at once. */
static void test_a_shorter_target(void **state)
{
	(void)state;
	begin(SLO_PARTS);
	look(both(500), 5 * S);
	assert_int_not_equal(c.rung, 4);
	cot_slo_climb_target(&c, 3000, 1500, true);
	assert_int_equal(c.rungs[4].use, 1000);
	look(far_over(), 100 * MS);
	assert_int_equal(c.rung, 4);
}

/* What ten seconds have used of a shorter target needs no other ten, unless it may be chance. */
static void test_a_shorter_target_that_is_missed(void **state)
{
	struct slo_use u = both(1400);

	(void)state;
	begin(SLO_POOLS);
	look(both(700), 2 * S);
	assert_int_equal(c.rung, SLO_USUAL);
	cot_slo_climb_target(&c, 3000, 1500, true);
	u.missing = false;
	u.fast = u.fast_high = 990;
	u.slow_low = 990;
	look(u, 9 * S);
	assert_int_equal(c.rung, SLO_USUAL);
	u.slow_low = 1100;
	look(u, 100 * MS);
	assert_int_equal(c.rung, SLO_USUAL - 1);
	/* The same target all the time: it takes ten. */
	begin(SLO_POOLS);
	look(u, 9 * S);
	assert_int_equal(c.rung, SLO_USUAL);
	look(u, 3 * S);
	assert_int_equal(c.rung, SLO_USUAL - 1);
}

/* Seconds over a target that was are not counted towards one that is longer for one of several. */
static void test_seconds_over_another_target(void **state)
{
	struct slo_use over = second(1200);

	(void)state;
	over.missing = false;
	begin(SLO_POOLS);
	look(over, 4 * S);
	cot_slo_climb_target(&c, 3000, 6000, false);
	look(over, 3 * S);
	assert_int_equal(c.rung, SLO_USUAL);
	look(over, 2 * S);
	assert_int_equal(c.rung, SLO_USUAL - 1);
	assert_int_equal(c.why, SLO_WHY_OVER);
}

/* As far down at once as is guessed to be needed: ResNet-50 beside a matrix product on an H200. */
static void test_a_shorter_target_far_down(void **state)
{
	struct slo_use u = both(720);

	(void)state;
	begin(SLO_POOLS);
	u.n = 143;
	u.busy = 134;
	u.target_us = 4000;
	load = 1430;
	look(u, 2 * S);
	assert_int_equal(c.rung, SLO_USUAL);
	cot_slo_climb_target(&c, 4000, 2800, true);
	u = both(1030);
	u.n = 143;
	u.busy = 134;
	u.target_us = 2800;
	u.slow_low = 1010;
	u.missing = false;
	look(u, 100 * MS);
	assert_int_equal(c.rung, 4);
	/* Nothing is good enough: the lowest. */
	begin(SLO_POOLS);
	look(both(500), 2 * S);
	cot_slo_climb_target(&c, 4000, 1500, true);
	u.slow = u.slow_high = u.slow_low = 1900;
	u.target_us = 1500;
	look(u, 100 * MS);
	assert_int_equal(c.rung, SLO_FROZEN);
	load = 1000;
}

/* One second in which much was missed does not stand for what the rung uses. */
static void test_what_a_failure_used(void **state)
{
	(void)state;
	begin(SLO_POOLS);
	look(second(900), 5 * S);
	look(far_over(), 1600 * MS);
	assert_int_equal(c.rung, SLO_FROZEN);
	assert_in_range(c.rungs[SLO_USUAL].failed_use, 1001, 2000);
}

/* Of several programs another one may have used the most. */
static void test_a_longer_target_of_one_of_several(void **state)
{
	(void)state;
	begin(SLO_PARTS);
	look(both(990), 2 * S);
	assert_int_equal(c.rungs[4].use, 990);
	cot_slo_climb_target(&c, 3000, 6000, false);
	assert_int_equal(c.rungs[4].use, 990);
	cot_slo_climb_target(&c, 6000, 3000, false);
	assert_int_equal(c.rungs[4].use, 1980);
}

/* In breaths, and the longer target leaves room for the usual slices as they were measured. */
static struct slo_use breaths_after(uint32_t usual_used, uint32_t from_us, uint32_t to_us)
{
	struct slo_use use = second(600);

	begin(SLO_POOLS);
	use.target_us = to_us;
	use.busy = 100;
	use.missing = false;
	c.rung = 2;
	c.rungs[SLO_USUAL] = (struct slo_rung){.n_failed = 3,
					       .failed_use = usual_used,
					       .failed_load = 1000,
					       .until_ns = COT_NEVER};
	cot_slo_climb_target(&c, from_us, to_us, true);
	return use;
}

static void test_a_longer_target_goes_to_the_start(void **state)
{
	(void)state;
	look(breaths_after(1470, 2000, 3100), 1200 * MS);
	assert_int_equal(c.rung, SLO_USUAL);
	assert_int_equal(c.why, SLO_WHY_EASED);
	/* One look over the target ends it. */
	look(far_over(), 1600 * MS);
	assert_int_not_equal(c.rung, SLO_USUAL);
}

static void test_a_longer_target_that_is_missed(void **state)
{
	struct slo_use use = breaths_after(1700, 2000, 3000);

	(void)state;
	look(use, 1200 * MS);
	assert_int_not_equal(c.rung, SLO_USUAL);
	look(use, 50 * S);
	assert_int_not_equal(c.rung, SLO_USUAL);
}

/* From one breath to the longest that is guessed to be good, not one by one. */
static void test_breaths_as_far_as_is_guessed(void **state)
{
	struct slo_use use = second(600);

	(void)state;
	begin(SLO_POOLS);
	c.rung = 1;
	use.target_us = 5000;
	use.busy = 100;
	look(use, 1600 * MS);
	assert_int_equal(c.rung, SLO_USUAL);
	/* What the rungs below used says more than the guess. */
	begin(SLO_POOLS);
	c.rung = 2;
	c.rungs[1].use = 500;
	look(use, 1600 * MS);
	assert_int_equal(c.rung, 4);
}

/* A host counted them when the target was another one. */
static void test_misses_of_another_target(void **state)
{
	struct cot_times times = {
		.n = 100, .n_missed = 50, .p50_ns = 1000000, .p95_ns = 1200000, .p99_ns = 1300000};
	struct slo_tenant own = {0};
	struct cot_tenant t = {.own = &own, .target = {COT_TARGET_P99, 2000}};

	(void)state;
	t.windows[COT_HORIZON_1S] =
		(struct cot_window){.at_ns = 100 * S, .response = times, .service = times};
	assert_true(cot_slo_window_use(&t, 2 * MS, 90 * S, 100 * S).missing);
	own.aimed_ns = 99 * S;
	assert_false(cot_slo_window_use(&t, 2 * MS, 90 * S, 100 * S).missing);
	assert_true(cot_slo_window_use(&t, MS, 90 * S, 100 * S).missing);
	own.aimed_ns = 98 * S;
	assert_true(cot_slo_window_use(&t, 2 * MS, 90 * S, 100 * S).missing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_longer_target_forgives),
		cmocka_unit_test(test_seconds_anew_under_a_longer_target),
		cmocka_unit_test(test_a_queue_of_a_step_that_was_taken_back),
		cmocka_unit_test(test_a_failure_that_stays),
		cmocka_unit_test(test_a_shorter_target),
		cmocka_unit_test(test_a_shorter_target_that_is_missed),
		cmocka_unit_test(test_seconds_over_another_target),
		cmocka_unit_test(test_a_shorter_target_far_down),
		cmocka_unit_test(test_what_a_failure_used),
		cmocka_unit_test(test_a_longer_target_of_one_of_several),
		cmocka_unit_test(test_a_longer_target_goes_to_the_start),
		cmocka_unit_test(test_a_longer_target_that_is_missed),
		cmocka_unit_test(test_breaths_as_far_as_is_guessed),
		cmocka_unit_test(test_misses_of_another_target),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
