/* What a topology is guessed to keep, from the times of programs alone. */
#include "policy/slo.h"
#include "test.h"

static struct slo_need need_of(uint32_t target_us, const struct slo_known *known)
{
	struct slo_need need = {0};

	cot_slo_need_add(&need, target_us, known);
	return need;
}

static void assert_nothing(const struct slo_need *need)
{
	int topology;

	for (topology = 0; topology < SLO_N_TOPOLOGIES; topology++) {
		struct slo_guess guess = cot_slo_guess((enum slo_topology)topology, need);

		assert_false(guess.keeps);
		assert_int_equal(guess.rate, 0);
	}
}

/* A program that has just started, one without requests, one without a target, and nobody. */
static void test_unknown(void **state)
{
	const struct slo_known new = {0}, quiet = {.alone_p99_us = 1000, .alone_p50_us = 900},
			       known = {1000, 900, 1000, 10};
	struct slo_need need;

	(void)state;
	need = need_of(5000, &new);
	assert_nothing(&need);
	need = need_of(5000, &quiet);
	assert_nothing(&need);
	need = need_of(0, &known);
	assert_nothing(&need);
	cot_slo_need_add(&need, 5000, &known);
	assert_nothing(&need);
	need = (struct slo_need){0};
	assert_nothing(&need);
}

/* More time to spare leaves batch programs no less, on parts. */
static void test_spare(void **state)
{
	const struct slo_known known = {.alone_p99_us = 1000, .alone_p50_us = 900, .load = 1000};
	uint32_t target_us, before = 0;

	(void)state;
	for (target_us = 1100; target_us <= 8000; target_us += 100) {
		struct slo_need need = need_of(target_us, &known);
		struct slo_guess guess = cot_slo_guess(SLO_PARTS, &need);

		assert_true(guess.rate >= before);
		assert_int_equal(guess.keeps, guess.rate > 0);
		before = guess.rate;
	}
	assert_true(before >= 800);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_spare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
