/* How long tenants could use their GPUs: turns of any length are counted whole. */
#include "policy/policy_bench.h"
#include "test.h"

#define MS COT_NS_PER_MS

static uint64_t tick(struct cot_policy *p)
{
	(void)p;
	return COT_NEVER;
}

static const struct cot_policy_ops idle = {
	.name = "idle",
	.summary = "does nothing",
	.abi = COT_POLICY_ABI,
	.places = true,
	.tick = tick,
};

static struct cot_ran ran_at(const struct bench *b, uint32_t id, uint64_t now_ns)
{
	struct cot_ran ran = {0};

	assert_true(cot_sched_ran(b->sched, id, now_ns, &ran));
	return ran;
}

static struct cot_ran ran(const struct bench *b, uint32_t id)
{
	return ran_at(b, id, b->now_ns);
}

static void place(struct bench *b, struct cot_part part)
{
	assert_int_equal(cot_place((struct cot_policy *)b->sched,
				   (struct cot_tenant *)cot_sched_tenant(b->sched, 1), part),
			 0);
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
}

/* Two turns of 50 ms are as long as the time between two looks: whoever looks at who runs just then
 * sees the same one each time. */
static void test_turns(void **state)
{
	struct bench *b = bench_begin(cot_policy_find("rotate"));
	uint64_t looked[3] = {0}, i, id;

	(void)state;
	b->delay_ns = MS / 2;
	for (id = 1; id <= 2; id++)
		(void)bench_solo(b, (uint32_t)id, COT_CLASS_BATCH, 100);
	bench_run(b, 100 * MS);
	bench_reset_times(b);
	for (id = 1; id <= 2; id++)
		looked[id] = ran(b, (uint32_t)id).ns;
	for (i = 0; i < 50; i++)
		bench_run(b, 100 * MS);
	for (id = 1; id <= 2; id++) {
		uint64_t ns = ran(b, (uint32_t)id).ns - looked[id];

		/* While it freezes and is thawed it does not count, but a GPU goes on. */
		assert_true(ns <= b->thawed_ns[id]);
		assert_true(b->thawed_ns[id] - ns <= 100 * MS);
		assert_true(ns >= 2400 * MS && ns <= 2550 * MS);
		assert_int_equal(ran(b, (uint32_t)id).sm_ns, 132 * ran(b, (uint32_t)id).ns);
	}
	bench_end(b);
}

static void test_parts_and_holds(void **state)
{
	struct bench *b = bench_begin(&idle);
	struct cot_ran was;

	(void)state;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 100);
	(void)bench_parts(b, 1, true);
	was = ran(b, 1);
	place(b, (struct cot_part){.first = 64, .n = 32});
	bench_run(b, 3 * MS); /* the answer comes after one */
	assert_int_equal(ran(b, 1).ns - was.ns, 3 * MS);
	assert_int_equal(ran(b, 1).sm_ns - was.sm_ns, (132 + 32 + 32) * MS);
	was = ran(b, 1);
	place(b, (struct cot_part){.first = 64, .n = 32, .hold = true});
	bench_run(b, 11 * MS);
	assert_int_equal(ran(b, 1).ns - was.ns, 1 * MS);
	place(b, (struct cot_part){.first = 64, .n = 32});
	bench_run(b, 5 * MS);
	assert_int_equal(ran(b, 1).ns - was.ns, 5 * MS);
	assert_int_equal(ran(b, 1).sm_ns - was.sm_ns, 32 * 5 * MS);
	bench_end(b);
}

static void test_who_has_no_time(void **state)
{
	struct bench *b = bench_begin(&idle);
	struct cot_ran was, none;

	(void)state;
	assert_false(cot_sched_ran(b->sched, 1, 0, &none));
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 100);
	assert_int_equal(ran(b, 1).ns, 0);
	/* Nothing happens meanwhile: it is counted all the same, and once. */
	assert_int_equal(ran_at(b, 1, b->now_ns + 7 * MS).ns, 7 * MS);
	bench_run(b, 9 * MS);
	assert_int_equal(ran(b, 1).ns, 9 * MS);
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	assert_int_equal(ran_at(b, 1, 0).ns, 9 * MS);
	was = ran(b, 1);
	(void)bench_activity(b, 1, COT_ACTIVITY_IDLE);
	bench_run(b, 20 * MS);
	assert_int_equal(ran(b, 1).ns, was.ns);
	(void)bench_activity(b, 1, COT_ACTIVITY_ACTIVE);
	bench_run(b, 4 * MS);
	assert_int_equal(ran(b, 1).ns, was.ns + 4 * MS);
	was = ran(b, 1);
	(void)bench_hold(b, 1, true);
	bench_run(b, 20 * MS);
	assert_int_equal(ran(b, 1).ns, was.ns);
	(void)bench_leave(b, 1);
	assert_false(cot_sched_ran(b->sched, 1, b->now_ns, &none));
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 100);
	assert_int_equal(ran(b, 1).ns, 0);
	bench_end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_parts_and_holds),
		cmocka_unit_test(test_who_has_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
