/* Arrays that grow: room for one more, and what was in them. */
#include <stdlib.h>

#include "base/grow.h"
#include "test.h"

static void test_keeps_what_it_had(void **state)
{
	uint32_t *items = NULL, n;
	size_t cap = 0;

	(void)state;
	for (n = 0; n < 4 * COT_GROW_FIRST; n++) {
		uint32_t *grown = cot_grow(items, n, &cap, sizeof(*items));

		assert_non_null(grown);
		if (n % COT_GROW_FIRST)
			assert_ptr_equal(grown, items);
		items = grown;
		items[n] = n;
		assert_in_range(cap, n + 1, n < COT_GROW_FIRST ? COT_GROW_FIRST : 2 * n);
	}
	while (n--)
		assert_int_equal(items[n], n);
	free(items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_what_it_had),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
