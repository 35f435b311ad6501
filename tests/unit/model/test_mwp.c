/* MWP and CWP: the published example, the three equations by hand, and what must hold for any
 * kernel. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "model/mwp.h"
#include "test.h"

#define PROPERTY_RUNS 20000

/* The example of Hong and Kim (ISCA 2009): 128 threads, 5 blocks per SM, 80 blocks on 16 SMs. */
static struct cot_model_gpu example_gpu(void)
{
	return (struct cot_model_gpu){.n_sms = 16,
				      .threads_per_sm = 768,
				      .blocks_per_sm = 8,
				      .regs_per_sm = 8192,
				      .shmem_per_sm = 16384,
				      .clock_ghz = 1,
				      .dram_gbps = 80,
				      .mem_latency = 420,
				      .uncoal_delay = 10,
				      .coal_delay = 4,
				      .issue = 4,
				      .pcie_gbps = 2,
				      .memory_bytes = 1e9};
}

static struct cot_model_kernel example_kernel(void)
{
	return (struct cot_model_kernel){.n_blocks = 80,
					 .threads_per_block = 128,
					 .regs_per_block = 1600,
					 .comp = 27,
					 .uncoal = 6,
					 .syncs = 6,
					 .transactions = 32,
					 .load_bytes = 128};
}

static void near(double found, double expected, double tolerance)
{
	if (!(fabs(found - expected) <= tolerance))
		fail_msg("%.12g, expected %.12g", found, expected);
}

static void test_published_example(void **state)
{
	struct cot_model_gpu gpu = example_gpu();
	struct cot_model_kernel k = example_kernel();
	struct cot_model_warp w;
	struct cot_model_time t;

	(void)state;
	cot_model_warp_of(&gpu, &k, &w);
	near(w.mem_latency, 730, 1e-9);
	near(w.departure, 320, 1e-9);
	near(w.comp_cycles, 132, 1e-9);
	near(w.mem_cycles, 4380, 1e-9);
	assert_int_equal(cot_model_time_alone(&gpu, &k, &t), 0);
	assert_int_equal(t.blocks_per_sm, 5);
	assert_int_equal(t.active_sms, 16);
	near(t.n_warps, 20, 0);
	near(t.n_rep, 1, 0);
	near(t.sm.mwp, 2.28125, 1e-12);
	near(t.sm.cwp, 20, 1e-12);
	assert_int_equal(t.sm.equation, 5);
	/* The paper rounds MWP to 2.28 and so prints 50738 for the sum. */
	near(t.sm.cycles, 38428.19, 0.005);
	near(t.sm.sync_cycles, 12300, 1e-6);
	near(t.cycles, 50728.19, 0.005);
	near(t.seconds, t.cycles * 1e-9, 1e-18);
}

/* 4 warps, 10 accesses of 400 cycles, 100 instructions of 1 cycle: all latency overlaps. */
static void test_equations_by_hand(void **state)
{
	struct cot_model_warp w = {.n_mem = 10,
				   .comp_cycles = 100,
				   .mem_cycles = 4000,
				   .mem_latency = 400,
				   .departure = 4,
				   .bw_gbps = 1};
	struct cot_model_mix mix;
	struct cot_model_sm_time t;
	uint32_t warps = 4;
	double blocks = 1;

	(void)state;
	cot_model_mix_of(&w, &warps, &blocks, 1, &mix);
	cot_model_sm_time(&mix, COT_MODEL_NO_PEAK, &t);
	assert_int_equal(t.equation, 4);
	near(t.cycles, 4000 + 100 + 10 * 3, 1e-9);
	/* Bandwidth for two accesses at a time. */
	cot_model_sm_time(&mix, 2, &t);
	assert_int_equal(t.equation, 5);
	near(t.mwp, 2, 1e-12);
	near(t.cycles, 4000.0 * 4 / 2 + 10 * 1, 1e-9);
	/* Less than one: an access takes longer, but one is always under way. */
	cot_model_sm_time(&mix, 0.5, &t);
	near(t.mwp, 1, 1e-12);
	/* 3000 cycles of computation in each warp: CWP = 7/3 < MWP = 4. */
	w.comp_cycles = 3000;
	cot_model_mix_of(&w, &warps, &blocks, 1, &mix);
	cot_model_sm_time(&mix, COT_MODEL_NO_PEAK, &t);
	assert_int_equal(t.equation, 6);
	near(t.cwp, 7000.0 / 3000, 1e-12);
	near(t.cycles, 400 + 3000 * 4, 1e-9);
	/* More computation than memory: as printed (5) would give 4000 + 1500 cycles, a fraction
	 * of the 20000 that the instructions take. */
	w.comp_cycles = 5000;
	cot_model_mix_of(&w, &warps, &blocks, 1, &mix);
	cot_model_sm_time(&mix, COT_MODEL_NO_PEAK, &t);
	assert_int_equal(t.equation, 6);
	near(t.cycles, 400 + 5000 * 4, 1e-9);
}

static void test_without_accesses(void **state)
{
	struct cot_model_gpu gpu = example_gpu();
	struct cot_model_kernel k = example_kernel();
	struct cot_model_time t;

	(void)state;
	k.uncoal = 0;
	k.syncs = 0;
	assert_int_equal(cot_model_time_alone(&gpu, &k, &t), 0);
	assert_int_equal(t.sm.equation, 0);
	near(t.cycles, 27 * 4 * 20, 1e-9);
}

