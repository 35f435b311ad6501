#include "trace/gpu.h"

#include <string.h>

#include "base/gpu_sheet.h"
#include "base/units.h"

#define KIB		 1024u
#define PCIE_BURST_BYTES 4096u

/*
 * Our choices for all GPUs: four fifths of the peak bandwidth can be reached (the rest goes to
 * refresh, turns of the bus and rows); latency rises with the load as in the warp-by-warp model of
 * the tests, which has eight channels; a kernel whose cache others use moves up to a fifth more.
 */
#define FLUID_DEFAULTS .dram_efficiency = 0.8, .queueing = 0.01, .share_penalty = 0.2

/*
 * Power of the Fermi and Kepler cards: 1.59 W for an idle SM and 11 W of the chip as in GPUWattch's
 * file for the GTX 480 (40 nm), the others ours, chosen so that busy cards draw what such cards
 * draw. Of the H200: an idle SM as in AccelWattch's file for Volta; the other figures as measured
 * (results/h200/2026-11-22/contention): 122 W in all when idle, 15 W more with one waiting warp on
 * every SM, and energies of instructions and bytes as `cotenant model train` finds them.
 */
const struct cot_gpu cot_gpu_presets[] = {
	{
		/* Tanasic et al., Table 2; PCIe 2.0 x16; 10 us is our choice */
		.name = "k20c",
		.n_sms = COT_K20C_SMS,
		.clock_mhz = COT_K20C_CLOCK_MHZ,
		.dram_bytes_per_s = COT_K20C_PEAK_GBPS * 1000000000ull,
		.regs_per_sm = COT_K20C_REGS_PER_SM,
		.n_shmem_configs = 3,
		.shmem_config_bytes = {16 * KIB, 32 * KIB, COT_K20C_SHMEM_PER_SM},
		.blocks_per_sm = COT_K20C_BLOCKS_PER_SM,
		.threads_per_sm = COT_K20C_THREADS_PER_SM,
		.pcie_bytes_per_s = COT_K20C_PCIE_GBPS * 1000000000ull,
		.pcie_latency_ps = 10 * COT_PS_PER_US,
		.issue_width = 4,
		.sm_bytes_per_cycle = 32,
		FLUID_DEFAULTS,
		.power = {20, 0.08, 1.6, 3.6, 9, 14, 1000},
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
		.issue_width = 2,
		.sm_bytes_per_cycle = 32,
		FLUID_DEFAULTS,
		.power = {11, 0.08, 1.59, 3.6, 9, 14, 1000},
	},
	{
		/* NVIDIA TU102 as sold; PCIe 3.0 x16. Watts are ours. */
		.name = "rtx2080ti",
		.n_sms = 68,
		.clock_mhz = 1545,
		.dram_bytes_per_s = 616000000000,
		.regs_per_sm = 65536,
		.n_shmem_configs = 2,
		.shmem_config_bytes = {32 * KIB, 64 * KIB},
		.blocks_per_sm = 16,
		.threads_per_sm = 1024,
		.pcie_bytes_per_s = 15800000000,
		.pcie_latency_ps = 10 * COT_PS_PER_US,
		.issue_width = 4,
		.sm_bytes_per_cycle = 64,
		FLUID_DEFAULTS,
		.power = {30, 0.05, 0.5, 1.5, 1, 8, 1000},
	},
	{
		.name = "h200",
		.n_sms = COT_H200_SMS,
		.clock_mhz = COT_H200_CLOCK_MHZ,
		.dram_bytes_per_s = COT_H200_PEAK_GBPS * 1000000000ull,
		.regs_per_sm = COT_H200_REGS_PER_SM,
		.n_shmem_configs = 8,
		.shmem_config_bytes = {8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 100 * KIB, 132 * KIB,
				       164 * KIB, COT_H200_SHMEM_PER_SM},
		.blocks_per_sm = COT_H200_BLOCKS_PER_SM,
		.threads_per_sm = COT_H200_THREADS_PER_SM,
		.pcie_bytes_per_s = COT_H200_PCIE_GBPS * 1000000000ull,
		.pcie_latency_ps = 10 * COT_PS_PER_US,
		/* Measured: what a request waits longer that interrupts a batch program */
		.switch_ps = 170 * COT_PS_PER_US,
		/*
		 * Measured (results/h200/2026-11-22/contention): `cotenant model check` has these
		 * limits of an SM and of memory, and how latency rises, of which no end was seen.
		 */
		.issue_width = 4,
		.sm_bytes_per_cycle = 81,
		.dram_efficiency = 0.983,
		.queueing = 0.056,
		.load_max = 0.999,
		.share_penalty = 0.2,
		.power = {85, 0.04, 0.28, 0.39, 0.38, 14.7, 1000},
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

double cot_gpu_latency_factor(double queueing, double load, double load_max)
{
	double most = load_max > 0.0 ? load_max : COT_GPU_LOAD_MAX;

	load = load < most ? load : most;
	return 1.0 + queueing * load / (1.0 - load);
}

static double latency_factor_max(const struct cot_gpu *gpu)
{
	return cot_gpu_latency_factor(gpu->queueing, 1.0, gpu->load_max);
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

double cot_gpu_work_us_max(const struct cot_gpu *gpu, const struct cot_kernel *kernel)
{
	const struct cot_kernel_work *w = &kernel->work;
	double per_warp = (double)w->insts / w->warps, blocks = kernel->blocks_per_sm;
	double bytes = (double)w->insts * w->mem_fraction * w->dram_bytes *
		       (1.0 + gpu->share_penalty) * blocks;
	double cycles;

	cycles = per_warp *
		 (w->cpi + w->mem_fraction * w->latency * latency_factor_max(gpu) / w->mlp);
	cycles += (double)w->insts * blocks / gpu->issue_width;
	if (w->ipc_max > 0.0)
		cycles += (double)w->insts * blocks / w->ipc_max;
	cycles += bytes / gpu->sm_bytes_per_cycle;
	return cycles / gpu->clock_mhz +
	       bytes * gpu->n_sms / (gpu->dram_efficiency * (double)gpu->dram_bytes_per_s) * 1e6;
}

uint64_t cot_gpu_work_ps(const struct cot_gpu *gpu, uint64_t insts)
{
	cot_u128 ps = (cot_u128)insts * COT_PS_PER_US + gpu->clock_mhz / 2;

	return (uint64_t)(ps / gpu->clock_mhz);
}

uint64_t cot_gpu_pcie_ps(const struct cot_gpu *gpu, uint64_t bytes)
{
	uint64_t bursts = cot_div_up(bytes, PCIE_BURST_BYTES);

	return gpu->pcie_latency_ps +
	       cot_transfer_ps(bursts * PCIE_BURST_BYTES, gpu->pcie_bytes_per_s);
}
