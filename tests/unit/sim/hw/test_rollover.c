/*
 * Rollover, step by step: how many blocks of whom an SM takes, and which quotas are given, with the
 * goal between two batch apps and unlike SMs. Worked out by hand.
 */
#include "unit/sim/hw/fake_hw.h"

#include "base/compiler.h"
#include "sim/hw/scheds.h"

#define EXPECT(events, text) assert_string_equal(fake_schedule(ops, events), text)

/* On 2 SMs with room for 7 blocks: a and c batch, b with a goal of 2 of 8 instructions per cycle.
 */
static void begin(const struct hw_sched_ops *ops, const char *first_quotas)
{
	char expected[512];
	uint32_t i;

	fake_init(2, 3);
	fake.room = 7;
	(void)fake_app(0);
	(void)fake_app(2);
	(void)fake_app(0);
	for (i = 0; i < 3; i++)
		fake_launch(i, 1000, 4, 0);
	fake.active_max = 3;
	(void)snprintf(
		expected, sizeof(expected),
		"admit a, admit b, admit c, "
		"limit 0a 1, limit 0b 1, limit 0c 1, limit 0a 2, limit 0b 2, limit 0c 2, limit 0a 3, "
		"limit 1a 1, limit 1b 1, limit 1c 1, limit 1a 2, limit 1b 2, limit 1c 2, limit 1a 3, "
		"assign 0 a, assign 1 a, assign 2 b, assign 3 b, assign 4 c, assign 5 c, %s",
		first_quotas);
	EXPECT(HW_EV_ARRIVED, expected);
}

/* 1 % of what the GPU can issue is 40 instructions of an epoch; the goal's quota is 2000, with a
 * margin where what was missed is made up for. Quotas go to SMs by blocks. */
#define FIRST(b) \
	"quota 0a 20, quota 0b " b ", quota 0c 20, quota 1a 20, quota 1b " b ", quota 1c 20"

static const double second[FAKE_APPS] = {1, 1.5, 0.5};

/* After an epoch in which b was behind: a, the first without a goal, gives it a block on each SM.
 * b gets what it misses, 2508. The batch apps make room for 2400 of that: they get 1500 / 2400 of
 * what they did.
 */
static void history_and_kept_quota(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_rollover;

	(void)state;
	begin(ops, FIRST("1002"));
	memset(fake.quota, 0, sizeof(fake.quota));
	fake.quota[2] = 400; /* b's on SM 0: with 1200 of its goal more than 3/5 of 2508 */
	assert_string_equal(
		fake_epoch(ops, second),
		"limit 0a 2, limit 0b 3, quota 0a 250, quota 0b 1600, quota 0c 156.25, "
		"limit 1a 2, limit 1b 3, quota 1a 312.5, quota 1b 1254, quota 1c 156.25");
	/* It has what it needs: nobody gives a block, and its quota is the goal's. 2000 * 3 * 1.002
	 * is less than 1500 + 6000. */
	assert_string_equal(fake_epoch(ops, (double[FAKE_APPS]){3, 6, 0.001}),
			    "quota 0a 4500, quota 0b 2600, quota 0c 20, "
			    "quota 1a 4500, quota 1b 2254, quota 1c 20");
	/* What is left of a quota that never was is none. */
	fake.quota[2] = HW_QUOTA_NONE;
	fake.quota[3] = -1000;
	assert_string_equal(fake_epoch(ops, (double[FAKE_APPS]){1, 2, 1}),
			    "quota 0a 500, quota 0b 1000, quota 0c 500, "
			    "quota 1a 500, quota 1b 1000, quota 1c 500");
}

static void history_without_keeping(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_rollover_history;

	(void)state;
	begin(ops, FIRST("1002"));
	memset(fake.quota, 0, sizeof(fake.quota));
	fake.quota[2] = 400;
	assert_string_equal(
		fake_epoch(ops, second),
		"limit 0a 2, limit 0b 3, quota 0a 250, quota 0b 1504.8, quota 0c 156.25, "
		"limit 1a 2, limit 1b 3, quota 1a 312.5, quota 1b 1254, quota 1c 156.25");
}

static void naive(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_rollover_naive;

	(void)state;
	begin(ops, FIRST("1000"));
	assert_string_equal(fake_epoch(ops, second),
			    "limit 0a 2, limit 0b 3, quota 0a 300, quota 0b 1200, quota 0c 187.5, "
			    "limit 1a 2, limit 1b 3, quota 1a 375, quota 1b 1000, quota 1c 187.5");
}

