/* Parts in the policy core: what may be asked for, how answers come, and what outlives what. */
#include <errno.h>
#include <stdlib.h>

#include "policy/policy_bench.h"
#include "test.h"

#define MS COT_NS_PER_MS

/* Where tenant 1 shall be, and what the policy was told. */
static struct {
	struct cot_part part;
	int answer;
	unsigned n_placed, changed;
	struct cot_action_result last;
} script;

static uint64_t tick(struct cot_policy *p)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (t->id == 1)
			script.answer = cot_place(p, t, script.part);
	return COT_NEVER;
}

static void placed(struct cot_policy *p, struct cot_tenant *t, const struct cot_action_result *r)
{
	(void)p;
	assert_int_equal(t->id, 1);
	script.n_placed++;
	script.last = *r;
}

static void tenant_changed(struct cot_policy *p, struct cot_tenant *t, unsigned what)
{
	(void)p;
	(void)t;
	script.changed |= what;
}

static const struct cot_policy_ops scripted = {
	.name = "scripted",
	.summary = "places as a test says",
	.abi = COT_POLICY_ABI,
	.places = true,
	.placed = placed,
	.tenant_changed = tenant_changed,
	.tick = tick,
};

static struct bench *begin(const struct cot_policy_ops *ops)
{
	struct bench *b = bench_begin(ops);

	script.part = (struct cot_part){0};
	script.n_placed = script.changed = 0;
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 100);
	return b;
}

static void expect_part(const struct bench *b, uint32_t id, uint32_t first, uint32_t n)
{
	const struct cot_tenant *t = cot_sched_tenant(b->sched, id);

	assert_int_equal(t->part.first, first);
	assert_int_equal(t->part.n, n);
	assert_int_equal(b->part[id].first, first);
	assert_int_equal(b->part[id].n, n);
}

static void want(struct bench *b, uint32_t first, uint32_t n)
{
	script.part = (struct cot_part){.first = first, .n = n};
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
}

static void test_an_answer_settles(void **state)
{
	struct bench *b = begin(&scripted);

	(void)state;
	assert_int_equal(bench_parts(b, 1, true), 0);
	assert_int_equal(script.changed, COT_CHANGED_PARTS);
	want(b, 64, 68);
	assert_int_equal(script.answer, 0);
	assert_int_equal(cot_sched_tenant(b->sched, 1)->part.n, 0);
	bench_run(b, 2 * MS);
	expect_part(b, 1, 64, 68);
	assert_int_equal(script.n_placed, 1);
	assert_int_equal(script.last.kind, COT_ACTION_PLACE);
	assert_int_equal(script.last.status, 0);
	assert_int_equal(script.last.part.first, 64);
	assert_int_equal(script.last.latency_ns, MS);
	/* Saying it again is free. */
	want(b, 64, 68);
	bench_run(b, 2000 * MS);
	assert_int_equal(bench_stats(b).actions[COT_ACTION_PLACE], 1);
	assert_int_equal(script.n_placed, 1);
	bench_end(b);
}

static void expect_wrong(struct bench *b, uint32_t first, uint32_t n)
{
	uint64_t wrong = bench_stats(b).wrong_actions;

	want(b, first, n);
	assert_int_equal(script.answer, -EINVAL);
	assert_int_equal(bench_stats(b).wrong_actions, wrong + 1);
	script.part = (struct cot_part){0};
}

/* Another pace is another part, and one that is too long is none. */
static void test_a_pace(void **state)
{
	struct bench *b = begin(&scripted);

	(void)state;
	assert_int_equal(bench_parts(b, 1, true), 0);
	want(b, 64, 68);
	bench_run(b, 2 * MS);
	script.part.pace_us = COT_PACE_US_MAX;
	bench_run(b, 2 * MS);
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	bench_run(b, 2 * MS);
	expect_part(b, 1, 64, 68);
	assert_int_equal(b->part[1].pace_us, COT_PACE_US_MAX);
	assert_int_equal(cot_sched_tenant(b->sched, 1)->part.pace_us, COT_PACE_US_MAX);
	assert_int_equal(bench_stats(b).actions[COT_ACTION_PLACE], 2);
	script.part.pace_us++;
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	assert_int_equal(script.answer, -EINVAL);
	bench_end(b);
}

