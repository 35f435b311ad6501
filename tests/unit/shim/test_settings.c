/* What the variables mean to the shim. The units are in a shared library, so they are here. */
#include <string.h>

#include "guest/env.c"
#include "test.h"

static const char *const *environment; /* NAME, value, NAME, value, ..., NULL */

static const char *get(const char *name)
{
	unsigned i;

	for (i = 0; environment[i]; i += 2)
		if (!strcmp(environment[i], name))
			return environment[i + 1];
	return NULL;
}

static bool read_these(struct cot_settings *s, const char *const *variables)
{
	environment = variables;
	cot_settings_read(s, get, "program");
	return s->shim;
}

static void asked_for(void **state)
{
	static const char *const nothing[] = {"COTENANT_SOCKET", "/s", NULL};
	static const char *const quota[] = {"COTENANT_SOCKET", "/s", "COTENANT_QUOTA", "25%", NULL};
	static const char *const reserve[] = {"COTENANT_SOCKET", "/s", "COTENANT_RESERVE", "33sm",
					      NULL};
	static const char *const shim[] = {"COTENANT_SOCKET", "/s", "COTENANT_SHIM", "1", NULL};
	static const char *const part[] = {
		"COTENANT_SOCKET", "/s", "COTENANT_PARTS", "1", "COTENANT_SMS", "8sm", NULL};
	static const char *const alone[] = {"COTENANT_SHIM", "1", NULL};
	static const char *const off[] = {
		"COTENANT_SOCKET", "/s", "COTENANT_SHIM", "1", "COTENANT_DISABLE", "1", NULL};
	struct cot_settings s;

	(void)state;
	assert_false(read_these(&s, nothing));
	assert_true(read_these(&s, quota));
	assert_int_equal(s.quota, 25);
	assert_int_equal(s.reserve, 0);
	assert_true(s.rewrites && s.parts && s.limited);
	assert_true(read_these(&s, reserve));
	assert_int_equal(s.reserve, COT_SHARE_SMS | 33);
	assert_true(s.rewrites && s.parts && !s.limited);
	assert_true(read_these(&s, shim));
	assert_int_equal(s.wait_ms, WAIT_MS_DEFAULT);
	assert_true(s.rewrites && s.parts && !s.limited);
	assert_true(read_these(&s, part));
	assert_true(!s.rewrites && s.parts && s.limited);
	assert_false(read_these(&s, alone)); /* nobody to ask */
	assert_false(read_these(&s, off));
}

/* Libraries with CPU versions of kernels; a list that is too long is none. */
static void for_the_cpu(void **state)
{
	static char many[COT_CPU_LIST_MAX + 1];
	const char *variables[] = {"COTENANT_SOCKET",
				   "/s",
				   "COTENANT_CPU",
				   "/a.so:/b.so",
				   "COTENANT_CPU_UPTO",
				   "k/1=2",
				   "COTENANT_CPU_WAIT_MS",
				   "70",
				   NULL};
	struct cot_settings s;

	(void)state;
	assert_true(read_these(&s, variables));
	assert_true(s.rewrites && s.parts);
	assert_string_equal(s.cpu, "/a.so:/b.so");
	assert_string_equal(s.cpu_upto, "k/1=2");
	assert_int_equal(s.cpu_wait_ms, 70);
	memset(many, 'x', sizeof(many) - 1);
	variables[3] = many;
	variables[7] = "soon";
	assert_false(read_these(&s, variables));
	assert_string_equal(s.cpu, "");
	assert_int_equal(s.cpu_wait_ms, CPU_WAIT_MS_DEFAULT);
	assert_int_equal(s.n_bad, 2);
}

