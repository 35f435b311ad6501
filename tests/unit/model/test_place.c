/* Blocks of several kernels on SMs: where they go, when they end, and that none is lost. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "model/place.h"
#include "test.h"

#define PROPERTY_RUNS 3000
#define SAME_BITS     0x13f83f4144800df5ull /* of test_same_bits */

static const struct cot_model_gpu c1060 = {.n_sms = 30,
					   .threads_per_sm = 1024,
					   .blocks_per_sm = 8,
					   .regs_per_sm = 16384,
					   .shmem_per_sm = 16384,
					   .clock_ghz = 1.296,
					   .dram_gbps = 102,
					   .mem_latency = 450,
					   .uncoal_delay = 40,
					   .coal_delay = 4,
					   .issue = 4,
					   .pcie_gbps = 5,
					   .memory_bytes = 4e9};

static const struct cot_model_options merged;
static const struct cot_model_options concurrent = {.concurrent = true};
static const struct cot_model_options piecewise = {.piecewise = true};

static struct cot_model_kernel kernel(uint32_t blocks, double comp, double coal)
{
	return (struct cot_model_kernel){.n_blocks = blocks,
					 .threads_per_block = 128,
					 .comp = comp,
					 .coal = coal,
					 .transactions = 1,
					 .load_bytes = 128};
}

static void near(double found, double expected, double relative)
{
	if (!(fabs(found - expected) <= relative * fabs(expected)))
		fail_msg("%.12g, expected %.12g", found, expected);
}

static void run(const struct cot_model_kernel *k, uint32_t n, const struct cot_model_options *o,
		struct cot_model_set *ret)
{
	assert_int_equal(cot_model_set_time(&c1060, k, n, o, ret), 0);
}

/* Each kernel on SMs of its own: the second category is then the first. */
static void test_is_first_category_on_own_sms(void **state)
{
	struct cot_model_kernel k[2] = {kernel(10, 3e6, 2e6), kernel(20, 2e6, 4e6)};
	struct cot_model_time beside[2];
	struct cot_model_set set;

	(void)state;
	k[0].load_bytes = 1024;
	k[0].threads_per_block = k[1].threads_per_block = 512;
	assert_int_equal(cot_model_time_beside(&c1060, k, 2, beside), 0);
	run(k, 2, &merged, &set);
	near(set.mwp_peak, beside[0].mwp_peak, 1e-12);
	near(set.end_cycles[0], beside[0].cycles, 1e-9);
	near(set.end_cycles[1], beside[1].cycles, 1e-9);
	near(set.cycles, fmax(beside[0].cycles, beside[1].cycles), 1e-9);
	assert_int_equal(set.n_sms, 2);
	assert_int_equal(set.sms[1].first, 10);
}

/* Alone, a set of one is what the equations say, if all blocks are there at once. */
static void test_one_kernel(void **state)
{
	struct cot_model_kernel k = kernel(60, 1e6, 1e5);
	struct cot_model_time t;
	struct cot_model_set set;

	(void)state;
	assert_int_equal(cot_model_time_alone(&c1060, &k, &t), 0);
	run(&k, 1, &merged, &set);
	near(set.cycles, t.cycles, 1e-9);
	assert_int_equal(set.n_sms, 1);
	near(set.sms[0].blocks[0], 2, 0);
}

/* 15 and 45 blocks go to 30 SMs in turn: 1 + 1 on the first half, 2 of the second on the rest. */
static void test_round_robin(void **state)
{
	struct cot_model_kernel k[2] = {kernel(15, 1e6, 0), kernel(45, 4e6, 0)};
	struct cot_model_set set;

	(void)state;
	run(k, 2, &merged, &set);
	assert_int_equal(set.n_sms, 2);
	assert_int_equal(set.sms[0].n, 15);
	near(set.sms[0].blocks[0], 1, 0);
	near(set.sms[0].blocks[1], 1, 0);
	assert_int_equal(set.sms[1].n, 15);
	near(set.sms[1].blocks[1], 2, 0);
	assert_int_equal(set.critical, 1);
	/* Issue alone counts: 4 cycles for each instruction of 4 warps, blocks side by side. */
	near(set.end_cycles[0], 2 * 4 * 4 * 1e6, 1e-9);
	near(set.sms[0].end_cycles, 4 * 4 * (1e6 + 4e6), 1e-9);
	near(set.cycles, 2 * 4 * 4 * 4e6, 1e-9);
}

