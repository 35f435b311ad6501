/*
 * Parts in the simulator: schedules computed by hand on a GPU of 16 SMs in units of 8, and
 * scenarios/parts.yaml under several policies, as a table (docs/simulator.md has it).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/host.h"
#include "test.h"
#include "trace/gpu.h"
#include "trace/scenario_read.h"

#define US COT_PS_PER_US

enum { REQUEST, BATCH };

static const struct cot_kernel kernels[] = {
	{.name = "request", .n_blocks = 8, .blocks_per_sm = 1, .block_ps = 50 * US},
	{.name = "batch", .n_blocks = 160, .blocks_per_sm = 1, .block_ps = 100 * US},
};
/* At 1.5 ms, 3.5 ms and so on. */
static const struct cot_step request_steps[] = {
	{.kind = COT_STEP_CPU, .cpu_ps = 1500 * US},
	{.kind = COT_STEP_KERNEL, .kernel = 0, .launches = 1},
	{.kind = COT_STEP_SYNC},
	{.kind = COT_STEP_CPU, .cpu_ps = 450 * US},
};
static const struct cot_step seldom_steps[] = {
	{.kind = COT_STEP_CPU, .cpu_ps = 9300 * US},
	{.kind = COT_STEP_KERNEL, .kernel = 0, .launches = 1},
	{.kind = COT_STEP_SYNC},
};
static const struct cot_step batch_steps[] = {
	{.kind = COT_STEP_KERNEL, .kernel = 1, .launches = 1},
	{.kind = COT_STEP_SYNC},
};

static void make(struct cot_scenario *sc, const char *policy)
{
	uint32_t i;

	*sc = (struct cot_scenario){
		.gpu = *cot_gpu_find("h200"),
		.scheduler = "timeslice",
		.seed = 1,
		.quantum_ps = 2048 * US,
		.stop_ps = 100000 * US,
		.n_apps = 2,
	};
	(void)snprintf(sc->policy, sizeof(sc->policy), "%s", policy);
	sc->gpu.n_sms = 16;
	sc->gpu.setup_ps = 0;
	for (i = 0; i < 2; i++) {
		struct cot_app *a = &sc->apps[i];

		(void)snprintf(a->name, sizeof(a->name), "app%u", i);
		a->context = i;
		a->cls = i == REQUEST ? COT_CLASS_LATENCY : COT_CLASS_BATCH;
		a->weight = 100;
		a->program = (struct cot_program){
			.steps = i == REQUEST ? request_steps : batch_steps,
			.n_steps = i == REQUEST ? 4 : 2,
			.kernels = kernels,
			.n_kernels = 2,
		};
	}
}

struct outcome {
	struct cot_sim_host_times times[2];
	struct cot_sim_host_works works[2];
	uint64_t placed;
	struct cot_part part[2];
};

