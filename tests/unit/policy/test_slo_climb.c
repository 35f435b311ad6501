/* One rung up, or down, look by look. */
#include "test.h"
#include "unit/policy/climb.h"

static void test_ladders(void **state)
{
	struct slo_ladder pools = cot_slo_ladder(SLO_POOLS, 0),
			  parts = cot_slo_ladder(SLO_PARTS, 16);

	(void)state;
	assert_int_equal(pools.lowest, SLO_FROZEN);
	assert_int_equal(pools.start, SLO_USUAL);
	assert_int_equal(parts.lowest, 1);
	assert_int_equal(parts.start, 4);
	assert_int_equal(parts.top, 16);
	assert_int_equal(cot_slo_ladder(SLO_PARTS, 100).top, 16);
	assert_int_equal(cot_slo_ladder(SLO_PARTS, 0).top, 1);
}

/* Each rung of pools gives batch programs no less than the one below. */
static void test_slices(void **state)
{
	struct cot_policy_config config;
	struct slo_slices a, b;
	uint32_t rung;

	(void)state;
	cot_policy_config_init(&config);
	a = cot_slo_ladder_slices(&config, SLO_USUAL);
	assert_int_equal(a.latency_us, config.latency_slice_us);
	assert_int_equal(a.batch_us, config.batch_slice_us);
	for (rung = SLO_USUAL + 1; rung <= cot_slo_ladder(SLO_POOLS, 0).top; rung++, a = b) {
		b = cot_slo_ladder_slices(&config, rung);
		assert_true(b.latency_us <= a.latency_us && b.batch_us >= a.batch_us);
		assert_true(b.latency_us != b.batch_us);
		assert_int_equal(cot_slo_ladder_rung_of_slices(&config, b), rung);
	}
}

static void test_one_up_when_there_is_room(void **state)
{
	(void)state;
	begin(SLO_PARTS);
	look(second(500), 1400 * MS);
	assert_int_equal(c.rung, 4);
	look(second(500), 200 * MS);
	assert_int_equal(c.rung, 5);
	assert_int_equal(c.why, SLO_WHY_ROOM);
	/* By seconds not near to the target, by ten of them it is. */
	look(second(700), 60 * S);
	assert_int_equal(c.rung, 5);
	look(both(700), 100 * MS);
	assert_int_equal(c.rung, 6);
}

/* At once to half of the GPU, if requests that take as much longer as they have fewer SMs keep the
 * target there; else as far as they do, and not to what failed. */
static void test_several_up_far_below(void **state)
{
	(void)state;
	begin(SLO_PARTS);
	look(second(200), 1600 * MS);
	assert_int_equal(c.rung, 8);
	begin(SLO_PARTS);
	c.rung = 1;
	c.ladder.start = 1;
	look(second(380), 1600 * MS);
	assert_int_equal(c.rung, 6);
	begin(SLO_PARTS);
	c.rungs[7].until_ns = COT_NEVER;
	look(second(200), 1600 * MS);
	assert_int_equal(c.rung, 6);
}

/* Without 100 requests no step up. */
static void test_not_sure(void **state)
{
	struct slo_use few = {.fast = 100};

	(void)state;
	begin(SLO_PARTS);
	look(few, 600 * S);
	assert_int_equal(c.rung, 4);
}

/* A program with 40 requests a second is known after three; not if 100 take longer than 10 s. */
static void test_seconds_together(void **state)
{
	struct slo_use few = {.fast = 300, .fast_high = 550, .n = 40};

	(void)state;
	begin(SLO_PARTS);
	look(few, 3 * S);
	assert_int_equal(c.rung, 4);
	look(few, 200 * MS);
	assert_int_equal(c.rung, 5);
	few.n = 9;
	look(few, 600 * S);
	assert_int_equal(c.rung, 5);
}

/* Of five in a second 20 do, if the slowest is far below the target; no more than two rungs at a
 * time, and in pools not at all. */
static void test_few_far_below(void **state)
{
	struct slo_use few = {.fast = 200, .fast_high = 200, .n = 5};

	(void)state;
	begin(SLO_PARTS);
	look(few, 3 * S);
	assert_int_equal(c.rung, 4);
	look(few, 2 * S);
	assert_int_equal(c.rung, 6);
	begin(SLO_PARTS);
	few.fast_high = 480;
	look(few, 5 * S);
	assert_int_equal(c.rung, 5);
	begin(SLO_PARTS);
	few.fast_high = 520;
	look(few, 600 * S);
	assert_int_equal(c.rung, 4);
	begin(SLO_POOLS);
	few.fast_high = 200;
	look(few, 600 * S);
	assert_int_equal(c.rung, SLO_USUAL);
}

