/* Memory in one piece: zeroed, aligned, bounded. */
#include <string.h>

#include "base/arena.h"
#include "test.h"

static void test_zeroed_and_aligned(void **state)
{
	struct cot_arena *a = cot_arena_create(1u << 24);
	size_t size, i;

	(void)state;
	assert_non_null(a);
	for (size = 0; size < 9000; size += 7) {
		unsigned char *p = cot_arena_alloc(a, size);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % 16, 0);
		for (i = 0; i < size; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, size);
	}
	cot_arena_destroy(a);
	cot_arena_destroy(NULL);
}

static void test_bound(void **state)
{
	struct cot_arena *a = cot_arena_create(1000);

	(void)state;
	assert_null(cot_arena_alloc(a, 1001));
	assert_null(cot_arena_alloc(a, SIZE_MAX));
	assert_null(cot_arena_alloc_array(a, SIZE_MAX / 2, 4));
	assert_non_null(cot_arena_alloc(a, 900));
	assert_int_equal(cot_arena_used(a), 912);
	assert_null(cot_arena_alloc(a, 100));
	assert_non_null(cot_arena_alloc(a, 80));
	cot_arena_destroy(a);
}

/* A large block does not take the place of the one that is being filled. */
static void test_large(void **state)
{
	struct cot_arena *a = cot_arena_create(1u << 26);
	char *first = cot_arena_alloc(a, 16), *large = cot_arena_alloc(a, 1u << 22), *second;

	(void)state;
	assert_non_null(large);
	large[(1u << 22) - 1] = 1;
	second = cot_arena_alloc(a, 16);
	assert_ptr_equal(second, first + 16);
	cot_arena_destroy(a);
}

static void test_copies(void **state)
{
	struct cot_arena *a = cot_arena_create(1u << 16);
	uint32_t list[3] = {1, 2, 3}, *longer;

	(void)state;
	assert_string_equal(cot_arena_strndup(a, "words", 4), "word");
	longer = cot_arena_grow(a, list, 3, 6, sizeof(list[0]));
	assert_memory_equal(longer, list, sizeof(list));
	assert_int_equal(longer[3] + longer[4] + longer[5], 0);
	assert_non_null(cot_arena_grow(a, NULL, 0, 0, 8));
	cot_arena_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zeroed_and_aligned),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
