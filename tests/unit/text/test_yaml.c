/* The YAML loader: what it accepts, and the exact sentence for what it does not. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "text/text.h"
#include "text/yaml.h"

enum colour { RED, GREEN };

struct step {
	bool go;
	uint32_t wait;
};

struct root {
	char name[32];
	uint32_t count;
	int32_t delta;
	uint64_t big;
	double ratio;
	enum colour colour;
	char preset[9];
	double size;
	struct step steps[3];
	uint64_t time_ps;
	uint16_t small;
	double part;
	uint32_t sizes[4];
};

#define TO(key, member, ...)   COT_FIELD(key, struct root, member, __VA_ARGS__)
#define STEP(key, member, ...) COT_FIELD(key, struct step, member, __VA_ARGS__)

static const struct cot_field_word colours[] = {{"red", RED}, {"green", GREEN}, {0}};

static const struct cot_field thing_fields[] = {
	TO("preset", preset, COT_TEXT, .alone = true),
	TO("size", size, COT_NUMBER(0, 0)),
	{0},
};

static const struct cot_field step_fields[] = {
	STEP("go", go, COT_BOOL, .alone = true),
	STEP("wait", wait, COT_WHOLE(0, 1000), .otherwise = 9),
	{0},
};

static const struct cot_field more_fields[] = {
	TO("time_us", time_ps, COT_NUMBER(0, 1e6), .unit = 1e6, .otherwise = 2.5),
	TO("small", small, COT_WHOLE(0, 65535), .otherwise = 3),
	TO("percent", part, COT_NUMBER(0, 100), .unit = 0.01),
	TO("kib", sizes, COT_WHOLE(1, 64), .unit = 1024, .list = 4),
	{0},
};

static const struct cot_field root_fields[] = {
	TO("name", name, COT_TEXT, .required = true),
	TO("count", count, COT_WHOLE(1, 100)),
	TO("delta", delta, COT_WHOLE(-5, 5)),
	TO("big", big, COT_WHOLE(0, 0)),
	TO("ratio", ratio, COT_NUMBER(0.25, 2)),
	TO("colour", colour, COT_WORD(colours)),
	COT_FIELD_CHECKED("thing", COT_MAP(thing_fields)),
	TO("steps", steps, COT_MAP(step_fields), .list = 3),
	COT_FIELD_CHECKED("more", COT_MAP(more_fields)),
	{0},
};

static struct cot_yaml *load(const char *text, struct root *ret)
{
	struct cot_error err = {""};
	struct cot_yaml *doc = NULL;
	int rc = cot_yaml_load("f", text, strlen(text), root_fields, &doc, &err);

	if (rc)
		print_message("%s\n", err.text);
	assert_int_equal(rc, 0);
	memset(ret, 0, sizeof(*ret));
	cot_yaml_fill(doc, COT_YAML_ROOT, root_fields, ret);
	return doc;
}

static uint32_t get(const struct cot_yaml *doc, const char *key)
{
	return cot_yaml_get(doc, COT_YAML_ROOT, key);
}

static void test_everything_at_once(void **state)
{
	struct root r;
	struct cot_yaml *doc = load("name: \"a \\\"b\\\" \\\\ {c}, 'd': \xc3\xa9\"\n"
				    "count: 100\ndelta: -5\nbig: 18446744073709551615\n"
				    "ratio: 1.25e0\ncolour: green\nthing: {size: 2.5}\n"
				    "steps:\n  - go\n  - {wait: 7}\n  - go: true\n",
				    &r);

	(void)state;
	assert_string_equal(r.name, "a \"b\" \\ {c}, 'd': \xc3\xa9");
	assert_int_equal(r.count, 100);
	assert_int_equal(r.delta, -5);
	assert_true(r.big == UINT64_MAX);
	assert_true(r.ratio == 1.25);
	assert_int_equal(r.colour, GREEN);
	assert_string_equal(r.preset, "");
	assert_true(r.size == 2.5);
	assert_int_equal(cot_yaml_count(doc, get(doc, "steps")), 3);
	assert_true(r.steps[0].go && r.steps[2].go && !r.steps[1].go);
	assert_int_equal(r.steps[1].wait, 7);
	cot_yaml_destroy(doc);
}

static void test_units_defaults_and_arrays(void **state)
{
	struct root r;
	struct cot_yaml *doc;

	(void)state;
	doc = load("name: n\nmore: {time_us: 1.5, small: 65535, percent: 29, kib: [1, 64]}\n", &r);
	assert_true(r.time_ps == 1500000);
	assert_int_equal(r.small, 65535);
	assert_true(r.part == 29 / 100.0); /* 29 * 0.01 is another number */
	assert_int_equal(r.sizes[0], 1024);
	assert_int_equal(r.sizes[1], 65536);
	assert_int_equal(r.sizes[2], 0);
	cot_yaml_destroy(doc);
	/* Defaults are there without the map around them; those of a list's maps only in maps. */
	doc = load("name: n\nsteps: [go]\n", &r);
	assert_true(r.time_ps == 2500000);
	assert_int_equal(r.small, 3);
	assert_int_equal(r.steps[0].wait, 9);
	assert_int_equal(r.steps[1].wait, 0);
	cot_yaml_destroy(doc);
	/* What has no default stays as it was. */
	doc = load("name: n\n", &r);
	r.count = 5;
	r.delta = -2;
	cot_yaml_fill(doc, COT_YAML_ROOT, root_fields, &r);
	assert_int_equal(r.count, 5);
	assert_int_equal(r.delta, -2);
	cot_yaml_destroy(doc);
}

