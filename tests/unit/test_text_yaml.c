/* The YAML loader: what it accepts, and the exact sentence for what it does not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/text.h"
#include "text/yaml.h"

enum colour { RED, GREEN };

struct thing {
	char *preset;
	double size;
};

struct step {
	bool go;
	uint32_t *wait;
};

struct root {
	char *name;
	uint32_t count;
	int32_t delta;
	uint64_t *big;
	double ratio;
	enum colour colour;
	struct thing *thing;
	struct step *steps;
	uint32_t steps_count;
};

static const cyaml_strval_t colours[] = {{"red", RED}, {"green", GREEN}};

static const cyaml_schema_field_t thing_fields[] = {
	CYAML_FIELD_STRING_PTR("preset", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct thing,
			       preset, 1, 8),
	CYAML_FIELD_FLOAT("size", CYAML_FLAG_OPTIONAL, struct thing, size),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t step_fields[] = {
	CYAML_FIELD_BOOL("go", CYAML_FLAG_OPTIONAL, struct step, go),
	CYAML_FIELD_UINT_PTR("wait", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct step, wait),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t step_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct step, step_fields),
};

static const cyaml_schema_field_t root_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct root, name, 1, 31),
	CYAML_FIELD_UINT("count", CYAML_FLAG_OPTIONAL, struct root, count),
	CYAML_FIELD_INT("delta", CYAML_FLAG_OPTIONAL, struct root, delta),
	CYAML_FIELD_UINT_PTR("big", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct root, big),
	CYAML_FIELD_FLOAT("ratio", CYAML_FLAG_OPTIONAL, struct root, ratio),
	CYAML_FIELD_ENUM("colour", CYAML_FLAG_OPTIONAL | CYAML_FLAG_STRICT, struct root, colour,
			 colours, 2),
	CYAML_FIELD_MAPPING_PTR("thing", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct root,
				thing, thing_fields),
	CYAML_FIELD_SEQUENCE("steps", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct root, steps,
			     &step_schema, 1, 3),
	CYAML_FIELD_END,
};

static const cyaml_schema_value_t root_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct root, root_fields),
};

static const struct cot_yaml_range ranges[] = {
	{"count", 1, 100},
	{"delta", -5, 5},
	{"ratio", 0.25, 2},
	{NULL, 0, 0},
};

static const struct cot_yaml_format format = {.schema = &root_schema, .ranges = {ranges}};

static struct cot_yaml *load(const char *text)
{
	struct cot_error err = {""};
	struct cot_yaml *doc = NULL;
	int rc = cot_yaml_load("f", text, strlen(text), &format, &doc, &err);

	if (rc)
		print_message("%s\n", err.text);
	assert_int_equal(rc, 0);
	return doc;
}

static void test_everything_at_once(void **state)
{
	struct cot_yaml *doc = load("name: \"a \\\"b\\\" \\\\ {c}, 'd': \xc3\xa9\"\n"
				    "count: 100\ndelta: -5\nbig: 18446744073709551615\n"
				    "ratio: 1.25e0\ncolour: green\nthing: {size: 2.5}\n"
				    "steps:\n  - go\n  - {wait: 7}\n  - go: true\n");
	const struct root *r = cot_yaml_data(doc);

	(void)state;
	assert_string_equal(r->name, "a \"b\" \\ {c}, 'd': \xc3\xa9");
	assert_int_equal(r->count, 100);
	assert_int_equal(r->delta, -5);
	assert_true(*r->big == UINT64_MAX);
	assert_true(r->ratio == 1.25);
	assert_int_equal(r->colour, GREEN);
	assert_null(r->thing->preset);
	assert_true(r->thing->size == 2.5);
	assert_int_equal(r->steps_count, 3);
	assert_true(r->steps[0].go && r->steps[2].go && !r->steps[1].go);
	assert_int_equal(*r->steps[1].wait, 7);
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
		struct cot_yaml *doc = load(texts[i]);
		const struct root *r = cot_yaml_data(doc);

		assert_string_equal(r->name, "n");
		assert_string_equal(r->thing->preset, "p");
		assert_int_equal(r->steps_count, 1);
		assert_true(r->steps[0].go);
		assert_int_equal(r->count, 0); /* left out: zero */
		cot_yaml_destroy(doc);
	}
}

#define KEYS "name, count, delta, big, ratio, colour, thing, steps"

static const struct {
	const char *text, *expected;
} mistakes[] = {
	{"", "f:1:1: the file is empty; expected a map"},
	{"# only a comment\n", "f:1:1: the file is empty; expected a map"},
	{"- a\n", "f:1:1: the file holds a list; expected a map that begins with 'schema:'"},
	{"hello", "f:1:1: the file holds text; expected a map that begins with 'schema:'"},
	{"count: 3\n", "f:1:1: the key 'name' is missing; expected it in this file"},
	{"name: n\ncuont: 3\n", "f:2:1: unknown key 'cuont'; expected one of " KEYS},
	{"name: n\nname: m\n", "f:2:1: the key 'name' stands here a second time; expected it once"},
	{"name:\n", "f:1:6: name is empty; expected text of 1 to 31 bytes"},
	{"name: [n]\n", "f:1:7: name is a list; expected text"},
	{"name: n\ncount: {}\n", "f:2:8: count is a map; expected one value"},
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
		int rc = cot_yaml_load("f", mistakes[i].text, strlen(mistakes[i].text), &format,
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
	assert_int_equal(cot_yaml_load("f", zero, sizeof(zero), &format, &doc, &err), -EINVAL);
	assert_string_equal(err.text,
			    "f:2:1: byte 0x00 is not text; expected UTF-8 without control "
			    "characters");
	assert_non_null(large);
	memset(large, '#', size);
	assert_int_equal(cot_yaml_load("f", large, size, &format, &doc, &err), -EINVAL);
	assert_string_equal(err.text, "f: the file is too large; expected at most 4 MiB");
	free(large);
}

static void test_places_of_paths(void **state)
{
	static const struct {
		const char *path, *expected;
	} cases[] = {
		{"", "f:1:1: x"},
		{"name", "f:1:7: x"},
		{"steps", "f:3:3: x"},
		{"steps[1]", "f:4:5: x"},
		{"steps[1].wait", "f:4:11: x"},
		{"steps[0].go", "f:3:5: x"},
		{"steps[9].wait", "f:3:3: x"},
		{"thing.preset", "f:5:8: x"},
		{"nothing.at[3].all", "f:1:1: x"},
	};
	struct cot_yaml *doc = load("name: n\nsteps:\n  - go\n  - wait: 3\nthing: p\n");
	struct cot_error err;
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		assert_int_equal(cot_yaml_fail(doc, cases[i].path, &err, "%s", "x"), -EINVAL);
		assert_string_equal(err.text, cases[i].expected);
	}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_at_once),
		cmocka_unit_test(test_forms_that_mean_the_same),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_a_zero_byte_and_a_large_file),
		cmocka_unit_test(test_places_of_paths),
		cmocka_unit_test(test_long_text_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
