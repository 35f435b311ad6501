/*
 * Rewritten kernels in the simulator, computed by hand: a GPU of 12 SMs, a batch program of 120
 * blocks of 100 us, one to an SM, and a request of 6 blocks of 50 us that comes at 350 us. A grant
 * takes 20 us, and so do 30 until workers know that they shall leave.
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

static const struct cot_kernel kernels[] = {
	{.name = "request", .n_blocks = 6, .blocks_per_sm = 1, .block_ps = 50 * US},
	{.name = "batch", .n_blocks = 120, .blocks_per_sm = 1, .block_ps = 100 * US},
	{.name = "slow", .n_blocks = 120, .blocks_per_sm = 1, .block_ps = 300 * US},
};
static const struct cot_step request_steps[] = {
	{.kind = COT_STEP_CPU, .cpu_ps = 350 * US},
	{.kind = COT_STEP_KERNEL, .kernel = 0, .launches = 1},
	{.kind = COT_STEP_SYNC},
	{.kind = COT_STEP_CPU, .cpu_ps = 100000 * US},
};
static const struct cot_step batch_steps[] = {
	{.kind = COT_STEP_KERNEL, .kernel = 1, .launches = 1},
	{.kind = COT_STEP_SYNC},
	{.kind = COT_STEP_CPU, .cpu_ps = 100000 * US},
};
static const struct cot_step slow_steps[] = {
	{.kind = COT_STEP_KERNEL, .kernel = 2, .launches = 1},
	{.kind = COT_STEP_SYNC},
	{.kind = COT_STEP_CPU, .cpu_ps = 100000 * US},
};

enum { REQUEST, BATCH, BATCH2 };

static void make(struct cot_scenario *sc, const char *policy, uint32_t n_apps)
{
	uint32_t i;

	*sc = (struct cot_scenario){
		.gpu = *cot_gpu_find("h200"),
		.scheduler = "timeslice",
		.seed = 1,
		.quantum_ps = 2048 * US,
		.stop_ps = 50000 * US,
		.n_apps = n_apps,
		.workers = {.grant_ps = 20 * US, .evict_ps = 30 * US},
	};
	(void)snprintf(sc->policy, sizeof(sc->policy), "%s", policy);
	sc->gpu.n_sms = 12;
	sc->gpu.setup_ps = 0;
	for (i = 0; i < n_apps; i++) {
		struct cot_app *a = &sc->apps[i];

		(void)snprintf(a->name, sizeof(a->name), "app%u", i);
		a->context = i;
		a->cls = i == REQUEST ? COT_CLASS_LATENCY : COT_CLASS_BATCH;
		a->weight = 100;
		a->rewrite = true;
		a->program = (struct cot_program){
			.steps = i == REQUEST ? request_steps : batch_steps,
			.n_steps = i == REQUEST ? 4 : 3,
			.kernels = kernels,
			.n_kernels = 3,
		};
	}
	sc->apps[REQUEST].reserve.sms = 6;
}

struct outcome {
	struct cot_sim_host_times times[3];
	struct cot_sim_host_works works[3];
	uint64_t wrong;
};

static void run(const struct cot_scenario *sc, struct outcome *o)
{
	struct cot_sched_stats stats;
	struct cot_sim_host *h;
	struct cot_error err;
	uint32_t i;

	if (cot_sim_host_create(sc, NULL, NULL, NULL, &h, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cot_sim_host_run(h, UINT64_MAX), COT_SIM_DONE);
	for (i = 0; i < sc->n_apps; i++) {
		cot_sim_host_times(h, i, &o->times[i]);
		cot_sim_host_works(h, i, &o->works[i]);
	}
	cot_sched_stats(cot_sim_host_sched(h), &stats);
	o->wrong = stats.wrong_actions + stats.fallbacks + stats.rescues + stats.events_refused;
	assert_int_equal(o->wrong, 0);
	cot_sim_host_destroy(h);
}

/* From the launch until all is done. */
static void expect_us(const struct outcome *o, uint32_t app, uint64_t us)
{
	assert_int_equal(o->times[app].n_responses, 1);
	assert_int_equal(o->times[app].response_max_ps / US, us);
}

/* 120 blocks on 6 of the SMs: 20 waves. */
static void test_quota(void **state)
{
	struct cot_scenario sc;
	struct outcome o;

	(void)state;
	make(&sc, "smguard", 2);
	sc.apps[REQUEST].start_ps = 20000 * US;
	sc.apps[BATCH].quota.pct = 50;
	run(&sc, &o);
	expect_us(&o, BATCH, 20 + 20 * 100);
	assert_int_equal(o.works[BATCH].n_works, 1);
	assert_int_equal(o.works[BATCH].n_evictions, 0);
	assert_int_equal(o.works[BATCH].wait_max_ps, 20 * US);
	sc.workers.overhead = 0.1;
	run(&sc, &o);
	expect_us(&o, BATCH, 20 + 20 * 110);
}

/*
 * The batch program has 12 SMs from 20 on. At 350 six are asked back, at 380 they know, at 420
 * their blocks have ended, and the request runs there until 470. 48 blocks are done then, 72 left
 * for 6 SMs. At 570 the latency program has been away for 100 us; at 590 six SMs come back, beside
 * the others. 60 blocks are left then: 6 each at 590, 620, 690 and so on, the last at 1020.
 */