static void test_forms_that_mean_the_same(void **state)
{
	static const char *const texts[] = {
		"name: n\nthing: p\nsteps: [go]\n",
		"\xef\xbb\xbfname: n\r\nthing: p\r\nsteps:\r\n- go\r\n",
		"---\nname: 'n'\nthing: \"p\"\nsteps: [\"go\"]\n...\n",
		"{steps: [{go: true}], thing: {preset: p}, name: n}",
		"# c\xc3\xb6mment\n? name\n: n\nthing:\n  preset: p # more\nsteps: [ { go: true } ]",
	};
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(texts); i++) {
		struct root r;
		struct cot_yaml *doc = load(texts[i], &r);

		assert_string_equal(r.name, "n");
		assert_string_equal(r.preset, "p");
		assert_int_equal(cot_yaml_count(doc, get(doc, "thing")), 1);
		assert_int_equal(cot_yaml_count(doc, get(doc, "steps")), 1);
		assert_true(r.steps[0].go);
		assert_int_equal(r.count, 0); /* left out: zero */
		cot_yaml_destroy(doc);
	}
}

#define KEYS "name, count, delta, big, ratio, colour, thing, steps, more"

static const struct {
	const char *text, *expected;
} mistakes[] = {
	{"", "f:1:1: the file is empty; expected a map"},
	{"# only a comment\n", "f:1:1: the file is empty; expected a map"},
	{"- a\n", "f:1:1: the file holds a list; expected a map that begins with 'schema:'"},
	{"hello", "f:1:1: the file holds text; expected a map that begins with 'schema:'"},
	{"count: 3\n", "f:1:1: the key 'name' is missing; expected it in this file"},
	{"name: n\ncuont: 3\n",
	 "f:2:1: unknown key 'cuont' (did you mean 'count'?); expected one of " KEYS},
	{"name: n\nname: m\n", "f:2:1: the key 'name' is here a second time; expected it once"},
	{"name:\n", "f:1:6: name is empty; expected text of 1 to 31 bytes"},
	{"name: [n]\n", "f:1:7: name is a list; expected text of 1 to 31 bytes"},
	{"name: n\ncount: {}\n", "f:2:8: count is a map; expected a whole number from 1 to 100"},
	{"name: n\ncount: -1\n", "f:2:8: count is '-1'; expected a whole number from 1 to 100"},
	{"name: n\ncount: 0\n", "f:2:8: count is '0'; expected a whole number from 1 to 100"},
	{"name: n\ncount: 010\n", "f:2:8: count is '010'; expected a whole number from 1 to 100"},
	{"name: n\ncount: 0x10\n", "f:2:8: count is '0x10'; expected a whole number from 1 to 100"},
	{"name: n\ncount: 1.0\n", "f:2:8: count is '1.0'; expected a whole number from 1 to 100"},
	{"name: n\ncount: 4294967296\n",
	 "f:2:8: count is '4294967296'; expected a whole number from 1 to 100"},
	{"name: n\nbig: 18446744073709551616\n",
	 "f:2:6: big is '18446744073709551616'; expected a whole number from 0 to "
	 "18446744073709551615"},
	{"name: n\ndelta: +1\n", "f:2:8: delta is '+1'; expected a whole number from -5 to 5"},
	{"name: n\nratio: 1.5x\n", "f:2:8: ratio is '1.5x'; expected a number from 0.25 to 2"},
	{"name: n\nratio: nan\n", "f:2:8: ratio is 'nan'; expected a number from 0.25 to 2"},
	{"name: n\nratio: 1e999\n", "f:2:8: ratio is '1e999'; expected a number from 0.25 to 2"},
	{"name: n\nratio: .5\n", "f:2:8: ratio is '.5'; expected a number from 0.25 to 2"},
	{"name: n\nratio: 1_0\n", "f:2:8: ratio is '1_0'; expected a number from 0.25 to 2"},
	{"name: n\nthing: {size: .inf}\n", "f:2:15: size is '.inf'; expected a number"},
	{"name: n\ncolour: blue\n", "f:2:9: colour is 'blue'; expected one of red, green"},
	{"name: n\ncolour: 1\n", "f:2:9: colour is '1'; expected one of red, green"},
	{"name: n\nthing: [p]\n", "f:2:8: thing is a list; expected a map of preset, size"},
	{"name: n\nthing:\n", "f:2:7: thing is empty; expected a name or a map of preset, size"},
	{"name: n\nthing: longer than eight\n",
	 "f:2:8: thing is 'longer than eight'; expected text of 1 to 8 bytes"},
	{"name: n\nsteps: []\n", "f:2:8: steps has 0 entries; expected 1 to 3"},
	{"name: n\nsteps: [go, go, go, go]\n", "f:2:8: steps has 4 entries; expected 1 to 3"},
	{"name: n\nsteps: go\n", "f:2:8: steps is 'go'; expected a list"},
	{"name: n\nsteps:\n  - goo\n",
	 "f:3:5: an entry of steps is 'goo'; expected the word go or a map of go, wait"},
	{"name: n\nsteps:\n  - go: yes\n", "f:3:9: go is 'yes'; expected true or false"},
	{"name: &x n\n", "f:1:7: anchors ('&') are not supported; expected a value"},
	{"name: *x\n", "f:1:7: aliases ('*') are not supported; expected a value"},
	{"name: !!str n\n", "f:1:7: tags ('!') are not supported; expected a value"},
	{"<<: {name: n}\n", "f:1:1: unknown key '<<'; expected one of " KEYS},
	{"[a]: b\n", "f:1:1: a key is a map or a list; expected text"},
	{"name: n\n---\nname: m\n",
	 "f:2:1: a second document begins; expected one document in a file"},
	{"name: \"a\\nb\"\n", "f:1:7: text with a line break, tab or control character; "
			      "expected one line of plain text"},
	{"name: \"\\u202e\\u2028\"\n",
	 "f:1:7: text with a character that cannot be printed; expected plain text"},
	{"name: n\nsteps:\n\t- go\n",
	 "f:3:1: not valid YAML: a tab; expected spaces for indentation"},
	{"name: [[[[[[[[[[[[[[[[[[", "f:1:22: values are nested too deeply; expected at most 16 "
				     "levels"},
	{"name: {n\n",
	 "f:2:1: not valid YAML: did not find expected ',' or '}' while parsing a flow mapping"},
	{"name: n\x01\n",
	 "f:1:8: byte 0x01 is not text; expected UTF-8 without control characters"},
	{"name: n\n\xff\n",
	 "f:2:1: byte 0xff is not text; expected UTF-8 without control characters"},
	{"name: \xc0\xaf\n",
	 "f:1:7: byte 0xc0 is not text; expected UTF-8 without control characters"},
};

