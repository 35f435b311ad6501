/* Where `mps-even`, `mps-double` and `mps-priority` put programs. */
#include "policy/queries.h"

static struct bench *with(const struct cot_policy_ops *ops, unsigned n_batch)
{
	struct bench *b = queries_begin(ops, 0);
	unsigned i;

	service(b, SERVICE, 0);
	for (i = 0; i < n_batch; i++)
		batch(b, BATCH + i);
	return b;
}

static void test_even(void **state)
{
	struct bench *b = with(&cot_policy_mps_even, 1);

	(void)state;
	expect_part(b, SERVICE, 64, 68);
	expect_part(b, BATCH, 0, 64);
	batch(b, BATCH2);
	expect_part(b, SERVICE, 88, 44);
	expect_part(b, BATCH, 0, 48);
	expect_part(b, BATCH2, 48, 48);
	assert_int_equal(bench_leave(b, SERVICE), 0);
	bench_run(b, 0);
	expect_part(b, BATCH, 0, 64);
	expect_part(b, BATCH2, 64, 68);
	queries_end(b);
}

static void test_double(void **state)
{
	struct bench *b = with(&cot_policy_mps_double, 1);

	(void)state;
	expect_part(b, SERVICE, 0, 0);
	expect_part(b, BATCH, 0, 0);
	batch(b, BATCH2);
	expect_part(b, SERVICE, 40, 92);
	expect_part(b, BATCH, 0, 88);
	/* There is no room beside it, so it is at the end. */
	expect_part(b, BATCH2, 40, 92);
	queries_end(b);
}

static void test_priority(void **state)
{
	struct bench *b = with(&cot_policy_mps_priority, 1);

	(void)state;
	expect_part(b, SERVICE, 0, 0);
	expect_part(b, BATCH, 0, 0);
	batch(b, BATCH2);
	expect_part(b, SERVICE, 0, 0);
	expect_part(b, BATCH, 0, 64);
	expect_part(b, BATCH2, 64, 68);
	queries_end(b);
}

/* More programs than units: each has one all the same. */
static void test_many(void **state)
{
	struct bench *b = with(&cot_policy_mps_even, 40);
	unsigned i;

	(void)state;
	for (i = 0; i < 40; i++)
		assert_int_equal(b->part[BATCH + i].n, i < 16 ? 8 : 12);
	queries_end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_double),
		cmocka_unit_test(test_priority),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
