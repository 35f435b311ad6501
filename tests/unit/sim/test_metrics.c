#include "sim/metrics.h"
#include "test.h"

static void assert_near(double got, double want)
{
	if (got < want - 1e-12 || got > want + 1e-12)
		fail_msg("got %.17g, want %.17g", got, want);
}

/* NTT = 20/10 and 25/20, so NP = 0.5 and 0.8. */
static void two_programs(void **state)
{
	static const double single[] = {10, 20}, multi[] = {20, 25};
	struct cot_multi_metrics m = cot_multi_metrics(single, multi, 2);

	(void)state;
	assert_near(m.antt, (2 + 1.25) / 2);
	assert_near(m.stp, 0.5 + 0.8);
	assert_near(m.fairness, 0.5 / 0.8);
}

static void a_program_alone_is_perfect(void **state)
{
	static const double t[] = {123.5};
	struct cot_multi_metrics m = cot_multi_metrics(t, t, 1);

	(void)state;
	assert_near(m.antt, 1);
	assert_near(m.stp, 1);
	assert_near(m.fairness, 1);
}

/* n programs slowed down n times each: STP 1, ANTT n, and fair. */
static void perfect_time_sharing(void **state)
{
	static const double single[] = {1, 2, 30, 4}, multi[] = {4, 8, 120, 16};
	struct cot_multi_metrics m = cot_multi_metrics(single, multi, 4);

	(void)state;
	assert_near(m.antt, 4);
	assert_near(m.stp, 1);
	assert_near(m.fairness, 1);
}

/* NP = 1, 0.25, 0.5: the order does not matter. */
static void the_order_does_not_matter(void **state)
{
	static const double s1[] = {5, 5, 5}, m1[] = {5, 20, 10}, m2[] = {20, 10, 5};
	struct cot_multi_metrics a = cot_multi_metrics(s1, m1, 3), b = cot_multi_metrics(s1, m2, 3);

	(void)state;
	assert_near(a.antt, 7.0 / 3);
	assert_near(a.stp, 1.75);
	assert_near(a.fairness, 0.25);
	assert_near(b.antt, a.antt);
	assert_near(b.stp, a.stp);
	assert_near(b.fairness, a.fairness);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_programs),
		cmocka_unit_test(a_program_alone_is_perfect),
		cmocka_unit_test(perfect_time_sharing),
		cmocka_unit_test(the_order_does_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
