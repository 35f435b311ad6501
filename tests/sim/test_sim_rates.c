/*
 * Blocks progress at a rate that may change at any moment: the integral of the rate over a block's
 * time on an SM is its work. Rates are set between instants, so a program that only computes makes
 * the instants.
 */
#include "base/rng.h"
#include "base/units.h"
#include "sim/sim.h"
#include "support/sim_build.h"
#include "test.h"

#define FULL	COT_RATE_ONE
#define QUARTER (COT_RATE_ONE / 4)
#define US	COT_PS_PER_US

struct ends {
	uint32_t n;
	uint64_t ps[8];
};

static void kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			const char *kernel)
{
	struct ends *e = arg;

	(void)begin_ps;
	(void)app;
	(void)kernel;
	if (e->n < 8)
		e->ps[e->n++] = end_ps;
}

static const struct cot_sim_observer observer = {.kernel_done = kernel_done};

static struct cot_sim *create(struct sim_build *b, struct ends *e)
{
	struct cot_sim *sim;

	e->n = 0;
	assert_int_equal(cot_sim_create(&b->sc, NULL, &observer, e, &sim, NULL), 0);
	return sim;
}

/* Runs to the instant at t; there must be one. */
static void run_to(struct cot_sim *sim, uint64_t t_ps)
{
	while (hw_now_ps(cot_sim_hw(sim)) < t_ps)
		assert_int_equal(cot_sim_run(sim, 1), COT_SIM_MORE);
	assert_int_equal(hw_now_ps(cot_sim_hw(sim)), t_ps);
}

/* A program whose CPU phases end at the given times. */
static void build_clock(struct sim_build *b, const double *us, uint32_t n)
{
	double last = 0;
	uint32_t i;

	(void)build_app(b, "clock");
	for (i = 0; i < n; i++) {
		build_cpu(b, us[i] - last);
		last = us[i];
	}
	build_cpu(b, 1e8);
}

/*
 * 100 us of work: 10 at full rate, 40 at a quarter (10 more), 20 halted, the other 80 at full rate
 * from 70 on: the end is at 150.
 */
static void work_is_the_integral_of_the_rate(void **state)
{
	static const double at_us[] = {10, 50, 70};
	struct sim_build b;
	struct cot_sim *sim;
	struct ends e;

	(void)state;
	build_init(&b, "fcfs", 1);
	(void)build_one(&b, "a", 0, 1, 100, 1, 0);
	build_clock(&b, at_us, 3);
	sim = create(&b, &e);
	run_to(sim, 10 * US);
	cot_sim_set_rate(sim, 0, QUARTER);
	run_to(sim, 50 * US);
	cot_sim_set_rate(sim, 0, 0);
	run_to(sim, 70 * US);
	cot_sim_set_rate(sim, 0, FULL);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	assert_int_equal(e.n, 1);
	assert_int_equal(e.ps[0], 150 * US);
	cot_sim_destroy(sim);
}

/* Each SM has its own rate; blocks that follow go on at it: 2 blocks of 10 us at a half are 40. */
static void every_sm_has_its_rate(void **state)
{
	struct sim_build b;
	struct cot_sim *sim;
	struct ends e;

	(void)state;
	build_init(&b, "dss", 2);
	(void)build_one(&b, "a", 0, 2, 10, 1, 0);
	(void)build_one(&b, "b", 0, 2, 10, 1, 0);
	sim = create(&b, &e);
	cot_sim_set_rate(sim, 1, COT_RATE_ONE / 2);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	assert_int_equal(e.n, 2);
	assert_int_equal(e.ps[0], 20 * US);
	assert_int_equal(e.ps[1], 40 * US);
	cot_sim_destroy(sim);
}

static void faster_than_full_is_allowed(void **state)
{
	struct sim_build b;
	struct cot_sim *sim;
	struct ends e;

	(void)state;
	build_init(&b, "fcfs", 1);
	(void)build_one(&b, "a", 0, 3, 10, 1, 0);
	sim = create(&b, &e);
	cot_sim_set_rate(sim, 0, 2 * COT_RATE_ONE);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	assert_int_equal(e.ps[0], 15 * US);
	cot_sim_destroy(sim);
}

/* With everything halted nothing will ever happen, until the rate is set again. */
static void a_halted_gpu_stalls_and_goes_on(void **state)
{
	struct sim_build b;
	struct cot_sim *sim;
	struct ends e;

	(void)state;
	build_init(&b, "fcfs", 1);
	(void)build_app(&b, "a");
	(void)build_kernel(&b, 1, 10, 1, 0);
	build_stop_runs(&b, 1);
	sim = create(&b, &e);
	cot_sim_set_rate(sim, 0, 0);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_STALLED);
	cot_sim_set_rate(sim, 0, FULL);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	assert_int_equal(e.ps[0], 10 * US);
	cot_sim_destroy(sim);
}

