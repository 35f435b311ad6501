/* Numbers for people, tables, tick marks. */
#include <errno.h>

#include <stdlib.h>
#include <string.h>

#include "base/quote.h"
#include "report/format.h"
#include "report/html.h"
#include "report/svg.h"
#include "report/table.h"
#include "test.h"

static void test_units(void **state)
{
	struct cot_text t;

	(void)state;
	assert_string_equal(cot_format_us(&t, 0.0), "0.00 us");
	assert_string_equal(cot_format_us(&t, 0.0625), "62.5 ns");
	assert_string_equal(cot_format_us(&t, 16.2), "16.2 us");
	assert_string_equal(cot_format_us(&t, 999.4), "999 us");
	assert_string_equal(cot_format_us(&t, 999.6), "1.00 ms");
	assert_string_equal(cot_format_us(&t, 4500.0), "4.50 ms");
	assert_string_equal(cot_format_us(&t, 3840000.0), "3.84 s");
	assert_string_equal(cot_format_bytes(&t, 999.0), "999 B");
	assert_string_equal(cot_format_bytes(&t, 1000.0), "1.00 kB");
	assert_string_equal(cot_format_bytes(&t, 1.2e9), "1.20 GB");
	assert_string_equal(cot_format_bytes(&t, 9.9999e5), "1.00 MB");
	assert_string_equal(cot_format_count(&t, 0), "0");
	assert_string_equal(cot_format_count(&t, 999), "999");
	assert_string_equal(cot_format_count(&t, 1000), "1,000");
	assert_string_equal(cot_format_count(&t, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(cot_format_ratio(&t, 9.994), "9.99");
	assert_string_equal(cot_format_ratio(&t, 9.996), "10.0");
	assert_string_equal(cot_format_ratio(&t, 103.4), "103");
}

static void test_exact_us(void **state)
{
	struct cot_text t;

	(void)state;
	assert_string_equal(cot_format_exact_us(&t, 0, 0), "0");
	assert_string_equal(cot_format_exact_us(&t, 0, 1), "0.0");
	assert_string_equal(cot_format_exact_us(&t, 1, 0), "0.000001");
	assert_string_equal(cot_format_exact_us(&t, 12500000, 1), "12.5");
	assert_string_equal(cot_format_exact_us(&t, UINT64_MAX, 0), "18446744073709.551615");
}

static char *text_of(void (*write)(FILE *out, const char *s), const char *s)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	write(out, s);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void test_escaping(void **state)
{
	char *text;

	(void)state;
	text = text_of(cot_quote_write, "a\"b\\c\n\x01\xc3\xa9");
	assert_string_equal(text, "\"a\\\"b\\\\c\\u000a\\u0001\xc3\xa9\"");
	free(text);
	text = text_of(cot_html_text, "<a href='x'>&\"\x1b");
	assert_string_equal(text, "&lt;a href=&#39;x&#39;&gt;&amp;&quot;?");
	free(text);
}

static void test_table(void **state)
{
	static const struct cot_column columns[] = {
		{"name", COT_ALIGN_LEFT},
		{"n", COT_ALIGN_RIGHT},
		{"note", COT_ALIGN_LEFT},
	};
	struct cot_table *t = cot_table_create(columns, 3);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(t);
	assert_non_null(out);
	cot_table_text(t, "caf\xc3\xa9");
	cot_table_cell(t, "%d", 5);
	cot_table_text(t, "");
	cot_table_text(t, "x\x1b[31m");
	cot_table_cell(t, "%d", 12345);
	cot_table_text(t, "last");
	assert_int_equal(cot_table_print(t, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "name        n  note\n"
				  "caf\xc3\xa9        5  \n"
				  "x?[31m  12345  last\n");
	free(text);
}

/* What shows little and mostly words has all its columns to the left; the last is not filled up. */
static void test_table_left(void **state)
{
	static const char *const heads[] = {"NAME", "N"};
	struct cot_table *t = cot_table_create_left(heads, 2);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	cot_table_text(t, "a-long-name");
	cot_table_cell(t, "%d", 5);
	assert_int_equal(cot_table_print(t, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "NAME         N\na-long-name  5\n");
	free(text);
}

static void test_table_without_empty_columns(void **state)
{
	static const char *const heads[] = {"A", "B", "C"};
	struct cot_table *t = cot_table_create_left(heads, 3);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	cot_table_text(t, "1");
	cot_table_text(t, "");
	cot_table_text(t, "");
	cot_table_text(t, "2");
	cot_table_text(t, "");
	cot_table_text(t, "x");
	cot_table_drop_empty(t);
	assert_int_equal(cot_table_print(t, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "A  C\n1  -\n2  x\n");
	free(text);
}

static void test_no_table(void **state)
{
	(void)state;
	cot_table_text(NULL, "x");
	cot_table_cell(NULL, "%d", 1);
	cot_table_drop_empty(NULL);
	assert_int_equal(cot_table_print(NULL, stdout), -ENOMEM);
	assert_int_equal(cot_table_html(NULL, stdout), -ENOMEM);
	cot_table_destroy(NULL);
}

static void test_ticks(void **state)
{
	(void)state;
	assert_true(cot_svg_tick_step(10.0, 5) == 2.0);
	assert_true(cot_svg_tick_step(13.0, 5) == 5.0);
	assert_true(cot_svg_tick_step(1000.0, 8) == 200.0);
	assert_true(cot_svg_tick_step(0.0, 5) == 1.0);
	assert_true(cot_svg_tick_step(1e-6, 5) > 0.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_exact_us),
		cmocka_unit_test(test_escaping),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_left),
		cmocka_unit_test(test_table_without_empty_columns),
		cmocka_unit_test(test_no_table),
		cmocka_unit_test(test_ticks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
