/*
 * What `smqos` decides, second by second, about programs whose rate is a known function of their
 * SMs: 100 launches a second on each, up to as many as they have use for.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "policy/shares.h"

#define S COT_NS_PER_S

enum { GOAL = 1, GOAL2, OTHER, OTHER2, N_PROGRAMS = 40 };

static struct {
	bool runs;
	double sat, per_sm, noise;
	double done;  /* launches in all */
	double carry; /* what is not a whole launch yet */
} programs[N_PROGRAMS];
static struct cot_rng rng;
static uint64_t key; /* of programs that start */

static struct bench *begin(void)
{
	unsigned i;

	for (i = 0; i < N_PROGRAMS; i++)
		programs[i].runs = false;
	rng = (struct cot_rng){7};
	key = 0;
	return bench_begin(&cot_policy_smqos);
}

static void set_target(struct bench *b, uint32_t id, struct cot_target target)
{
	struct cot_event ev = {.type = COT_EV_TENANT,
			       .id = id,
			       .tenant = {.cls = COT_CLASS_BATCH,
					  .weight = COT_WEIGHT_DEFAULT,
					  .gpu_mask = GPU0,
					  .ready = true,
					  .target = target,
					  .key = key}};

	assert_int_equal(bench_event(b, ev), 0);
}

static void set_rate(struct bench *b, uint32_t id, uint32_t permille)
{
	set_target(b, id,
		   (struct cot_target){permille ? COT_TARGET_RATE : COT_TARGET_NONE, permille});
}

/* A program with a promised rate; 0: with none. */
static void start(struct bench *b, uint32_t id, double sat, uint32_t permille)
{
	set_rate(b, id, permille);
	assert_int_equal(bench_parts(b, id, true), 0);
	programs[id].runs = true;
	programs[id].sat = sat;
	programs[id].per_sm = 100;
	programs[id].noise = programs[id].done = programs[id].carry = 0;
}

static uint32_t first(const struct bench *b, uint32_t id)
{
	return b->part[id].first;
}

static uint32_t sms(const struct bench *b, uint32_t id)
{
	return b->part[id].n ? b->part[id].n : 132;
}

static bool is_on(const struct bench *b, uint32_t id, uint32_t sm)
{
	return programs[id].runs && sm >= first(b, id) && sm < first(b, id) + sms(b, id);
}

/* An SM with several programs on it works for each of them in turn. */
static double rate(const struct bench *b, uint32_t id)
{
	double n = 0, noise;
	uint32_t sm, i, users;

	for (sm = first(b, id); sm < first(b, id) + sms(b, id); sm++) {
		for (users = 0, i = 0; i < N_PROGRAMS; i++)
			users += is_on(b, i, sm);
		n += 1.0 / users;
	}
	noise = programs[id].noise * ((double)cot_rng_below(&rng, 2001) / 1000 - 1);
	return programs[id].per_sm * fmin(n, programs[id].sat) * (1 + noise);
}

/* It ends when what was decided by the counts is done. */
static void one_second(struct bench *b)
{
	struct cot_event ev = {.type = COT_EV_PROGRESS, .launches = {.span_ns = S}};
	double done[N_PROGRAMS];
	uint32_t id;

	bench_run(b, S / 2);
	for (id = 0; id < N_PROGRAMS; id++)
		done[id] = programs[id].runs ? rate(b, id) : 0;
	bench_run(b, S / 4);
	for (id = 0; id < N_PROGRAMS; id++) {
		if (!programs[id].runs)
			continue;
		programs[id].done += done[id];
		programs[id].carry += done[id];
		ev.id = id;
		ev.launches.n = (uint64_t)programs[id].carry;
		programs[id].carry -= (double)ev.launches.n;
		(void)bench_event(b, ev);
	}
	bench_run(b, S / 4);
}

static void run(struct bench *b, unsigned seconds)
{
	while (seconds--)
		one_second(b);
	bench_run(b, 200 * MS); /* what was decided last is done */
}

/* The mean over so many seconds, in parts of what it does on `of` SMs. */
static double mean(struct bench *b, uint32_t id, unsigned seconds, double of)
{
	double before = programs[id].done;

	run(b, seconds);
	return (programs[id].done - before) / seconds / (of * programs[id].per_sm);
}

static bool is_quiet(const struct bench *b, uint32_t id)
{
	return first(b, id) == 8 && sms(b, id) == 124;
}

static void expect_apart(const struct bench *b, uint32_t n_programs)
{
	uint32_t sm, i, users;

	for (sm = 0; sm < 132; sm++) {
		for (users = 0, i = 0; i <= n_programs; i++)
			users += is_on(b, i, sm);
		assert_true(users <= 1);
	}
}

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

	(void)state;
	start(b, OTHER, 24, 0);
	start(b, OTHER2, 32, 0);
	start(b, GOAL, 40, 800);
	run(b, 200);
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
static void test_who_asked_has_what_he_asked_for(void **state)
{
	struct bench *b = begin();

	(void)state;
	start(b, OTHER, 132, 0);
	start(b, GOAL, 132, 500);
	run(b, 60);
	assert_int_equal(bench_sms(b, OTHER2, COT_CLASS_BATCH, SMS(40)), 0);
	assert_int_equal(bench_parts(b, OTHER2, true), 0);
	programs[OTHER2].runs = true;
	programs[OTHER2].sat = 132;
	programs[OTHER2].per_sm = 1;
	run(b, 100);
	assert_int_equal(first(b, OTHER2), 0);
	assert_int_equal(sms(b, OTHER2), 40);
	expect_apart(b, OTHER2);
	assert_int_equal(sms(b, GOAL) + sms(b, OTHER), 92);
	/* All of it: the others go where they can. */
	assert_int_equal(bench_sms(b, OTHER2, COT_CLASS_BATCH, SMS(132)), 0);
	run(b, 20);
	assert_int_equal(sms(b, OTHER2), 132);
	end(b);
}

