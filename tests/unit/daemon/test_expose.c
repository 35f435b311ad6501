/* /metrics: what an answer to STATS becomes, line by line; and the list in docs/metrics.md. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/expose.h"
#include "test.h"

static char *text;

static int teardown(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

/* Of JSON with ' for ". */
static void expose(const char *json)
{
	char *copy = strdup(json), *c;
	json_error_t err;
	json_t *o;

	for (c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	o = json_loads(copy, 0, &err);
	if (!o)
		fail_msg("%s", err.text);
	free(copy);
	free(text);
	text = cot_expose(o);
	json_decref(o);
	assert_non_null(text);
}

static bool has_line(const char *line)
{
	size_t n = strlen(line);
	const char *at;

	for (at = text; (at = strstr(at, line)); at++)
		if ((at == text || at[-1] == '\n') && at[n] == '\n')
			return true;
	return false;
}

static void has(const char *line)
{
	if (!has_line(line))
		fail_msg("no line '%s' in:\n%s", line, text);
}

static void has_no(const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' in:\n%s", part, text);
}

/* ---- values ---- */

static void nothing_is_an_empty_page(void **state)
{
	(void)state;
	expose("{}");
	assert_string_equal(text, "");
	expose("{'pools': [], 'tenants': [], 'gpus': []}");
	assert_string_equal(text, "# HELP cotenant_programs Programs under control.\n"
				  "# TYPE cotenant_programs gauge\n"
				  "cotenant_programs 0\n");
}

static void the_daemon(void **state)
{
	(void)state;
	expose("{'daemon': {'policy': 'rotate', 'policy_wanted': 'pools', 'started': 1795471843,"
	       " 'policy_fault': {'fault': 'stall'}}, 'bad_packets': 3,"
	       " 'core': {'fallbacks': 2, 'freeze': {'sent': 7, 'failed': 1, 'timed_out': 0}},"
	       " 'timers': {'late': 4, 'waited': 5, 'stolen': 6}}");
	has("cotenant_start_time_seconds 1795471843");
	has("cotenant_policy_info{policy=\"rotate\",wanted=\"pools\"} 1");
	has("cotenant_policy_fallback 1");
	has("cotenant_policy_fallbacks_total 2");
	has("cotenant_orders_total{action=\"freeze\"} 7");
	has("cotenant_orders_failed_total{action=\"freeze\"} 1");
	has("cotenant_orders_timed_out_total{action=\"freeze\"} 0");
	has_no("action=\"thaw\"");
	has("cotenant_bad_packets_total 3");
	has("cotenant_deadlines_late_total 4");
	has("cotenant_deadlines_waited_total 5");
	has("cotenant_deadlines_stolen_total 6");
	expose("{'daemon': {'policy_fault': null, 'started': 0}}");
	has("cotenant_policy_fallback 0");
	has_no("start_time");
}

static void a_pool(void **state)
{
	(void)state;
	expose("{'gpus': [{'index': 0, 'uuid': 'GPU-a', 'model': 'H200'},"
	       "          {'index': 1, 'uuid': null, 'model': null}],"
	       " 'pools': [{'name': 'latency', 'gpu': 0, 'mps': 'up', 'state': 'frozen', 'held': true,"
	       "   'slice_us': 10000, 'slice_read_back_us': 0, 'freezes': 3, 'freeze_max_ms': 1.5,"
	       "   'tenants': 2, 'thaw_trouble': {'failures': 4}, 'freeze_trouble': null},"
	       "  {'name': 'batch', 'gpu': 1, 'mps': 'down', 'state': 'idle', 'held': false,"
	       "   'slice_us': 0}]}");
	has("cotenant_gpu_info{gpu=\"0\",UUID=\"GPU-a\",model=\"H200\"} 1");
	has("cotenant_gpu_info{gpu=\"1\"} 1");
	has("cotenant_pool_up{pool=\"latency\",gpu=\"0\",UUID=\"GPU-a\"} 1");
	has("cotenant_pool_up{pool=\"batch\",gpu=\"1\"} 0");
	has("cotenant_pool_frozen{pool=\"latency\",gpu=\"0\",UUID=\"GPU-a\"} 1");
	has("cotenant_pool_frozen{pool=\"batch\",gpu=\"1\"} 0");
	has("cotenant_pool_held{pool=\"latency\",gpu=\"0\",UUID=\"GPU-a\"} 1");
	has("cotenant_pool_slice_seconds{pool=\"latency\",gpu=\"0\",UUID=\"GPU-a\"} 0.01");
	has_no("cotenant_pool_slice_seconds{pool=\"batch\"");
	has_no("slice_read_back");
	has("cotenant_pool_freezes_total{pool=\"latency\",gpu=\"0\",UUID=\"GPU-a\"} 3");
	has("cotenant_pool_freeze_max_seconds{pool=\"latency\",gpu=\"0\",UUID=\"GPU-a\"} 0.0015");
	has("cotenant_pool_programs{pool=\"latency\",gpu=\"0\",UUID=\"GPU-a\"} 2");
	has("cotenant_pool_thaw_failures{pool=\"latency\",gpu=\"0\",UUID=\"GPU-a\"} 4");
	has_no("freeze_failures");
}

#define ID "program=\"api\",id=\"7\",class=\"latency\",gpu=\"0,1\""

static void a_program(void **state)
{
	(void)state;
	expose("{'gpus': [], 'tenants': [{'name': 'api', 'id': 7, 'class': 'latency', 'gpus': [0, 1],"
	       " 'weight': 100, 'pool': 'shared', 'uid': 1000, 'pid': 42, 'target': {'ms': 5.0},"
	       " 'part': {'sms': 66, 'changes': 9, 'held_ms': 250.0, 'pace_wait_ms': 0.5,"
	       "   'place_failed': 0}, 'work': null,"
	       " 'launches': {'workers': 1, 'on_part': 2, 'elsewhere': 3, 'on_cpu': 4},"
	       " 'requests': {'lost': 6, 'windows': [{}, {'judged': 'response', 'response':"
	       "   {'p99_ms': 4.25}, 'service': {'p99_ms': 1.0}}, {}], 'totals': {'missed': 8,"
	       "   'up_to_ms': [0.1, 2.5], 'service': null, 'response': {'n': 10, 'sum_ms': 12.5,"
	       "   'counts': [4, 5, 1]}}}}]}");
	has("cotenant_program_info{" ID ",pool=\"shared\",uid=\"1000\",pid=\"42\"} 1");
	has("cotenant_program_weight{" ID "} 100");
	has("cotenant_program_sms{" ID "} 66");
	has("cotenant_program_part_changes_total{" ID "} 9");
	has("cotenant_program_hold_seconds_total{" ID "} 0.25");
	has("cotenant_program_pace_wait_seconds_total{" ID "} 0.0005");
	has("cotenant_program_launches_total{" ID ",where=\"workers\"} 1");
	has("cotenant_program_launches_total{" ID ",where=\"on_cpu\"} 4");
	has("cotenant_request_target_seconds{" ID "} 0.005");
	has("cotenant_request_p99_seconds{" ID "} 0.00425");
	has("cotenant_requests_missed_total{" ID "} 8");
	has("cotenant_requests_lost_total{" ID "} 6");
	has("# TYPE cotenant_request_response_seconds histogram");
	has("cotenant_request_response_seconds_bucket{" ID ",le=\"0.0001\"} 4");
	has("cotenant_request_response_seconds_bucket{" ID ",le=\"0.0025\"} 9");
	has("cotenant_request_response_seconds_bucket{" ID ",le=\"+Inf\"} 10");
	has("cotenant_request_response_seconds_sum{" ID "} 0.0125");
	has("cotenant_request_response_seconds_count{" ID "} 10");
	has_no("cotenant_request_service_seconds");
	has_no("evictions");
	has_no("slice_seconds"); /* that of its pool */
}

static void what_is_not_known_is_left_out(void **state)
{
	(void)state;
	expose("{'tenants': [{'name': 'a', 'id': 1, 'target': null, 'part': null, 'launches': null,"
	       " 'requests': {'windows': [{}, {'judged': null, 'response': null}, {}], 'totals':"
	       " {'missed': null, 'up_to_ms': [], 'response': null, 'service': null}}}]}");
	has("cotenant_program_info{program=\"a\",id=\"1\"} 1");
	has_no("cotenant_request");
	has_no("launches");
	has_no("cotenant_program_sms");
}

static void names_are_escaped(void **state)
{
	(void)state;
	expose("{'tenants': [{'id': 1, 'name': '\\\"} 1\\n\\\\x\\u00e9'}]}");
	has("cotenant_program_info{program=\"\\\"} 1\\n\\\\x\xc3\xa9\",id=\"1\"} 1");
}

/* One after the other, each with its head once. */
static void samples_of_a_family_are_together(void **state)
{
	char *first, *again;

	(void)state;
	expose("{'tenants': [{'name': 'a', 'id': 1, 'weight': 1}, {'name': 'b', 'id': 2, 'weight': 2}]}");
	first = strstr(text, "# TYPE cotenant_program_weight gauge\n"
			     "cotenant_program_weight{program=\"a\",id=\"1\"} 1\n"
			     "cotenant_program_weight{program=\"b\",id=\"2\"} 2\n");
	assert_non_null(first);
	again = strstr(first + 1, "# TYPE cotenant_program_weight");
	assert_null(again);
}

/* ---- names ---- */

static bool ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n >= m && !strcmp(name + n - m, end);
}

