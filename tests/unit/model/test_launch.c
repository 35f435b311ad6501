/* What launches cost, and kernels whose time alone was measured. */
#include <errno.h>
#include <math.h>

#include "model/consolidate.h"
#include "model/launch.h"
#include "test.h"

#define US 1e-6

/* 10 SMs of 1 GHz that issue one instruction a cycle; a block fills one. */
static const struct cot_model_machine machine = {
	.gpu = {.n_sms = 10,
		.threads_per_sm = 1024,
		.blocks_per_sm = 1,
		.regs_per_sm = 65536,
		.shmem_per_sm = 65536,
		.clock_ghz = 1,
		.dram_gbps = 1000,
		.mem_latency = 500,
		.issue = 1,
		.pcie_gbps = 10,
		.memory_bytes = 1e9,
		.launch =
			{.call_s = 4 * US, .end_s = 3 * US, .end_beside_s = US, .instance_s = US}},
	.power = {.idle_w = 100, .instruction_w = 10},
};

/* 32 warps of so many instructions on each of `blocks` SMs: 32 ns an instruction. */
static struct cot_model_kernel kernel(uint32_t blocks, double instructions)
{
	return (struct cot_model_kernel){.n_blocks = blocks,
					 .threads_per_block = 1024,
					 .comp = instructions,
					 .transactions = 32,
					 .load_bytes = 128,
					 .launches = 1};
}

static void near(double found, double expected)
{
	if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
		fail_msg("%.12g, expected %.12g", found, expected);
}

static struct cot_model_verdict judge(bool concurrent, const struct cot_model_kernel *k,
				      uint32_t copies)
{
	struct cot_model_machine m = machine;
	struct cot_model_verdict v;

	m.options.concurrent = concurrent;
	assert_int_equal(cot_model_judge(&m, k, &copies, 1, &v), 0);
	return v;
}

/* Three kernels of 32 us on two SMs each: the GPU is the longest. */
static void test_long_kernels(void **state)
{
	struct cot_model_kernel k = kernel(2, 1000);

	(void)state;
	near(judge(true, &k, 3).apart_s, (4 + 3 * 32 + 3) * US);
	near(judge(true, &k, 3).together.seconds, (3 * 4 + 32 + 1) * US);
	near(judge(false, &k, 3).together.seconds, (4 + 3 * 1 + 32 + 3) * US);
}

/* Three of 1.6 us: the thread that launches is. */
static void test_short_kernels(void **state)
{
	struct cot_model_kernel k = kernel(2, 50);

	(void)state;
	near(judge(true, &k, 3).apart_s, (3 * 4 + 1.6 + 3) * US);
	near(judge(true, &k, 3).together.seconds, (3 * 4 + 1.6 + 1) * US);
	near(judge(false, &k, 3).together.seconds, (4 + 3 * 1 + 1.6 + 3) * US);
	/* Merged they wait for one call instead of nine, and the GPU is idle for a shorter time. */
	assert_true(judge(false, &k, 9).consolidate);
	near(judge(false, &k, 9).apart_j - judge(false, &k, 9).together.energy_j,
	     100 * (judge(false, &k, 9).apart_s - judge(false, &k, 9).together.seconds));
}

/* A kernel of five launches, in each of which it waits for the thread. */
static void test_several_launches(void **state)
{
	struct cot_model_kernel k = kernel(2, 50);

	(void)state;
	k.launches = 5;
	near(judge(true, &k, 2).apart_s, (2 * 5 * 4 + 1.6 / 5 + 3) * US);
	near(judge(true, &k, 2).together.seconds, (2 * 5 * 4 + 1.6 / 5 + 1) * US);
	near(judge(false, &k, 2).together.seconds, (5 * (4 + 2 * 1) + 3) * US);
}

/* The thread takes longer for a kernel that says so. */
static void test_call_of_a_kernel(void **state)
{
	struct cot_model_kernel k = kernel(2, 50);

	(void)state;
	k.call_s = 6 * US;
	near(judge(true, &k, 3).apart_s, (3 * 6 + 1.6 + 3) * US);
	near(judge(true, &k, 3).together.seconds, (3 * 6 + 1.6 + 1) * US);
	near(judge(false, &k, 3).together.seconds, (6 + 3 * 1 + 1.6 + 3) * US);
}