/* What is not understood counts as not said. */
static void nonsense(void **state)
{
	static const char *const bad[] = {
		"",   "%",    "sm",  "0%",   "101%",  "0sm",	       "2000sm",
		"25", "25 %", "-1%", "25%%", "1e2sm", "99999999999sm", "x%"};
	const char *variables[] = {"COTENANT_QUOTA", NULL, "COTENANT_SHIM_WAIT_MS", "10s", NULL};
	struct cot_settings s;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		variables[1] = bad[i];
		assert_false(read_these(&s, variables));
		assert_int_equal(s.quota, 0);
		assert_int_equal(s.wait_ms, WAIT_MS_DEFAULT);
		assert_int_equal(s.n_bad, bad[i][0] ? 2 : 1);
	}
}

/* The largest and the smallest that are understood. */
static void shares(void **state)
{
	static const struct {
		const char *text;
		unsigned share;
	} rows[] = {
		{"1%", 1},
		{"100%", 100},
		{"1sm", COT_SHARE_SMS | 1},
		{"1024sm", COT_SHARE_SMS | 1024},
		{"1025sm", 0},
		{"025%", 0}, /* as `cotenant run` has it */
		{"25%0", 0},
		{"25SM", 0},
	};
	const char *variables[] = {"COTENANT_QUOTA", NULL, "COTENANT_RESERVE", NULL, NULL};
	struct cot_settings s;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		variables[1] = variables[3] = rows[i].text;
		(void)read_these(&s, variables);
		assert_int_equal(s.quota, rows[i].share);
		assert_int_equal(s.reserve, rows[i].share);
	}
}

static void waits(void **state)
{
	static const struct {
		const char *text;
		unsigned wait_ms;
	} rows[] = {
		{"0", 0},
		{"9", 9},
		{"3600000", 3600000},
		{"3600001", WAIT_MS_DEFAULT},
		{"18446744073709551617", WAIT_MS_DEFAULT},
		{"", WAIT_MS_DEFAULT},
		{"5 ", WAIT_MS_DEFAULT},
		{"/", WAIT_MS_DEFAULT},
		{"1:", WAIT_MS_DEFAULT},
	};
	const char *variables[] = {"COTENANT_SHIM_WAIT_MS", NULL, NULL};
	struct cot_settings s;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		variables[1] = rows[i].text;
		(void)read_these(&s, variables);
		assert_int_equal(s.wait_ms, rows[i].wait_ms);
	}
}

/* A path that is too long is none. */
static void drivers(void **state)
{
	const char *variables[] = {"COTENANT_SHIM_DRIVER", NULL, NULL};
	struct cot_settings s;
	char path[600];

	(void)state;
	memset(path, 'x', sizeof(path));
	path[sizeof(s.driver) - 1] = '\0';
	variables[1] = path;
	(void)read_these(&s, variables);
	assert_string_equal(s.driver, path);
	path[sizeof(s.driver) - 1] = 'x';
	path[sizeof(s.driver)] = '\0';
	(void)read_these(&s, variables);
	assert_string_equal(s.driver, "");
	variables[0] = "COTENANT_SOMETHING";
	(void)read_these(&s, variables);
	assert_string_equal(s.driver, "");
}

/* COTENANT_SHIM alone asks for it; the library in an MPS server has no shim. */
static void who_has_it(void **state)
{
	static const char *const no[] = {"", "0"}, *const yes[] = {"1", "yes", "00"};
	const char *variables[] = {
		"COTENANT_SOCKET", "/s", "COTENANT_SHIM", NULL, "COTENANT_ROLE", NULL, NULL};
	struct cot_settings s;
	unsigned i;

	(void)state;
	variables[5] = "tenant";
	for (i = 0; i < COT_ARRAY_LEN(no); i++) {
		variables[3] = no[i];
		assert_false(read_these(&s, variables));
	}
	for (i = 0; i < COT_ARRAY_LEN(yes); i++) {
		variables[3] = yes[i];
		assert_true(read_these(&s, variables));
	}
	variables[5] = "pool";
	assert_false(read_these(&s, variables));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asked_for),  cmocka_unit_test(for_the_cpu),
		cmocka_unit_test(nonsense),   cmocka_unit_test(shares),
		cmocka_unit_test(waits),      cmocka_unit_test(drivers),
		cmocka_unit_test(who_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
