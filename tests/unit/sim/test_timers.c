#include "base/rng.h"
#include "sim/timers.h"
#include "test.h"

#define N     37
#define STEPS 20000

static void all_are_off_at_first(void **state)
{
	struct timers t;

	(void)state;
	assert_int_equal(cot_timers_init(&t, 5), 0);
	assert_true(timers_next_ps(&t) == COT_TIMER_OFF);
	cot_timers_finish(&t);
}

static void the_earliest_comes_first(void **state)
{
	struct timers t;

	(void)state;
	assert_int_equal(cot_timers_init(&t, 4), 0);
	cot_timers_set(&t, 2, 30);
	cot_timers_set(&t, 0, 40);
	cot_timers_set(&t, 3, 20);
	assert_int_equal(timers_next_id(&t), 3);
	cot_timers_set(&t, 3, 35); /* later */
	assert_int_equal(timers_next_id(&t), 2);
	cot_timers_set(&t, 0, 10); /* earlier */
	assert_int_equal(timers_next_id(&t), 0);
	cot_timers_set(&t, 0, COT_TIMER_OFF);
	cot_timers_set(&t, 2, COT_TIMER_OFF);
	assert_int_equal(timers_next_id(&t), 3);
	assert_int_equal(timers_next_ps(&t), 35);
	cot_timers_finish(&t);
}

/* However they got there, of timers due at one time the lowest number comes first. */
static void ties_go_to_the_lowest_id(void **state)
{
	static const uint32_t order[] = {4, 1, 5, 0, 3, 2};
	struct timers t;
	uint32_t i;

	(void)state;
	assert_int_equal(cot_timers_init(&t, 6), 0);
	for (i = 0; i < 6; i++)
		cot_timers_set(&t, order[i], i % 2 ? 7 : 9);
	for (i = 0; i < 6; i++)
		cot_timers_set(&t, order[i], 8);
	for (i = 0; i < 6; i++) {
		assert_int_equal(timers_next_id(&t), i);
		cot_timers_set(&t, i, COT_TIMER_OFF);
	}
	cot_timers_finish(&t);
}

static void one_timer_works(void **state)
{
	struct timers t;

	(void)state;
	assert_int_equal(cot_timers_init(&t, 1), 0);
	cot_timers_set(&t, 0, 0);
	assert_int_equal(timers_next_ps(&t), 0);
	cot_timers_set(&t, 0, COT_TIMER_OFF);
	assert_true(timers_next_ps(&t) == COT_TIMER_OFF);
	cot_timers_finish(&t);
}

/* Against a plain table, with many ties. */
static void random_sets_agree_with_a_search(void **state)
{
	struct cot_rng rng = {20140614};
	uint64_t due[N];
	struct timers t;
	uint32_t step, i;

	(void)state;
	assert_int_equal(cot_timers_init(&t, N), 0);
	for (i = 0; i < N; i++)
		due[i] = COT_TIMER_OFF;
	for (step = 0; step < STEPS; step++) {
		uint32_t id = (uint32_t)cot_rng_below(&rng, N), best = 0;

		due[id] = cot_rng_below(&rng, 5) ? cot_rng_below(&rng, 50) : COT_TIMER_OFF;
		cot_timers_set(&t, id, due[id]);
		for (i = 1; i < N; i++)
			if (due[i] < due[best])
				best = i;
		if (timers_next_ps(&t) != due[best] || timers_next_id(&t) != best)
			fail_msg("step %u: timer %u at %llu, want timer %u at %llu", step,
				 timers_next_id(&t), (unsigned long long)timers_next_ps(&t), best,
				 (unsigned long long)due[best]);
	}
	cot_timers_finish(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_off_at_first),
		cmocka_unit_test(the_earliest_comes_first),
		cmocka_unit_test(ties_go_to_the_lowest_id),
		cmocka_unit_test(one_timer_works),
		cmocka_unit_test(random_sets_agree_with_a_search),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
