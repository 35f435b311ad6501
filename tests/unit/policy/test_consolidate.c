/* Whom `consolidate` waits for, which programs it releases together, on which parts, and when. */
#include <string.h>

#include "policy/queries.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum { A = BATCH, B, C, D };

/* No use for more than half of the SMs; as fast as it has SMs; copies at full bandwidth. */
static const struct cot_prediction narrow[] = {{.sms = 8, .duration_ns = 8 * MS},
					       {.sms = 64, .duration_ns = MS},
					       {.sms = 132, .duration_ns = MS}};
static const struct cot_prediction scaling[] = {{.sms = 8, .duration_ns = 33 * MS},
						{.sms = 132, .duration_ns = 2 * MS}};
static const struct cot_prediction copies[] = {
	{.sms = 8, .duration_ns = 16 * MS},
	{.sms = 132, .duration_ns = MS, .bytes_per_s = 4000ull * GB}};
/* More than the memory has, so that no set with it gains. */
static const struct cot_prediction greedy[] = {
	{.sms = 8, .duration_ns = 16 * MS},
	{.sms = 132, .duration_ns = MS, .bytes_per_s = 12000ull * GB}};

static struct bench *begin_with(enum cot_aim aim, uint32_t min_gain_permille)
{
	struct cot_policy_config config;
	struct bench *b = malloc(sizeof(*b));

	assert_non_null(b);
	cot_policy_config_init(&config);
	config.dram_bytes_per_s = 4000ull * GB;
	config.aim = aim;
	config.min_gain_permille = min_gain_permille;
	bench_init_with(b, &cot_policy_consolidate, &config, NULL);
	b->delay_ns = 0;
	bench_run(b, 100 * MS);
	return b;
}

static struct bench *begin(void)
{
	return begin_with(COT_AIM_ENERGY, 20);
}

static void known(struct bench *b, uint32_t id, const struct cot_prediction *rows, size_t n)
{
	batch(b, id);
	predict(b, id, rows, (uint32_t)n);
}

#define KNOWN(b, id, rows) known(b, id, rows, COUNT(rows))

static void costs(struct bench *b, uint32_t id, struct cot_cost cost)
{
	uint32_t i;

	for (i = 0; i < COUNT(narrow); i++)
		assert_int_equal(
			bench_event(b, (struct cot_event){.type = COT_EV_PREDICTION,
							  .id = id,
							  .prediction = {i, COUNT(narrow),
									 narrow[i], cost}}),
			0);
}

static const char *because(const struct bench *b, uint32_t id)
{
	struct cot_fact facts[COT_FACTS_MAX];
	unsigned n = cot_sched_explain(b->sched, id, facts);

	assert_true(n > 0);
	assert_string_equal(facts[n - 1].name, "because");
	return facts[n - 1].text;
}

#define EXPECT_BECAUSE(b, id, word) assert_non_null(strstr(because(b, id), word))

/* Both are held until the first has waited for 2 ms, and go on at the same moment. */
static void test_gathers_and_releases_together(void **state)
{
	struct bench *b = begin();

	(void)state;
	KNOWN(b, A, narrow);
	EXPECT_HELD(b, A);
	EXPECT_BECAUSE(b, A, "waits a moment");
	bench_run(b, MS);
	KNOWN(b, B, narrow);
	EXPECT_HELD(b, B);
	bench_run(b, MS - 1);
	EXPECT_HELD(b, A);
	bench_run(b, 1);
	expect_part(b, A, 0, 64);
	expect_part(b, B, 64, 68);
	assert_int_equal(b->placed_ns[A], b->placed_ns[B]);
	EXPECT_BECAUSE(b, A, "least on SMs of its own");
	assert_int_equal(fact(b, A, "programs in it"), 2);
	assert_int_equal(fact(b, A, "saved by it"), 500);
	/* Nobody else is there, so there are no turns. */
	assert_int_equal(fact(b, A, "gangs"), 1);
	bench_reset_times(b);
	bench_run(b, 10 * COT_NS_PER_S);
	assert_int_equal(b->held_ns[A] + b->held_ns[B], 0);
	assert_int_equal(b->part[A].pace_us, 0);
	queries_end(b);
}

