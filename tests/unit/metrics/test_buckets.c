/* Times in fixed buckets: each in the first that it fits into, and what was added in all. */
#include "metrics/buckets.h"
#include "test.h"

static void limits_grow(void **state)
{
	unsigned i;

	(void)state;
	for (i = 1; i < COT_BUCKETS; i++)
		assert_true(cot_bucket_max_ns[i] > cot_bucket_max_ns[i - 1]);
}

static void a_limit_belongs_to_its_bucket(void **state)
{
	unsigned i, j;

	(void)state;
	for (i = 0; i < COT_BUCKETS; i++) {
		struct cot_buckets b = {.sum_ns = 0};

		cot_buckets_add(&b, cot_bucket_max_ns[i]);
		cot_buckets_add(&b, cot_bucket_max_ns[i] + 1);
		for (j = 0; j <= COT_BUCKETS; j++)
			assert_int_equal(b.n[j], j == i || j == i + 1);
		assert_int_equal(b.sum_ns, 2 * cot_bucket_max_ns[i] + 1);
		assert_int_equal(cot_buckets_count(&b), 2);
	}
}

static void ends_of_the_range(void **state)
{
	struct cot_buckets b = {.sum_ns = 0};

	(void)state;
	assert_int_equal(cot_buckets_count(&b), 0);
	cot_buckets_add(&b, 0);
	cot_buckets_add(&b, UINT64_MAX / 2);
	assert_int_equal(b.n[0], 1);
	assert_int_equal(b.n[COT_BUCKETS], 1);
	assert_int_equal(b.sum_ns, UINT64_MAX / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_grow),
		cmocka_unit_test(a_limit_belongs_to_its_bucket),
		cmocka_unit_test(ends_of_the_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
