/*
 * The software policies on a simulated H200: a latency program with requests of 0.1 ms next to two
 * batch programs. Checks that the shape is that of the measurements on a real one,
 * and prints the table.
 */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "sim/host.h"
#include "test.h"
#include "trace/gpu.h"

enum { REQUEST, BATCH_A, BATCH_B, N_APPS };

#define RUN_MS 4000u

/* A request: 0.1 ms on the whole GPU; 1 to 5 ms from the end of one to the next. */
#define N_REQUESTS 64u

static const struct cot_kernel request_kernel = {
	.name = "request",
	.n_blocks = 132,
	.blocks_per_sm = 1,
	.block_ps = 100 * COT_PS_PER_US,
	.ctx_bytes_per_block = 65536,
};
static struct cot_step request_steps[3 * N_REQUESTS];

/* 43 ms on two thirds of the GPU, as the long kernel in channel_group_preempt.cu. */
static const struct cot_kernel long_kernel = {
	.name = "long",
	.n_blocks = 88,
	.blocks_per_sm = 1,
	.block_ps = 43000 * COT_PS_PER_US,
	.ctx_bytes_per_block = 131072,
};
/* 13 ms of blocks of 1 ms, on whatever is free. */
static const struct cot_kernel short_kernel = {
	.name = "short",
	.n_blocks = 13 * 132,
	.blocks_per_sm = 1,
	.block_ps = 1000 * COT_PS_PER_US,
	.ctx_bytes_per_block = 131072,
};
static const struct cot_step batch_steps[] = {
	{.kind = COT_STEP_KERNEL, .launches = 1},
	{.kind = COT_STEP_SYNC},
};

static void make_requests(void)
{
	struct cot_rng rng = {5};
	uint32_t i;

	for (i = 0; i < N_REQUESTS; i++) {
		uint64_t gap_us = 1000 + cot_rng_below(&rng, 4001);

		request_steps[3 * i] =
			(struct cot_step){.kind = COT_STEP_CPU, .cpu_ps = gap_us * COT_PS_PER_US};
		request_steps[3 * i + 1] =
			(struct cot_step){.kind = COT_STEP_KERNEL, .launches = 1};
		request_steps[3 * i + 2] = (struct cot_step){.kind = COT_STEP_SYNC};
	}
}

static void set_app(struct cot_app *a, const char *name, enum cot_class cls,
		    const struct cot_kernel *k, const struct cot_step *steps, uint32_t n_steps)
{
	*a = (struct cot_app){
		.cls = cls,
		.tokens = COT_TOKENS_EQUAL,
		.program = {.steps = steps, .n_steps = n_steps, .kernels = k, .n_kernels = 1},
	};
	(void)snprintf(a->name, sizeof(a->name), "%s", name);
}

static void make(struct cot_scenario *sc)
{
	uint32_t i;

	*sc = (struct cot_scenario){
		.gpu = *cot_gpu_find("h200"),
		.scheduler = "timeslice",
		.seed = 1,
		.quantum_ps = 2048 * COT_PS_PER_US, /* the driver's own on an H200 */
		.stop_ps = RUN_MS * 1000 * COT_PS_PER_US,
		.n_apps = N_APPS,
	};
	make_requests();
	set_app(&sc->apps[REQUEST], "request", COT_CLASS_LATENCY, &request_kernel, request_steps,
		3 * N_REQUESTS);
	set_app(&sc->apps[BATCH_A], "long", COT_CLASS_BATCH, &long_kernel, batch_steps, 2);
	set_app(&sc->apps[BATCH_B], "short", COT_CLASS_BATCH, &short_kernel, batch_steps, 2);
	for (i = 0; i < N_APPS; i++)
		sc->apps[i].context = i;
}

struct outcome {
	double p50_us, p99_us;
	double blocks[N_APPS]; /* of each application, done */
	struct cot_sched_stats stats;
};

struct count {
	const struct cot_scenario *sc;
	uint64_t blocks[N_APPS];
};

static void kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			const char *kernel)
{
	struct count *c = arg;

	(void)begin_ps;
	(void)end_ps;
	(void)kernel;
	c->blocks[app] += c->sc->apps[app].program.kernels[0].n_blocks;
}

