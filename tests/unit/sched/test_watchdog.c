/*
 * The watchdog: what counts as a fault and what does not, on any GPU; a host that comes late; and
 * how a policy that was replaced is tried again.
 */
#include <errno.h>
#include <string.h>

#include "policy/policy_bench.h"
#include "test.h"

#define MS COT_NS_PER_MS
#define S  COT_NS_PER_S

enum { FIRST = 1, SECOND, THIRD };

/* A policy that freezes and grants what the test writes down. */
static struct {
	uint32_t frozen; /* ids, a bit each */
	bool grants;
	uint64_t wake_after_ns; /* grants only when it has been woken; 0 = at once */
	uint64_t woken_ns;
	unsigned n_inits, n_slices;
	int init;
} script;

static int init(struct cot_policy *p)
{
	(void)p;
	script.n_inits++;
	return script.init;
}

static void work_ready(struct cot_policy *p, struct cot_work *w)
{
	(void)w;
	script.woken_ns = p->now_ns + script.wake_after_ns;
}

static uint64_t tick(struct cot_policy *p)
{
	struct cot_entity *e;
	struct cot_work *w;
	unsigned i;

	cot_for_each_entity (e, p) {
		if (script.frozen >> e->id & 1)
			(void)cot_freeze(p, e);
		else
			(void)cot_thaw(p, e);
		for (i = 0; i < script.n_slices; i++)
			(void)cot_set_slice(p, e, COT_SLICE_US_MIN - 1);
	}
	cot_for_each_work(w, p) if (script.grants && p->now_ns >= script.woken_ns)(void)
		cot_grant(p, w, 1, false);
	return script.grants && p->now_ns < script.woken_ns ? script.woken_ns : COT_NEVER;
}

static const struct cot_work_ops works = {.ready = work_ready};

static const struct cot_policy_ops scripted = {
	.name = "scripted",
	.summary = "does what the test says",
	.abi = COT_POLICY_ABI,
	.works = &works,
	.init = init,
	.tick = tick,
};

static struct bench *begin(void)
{
	struct bench *b;

	memset(&script, 0, sizeof(script));
	b = bench_begin(&scripted);
	b->delay_ns = 0;
	return b;
}

static void poke(struct bench *b)
{
	(void)bench_event(b, (struct cot_event){.type = COT_EV_TICK});
}

/* The host does nothing for a while, and then at once what is due. */
static void pause_for(struct bench *b, uint64_t ns)
{
	b->now_ns += ns;
	poke(b);
	bench_run(b, 0);
}

static int work_on(struct bench *b, uint32_t id, uint32_t tenant, uint32_t gpu)
{
	return bench_event(b, (struct cot_event){.type = COT_EV_WORK,
						 .id = id,
						 .work = {.tenant = tenant,
							  .gpu = gpu,
							  .n_sms = 16,
							  .method = COT_WORK_QUOTA,
							  .n_tasks = 100,
							  .per_sm = 1}});
}

static void one_runs_one_waits(struct bench *b)
{
	(void)bench_solo(b, FIRST, COT_CLASS_BATCH, 1);
	script.grants = true;
	(void)work_on(b, 1, FIRST, 0);
	script.grants = false;
	(void)work_on(b, 2, FIRST, 0);
}

static void second_is_frozen(struct bench *b)
{
	(void)bench_solo(b, FIRST, COT_CLASS_BATCH, 1);
	(void)bench_solo(b, SECOND, COT_CLASS_BATCH, 1);
	script.frozen = 1 << SECOND;
	poke(b);
}

static void expect_fault(const struct bench *b, enum cot_fault fault, uint32_t entity)
{
	struct cot_sched_fallback f;

	cot_sched_fallback(b->sched, &f);
	assert_int_equal(f.fault, fault);
	assert_int_equal(f.entity, entity);
	assert_true(f.since_ns <= b->now_ns);
	assert_int_equal(f.retry_ns == COT_NEVER, fault == COT_FAULT_NONE);
	assert_ptr_equal(cot_sched_policy(b->sched)->ops,
			 fault == COT_FAULT_NONE ? &scripted : &cot_policy_timeslice);
	assert_ptr_equal(cot_sched_wanted_policy(b->sched), &scripted);
}

