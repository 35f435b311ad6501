/* Power and energy: the virtual SM, the thermal term, and energy as the integral of power. */
#include <math.h>

#include "base/rng.h"
#include "model/power.h"
#include "test.h"

#define SEED   11
#define RUNS   2000
#define SLICES 2000

static void near(double found, double expected, double relative)
{
	if (!(fabs(found - expected) <= relative * fabs(expected)))
		fail_msg("%.15g, expected %.15g", found, expected);
}

static double pick(struct cot_rng *rng, double low, double high)
{
	return low + (high - low) * (double)cot_rng_below(rng, 1000001) / 1e6;
}

static void test_decay(void **state)
{
	double x;
	int i;

	(void)state;
	assert_true(cot_model_decay(0) == 1);
	for (i = 0; i < 200000; i++) {
		x = i * 0.0035;
		near(cot_model_decay(x), exp(-x), 4e-15);
	}
	near(cot_model_decay(1e-300), 1, 0);
	assert_true(cot_model_decay(800) == 0);
	assert_true(cot_model_decay((double)INFINITY) == 0);
}

/* 4 warps of 15 blocks; the accesses of 512 bytes are four transactions each. */
static void test_events_and_virtual_sm(void **state)
{
	struct cot_model_gpu gpu = {.n_sms = 30};
	struct cot_model_power power = {
		.idle_w = 200, .memory_w = 1000, .instruction_w = 500, .lambda_w = 40};
	struct cot_model_kernel k = {.n_blocks = 15,
				     .threads_per_block = 128,
				     .comp = 90,
				     .coal = 8,
				     .uncoal = 2,
				     .transactions = 16,
				     .load_bytes = 512};
	struct cot_model_events e;
	struct cot_model_draw d;

	(void)state;
	cot_model_events_of(&k, &e);
	near(e.transactions, 60 * (8 * 4 + 2 * 16), 0);
	near(e.instructions, 60 * 100, 0);
	k.load_bytes = 129;
	cot_model_events_of(&k, &e);
	near(e.transactions, 60 * (8 * 2 + 2 * 16), 0);
	/* 1000 cycles on 30 SMs, of which half are idle. */
	cot_model_draw_of(&gpu, &power, &e, 1000, &d);
	near(d.memory_rate, 60 * 48 / 30000.0, 1e-15);
	near(d.instruction_rate, 0.2, 1e-15);
	near(d.dynamic_w, 96 + 100 + 40, 1e-15);
	/* Other events, of which one saves. */
	k.extra[1] = 5, power.extra_w[1] = 300;
	k.extra[7] = 10, power.extra_w[7] = -20;
	cot_model_events_of(&k, &e);
	near(e.extra[1], 60 * 5, 0);
	cot_model_events_add(&e, &e);
	near(e.extra[7], 2 * 60 * 10, 0);
	cot_model_draw_of(&gpu, &power, &e, 2000, &d);
	near(d.extra_w, 3 - 0.4, 1e-14);
	power.lambda_w = -1000;
	cot_model_draw_of(&gpu, &power, &e, 2000, &d);
	near(d.dynamic_w, 0, 0);
}

/* The mean thermal power is the closed form of the patent's RC model. */
static void test_thermal(void **state)
{
	struct cot_model_power power = {.idle_w = 100, .thermal_gain = 0.1, .tau_s = 20};

	(void)state;
	near(cot_model_power_at(&power, 200, 0), 300, 1e-15);
	near(cot_model_power_at(&power, 200, 20), 300 + 20 * (1 - exp(-1)), 1e-14);
	near(cot_model_power_at(&power, 200, 1e6), 320, 1e-15);
	near(cot_model_thermal_w(&power, 200, 40), 20 * (1 - 0.5 * (1 - exp(-2))), 1e-14);
	/* Short runs: t / 2 tau of the steady value. */
	near(cot_model_thermal_w(&power, 200, 1e-6), 20 * 1e-6 / 40, 1e-7);
	near(cot_model_thermal_w(&power, 200, 1e12), 20, 1e-9);
	power.thermal_gain = 0;
	power.tau_s = 0;
	assert_true(cot_model_thermal_w(&power, 200, 10) == 0);
	near(cot_model_energy_j(&power, 200, 10), 3000, 1e-15);
}

/* Energy equals the integral of the power over the run (Simpson's rule). */
static void test_energy_is_integral_of_power(void **state)
{
	struct cot_rng rng = {SEED};
	struct cot_model_power power;
	double dynamic_w, seconds, h, sum;
	int run, i;

	(void)state;
	for (run = 0; run < RUNS; run++) {
		power = (struct cot_model_power){.idle_w = pick(&rng, 0, 400),
						 .thermal_gain = pick(&rng, 0, 2),
						 .tau_s = pick(&rng, 0.5, 300)};
		dynamic_w = pick(&rng, 1, 800);
		seconds = pick(&rng, 1e-3, 40) * power.tau_s;
		h = seconds / SLICES;
		sum = cot_model_power_at(&power, dynamic_w, 0) +
		      cot_model_power_at(&power, dynamic_w, seconds);
		for (i = 1; i < SLICES; i++)
			sum += (i % 2 ? 4 : 2) * cot_model_power_at(&power, dynamic_w, i * h);
		if (fabs(sum * h / 3 / cot_model_energy_j(&power, dynamic_w, seconds) - 1) > 1e-8)
			fail_msg("run %d (seed %d): %.15g J, integral %.15g J", run, SEED,
				 cot_model_energy_j(&power, dynamic_w, seconds), sum * h / 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decay),
		cmocka_unit_test(test_events_and_virtual_sm),
		cmocka_unit_test(test_thermal),
		cmocka_unit_test(test_energy_is_integral_of_power),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
