/* One rung up, or down, look by look. */
#include "policy/slo.h"
#include "test.h"

#define MS COT_NS_PER_MS
#define S  COT_NS_PER_S

static struct slo_climb c;
static uint64_t now_ns, load = 1000;

static void begin(enum slo_topology topology)
{
	now_ns = 100 * S;
	cot_slo_climb_begin(&c, cot_slo_ladder(topology, 16), cot_slo_ladder(topology, 16).start,
			    SLO_WHY_START, now_ns);
}

/* A look every 0.1 s, for so long, at something that uses so much. */
static void look(struct slo_use use, uint64_t for_ns)
{
	uint64_t end_ns = now_ns + for_ns;

	while (now_ns < end_ns) {
		now_ns += 100 * MS;
		(void)cot_slo_climb_look(&c, &use, load, now_ns);
	}
}

static struct slo_use second(uint32_t use)
{
	return (struct slo_use){.fast = use, .fast_high = use, .n = 100, .missing = use > 1000};
}

static struct slo_use both(uint32_t use)
{
	struct slo_use u = second(use);

	u.slow = u.slow_high = use;
	u.slow_sure = true;
	return u;
}

static struct slo_use far_over(void)
{
	struct slo_use u = second(3000);

	u.far = true;
	return u;
}

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
	struct slo_use few = {.fast = 300, .fast_high = 500, .n = 40};

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

/* ---- another target ---- */

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
		cmocka_unit_test(test_ladders),
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_one_up_when_there_is_room),
		cmocka_unit_test(test_several_up_far_below),
		cmocka_unit_test(test_not_sure),
		cmocka_unit_test(test_seconds_together),
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
		cmocka_unit_test(test_a_load_that_stays_does),
		cmocka_unit_test(test_freezing_is_not_for_nothing_with_more_requests),
		cmocka_unit_test(test_freezing_for_nothing),
		cmocka_unit_test(test_hopeless),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_warned),
		cmocka_unit_test(test_a_longer_target_forgives),
		cmocka_unit_test(test_a_queue_of_a_step_that_was_taken_back),
		cmocka_unit_test(test_a_failure_that_stays),
		cmocka_unit_test(test_a_shorter_target),
		cmocka_unit_test(test_a_shorter_target_that_is_missed),
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