static void names_follow_the_conventions(void **state)
{
	size_t i, j;

	(void)state;
	for (i = 0; i < cot_n_families; i++) {
		const struct cot_family *f = &cot_families[i];

		assert_int_equal(strspn(f->name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
				 strlen(f->name));
		assert_int_equal(strncmp(f->name, "cotenant_", 9), 0);
		assert_int_equal(ends_with(f->name, "_total"), f->type == COT_FAMILY_COUNTER);
		assert_true(ends_with(f->help, "."));
		assert_null(strpbrk(f->help, "\n\\"));
		for (j = 0; j < i; j++)
			assert_string_not_equal(f->name, cot_families[j].name);
	}
}

/* Every family is a row of docs/metrics.md, in the same words, and every row is a family. */
static void the_document_has_them_all(void **state)
{
	char path[512], line[512], row[512];
	size_t i, n_rows = 0, n_found = 0;
	FILE *f;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/docs/metrics.md", getenv("SOURCE_DIR"));
	f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "| `cotenant_", 12) != 0)
			continue;
		n_rows++;
		for (i = 0; i < cot_n_families; i++) {
			(void)snprintf(row, sizeof(row), "| `%s` | %s | %s |\n",
				       cot_families[i].name, cot_family_types[cot_families[i].type],
				       cot_families[i].help);
			if (!strcmp(row, line))
				break;
		}
		if (i == cot_n_families)
			fail_msg("docs/metrics.md has, and the daemon does not: %s", line);
		n_found++;
	}
	(void)fclose(f);
	assert_int_equal(n_found, n_rows);
	assert_int_equal(n_rows, cot_n_families);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(nothing_is_an_empty_page, teardown),
		cmocka_unit_test_teardown(the_daemon, teardown),
		cmocka_unit_test_teardown(a_pool, teardown),
		cmocka_unit_test_teardown(a_program, teardown),
		cmocka_unit_test_teardown(what_is_not_known_is_left_out, teardown),
		cmocka_unit_test_teardown(names_are_escaped, teardown),
		cmocka_unit_test_teardown(samples_of_a_family_are_together, teardown),
		cmocka_unit_test(names_follow_the_conventions),
		cmocka_unit_test(the_document_has_them_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