/* Few launches a second: an epoch lasts until they say something. */
static void test_slow_launches(void **state)
{
	struct bench *b = begin();
	unsigned i, changes = 0;
	uint32_t n = 0;

	(void)state;
	start(b, OTHER, 132, 0);
	start(b, GOAL, 132, 800);
	programs[GOAL].per_sm = 0.1; /* 13 on all, one in two seconds on a unit */
	for (i = 0; i < 300; i++) {
		one_second(b);
		changes += sms(b, GOAL) != n;
		n = sms(b, GOAL);
	}
	assert_true(changes < 40);
	assert_true(mean(b, GOAL, 200, 124) >= 0.78);
	end(b);
}

/* The next time it runs it is known: nobody makes room, and it begins with what it needed. */
static void test_what_was_learned(void **state)
{
	struct bench *b = begin();
	unsigned i;

	(void)state;
	start(b, OTHER, 132, 0);
	key = 4711;
	start(b, GOAL, 132, 300);
	run(b, 120);
	assert_in_range(sms(b, GOAL), 36, 52);
	(void)bench_leave(b, GOAL);
	programs[GOAL].runs = false;
	run(b, 20);
	start(b, GOAL2, 132, 300);
	run(b, 2);
	for (i = 0; i < 100; i++) {
		assert_in_range(sms(b, GOAL2), 36, 52);
		one_second(b);
	}
	end(b);
}

static bool says(const struct bench *b, uint32_t id, const char *name, const char *text,
		 uint64_t least, uint64_t most)
{
	struct cot_fact facts[COT_FACTS_MAX];
	unsigned i, n = cot_sched_explain(b->sched, id, facts);

	for (i = 0; i < n; i++)
		if (!strcmp(facts[i].name, name))
			return (!text || !strncmp(facts[i].text, text, strlen(text))) &&
			       facts[i].value >= least && facts[i].value <= most;
	return false;
}

/* `cotenant explain` says what a program was promised and has, and why. */
static void test_it_explains(void **state)
{
	struct bench *b = begin();

	(void)state;
	start(b, OTHER, 24, 0);
	start(b, GOAL, 132, 500);
	bench_run(b, S / 10);
	assert_true(says(b, OTHER, "because", "no program with a rate target", 0, 0));
	run(b, 2);
	assert_true(says(b, GOAL, "because", "its rate alone is being measured", 0, 0));
	assert_true(says(b, GOAL, "promised", NULL, 500, 500));
	assert_false(says(b, GOAL, "had in the last second", NULL, 0, UINT64_MAX));
	run(b, 120);
	assert_true(says(b, GOAL, "because", "it keeps its target", 0, 0));
	assert_true(says(b, GOAL, "had in the last second", "of its rate alone", 450, 600));
	assert_true(says(b, OTHER, "because", "another unit of SMs would bring", 0, 0));
	assert_true(says(b, OTHER, "SMs that nobody has", NULL, 32, 132 - 24 - 60));
	start(b, OTHER2, 132, 0);
	programs[OTHER2].runs = false;
	run(b, 1);
	assert_true(says(b, OTHER2, "because", "it launches nothing", 0, 0));
	assert_int_equal(bench_sms(b, OTHER2, COT_CLASS_BATCH, SMS(8)), 0);
	assert_true(says(b, OTHER2, "because", "its user asked", 0, 0));
	programs[GOAL].per_sm = 40;
	run(b, 10);
	assert_true(says(b, GOAL, "because", "it is below its target", 0, 0));
	run(b, 30);
	end(b);
}

static void test_more_programs_than_units(void **state)
{
	struct bench *b = begin();
	uint32_t id;

	(void)state;
	start(b, GOAL, 132, 500);
	for (id = GOAL + 1; id < 30; id++)
		start(b, id, 132, 0);
	run(b, 60);
	for (id = GOAL; id < 30; id++)
		assert_true(sms(b, id) >= 8 && sms(b, id) < 132);
	for (id = GOAL + 1; id < 30; id++) {
		(void)bench_leave(b, id);
		programs[id].runs = false;
	}
	run(b, 5);
	assert_int_equal(sms(b, GOAL), 132);
	end(b);
}

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
static void test_a_day(void **state)
{
	struct bench *b = begin();
	unsigned i;
	uint32_t id;

	(void)state;
	for (i = 0; i < 2000; i++) {
		id = 1 + (uint32_t)cot_rng_below(&rng, 6);
		if (!cot_sched_tenant(b->sched, id))
			start(b, id, 8 + (double)cot_rng_below(&rng, 125),
			      cot_rng_below(&rng, 2) ? (uint32_t)cot_rng_below(&rng, 1001) : 0);
		else if (!cot_rng_below(&rng, 8))
			set_rate(b, id, (uint32_t)cot_rng_below(&rng, 1001));
		else if (!cot_rng_below(&rng, 8))
			programs[id].runs = !programs[id].runs;
		else if (!cot_rng_below(&rng, 20)) {
			(void)bench_leave(b, id);
			programs[id].runs = false;
		}
		run(b, (unsigned)cot_rng_below(&rng, 15));
	}
	end(b);
}

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
		cmocka_unit_test(test_who_asked_has_what_he_asked_for),
		cmocka_unit_test(test_slow_launches),
		cmocka_unit_test(test_what_was_learned),
		cmocka_unit_test(test_it_explains),
		cmocka_unit_test(test_more_programs_than_units),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_a_day),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