/* Beyond half of the GPU only if requests can still be served: neither one second nor ten lead on
 * where they are busy for more than what a step leaves. */
static void test_beyond_half(void **state)
{
	struct slo_use u = both(300);

	(void)state;
	begin(SLO_PARTS);
	c.rung = 8;
	u.busy = 650;
	look(u, 100 * S);
	assert_int_equal(c.rung, 8);
	begin(SLO_PARTS);
	c.rung = 8;
	u = second(300);
	u.busy = 500;
	look(u, 1600 * MS);
	assert_int_equal(c.rung, 9);
}

/* Nearly as far as it goes, two rungs at a time, if requests have taken no longer with fewer SMs,
 * however busy they are; not if they have. */
static void test_beyond_half_for_requests_that_need_few(void **state)
{
	struct slo_use u = second(300);

	(void)state;
	u.busy = 650;
	u.each_us = 1000;
	begin(SLO_PARTS);
	look(u, 1600 * MS);
	assert_int_equal(c.rung, 8);
	look(u, 1600 * MS);
	assert_int_equal(c.rung, 10);
	look(u, 1600 * MS);
	assert_int_equal(c.rung, 12);
	look(u, 1600 * MS);
	assert_int_equal(c.rung, 13);
	look(u, 1600 * MS);
	assert_int_equal(c.rung, 14);
	begin(SLO_PARTS);
	look(u, 1600 * MS);
	u.each_us = 1300;
	look(u, 100 * S);
	assert_int_equal(c.rung, 8);
}

/* Nothing is known of the rung below, but how long requests take with nobody beside them. */
static void test_goes_on_from_alone(void **state)
{
	struct slo_use u = both(800);

	(void)state;
	begin(SLO_PARTS);
	c.rung = 1;
	u.alone = 590;
	look(u, 100 * S);
	assert_int_equal(c.rung, 1);
	begin(SLO_PARTS);
	c.rung = 1;
	u.alone = 650;
	look(u, 1100 * MS);
	assert_int_equal(c.rung, 2);
	/* A known rung tells more, even if it is not the next. */
	begin(SLO_PARTS);
	c.rungs[2].use = 400;
	look(u, 1200 * MS);
	assert_int_equal(c.rung, 4);
}

/* A step up is an experiment: one look over the target ends it. Later it takes more than a second.
 */
static void test_experiment(void **state)
{
	(void)state;
	begin(SLO_PARTS);
	look(second(500), 1600 * MS);
	assert_int_equal(c.rung, 5);
	look(second(1100), 100 * MS);
	assert_int_equal(c.rung, 4);
	assert_int_equal(c.why, SLO_WHY_MISSED);
	/* Not again for a minute. */
	look(second(500), 59 * S);
	assert_int_equal(c.rung, 4);
	look(second(500), 2 * S);
	assert_int_equal(c.rung, 5);
	look(second(900), 4 * S);
	look(second(1100), 1 * S);
	assert_int_equal(c.rung, 5);
	look(second(1100), 400 * MS);
	assert_int_equal(c.rung, 4);
	/* Now for three. */
	look(second(500), 179 * S);
	assert_int_equal(c.rung, 4);
	look(second(500), 2 * S);
	assert_int_equal(c.rung, 5);
}

static void test_far_goes_down_at_once(void **state)
{
	(void)state;
	begin(SLO_PARTS);
	c.rung = 12;
	look(second(900), 5 * S);
	look(far_over(), 100 * MS);
	assert_int_equal(c.rung, 4);
	/* A second still shows what was before; then the rest of the way. */
	look(far_over(), 1 * S);
	assert_int_equal(c.rung, 4);
	look(far_over(), 200 * MS);
	assert_int_equal(c.rung, 1);
}

/* Where it is known what rungs used, no farther than need be. */
static void test_far_by_what_is_known(void **state)
{
	(void)state;
	begin(SLO_PARTS);
	c.rung = 12;
	c.rungs[12].use = 900;
	c.rungs[8].use = 240;
	look(second(900), 5 * S);
	look(far_over(), 100 * MS);
	assert_int_equal(c.rung, 8);
}

