/* What the variables mean to the shim. The units are in a shared library, so they are here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "preload/env.c"
#include "shim/settings.c"

static const char *const *environment; /* NAME, value, NAME, value, ..., NULL */

static const char *get(const char *name)
{
	unsigned i;

	for (i = 0; environment[i]; i += 2)
		if (!strcmp(environment[i], name))
			return environment[i + 1];
	return NULL;
}

static bool read_these(struct cot_shim_settings *s, const char *const *variables)
{
	environment = variables;
	return cot_shim_settings_read(s, get, "program");
}

static void asked_for(void **state)
{
	static const char *const nothing[] = {"COTENANT_SOCKET", "/s", NULL};
	static const char *const quota[] = {"COTENANT_SOCKET", "/s", "COTENANT_QUOTA", "25%", NULL};
	static const char *const reserve[] = {"COTENANT_SOCKET", "/s", "COTENANT_RESERVE", "33sm",
					      NULL};
	static const char *const shim[] = {"COTENANT_SOCKET", "/s", "COTENANT_SHIM", "1", NULL};
	static const char *const alone[] = {"COTENANT_SHIM", "1", NULL};
	static const char *const off[] = {
		"COTENANT_SOCKET", "/s", "COTENANT_SHIM", "1", "COTENANT_DISABLE", "1", NULL};
	struct cot_shim_settings s;

	(void)state;
	assert_false(read_these(&s, nothing));
	assert_true(read_these(&s, quota));
	assert_int_equal(s.quota, 25);
	assert_int_equal(s.reserve, 0);
	assert_true(read_these(&s, reserve));
	assert_int_equal(s.reserve, COT_SHARE_SMS | 33);
	assert_true(read_these(&s, shim));
	assert_int_equal(s.wait_ms, WAIT_MS_DEFAULT);
	assert_false(read_these(&s, alone)); /* nobody to ask */
	assert_false(read_these(&s, off));
}

/* What is not understood counts as not said. */
static void nonsense(void **state)
{
	static const char *const bad[] = {
		"",   "%",    "sm",  "0%",   "101%",  "0sm",	       "2000sm",
		"25", "25 %", "-1%", "25%%", "1e2sm", "99999999999sm", "x%"};
	const char *variables[] = {"COTENANT_QUOTA", NULL, "COTENANT_SHIM_WAIT_MS", "10s", NULL};
	struct cot_shim_settings s;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		variables[1] = bad[i];
		assert_false(read_these(&s, variables));
		assert_int_equal(s.quota, 0);
		assert_int_equal(s.wait_ms, WAIT_MS_DEFAULT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asked_for),
		cmocka_unit_test(nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