/* b is a little behind: room is made for all of what it misses. */
static void a_little_behind(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_rollover_history;

	(void)state;
	begin(ops, FIRST("1002"));
	fake.idle_warps[2] = fake.idle_warps[3] = 4; /* it needs no more blocks */
	/* 2.204 are to come: a had 2.204 * 1.9 / 1.804. */
	assert_string_equal(fake_epoch(ops, (double[FAKE_APPS]){2.204, 1.804, 0}),
			    "quota 0a 902, quota 0b 1102, quota 0c 20, "
			    "quota 1a 902, quota 1b 1102, quota 1c 20");
}

/* b has no block on SM 0, and can use its quota on SM 1 only; c has none yet, a none any more. */
static void quota_goes_where_blocks_are(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_rollover_naive;
	const char *quotas;

	(void)state;
	begin(ops, FIRST("1000"));
	fake.sms[2].n_resident = 0;
	fake.sms[4].n_resident = fake.sms[5].n_resident = 0;
	fake_finish(0);
	(void)fake_epoch(ops, (double[FAKE_APPS]){1, 2, 1});
	quotas = strstr(fake.log, "quota 0a");
	assert_non_null(quotas);
	assert_string_equal(quotas, "quota 0a 500, quota 0b 0, quota 0c 500, "
				    "quota 1a 500, quota 1b 2000, quota 1c 500");
}

/* Where all have used their quotas, those without a goal go on; elsewhere nothing happens. */
static void used_up(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_rollover;

	(void)state;
	begin(ops, FIRST("1002"));
	memset(fake.quota, 0, sizeof(fake.quota));
	fake.quota[3] = 5; /* b on SM 1 */
	EXPECT(HW_EV_SWITCHED, "");
	EXPECT(HW_EV_QUOTA, "quota 0a none, quota 0c none");
	memset(fake.quota, 0, sizeof(fake.quota));
	fake.quota[0] = 5; /* a on SM 0: it counts as long as it has blocks there */
	EXPECT(HW_EV_QUOTA, "quota 1a none, quota 1c none");
	fake.sms[0].n_resident = 0;
	EXPECT(HW_EV_QUOTA, "quota 0a none, quota 0c none"); /* on SM 1 they may go on already */
}

/* Elastic: the next epoch begins there, with the same quotas and nothing kept. */
static void used_up_elastic(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_rollover_elastic;

	(void)state;
	begin(ops, FIRST("1002"));
	memset(fake.quota, 0, sizeof(fake.quota));
	fake.quota[0] = 5;
	fake.quota[2] = -300; /* the last instructions were too many: not taken off */
	fake.quota[3] = -300;
	EXPECT(HW_EV_QUOTA, "quota 1a 20, quota 1b 1002, quota 1c 20");
	/* What b did not use, for want of blocks, is not kept either. */
	memset(fake.quota, 0, sizeof(fake.quota));
	fake.quota[3] = 300;
	fake.sms[2].n_resident = fake.sms[3].n_resident = 0;
	fake.quota[0] = 5;
	EXPECT(HW_EV_QUOTA, "quota 1a 20, quota 1b 1002, quota 1c 20");
}

/* ---- blocks ---- */

/* Who is alone takes room that is free, one block of an SM in an epoch, to what its kernel can
 * have. */
static void free_room(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_rollover_naive;

	(void)state;
	begin(ops, FIRST("1000"));
	fake_finish(0);
	fake_finish(2);
	fake.room = 20;
	(void)fake_epoch(ops, second);
	assert_memory_equal(fake.log, "limit 0b 3, quota", 17);
	assert_non_null(strstr(fake.log, ", limit 1b 3, quota"));
	(void)fake_epoch(ops, second);
	assert_memory_equal(fake.log, "limit 0b 4, quota", 17);
	(void)fake_epoch(ops, second);
	assert_null(strstr(fake.log, "limit"));
}

/* Who has warps that wait in vain needs slots, not blocks. */
static void idle_warps_are_enough(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_rollover_naive;

	(void)state;
	begin(ops, FIRST("1000"));
	fake.idle_warps[2] = 4;
	fake.idle_warps[3] = 3.9;
	(void)fake_epoch(ops, second);
	assert_null(strstr(fake.log, "limit 0"));
	assert_non_null(strstr(fake.log, "limit 1a 2, limit 1b 3"));
}