/* What the user says replaces the policy's, at the next word of the policy, and goes with it. */
static void test_a_pace_of_the_user(void **state)
{
	struct bench *b = begin(&scripted);
	struct cot_event ev = {.type = COT_EV_TENANT,
			       .id = 1,
			       .tenant = {.cls = COT_CLASS_BATCH,
					  .weight = 100,
					  .gpu_mask = 1,
					  .ready = true,
					  .pace_us = 500}};

	(void)state;
	assert_int_equal(bench_parts(b, 1, true), 0);
	want(b, 64, 68);
	bench_run(b, 2 * MS);
	script.part.pace_us = 70;
	assert_int_equal(bench_event(b, ev), 0);
	bench_run(b, 2 * MS);
	expect_part(b, 1, 64, 68);
	assert_int_equal(b->part[1].pace_us, 500);
	assert_int_equal(cot_sched_tenant(b->sched, 1)->part.pace_us, 500);
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	assert_int_equal(bench_stats(b).actions[COT_ACTION_PLACE], 2);
	script.part.pace_us = COT_PACE_US_MAX + 1;
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	assert_int_equal(script.answer, -EINVAL);
	script.part.pace_us = 70;
	ev.tenant.pace_us = 0;
	assert_int_equal(bench_event(b, ev), 0);
	bench_run(b, 2 * MS);
	assert_int_equal(b->part[1].pace_us, 70);
	bench_end(b);
}

static void test_where_no_part_can_be(void **state)
{
	struct bench *b = begin(&scripted);

	(void)state;
	expect_wrong(b, 0, 8); /* it cannot be placed yet */
	assert_int_equal(bench_parts(b, 1, true), 0);
	expect_wrong(b, 4, 8);
	expect_wrong(b, 0, 4);
	expect_wrong(b, 8, 0);
	expect_wrong(b, 128, 8);
	expect_wrong(b, 136, 8);
	expect_wrong(b, 8, UINT32_MAX - 7);
	expect_wrong(b, UINT32_MAX - 7, 8);
	want(b, 128, 4); /* the rest of the last unit */
	assert_int_equal(script.answer, 0);
	want(b, 0, 132);
	assert_int_equal(script.answer, 0);
	bench_run(b, 2 * MS);
	expect_part(b, 1, 0, 132);
	bench_end(b);
}

static int fail_once(struct bench *b, const struct cot_action *a)
{
	(void)a;
	b->fault = NULL;
	return -EBUSY;
}

static int silent_once(struct bench *b, const struct cot_action *a)
{
	(void)a;
	b->fault = NULL;
	return BENCH_SILENT;
}

/* It stays where it is, and the policy may try again after a pause. */
static void test_failure(void **state)
{
	struct bench *b = begin(&scripted);

	(void)state;
	(void)bench_parts(b, 1, true);
	b->fault = fail_once;
	want(b, 0, 64);
	bench_run(b, 2 * MS);
	assert_int_equal(script.last.status, -EBUSY);
	assert_int_equal(script.answer, -EAGAIN);
	expect_part(b, 1, 0, 0);
	bench_run(b, 200 * MS);
	expect_part(b, 1, 0, 64);
	assert_int_equal(bench_stats(b).failed[COT_ACTION_PLACE], 1);
	assert_int_equal(bench_stats(b).actions[COT_ACTION_PLACE], 2);
	bench_end(b);
}