static double alone_s(const struct cot_model_kernel *k)
{
	struct cot_model_cost cost;

	assert_int_equal(cot_model_cost_of(&machine, k, NULL, 1, &cost), 0);
	return cost.seconds;
}

/* Whatever was measured, that is what the model says of the kernel alone. */
static void test_measured_alone(void **state)
{
	const double measured_us[] = {8, 9, 27, 31, 500};
	const uint32_t launches[] = {1, 1, 5, 5, 7};
	struct cot_model_kernel k;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(launches) / sizeof(launches[0]); i++) {
		k = kernel(2, 1000);
		k.launches = launches[i];
		k.alone_s = measured_us[i] * US;
		assert_int_equal(cot_model_calibrate(&machine.gpu, &k), 0);
		near(alone_s(&k), measured_us[i] * US);
	}
	/* The set takes as many times longer. */
	k = kernel(2, 1000);
	k.alone_s = (4 + 64 + 3) * US;
	assert_int_equal(cot_model_calibrate(&machine.gpu, &k), 0);
	near(k.factor, 2);
	near(judge(false, &k, 6).together.exec_s, 2 * 64 * US);
}

/* What a kernel takes longer than the equations say is time that other blocks on its SM have. */
static void test_hidden(void **state)
{
	struct cot_model_machine m = machine;
	struct cot_model_options options = {.concurrent = true};
	struct cot_model_kernel k = kernel(10, 1000);
	struct cot_model_set set;
	unsigned i;

	(void)state;
	m.gpu.blocks_per_sm = 4;
	k.threads_per_block = 256; /* 8 warps: 8 us */
	k.alone_s = (4 + 32 + 3) * US;
	assert_int_equal(cot_model_calibrate(&m.gpu, &k), 0);
	near(k.factor, 4);
	for (i = 1; i <= 4; i++) {
		k.n_blocks = 10 * i;
		assert_int_equal(cot_model_set_time(&m.gpu, &k, 1, &options, &set), 0);
		near(set.seconds, 8 * US * sqrt(15 + i * i));
	}
	/* In the last round of 45 blocks SMs are not full. */
	k.n_blocks = 45;
	k.alone_s = (4 + 160 + 3) * US;
	assert_int_equal(cot_model_calibrate(&m.gpu, &k), 0);
	assert_int_equal(cot_model_set_time(&m.gpu, &k, 1, &options, &set), 0);
	near(set.seconds, 160 * US);
	/* One that takes less than the equations say has nothing to give. */
	k.n_blocks = 10;
	k.alone_s = (4 + 4 + 3) * US;
	assert_int_equal(cot_model_calibrate(&m.gpu, &k), 0);
	k.n_blocks = 20;
	assert_int_equal(cot_model_set_time(&m.gpu, &k, 1, &options, &set), 0);
	near(set.seconds, 2 * 4 * US);
}

static struct cot_model_verdict judge_by(const struct cot_model_launch *l, bool concurrent,
					 const struct cot_model_kernel *k, const uint32_t *copies,
					 uint32_t n)
{
	struct cot_model_machine m = machine;
	struct cot_model_verdict v;

	m.gpu.launch = *l;
	m.options.concurrent = concurrent;
	assert_int_equal(cot_model_judge(&m, k, copies, n, &v), 0);
	return v;
}

/* A kernel begins a while after the one before it in its stream; beside others there is none
 * before. */
static void test_gap(void **state)
{
	struct cot_model_launch l = machine.gpu.launch;
	struct cot_model_kernel k = kernel(2, 1000), small = kernel(2, 50);
	const uint32_t three = 3;

	(void)state;
	l.gap_s = 2 * US;
	near(judge_by(&l, true, &k, &three, 1).apart_s, (4 + 3 * 32 + 2 * 2 + 3) * US);
	near(judge_by(&l, true, &k, &three, 1).together.seconds, (3 * 4 + 32 + 1) * US);
	near(judge_by(&l, false, &k, &three, 1).together.seconds, (4 + 3 * 1 + 32 + 3) * US);
	/* The next launch is made later than that. */
	near(judge_by(&l, true, &small, &three, 1).apart_s, (3 * 4 + 1.6 + 3) * US);
}