/* Room for one block of the merged kernel: the rest waits, and goes to the SM that ends first. */
static void test_waiting_blocks(void **state)
{
	struct cot_model_kernel k[2] = {kernel(15, 1e6, 0), kernel(45, 4e6, 0)};
	struct cot_model_set set;
	double block = 4 * 4 * 4e6;

	(void)state;
	k[0].shmem_per_block = 10000;
	k[1].shmem_per_block = 1000;
	run(k, 2, &merged, &set);
	near(set.cycles, 2 * block, 1e-9);
	near(set.sms[0].end_cycles, 0.25 * block + block, 1e-9);
	near(set.sms[0].blocks[1], 1, 0);
	near(set.sms[1].blocks[1], 2, 0);
	/* Launched apart, a block of each fits beside the other: the first half takes both. */
	run(k, 2, &concurrent, &set);
	near(set.sms[0].blocks[1], 1, 0);
	near(set.end_cycles[0], 0.5 * block, 1e-9);
	near(set.sms[0].end_cycles, 1.25 * block, 1e-9);
}

static void test_errors(void **state)
{
	struct cot_model_kernel k[2] = {kernel(15, 1, 0), kernel(45, 1, 0)};
	struct cot_model_set set;

	(void)state;
	/* 64 registers a thread and 512 threads: each fits alone, both merged do not. */
	k[0].regs_per_block = 128 * 64;
	k[1].threads_per_block = 512;
	assert_int_equal(cot_model_set_time(&c1060, k, 2, &merged, &set), -EINVAL);
	assert_int_equal(cot_model_set_time(&c1060, k, 2, &concurrent, &set), 0);
	k[1].threads_per_block = 256;
	assert_int_equal(cot_model_set_time(&c1060, k, 2, &merged, &set), 0);
	k[1].shmem_per_block = 16385;
	assert_int_equal(cot_model_set_time(&c1060, k, 2, &concurrent, &set), -EINVAL);
	assert_int_equal(cot_model_set_time(&c1060, k, 1, &merged, &set), 0);
	assert_int_equal(cot_model_set_time(&c1060, k, 0, &merged, &set), -EINVAL);
	assert_int_equal(cot_model_set_time(&c1060, k, COT_MODEL_SET_MAX + 1, &merged, &set),
			 -EINVAL);
}

/* The bandwidth that a short kernel took is free again: never slower than the printed reading. */
static void test_piecewise(void **state)
{
	struct cot_model_kernel k[2] = {kernel(15, 1e6, 1e6), kernel(45, 1e6, 9e6)};
	struct cot_model_set printed, better;

	(void)state;
	k[0].load_bytes = 1024;
	run(k, 2, &merged, &printed);
	run(k, 2, &piecewise, &better);
	assert_true(better.cycles < 0.9 * printed.cycles);
}