/* What scales takes no less together: each has all SMs, by turns of 50 ms. */
static void test_apart_by_turns(void **state)
{
	struct bench *b = begin();

	(void)state;
	KNOWN(b, A, scaling);
	KNOWN(b, B, scaling);
	bench_run(b, 2 * MS);
	EXPECT_BECAUSE(b, A, "no set with it");
	expect_part(b, A, 0, 0);
	EXPECT_HELD(b, B);
	assert_int_equal(b->part[A].pace_us, 2000);
	bench_run(b, 50 * MS);
	EXPECT_HELD(b, A);
	expect_part(b, B, 0, 0);
	bench_reset_times(b);
	bench_run(b, COT_NS_PER_S);
	assert_in_range(b->held_ns[A], 450 * MS, 550 * MS);
	assert_in_range(b->held_ns[B], 450 * MS, 550 * MS);
	queries_end(b);
}

/* Of three the two that fit; the third has its turn, and the gang the time of both. */
static void test_gang_and_a_third(void **state)
{
	struct bench *b = begin();
	uint64_t turn_us;

	(void)state;
	KNOWN(b, A, narrow);
	KNOWN(b, B, greedy);
	KNOWN(b, C, narrow);
	bench_run(b, 2 * MS);
	assert_int_equal(fact(b, A, "gangs"), 2);
	assert_int_equal(fact(b, A, "gang"), fact(b, C, "gang"));
	assert_int_not_equal(fact(b, A, "gang"), fact(b, B, "gang"));
	turn_us = fact(b, A, "turn");
	assert_int_equal(turn_us, 50000);
	assert_int_equal(b->part[A].hold, b->part[C].hold);
	assert_int_not_equal(b->part[A].hold, b->part[B].hold);
	queries_end(b);
}

/* Rewritten kernels run on the gang's parts in proportion, too: as many workers as fit there. */
static void test_workers_of_a_gang(void **state)
{
	struct bench *b = begin();

	(void)state;
	KNOWN(b, A, narrow);
	KNOWN(b, B, narrow);
	assert_int_equal(bench_work(b, 1, A, 100000, 4, 1000, true), 0);
	assert_int_equal(cot_sched_work(b->sched, 1)->granted, 132); /* not divided yet */
	assert_int_equal(bench_work_done(b, 1, 0), 0);
	bench_run(b, 3 * MS);
	assert_int_equal(fact(b, A, "programs in it"), 2);
	assert_int_equal(bench_work(b, 2, A, 100000, 4, 1000, true), 0);
	assert_int_equal(bench_work(b, 3, B, 100000, 4, 1000, true), 0);
	assert_int_equal(bench_work(b, 4, A, 100000, 4, 1000, true), 0);
	assert_int_equal(cot_sched_work(b->sched, 2)->granted, b->part[A].n);
	assert_int_equal(cot_sched_work(b->sched, 3)->granted, b->part[B].n);
	assert_int_equal(cot_sched_work(b->sched, 4)->granted, 1); /* none waits */
	assert_true(b->part[A].n + b->part[B].n == 132 && b->part[A].n >= 64);
	queries_end(b);
}

/* Its work counts twice, so it gets the larger part. */
static void test_weights_make_proportions(void **state)
{
	struct bench *b = begin();
	struct cot_event ev = {.type = COT_EV_TENANT,
			       .id = A,
			       .tenant = {.cls = COT_CLASS_BATCH,
					  .weight = 2 * COT_WEIGHT_DEFAULT,
					  .gpu_mask = GPU0,
					  .ready = true}};
	static const struct cot_prediction flat[] = {{.sms = 8, .duration_ns = 9 * MS},
						     {.sms = 64, .duration_ns = 1400 * US},
						     {.sms = 132, .duration_ns = MS}};

	(void)state;
	assert_int_equal(bench_event(b, ev), 0);
	assert_int_equal(bench_parts(b, A, true), 0);
	predict(b, A, flat, COUNT(flat));
	KNOWN(b, B, flat);
	bench_run(b, 2 * MS);
	assert_true(b->part[A].n > b->part[B].n);
	assert_int_equal(b->part[A].n + b->part[B].n, 132);
	queries_end(b);
}

/* Alone both move what the memory can: together each takes twice as long. */
static void test_bandwidth_keeps_apart(void **state)
{
	struct bench *b = begin();

	(void)state;
	KNOWN(b, A, copies);
	KNOWN(b, B, copies);
	bench_run(b, 2 * MS);
	assert_int_equal(fact(b, A, "gangs"), 2);
	queries_end(b);
}

