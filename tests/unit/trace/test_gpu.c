/* GPU presets and the arithmetic on them. */
#include "base/units.h"
#include "test.h"
#include "trace/gpu.h"

static void test_presets_are_sane(void **state)
{
	unsigned i;
	uint32_t j;

	(void)state;
	assert_non_null(cot_gpu_find(COT_GPU_DEFAULT));
	assert_null(cot_gpu_find("k20"));
	for (i = 0; i < cot_n_gpu_presets; i++) {
		const struct cot_gpu *gpu = &cot_gpu_presets[i];

		assert_ptr_equal(cot_gpu_find(gpu->name), gpu);
		assert_in_range(gpu->n_sms, 1, COT_MAX_SMS);
		assert_in_range(gpu->blocks_per_sm, 1, COT_MAX_BLOCKS_PER_SM);
		assert_in_range(gpu->n_shmem_configs, 1, COT_MAX_SHMEM_CONFIGS);
		for (j = 1; j < gpu->n_shmem_configs; j++)
			assert_true(gpu->shmem_config_bytes[j] > gpu->shmem_config_bytes[j - 1]);
	}
}

static void test_occupancy_is_the_least_of_four(void **state)
{
	const struct cot_gpu *gpu = cot_gpu_find("k20c");
	static const struct {
		uint32_t regs, shmem, threads, expected;
	} cases[] = {
		{0, 0, 0, 16},	       /* block slots */
		{4096, 0, 0, 16},      /* registers, just */
		{4320, 0, 0, 15},      /* registers */
		{65536, 0, 0, 1},      /* the whole register file */
		{65537, 0, 0, 0},      /* one block is too large */
		{0, 1024, 0, 16},      /* 16 KiB hold exactly 16 */
		{0, 1025, 0, 15},      /* shared memory, 16 KiB */
		{0, 16385, 0, 1},      /* the next size, 32 KiB, holds one */
		{0, 49152, 0, 1},      /* all of it */
		{0, 49153, 0, 0},      /* more than all of it */
		{0, 0, 128, 16},       /* threads, just */
		{0, 0, 256, 8},	       /* threads */
		{0, 0, 2049, 0},       /* one block is too large */
		{16384, 4096, 512, 4}, /* three limits at once */
	};
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++)
		assert_int_equal(
			cot_gpu_occupancy(gpu, cases[i].regs, cases[i].shmem, cases[i].threads),
			cases[i].expected);
}

static void test_moving_a_context(void **state)
{
	const struct cot_gpu *gpu = cot_gpu_find("k20c");

	(void)state;
	/* 16 GB/s for each of 13 SMs: 62.5 ps a byte */
	assert_int_equal(cot_gpu_sm_move_ps(gpu, 0), 0);
	assert_int_equal(cot_gpu_sm_move_ps(gpu, 16), 1000);
	assert_int_equal(cot_gpu_sm_move_ps(gpu, 259200), 16200000);
	/* 256 KiB of registers and 48 KiB of shared memory: 19.456 us one way */
	assert_int_equal(cot_gpu_ctx_bytes_max(gpu), 311296);
	assert_int_equal(cot_gpu_sm_move_ps(gpu, 311296), 19456000);
}

static void test_pcie_moves_whole_bursts(void **state)
{
	const struct cot_gpu *gpu = cot_gpu_find("k20c");

	(void)state;
	/* 10 us and 0.512 us for each 4 KiB */
	assert_int_equal(cot_gpu_pcie_ps(gpu, 1), 10512000);
	assert_int_equal(cot_gpu_pcie_ps(gpu, 4096), 10512000);
	assert_int_equal(cot_gpu_pcie_ps(gpu, 4097), 11024000);
	assert_int_equal(cot_gpu_pcie_ps(gpu, 1048576), 141072000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_presets_are_sane),
		cmocka_unit_test(test_occupancy_is_the_least_of_four),
		cmocka_unit_test(test_moving_a_context),
		cmocka_unit_test(test_pcie_moves_whole_bursts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