/* The last block of a batch app stays; then one with a goal gives, if it has warps to spare. */
static void who_gives(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_rollover_naive;
	static const double goals[] = {2, 0, 2};
	uint32_t i;

	(void)state;
	fake_init(1, 3);
	fake.room = 4;
	fake.active_max = 3;
	for (i = 0; i < 3; i++)
		(void)fake_app(goals[i]);
	for (i = 0; i < 3; i++)
		fake_launch(i, 1000, 3, 0);
	EXPECT(HW_EV_ARRIVED,
	       "admit a, admit b, admit c, limit 0a 1, limit 0b 1, limit 0c 1, limit 0a 2, "
	       "assign 0 a, assign 1 b, assign 2 c, quota 0a 2000, quota 0b 20, quota 0c 2000");
	/* Only c is behind; a has no warps to spare. */
	(void)fake_epoch(ops, (double[FAKE_APPS]){3, 1, 1});
	assert_null(strstr(fake.log, "limit"));
	fake.idle_warps[0] = 4;
	(void)fake_epoch(ops, (double[FAKE_APPS]){3, 1, 1});
	assert_memory_equal(fake.log, "limit 0a 1, limit 0c 2, quota", 29);
	/* Nobody has two any more, but for c itself. */
	(void)fake_epoch(ops, (double[FAKE_APPS]){3, 1, 1});
	assert_null(strstr(fake.log, "limit"));
	/* Its goal is met exactly, or it has no kernel: it asks for nothing. */
	fake.sms[0].limit = 2;
	fake.sms[2].limit = 1;
	(void)fake_epoch(ops, (double[FAKE_APPS]){3, 1, 2});
	assert_null(strstr(fake.log, "limit"));
	fake_finish(2);
	(void)fake_epoch(ops, (double[FAKE_APPS]){3, 1, 0});
	assert_null(strstr(fake.log, "limit 0c"));
}

/* The first one alone takes what it can; a second one gets what is left, in turn. */
static void one_after_the_other(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_rollover_naive;

	(void)state;
	fake_init(2, 2);
	fake.room = 5;
	(void)fake_app(2);
	(void)fake_app(0);
	fake_launch(0, 1000, 4, 0);
	EXPECT(HW_EV_ARRIVED, "admit a, limit 0a 1, limit 0a 2, limit 0a 3, limit 0a 4, "
			      "limit 1a 1, limit 1a 2, limit 1a 3, limit 1a 4, "
			      "assign 0 a, assign 1 a, quota 0a 1000, quota 0b 0, quota 1a 1000, "
			      "quota 1b 0");
	fake_launch(1, 1000, 4, 0);
	EXPECT(HW_EV_ARRIVED, "admit b, limit 0b 1, limit 1b 1, assign 2 b, assign 3 b");
}

/* A kernel of another shape gets the room that the last one had there, as far as it fits. */
static void another_shape(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_rollover_naive;

	(void)state;
	fake_init(1, 2);
	fake.room = 6;
	(void)fake_app(0);
	(void)fake_app(0);
	fake_launch(0, 1000, 4, 0);
	fake_launch(1, 1000, 4, 0);
	fake.active_max = 2;
	EXPECT(HW_EV_ARRIVED, "admit a, admit b, limit 0a 1, limit 0b 1, limit 0a 2, limit 0b 2, "
			      "limit 0a 3, limit 0b 3, assign 0 a, assign 1 b");
	fake_finish(1);
	fake_launch(1, 1000, 2, 0);
	fake.sms[0].limit = 4; /* one room less for what comes */
	EXPECT(HW_EV_ARRIVED, "admit b, limit 0b 2, assign 1 b");
	fake_finish(1);
	fake_launch(1, 1000, 4, 0);
	fake.sms[0].limit = 5;
	EXPECT(HW_EV_ARRIVED, "admit b, limit 0b 1, assign 1 b");
	fake_finish(1);
	fake_launch(1, 1000, 4, 0);
	fake.sms[0].limit = 6;
	EXPECT(HW_EV_ARRIVED, "admit b");
	/* The same shape again needs no new room; what has nothing to issue gets no SM. */
	fake.sms[0].limit = 4;
	EXPECT(HW_EV_FINISHED, "limit 0b 2, assign 1 b");
}

/* Kernels that do not say what their blocks do have whole SMs. */
static void without_lanes(void **state)
{
	const struct hw_sched_ops *ops = &hw_sched_rollover;

	(void)state;
	fake_init(2, 1);
	(void)fake_app(2);
	fake_launch(0, 4, 4, 0);
	EXPECT(HW_EV_ARRIVED | HW_EV_EPOCH | HW_EV_QUOTA, "admit a, assign 0 a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(history_and_kept_quota),
		cmocka_unit_test(history_without_keeping),
		cmocka_unit_test(naive),
		cmocka_unit_test(a_little_behind),
		cmocka_unit_test(quota_goes_where_blocks_are),
		cmocka_unit_test(used_up),
		cmocka_unit_test(used_up_elastic),
		cmocka_unit_test(free_room),
		cmocka_unit_test(idle_warps_are_enough),
		cmocka_unit_test(who_gives),
		cmocka_unit_test(one_after_the_other),
		cmocka_unit_test(another_shape),
		cmocka_unit_test(without_lanes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