/* The limit of the GPU that they are on, also if it is another one while they run. */
static void test_power_limit(void **state)
{
	struct bench *b = begin();
	unsigned i;

	(void)state;
	for (i = A; i <= B; i++) {
		KNOWN(b, i, narrow);
		costs(b, i, (struct cot_cost){.power_w = 432});
	}
	assert_true(cot_sched_set_limit_w(b->sched, 1, 440));
	bench_run(b, 10 * MS);
	assert_int_equal(fact(b, A, "gangs"), 1);
	assert_int_equal(fact(b, A, "predicted power"), 118 + 2 * (432 - 118));
	assert_true(cot_sched_set_limit_w(b->sched, 0, 700));
	bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	assert_int_equal(fact(b, A, "gangs"), 1);
	assert_int_equal(fact(b, A, "predicted power"), 700);
	/* 1.95 s together are no gain over 2 s apart. */
	assert_true(cot_sched_set_limit_w(b->sched, 0, 440));
	bench_event(b, (struct cot_event){.type = COT_EV_TICK});
	assert_int_equal(fact(b, A, "gangs"), 2);
	queries_end(b);
}

static void test_gain_must_be_large_enough(void **state)
{
	struct bench *b = begin_with(COT_AIM_TIME, 510);

	(void)state;
	KNOWN(b, A, narrow);
	KNOWN(b, B, narrow);
	bench_run(b, 2 * MS);
	assert_int_equal(fact(b, A, "gangs"), 2);
	queries_end(b);
}

/* Its user lets the policy put it on the CPU. */
static void let(struct bench *b, uint32_t id)
{
	struct cot_event ev = {.type = COT_EV_PARTS,
			       .id = id,
			       .parts = {.n_sms = 132, .unit = 8, .can_cpu = true}};

	assert_int_equal(bench_event(b, ev), 0);
}

/* 300 W for a millisecond, or 50 W for five. Together both take 0.118 + 2 * 0.182 J on the GPU. */
static void test_cpu_by_energy_and_time(void **state)
{
	const struct cot_cost less = {300, 40, 5 * MS}, more = {300, 60, 5 * MS};
	struct bench *b = begin();

	(void)state;
	batch(b, A);
	batch(b, B);
	let(b, A);
	let(b, B);
	costs(b, A, less);
	costs(b, B, less);
	bench_run(b, 2 * MS);
	EXPECT_BECAUSE(b, A, "least on the CPU");
	assert_true(b->part[A].cpu && b->part[B].cpu);
	costs(b, A, more);
	costs(b, B, more);
	bench_run(b, 0);
	assert_false(b->part[A].cpu || b->part[B].cpu);
	EXPECT_BECAUSE(b, A, "together than apart");
	assert_int_equal(fact(b, A, "saved by it"), 196); /* 482 mJ instead of 600 */
	queries_end(b);
	b = begin_with(COT_AIM_TIME, 20);
	batch(b, A);
	batch(b, B);
	let(b, A);
	let(b, B);
	costs(b, A, less);
	costs(b, B, less);
	bench_run(b, 2 * MS);
	EXPECT_BECAUSE(b, A, "together than apart");
	queries_end(b);
}

/* Who cannot be put there is judged without the CPU, and told of it. */
static void test_cpu_that_cannot_be(void **state)
{
	const struct cot_cost less = {300, 40, 5 * MS};
	struct bench *b = begin();

	(void)state;
	batch(b, A);
	batch(b, B);
	costs(b, A, less);
	costs(b, B, less);
	bench_run(b, 2 * MS);
	EXPECT_BECAUSE(b, A, "together than apart");
	assert_int_equal(fact(b, A, "on the CPU"), 0);
	assert_int_equal(fact(b, A, "programs in it"), 2);
	assert_false(b->part[A].cpu);
	/* With one there together still takes least: 482 mJ, and 500 apart. With both 400. */
	let(b, A);
	bench_run(b, 2 * MS);
	EXPECT_BECAUSE(b, A, "together than apart");
	assert_int_equal(fact(b, A, "on the CPU"), UINT64_MAX);
	let(b, B);
	bench_run(b, 2 * MS);
	assert_true(b->part[A].cpu && b->part[B].cpu);
	queries_end(b);
}