static const struct cot_policy_ops *at_work(const struct bench *b)
{
	return cot_sched_policy(b->sched)->ops;
}

/* ---- what is a fault ---- */

/* On every GPU by itself: the others have somebody who runs. */
static void test_stall_on_any_gpu(void **state)
{
	uint32_t gpu;

	(void)state;
	for (gpu = 0; gpu < 64; gpu += 21) {
		struct bench *b = begin();

		(void)bench_solo_on(b, FIRST, COT_CLASS_BATCH, 1, 1ull << gpu);
		(void)bench_solo_on(b, SECOND, COT_CLASS_BATCH, 1, 1ull << gpu);
		(void)bench_solo_on(b, THIRD, COT_CLASS_BATCH, 1, 1ull << (gpu + 1) % 64);
		script.frozen = 1 << FIRST;
		poke(b);
		bench_run(b, 1 * S);
		expect_fault(b, COT_FAULT_NONE, 0);
		script.frozen = 1 << FIRST | 1 << SECOND;
		poke(b);
		bench_run(b, 499 * MS);
		expect_fault(b, COT_FAULT_NONE, 0);
		bench_run(b, 1 * MS);
		expect_fault(b, COT_FAULT_STALL, 0);
		assert_false(b->frozen[FIRST] || b->frozen[SECOND]);
		bench_end(b);
	}
}

/* One of two GPUs waits for the other one's, where somebody runs; nobody else has work here. */
static void test_idle_gpu_is_no_stall(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_solo_on(b, FIRST, COT_CLASS_BATCH, 1, GPU0 | GPU1);
	(void)bench_solo_on(b, SECOND, COT_CLASS_BATCH, 1, GPU1);
	script.frozen = 1 << FIRST;
	poke(b);
	bench_run(b, 5 * S);
	expect_fault(b, COT_FAULT_NONE, 0);
	script.frozen = 1 << FIRST | 1 << SECOND;
	poke(b);
	bench_run(b, 499 * MS);
	expect_fault(b, COT_FAULT_NONE, 0);
	bench_run(b, 1 * MS);
	expect_fault(b, COT_FAULT_STALL, 0);
	bench_end(b);
}

/* It could run on the idle GPU, whoever else waits there for the other one. */
static void test_idle_gpu_is_a_stall(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_solo_on(b, FIRST, COT_CLASS_BATCH, 1, GPU0 | GPU1);
	(void)bench_solo_on(b, SECOND, COT_CLASS_BATCH, 1, GPU1);
	(void)bench_solo_on(b, THIRD, COT_CLASS_BATCH, 1, GPU0);
	script.frozen = 1 << FIRST | 1 << THIRD;
	poke(b);
	bench_run(b, 499 * MS);
	expect_fault(b, COT_FAULT_NONE, 0);
	bench_run(b, 1 * MS);
	expect_fault(b, COT_FAULT_STALL, 0);
	bench_end(b);
}

/* Somebody ran in between. */
static void test_stall_begins_anew(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_solo(b, FIRST, COT_CLASS_BATCH, 1);
	script.frozen = 1 << FIRST;
	poke(b);
	bench_run(b, 400 * MS);
	script.frozen = 0;
	poke(b);
	bench_run(b, 1 * MS);
	script.frozen = 1 << FIRST;
	poke(b);
	bench_run(b, 400 * MS);
	expect_fault(b, COT_FAULT_NONE, 0);
	bench_run(b, 100 * MS);
	expect_fault(b, COT_FAULT_STALL, 0);
	bench_end(b);
}