/*
 * Saving and restoring do not depend on the rate. l (10 us) runs 4 us at a half, is saved 4 to 8
 * while the rate changes at 6, and does not progress in that time; h runs 5 us at a quarter, 8 to
 * 28; l is restored until 32 and has 8 left, which take 32 at a quarter.
 */
static void nothing_progresses_while_it_is_saved(void **state)
{
	static const double at_us[] = {6};
	struct sim_build b;
	struct cot_sim *sim;
	struct ends e;
	uint32_t i;

	(void)state;
	build_init(&b, "ppq", 2);
	(void)build_one(&b, "l", 0, 2, 10, 1, 4);
	build_one(&b, "h", 4, 2, 5, 1, 0)->priority = 1;
	build_clock(&b, at_us, 1);
	sim = create(&b, &e);
	for (i = 0; i < 2; i++)
		cot_sim_set_rate(sim, i, COT_RATE_ONE / 2);
	run_to(sim, 6 * US);
	for (i = 0; i < 2; i++)
		cot_sim_set_rate(sim, i, QUARTER);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	assert_int_equal(e.n, 2);
	assert_int_equal(e.ps[0], 28 * US);
	assert_int_equal(e.ps[1], 64 * US);
	cot_sim_destroy(sim);
}

/* A draining SM drains at its rate. */
static void draining_depends_on_the_rate(void **state)
{
	static const double at_us[] = {6};
	struct sim_build b;
	struct cot_sim *sim;
	struct ends e;
	uint32_t i;

	(void)state;
	build_init(&b, "ppq", 2);
	b.sc.preempt = COT_PREEMPT_DRAIN;
	(void)build_one(&b, "l", 0, 2, 10, 1, 4);
	build_one(&b, "h", 4, 2, 5, 1, 0)->priority = 1;
	build_clock(&b, at_us, 1);
	sim = create(&b, &e);
	run_to(sim, 6 * US);
	for (i = 0; i < 2; i++)
		cot_sim_set_rate(sim, i, QUARTER); /* 4 left: 6 + 16 = 22; h 22 + 20 = 42 */
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	assert_int_equal(e.ps[0], 22 * US);
	assert_int_equal(e.ps[1], 42 * US);
	cot_sim_destroy(sim);
}

#define N_CHANGES 40

/* One block under random rates; its end worked out here with exact integers. */
static void random_rates(uint64_t seed)
{
	uint64_t work_ps = 200 * US + seed, rate = FULL, want = 0, t = 0;
	double at_us[N_CHANGES];
	uint64_t rates[N_CHANGES];
	struct cot_rng rng = {seed};
	cot_u128 left = (cot_u128)work_ps << 32;
	struct sim_build b;
	struct cot_sim *sim;
	struct ends e;
	uint32_t i;

	for (i = 0; i < N_CHANGES; i++) {
		at_us[i] = (i ? at_us[i - 1] : 0.0) + 1.0 + (double)cot_rng_below(&rng, 9);
		rates[i] =
			cot_rng_below(&rng, 5) ? QUARTER + cot_rng_below(&rng, FULL - QUARTER) : 0;
	}
	rates[N_CHANGES - 1] = FULL;
	build_init(&b, "fcfs", 1);
	(void)build_one(&b, "a", 0, 1, 1, 1, 0);
	b.kernels[0][0].block_ps = work_ps;
	build_clock(&b, at_us, N_CHANGES);
	sim = create(&b, &e);
	for (i = 0; i < N_CHANGES; i++) {
		uint64_t until = cot_ps_from_us(at_us[i]);
		cot_u128 done = (cot_u128)(until - t) * rate;

		if (!want && done >= left)
			want = t + (uint64_t)((left + rate - 1) / rate);
		left -= done < left ? done : left;
		t = until;
		run_to(sim, until);
		rate = rates[i];
		cot_sim_set_rate(sim, 0, rate);
	}
	if (!want)
		want = t + (uint64_t)((left + rate - 1) / rate);
	assert_int_equal(cot_sim_run(sim, UINT64_MAX), COT_SIM_DONE);
	if (e.n != 1 || e.ps[0] != want)
		fail_msg("seed %llu: ends at %llu ps, want %llu ps", (unsigned long long)seed,
			 (unsigned long long)e.ps[0], (unsigned long long)want);
	cot_sim_destroy(sim);
}

static void random_rates_end_when_the_work_is_done(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 200; seed++)
		random_rates(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_is_the_integral_of_the_rate),
		cmocka_unit_test(every_sm_has_its_rate),
		cmocka_unit_test(faster_than_full_is_allowed),
		cmocka_unit_test(a_halted_gpu_stalls_and_goes_on),
		cmocka_unit_test(nothing_progresses_while_it_is_saved),
		cmocka_unit_test(draining_depends_on_the_rate),
		cmocka_unit_test(random_rates_end_when_the_work_is_done),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