static void test_eviction_and_growth(void **state)
{
	struct cot_scenario sc;
	struct outcome o;

	(void)state;
	make(&sc, "smguard", 2);
	run(&sc, &o);
	expect_us(&o, REQUEST, 470 - 350);
	expect_us(&o, BATCH, 1120);
	assert_int_equal(o.works[BATCH].n_evictions, 1);
	assert_int_equal(o.works[BATCH].n_evicted_sms, 6);
	assert_int_equal(o.works[BATCH].n_returns, 0);
	assert_int_equal(o.works[BATCH].eviction_max_ps, 40 * US);
	assert_int_equal(o.works[REQUEST].n_evictions, 0);
}

/* Tasks of 300 us stay out of the 6 SMs, so the request finds them free. */
static void test_reserve(void **state)
{
	struct cot_scenario sc;
	struct outcome o;

	(void)state;
	make(&sc, "smguard", 2);
	sc.apps[BATCH].program.steps = slow_steps;
	run(&sc, &o);
	expect_us(&o, REQUEST, 20 + 50);
	expect_us(&o, BATCH, 20 + 20 * 300);
	assert_int_equal(o.works[BATCH].n_evictions, 0);
}

/*
 * EffiSha: all twelve leave, at 420. The request runs alone until 470; at 490 the batch program
 * starts its 72 blocks again, on 12 SMs: 6 waves.
 */
static void test_effisha(void **state)
{
	struct cot_scenario sc;
	struct outcome o;

	(void)state;
	make(&sc, "effisha", 2);
	run(&sc, &o);
	expect_us(&o, REQUEST, 470 - 350);
	expect_us(&o, BATCH, 490 + 6 * 100);
	assert_int_equal(o.works[BATCH].n_returns, 1);
	assert_int_equal(o.works[BATCH].n_evicted_sms, 12);
}

/* Nothing is evicted: the request waits for the blocks of 12 SMs, like any kernel under MPS. */
static void test_static(void **state)
{
	struct cot_scenario sc;
	struct outcome o;

	(void)state;
	make(&sc, "static", 2);
	sc.apps[BATCH].quota.sms = 8;
	run(&sc, &o);
	/* 4 SMs are free: 4 blocks at 370, 2 at 420. */
	expect_us(&o, REQUEST, 20 + 50 + 50);
	expect_us(&o, BATCH, 20 + 15 * 100);
}

/* A policy that knows nothing of works: quotas hold, and there are two pools. */
static void test_other_policies(void **state)
{
	struct cot_scenario sc;
	struct outcome o;

	(void)state;
	make(&sc, "timeslice", 2);
	sc.apps[REQUEST].start_ps = 20000 * US;
	sc.apps[BATCH].quota.sms = 4;
	run(&sc, &o);
	expect_us(&o, BATCH, 20 + 30 * 100);
}

/* Two batch programs: the second has nothing for 5 ms, then half. */
static void test_fair_parts(void **state)
{
	struct cot_scenario sc;
	struct outcome o;
	struct cot_kernel longer[3];

	(void)state;
	make(&sc, "smguard", 3);
	memcpy(longer, kernels, sizeof(longer));
	longer[1].n_blocks = 12000;
	sc.apps[REQUEST].start_ps = 40000 * US;
	sc.apps[BATCH].program.kernels = longer;
	sc.apps[BATCH2].start_ps = 100 * US;
	sc.apps[BATCH2].program.kernels = longer;
	/* One that says how much it wants: 12/13 of the SMs would be kept for it. */
	sc.apps[REQUEST].reserve.sms = 1;
	sc.stop_ps = 20000 * US;
	run(&sc, &o);
	assert_int_equal(o.works[BATCH2].n_works, 1);
	assert_int_equal(o.works[BATCH].n_evictions, 1);
	assert_int_equal(o.works[BATCH].n_evicted_sms, 6);
	/* It waits for 5 ms, 30 us until they know, to the next end of a block, 20 us to begin. */
	assert_in_range(o.works[BATCH2].wait_max_ps / US, 5050, 5150);
}

/*
 * scenarios/shares.yaml: while `long` is there with its tasks of 3 ms, a request waits for tasks of
 * 0.1 ms at most, and `long` does not start again between requests.
 */
static void test_shipped_scenario(void **state)
{
	static const char *const schedulers[] = {"timeslice"};
	const struct cot_scenario_options options = {.schedulers = schedulers, .n_schedulers = 1};
	const char *source = getenv("SOURCE_DIR");
	struct cot_scenario *sc;
	struct cot_error err;
	struct outcome o;
	char path[4096];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/scenarios/shares.yaml", source ? source : ".");
	if (cot_scenario_read(path, &options, &sc, &err))
		fail_msg("%s", err.text);
	assert_int_equal(sc->n_apps, 3);
	run(sc, &o);
	assert_in_range(o.times[REQUEST].n_responses, 160, 180);
	assert_in_range(o.times[REQUEST].response_p99_ps / US, 1, 250);
	assert_in_range(o.times[REQUEST].response_max_ps / US, 1, 250);
	assert_int_equal(o.works[BATCH2].n_evictions, 0); /* `long` */
	assert_in_range(o.works[BATCH2].n_works, 8, 20);
	cot_scenario_destroy(sc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quota),	   cmocka_unit_test(test_eviction_and_growth),
		cmocka_unit_test(test_reserve),	   cmocka_unit_test(test_effisha),
		cmocka_unit_test(test_static),	   cmocka_unit_test(test_other_policies),
		cmocka_unit_test(test_fair_parts), cmocka_unit_test(test_shipped_scenario),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
