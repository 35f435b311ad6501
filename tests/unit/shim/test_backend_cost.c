/*
 * When handing a launch over can pay, by what launches and those handed over took. The unit is in a
 * shared library, so its source is here.
 */
#include "guest/shim/backend_cost.c"

#include <stdarg.h>

#include "test.h"

struct cot_settings cot_shim_settings;

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

static void own(uint64_t ns, unsigned times)
{
	while (times--)
		(void)cot_shim_backend_cost_own(ns);
}

static int set_up(void **state)
{
	(void)state;
	cot_shim_settings = (struct cot_settings){0};
	atomic_store(&own_ns, 0);
	atomic_store(&hand_ns, 0);
	atomic_store(&n_kept, 0);
	return 0;
}

/* As on an H200: nothing is handed over, but where the user wants all. */
static void launches_that_are_short(void **state)
{
	unsigned i;

	(void)state;
	assert_false(cot_shim_backend_can_pay());
	assert_int_equal(cot_shim_backend_cost_own(2500), 2500);
	for (i = 0; i < 3 * TRY_EACH; i++)
		assert_false(cot_shim_backend_can_pay());
	cot_shim_settings.merge_always = true;
	assert_true(cot_shim_backend_can_pay());
}

/* The first one took long, as first ones do: that is forgotten. */
static void a_first_one(void **state)
{
	(void)state;
	own(3 * MOST_NS, 1);
	assert_int_equal(atomic_load(&own_ns), MOST_NS);
	assert_true(cot_shim_backend_can_pay());
	own(2500, 100);
	assert_in_range(atomic_load(&own_ns), 2400, 2600);
	assert_false(cot_shim_backend_can_pay());
}

/* Handing over takes less, then more; then one in many tries it again. */
static void what_takes_less(void **state)
{
	unsigned i, n = 0;

	(void)state;
	own(50000, 100);
	assert_true(cot_shim_backend_can_pay());
	cot_shim_backend_cost_hand(20000);
	assert_true(cot_shim_backend_can_pay());
	for (i = 0; i < 100; i++)
		cot_shim_backend_cost_hand(90000);
	for (i = 0; i < 2 * TRY_EACH; i++)
		n += cot_shim_backend_can_pay();
	assert_int_equal(n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(launches_that_are_short, set_up),
		cmocka_unit_test_setup(a_first_one, set_up),
		cmocka_unit_test_setup(what_takes_less, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