/* Works of one GPU run, those of the other wait. */
static void test_works_stall_on_any_gpu(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_solo_on(b, FIRST, COT_CLASS_BATCH, 1, 3);
	script.grants = true;
	assert_int_equal(work_on(b, 1, FIRST, 0), 0);
	script.grants = false;
	assert_int_equal(work_on(b, 2, FIRST, 0), 0);
	bench_run(b, 1 * S);
	expect_fault(b, COT_FAULT_NONE, 0);
	assert_int_equal(work_on(b, 3, FIRST, 1), 0);
	bench_run(b, 499 * MS);
	expect_fault(b, COT_FAULT_NONE, 0);
	bench_run(b, 1 * MS);
	expect_fault(b, COT_FAULT_STALL, 0);
	/* Nothing waits any more. */
	assert_int_equal(cot_sched_work(b->sched, 2)->state, COT_WORK_RUNNING);
	assert_int_equal(cot_sched_work(b->sched, 3)->state, COT_WORK_RUNNING);
	bench_end(b);
}

/* When the one that runs has ended, nobody serves the others. */
static void test_works_stall_when_the_last_has_ended(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_solo_on(b, FIRST, COT_CLASS_BATCH, 1, 3);
	script.grants = true;
	(void)work_on(b, 1, FIRST, 1);
	(void)work_on(b, 2, FIRST, 1);
	script.grants = false;
	(void)work_on(b, 3, FIRST, 1);
	(void)bench_work_done(b, 1, 0);
	bench_run(b, 1 * S);
	expect_fault(b, COT_FAULT_NONE, 0);
	(void)bench_work_done(b, 2, 0);
	bench_run(b, 500 * MS);
	expect_fault(b, COT_FAULT_STALL, 0);
	bench_end(b);
}

static void test_starved(void **state)
{
	struct bench *b = begin();

	(void)state;
	second_is_frozen(b);
	/* Not while it has nothing to do. */
	bench_run(b, 9 * S);
	(void)bench_activity(b, SECOND, COT_ACTIVITY_IDLE);
	(void)bench_activity(b, SECOND, COT_ACTIVITY_ACTIVE);
	bench_run(b, 9999 * MS);
	expect_fault(b, COT_FAULT_NONE, 0);
	bench_run(b, 1 * MS);
	expect_fault(b, COT_FAULT_STARVED, SECOND);
	bench_end(b);
}

/* The core's own grant, to those that have waited longest, at the very time. */
static void test_rescue(void **state)
{
	struct bench *b = begin();

	(void)state;
	one_runs_one_waits(b);
	bench_run(b, 1 * S);
	(void)work_on(b, 3, FIRST, 0);
	bench_run(b, 8999 * MS);
	assert_int_equal(bench_stats(b).rescues, 0);
	bench_run(b, 1 * MS);
	assert_int_equal(bench_stats(b).rescues, 1);
	assert_int_equal(b->works[2].granted, 16);
	assert_int_equal(b->works[3].granted, 0);
	/* One that returns waits anew, behind the other. */
	(void)bench_work_done(b, 2, 7);
	bench_run(b, 1 * S);
	assert_int_equal(bench_stats(b).rescues, 2);
	assert_int_equal(b->works[3].granted, 16);
	assert_int_equal(b->works[2].granted, 0);
	/* One that leaves while it waits is forgotten. */
	(void)bench_work_done(b, 2, 0);
	bench_run(b, 20 * S);
	assert_int_equal(bench_stats(b).rescues, 2);
	expect_fault(b, COT_FAULT_NONE, 0);
	bench_end(b);
}

static void test_wrong_actions_and_storms(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_solo(b, FIRST, COT_CLASS_BATCH, 1);
	script.n_slices = 100;
	poke(b);
	expect_fault(b, COT_FAULT_NONE, 0); /* so many are forgiven */
	script.n_slices = 1;
	poke(b);
	expect_fault(b, COT_FAULT_WRONG, 0);
	bench_end(b);
}

/* Each is an action; 4000 within a second may be. */
static void flip(struct bench *b, unsigned n)
{
	while (n--) {
		script.frozen ^= 1 << FIRST;
		poke(b);
		bench_run(b, 0);
	}
}