static void play(const struct cot_scenario *sc, struct outcome *o)
{
	struct cot_sched_stats stats;
	struct cot_sim_host *h;
	struct cot_sim_result r;
	struct cot_error err;
	uint32_t i;

	if (cot_sim_host_create(sc, NULL, NULL, NULL, &h, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cot_sim_host_run(h, UINT64_MAX), COT_SIM_DONE);
	for (i = 0; i < sc->n_apps; i++) {
		cot_sim_host_times(h, i, &o->times[i]);
		cot_sim_host_works(h, i, &o->works[i]);
		o->part[i] = cot_sched_tenant(cot_sim_host_sched(h), i + 1)->part;
	}
	cot_sim_result(cot_sim_host_sim(h), &r);
	assert_int_equal(r.refused, 0);
	cot_sched_stats(cot_sim_host_sched(h), &stats);
	assert_int_equal(stats.wrong_actions + stats.fallbacks + stats.events_refused, 0);
	o->placed = stats.actions[COT_ACTION_PLACE];
	cot_sim_host_destroy(h);
}

/* The batch kernel is 10 waves of 100 us on 16 SMs, and 20 on 8. */
static void test_a_part_of_ones_own(void **state)
{
	struct cot_scenario sc;
	struct outcome o;

	(void)state;
	make(&sc, "pools");
	sc.apps[BATCH].sms.sms = 8;
	sc.n_apps = 2;
	sc.apps[REQUEST].start_ps = 99999 * US;
	play(&sc, &o);
	assert_int_equal(o.part[BATCH].first, 0);
	assert_int_equal(o.part[BATCH].n, 8);
	assert_int_equal(o.placed, 1);
	/* The first kernel was launched before the order came: it is on all SMs. */
	assert_int_equal(o.times[BATCH].n_runs, 1 + 99 / 2);
	make(&sc, "pools");
	sc.apps[REQUEST].start_ps = 99999 * US;
	play(&sc, &o);
	assert_int_equal(o.placed, 0);
	assert_in_range(o.times[BATCH].n_runs, 99, 100);
}

/* The request finds the SMs free on which the batch program is not, and waits for nobody. */
static void test_side_by_side(void **state)
{
	struct cot_scenario sc;
	struct outcome o;

	(void)state;
	make(&sc, "parts");
	play(&sc, &o);
	assert_int_equal(o.part[BATCH].n, 8);
	assert_int_equal(o.part[REQUEST].n, 0); /* the only one: all of the GPU */
	assert_in_range(o.times[REQUEST].n_responses, 49, 50);
	assert_int_equal(o.times[REQUEST].response_max_ps, 50 * US);
	/* And with its own half. */
	sc.apps[REQUEST].sms.pct = 50;
	play(&sc, &o);
	assert_int_equal(o.part[REQUEST].first, 8);
	assert_int_equal(o.part[REQUEST].n, 8);
	assert_int_equal(o.times[REQUEST].response_max_ps, 50 * US);
}

/* So many SMs as the scenario leaves to batch programs, whatever they say themselves. */
static void test_sizes(void **state)
{
	static const uint32_t sizes[] = {8, 16, 24, 32};
	struct cot_scenario sc;
	struct outcome o;
	unsigned i, waves;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(sizes); i++) {
		make(&sc, "parts");
		sc.gpu.n_sms = 32;
		sc.batch_sms = sizes[i];
		sc.apps[BATCH].sms.sms = 8;
		play(&sc, &o);
		assert_int_equal(o.part[BATCH].first, 0);
		assert_int_equal(o.part[BATCH].n, sizes[i] % 32);
		assert_int_equal(o.part[REQUEST].n, 0);
		/* 160 blocks of 100 us on so many SMs, in 100 ms; the first launch comes before the
		 * order, and requests take up to 3 % */
		waves = (160 + sizes[i] - 1) / sizes[i];
		assert_in_range(o.times[BATCH].n_runs, 970 / waves, 1000 / waves + 1);
	}
}

/* Also in units of 1, each size. */
static void test_small_units(void **state)
{
	struct cot_scenario sc;
	struct outcome o;
	uint32_t n;

	(void)state;
	for (n = 1; n < 7; n++) {
		make(&sc, "parts");
		sc.gpu.n_sms = 7;
		sc.batch_sms = n;
		play(&sc, &o);
		assert_int_equal(o.part[BATCH].n, n);
	}
}

