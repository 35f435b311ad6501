/* What the policies decide: rotation and pools, second by second. */
#include <errno.h>
#include <string.h>

#include "policy/policy_bench.h"
#include "test.h"

#define MS COT_NS_PER_MS
#define S  COT_NS_PER_S

static struct bench b;

static const struct cot_entity *entity(uint32_t id)
{
	return cot_sched_entity(b.sched, id);
}

static void start(const char *policy)
{
	bench_init(&b, cot_policy_find(policy));
}

static int end(void **state)
{
	(void)state;
	bench_expect_no_mistakes(&b);
	bench_finish(&b);
	return 0;
}

static void assert_share(uint32_t id, double share, double of_s)
{
	double got = (double)b.thawed_ns[id] / 1e9 / of_s;

	if (got < 0.93 * share || got > 1.07 * share)
		fail_msg("entity %u had %.3f of the time; expected %.3f", id, got, share);
}

/* ---- timeslice ---- */

static void test_timeslice_does_nothing(void **state)
{
	(void)state;
	start("timeslice");
	(void)bench_solo(&b, 1, COT_CLASS_LATENCY, 100);
	(void)bench_solo(&b, 2, COT_CLASS_BATCH, 100);
	bench_run(&b, 10 * S);
	assert_int_equal(b.n_actions, 0);
}

/* ---- rotate ---- */

static unsigned n_thawed_batch(uint32_t from, uint32_t to)
{
	unsigned n = 0;

	for (; from <= to; from++)
		n += !b.frozen[from];
	return n;
}

static void test_rotate_one_at_a_time(void **state)
{
	unsigned i;

	(void)state;
	start("rotate");
	(void)bench_solo(&b, 1, COT_CLASS_LATENCY, 100);
	for (i = 2; i <= 5; i++)
		(void)bench_solo(&b, i, COT_CLASS_BATCH, 100);
	bench_run(&b, 100 * MS);
	bench_reset_times(&b);
	for (i = 0; i < 20000; i++) {
		bench_run(&b, 1 * MS);
		assert_true(n_thawed_batch(2, 5) <= 1);
	}
	assert_int_equal(b.slice_us[1], 10000);
	assert_int_equal(b.slice_us[2], 20);
	assert_int_equal(b.thawed_ns[1], 20 * S);
	/* A freeze and a thaw of 1 ms each are lost per turn of 50 ms. */
	for (i = 2; i <= 5; i++)
		assert_share(i, 0.25 * 50 / 52, 20);
}

static void test_rotate_by_weight(void **state)
{
	(void)state;
	start("rotate");
	(void)bench_solo(&b, 1, COT_CLASS_BATCH, 100);
	(void)bench_solo(&b, 2, COT_CLASS_BATCH, 300);
	(void)bench_solo(&b, 3, COT_CLASS_BATCH, 600);
	bench_run(&b, 1 * S);
	bench_reset_times(&b);
	bench_run(&b, 30 * S);
	assert_share(1, 0.1, 29);
	assert_share(2, 0.3, 29);
	assert_share(3, 0.6, 29);
}

static void test_rotate_alone_is_never_frozen(void **state)
{
	(void)state;
	start("rotate");
	(void)bench_solo(&b, 1, COT_CLASS_BATCH, 100);
	bench_run(&b, 10 * S);
	assert_int_equal(bench_stats(&b).actions[COT_ACTION_FREEZE], 0);
	/* On another GPU it is in nobody's way. */
	(void)bench_solo_on(&b, 2, COT_CLASS_BATCH, 100, GPU1);
	bench_run(&b, 10 * S);
	assert_int_equal(bench_stats(&b).actions[COT_ACTION_FREEZE], 0);
}

static void test_rotate_idle_owner_gives_up_its_turn(void **state)
{
	(void)state;
	start("rotate");
	(void)bench_solo(&b, 1, COT_CLASS_BATCH, 100);
	(void)bench_solo(&b, 2, COT_CLASS_BATCH, 100);
	bench_run(&b, 10 * MS);
	assert_true(!b.frozen[1] && b.frozen[2]);
	(void)bench_activity(&b, 1, COT_ACTIVITY_IDLE);
	bench_run(&b, 1 * MS);
	assert_true(b.frozen[2]); /* a short pause is not worth it */
	bench_run(&b, 3 * MS);
	assert_false(b.frozen[2]);
	/* It wants back: the turn of the other one goes on, it waits. */
	(void)bench_activity(&b, 1, COT_ACTIVITY_ACTIVE);
	bench_run(&b, 2 * MS);
	assert_true(b.frozen[1] && !b.frozen[2]);
	bench_run(&b, 60 * MS);
	assert_true(!b.frozen[1] && b.frozen[2]);
}