/* The printed reading: all blocks of an SM run as one big block. */
static void test_layout(void **state)
{
	struct cot_model_kernel k[2] = {kernel(15, 1e6, 0), kernel(45, 4e6, 0)};
	struct cot_model_sms layout[3] = {{.n = 15, .blocks = {1, 2}},
					  {.first = 15, .n = 14, .blocks = {0, 1}},
					  {.first = 29, .n = 1}};
	struct cot_model_gpu slow = c1060;
	double beside;

	(void)state;
	near(cot_model_layout_cycles(&c1060, k, 2, layout, 3), 4 * 4 * (1e6 + 2 * 4e6), 1e-12);
	near(layout[1].end_cycles, 4 * 4 * 4e6, 1e-12);
	assert_true(layout[2].end_cycles == 0);
	/* SMs with a single warp take of the bandwidth like others. */
	k[0] = kernel(1, 0, 1e6);
	k[0].threads_per_block = 32;
	k[1] = kernel(1, 0, 1e6);
	slow.dram_gbps = 10;
	layout[0] = (struct cot_model_sms){.n = 29, .blocks = {1, 0}};
	layout[1] = (struct cot_model_sms){.first = 29, .n = 1, .blocks = {0, 1}};
	(void)cot_model_layout_cycles(&slow, k, 2, layout, 2);
	beside = layout[1].end_cycles;
	layout[0].n = 1;
	(void)cot_model_layout_cycles(&slow, k, 2, layout, 2);
	assert_true(beside > 1.01 * layout[1].end_cycles);
}

static struct cot_model_kernel random_kernel(struct cot_rng *rng)
{
	struct cot_model_kernel k = kernel(1 + (uint32_t)cot_rng_below(rng, 3000), 0, 0);

	k.comp = (double)cot_rng_below(rng, 100000);
	k.coal = (double)cot_rng_below(rng, 10000) + 1;
	k.threads_per_block = 1 + (uint32_t)cot_rng_below(rng, 512);
	k.regs_per_block = (uint32_t)cot_rng_below(rng, 16385);
	k.shmem_per_block = (uint32_t)cot_rng_below(rng, 16385);
	k.uncoal = cot_rng_below(rng, 2) ? 0 : (double)cot_rng_below(rng, 1000);
	k.transactions = 1 + (double)cot_rng_below(rng, 32);
	k.load_bytes = 1 + (double)cot_rng_below(rng, 1024);
	k.syncs = cot_rng_below(rng, 2) ? 0 : (double)cot_rng_below(rng, 100);
	return k;
}

/* Every block runs once, on some SM; the set ends with its last kernel on its critical SM. */
static void test_properties(void **state)
{
	struct cot_model_kernel k[COT_MODEL_SET_MAX];
	struct cot_rng rng = {7};
	struct cot_model_set set;
	uint32_t n, i, g, sms, played = 0;
	double ran, last;
	int round;

	(void)state;
	for (round = 0; round < PROPERTY_RUNS; round++) {
		struct cot_model_options o = {.concurrent = cot_rng_below(&rng, 2),
					      .piecewise = cot_rng_below(&rng, 2)};

		n = 1 + (uint32_t)cot_rng_below(&rng, COT_MODEL_SET_MAX);
		for (i = 0; i < n; i++)
			k[i] = random_kernel(&rng);
		if (cot_model_set_time(&c1060, k, n, &o, &set)) {
			assert_false(o.concurrent);
			continue;
		}
		played++;
		last = 0;
		for (i = 0; i < n; i++) {
			ran = 0;
			for (g = 0; g < set.n_sms; g++)
				ran += set.sms[g].n * set.sms[g].blocks[i];
			near(ran, k[i].n_blocks, 1e-9);
			assert_true(set.end_cycles[i] > 0);
			last = fmax(last, set.end_cycles[i]);
		}
		sms = 0;
		for (g = 0; g < set.n_sms; g++) {
			assert_int_equal(set.sms[g].first, sms);
			sms += set.sms[g].n;
			assert_true(set.sms[g].end_cycles <= set.cycles);
		}
		assert_int_equal(sms, c1060.n_sms);
		assert_true(set.sms[set.critical].end_cycles == set.cycles);
		near(last, set.cycles, 1e-12);
	}
	assert_true(played > PROPERTY_RUNS / 2);
}

/* Two grids of the same kernel are one grid of all their blocks: cuts, waiting and skipped rounds
 * must not show. */
