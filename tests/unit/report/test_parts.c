/* Which parts of the GPU applications had. */
#include "report/parts.h"

#include "test.h"

#define US 1000000ull /* ps */

static struct cot_parts *make(void)
{
	static struct cot_scenario sc;
	struct cot_parts *p;

	sc = (struct cot_scenario){.n_apps = 2, .gpu = {.n_sms = 132}};
	p = cot_parts_create(&sc);
	assert_non_null(p);
	return p;
}

static void nobody_was_placed(void **state)
{
	struct cot_parts *p = make();

	(void)state;
	cot_parts_finish(p, 100 * US);
	assert_false(cot_parts_any(p));
	assert_int_equal(cot_parts_app(p, 1).n_changes, 0);
	assert_int_equal(cot_parts_app(p, 1).end, 132);
	assert_true(cot_parts_app(p, 1).mean_sms == 132.0);
	cot_parts_destroy(p);
	cot_parts_destroy(NULL);
}

/* 132 SMs for 10 us, 64 for 30, 8 for 60. */
static void the_mean_is_over_time(void **state)
{
	struct cot_parts *p = make();
	struct cot_parts_app a;

	(void)state;
	cot_parts_observer.part_changed(p, 10 * US, 1, 0, 64);
	cot_parts_observer.part_changed(p, 40 * US, 1, 120, 128);
	cot_parts_finish(p, 100 * US);
	assert_true(cot_parts_any(p));
	a = cot_parts_app(p, 1);
	assert_int_equal(a.n_changes, 2);
	assert_int_equal(a.begin, 120);
	assert_int_equal(a.end, 128);
	assert_true(a.mean_sms == (132 * 10 + 64 * 30 + 8 * 60) / 100.0);
	assert_int_equal(cot_parts_app(p, 0).n_changes, 0);
	assert_true(cot_parts_app(p, 0).mean_sms == 132.0);
	cot_parts_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_was_placed),
		cmocka_unit_test(the_mean_is_over_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
