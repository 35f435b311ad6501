/* cotenant top: which rows there are, in which order, and the lines that they become at any width.
 */
#include <stdbool.h>
#include <string.h>

#include "cli/top.h"
#include "test.h"

static const char snapshot[] =
	"{\"daemon\": {\"policy\": \"slo\", \"policy_fault\": null},"
	" \"gpus\": [{\"index\": 0, \"model\": \"NVIDIA H200\", \"energy\": {\"power_w\": 412.3, \"mean_w\": 388.8}},"
	"   {\"index\": 1, \"model\": null, \"energy\": null}],"
	" \"pools\": [{\"id\": 1, \"name\": \"latency\", \"gpu\": 0, \"mps\": \"up\", \"state\": \"running\","
	"   \"slice_us\": 10000, \"freezes\": 2, \"tenants\": 1}],"
	" \"tenants\": ["
	"  {\"id\": 2, \"name\": \"api\", \"class\": \"latency\", \"pool\": \"latency\", \"gpus\": [0], \"weight\": 100,"
	"   \"memory\": {\"limit_bytes\": 42949672960, \"used_bytes\": 8589934592}, \"energy\": {\"mean_w\": 90.4},"
	"   \"target\": {\"ms\": 5.0}, \"part\": {\"can_be_placed\": true, \"sms\": 66, \"gpu_sms\": 132},"
	"   \"requests\": {\"windows\": [{}, {\"per_second\": 40.5, \"judged\": \"response\","
	"     \"response\": {\"p99_ms\": 7.25}}]}},"
	"  {\"id\": 3, \"name\": \"training-with-a-very-long-name-that-is-cut\", \"class\": \"batch\","
	"   \"pool\": null, \"gpus\": [0], \"weight\": 50, \"state\": \"frozen\", \"held\": true,"
	"   \"slice_us\": 0, \"freezes\": 9},"
	"  {\"id\": 4, \"name\": \"b\\u0007\\u00e9\", \"class\": \"batch\", \"pool\": \"batch\", \"gpus\": [0, 1],"
	"   \"memory\": {\"limit_bytes\": 1073741824, \"used_bytes\": null}}]}";

static json_t *stats;
static struct cot_top_rows rows;
static struct cot_top_picture picture;

static void make(const struct cot_top_view *view, unsigned width)
{
	cot_top_picture_destroy(&picture);
	cot_top_rows_destroy(&rows);
	json_decref(stats);
	stats = json_loads(snapshot, 0, NULL);
	assert_non_null(stats);
	assert_int_equal(cot_top_rows_create(stats, view, &rows), 0);
	assert_int_equal(cot_top_picture_create(stats, &rows, view, width, &picture), 0);
}

static int teardown(void **state)
{
	(void)state;
	cot_top_picture_destroy(&picture);
	cot_top_rows_destroy(&rows);
	json_decref(stats);
	stats = NULL;
	return 0;
}

static const struct cot_top_line *line_of(long long id)
{
	size_t i;

	for (i = 0; i < picture.n; i++)
		if (picture.line[i].id == id)
			return &picture.line[i];
	fail_msg("no line of %lld", id);
	return NULL;
}

static bool has(const char *text)
{
	size_t i;

	for (i = 0; i < picture.n; i++)
		if (strstr(picture.line[i].text, text))
			return true;
	return false;
}

static void rows_say_what_the_daemon_says(void **state)
{
	const struct cot_top_view view = {.sort = COT_TOP_BY_ID};

	(void)state;
	make(&view, 250);
	assert_int_equal(rows.n, 4);
	assert_true(rows.row[0].is_pool);
	assert_string_equal(rows.row[0].name, "pool:latency:0");
	assert_true(rows.row[1].missed);
	assert_true(rows.row[1].sms == 66 && rows.row[1].p99_ms == 7.25);
	assert_true(rows.row[2].frozen && rows.row[2].freezes == 9);
	assert_true(rows.row[3].p99_ms < 0 && rows.row[3].sms < 0);
	assert_true(has("66/132") && has("7.25 ms!") && has("5.00 ms") && has("40.5"));
	assert_true(has("frozen (held)") || has("frozen (h~"));
	assert_true(has("10000 us"));
	assert_true(has("8192M/40G") && has("-/1024M"));
	assert_true(has("90 W") && has("GPU 0: 412 W, mean 389 W, NVIDIA H200"));
	assert_false(has("GPU 1"));
	assert_string_equal(rows.row[3].gpus, "0,1");
	assert_true(rows.row[3].mean_w < 0 && rows.row[2].memory_max < 0);
	assert_false(has("EVICTED")); /* nobody has any */
	assert_int_equal(line_of(2)->tone, COT_TOP_BAD);
	assert_int_equal(line_of(3)->tone, COT_TOP_COLD);
	assert_int_equal(line_of(1)->tone, COT_TOP_PLAIN);
}