static void test_rotate_nobody_saves_up(void **state)
{
	(void)state;
	start("rotate");
	(void)bench_solo(&b, 1, COT_CLASS_BATCH, 100);
	(void)bench_solo(&b, 2, COT_CLASS_BATCH, 100);
	(void)bench_activity(&b, 2, COT_ACTIVITY_IDLE);
	bench_run(&b, 20 * S);
	(void)bench_activity(&b, 2, COT_ACTIVITY_ACTIVE);
	bench_reset_times(&b);
	bench_run(&b, 2 * S);
	assert_share(1, 0.5, 1.93);
	assert_share(2, 0.5, 1.93);
}

static void test_rotate_several_gpus(void **state)
{
	(void)state;
	start("rotate");
	(void)bench_solo_on(&b, 1, COT_CLASS_BATCH, 100, GPU0);
	(void)bench_solo_on(&b, 2, COT_CLASS_BATCH, 100, GPU1);
	(void)bench_solo_on(&b, 3, COT_CLASS_BATCH, 100, GPU0 | GPU1);
	bench_run(&b, 1 * S);
	bench_reset_times(&b);
	bench_run(&b, 20 * S);
	assert_share(1, 0.5, 19.2);
	assert_share(2, 0.5, 19.2);
	assert_share(3, 0.5, 19.2);
}

static int fail_freezes_of_2(struct bench *bench, const struct cot_action *a)
{
	(void)bench;
	return a->kind == COT_ACTION_FREEZE && a->entity == 2 ? -EIO : 0;
}

/* The way out when a freeze does not work: it runs beside the others, with slices for that. */
static void test_rotate_what_cannot_be_frozen(void **state)
{
	unsigned i;

	(void)state;
	start("rotate");
	b.fault = fail_freezes_of_2;
	(void)bench_solo(&b, 9, COT_CLASS_LATENCY, 100);
	for (i = 1; i <= 3; i++)
		(void)bench_solo(&b, i, COT_CLASS_BATCH, 100);
	bench_run(&b, 5 * S);
	assert_true(entity(2)->n_failed >= 3);
	assert_int_equal(b.slice_us[1], 2000);
	bench_reset_times(&b);
	bench_run(&b, 8 * S);
	assert_true(b.thawed_ns[1] > 3 * S);
	assert_true(b.thawed_ns[3] > 3 * S);
	/* Some day it works again. */
	b.fault = NULL;
	bench_run(&b, 15 * S);
	assert_int_equal(b.slice_us[1], 20);
	bench_reset_times(&b);
	bench_run(&b, 10 * S);
	for (i = 1; i <= 3; i++)
		assert_share(i, 0.33, 9.6);
}

static void test_rotate_many(void **state)
{
	uint32_t i;

	(void)state;
	start("rotate");
	for (i = 1; i <= 250; i++)
		(void)bench_solo(&b, i, COT_CLASS_BATCH, i == 1 ? 1 : 10000);
	bench_run(&b, 60 * S);
	assert_true(b.thawed_ns[1] > 0);
}

/* Short slices are for latency programs, also for one that is just starting. */
static void test_rotate_slices_follow_latency_programs(void **state)
{
	struct cot_event ev = {
		.type = COT_EV_TENANT,
		.id = 3,
		.tenant = {.cls = COT_CLASS_LATENCY, .weight = 100, .gpu_mask = GPU0},
	};

	(void)state;
	start("rotate");
	(void)bench_solo(&b, 1, COT_CLASS_BATCH, 100);
	(void)bench_solo_on(&b, 2, COT_CLASS_BATCH, 100, GPU1);
	bench_run(&b, 10 * MS);
	assert_int_equal(b.slice_us[1], 2000);
	(void)bench_event(&b, ev);
	bench_run(&b, 10 * MS);
	assert_int_equal(b.slice_us[1], 20);
	assert_int_equal(b.slice_us[2], 2000);
	ev.tenant.ready = true;
	(void)bench_event(&b, ev);
	bench_run(&b, 10 * MS);
	assert_int_equal(b.slice_us[1], 20);
	assert_int_equal(b.slice_us[3], 10000);
	ev.tenant.ready = false; /* left alone while it sets up more channels */
	(void)bench_event(&b, ev);
	bench_run(&b, 10 * MS);
	assert_int_equal(b.slice_us[1], 20);
	(void)bench_leave(&b, 3);
	bench_run(&b, 10 * MS);
	assert_int_equal(b.slice_us[1], 2000);
}