static void test_mistakes(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(mistakes); i++) {
		struct cot_error err = {""};
		struct cot_yaml *doc = NULL;
		int rc = cot_yaml_load("f", mistakes[i].text, strlen(mistakes[i].text), root_fields,
				       &doc, &err);

		assert_string_equal(err.text, mistakes[i].expected);
		assert_int_equal(rc, -EINVAL);
		assert_null(doc);
	}
}

static void test_a_zero_byte_and_a_large_file(void **state)
{
	static const char zero[] = "name: n\n\0";
	struct cot_error err = {""};
	struct cot_yaml *doc = NULL;
	size_t size = COT_TEXT_SIZE_MAX + 1;
	char *large = malloc(size);

	(void)state;
	assert_int_equal(cot_yaml_load("f", zero, sizeof(zero), root_fields, &doc, &err), -EINVAL);
	assert_string_equal(err.text,
			    "f:2:1: byte 0x00 is not text; expected UTF-8 without control "
			    "characters");
	assert_non_null(large);
	memset(large, '#', size);
	assert_int_equal(cot_yaml_load("f", large, size, root_fields, &doc, &err), -EINVAL);
	assert_string_equal(err.text, "f: the file is too large; expected at most 4 MiB");
	free(large);
}

static void expect_place(const struct cot_yaml *doc, uint32_t map, const char *key,
			 const char *expected)
{
	struct cot_error err;

	assert_int_equal(cot_yaml_fail_key(doc, map, key, &err, "%s", "x"), -EINVAL);
	assert_string_equal(err.text, expected);
}