static void test_no_answer(void **state)
{
	struct bench *b = begin(&scripted);

	(void)state;
	(void)bench_parts(b, 1, true);
	b->fault = silent_once;
	want(b, 0, 64);
	bench_run(b, 999 * MS);
	assert_int_equal(script.n_placed, 0);
	bench_run(b, 2 * MS);
	assert_int_equal(script.last.status, -ETIMEDOUT);
	assert_int_equal(bench_stats(b).timed_out[COT_ACTION_PLACE], 1);
	bench_run(b, 200 * MS);
	expect_part(b, 1, 0, 64);
	bench_end(b);
}

/* The answer to the newest counts; what it has is always what it said last. */
static void test_a_newer_wish(void **state)
{
	struct bench *b = begin(&scripted);
	struct cot_event late = {
		.type = COT_EV_PLACED, .id = 1, .placed = {.seq = 12345, .part = {.n = 96}}};

	(void)state;
	(void)bench_parts(b, 1, true);
	want(b, 0, 64);
	want(b, 0, 32);
	bench_run(b, 2 * MS);
	expect_part(b, 1, 0, 32);
	assert_int_equal(script.n_placed, 1);
	assert_int_equal(bench_stats(b).late_answers, 1);
	assert_int_equal(bench_event(b, late), 0);
	assert_int_equal(cot_sched_tenant(b->sched, 1)->part.n, 96);
	late.placed.part = (struct cot_part){.first = 3, .n = 96};
	assert_int_equal(bench_event(b, late), -EINVAL);
	late.placed.seq = 0;
	assert_int_equal(bench_event(b, late), -EINVAL);
	bench_end(b);
}

/* What it grants may be less than what was asked; it is not asked again and again. */
static struct cot_event last_less;
static int grant_less(struct bench *b, const struct cot_action *a)
{
	last_less = (struct cot_event){
		.type = COT_EV_PLACED,
		.id = a->entity,
		.placed = {.seq = a->seq, .part = {.first = a->part.first, .n = a->part.n / 2}}};
	(void)bench_event(b, last_less);
	return BENCH_SILENT;
}

static void test_granted_is_told(void **state)
{
	struct bench *b = begin(&scripted);

	(void)state;
	(void)bench_parts(b, 1, true);
	b->fault = grant_less;
	want(b, 0, 64);
	bench_run(b, 5000 * MS);
	assert_int_equal(cot_sched_tenant(b->sched, 1)->part.n, 32);
	assert_int_equal(script.last.part.n, 32);
	assert_int_equal(bench_stats(b).actions[COT_ACTION_PLACE], 1);
	/* The rest of it may follow, and is no late answer. */
	last_less.placed.part.n = 64;
	assert_int_equal(bench_event(b, last_less), 0);
	assert_int_equal(cot_sched_tenant(b->sched, 1)->part.n, 64);
	assert_int_equal(bench_stats(b).late_answers, 0);
	assert_int_equal(bench_stats(b).actions[COT_ACTION_PLACE], 1);
	bench_end(b);
}

static struct cot_event found(uint32_t n_sms, uint32_t unit, uint32_t first, uint32_t n)
{
	return (struct cot_event){
		.type = COT_EV_PARTS,
		.id = 1,
		.parts = {.n_sms = n_sms, .unit = unit, .part = {.first = first, .n = n}}};
}

/* Launches on the CPU: only where the tenant can, and another wish than the same part without. */
static void test_on_the_cpu(void **state)
{
	struct bench *b = begin(&scripted);
	struct cot_event can = found(132, 8, 0, 0);

	(void)state;
	assert_int_equal(bench_parts(b, 1, true), 0);
	script.part = (struct cot_part){.pace_us = COT_PACE_US_MAX, .cpu = true};
	bench_run(b, 2 * MS);
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	bench_run(b, 2 * MS);
	assert_false(b->part[1].cpu || cot_sched_tenant(b->sched, 1)->part.cpu);
	can.parts.can_cpu = true;
	assert_int_equal(bench_event(b, can), 0);
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	bench_run(b, 2 * MS);
	assert_true(b->part[1].cpu && cot_sched_tenant(b->sched, 1)->part.cpu);
	assert_int_equal(b->part[1].pace_us, COT_PACE_US_MAX);
	script.part.cpu = false;
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	bench_run(b, 2 * MS);
	assert_false(b->part[1].cpu || cot_sched_tenant(b->sched, 1)->part.cpu);
	bench_end(b);
}