static void order_and_choice(void **state)
{
	struct cot_top_view view = {.sort = COT_TOP_BY_NAME};

	(void)state;
	make(&view, 80);
	assert_int_equal(rows.row[1].id, 2);
	assert_int_equal(rows.row[2].id, 4);
	assert_int_equal(rows.row[3].id, 3);
	view.reverse = true;
	make(&view, 80);
	assert_true(rows.row[0].is_pool);
	assert_int_equal(rows.row[1].id, 3);
	view = (struct cot_top_view){.sort = COT_TOP_BY_FREEZES};
	make(&view, 80);
	assert_int_equal(rows.row[1].id, 3);
	view = (struct cot_top_view){.sort = COT_TOP_BY_MEMORY};
	make(&view, 80);
	assert_int_equal(rows.row[1].id, 2);
	view = (struct cot_top_view){.sort = COT_TOP_BY_GPU, .reverse = true};
	make(&view, 80);
	assert_int_equal(rows.row[1].id, 4);
	view = (struct cot_top_view){.sort = COT_TOP_BY_P99, .filter = "LATENCY"};
	make(&view, 80);
	assert_int_equal(rows.n, 2);
	assert_int_equal(rows.row[1].id, 2);
	(void)strcpy(view.filter, "nobody");
	make(&view, 80);
	assert_int_equal(rows.n, 1);
	assert_true(has("No program is under control."));
}

static void no_line_is_too_wide(void **state)
{
	const struct cot_top_view view = {.sort = COT_TOP_BY_ID};
	unsigned width, n;
	size_t i;

	(void)state;
	for (width = COT_TOP_WIDTH_MIN; width <= COT_TOP_WIDTH_MAX; width++) {
		make(&view, width);
		for (i = 0; i < picture.n; i++) {
			const char *c;

			for (n = 0, c = picture.line[i].text; *c; c++) {
				assert_true((unsigned char)*c >= 0x20);
				n += (*c & 0xc0) != 0x80;
			}
			if (n > width)
				fail_msg("%u of %u: %s", n, width, picture.line[i].text);
		}
		assert_true(has("api") && has("NAME"));
		assert_true(width < 40 || (has("CLASS") && has("P99")));
		assert_true(width < 80 || (has("SMS") && has("TARGET") && has("MEMORY")));
		assert_true(width < 120 || has("POWER"));
	}
}

static void without_a_daemon(void **state)
{
	const struct cot_top_view view = {.message = "Weight of api: 3_"};
	struct cot_top_rows none = {.n = 0};

	(void)state;
	teardown(NULL);
	assert_int_equal(cot_top_picture_create(NULL, &none, &view, 80, &picture), 0);
	assert_int_equal(picture.n, 2);
	assert_true(has("No cotenantd answers"));
	assert_string_equal(picture.line[1].text, "Weight of api: 3_");
}

/* The line that is selected is always among those that are seen. */
static void scrolling(void **state)
{
	const struct cot_top_view view = {.sort = COT_TOP_BY_ID};
	size_t room, first, i, n;

	(void)state;
	make(&view, 80);
	n = picture.n - picture.n_head - 1;
	for (room = 1; room <= n + 2; room++)
		for (first = 0; first <= n + 2; first++)
			for (i = 0; i < n; i++) {
				long long id = picture.line[picture.n_head + i].id;
				size_t at = cot_top_scroll(&picture, id, first, room);

				assert_true(room >= n ? at == 0 : at + room <= n);
				assert_true(!id || (i >= at && i < at + room));
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(rows_say_what_the_daemon_says, teardown),
		cmocka_unit_test_teardown(order_and_choice, teardown),
		cmocka_unit_test_teardown(no_line_is_too_wide, teardown),
		cmocka_unit_test_teardown(without_a_daemon, teardown),
		cmocka_unit_test_teardown(scrolling, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