static void test_occupancy_and_rounds(void **state)
{
	struct cot_model_gpu gpu = example_gpu();
	struct cot_model_kernel k = example_kernel();
	struct cot_model_time t;

	(void)state;
	assert_int_equal(cot_model_occupancy(&gpu, &k), 5); /* registers */
	k.regs_per_block = 0;
	assert_int_equal(cot_model_occupancy(&gpu, &k), 6); /* threads */
	k.threads_per_block = 33;
	assert_int_equal(cot_model_warps_per_block(&k), 2);
	assert_int_equal(cot_model_occupancy(&gpu, &k), 8); /* slots */
	k.shmem_per_block = 8193;
	assert_int_equal(cot_model_occupancy(&gpu, &k), 1);
	k.n_blocks = 17; /* one block on each of 16 SMs, and one more */
	assert_int_equal(cot_model_time_alone(&gpu, &k, &t), 0);
	assert_int_equal(t.blocks_per_sm, 1);
	near(t.n_rep, 2, 0);
	k.n_blocks = 3;
	assert_int_equal(cot_model_time_alone(&gpu, &k, &t), 0);
	assert_int_equal(t.active_sms, 3);
	near(t.n_rep, 1, 0);
	k.shmem_per_block = 16385;
	assert_int_equal(cot_model_time_alone(&gpu, &k, &t), -EINVAL);
}

/* Equation (8): all share one MWP_peak_BW. Kernels that need no bandwidth lose nothing. */
static void test_first_category(void **state)
{
	struct cot_model_gpu gpu = example_gpu();
	struct cot_model_kernel k[2] = {example_kernel(), example_kernel()};
	struct cot_model_time alone, beside[2];

	(void)state;
	k[0].n_blocks = 4;
	k[0].uncoal = 0;
	k[0].coal = 600;
	k[0].load_bytes = 1024;
	k[0].threads_per_block = 512;
	k[1] = k[0];
	k[1].n_blocks = 12;
	k[1].load_bytes = 512;
	assert_int_equal(cot_model_time_beside(&gpu, k, 2, beside), 0);
	near(beside[0].mwp_peak, 80 / (4 * 1024.0 / 420 + 12 * 512.0 / 420), 1e-12);
	assert_true(beside[0].mwp_peak == beside[1].mwp_peak);
	assert_int_equal(cot_model_time_alone(&gpu, &k[1], &alone), 0);
	assert_true(alone.seconds < beside[1].seconds);
	near(beside[1].sm.cwp, alone.sm.cwp, 0);
	assert_int_equal(cot_model_time_beside(&gpu, &k[1], 1, beside), 0);
	near(beside[0].seconds, alone.seconds, 0);
	/* More SMs than there are. */
	k[0].n_blocks = 5;
	assert_int_equal(cot_model_time_beside(&gpu, k, 2, beside), -ENOSPC);
	assert_int_equal(cot_model_time_beside(&gpu, k, 0, beside), -EINVAL);
}

static double pick(struct cot_rng *rng, double low, double high)
{
	return low + (high - low) * (double)cot_rng_below(rng, 1000001) / 1e6;
}

static struct cot_model_kernel random_kernel(struct cot_rng *rng)
{
	return (struct cot_model_kernel){
		.n_blocks = 1 + (uint32_t)cot_rng_below(rng, 400),
		.threads_per_block = 1 + (uint32_t)cot_rng_below(rng, 512),
		.comp = pick(rng, 0, 500),
		.uncoal = cot_rng_below(rng, 3) ? 0 : pick(rng, 0, 100),
		.coal = 1 + pick(rng, 0, 100),
		.transactions = pick(rng, 1, 32),
		.load_bytes = pick(rng, 4, 1024),
	};
}

/* No kernel is faster than its instructions can be issued, and more blocks never take fewer rounds.
 */
static void test_properties(void **state)
{
	struct cot_model_gpu gpu = example_gpu();
	struct cot_rng rng = {20};
	struct cot_model_time t, more;
	struct cot_model_kernel k;
	struct cot_model_warp w;
	int i;

	(void)state;
	for (i = 0; i < PROPERTY_RUNS; i++) {
		k = random_kernel(&rng);
		assert_int_equal(cot_model_time_alone(&gpu, &k, &t), 0);
		cot_model_warp_of(&gpu, &k, &w);
		assert_true(t.sm.mwp >= 1 && t.sm.mwp <= t.n_warps + 1e-9);
		assert_true(t.sm.cwp >= 1 && t.sm.cwp <= t.n_warps + 1e-9);
		assert_true(t.cycles < DBL_MAX && t.cycles > 0);
		if (t.sm.cycles < w.comp_cycles * t.n_warps * (1 - 1e-9))
			fail_msg("run %d (seed 20): %g cycles, issue alone takes %g", i,
				 t.sm.cycles, w.comp_cycles * t.n_warps);
		k.n_blocks += 400;
		assert_int_equal(cot_model_time_alone(&gpu, &k, &more), 0);
		assert_true(more.n_rep * more.blocks_per_sm >= t.n_rep * t.blocks_per_sm);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published_example),
		cmocka_unit_test(test_equations_by_hand),
		cmocka_unit_test(test_without_accesses),
		cmocka_unit_test(test_occupancy_and_rounds),
		cmocka_unit_test(test_first_category),
		cmocka_unit_test(test_properties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