static void expect_sizes(uint32_t n_sms, const char *expected)
{
	struct cot_gpu gpu = {.n_sms = n_sms};
	uint32_t sizes[COT_SIM_HOST_PART_SIZES];
	unsigned n = cot_sim_host_part_sizes(&gpu, sizes), i;
	char text[64] = "";

	for (i = 0; i < n; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u ", sizes[i]);
	assert_string_equal(text, expected);
}

/* In whole units, and each of them once. */
static void test_sizes_to_compare(void **state)
{
	(void)state;
	expect_sizes(132, "32 64 96 112 132 ");
	expect_sizes(16, "8 16 ");
	expect_sizes(8, "8 ");
	expect_sizes(7, "1 3 5 6 7 ");
	expect_sizes(1, "1 ");
}

/* Idle for longer than the policy lingers: the batch program has all of the GPU; when a request
 * comes, it waits for the kernel that runs, and the next kernel is on the small part again. */
static void test_all_of_it_meanwhile(void **state)
{
	struct cot_scenario sc;
	struct cot_policy_config config;
	struct cot_sim_host_options options = {.config = &config};
	struct cot_sim_host_times t[2];
	struct cot_sim_host *h;
	struct cot_error err;

	(void)state;
	make(&sc, "parts");
	sc.apps[REQUEST].program.steps = seldom_steps;
	sc.apps[REQUEST].program.n_steps = 3;
	cot_policy_config_init(&config);
	config.linger_ns = 100 * COT_NS_PER_US;
	assert_int_equal(cot_sim_host_create(&sc, &options, NULL, NULL, &h, &err), 0);
	assert_int_equal(cot_sim_host_run(h, UINT64_MAX), COT_SIM_DONE);
	cot_sim_host_times(h, REQUEST, &t[REQUEST]);
	cot_sim_host_times(h, BATCH, &t[BATCH]);
	assert_true(t[REQUEST].response_max_ps > 100 * US);
	assert_true(t[REQUEST].response_max_ps <= 1050 * US);
	assert_in_range(t[BATCH].n_runs, 80, 95); /* 50 with half of the GPU all the time */
	cot_sim_host_destroy(h);
}

/* ---- quotas and reservations ---- */

static const struct cot_kernel mixed_kernels[] = {
	{.name = "request",
	 .n_blocks = 8,
	 .blocks_per_sm = 1,
	 .block_ps = 50 * US,
	 .machine_code = true},
	{.name = "library",
	 .n_blocks = 160,
	 .blocks_per_sm = 1,
	 .block_ps = 100 * US,
	 .machine_code = true},
	{.name = "own", .n_blocks = 160, .blocks_per_sm = 1, .block_ps = 100 * US},
};
static const struct cot_step mixed_steps[] = {
	{.kind = COT_STEP_CPU, .cpu_ps = 50 * US}, /* until it is on its part */
	{.kind = COT_STEP_KERNEL, .kernel = 2, .launches = 1},
	{.kind = COT_STEP_SYNC},
	{.kind = COT_STEP_CPU, .cpu_ps = 10 * US},
	{.kind = COT_STEP_KERNEL, .kernel = 1, .launches = 1},
	{.kind = COT_STEP_SYNC},
	{.kind = COT_STEP_CPU, .cpu_ps = 100000 * US},
};

static void make_mixed(struct cot_scenario *sc)
{
	uint32_t i;

	make(sc, "smguard");
	sc->workers.grant_ps = 20 * US;
	sc->workers.evict_ps = 30 * US;
	for (i = 0; i < 2; i++) {
		sc->apps[i].rewrite = true;
		sc->apps[i].program.kernels = mixed_kernels;
		sc->apps[i].program.n_kernels = 3;
	}
}

/* With half of the GPU each kernel has 20 waves: the one on any 8 SMs, the other on the first 8. */
static void test_a_quota_for_both_kinds(void **state)
{
	struct cot_scenario sc;
	struct outcome o;

	(void)state;
	make_mixed(&sc);
	sc.apps[REQUEST].start_ps = 99999 * US;
	sc.apps[BATCH].program.steps = mixed_steps;
	sc.apps[BATCH].program.n_steps = 7;
	sc.apps[BATCH].quota.pct = 50;
	play(&sc, &o);
	assert_int_equal(o.part[BATCH].n, 8);
	assert_int_equal(o.times[BATCH].n_responses, 2);
	assert_int_equal(o.times[BATCH].response_max_ps, (20 + 20 * 100) * US);
	assert_true(o.times[BATCH].response_p50_ps < 2010.0 * US);
	assert_int_equal(o.works[BATCH].n_works, 1);
}

/* Short tasks may have what is reserved and not used, though their program is on a part. */
static void test_workers_are_on_no_part(void **state)
{
	struct cot_scenario sc;
	struct outcome o;

	(void)state;
	make_mixed(&sc);
	sc.apps[REQUEST].reserve.pct = 50;
	sc.apps[REQUEST].program.steps = &request_steps[3];
	sc.apps[REQUEST].program.n_steps = 1;
	sc.apps[BATCH].program.steps = mixed_steps;
	sc.apps[BATCH].program.n_steps = 7;
	play(&sc, &o);
	assert_int_equal(o.part[BATCH].n, 8);
	assert_int_equal(o.times[BATCH].n_responses, 2);
	assert_int_equal(o.times[BATCH].response_max_ps, 20 * 100 * US);
	assert_true(o.times[BATCH].response_p50_ps < 1030.0 * US);
}

/* What is reserved is free of kernels that nobody can evict; without that, requests wait for one.
 */
static void test_a_reservation_against_libraries(void **state)
{
	struct cot_scenario sc;
	struct outcome o;

	(void)state;
	make_mixed(&sc);
	play(&sc, &o);
	assert_int_equal(o.part[BATCH].n, 0);
	assert_true(o.times[REQUEST].response_max_ps > 60 * US);
	sc.apps[REQUEST].reserve.pct = 50;
	play(&sc, &o);
	assert_int_equal(o.part[BATCH].n, 8);
	assert_int_equal(o.part[REQUEST].n, 0);
	assert_in_range(o.times[REQUEST].n_responses, 49, 50);
	assert_int_equal(o.times[REQUEST].response_max_ps, 50 * US);
}

/* ---- the table ---- */

static struct cot_scenario *load(void)
{
	static const char *const schedulers[] = {"timeslice"};
	const struct cot_scenario_options options = {.schedulers = schedulers, .n_schedulers = 1};
	const char *source = getenv("SOURCE_DIR");
	struct cot_scenario *sc;
	struct cot_error err;
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/scenarios/parts.yaml", source ? source : ".");
	if (cot_scenario_read(path, &options, &sc, &err))
		fail_msg("%s", err.text);
	return sc;
}

struct row {
	const char *way, *policy;
	uint16_t sms[2];	  /* 0: nothing is asked for */
	double least, most;	  /* p99, times alone */
	double batch, batch_most; /* rate, times alone */
};

static void test_table(void **state)
{
	static const struct row rows[] = {
		{"time slicing", "timeslice", {0, 0}, 3.0, 4.5, 0.5, 0.9},
		{"pools", "pools", {0, 0}, 1.1, 1.5, 0.1, 0.4},
		{"parts, the product on 32 SMs", "parts", {0, 32}, 1.0, 1.1, 0.2, 0.3},
		{"parts, the product on 64 SMs", "parts", {0, 64}, 1.0, 1.1, 0.4, 0.6},
		{"parts, 64 and 64", "parts", {64, 64}, 1.0, 1.1, 0.4, 0.6},
		{"parts, the product on 96 SMs", "parts", {0, 96}, 1.5, 2.5, 0.6, 0.8},
	};
	struct cot_scenario *sc = load();
	struct outcome alone[2], o;
	uint32_t i;

	(void)state;
	sc->apps[BATCH].sms = (struct cot_share){0};
	for (i = 0; i < 2; i++) {
		sc->apps[i].start_ps = 0;
		sc->apps[1 - i].start_ps = sc->stop_ps - 1;
		play(sc, &alone[i]);
	}
	sc->apps[REQUEST].start_ps = sc->apps[BATCH].start_ps = 0;
	print_message("| way | p99 of requests | rate of the product |\n|---|---|---|\n");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		double p99, rate;

		(void)snprintf(sc->policy, sizeof(sc->policy), "%s", r->policy);
		sc->apps[REQUEST].sms = (struct cot_share){.sms = r->sms[REQUEST]};
		sc->apps[BATCH].sms = (struct cot_share){.sms = r->sms[BATCH]};
		play(sc, &o);
		p99 = o.times[REQUEST].response_p99_ps /
		      alone[REQUEST].times[REQUEST].response_p99_ps;
		rate = (double)o.times[BATCH].n_runs / (double)alone[BATCH].times[BATCH].n_runs;
		print_message("| %s | %.2fx | %.2f |\n", r->way, p99, rate);
		assert_true(p99 >= r->least && p99 <= r->most);
		assert_true(rate >= r->batch && rate <= r->batch_most);
	}
	cot_scenario_destroy(sc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_part_of_ones_own),
		cmocka_unit_test(test_side_by_side),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_small_units),
		cmocka_unit_test(test_sizes_to_compare),
		cmocka_unit_test(test_all_of_it_meanwhile),
		cmocka_unit_test(test_a_quota_for_both_kinds),
		cmocka_unit_test(test_workers_are_on_no_part),
		cmocka_unit_test(test_a_reservation_against_libraries),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
