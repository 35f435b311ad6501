/* What is told of the study's simulations. */
#include <stdlib.h>

#include "study/laius/laius.h"
#include "test.h"

/* Every pair has 50 responses with each seed, and its batch program half of its rate alone; with
 * the seeds 0, 1 and 2 a tenth less, as much, and a tenth more. */
static struct cot_laius_report *report(void)
{
	struct cot_laius_report *r = calloc(1, sizeof(*r));
	unsigned seed, pair, way;

	assert_non_null(r);
	for (seed = 0; seed < COT_LAIUS_SEEDS; seed++)
		for (pair = 0; pair < COT_LAIUS_PAIRS; pair++)
			for (way = 0; way < COT_LAIUS_WAYS; way++)
				r->results[0].outcomes[seed][pair][way] =
					(struct cot_laius_outcome){
						.n = 50, .p99 = 0.9, .batch = 0.4 + 0.1 * seed};
	return r;
}

static void test_seeds(void **state)
{
	struct cot_laius_report *r = report();
	double points[COT_LAIUS_SEEDS];
	struct cot_laius_mean m;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_LAIUS_PAIRS; i++)
		r->results[0].outcomes[1][i][COT_LAIUS_LAIUS].batch = 0.8;
	r->results[0].outcomes[2][5][COT_LAIUS_LAIUS].p99 = 1.5;
	m = cot_laius_mean(r, 0, COT_LAIUS_LAIUS);
	assert_int_equal(m.n_pairs, 48);
	assert_int_equal(m.n_violated, 0);
	assert_true(m.batch > 0.599 && m.batch < 0.601);
	assert_true(m.batch_least > 0.399 && m.batch_least < 0.401);
	assert_true(m.batch_most > 0.799 && m.batch_most < 0.801);
	assert_true(m.p99_worst > 1.49);
	cot_laius_gain(r, 0, COT_LAIUS_LAIUS, COT_LAIUS_BAYMAX, points);
	assert_true(points[0] > -0.01 && points[0] < 0.01);
	assert_true(points[1] > 29.9 && points[1] < 30.1);
	free(r);
}

/* One response in a hundred, of all seeds together, may be late. */
static void test_violations(void **state)
{
	struct cot_laius_report *r = report();
	struct cot_laius_outcome(*o)[COT_LAIUS_PAIRS][COT_LAIUS_WAYS] = r->results[0].outcomes;

	(void)state;
	o[0][7][COT_LAIUS_NC].n_missed = 1;
	assert_false(cot_laius_is_violated(r, 0, 7, COT_LAIUS_NC));
	o[2][7][COT_LAIUS_NC].n_missed = 1;
	assert_true(cot_laius_is_violated(r, 0, 7, COT_LAIUS_NC));
	assert_int_equal(cot_laius_mean(r, 0, COT_LAIUS_NC).n_violated, 1);
	assert_int_equal(cot_laius_mean(r, 0, COT_LAIUS_NB).n_violated, 0);
	/* Of one seed's 50 responses one late one is too many. */
	assert_int_equal(cot_laius_mean(r, 0, COT_LAIUS_NC).violated_least, 0);
	assert_int_equal(cot_laius_mean(r, 0, COT_LAIUS_NC).violated_most, 1);
	assert_int_equal(cot_laius_mean(r, 0, COT_LAIUS_NB).violated_most, 0);
	o[0][7][COT_LAIUS_NB].n = o[1][7][COT_LAIUS_NB].n = o[2][7][COT_LAIUS_NB].n = 0;
	assert_true(cot_laius_is_violated(r, 0, 7, COT_LAIUS_NB)); /* no answer at all */
	free(r);
}

static void test_quick(void **state)
{
	struct cot_laius_report *r = report();

	(void)state;
	r->quick = true;
	assert_int_equal(cot_laius_mean(r, 0, COT_LAIUS_LAIUS).n_pairs, 4);
	assert_true(cot_laius_is_played(r, 13));
	assert_false(cot_laius_is_played(r, 14));
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_seeds),
		cmocka_unit_test(test_violations),
		cmocka_unit_test(test_quick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