/* It has no turns, and waits for nobody's; those of the others are as without it. */
static void test_cpu_beside_turns(void **state)
{
	const struct cot_cost less = {300, 40, 5 * MS};
	struct bench *b = begin();

	(void)state;
	batch(b, A);
	let(b, A);
	costs(b, A, less);
	KNOWN(b, B, scaling);
	KNOWN(b, C, scaling);
	bench_run(b, 2 * MS);
	assert_true(b->part[A].cpu);
	assert_int_equal(fact(b, B, "gangs"), 2);
	assert_int_equal(fact(b, A, "turn"), UINT64_MAX);
	bench_reset_times(b);
	bench_run(b, COT_NS_PER_S);
	assert_int_equal(b->held_ns[A], 0);
	assert_in_range(b->held_ns[B], 450 * MS, 550 * MS);
	assert_true(b->part[A].cpu);
	/* Beside a latency program there are no gangs, and so no decision. */
	service(b, SERVICE, 0);
	bench_run(b, MS);
	assert_false(b->part[A].cpu);
	queries_end(b);
}

/* Nothing is known of them: together, each on its own SMs, as under `parts`. */
static void test_unknown_programs(void **state)
{
	struct bench *b = begin();

	(void)state;
	batch(b, A);
	batch(b, B);
	bench_run(b, 2 * MS);
	expect_part(b, A, 0, 64);
	expect_part(b, B, 64, 68);
	EXPECT_BECAUSE(b, A, "nothing is predicted");
	KNOWN(b, C, scaling);
	bench_run(b, 2 * MS);
	assert_int_equal(fact(b, C, "gangs"), 2);
	assert_int_equal(fact(b, A, "gang"), fact(b, B, "gang"));
	/* Two of three shares of the time. */
	assert_int_equal(fact(b, A, "turn"), 100000);
	assert_int_equal(fact(b, C, "turn"), 50000);
	queries_end(b);
}

/* Never beside a latency program: as under `parts`, nobody is held; and again when it has gone. */
static void test_latency_program(void **state)
{
	struct bench *b = begin();

	(void)state;
	KNOWN(b, A, scaling);
	KNOWN(b, B, scaling);
	bench_run(b, 10 * MS);
	service(b, SERVICE, 0);
	expect_part(b, A, 0, 32);
	expect_part(b, B, 32, 32);
	EXPECT_BECAUSE(b, A, "a latency program is active");
	EXPECT_BECAUSE(b, SERVICE, "it is a latency program");
	KNOWN(b, C, narrow);
	assert_false(b->part[C].hold);
	bench_reset_times(b);
	bench_run(b, COT_NS_PER_S);
	assert_int_equal(b->held_ns[A] + b->held_ns[B] + b->held_ns[C], 0);
	/* It lingers for a second. */
	assert_int_equal(bench_activity(b, SERVICE, COT_ACTIVITY_IDLE), 0);
	bench_run(b, COT_NS_PER_S - 1);
	assert_int_equal(fact(b, A, "gangs"), UINT64_MAX);
	bench_run(b, 1);
	EXPECT_HELD(b, A);
	bench_run(b, 2 * MS);
	assert_int_not_equal(fact(b, A, "gangs"), UINT64_MAX);
	queries_end(b);
}

/* Who comes waits; the others go on meanwhile, and their plan changes when he is in it. */
static void test_newcomer(void **state)
{
	struct bench *b = begin();

	(void)state;
	KNOWN(b, A, narrow);
	bench_run(b, 10 * MS);
	expect_part(b, A, 0, 0);
	KNOWN(b, B, narrow);
	EXPECT_HELD(b, B);
	expect_part(b, A, 0, 0);
	bench_run(b, 2 * MS);
	expect_part(b, A, 0, 64);
	expect_part(b, B, 64, 68);
	assert_int_equal(bench_leave(b, A), 0);
	bench_run(b, 0);
	expect_part(b, B, 0, 0);
	queries_end(b);
}

/* A turn that nobody uses is over; who has not worked for long is in no gang. */
static void test_idle_programs(void **state)
{
	struct bench *b = begin();

	(void)state;
	KNOWN(b, A, scaling);
	KNOWN(b, B, scaling);
	bench_run(b, 2 * MS);
	expect_part(b, A, 0, 0);
	assert_int_equal(bench_activity(b, A, COT_ACTIVITY_IDLE), 0);
	bench_run(b, 0);
	expect_part(b, B, 0, 0);
	bench_run(b, COT_NS_PER_S);
	assert_int_equal(fact(b, B, "gangs"), 1);
	EXPECT_BECAUSE(b, A, "launches nothing");
	assert_int_equal(bench_activity(b, A, COT_ACTIVITY_ACTIVE), 0);
	bench_run(b, 0);
	EXPECT_HELD(b, A);
	queries_end(b);
}