static void test_near(void **state)
{
	(void)state;
	begin(SLO_PARTS);
	look(both(1010), 1200 * MS);
	assert_int_equal(c.rung, 3);
	assert_int_equal(c.why, SLO_WHY_NEAR);
}

/* Batch programs are not frozen for one bad second, and not for ten; then they run for less of the
 * time, step by step. */
static void test_freezing_takes_longer(void **state)
{
	struct slo_use near = both(1010);

	(void)state;
	begin(SLO_POOLS);
	near.missing = false;
	look(second(1100), 10 * S);
	assert_int_equal(c.rung, SLO_USUAL);
	look(near, 9 * S);
	assert_int_equal(c.rung, SLO_USUAL);
	look(near, 2 * S);
	assert_int_equal(c.rung, SLO_USUAL - 1);
	look(second(1100), 1200 * MS);
	assert_int_equal(c.rung, SLO_USUAL - 1);
	look(second(1100), 200 * MS);
	assert_int_equal(c.rung, SLO_USUAL - 2);
	look(second(1100), 10 * S);
	assert_int_equal(c.rung, SLO_FROZEN);
}

/* 740 requests a second of 0.87 ms each, and a target of 8.785 ms. */
static struct slo_use busy_second(uint32_t use)
{
	struct slo_use u = second(use);

	u.n = 740;
	u.busy = 640;
	u.target_us = 8785;
	u.most = use / 2;
	return u;
}

static void look_busy(struct slo_use use, uint64_t for_ns)
{
	uint64_t end_ns = now_ns + for_ns;

	for (; now_ns < end_ns; now_ns += 100 * MS)
		(void)cot_slo_climb_look(&c, &use, 7400, now_ns);
}

/* What requests need while batch programs are frozen says how much of the time these can have. */
static void test_from_frozen_as_far_as_is_guessed(void **state)
{
	struct slo_use late = busy_second(3000);

	(void)state;
	late.far = true;
	begin(SLO_POOLS);
	look_busy(late, 2700 * MS);
	assert_int_equal(c.rung, SLO_FROZEN);
	look_busy(busy_second(650), 1400 * MS);
	assert_int_equal(c.rung, SLO_FROZEN);
	look_busy(busy_second(650), 300 * MS);
	assert_int_equal(cot_slo_breath_permille(c.rung), 200);
	/* Not nearly as far where there is less to spare, and no step where there is next to none.
	 */
	begin(SLO_POOLS);
	look_busy(late, 2700 * MS);
	look_busy(busy_second(780), 1700 * MS);
	assert_int_equal(c.rung, SLO_FROZEN + 1);
	begin(SLO_POOLS);
	look_busy(late, 2700 * MS);
	look_busy(busy_second(845), 1700 * MS);
	assert_int_equal(c.rung, SLO_FROZEN);
}

/* What failed of late is not guessed to be good. */
static void test_from_frozen_not_to_what_failed(void **state)
{
	(void)state;
	begin(SLO_POOLS);
	c.rung = SLO_FROZEN;
	c.rungs[SLO_FROZEN + 2] = (struct slo_rung){.n_failed = 1, .until_ns = COT_NEVER};
	look_busy(busy_second(650), 3 * S);
	assert_int_equal(c.rung, SLO_FROZEN + 1);
}

/* A little over the target with batch programs frozen: they stay so. Far over it they do not. */
static void test_nearly_kept(void **state)
{
	struct slo_use nearly = both(1020);

	(void)state;
	nearly.far = true;
	nearly.most = 700;
	begin(SLO_POOLS);
	c.rung = SLO_FROZEN;
	look(nearly, 600 * S);
	assert_int_equal(c.rung, SLO_FROZEN);
	assert_true(c.nearly && !c.hopeless);
	assert_int_equal(c.kept, 1020);
	look(both(990), 100 * MS);
	assert_false(c.nearly);
	nearly.most = 1001;
	look(nearly, 100 * MS);
	assert_int_equal(c.rung, SLO_USUAL);
	assert_true(c.hopeless && !c.nearly);
}

