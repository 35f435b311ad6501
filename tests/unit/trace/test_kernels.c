/* The reader of kernels for the models: defaults, every key, and the sentence for every mistake. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "test.h"
#include "trace/kernels.h"

#define HEAD "schema: cotenant.kernels/1\n"
#define K    "{name: a, blocks: 3, threads_per_block: 64, comp: 10}"

static struct cot_kernels parse(const char *text)
{
	struct cot_kernels k;
	struct cot_error err = {""};

	memset(&k, 0xa5, sizeof(k));
	if (cot_kernels_parse("k.yaml", text, strlen(text), &k, &err))
		fail_msg("%s", err.text);
	return k;
}

static void test_defaults(void **state)
{
	struct cot_kernels k = parse(HEAD "kernels: [" K "]\n");

	(void)state;
	assert_string_equal(k.gpu_name, "c1060");
	assert_int_equal(k.gpu.n_sms, 30);
	assert_false(k.has_power);
	assert_int_equal(k.n, 1);
	assert_int_equal(k.n_layout, 0);
	assert_string_equal(k.names[0], "a");
	assert_int_equal(k.kernels[0].n_blocks, 3);
	assert_int_equal(k.pending[0], 1);
	assert_true(k.kernels[0].transactions == 32 && k.kernels[0].load_bytes == 128);
	assert_true(k.kernels[0].coal == 0 && k.kernels[0].memory_bytes == 0);
}

static void test_every_key(void **state)
{
	struct cot_kernels k = parse(
		HEAD
		"gpu: {preset: h200, sms: 4, clock_mhz: 1000, threads_per_sm: 512,\n"
		"  blocks_per_sm: 8, regs_per_sm: 1000, shmem_per_sm: 2000, dram_gbps: 100.5,\n"
		"  pcie_gbps: 2.5, memory_gb: 1.5, mem_latency_cycles: 300,\n"
		"  uncoalesced_delay_cycles: 3, coalesced_delay_cycles: 2, issue_cycles: 0.5}\n"
		"launch: {call_us: 5, end_us: 3, end_beside_us: 1, instance_us: 2, gap_us: 7,\n"
		"  end_stream_us: 10, block_ns: 8, blocks_most_us: 11, block_nj: 9}\n"
		"power: {idle_w: 100, lambda_w: 20, memory_w: 500, instruction_w: 60.5,\n"
		"  thermal_gain: 0.1, thermal_tau_s: 30,\n"
		"  events: [{name: fp64, w: 170}, {name: shared, w: -4}]}\n"
		"kernels:\n"
		"  - {name: a, blocks: 4, threads_per_block: 64, regs_per_block: 640,\n"
		"     shmem_per_block: 128, comp: 1e6, uncoalesced: 5, coalesced: 6, syncs: 2,\n"
		"     transactions: 4.5, load_bytes: 64, h2d_bytes: 1e9, d2h_bytes: 10,\n"
		"     memory_bytes: 1e8, cpu_s: 3, cpu_w: 200, count: 12,\n"
		"     alone_us: 50, alone_j: 0.25, launches: 3, call_us: 4,\n"
		"     events: [{name: shared, count: 7}]}\n"
		"layout: [{sms: 1, blocks_each: [2.5]}, {sms: 3, blocks_each: [0.5]}]\n");
	const struct cot_model_kernel *e = &k.kernels[0];

	(void)state;
	assert_string_equal(k.gpu_name, "custom");
	assert_int_equal(k.gpu.n_sms, 4);
	assert_true(k.gpu.clock_ghz == 1);
	assert_int_equal(k.gpu.shmem_per_sm, 2000);
	assert_true(k.gpu.dram_gbps == 100.5 && k.gpu.memory_bytes == 1.5e9);
	assert_true(k.gpu.mem_latency == 300 && k.gpu.issue == 0.5);
	assert_true(k.has_power && k.power.instruction_w == 60.5);
	assert_true(k.power.thermal_gain == 0.1 && k.power.tau_s == 30);
	assert_true(e->comp == 1e6 && e->uncoal == 5 && e->coal == 6 && e->syncs == 2);
	assert_true(e->transactions == 4.5 && e->load_bytes == 64 && e->transfer_bytes == 1e9 + 10);
	assert_true(e->cpu_s == 3 && e->cpu_w == 200);
	assert_true(fabs(k.gpu.launch.call_s - 5e-6) < 1e-12 &&
		    fabs(k.gpu.launch.end_s - 3e-6) < 1e-12);
	assert_true(fabs(k.gpu.launch.end_beside_s - 1e-6) < 1e-12);
	assert_true(fabs(k.gpu.launch.instance_s - 2e-6) < 1e-12);
	assert_true(fabs(k.gpu.launch.end_stream_s - 1e-5) < 1e-12 &&
		    fabs(k.gpu.launch.blocks_most_s - 1.1e-5) < 1e-12);
	assert_true(fabs(e->alone_s - 5e-5) < 1e-12 && fabs(e->call_s - 4e-6) < 1e-12);
	assert_true(fabs(k.gpu.launch.gap_s - 7e-6) < 1e-12);
	assert_true(fabs(k.gpu.launch.block_s - 8e-9) < 1e-15 &&
		    fabs(k.gpu.launch.block_j - 9e-9) < 1e-15 && e->alone_j == 0.25);
	assert_int_equal(e->launches, 3);
	assert_int_equal(k.pending[0], 12);
	assert_int_equal(k.n_events, 2);
	assert_string_equal(k.events[1].name, "shared");
	assert_true(k.power.extra_w[0] == 170 && k.power.extra_w[1] == -4);
	assert_true(e->extra[0] == 0 && e->extra[1] == 7);
	assert_int_equal(k.n_layout, 2);
	assert_int_equal(k.layout[1].sms, 3);
	assert_true(k.layout[0].blocks[0] == 2.5);
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{"", "k.yaml:1:1: the file is empty"},
		{"kernels: [" K "]\n", "k.yaml:1:1: the key 'schema' is missing"},
		{"schema: cotenant.kernels/2\nkernels: [" K "]\n",
		 "k.yaml:1:9: schema is 'cotenant.kernels/2'; expected cotenant.kernels/1"},
		{HEAD "kernels: []\n", "k.yaml:2:10: kernels has"},
		{HEAD "gpu: v100\nkernels: [" K "]\n",
		 "k.yaml:2:6: unknown GPU 'v100'; expected one of c1060, fx5600, h200"},
		{HEAD "gpu: {sms: 0}\nkernels: [" K "]\n",
		 "k.yaml:2:12: sms is '0'; expected a whole number from 1 to 1024"},
		{HEAD "gpu: {speed: 1}\nkernels: [" K "]\n",
		 "k.yaml:2:7: unknown key 'speed'; expected one of preset"},
		{HEAD "power: {idle_w: 1}\nkernels: [" K "]\n", "k.yaml:2:8: the key 'lambda_w'"},
		{HEAD "power: {idle_w: 1, lambda_w: 1, memory_w: 1, instruction_w: 1,\n"
		      "  thermal_gain: 1}\nkernels: [" K "]\n",
		 "k.yaml:3:17: thermal_gain without thermal_tau_s"},
		{HEAD "kernels: [" K ", " K "]\n",
		 "k.yaml:2:73: two kernels are named 'a'; expected a name of its own for each"},
		{HEAD "kernels:\n  - {name: b, blocks: 1, threads_per_block: 2048, comp: 1}\n",
		 "k.yaml:3:45: a block takes 2048 threads; expected at most 1024, what an SM of "
		 "the GPU 'c1060' has"},
		{HEAD "kernels:\n  - {name: b, blocks: 1, threads_per_block: 1, comp: 1,\n"
		      "     regs_per_block: 16385}\n",
		 "k.yaml:4:22: a block takes 16385 registers; expected at most 16384"},
		{HEAD "kernels:\n  - {name: b, blocks: 1, threads_per_block: 1, comp: 1e-300}\n",
		 "k.yaml:3:54: comp is 1e-300; expected 0 or at least 1e-06"},
		{HEAD "kernels:\n  - {name: b, blocks: 1, threads_per_block: 1, comp: 0}\n",
		 "k.yaml:3:5: the kernel does nothing; expected comp, coalesced or uncoalesced"},
		{HEAD
		 "kernels:\n  - {name: b, blocks: 1, threads_per_block: 1, comp: 1, cpu_s: 2}\n",
		 "k.yaml:3:5: the kernel has only one of cpu_s and cpu_w"},
		{HEAD "kernels:\n  - {name: b, blocks: 0, threads_per_block: 1, comp: 1}\n",
		 "k.yaml:3:23: blocks is '0'; expected a whole number from 1"},
		{HEAD "kernels:\n  - {name: b, blocks: 1, threads_per_block: 1, comp: nan}\n",
		 "comp is 'nan'; expected a number from 0"},
		{HEAD "kernels: [" K "]\nlayout: [{sms: 3, blocks_each: [1, 1]}]\n",
		 "k.yaml:3:32: blocks_each has 2 numbers; expected 1, one for each kernel"},
		{HEAD "kernels: [" K "]\nlayout: [{sms: 3, blocks_each: [2]}]\n",
		 "k.yaml:3:9: the layout has 6 blocks of 'a'; expected 3, all that it has"},
		{HEAD "kernels: [" K "]\nlayout: [{sms: 31, blocks_each: [2]}]\n",
		 "k.yaml:3:16: the layout has 31 SMs so far; expected at most 30"},
	};
	struct cot_kernels k;
	struct cot_error err;
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		memset(&err, 0, sizeof(err));
		assert_int_equal(
			cot_kernels_parse("k.yaml", cases[i].text, strlen(cases[i].text), &k, &err),
			-EINVAL);
		if (!strstr(err.text, cases[i].sentence))
			fail_msg("%zu: '%s', expected '%s'", i, err.text, cases[i].sentence);
	}
}

static void test_files(void **state)
{
	struct cot_kernels k;
	struct cot_error err = {""};

	(void)state;
	assert_int_equal(cot_kernels_read("/nowhere/k.yaml", &k, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nowhere/k.yaml: cannot open"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_every_key),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