static void test_rotate_mode_follows_the_blocks(void **state)
{
	(void)state;
	start("rotate");
	(void)bench_blocks(&b, 1, COT_CLASS_LATENCY, 0, 20);
	(void)bench_blocks(&b, 2, COT_CLASS_BATCH, 0, 20);
	(void)bench_blocks(&b, 3, COT_CLASS_BATCH, 0, 5000);
	(void)bench_solo(&b, 4, COT_CLASS_BATCH, 100);
	bench_run(&b, 200 * MS);
	assert_int_equal(b.mode[1], COT_MODE_SWITCH);
	assert_int_equal(b.mode[2], COT_MODE_DRAIN);
	assert_int_equal(b.mode[3], COT_MODE_SWITCH);
	assert_int_equal(b.mode[4], COT_MODE_SWITCH);
}

/* ---- pools ---- */

enum { LATENCY_POOL = 100, BATCH_POOL = 101 };

static void two_pools(void)
{
	start("pools");
	(void)bench_pool(&b, LATENCY_POOL, COT_CLASS_LATENCY);
	(void)bench_pool(&b, BATCH_POOL, COT_CLASS_BATCH);
}

static void test_pools_slices_follow_the_latency_pool(void **state)
{
	(void)state;
	two_pools();
	(void)bench_member(&b, 1, COT_CLASS_BATCH, BATCH_POOL);
	bench_run(&b, 100 * MS);
	assert_int_equal(b.slice_us[BATCH_POOL], 2000);
	assert_int_equal(b.slice_us[LATENCY_POOL], 2000);
	(void)bench_member(&b, 2, COT_CLASS_LATENCY, LATENCY_POOL);
	bench_run(&b, 2 * MS);
	assert_int_equal(b.slice_us[BATCH_POOL], 20);
	assert_int_equal(b.slice_us[LATENCY_POOL], 10000);
	assert_int_equal(b.mode[BATCH_POOL], COT_MODE_SWITCH);
	/* Idle between requests is not gone. */
	(void)bench_activity(&b, 2, COT_ACTIVITY_IDLE);
	bench_run(&b, 900 * MS);
	assert_int_equal(b.slice_us[BATCH_POOL], 20);
	bench_run(&b, 200 * MS);
	assert_int_equal(b.slice_us[BATCH_POOL], 2000);
	(void)bench_activity(&b, 2, COT_ACTIVITY_ACTIVE);
	bench_run(&b, 2 * MS);
	assert_int_equal(b.slice_us[BATCH_POOL], 20);
	(void)bench_leave(&b, 2);
	bench_run(&b, 2 * MS);
	assert_int_equal(b.slice_us[BATCH_POOL], 2000);
	assert_int_equal(bench_stats(&b).actions[COT_ACTION_FREEZE], 0);
}

static void test_pools_requests_cost_no_actions(void **state)
{
	uint64_t n;
	unsigned i;

	(void)state;
	two_pools();
	(void)bench_member(&b, 1, COT_CLASS_BATCH, BATCH_POOL);
	(void)bench_member(&b, 2, COT_CLASS_LATENCY, LATENCY_POOL);
	bench_run(&b, 100 * MS);
	n = b.n_actions;
	for (i = 0; i < 1000; i++) {
		(void)bench_activity(&b, 2, i & 1 ? COT_ACTIVITY_ACTIVE : COT_ACTIVITY_IDLE);
		bench_run(&b, 5 * MS);
	}
	assert_int_equal(b.n_actions, n);
}

