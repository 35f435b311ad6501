/* How long batch programs run at a time, and what is guessed of it. */
#include "policy/slo.h"
#include "test.h"

/* 740 requests a second of 0.87 ms each, and a target of 10 ms. */
#define LOAD 7400u
static const struct slo_use high = {.busy = 640, .target_us = 10000};
/* 120 a second. */
#define LOW_LOAD 1200u
static const struct slo_use low = {.busy = 104, .target_us = 10000};

static void test_each_rung_gives_more(void **state)
{
	uint32_t rung, all;

	(void)state;
	for (rung = SLO_FROZEN; rung < SLO_USUAL; rung++) {
		struct slo_breath b = cot_slo_breath(rung);

		/* A freeze and a thaw need a millisecond each; the core calls more than 10 s
		 * starving, and a GPU stalled after half a second. */
		assert_in_range(b.run_us, 4000, 15000);
		assert_in_range(b.every_us, b.run_us + 4000, 500000);
		all = cot_slo_breath_permille(rung);
		assert_true(all > 0 && all < cot_slo_breath_permille(rung + 1));
	}
	assert_true(cot_slo_breath_permille(SLO_FROZEN) < 10);
	assert_int_equal(cot_slo_breath(SLO_USUAL).every_us, 0);
	assert_int_equal(cot_slo_breath(SLO_RUNGS_MAX).every_us, 0);
	assert_int_equal(cot_slo_breath_permille(SLO_RUNGS_MAX), 1000);
}

static uint32_t guess(const struct slo_use *use, uint32_t used, uint64_t load, uint32_t to)
{
	return cot_slo_breath_guess(use, used, load, SLO_FROZEN, to);
}

/* Within a tenth of the p99 that the simulator has in these breaths: 5.6 ms frozen, 6.8 in a fifth
 * of the time, 8.6 in two fifths (this rung has 7 of 20 parts). 1.62, 2.07, and 2.43 ms always. */
static void test_guesses_are_near(void **state)
{
	(void)state;
	assert_in_range(guess(&high, 560, LOAD, 3), 612, 748);
	assert_in_range(guess(&high, 560, LOAD, 4), 680, 860);
	assert_true(guess(&high, 560, LOAD, SLO_USUAL) > 1500);
	assert_in_range(guess(&low, 162, LOW_LOAD, 3), 186, 228);
	assert_in_range(guess(&low, 162, LOW_LOAD, SLO_USUAL), 219, 267);
}

static void test_guesses_go_up(void **state)
{
	uint32_t rung, from;

	(void)state;
	for (from = SLO_FROZEN; from < SLO_USUAL; from++)
		for (rung = from; rung < SLO_USUAL; rung++)
			assert_true(cot_slo_breath_guess(&high, 560, LOAD, from, rung) <
				    cot_slo_breath_guess(&high, 560, LOAD, from, rung + 1));
	for (rung = SLO_FROZEN; rung <= SLO_USUAL; rung++)
		assert_int_equal(cot_slo_breath_guess(&low, 300, LOW_LOAD, rung, rung), 300);
}

/* What the last second says of the load counts if it is more than what ten say. */
static void test_load_has_risen(void **state)
{
	struct slo_use use = high;

	(void)state;
	use.n = LOAD / 10;
	assert_int_equal(guess(&use, 560, 1200, 4), guess(&high, 560, LOAD, 4));
	assert_int_equal(guess(&use, 560, LOAD, 4), guess(&high, 560, LOAD, 4));
}

/* More than the GPU can serve. */
static void test_too_much(void **state)
{
	(void)state;
	assert_true(guess(&high, 560, 2 * LOAD, SLO_USUAL) == UINT32_MAX);
	assert_true(guess(&high, UINT32_MAX, LOAD, 1) == UINT32_MAX);
}

static void test_nothing_is_known(void **state)
{
	struct slo_use use = high;

	(void)state;
	assert_int_equal(guess(&use, 560, 0, 1), 0);
	use.busy = 0;
	assert_int_equal(guess(&use, 560, LOAD, 1), 0);
	use = high;
	use.target_us = 0;
	assert_int_equal(guess(&use, 560, LOAD, 1), 0);
}

/* Six times as many requests: as the simulator has it, from 2.4 ms to never. */
static void test_a_queue_grows_with_the_load(void **state)
{
	const struct slo_rung was = {.use = 240, .load = LOW_LOAD, .busy = 144};
	struct slo_use now = {.n = 120, .busy = 144, .target_us = 10000};

	(void)state;
	assert_int_equal(cot_slo_breath_grown(&now, &was, SLO_USUAL), 240);
	now.n = 240;
	now.busy = 288;
	assert_in_range(cot_slo_breath_grown(&now, &was, SLO_USUAL), 280, 400);
	now.n = 740;
	now.busy = 888;
	assert_true(cot_slo_breath_grown(&now, &was, SLO_USUAL) > 1500);
	assert_int_equal(cot_slo_breath_grown(&now, &(struct slo_rung){.use = 240}, SLO_USUAL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_rung_gives_more),
		cmocka_unit_test(test_guesses_are_near),
		cmocka_unit_test(test_guesses_go_up),
		cmocka_unit_test(test_load_has_risen),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_nothing_is_known),
		cmocka_unit_test(test_a_queue_grows_with_the_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
