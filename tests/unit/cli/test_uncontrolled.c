/* What an environment tells of control that was asked for. */
#include <string.h>

#include "cli/uncontrolled.h"
#include "test.h"

#define PARSE(block, wish) cot_uncontrolled_parse(block, sizeof(block) - 1, wish)

static void nobody_asked(void **state)
{
	struct cot_wish w;

	(void)state;
	assert_false(PARSE("", &w));
	assert_false(PARSE("HOME=/\0COTENANT_CLASS=latency\0", &w));
	assert_false(PARSE("COTENANT_TENANT=\0", &w));
	assert_false(PARSE("COTENANT_TENANT=x\0COTENANT_SOCKET=/s\0", &w));
	assert_false(PARSE("COTENANT_UNCONTROLLED=\0", &w));
	assert_false(PARSE("COTENANT_TENANT=7\0COTENANT_ROLE=pool\0", &w));
	assert_false(PARSE("XCOTENANT_TENANT=7\0COTENANT_TENANTS=7\0", &w));
	/* What does not end in the block does not count. */
	assert_false(PARSE("COTENANT_UNCONTROLLED=why", &w));
	assert_false(PARSE("HOME=/\0COTENANT_TENANT=7", &w));
}

static void it_has_no_place(void **state)
{
	struct cot_wish w;

	(void)state;
	assert_true(PARSE("COTENANT_UNCONTROLLED=no daemon\0COTENANT_NAME=api\0"
			  "COTENANT_CLASS=latency\0COTENANT_RUNTIME_DIR=/r\0",
			  &w));
	assert_int_equal(w.tenant, 0);
	assert_string_equal(w.reason, "no daemon");
	assert_string_equal(w.name, "api");
	assert_string_equal(w.class_, "latency");
	assert_string_equal(w.runtime, "/r");
	assert_true(PARSE("COTENANT_UNCONTROLLED=no daemon\0", &w));
	assert_string_equal(w.name, "-");
	assert_string_equal(w.class_, "batch");
	assert_string_equal(w.runtime, "");
}

static void it_has_a_place(void **state)
{
	struct cot_wish w;

	(void)state;
	assert_true(PARSE("COTENANT_TENANT=7\0COTENANT_SOCKET=/run/s\0COTENANT_ROLE=tenant\0", &w));
	assert_int_equal(w.tenant, 7);
	assert_string_equal(w.socket, "/run/s");
	assert_string_equal(w.reason, "");
}

/* Texts of others go to a terminal. */
static void texts_are_tamed(void **state)
{
	char block[2000] = "COTENANT_UNCONTROLLED=a\033[31m\nb\177\200\0COTENANT_NAME=";
	size_t n = sizeof("COTENANT_UNCONTROLLED=a\033[31m\nb\177\200\0COTENANT_NAME=") - 1;
	struct cot_wish w;

	(void)state;
	memset(block + n, 'x', 1500);
	assert_true(cot_uncontrolled_parse(block, n + 1501, &w));
	assert_string_equal(w.reason, "a?[31m?b??");
	assert_int_equal(strlen(w.name), sizeof(w.name) - 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_asked),
		cmocka_unit_test(it_has_no_place),
		cmocka_unit_test(it_has_a_place),
		cmocka_unit_test(texts_are_tamed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