static void test_places(void **state)
{
	struct root r;
	struct cot_yaml *doc = load("name: n\nsteps:\n  - go\n  - wait: 3\nthing: p\n", &r);
	uint32_t steps = get(doc, "steps"), first = cot_yaml_first(doc, steps);
	uint32_t second = cot_yaml_next(doc, first);
	struct cot_error err;

	(void)state;
	assert_int_equal(cot_yaml_fail(doc, COT_YAML_ROOT, &err, "%s", "x"), -EINVAL);
	assert_string_equal(err.text, "f:1:1: x");
	assert_int_equal(cot_yaml_fail(doc, second, &err, "%s", "x"), -EINVAL);
	assert_string_equal(err.text, "f:4:5: x");
	assert_int_equal(cot_yaml_next(doc, second), COT_YAML_NONE);
	expect_place(doc, COT_YAML_ROOT, "name", "f:1:7: x");
	expect_place(doc, COT_YAML_ROOT, "steps", "f:3:3: x");
	expect_place(doc, COT_YAML_ROOT, "count", "f:1:1: x");
	expect_place(doc, first, "go", "f:3:5: x");
	expect_place(doc, second, "wait", "f:4:11: x");
	expect_place(doc, second, "go", "f:4:5: x");
	expect_place(doc, get(doc, "thing"), "preset", "f:5:8: x");
	assert_int_equal(cot_yaml_get(doc, get(doc, "count"), "go"), COT_YAML_NONE);
	assert_int_equal(cot_yaml_first(doc, COT_YAML_NONE), COT_YAML_NONE);
	assert_int_equal(cot_yaml_count(doc, COT_YAML_NONE), 0);
	assert_null(cot_yaml_text(doc, COT_YAML_NONE));
	cot_yaml_destroy(doc);
}