/* A part from the time of another host is known, and not asked for again. */
static void test_found(void **state)
{
	struct bench *b = begin(&scripted);

	(void)state;
	script.part = (struct cot_part){.first = 64, .n = 68};
	assert_int_equal(bench_event(b, found(132, 8, 64, 68)), 0);
	assert_int_equal(cot_sched_tenant(b->sched, 1)->part.first, 64);
	assert_int_equal(bench_stats(b).actions[COT_ACTION_PLACE], 0);
	assert_int_equal(bench_event(b, found(132, 8, 63, 69)), -EINVAL);
	assert_int_equal(bench_event(b, found(132, 0, 0, 0)), -EINVAL);
	assert_int_equal(bench_event(b, found(0, 8, 0, 0)), -EINVAL);
	assert_int_equal(bench_event(b, found(8, 132, 0, 0)), -EINVAL);
	assert_int_equal(bench_event(b, found(COT_SMS_MAX + 1, 8, 0, 0)), -EINVAL);
	assert_int_equal(bench_event(b, found(0, 0, 0, 8)), -EINVAL);
	/* Lost sight of, and there again. */
	script.part = (struct cot_part){0};
	assert_int_equal(bench_event(b, found(0, 0, 0, 0)), 0);
	assert_int_equal(cot_sched_tenant(b->sched, 1)->part.n, 0);
	assert_int_equal(cot_sched_tenant(b->sched, 1)->part_sms, 0);
	bench_end(b);
}

/* Only what the driver can make: what is behind the whole units is one piece. */
static void test_units(void **state)
{
	static const struct {
		uint16_t first, n;
		bool fits;
	} parts[] = {{0, 120, true}, {112, 8, true},  {112, 20, true}, {120, 12, true},
		     {0, 132, true}, {120, 8, false}, {0, 128, false}, {128, 4, false},
		     {0, 4, false},  {96, 32, false}, {132, 0, false}};
	struct bench *b = begin(&scripted);
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(parts); i++) {
		struct cot_event ev = found(132, 8, parts[i].first, parts[i].n);

		ev.parts.n_units = 15;
		assert_int_equal(bench_event(b, ev), parts[i].fits ? 0 : -EINVAL);
	}
	assert_int_equal(cot_sched_tenant(b->sched, 1)->part_units, 15);
	bench_end(b);
}

static void test_number_of_units(void **state)
{
	struct bench *b = begin(&scripted);
	struct cot_event ev = found(132, 8, 0, 0);

	(void)state;
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(cot_sched_tenant(b->sched, 1)->part_units, 16);
	ev.parts.n_units = 17;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	ev = found(0, 0, 0, 0);
	ev.parts.n_units = 1;
	assert_int_equal(bench_event(b, ev), -EINVAL);
	assert_int_equal(bench_event(b, found(0, 0, 0, 0)), 0);
	assert_int_equal(cot_sched_tenant(b->sched, 1)->part_units, 0);
	bench_end(b);
}

/* What was on its way when its shim was lost is asked for again when that is back. */
static void test_lost_on_its_way(void **state)
{
	struct bench *b = begin(&scripted);

	(void)state;
	(void)bench_parts(b, 1, true);
	b->fault = silent_once;
	want(b, 0, 64);
	bench_run(b, 2 * MS);
	script.part = (struct cot_part){0};
	(void)bench_parts(b, 1, false);
	script.part = (struct cot_part){.n = 64};
	(void)bench_parts(b, 1, true);
	bench_run(b, 2 * MS);
	expect_part(b, 1, 0, 64);
	bench_run(b, 5000 * MS);
	assert_int_equal(bench_stats(b).timed_out[COT_ACTION_PLACE], 0);
	bench_end(b);
}