static void test_two_halves(void **state)
{
	struct cot_model_kernel k[2], whole;
	struct cot_model_set halves, one;
	struct cot_rng rng = {13};
	int round;

	(void)state;
	for (round = 0; round < PROPERTY_RUNS; round++) {
		struct cot_model_options o = {.concurrent = cot_rng_below(&rng, 2),
					      .piecewise = cot_rng_below(&rng, 2)};

		whole = random_kernel(&rng);
		k[0] = k[1] = whole;
		k[0].n_blocks = (uint32_t)cot_rng_below(&rng, whole.n_blocks) + 1;
		whole.n_blocks = k[0].n_blocks + k[1].n_blocks;
		if (cot_model_set_time(&c1060, &whole, 1, &o, &one) ||
		    cot_model_set_time(&c1060, k, 2, &o, &halves))
			continue;
		near(halves.cycles, one.cycles, 1e-6);
	}
}

/* A grid of a hundred million blocks costs as little as one of some rounds, and lasts as long as
 * its rounds. */
static void test_large_grid(void **state)
{
	struct cot_model_kernel k[2] = {kernel(100000007, 1000, 10), kernel(30, 1000, 0)};
	struct cot_model_time t;
	struct cot_model_set set;

	(void)state;
	assert_int_equal(cot_model_time_alone(&c1060, k, &t), 0);
	run(k, 1, &merged, &set);
	near(set.cycles, t.cycles, 1e-6);
	near(set.sms[0].n * set.sms[0].blocks[0] + set.sms[1].n * set.sms[1].blocks[0], 100000007,
	     0);
	/* Short blocks beside one round of long ones: too many ends to look at each. */
	k[0] = kernel(30, 1e9, 0);
	k[1] = kernel(10000000, 1000, 0);
	k[0].threads_per_block = 512;
	run(k, 2, &merged, &set);
	near(set.cycles, 4 * (16 * 1e9 + 4 * 1000 * 1e7 / 30), 0.02);
}

static uint64_t hash_of(const struct cot_model_set *set, uint32_t n, uint64_t h)
{
	double values[3 + COT_MODEL_SET_MAX];
	uint64_t bits;
	uint32_t i, j;

	values[0] = set->cycles;
	values[1] = set->mwp_peak;
	values[2] = set->critical;
	memcpy(values + 3, set->end_cycles, n * sizeof(*values));
	for (i = 0; i <= set->n_sms; i++) {
		for (j = 0; j < (i ? n : 3 + n); j++) {
			memcpy(&bits, i ? &set->sms[i - 1].blocks[j] : &values[j], sizeof(bits));
			h = cot_hash64(h, bits);
		}
	}
	return h;
}

/*
 * The same bits with every compiler, and as before blocks were handed out many at a time and rates
 * were kept while nothing changes.
 */
static void test_same_bits(void **state)
{
	struct cot_model_kernel k[4];
	struct cot_rng rng = {17};
	struct cot_model_set set;
	uint64_t h = 0;
	uint32_t n, i;
	int round;

	(void)state;
	for (round = 0; round < PROPERTY_RUNS; round++) {
		struct cot_model_options o = {.concurrent = round % 2, .piecewise = round / 2 % 2};

		n = 1 + (uint32_t)cot_rng_below(&rng, 4);
		for (i = 0; i < n; i++)
			k[i] = random_kernel(&rng);
		if (!cot_model_set_time(&c1060, k, n, &o, &set))
			h = hash_of(&set, n, h);
	}
	if (h != SAME_BITS)
		fail_msg("the hash of all results is %#llx", (unsigned long long)h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_first_category_on_own_sms),
		cmocka_unit_test(test_one_kernel),
		cmocka_unit_test(test_round_robin),
		cmocka_unit_test(test_waiting_blocks),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_piecewise),
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_two_halves),
		cmocka_unit_test(test_large_grid),
		cmocka_unit_test(test_same_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