/* The same work takes the same joules; blocks of a merged launch look for whose they are. */
static void test_measured_energy(void **state)
{
	struct cot_model_launch l = machine.gpu.launch;
	struct cot_model_kernel k[2] = {kernel(2, 1000), kernel(3, 1000)};
	struct cot_model_verdict v;
	const uint32_t copies = 3;
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		k[i].alone_s = (4 + 32 + 3) * US;
		k[i].alone_j = 100 * k[i].alone_s + 0.001 * (i + 1);
	}
	v = judge_by(&l, true, k, &copies, 1);
	near(v.apart_j, 100 * v.apart_s + 3 * 0.001);
	near(v.together.energy_j, 100 * v.together.seconds + 3 * 0.001);
	near(v.together.power_w, 100 + 3 * 0.001 / v.together.exec_s);
	l.block_s = 0.5 * US;
	l.block_j = 1e-4;
	v = judge_by(&l, false, k, &copies, 1);
	near(v.together.seconds, (4 + 3 * 1 + 32 + 6 * 0.5 + 3) * US);
	near(v.together.energy_j, 100 * v.together.seconds + 3 * 0.001 + 6 * 1e-4);
	near(v.apart_j, 100 * v.apart_s + 3 * 0.001);
	assert_true(v.time_ok && v.energy_ok);
	/* Hidden behind what others wait for, from some number of blocks on. */
	l.blocks_most_s = 2 * US;
	v = judge_by(&l, false, k, &copies, 1);
	near(v.together.seconds, (4 + 3 * 1 + 32 + 2 + 3) * US);
	near(v.together.energy_j, 100 * v.together.seconds + 3 * 0.001 + 6 * 1e-4);
	l.blocks_most_s = 0;
	/* Of two kernels nothing is searched for. */
	v = judge_by(&l, false, k, NULL, 2);
	near(v.together.seconds, (4 + 2 * 1 + 32 + 3) * US);
	near(v.together.energy_j, 100 * v.together.seconds + 0.003 + 5 * 1e-4);
	/* Dear blocks: shorter, and yet no gain. */
	l.block_j = 1e-3;
	v = judge_by(&l, false, k, &copies, 1);
	assert_true(v.time_ok && !v.energy_ok && !v.consolidate);
	/* One that was not measured: the power model says both. */
	k[1].alone_j = 0;
	v = judge_by(&l, false, k, NULL, 2);
	near(v.together.energy_j,
	     100 * v.together.seconds + v.together.draw.dynamic_w * v.together.exec_s);
}

/* Streams whose ends are waited for one after the other. */
static void test_each_stream_is_waited_for(void **state)
{
	struct cot_model_launch l = machine.gpu.launch;
	struct cot_model_kernel k = kernel(2, 50);
	const uint32_t copies = 3;

	(void)state;
	l.end_stream_s = 2 * US;
	near(judge_by(&l, true, &k, &copies, 1).together.seconds, (3 * 4 + 1.6 + 1 + 2 * 2) * US);
	near(judge_by(&l, true, &k, &copies, 1).apart_s, (3 * 4 + 1.6 + 3) * US);
	near(judge_by(&l, false, &k, &copies, 1).together.seconds, (4 + 3 * 1 + 1.6 + 3) * US);
}

static void test_limits(void **state)
{
	struct cot_model_kernel k = kernel(2, 1000);

	(void)state;
	assert_int_equal(cot_model_calibrate(&machine.gpu, &k), 0);
	near(k.factor, 1);
	/* Less than what a launch costs: hardly anything, but something. */
	k.alone_s = US;
	assert_int_equal(cot_model_calibrate(&machine.gpu, &k), 0);
	assert_true(k.factor > 0 && k.factor < 0.01);
	k.threads_per_block = 2048;
	assert_int_equal(cot_model_calibrate(&machine.gpu, &k), -EINVAL);
}

/* Where a kernel goes to the CPU, the GPU's launches are not what it saves. */
static void test_cpu_is_less(void **state)
{
	struct cot_model_kernel k = kernel(2, 50);
	struct cot_model_verdict v;

	(void)state;
	k.cpu_s = 2 * US;
	k.cpu_w = 100;
	v = judge(false, &k, 3);
	near(v.least_j, 3 * 2 * US * 100);
	assert_true(v.time_ok && v.energy_ok && !v.consolidate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_kernels),
		cmocka_unit_test(test_short_kernels),
		cmocka_unit_test(test_several_launches),
		cmocka_unit_test(test_call_of_a_kernel),
		cmocka_unit_test(test_measured_alone),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_measured_energy),
		cmocka_unit_test(test_each_stream_is_waited_for),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_cpu_is_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
