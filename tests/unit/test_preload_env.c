/* What the COTENANT_ variables mean. The unit is in the shared library, so its source is here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "preload/env.c"

static const char *const *environment; /* NAME, value, NAME, value, ..., NULL */

static const char *get(const char *name)
{
	unsigned i;

	for (i = 0; environment[i]; i += 2)
		if (!strcmp(environment[i], name))
			return environment[i + 1];
	return NULL;
}

static struct cot_settings read_these(const char *const *variables)
{
	struct cot_settings s;

	environment = variables;
	cot_settings_read(&s, get, "/usr/bin/python3");
	return s;
}

static void test_defaults(void **state)
{
	static const char *const none[] = {NULL};
	struct cot_settings s = read_these(none);

	(void)state;
	assert_false(s.disabled);
	assert_int_equal(s.log, COT_LOG_NONE);
	assert_string_equal(s.socket, "");
	assert_int_equal(s.slice_us, 0);
	assert_int_equal(s.tenant, 0);
	assert_int_equal(s.role, COT_ROLE_TENANT);
	assert_int_equal(s.class_, COT_PROTO_BATCH);
	assert_int_equal(s.weight, 100);
	assert_string_equal(s.name, "python3");
	assert_int_equal(s.n_bad, 0);
}

static void test_all(void **state)
{
	static const char *const all[] = {"COTENANT_DISABLE",
					  "1",
					  "COTENANT_LOG",
					  "debug",
					  "COTENANT_SOCKET",
					  "/a/b",
					  "COTENANT_SLICE_US",
					  "100",
					  "COTENANT_MODE",
					  "drain",
					  "COTENANT_TENANT",
					  "77",
					  "COTENANT_CLASS",
					  "latency",
					  "COTENANT_WEIGHT",
					  "10000",
					  "COTENANT_BLOCK_US",
					  "250",
					  "COTENANT_NAME",
					  "web",
					  "COTENANT_GPU",
					  "1",
					  NULL};
	struct cot_settings s = read_these(all);

	(void)state;
	assert_true(s.disabled);
	assert_int_equal(s.log, COT_LOG_DEBUG);
	assert_string_equal(s.socket, "/a/b");
	assert_int_equal(s.slice_us, 100);
	assert_int_equal(s.mode, COT_RM_MODE_DRAIN);
	assert_int_equal(s.tenant, 77);
	assert_int_equal(s.class_, COT_PROTO_LATENCY);
	assert_int_equal(s.weight, 10000);
	assert_int_equal(s.block_us, 250);
	assert_string_equal(s.name, "web");
	assert_string_equal(s.gpu, "1");
	assert_int_equal(s.n_bad, 0);
}

static void test_pool(void **state)
{
	static const char *const pool[] = {
		"COTENANT_ROLE", "pool", "COTENANT_POOL", "latency", "COTENANT_CLASS",
		"batch",	 NULL};
	struct cot_settings s = read_these(pool);

	(void)state;
	assert_int_equal(s.role, COT_ROLE_POOL);
	assert_int_equal(s.class_, COT_PROTO_LATENCY);
}

/* What is not understood is counted and leaves the default: the program has to run anyway. */
static void test_nonsense(void **state)
{
	static char long_text[300];
	const char *const nonsense[] = {"COTENANT_DISABLE",
					"0",
					"COTENANT_LOG",
					"loud",
					"COTENANT_SOCKET",
					long_text,
					"COTENANT_SLICE_US",
					"1000001",
					"COTENANT_MODE",
					"2",
					"COTENANT_TENANT",
					"-1",
					"COTENANT_CLASS",
					"Latency",
					"COTENANT_WEIGHT",
					"100000",
					"COTENANT_BLOCK_US",
					"1000000001",
					"COTENANT_NAME",
					long_text,
					"COTENANT_GPU",
					"",
					NULL};
	struct cot_settings s;

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	s = read_these(nonsense);
	assert_false(s.disabled);
	assert_int_equal(s.log, COT_LOG_NONE);
	assert_string_equal(s.socket, "");
	assert_int_equal(s.slice_us, 0);
	assert_int_equal(s.mode, COT_RM_MODE_DRIVER);
	assert_int_equal(s.tenant, 0);
	assert_int_equal(s.class_, COT_PROTO_BATCH);
	assert_int_equal(s.weight, 100);
	assert_int_equal(s.block_us, 0);
	assert_string_equal(s.name, "python3");
	assert_int_equal(s.n_bad, 9);
	environment = (const char *const[]){"COTENANT_WEIGHT", "12a", "COTENANT_TENANT",
					    "99999999999999999999999", NULL};
	cot_settings_read(&s, get, NULL);
	assert_int_equal(s.n_bad, 2);
	assert_int_equal(s.weight, 100);
	assert_string_equal(s.name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