static void test_long_text_is_cut_between_characters(void **state)
{
	char buf[COT_QUOTE_MAX], text[200];
	int i;

	(void)state;
	assert_string_equal(cot_text_quote("short", buf), "short");
	for (i = 0; i < 99; i++)
		memcpy(text + 2 * i, "\xc3\xa9", 3);
	cot_text_quote(text, buf);
	assert_int_equal(strlen(buf), 44 + 3);
	memmove(text + 1, text, 198);
	text[0] = 'x';
	cot_text_quote(text, buf);
	assert_int_equal(strlen(buf), 43 + 3);
}

static int set(const char *path, const char *value, struct root *ret, struct cot_error *err)
{
	static const char text[] = "name: x\nthing: small\nsteps:\n  - go\n  - {wait: 7}\n";
	const struct cot_yaml_setting settings[] = {{"count", "2"}, {path, value}};
	struct cot_yaml *doc = NULL;
	int rc = cot_yaml_load_with("f", text, strlen(text), root_fields, settings, 2, &doc, err);

	memset(ret, 0, sizeof(*ret));
	if (!rc) {
		cot_yaml_fill(doc, COT_YAML_ROOT, root_fields, ret);
		assert_int_equal(ret->count, 2);
	}
	cot_yaml_destroy(doc);
	return rc;
}

/* Values are replaced, also in a word that stands for a map; keys are added, with maps. */
static void test_settings(void **state)
{
	struct cot_error err;
	struct root r;

	(void)state;
	assert_int_equal(set("name", "y, z: 'q'", &r, &err), 0);
	assert_string_equal(r.name, "y, z: 'q'");
	assert_int_equal(set("thing.size", "2.5", &r, &err), 0);
	assert_true(r.size == 2.5 && !strcmp(r.preset, "small"));
	assert_int_equal(set("thing", "big", &r, &err), 0);
	assert_string_equal(r.preset, "big");
	assert_int_equal(set("steps.0.wait", "3", &r, &err), 0);
	assert_true(r.steps[0].go && r.steps[0].wait == 3 && r.steps[1].wait == 7);
	assert_int_equal(set("steps.1", "go", &r, &err), 0);
	assert_true(r.steps[1].go && r.steps[1].wait == 9);
	assert_int_equal(set("more.small", "5", &r, &err), 0);
	assert_int_equal(r.small, 5);
}

static void test_wrong_settings(void **state)
{
	static const char *const cases[][3] = {
		{"colur", "red", "f:1:1: unknown key 'colur' (did you mean 'colour'?); "},
		{"colour", "blue", "f:1:1: colour is 'blue'; expected one of red, green"},
		{"steps.2.wait", "1",
		 "f:4:3: steps.2.wait: no entry '2' in this list; expected a number from 0 to 1"},
		{"steps.go", "1", "f:4:3: steps.go: no entry 'go' in this list; "},
		{"steps", "1", "f:4:3: steps is '1'; expected a list"},
		{"name.x", "1", "f:1:7: name.x: here is a value without keys; "},
		{"name", "a\tb", "f: a setting has a character that cannot be printed; "},
		{"", "1", "f: '' is no path to a value; "},
		{"more.", "1", "f: 'more.' is no path to a value; "},
	};
	struct cot_error err;
	struct root r;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(set(cases[i][0], cases[i][1], &r, &err), -EINVAL);
		assert_memory_equal(err.text, cases[i][2], strlen(cases[i][2]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_at_once),
		cmocka_unit_test(test_units_defaults_and_arrays),
		cmocka_unit_test(test_forms_that_mean_the_same),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_a_zero_byte_and_a_large_file),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_wrong_settings),
		cmocka_unit_test(test_long_text_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