/* Draining is for batch pools of which every program is known to have short blocks. */
static void test_pools_mode_follows_the_blocks(void **state)
{
	(void)state;
	two_pools();
	(void)bench_blocks(&b, 1, COT_CLASS_BATCH, BATCH_POOL, 20);
	bench_run(&b, 10 * MS);
	assert_int_equal(b.mode[BATCH_POOL], COT_MODE_SWITCH); /* nobody waits */
	(void)bench_blocks(&b, 2, COT_CLASS_LATENCY, LATENCY_POOL, 20);
	bench_run(&b, 10 * MS);
	assert_int_equal(b.mode[BATCH_POOL], COT_MODE_DRAIN);
	assert_int_equal(b.mode[LATENCY_POOL], COT_MODE_SWITCH);
	(void)bench_blocks(&b, 1, COT_CLASS_BATCH, BATCH_POOL, 101);
	bench_run(&b, 10 * MS);
	assert_int_equal(b.mode[BATCH_POOL], COT_MODE_SWITCH);
	(void)bench_blocks(&b, 1, COT_CLASS_BATCH, BATCH_POOL, 100);
	bench_run(&b, 10 * MS);
	assert_int_equal(b.mode[BATCH_POOL], COT_MODE_DRAIN);
	/* One of which nobody knows is enough. */
	(void)bench_member(&b, 3, COT_CLASS_BATCH, BATCH_POOL);
	bench_run(&b, 10 * MS);
	assert_int_equal(b.mode[BATCH_POOL], COT_MODE_SWITCH);
	(void)bench_blocks(&b, 3, COT_CLASS_BATCH, BATCH_POOL, 90);
	bench_run(&b, 10 * MS);
	assert_int_equal(b.mode[BATCH_POOL], COT_MODE_DRAIN);
	(void)bench_leave(&b, 2);
	bench_run(&b, 10 * MS);
	assert_int_equal(b.mode[BATCH_POOL], COT_MODE_SWITCH);
}

/* Two batch entities with short slices would destroy each other. */
static void test_pools_with_solo_batch_take_turns(void **state)
{
	unsigned i;

	(void)state;
	two_pools();
	(void)bench_member(&b, 1, COT_CLASS_BATCH, BATCH_POOL);
	(void)bench_solo(&b, 3, COT_CLASS_BATCH, 100);
	bench_run(&b, 1 * S);
	assert_int_equal(bench_stats(&b).actions[COT_ACTION_FREEZE], 0);
	(void)bench_member(&b, 2, COT_CLASS_LATENCY, LATENCY_POOL);
	bench_run(&b, 10 * MS);
	for (i = 0; i < 1000; i++) {
		bench_run(&b, 1 * MS);
		assert_true(b.frozen[3] || b.frozen[BATCH_POOL]);
		assert_false(b.frozen[LATENCY_POOL]);
	}
	/* Nobody stays frozen when the latency program has gone. */
	(void)bench_leave(&b, 2);
	bench_run(&b, 5 * MS);
	assert_false(b.frozen[3] || b.frozen[BATCH_POOL]);
}

static void test_pools_of_other_gpus_do_not_care(void **state)
{
	(void)state;
	start("pools");
	(void)bench_solo_on(&b, 1, COT_CLASS_LATENCY, 100, GPU0);
	(void)bench_solo_on(&b, 2, COT_CLASS_BATCH, 100, GPU1);
	(void)bench_solo_on(&b, 3, COT_CLASS_BATCH, 100, GPU1);
	bench_run(&b, 1 * S);
	assert_int_equal(b.slice_us[2], 2000);
	assert_int_equal(bench_stats(&b).actions[COT_ACTION_FREEZE], 0);
}

#define T(f) cmocka_unit_test_teardown(f, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_timeslice_does_nothing),
		T(test_rotate_one_at_a_time),
		T(test_rotate_by_weight),
		T(test_rotate_alone_is_never_frozen),
		T(test_rotate_idle_owner_gives_up_its_turn),
		T(test_rotate_nobody_saves_up),
		T(test_rotate_several_gpus),
		T(test_rotate_what_cannot_be_frozen),
		T(test_rotate_many),
		T(test_rotate_slices_follow_latency_programs),
		T(test_rotate_mode_follows_the_blocks),
		T(test_pools_slices_follow_the_latency_pool),
		T(test_pools_requests_cost_no_actions),
		T(test_pools_mode_follows_the_blocks),
		T(test_pools_with_solo_batch_take_turns),
		T(test_pools_of_other_gpus_do_not_care),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