static void test_storm_is_of_a_second(void **state)
{
	struct bench *b = begin();
	unsigned second;

	(void)state;
	(void)bench_solo(b, FIRST, COT_CLASS_BATCH, 1);
	(void)bench_solo(b, SECOND, COT_CLASS_BATCH, 1);
	for (second = 0; second < 3; second++) {
		flip(b, 4000);
		expect_fault(b, COT_FAULT_NONE, 0);
		bench_run(b, 1 * S);
	}
	flip(b, 4001); /* found when the answer to the last one comes */
	expect_fault(b, COT_FAULT_STORM, 0);
	bench_end(b);
}

/* ---- a host that comes late ---- */

/* The policy wants to act after 100 us. That it could not is not its fault. */
static void test_late_host_is_no_stall(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_solo(b, FIRST, COT_CLASS_BATCH, 1);
	script.grants = true;
	script.wake_after_ns = 100 * COT_NS_PER_US;
	(void)work_on(b, 1, FIRST, 0);
	assert_int_equal(b->works[1].granted, 0);
	pause_for(b, 3600 * S);
	expect_fault(b, COT_FAULT_NONE, 0);
	assert_int_equal(b->works[1].granted, 1);
	bench_end(b);
}

/* Nor if the first that comes after the pause is something else than a tick. */
static void test_event_after_a_pause(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_solo_on(b, FIRST, COT_CLASS_BATCH, 1, 3);
	script.grants = true;
	script.wake_after_ns = 100 * COT_NS_PER_US;
	(void)work_on(b, 1, FIRST, 0);
	b->now_ns += 10 * S;
	(void)work_on(b, 2, FIRST, 1); /* both wait for 100 us more */
	assert_int_equal(b->works[1].granted, 0);
	expect_fault(b, COT_FAULT_NONE, 0);
	bench_run(b, 1 * MS);
	assert_int_equal(b->works[1].granted, 1);
	assert_int_equal(b->works[2].granted, 1);
	expect_fault(b, COT_FAULT_NONE, 0);
	bench_end(b);
}

/* What the policy had before the pause, and 100 ms of it, do count. */
static void test_time_before_a_pause_counts(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_solo(b, FIRST, COT_CLASS_BATCH, 1);
	(void)work_on(b, 1, FIRST, 0); /* never granted: due at 500 ms */
	bench_run(b, 300 * MS);
	pause_for(b, 400 * MS);
	expect_fault(b, COT_FAULT_STALL, 0);
	bench_end(b);

	b = begin();
	script.grants = true;
	script.wake_after_ns = 200 * MS;
	(void)bench_solo(b, FIRST, COT_CLASS_BATCH, 1);
	(void)work_on(b, 1, FIRST, 0); /* due at 200 ms */
	script.wake_after_ns = COT_NEVER / 2;
	pause_for(b, 10 * S);
	script.grants = false;
	expect_fault(b, COT_FAULT_NONE, 0); /* 300 ms have been counted */
	bench_end(b);
}

/* A stall that goes on after the pause is one. */
static void test_stall_after_a_pause(void **state)
{
	struct bench *b = begin();
	struct cot_sched_fallback f;

	(void)state;
	(void)bench_solo(b, FIRST, COT_CLASS_BATCH, 1);
	script.grants = true;
	script.wake_after_ns = 100 * MS;
	(void)work_on(b, 1, FIRST, 0);
	script.grants = false;
	script.wake_after_ns = 0;
	pause_for(b, 10 * S); /* due at 100 ms; 200 ms of it count */
	expect_fault(b, COT_FAULT_NONE, 0);
	bench_run(b, 299 * MS);
	expect_fault(b, COT_FAULT_NONE, 0);
	bench_run(b, 1 * MS);
	expect_fault(b, COT_FAULT_STALL, 0);
	cot_sched_fallback(b->sched, &f);
	assert_int_equal(f.since_ns, 10 * S + 300 * MS);
	bench_end(b);
}

