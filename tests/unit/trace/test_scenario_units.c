/* Scenarios whose numbers have units. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test.h"
#include "trace/scenario_read.h"

#define US 1000000ull

static const char *const schedulers[] = {"fcfs"};

static const struct cot_scenario_options options = {
	.schedulers = schedulers,
	.n_schedulers = COT_ARRAY_LEN(schedulers),
};

/* Written with their units they are the same. */
static void test_units(void **state)
{
	static const char text[] =
		"schema: cotenant.scenario/1\n"
		"gpu: {preset: h200, sms: 4, clock_mhz: 1.5GHz, dram_gbps: 0.1005TB/s, shmem_configs_kb: [1KiB, "
		"2048B], trap_us: 1500ns}\n"
		"quantum_us: 0.5ms\n"
		"stop: {at_us: 1min}\n"
		"apps:\n"
		"  - {name: a, start_us: 2s, block_hint_us: 0.05ms, program: [{cpu_us: 3ms}, {h2d_bytes: 1.5MiB}, "
		"{kernel: {name: k, blocks: 1, block_us: 7ns, shmem_per_block: 1KiB}}]}\n";
	struct cot_scenario *sc;
	struct cot_error err = {""};
	const struct cot_app *app;

	(void)state;
	if (cot_scenario_parse("s.yaml", text, strlen(text), &options, &sc, &err))
		fail_msg("%s", err.text);
	app = sc->apps;
	assert_int_equal(sc->gpu.clock_mhz, 1500);
	assert_int_equal(sc->gpu.dram_bytes_per_s, 100500000000);
	assert_int_equal(sc->gpu.shmem_config_bytes[0], 1024);
	assert_int_equal(sc->gpu.shmem_config_bytes[1], 2048);
	assert_int_equal(sc->gpu.trap_ps, 1500000);
	assert_int_equal(sc->quantum_ps, 500 * US);
	assert_int_equal(sc->stop_ps, 60000000 * US);
	assert_int_equal(app->start_ps, 2000000 * US);
	assert_int_equal(app->block_hint_us, 50);
	assert_int_equal(app->program.steps[0].cpu_ps, 3000 * US);
	assert_int_equal(app->program.steps[1].bytes, 3 << 19);
	assert_int_equal(app->program.kernels[0].block_ps, 7000);
	assert_int_equal(app->program.kernels[0].shmem_per_block, 1024);
	cot_scenario_destroy(sc);
}

static void test_wrong_units(void **state)
{
	static const struct {
		const char *line, *expected;
	} cases[] = {
		{"stop: {at_us: 5KiB}",
		 "s.yaml:2:15: at_us is '5KiB'; expected a number from 0.000001 to 1000000000000 in us, or with a "
		 "unit (ns, us, ms, s, min or h)"},
		{"quantum_us: 1000000001us",
		 "s.yaml:2:13: quantum_us is '1000000001us'; expected a number from 1 to 1000000000 in us, or with a "
		 "unit (ns, us, ms, s, min or h)"},
		{"gpu: {clock_mhz: 1.2345GHz}",
		 "s.yaml:2:18: clock_mhz is '1.2345GHz'; expected a whole number from 1 to 100000 in MHz, or with a "
		 "unit (MHz or GHz)"},
		{"seed: 5ms",
		 "s.yaml:2:7: seed is '5ms'; expected a whole number from 0 to 18446744073709551615"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		struct cot_scenario *sc;
		struct cot_error err = {""};
		char text[256];

		(void)snprintf(
			text, sizeof(text),
			"schema: cotenant.scenario/1\n%s\napps: [{name: a, program: [{cpu_us: 1}]}]\n",
			cases[i].line);
		assert_int_equal(
			cot_scenario_parse("s.yaml", text, strlen(text), &options, &sc, &err),
			-EINVAL);
		assert_string_equal(err.text, cases[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_wrong_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
