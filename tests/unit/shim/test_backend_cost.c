/*
 * When handing a launch over can pay, by what launches and those handed over took. The unit is in a
 * shared library, so its source is here.
 */
#include "guest/shim/backend_cost.c"

#include <stdarg.h>
#include <string.h>

#include "test.h"

struct cot_settings cot_shim_settings;

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

static void launches(uint64_t ns, unsigned times)
{
	while (times--)
		(void)cot_shim_backend_cost_own(ns);
}

static void handing(uint64_t ns, unsigned times)
{
	while (times--)
		cot_shim_backend_cost_hand(ns);
}

static unsigned pays(unsigned of)
{
	unsigned n = 0;

	while (of--)
		n += cot_shim_backend_can_pay();
	return n;
}

static int set_up(void **state)
{
	(void)state;
	cot_shim_settings = (struct cot_settings){0};
	memset(&own, 0, sizeof(own));
	memset(&handed, 0, sizeof(handed));
	atomic_store(&n_handed, 0);
	atomic_store(&n_kept, 0);
	return 0;
}

/* As on an H200: once both are known nothing is handed over, but where the user wants all. */
static void launches_that_are_short(void **state)
{
	(void)state;
	launches(2500, KEPT - 1);
	assert_int_equal(pays(1000), 0);
	assert_int_equal(cot_shim_backend_cost_own(2500), 2500);
	handing(12000, KEPT - 1);
	assert_int_equal(pays(100), 100);
	handing(12000, 1);
	assert_int_equal(pays(1000), 0);
	cot_shim_settings.merge_always = true;
	assert_int_equal(pays(1000), 1000);
}

/* Three that took long, as when a thread loses its CPU, and a later one as short as none is. */
static void ones_that_are_unlike(void **state)
{
	(void)state;
	launches(UINT64_MAX, 3);
	launches(2500, 4);
	assert_int_equal(atomic_load(&own.median), 2500);
	launches(2400, 3);
	launches(0, 1);
	assert_in_range(atomic_load(&own.median), 2400, 2500);
	launches(UINT64_MAX, KEPT);
	assert_int_equal(atomic_load(&own.median), MOST_NS);
}

/* Handing over takes less: now and then a launch is made here, so that it is known when that takes
 * less again. */
static void handing_takes_less(void **state)
{
	(void)state;
	launches(50000, KEPT);
	handing(20000, KEPT);
	assert_int_equal(pays(100 * OWN_EACH), 100 * (OWN_EACH - 1));
	launches(19000, KEPT / 2 + 1);
	assert_int_equal(pays(100 * OWN_EACH), 0);
}

/* It takes more: some in many try it again, enough of them to be believed. */
static void launching_takes_less(void **state)
{
	unsigned i;

	(void)state;
	launches(50000, KEPT);
	handing(90000, KEPT);
	assert_int_equal(pays(2 * TRY_EACH), 2 * KEPT);
	for (i = 0; i < TRY_EACH; i++)
		if (cot_shim_backend_can_pay())
			cot_shim_backend_cost_hand(20000);
	assert_true(cot_shim_backend_can_pay());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(launches_that_are_short, set_up),
		cmocka_unit_test_setup(ones_that_are_unlike, set_up),
		cmocka_unit_test_setup(handing_takes_less, set_up),
		cmocka_unit_test_setup(launching_takes_less, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