/* A program that left while it was to be placed leaves nothing behind, and its place is free. */
static void test_left(void **state)
{
	struct bench *b = begin(&scripted);

	(void)state;
	(void)bench_parts(b, 1, true);
	want(b, 0, 64);
	(void)bench_leave(b, 1);
	bench_run(b, 5000 * MS);
	assert_int_equal(bench_stats(b).late_answers, 1);
	(void)bench_solo(b, 1, COT_CLASS_BATCH, 100);
	script.part = (struct cot_part){0};
	assert_int_equal(cot_sched_tenant(b->sched, 1)->part_sms, 0);
	bench_run(b, 2 * MS);
	assert_int_equal(bench_stats(b).actions[COT_ACTION_PLACE], 1);
	bench_end(b);
}

/* Another policy places anew, the core itself for one that does not; at the end parts stay. */
static void test_another_policy_and_the_end(void **state)
{
	struct bench *b = begin(&scripted);
	struct cot_error err;

	(void)state;
	(void)bench_sms(b, 1, COT_CLASS_BATCH, (struct cot_share){.sms = 32});
	(void)bench_parts(b, 1, true);
	want(b, 64, 64);
	bench_run(b, 2 * MS);
	expect_part(b, 1, 64, 64);
	assert_int_equal(
		cot_sched_set_policy(b->sched, &cot_policy_timeslice, NULL, b->now_ns, &err), 0);
	bench_run(b, 2 * MS);
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	bench_run(b, 2 * MS);
	expect_part(b, 1, 0, 32);
	(void)bench_sms(b, 1, COT_CLASS_BATCH, (struct cot_share){0});
	bench_run(b, 2 * MS);
	expect_part(b, 1, 0, 0);
	(void)bench_sms(b, 1, COT_CLASS_BATCH, (struct cot_share){.pct = 50});
	bench_run(b, 2 * MS);
	expect_part(b, 1, 0, 64);
	cot_sched_stop(b->sched, b->now_ns);
	(void)bench_sms(b, 1, COT_CLASS_BATCH, (struct cot_share){0});
	bench_run(b, 50 * MS);
	expect_part(b, 1, 0, 64);
	assert_true(cot_sched_is_quiet(b->sched));
	assert_int_equal(bench_stats(b).wrong_actions, 0);
	bench_end(b);
}

/* ---- several that move ---- */

#define POOL 9

static struct cot_part wanted[4]; /* by tenant */

static uint64_t tick_all(struct cot_policy *p)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		(void)cot_place(p, t, wanted[t->id]);
	return COT_NEVER;
}

static const struct cot_policy_ops movers = {
	.name = "movers",
	.summary = "places all as a test says",
	.abi = COT_POLICY_ABI,
	.places = true,
	.tick = tick_all,
};

static void want_all(struct bench *b, struct cot_part one, struct cot_part two)
{
	wanted[1] = one;
	wanted[2] = two;
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
}

/* Two programs of a pool, each on a half of 128 SMs. */
static struct bench *begin_two_of(enum cot_class first, uint32_t pool)
{
	struct bench *b = bench_begin(&movers);
	uint32_t id;

	wanted[1] = (struct cot_part){.n = 64};
	wanted[2] = (struct cot_part){.first = 64, .n = 64};
	for (id = 1; id <= 2; id++) {
		assert_int_equal(bench_member(b, id, id == 1 ? first : COT_CLASS_BATCH, pool), 0);
		assert_int_equal(bench_parts(b, id, true), 0);
	}
	bench_run(b, 5 * MS);
	expect_part(b, 1, 0, 64);
	expect_part(b, 2, 64, 64);
	return b;
}

static struct bench *begin_two(uint32_t pool)
{
	return begin_two_of(COT_CLASS_BATCH, pool);
}

