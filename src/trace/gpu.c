#include "trace/gpu.h"

#include <string.h>

#include "base/units.h"

#define KIB		 1024u
#define PCIE_BURST_BYTES 4096u

const struct cot_gpu cot_gpu_presets[] = {
	{
		/* Tanasic et al., Table 2; PCIe 2.0 x16; 10 us is our choice */
		.name = "k20c",
		.n_sms = 13,
		.clock_mhz = 706,
		.dram_bytes_per_s = 208000000000,
		.regs_per_sm = 65536,
		.n_shmem_configs = 3,
		.shmem_config_bytes = {16 * KIB, 32 * KIB, 48 * KIB},
		.blocks_per_sm = 16,
		.threads_per_sm = 2048,
		.pcie_bytes_per_s = 8000000000,
		.pcie_latency_ps = 10 * COT_PS_PER_US,
	},
	{
		/* NVIDIA GF100, as configured in GPGPU-Sim (SM2_GTX480) */
		.name = "gtx480",
		.n_sms = 15,
		.clock_mhz = 700,
		.dram_bytes_per_s = 177400000000,
		.regs_per_sm = 32768,
		.n_shmem_configs = 2,
		.shmem_config_bytes = {16 * KIB, 48 * KIB},
		.blocks_per_sm = 8,
		.threads_per_sm = 1536,
		.pcie_bytes_per_s = 8000000000,
		.pcie_latency_ps = 10 * COT_PS_PER_US,
	},
	{
		/* NVIDIA GH100 as sold: 132 SMs, HBM3e, PCIe 5.0 x16 */
		.name = "h200",
		.n_sms = 132,
		.clock_mhz = 1980,
		.dram_bytes_per_s = 4800000000000,
		.regs_per_sm = 65536,
		.n_shmem_configs = 8,
		.shmem_config_bytes = {8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 100 * KIB, 132 * KIB,
				       164 * KIB, 228 * KIB},
		.blocks_per_sm = 32,
		.threads_per_sm = 2048,
		.pcie_bytes_per_s = 63000000000,
		.pcie_latency_ps = 10 * COT_PS_PER_US,
		/* Measured: what a request waits longer that interrupts a batch program */
		.switch_ps = 170 * COT_PS_PER_US,
	},
};
const unsigned cot_n_gpu_presets = COT_ARRAY_LEN(cot_gpu_presets);

const struct cot_gpu *cot_gpu_find(const char *name)
{
	unsigned i;

	for (i = 0; i < cot_n_gpu_presets; i++)
		if (!strcmp(cot_gpu_presets[i].name, name))
			return &cot_gpu_presets[i];
	return NULL;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The first shared-memory configuration that holds one block; 0 when none does. */
static uint32_t shmem_config_for(const struct cot_gpu *gpu, uint32_t shmem_per_block)
{
	uint32_t i;

	for (i = 0; i < gpu->n_shmem_configs; i++)
		if (gpu->shmem_config_bytes[i] >= shmem_per_block)
			return gpu->shmem_config_bytes[i];
	return 0;
}

uint32_t cot_gpu_occupancy(const struct cot_gpu *gpu, uint32_t regs_per_block,
			   uint32_t shmem_per_block, uint32_t threads_per_block)
{
	uint32_t n = gpu->blocks_per_sm;

	if (regs_per_block)
		n = min_u32(n, gpu->regs_per_sm / regs_per_block);
	if (threads_per_block)
		n = min_u32(n, gpu->threads_per_sm / threads_per_block);
	if (shmem_per_block)
		n = min_u32(n, shmem_config_for(gpu, shmem_per_block) / shmem_per_block);
	return n;
}

uint64_t cot_gpu_ctx_bytes_max(const struct cot_gpu *gpu)
{
	return 4ull * gpu->regs_per_sm + gpu->shmem_config_bytes[gpu->n_shmem_configs - 1];
}

uint64_t cot_gpu_sm_move_ps(const struct cot_gpu *gpu, uint64_t bytes)
{
	return cot_transfer_ps(bytes * gpu->n_sms, gpu->dram_bytes_per_s);
}

uint64_t cot_gpu_pcie_ps(const struct cot_gpu *gpu, uint64_t bytes)
{
	uint64_t bursts = cot_div_up(bytes, PCIE_BURST_BYTES);

	return gpu->pcie_latency_ps +
	       cot_transfer_ps(bursts * PCIE_BURST_BYTES, gpu->pcie_bytes_per_s);
}