/* 100 requests a second of 1 ms; then five times as many, and some miss. */
static void test_a_load_that_rises_needs_no_proof(void **state)
{
	struct slo_use low = both(400), more = second(1400);

	(void)state;
	low.busy = 100;
	low.target_us = 5000;
	more.target_us = 5000;
	more.far = true;
	begin(SLO_POOLS);
	look(low, 20 * S);
	assert_int_equal(c.rung, SLO_USUAL);
	more.n = 700;
	more.busy = 700;
	look(more, 100 * MS);
	assert_int_equal(c.rung, SLO_FROZEN);
	/* It failed at that load: at less it may be tried again. */
	assert_int_equal(c.rungs[SLO_USUAL].failed_load, 7000);
}

/* From beyond the usual slices as well, and no farther than the new load asks for. */
static void test_a_load_that_rises_leads_down_at_once(void **state)
{
	struct slo_use low = both(400), more = second(1400);

	(void)state;
	low.busy = 100;
	low.target_us = more.target_us = 5000;
	begin(SLO_POOLS);
	cot_slo_climb_begin(&c, cot_slo_ladder(SLO_POOLS, 16), SLO_USUAL + 2, SLO_WHY_FOUND,
			    now_ns);
	look(low, 20 * S);
	assert_int_equal(c.rung, SLO_USUAL + 2);
	more.n = 500;
	more.busy = 720;
	more.far = true;
	look(more, 100 * MS);
	assert_in_range(c.rung, SLO_FROZEN + 1, SLO_USUAL - 1);
	/* One rung that failed under another load says nothing of those above this one. */
	c.rungs[SLO_FROZEN] = (struct slo_rung){.use = 100, .load = 1000};
	more = second(400);
	more.target_us = 5000;
	more.n = 500;
	more.busy = 500;
	load = 5000;
	look(more, 3 * S);
	assert_in_range(c.rung, SLO_USUAL, SLO_USUAL + 2);
	load = 1000;
}

/* Before batch programs run in breaths for the first time most seconds must be over the target, not
 * only some that are far over it. */
static void test_most_seconds_over(void **state)
{
	struct slo_use over = second(1200), good = second(700);
	unsigned i;

	(void)state;
	over.missing = false;
	begin(SLO_POOLS);
	for (i = 0; i < 5; i++) {
		look(over, 2 * S);
		look(good, 2 * S);
	}
	assert_int_equal(c.rung, SLO_USUAL);
	begin(SLO_POOLS);
	look(over, 4 * S);
	assert_int_equal(c.rung, SLO_USUAL);
	look(over, 2 * S);
	assert_int_equal(c.rung, SLO_USUAL - 1);
	assert_int_equal(c.why, SLO_WHY_OVER);
	/* By less than a tenth it takes ten seconds, and then ten more. */
	begin(SLO_POOLS);
	over.fast = over.fast_high = 1050;
	look(over, 15 * S);
	assert_int_equal(c.rung, SLO_USUAL);
}

static void test_a_load_that_stays_does(void **state)
{
	struct slo_use low = both(400), more = second(1400);

	(void)state;
	low.busy = more.busy = 100;
	low.target_us = more.target_us = 5000;
	more.far = true;
	begin(SLO_POOLS);
	look(low, 20 * S);
	look(more, 1400 * MS);
	assert_int_equal(c.rung, SLO_USUAL);
	look(more, 300 * MS);
	assert_int_equal(c.rung, SLO_FROZEN);
}

/* What the usual slices used with fewer requests says nothing of freezing with more. */
static void test_freezing_is_not_for_nothing_with_more_requests(void **state)
{
	struct slo_use low = both(600), more = both(700);

	(void)state;
	low.busy = 100;
	low.target_us = more.target_us = 5000;
	begin(SLO_POOLS);
	look(low, 20 * S);
	more.n = 700;
	more.busy = 700;
	more.far = true;
	look(more, 2 * S);
	assert_int_equal(c.rung, SLO_FROZEN);
	more.far = false;
	more.missing = false;
	load = 7000;
	look(more, 2 * S);
	assert_int_not_equal(c.why, SLO_WHY_NOTHING);
	load = 1000;
}