/* The first one grows onto SMs of the other one: not before that has left them. */
static void test_who_leaves_goes_first(void **state)
{
	struct bench *b = begin_two(POOL);

	(void)state;
	want_all(b, (struct cot_part){.n = 96}, (struct cot_part){.first = 96, .n = 32});
	assert_int_equal(b->n_pending, 1);
	assert_int_equal(b->pending[0].action.entity, 2);
	assert_true(b->pending[0].action.leave);
	bench_run(b, 5 * MS);
	expect_part(b, 1, 0, 96);
	expect_part(b, 2, 96, 32);
	/* Nobody waits for what it leaves now. */
	want_all(b, (struct cot_part){.n = 96}, (struct cot_part){.first = 112, .n = 16});
	assert_int_equal(b->n_pending, 1);
	assert_false(b->pending[0].action.leave);
	bench_end(b);
}

/* A latency program does not wait until all is done there. */
static void test_for_a_latency_program(void **state)
{
	struct bench *b = begin_two_of(COT_CLASS_LATENCY, POOL);

	(void)state;
	want_all(b, (struct cot_part){.n = 96}, (struct cot_part){.first = 96, .n = 32});
	assert_int_equal(b->n_pending, 1);
	assert_int_equal(b->pending[0].action.entity, 2);
	assert_false(b->pending[0].action.leave);
	bench_end(b);
}

/* It does not answer: the first one waits no longer than for that. */
static void test_who_does_not_leave(void **state)
{
	struct bench *b = begin_two(POOL);

	(void)state;
	b->fault = silent_once;
	want_all(b, (struct cot_part){.n = 96}, (struct cot_part){.first = 96, .n = 32});
	bench_run(b, 990 * MS);
	expect_part(b, 1, 0, 64);
	bench_run(b, 20 * MS);
	expect_part(b, 1, 0, 96);
	bench_end(b);
}

/* Each is to have what the other one has, and both go. */
static void test_two_that_change_places(void **state)
{
	struct bench *b = begin_two(POOL);

	(void)state;
	want_all(b, (struct cot_part){.first = 64, .n = 64}, (struct cot_part){.n = 64});
	bench_run(b, 5 * MS);
	expect_part(b, 1, 64, 64);
	expect_part(b, 2, 0, 64);
	bench_end(b);
}

/* Outside of a pool programs do not run at the same time: nobody is in the way. */
static void test_programs_that_stand_alone(void **state)
{
	struct bench *b = begin_two(0);

	(void)state;
	want_all(b, (struct cot_part){.n = 96}, (struct cot_part){.first = 96, .n = 32});
	assert_int_equal(b->n_pending, 2);
	bench_run(b, 5 * MS);
	expect_part(b, 1, 0, 96);
	bench_end(b);
}

/* Who does not say that it places may not. */
static void test_only_who_places(void **state)
{
	struct cot_policy_ops quiet = scripted;
	struct bench *b;

	(void)state;
	quiet.places = false;
	b = begin(&quiet);
	(void)bench_parts(b, 1, true);
	want(b, 0, 64);
	assert_int_equal(script.answer, -EINVAL);
	bench_run(b, 5 * MS);
	expect_part(b, 1, 0, 0);
	bench_end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_answer_settles),
		cmocka_unit_test(test_a_pace),
		cmocka_unit_test(test_a_pace_of_the_user),
		cmocka_unit_test(test_where_no_part_can_be),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_a_newer_wish),
		cmocka_unit_test(test_granted_is_told),
		cmocka_unit_test(test_on_the_cpu),
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_number_of_units),
		cmocka_unit_test(test_lost_on_its_way),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_another_policy_and_the_end),
		cmocka_unit_test(test_who_leaves_goes_first),
		cmocka_unit_test(test_for_a_latency_program),
		cmocka_unit_test(test_who_does_not_leave),
		cmocka_unit_test(test_two_that_change_places),
		cmocka_unit_test(test_programs_that_stand_alone),
		cmocka_unit_test(test_only_who_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
