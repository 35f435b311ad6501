#include <string.h>

#include "base/embedded.h"
#include "test.h"

static void table_is_sorted(void **state)
{
	unsigned i;

	(void)state;
	for (i = 1; i < cot_n_embedded_files; i++)
		assert_true(strcmp(cot_embedded_files[i - 1].name, cot_embedded_files[i].name) < 0);
}

static void every_file_is_found_and_ends_in_zero(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < cot_n_embedded_files; i++) {
		const struct cot_embedded *file = &cot_embedded_files[i];

		assert_ptr_equal(cot_embedded_find(file->name), file);
		assert_int_equal(file->bytes[file->size], 0);
	}
}

static void others_are_not_found(void **state)
{
	(void)state;
	assert_null(cot_embedded_find(""));
	assert_null(cot_embedded_find("no such file"));
	assert_null(cot_embedded_find("zzz"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_sorted),
		cmocka_unit_test(every_file_is_found_and_ends_in_zero),
		cmocka_unit_test(others_are_not_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
