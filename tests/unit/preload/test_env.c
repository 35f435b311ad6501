/* What the COTENANT_ variables mean. The unit is in the shared library, so its source is here. */
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
	assert_int_equal(s.class_, COT_CLASS_BATCH);
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
	assert_int_equal(s.mode, COT_MODE_DRAIN);
	assert_int_equal(s.tenant, 77);
	assert_int_equal(s.class_, COT_CLASS_LATENCY);
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
	assert_int_equal(s.class_, COT_CLASS_LATENCY);
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
	assert_int_equal(s.mode, COT_MODE_DRIVER);
	assert_int_equal(s.tenant, 0);
	assert_int_equal(s.class_, COT_CLASS_BATCH);
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

/* Texts of all lengths about their bounds: what fits is taken, and nothing is written behind it. */
static void test_lengths(void **state)
{
	struct {
		struct cot_settings s;
		unsigned char behind[64];
	} room;
	char text[COT_SOCKET_PATH_MAX + 8], program[COT_PROTO_NAME_MAX + 16];
	const char *const variables[] = {
		"COTENANT_SOCKET", text, "COTENANT_NAME", text, "COTENANT_GPU", text, NULL};
	static const char *const none[] = {NULL};
	size_t n, i;

	(void)state;
	for (n = 1; n < sizeof(text); n++) {
		memset(text, 'x', n);
		text[n] = '\0';
		memset(&room, 0xa5, sizeof(room));
		environment = variables;
		cot_settings_read(&room.s, get, "p");
		for (i = 0; i < sizeof(room.behind); i++)
			assert_int_equal(room.behind[i], 0xa5);
		assert_string_equal(room.s.socket, n < COT_SOCKET_PATH_MAX ? text : "");
		assert_string_equal(room.s.name, n < COT_PROTO_NAME_MAX ? text : "p");
		assert_string_equal(room.s.gpu, n < COT_PROTO_NAME_MAX ? text : "");
		assert_int_equal(room.s.n_bad,
				 (n >= COT_SOCKET_PATH_MAX) + 2 * (n >= COT_PROTO_NAME_MAX));
	}
	for (n = 0; n < sizeof(program); n++) {
		memset(program, 'y', n);
		program[n] = '\0';
		environment = none;
		cot_settings_read(&room.s, get, program);
		i = n < COT_PROTO_NAME_MAX ? n : COT_PROTO_NAME_MAX - 1;
		assert_int_equal(strlen(room.s.name), i);
		assert_memory_equal(room.s.name, program, i);
		assert_string_equal(room.s.gpu, "");
	}
}

/* The largest numbers that are taken, and the smallest that are not. */
static void test_numbers(void **state)
{
	static const struct {
		const char *name, *text;
		uint64_t value;
	} rows[] = {
		{"COTENANT_SLICE_US", "1000000", 1000000},
		{"COTENANT_SLICE_US", "0", 0},
		{"COTENANT_SLICE_US", "1000001", 0},
		{"COTENANT_WEIGHT", "1", 1},
		{"COTENANT_WEIGHT", "10001", 100},
		{"COTENANT_WEIGHT", "0", 100},
		{"COTENANT_BLOCK_US", "1000000000", 1000000000},
		{"COTENANT_TENANT", "1844674407370955160", 1844674407370955160},
		{"COTENANT_TENANT", "1844674407370955161", 0},
		{"COTENANT_TENANT", "007", 7},
		{"COTENANT_TENANT", " 7", 0},
		{"COTENANT_TENANT", "/", 0},
		{"COTENANT_TENANT", ":", 0},
	};
	struct cot_settings s;
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const variables[] = {rows[i].name, rows[i].text, NULL};
		uint64_t got;

		s = read_these(variables);
		got = !strcmp(rows[i].name, "COTENANT_SLICE_US") ? s.slice_us
		      : !strcmp(rows[i].name, "COTENANT_WEIGHT") ? s.weight
		      : !strcmp(rows[i].name, "COTENANT_TENANT") ? s.tenant
								 : s.block_us;
		assert_true(got == rows[i].value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_all),
		cmocka_unit_test(test_pool),	 cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_lengths),	 cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