static void test_late_host_starves_nobody(void **state)
{
	struct bench *b = begin();

	(void)state;
	second_is_frozen(b);
	bench_run(b, 1 * S);
	script.grants = true;
	script.wake_after_ns = 1 * MS;
	(void)work_on(b, 1, FIRST, 0);
	pause_for(b, 60 * S); /* the policy was to be called after 1 ms */
	expect_fault(b, COT_FAULT_NONE, 0);
	assert_int_equal(bench_stats(b).rescues, 0);
	bench_run(b, 8898 * MS);
	expect_fault(b, COT_FAULT_NONE, 0);
	bench_run(b, 1 * MS);
	expect_fault(b, COT_FAULT_STARVED, SECOND);
	bench_end(b);
}

/* When nothing was due a long time is no pause. */
static void test_quiet_time_is_no_pause(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_solo(b, FIRST, COT_CLASS_BATCH, 1);
	(void)bench_solo(b, SECOND, COT_CLASS_BATCH, 1);
	pause_for(b, 60 * S);
	script.frozen = 1 << SECOND;
	poke(b);
	bench_run(b, 9999 * MS);
	expect_fault(b, COT_FAULT_NONE, 0);
	bench_run(b, 1 * MS);
	expect_fault(b, COT_FAULT_STARVED, SECOND);
	bench_end(b);
}

/* A pause is seen though nobody has to be called for long: the second one waits for the first. */
static void test_pause_when_nothing_is_due(void **state)
{
	struct bench *b = begin();

	(void)state;
	one_runs_one_waits(b);
	bench_run(b, 1 * S);
	pause_for(b, 20 * S); /* due after a second; 1.1 s of it count */
	assert_int_equal(bench_stats(b).rescues, 0);
	bench_run(b, 7899 * MS);
	assert_int_equal(bench_stats(b).rescues, 0);
	bench_run(b, 1 * MS);
	assert_int_equal(bench_stats(b).rescues, 1);
	bench_end(b);
}

/* ---- trying again ---- */

static uint64_t retry_in(const struct bench *b)
{
	struct cot_sched_fallback f;

	cot_sched_fallback(b->sched, &f);
	assert_int_not_equal(f.fault, COT_FAULT_NONE);
	assert_int_equal(f.since_ns, b->now_ns);
	return f.retry_ns - b->now_ns;
}

/* The policy stalls as soon as it is at work. */
static void stall(struct bench *b)
{
	script.frozen = 1 << FIRST;
	poke(b);
	while (at_work(b) == &scripted)
		bench_run(b, 1 * MS);
}

static void test_it_is_tried_again(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_solo(b, FIRST, COT_CLASS_BATCH, 1);
	stall(b);
	assert_int_equal(retry_in(b), 10 * S);
	assert_int_equal(script.n_inits, 1);
	script.frozen = 0;
	bench_run(b, 10 * S - 1);
	expect_fault(b, COT_FAULT_STALL, 0);
	bench_run(b, 1);
	expect_fault(b, COT_FAULT_NONE, 0);
	assert_int_equal(script.n_inits, 2);
	assert_int_equal(bench_stats(b).fallbacks, 1);
	bench_run(b, 60 * S);
	expect_fault(b, COT_FAULT_NONE, 0);
	assert_int_equal(script.n_inits, 2);
	bench_end(b);
}

