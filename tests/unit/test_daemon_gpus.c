/* Which GPUs a text means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/gpus.h"

static struct cot_gpus four(void)
{
	struct cot_gpus gpus = {.n = 4, .found = true};

	strcpy(gpus.gpu[0].uuid, "GPU-aaaa");
	strcpy(gpus.gpu[1].uuid, "GPU-aabb");
	strcpy(gpus.gpu[3].uuid, "GPU-cccc");
	return gpus;
}

static void test_mask(void **state)
{
	struct cot_gpus gpus = four();

	(void)state;
	assert_int_equal(cot_gpus_mask(&gpus, ""), 1);
	assert_int_equal(cot_gpus_mask(&gpus, "all"), 15);
	assert_int_equal(cot_gpus_mask(&gpus, "2"), 4);
	assert_int_equal(cot_gpus_mask(&gpus, "0,3"), 9);
	assert_int_equal(cot_gpus_mask(&gpus, "GPU-aabb"), 2);
	assert_int_equal(cot_gpus_mask(&gpus, "GPU-aa"), 1); /* the first that begins so */
	assert_int_equal(cot_gpus_mask(&gpus, "GPU-cccc,1"), 10);
}

static void test_mistakes(void **state)
{
	static const char *const wrong[] = {"4",   "-1", "x",	  "0,",	       ",0",
					    "0,4", "00", "GPU-d", "GPU-aaaaa", " 0"};
	struct cot_gpus gpus = four();
	char longest[300];
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(cot_gpus_mask(&gpus, wrong[i]), 0);
	memset(longest, '1', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(cot_gpus_mask(&gpus, longest), 0);
}

static void test_visible(void **state)
{
	struct cot_gpus gpus = four();
	char text[64], little[6];

	(void)state;
	cot_gpus_visible(&gpus, 5, text, sizeof(text));
	assert_string_equal(text, "GPU-aaaa,2");
	cot_gpus_visible(&gpus, 0, text, sizeof(text));
	assert_string_equal(text, "");
	cot_gpus_visible(&gpus, 15, little, sizeof(little));
	assert_int_equal(strlen(little), 5);
}

static void test_count_from_the_environment(void **state)
{
	struct cot_gpus gpus;

	(void)state;
	(void)setenv("COTENANT_GPUS", "3", 1);
	cot_gpus_find(&gpus);
	assert_int_equal(gpus.n, 3);
	assert_true(gpus.found);
	(void)setenv("COTENANT_GPUS", "1000", 1);
	cot_gpus_find(&gpus);
	assert_true(gpus.n >= 1 && gpus.n <= COT_GPUS_MAX);
	(void)unsetenv("COTENANT_GPUS");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mask),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_visible),
		cmocka_unit_test(test_count_from_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