static void play(const struct cot_scenario *sc, const char *policy, struct outcome *o)
{
	static const struct cot_sim_observer obs = {.kernel_done = kernel_done};
	struct cot_sim_host_options opt = {.policy = cot_policy_find(policy)};
	struct count count = {.sc = sc};
	struct cot_sim_host_times t;
	struct cot_sim_result r;
	struct cot_sim_host *h;
	struct cot_error err;
	uint32_t i;

	if (cot_sim_host_create(sc, &opt, &obs, &count, &h, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cot_sim_host_run(h, UINT64_MAX), COT_SIM_DONE);
	cot_sim_host_times(h, REQUEST, &t);
	o->p50_us = t.response_p50_ps / 1e6;
	o->p99_us = t.response_p99_ps / 1e6;
	cot_sim_result(cot_sim_host_sim(h), &r);
	assert_int_equal(r.refused, 0);
	for (i = 0; i < sc->n_apps; i++)
		o->blocks[i] = (double)count.blocks[i];
	cot_sched_stats(cot_sim_host_sched(h), &o->stats);
	assert_int_equal(o->stats.fallbacks, 0);
	cot_sim_host_destroy(h);
}

static void play_alone(const struct cot_scenario *sc, uint32_t app, struct outcome *o)
{
	static struct cot_scenario alone;

	alone = *sc;
	alone.n_apps = 1;
	alone.apps[0] = sc->apps[app];
	alone.apps[0].context = 0;
	play(&alone, "timeslice", o);
}

enum { TIMESLICE, ROTATE, POOLS, N_WAYS };

static void test_table(void **state)
{
	static const char *const names[] = {"timeslice", "rotate", "pools"};
	struct outcome alone[N_APPS], o[N_WAYS];
	static struct cot_scenario sc;
	double sum[N_WAYS];
	unsigned i;

	(void)state;
	make(&sc);
	for (i = 0; i < N_APPS; i++)
		play_alone(&sc, i, &alone[i]);
	print_message("request alone: p50 %.0f us, p99 %.0f us\n", alone[REQUEST].p50_us,
		      alone[REQUEST].p99_us);
	print_message("policy     p50 us  p99 us  long  short   sum  freezes\n");
	for (i = 0; i < N_WAYS; i++) {
		double a, b;

		play(&sc, names[i], &o[i]);
		a = o[i].blocks[BATCH_A] / alone[BATCH_A].blocks[0];
		b = o[i].blocks[BATCH_B] / alone[BATCH_B].blocks[0];
		sum[i] = a + b;
		print_message("%-10s %6.0f  %6.0f  %.2f   %.2f  %.2f  %7llu\n", names[i],
			      o[i].p50_us, o[i].p99_us, a, b, a + b,
			      (unsigned long long)o[i].stats.actions[COT_ACTION_FREEZE]);
	}
	/* Measured: 122 to 151 us alone; default slices p99 2.3 ms next to one batch program;
	 * pools 311/349 to 315/399 us; rotation p99 345 to 381 us. */
	assert_true(o[TIMESLICE].p99_us > 2000);
	assert_true(o[ROTATE].p99_us < 450);
	assert_true(o[POOLS].p99_us < 450);
	assert_true(o[POOLS].p50_us > 270);
	/* Programs in one pool fill each other's gaps. */
	assert_true(sum[POOLS] > 1.1);
	assert_true(sum[POOLS] > sum[ROTATE] + 0.2);
	assert_true(sum[ROTATE] > 0.80);
	assert_int_equal(o[POOLS].stats.actions[COT_ACTION_FREEZE], 0);
}

/* Blocks of 20 us are drained when that is known, which is the better for both sides. */
static void test_known_blocks(void **state)
{
	static const struct cot_kernel quick = {
		.name = "quick",
		.n_blocks = 20 * 132,
		.blocks_per_sm = 1,
		.block_ps = 20 * COT_PS_PER_US,
		.ctx_bytes_per_block = 131072,
	};
	struct outcome unknown, known, wrong;
	static struct cot_scenario sc;

	(void)state;
	make(&sc);
	sc.stop_ps /= 40;
	set_app(&sc.apps[BATCH_A], "a", COT_CLASS_BATCH, &quick, batch_steps, 2);
	set_app(&sc.apps[BATCH_B], "b", COT_CLASS_BATCH, &quick, batch_steps, 2);
	play(&sc, "pools", &unknown);
	sc.apps[BATCH_A].block_hint_us = 20;
	sc.apps[BATCH_B].block_hint_us = 20;
	play(&sc, "pools", &known);
	print_message("blocks of 20 us: p99 %.0f us, drained %.0f us\n", unknown.p99_us,
		      known.p99_us);
	assert_true(known.p99_us < unknown.p99_us - 50);
	assert_true(known.blocks[BATCH_A] > unknown.blocks[BATCH_A]);
	/* Who says so of long blocks makes requests wait for them. */
	set_app(&sc.apps[BATCH_A], "long", COT_CLASS_BATCH, &long_kernel, batch_steps, 2);
	sc.apps[BATCH_A].block_hint_us = 20;
	play(&sc, "pools", &wrong);
	assert_true(wrong.p99_us > 10000);
}

/* ---- the actuators ---- */

struct watch {
	uint64_t n_both; /* instants with two batch programs on the GPU */
	enum cot_sm_activity activity[132];
	uint32_t app[132];
};

static void sm_changed(void *arg, uint64_t t_ps, uint32_t sm, enum cot_sm_activity activity,
		       uint32_t app, const char *kernel)
{
	struct watch *w = arg;

	(void)t_ps;
	(void)kernel;
	w->activity[sm] = activity;
	w->app[sm] = app;
}

static void instant_done(void *arg, uint64_t t_ps)
{
	struct watch *w = arg;
	bool on[N_APPS] = {false};
	unsigned i;

	(void)t_ps;
	for (i = 0; i < 132; i++)
		if (w->activity[i] != COT_SM_IDLE)
			on[w->app[i]] = true;
	w->n_both += on[BATCH_A] && on[BATCH_B];
}

/* A freeze is acknowledged when the last block is gone, so turns never overlap on the GPU. */
static void test_rotation_has_one_batch_program_on_the_gpu(void **state)
{
	static const struct cot_sim_observer obs = {.sm_changed = sm_changed,
						    .instant_done = instant_done};
	struct cot_sim_host_options opt = {.policy = cot_policy_find("rotate")};
	static struct cot_scenario sc;
	struct cot_sim_host *h;
	struct cot_error err;
	struct watch w = {0};
	enum cot_sim_status status;

	(void)state;
	make(&sc);
	assert_int_equal(cot_sim_host_create(&sc, &opt, &obs, &w, &h, &err), 0);
	/* Both start together; within a millisecond one of them is frozen. */
	while (cot_sim_now_ps(cot_sim_host_sim(h)) < 3000 * COT_PS_PER_US)
		assert_int_equal(cot_sim_host_run(h, 1), COT_SIM_MORE);
	w.n_both = 0;
	status = cot_sim_host_run(h, UINT64_MAX);
	assert_int_equal(status, COT_SIM_DONE);
	assert_int_equal(w.n_both, 0);
	cot_sim_host_destroy(h);
}

static int dead(void *arg, const struct cot_action *a)
{
	(void)arg;
	(void)a;
	return -5;
}

/* Without working actuators it is as with the driver alone; no program stops. */
static void test_dead_actuators(void **state)
{
	struct cot_sim_host_options opt = {.policy = cot_policy_find("rotate"), .fault = dead};
	static struct cot_scenario sc;
	struct cot_sched_stats stats;
	struct cot_sim_result r;
	struct cot_sim_host *h;
	struct cot_error err;
	unsigned i;

	(void)state;
	make(&sc);
	assert_int_equal(cot_sim_host_create(&sc, &opt, NULL, NULL, &h, &err), 0);
	assert_int_equal(cot_sim_host_run(h, UINT64_MAX), COT_SIM_DONE);
	cot_sim_result(cot_sim_host_sim(h), &r);
	cot_sched_stats(cot_sim_host_sched(h), &stats);
	assert_true(stats.failed[COT_ACTION_FREEZE] > 0);
	for (i = 0; i < N_APPS; i++)
		assert_true(r.apps[i].runs > 10);
	cot_sim_host_destroy(h);
}

static void test_same_again(void **state)
{
	static struct cot_scenario sc;
	struct outcome a, b;

	(void)state;
	make(&sc);
	sc.block_jitter_cv = 0.3;
	sc.stop_ps /= 2;
	play(&sc, "rotate", &a);
	play(&sc, "rotate", &b);
	assert_true(a.p99_us == b.p99_us && a.blocks[BATCH_A] == b.blocks[BATCH_A]);
	assert_memory_equal(&a.stats, &b.stats, sizeof(a.stats));
}

static void test_wrong_scenarios(void **state)
{
	static struct cot_scenario sc;
	struct cot_sim_host *h = NULL;
	struct cot_error err;

	(void)state;
	make(&sc);
	assert_int_equal(cot_sim_host_create(&sc, NULL, NULL, NULL, &h, &err), -22);
	assert_non_null(strstr(err.text, "unknown policy"));
	(void)strcpy(sc.policy, "pools");
	(void)strcpy(sc.scheduler, "fcfs");
	assert_int_equal(cot_sim_host_create(&sc, NULL, NULL, NULL, &h, &err), -22);
	assert_non_null(strstr(err.text, "timeslice"));
	assert_null(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_known_blocks),
		cmocka_unit_test(test_rotation_has_one_batch_program_on_the_gpu),
		cmocka_unit_test(test_dead_actuators),
		cmocka_unit_test(test_same_again),
		cmocka_unit_test(test_wrong_scenarios),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
