/* Runs side by side: intervals, figures and their texts, CSV with any name in it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/grid.h"
#include "test.h"
#include "trace/scenario_read.h"

static void test_interval(void **state)
{
	/* The mean is 5; the sum of the squares 32, so s is sqrt(32 / 7). */
	const double values[] = {2, 4, 4, 4, 5, 5, 7, 9}, gap[] = {1, (double)NAN, 3};
	struct cot_interval v = cot_interval_of(values, 8, 1);

	(void)state;
	assert_float_equal(v.mean, 5, 1e-12);
	assert_float_equal(v.half, 2.365 * sqrt(32.0 / 7 / 8), 1e-9);
	v = cot_interval_of(values + 1, 3, 2); /* 4, 4, 5 */
	assert_float_equal(v.mean, 13.0 / 3, 1e-12);
	v = cot_interval_of(values, 1, 1);
	assert_true(v.mean == 2 && isnan(v.half));
	v = cot_interval_of(gap, 3, 1);
	assert_true(isnan(v.mean) && isnan(v.half));
	assert_true(cot_interval_of(gap, 2, 2).mean == 2);
}

/* Of printed tables: 40, 60, 120 and very many degrees. */
static void test_quantiles(void **state)
{
	(void)state;
	assert_float_equal(cot_interval_t(1), 12.706, 0.0005);
	assert_float_equal(cot_interval_t(30), 2.042, 0.0005);
	assert_float_equal(cot_interval_t(31), 2.0395, 0.0005);
	assert_float_equal(cot_interval_t(40), 2.021, 0.0005);
	assert_float_equal(cot_interval_t(60), 2.000, 0.0005);
	assert_float_equal(cot_interval_t(120), 1.980, 0.0005);
	assert_float_equal(cot_interval_t(1000000), 1.960, 0.0005);
}

static void says(enum cot_figure_kind kind, double mean, double half, const char *want)
{
	struct cot_text text;

	assert_string_equal(cot_figure_text(kind, (struct cot_interval){mean, half}, &text), want);
}

static void test_texts(void **state)
{
	const double none = (double)NAN;

	(void)state;
	says(COT_FIGURE_P99, none, none, "");
	says(COT_FIGURE_P99, 1330, none, "1.33 ms");
	says(COT_FIGURE_P99, 1330, 41.2, "1.33 ±0.04 ms");
	says(COT_FIGURE_P99, 999.6, 0, "1.00 ±0.00 ms");
	says(COT_FIGURE_P99, 317.4, 2, "317 ±2 us");
	says(COT_FIGURE_P99, 0.5, 0.1, "500 ±100 ns");
	says(COT_FIGURE_SLOWDOWN, 24.21, 0.2, "24.2 ±0.2x");
	says(COT_FIGURE_MISSED, 0.01, none, "1.00 %");
	says(COT_FIGURE_GOAL, 1.003, none, "100.3 %");
	says(COT_FIGURE_WATTS, 232, 1.25, "232.0 ±1.2 W");
	says(COT_FIGURE_TARGETS, 1, none, "kept");
	says(COT_FIGURE_TARGETS, 0, 0, "missed");
	says(COT_FIGURE_TARGETS, 0.7, 0.2, "kept in 70 %");
}

/* Of each figure: one name, and one place. */
static void test_order(void **state)
{
	unsigned i, n = cot_figures_count(3);

	(void)state;
	assert_int_equal(n, 3 * COT_FIGURE_APP_KINDS + COT_FIGURE_KINDS - COT_FIGURE_APP_KINDS);
	for (i = 0; i < n; i++) {
		struct cot_figure f = cot_figure_at(3, i);

		if (f.kind < COT_FIGURE_APP_KINDS)
			assert_int_equal(f.kind * 3 + f.app, i);
		else
			assert_int_equal(3 * COT_FIGURE_APP_KINDS + f.kind - COT_FIGURE_APP_KINDS,
					 i);
	}
	assert_int_equal(cot_figure_at(3, n - 1).kind, COT_FIGURE_PREEMPTION);
}

static const char text[] = "schema: cotenant.scenario/1\n"
			   "apps:\n"
			   "  - name: a,\"b\n"
			   "    program:\n"
			   "      - kernel: {name: k, blocks: 1, block_us: 1}\n";

static char *printed(const struct cot_grid *g, int (*print)(const struct cot_grid *g, FILE *out))
{
	char *bytes;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);

	assert_non_null(out);
	assert_int_equal(print(g, out), 0);
	assert_int_equal(fclose(out), 0);
	return bytes;
}

/* One row of two seeds; only the slowdown is known. */
static void test_outputs(void **state)
{
	char command[] = "cotenant sweep 'a,b'";
	struct cot_origin origin = {
		.file = "s.yaml", .sha256 = "12ab", .version = "cotenant 1", .command = command};
	struct cot_grid g = {.schema = "cotenant.compare/1",
			     .origin = &origin,
			     .n_keys = 1,
			     .n_rows = 1,
			     .n_seeds = 2,
			     .keys = {{"how", "how"}},
			     .first_seed = 7};
	struct cot_scenario *sc;
	struct cot_error err;
	unsigned i;
	char *bytes;

	(void)state;
	assert_int_equal(cot_scenario_parse("t", text, strlen(text), NULL, &sc, &err), 0);
	g.sc = sc;
	g.rows = calloc(1, sizeof(*g.rows));
	assert_non_null(g.rows);
	g.rows[0].sc = sc;
	strcpy(g.rows[0].labels[0], "x,y");
	assert_int_equal(cot_grid_open(&g, true), 0);
	for (i = 0; i < cot_grid_n_figures(&g); i++)
		cot_grid_values(&g, 0, 0)[i] = cot_grid_values(&g, 0, 1)[i] = (double)NAN;
	cot_grid_values(&g, 0, 0)[COT_FIGURE_SLOWDOWN] = 1.25;
	cot_grid_values(&g, 0, 1)[COT_FIGURE_SLOWDOWN] = 1.75;
	g.json[0] = strdup("{}");
	g.json[1] = strdup("{}");
	bytes = printed(&g, cot_grid_print_csv);
	assert_string_equal(
		bytes,
		"how,seed,\"a,\"\"b.slowdown\",scenario,sha256,gpu_model,version,command\n"
		"\"x,y\",7,1.25,s.yaml,12ab,k20c (13 SMs),cotenant 1,\"cotenant sweep 'a,b'\"\n"
		"\"x,y\",8,1.75,s.yaml,12ab,k20c (13 SMs),cotenant 1,\"cotenant sweep 'a,b'\"\n");
	free(bytes);
	bytes = printed(&g, cot_grid_print_text);
	assert_non_null(strstr(bytes, "1.50 ±3.18x"));
	free(bytes);
	bytes = printed(&g, cot_grid_print_json);
	assert_non_null(strstr(bytes, "\"a,\\\"b.slowdown\": {\n          \"mean\": 1.5,\n"
				      "          \"half_width\": 3.1765\n"));
	free(bytes);
	bytes = printed(&g, cot_grid_print_html);
	assert_non_null(strstr(bytes, "<title>s.yaml, 1 way to share a GPU</title>"));
	assert_non_null(strstr(bytes, "<circle "));
	assert_null(strstr(bytes, "=\"nan"));
	free(bytes);
	cot_grid_finish(&g);
	cot_scenario_destroy(sc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interval), cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_texts),	 cmocka_unit_test(test_order),
		cmocka_unit_test(test_outputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