static void test_freezing_for_nothing(void **state)
{
	(void)state;
	begin(SLO_POOLS);
	look(both(990), 2 * S);
	look(far_over(), 2 * S);
	assert_int_equal(c.rung, SLO_FROZEN);
	look(second(950), 5 * S);
	assert_int_equal(c.rung, SLO_FROZEN);
	look(both(950), 100 * MS);
	assert_int_equal(c.rung, SLO_USUAL);
	assert_int_equal(c.why, SLO_WHY_NOTHING);
	look(far_over(), 50 * S);
	assert_int_equal(c.rung, SLO_USUAL);
	look(far_over(), 11 * S);
	assert_int_equal(c.rung, SLO_FROZEN);
}

static void test_hopeless(void **state)
{
	(void)state;
	begin(SLO_PARTS);
	look(far_over(), 3 * S);
	assert_int_equal(c.rung, 1);
	look(far_over(), 4 * S);
	assert_true(c.hopeless);
	assert_int_equal(c.rung, 4);
	assert_int_equal(c.kept, 3000);
	look(far_over(), 50 * S);
	assert_int_equal(c.rung, 4);
	/* It can be kept again. */
	look(both(900), 2 * S);
	assert_false(c.hopeless);
}

static void test_silence(void **state)
{
	struct slo_use nothing = {0};

	(void)state;
	begin(SLO_PARTS);
	look(nothing, 600 * S);
	assert_int_equal(c.rung, 4);
	assert_int_equal(c.n_changes, 0);
	c.rung = 2;
	look(second(900), 2 * S);
	assert_true(cot_slo_climb_wake_ns(&c) == now_ns + 3 * S);
	look(nothing, 4 * S);
	assert_int_equal(c.rung, 4);
	assert_int_equal(c.why, SLO_WHY_SILENT);
}

static void test_crowd(void **state)
{
	(void)state;
	begin(SLO_PARTS);
	c.rung = 9;
	c.rungs[10].until_ns = COT_NEVER;
	cot_slo_climb_crowd(&c, SLO_RUNGS_MAX, now_ns);
	assert_int_equal(c.rung, 9);
	assert_int_equal(c.rungs[10].until_ns, 0);
	cot_slo_climb_crowd(&c, 6, now_ns);
	assert_int_equal(c.rung, 6);
	assert_int_equal(c.why, SLO_WHY_CROWD);
}

/* What failed in an earlier run is left alone for three minutes, though the load seems to be small.
 */
static void test_warned(void **state)
{
	(void)state;
	begin(SLO_PARTS);
	assert_int_equal(cot_slo_climb_failed(&c), 0);
	cot_slo_climb_warn(&c, 5, now_ns);
	assert_int_equal(cot_slo_climb_failed(&c), 5);
	look(second(500), 179 * S);
	assert_int_equal(c.rung, 4);
	look(second(500), 1300 * MS);
	assert_int_equal(c.rung, 5);
	/* Where it is, and what is below, is not warned of. */
	cot_slo_climb_warn(&c, 5, now_ns);
	cot_slo_climb_warn(&c, SLO_RUNGS_MAX, now_ns);
	assert_int_equal(cot_slo_climb_failed(&c), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ladders),
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_one_up_when_there_is_room),
		cmocka_unit_test(test_several_up_far_below),
		cmocka_unit_test(test_not_sure),
		cmocka_unit_test(test_seconds_together),
		cmocka_unit_test(test_few_far_below),
		cmocka_unit_test(test_beyond_half),
		cmocka_unit_test(test_beyond_half_for_requests_that_need_few),
		cmocka_unit_test(test_goes_on_from_alone),
		cmocka_unit_test(test_experiment),
		cmocka_unit_test(test_far_goes_down_at_once),
		cmocka_unit_test(test_far_by_what_is_known),
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_freezing_takes_longer),
		cmocka_unit_test(test_from_frozen_as_far_as_is_guessed),
		cmocka_unit_test(test_from_frozen_not_to_what_failed),
		cmocka_unit_test(test_nearly_kept),
		cmocka_unit_test(test_a_load_that_rises_needs_no_proof),
		cmocka_unit_test(test_a_load_that_rises_leads_down_at_once),
		cmocka_unit_test(test_most_seconds_over),
		cmocka_unit_test(test_a_load_that_stays_does),
		cmocka_unit_test(test_freezing_is_not_for_nothing_with_more_requests),
		cmocka_unit_test(test_freezing_for_nothing),
		cmocka_unit_test(test_hopeless),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_warned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
