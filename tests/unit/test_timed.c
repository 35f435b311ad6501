/* The launches of a program that is profiled, between the library in it and the profiler. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "proto/timed.h"
#include "test.h"

static struct cot_timed *t;
static struct cot_timed_launch read_back[COT_TIMED_LAUNCHES];

static int set_up(void **state)
{
	(void)state;
	t = calloc(1, sizeof(*t));
	assert_non_null(t);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(t);
	return 0;
}

static const uint32_t a_shape[6] = {1, 2, 3, 4, 5, 6}, other_shape[6] = {1, 2, 3, 4, 5, 7};

static void test_kernels(void **state)
{
	char name[COT_TIMED_NAME_MAX], long_name[2 * COT_TIMED_NAME_MAX];
	uint32_t i;

	(void)state;
	assert_int_equal(cot_timed_kernel(t, "gemm", a_shape), 0);
	assert_int_equal(cot_timed_kernel(t, "gemm", other_shape), 1);
	assert_int_equal(cot_timed_kernel(t, "gem", a_shape), 2);
	assert_int_equal(cot_timed_kernel(t, "gemm", a_shape), 0);
	memset(long_name, 'x', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(cot_timed_kernel(t, long_name, a_shape), 3);
	cot_timed_name(t, 3, name);
	assert_int_equal(strlen(name), COT_TIMED_NAME_MAX - 1);
	assert_int_equal(cot_timed_kernel(t, "a\nb", a_shape), 4);
	cot_timed_name(t, 4, name);
	assert_string_equal(name, "a?b");
	cot_timed_name(t, 5, name);
	assert_string_equal(name, "");
	assert_int_equal(cot_timed_kernel(t, "", a_shape), 5);
	cot_timed_name(t, 5, name);
	assert_string_equal(name, "?");
	for (i = 6; i < COT_TIMED_KERNELS; i++)
		assert_int_equal(cot_timed_kernel(t, "n", (uint32_t[6]){i}), i);
	assert_int_equal(cot_timed_kernel(t, "n", (uint32_t[6]){i}), COT_TIMED_KERNELS);
	assert_int_equal(cot_timed_kernel(t, "gemm", other_shape), 1);
}

static void test_rounds(void **state)
{
	struct cot_timed_launch l = {.ns = 5, .flags = COT_TIMED_FIRST};
	uint32_t i;

	(void)state;
	(void)cot_timed_kernel(t, "gemm", a_shape);
	for (i = 0; i < COT_TIMED_LAUNCHES; i++, l.ns++)
		assert_true(cot_timed_put(t, 2, &l));
	assert_false(cot_timed_put(t, 2, &l));
	assert_false(cot_timed_put(t, 0, &l));
	assert_false(cot_timed_put(t, COT_TIMED_ROUNDS + 1, &l));
	assert_true(cot_timed_put(t, COT_TIMED_ROUNDS, &l));
	assert_int_equal(cot_timed_count(t, 1), 0);
	assert_int_equal(cot_timed_count(t, 2), COT_TIMED_LAUNCHES);
	assert_int_equal(cot_timed_read(t, 2, read_back, 3), 3);
	assert_int_equal(read_back[2].ns, 7);
	assert_int_equal(read_back[2].flags, COT_TIMED_FIRST);
	assert_int_equal(cot_timed_read(t, COT_TIMED_ROUNDS, read_back, COT_TIMED_LAUNCHES), 1);
	assert_int_equal(cot_timed_read(t, 0, read_back, 1), 0);
}

/* What nobody can have written is left out, and told. */
static void test_nonsense(void **state)
{
	static const struct cot_timed_launch launches[] = {
		{.ns = 1, .kernel = 0},
		{.ns = 1, .kernel = 1},
		{.ns = 0, .kernel = 0},
		{.ns = COT_TIMED_NS_MAX + 1, .kernel = 0},
		{.ns = COT_TIMED_NS_MAX, .kernel = 0, .flags = 0xffff},
		{.ns = 2, .kernel = 0},
	};
	unsigned i;

	(void)state;
	(void)cot_timed_kernel(t, "gemm", a_shape);
	for (i = 0; i < sizeof(launches) / sizeof(launches[0]); i++)
		assert_true(cot_timed_put(t, 1, &launches[i]));
	assert_int_equal(cot_timed_read(t, 1, read_back, COT_TIMED_LAUNCHES), 3);
	assert_int_equal(read_back[0].flags, 0);
	assert_int_equal(read_back[1].ns, COT_TIMED_NS_MAX);
	assert_int_equal(read_back[1].flags, COT_TIMED_FIRST | COT_TIMED_GAP);
	assert_int_equal(read_back[2].flags, 0);
	atomic_store(&t->rounds[0].n, UINT32_MAX);
	atomic_store(&t->n_kernels, UINT32_MAX);
	assert_int_equal(cot_timed_count(t, 1), COT_TIMED_LAUNCHES);
	assert_int_equal(cot_timed_n_kernels(t), COT_TIMED_KERNELS);
	assert_int_equal(cot_timed_read(t, 1, read_back, COT_TIMED_LAUNCHES), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kernels, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_rounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nonsense, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