/* As far as a host counts launches: ten seconds without one. */
static void test_sleeping_program(void **state)
{
	struct bench *b = begin();
	struct cot_event ev = {.type = COT_EV_PROGRESS, .id = A};

	(void)state;
	KNOWN(b, A, scaling);
	KNOWN(b, B, scaling);
	ev.launches.span_ns = COT_NS_PER_S;
	ev.launches.n = 10;
	assert_int_equal(bench_event(b, ev), 0);
	bench_run(b, 9 * COT_NS_PER_S);
	assert_int_equal(fact(b, B, "gangs"), 2);
	bench_run(b, 2 * COT_NS_PER_S);
	assert_int_equal(fact(b, B, "gangs"), 1);
	queries_end(b);
}

/* Who asked for SMs has them, always; the others form gangs on the rest. */
static void test_asked_for_sms(void **state)
{
	struct bench *b = begin();

	(void)state;
	assert_int_equal(bench_sms(b, SERVICE, COT_CLASS_BATCH, (struct cot_share){.sms = 32}), 0);
	assert_int_equal(bench_parts(b, SERVICE, true), 0);
	KNOWN(b, A, scaling);
	KNOWN(b, B, scaling);
	bench_run(b, 2 * MS);
	EXPECT_BECAUSE(b, SERVICE, "its user asked");
	bench_reset_times(b);
	bench_run(b, COT_NS_PER_S);
	assert_int_equal(b->held_ns[SERVICE], 0);
	assert_int_equal(b->part[SERVICE].n, 32);
	assert_true(b->held_ns[A] > 0);
	queries_end(b);
}

/* Each of so many has its turn in a cycle, here of a second, and none is thought to starve. */
static void test_many(void **state)
{
	struct cot_policy_config config;
	struct bench *b = begin();
	uint32_t i, n = 60;

	(void)state;
	cot_policy_config_init(&config);
	config.cycle_ns = COT_NS_PER_S;
	bench_end(b);
	b = malloc(sizeof(*b));
	assert_non_null(b);
	bench_init_with(b, &cot_policy_consolidate, &config, NULL);
	for (i = 0; i < n; i++)
		KNOWN(b, A + i, scaling);
	bench_run(b, 4 * MS);
	assert_int_equal(fact(b, A, "gangs"), n);
	assert_int_equal(fact(b, A, "turn"), 1000000 / n);
	bench_reset_times(b);
	bench_run(b, 12 * COT_NS_PER_S);
	for (i = 0; i < n; i++)
		assert_in_range(b->held_ns[A + i], 11 * COT_NS_PER_S, 12 * COT_NS_PER_S - 150 * MS);
	/* One more, and there are no gangs. */
	KNOWN(b, A + n, scaling);
	bench_run(b, 10 * MS);
	EXPECT_BECAUSE(b, A, "more programs than can take turns");
	bench_reset_times(b);
	bench_run(b, COT_NS_PER_S);
	assert_int_equal(b->held_ns[A] + b->held_ns[A + n], 0);
	assert_int_equal(bench_stats(b).fallbacks, 0);
	queries_end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gathers_and_releases_together),
		cmocka_unit_test(test_apart_by_turns),
		cmocka_unit_test(test_gang_and_a_third),
		cmocka_unit_test(test_workers_of_a_gang),
		cmocka_unit_test(test_weights_make_proportions),
		cmocka_unit_test(test_bandwidth_keeps_apart),
		cmocka_unit_test(test_power_limit),
		cmocka_unit_test(test_gain_must_be_large_enough),
		cmocka_unit_test(test_cpu_by_energy_and_time),
		cmocka_unit_test(test_cpu_that_cannot_be),
		cmocka_unit_test(test_cpu_beside_turns),
		cmocka_unit_test(test_unknown_programs),
		cmocka_unit_test(test_latency_program),
		cmocka_unit_test(test_newcomer),
		cmocka_unit_test(test_idle_programs),
		cmocka_unit_test(test_sleeping_program),
		cmocka_unit_test(test_asked_for_sms),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