static void test_pauses_grow(void **state)
{
	static const unsigned seconds[] = {10, 20, 40, 80, 160, 320, 640, 640};
	struct bench *b = begin();
	unsigned i;

	(void)state;
	(void)bench_solo(b, FIRST, COT_CLASS_BATCH, 1);
	for (i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		stall(b);
		assert_int_equal(bench_stats(b).fallbacks, i + 1);
		assert_int_equal(retry_in(b), seconds[i] * S);
		bench_run(b, seconds[i] * S - 1);
		assert_ptr_equal(at_work(b), &cot_policy_timeslice);
		assert_false(b->frozen[FIRST]);
		bench_run(b, 1);
		assert_ptr_equal(at_work(b), &scripted);
	}
	/* It did well for not quite as long as the longest pause; then for as long. */
	script.frozen = 0;
	poke(b);
	bench_run(b, 639 * S);
	stall(b);
	assert_int_equal(retry_in(b), 640 * S);
	bench_run(b, 640 * S);
	script.frozen = 0;
	poke(b);
	bench_run(b, 640 * S);
	stall(b);
	assert_int_equal(retry_in(b), 10 * S);
	bench_end(b);
}

static void test_init_is_tried_again(void **state)
{
	struct bench *b;

	(void)state;
	memset(&script, 0, sizeof(script));
	script.init = -EIO;
	b = bench_begin(&scripted);
	expect_fault(b, COT_FAULT_INIT, 0);
	bench_run(b, 9 * S);
	assert_int_equal(script.n_inits, 1);
	bench_run(b, 1 * S);
	assert_int_equal(script.n_inits, 2);
	assert_int_equal(bench_stats(b).fallbacks, 2);
	script.init = 0;
	bench_run(b, 20 * S);
	assert_int_equal(script.n_inits, 3);
	expect_fault(b, COT_FAULT_NONE, 0);
	bench_end(b);
}

/* A new wish of the user is taken as if nothing had been. */
static void test_set_policy_begins_anew(void **state)
{
	struct bench *b = begin();
	struct cot_error err;

	(void)state;
	(void)bench_solo(b, FIRST, COT_CLASS_BATCH, 1);
	stall(b);
	bench_run(b, 10 * S);
	stall(b);
	assert_int_equal(retry_in(b), 20 * S);
	script.frozen = 0;
	assert_int_equal(cot_sched_set_policy(b->sched, &scripted, NULL, b->now_ns, &err), 0);
	expect_fault(b, COT_FAULT_NONE, 0);
	assert_int_equal(bench_stats(b).fault, COT_FAULT_NONE);
	assert_int_equal(bench_stats(b).fault_entity, 0);
	stall(b);
	assert_int_equal(retry_in(b), 10 * S);
	bench_end(b);
}

static void test_not_after_the_end(void **state)
{
	struct bench *b = begin();

	(void)state;
	(void)bench_solo(b, FIRST, COT_CLASS_BATCH, 1);
	stall(b);
	cot_sched_stop(b->sched, b->now_ns);
	bench_run(b, 100 * S);
	assert_ptr_equal(at_work(b), &cot_policy_timeslice);
	assert_int_equal(script.n_inits, 1);
	bench_end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stall_on_any_gpu),
		cmocka_unit_test(test_idle_gpu_is_no_stall),
		cmocka_unit_test(test_idle_gpu_is_a_stall),
		cmocka_unit_test(test_stall_begins_anew),
		cmocka_unit_test(test_works_stall_on_any_gpu),
		cmocka_unit_test(test_works_stall_when_the_last_has_ended),
		cmocka_unit_test(test_starved),
		cmocka_unit_test(test_rescue),
		cmocka_unit_test(test_wrong_actions_and_storms),
		cmocka_unit_test(test_storm_is_of_a_second),
		cmocka_unit_test(test_late_host_is_no_stall),
		cmocka_unit_test(test_event_after_a_pause),
		cmocka_unit_test(test_time_before_a_pause_counts),
		cmocka_unit_test(test_stall_after_a_pause),
		cmocka_unit_test(test_late_host_starves_nobody),
		cmocka_unit_test(test_quiet_time_is_no_pause),
		cmocka_unit_test(test_pause_when_nothing_is_due),
		cmocka_unit_test(test_it_is_tried_again),
		cmocka_unit_test(test_pauses_grow),
		cmocka_unit_test(test_init_is_tried_again),
		cmocka_unit_test(test_set_policy_begins_anew),
		cmocka_unit_test(test_not_after_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
