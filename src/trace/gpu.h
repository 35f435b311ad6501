/*
 * GPU presets and the arithmetic that follows from a GPU's resources alone.
 * Pure; the tables are constant.
 */
#ifndef COT_TRACE_GPU_H
#define COT_TRACE_GPU_H

#include "trace/scenario.h"

/* What a scenario gets that names no GPU. */
#define COT_GPU_DEFAULT "k20c"

extern const struct cot_gpu cot_gpu_presets[];
extern const unsigned cot_n_gpu_presets;

/* NULL when there is no preset of that name. */
const struct cot_gpu *cot_gpu_find(const char *name);

/*
 * Resident thread blocks per SM: the least of block slots, registers, threads and shared memory
 * under the first configuration that holds one block (Tanasic et al., section 2.3 and footnote 1).
 * A resource that the kernel does not use (0) does not limit. 0 when one block does not fit.
 */
uint32_t cot_gpu_occupancy(const struct cot_gpu *gpu, uint32_t regs_per_block,
			   uint32_t shmem_per_block, uint32_t threads_per_block);

/* Context bytes of a full SM: its register file and its largest shared memory. */
uint64_t cot_gpu_ctx_bytes_max(const struct cot_gpu *gpu);

/* Time to move `bytes` between one SM and memory at the SM's share of the DRAM bandwidth. */
uint64_t cot_gpu_sm_move_ps(const struct cot_gpu *gpu, uint64_t bytes);

/*
 * An upper bound of the time of one block of a kernel with `work`, on a GPU full of its blocks:
 * what instructions, issue slots and memory take, one after the other.
 */
double cot_gpu_work_us_max(const struct cot_gpu *gpu, const struct cot_kernel *kernel);

/* The block's time at one instruction per cycle: the unit in which its progress is counted. */
uint64_t cot_gpu_work_ps(const struct cot_gpu *gpu, uint64_t insts);

/* The load of memory at which its latency stops rising, where a GPU has no `load_max`. */
#define COT_GPU_LOAD_MAX 0.95

/* What queueing multiplies the latency of memory by at a load, and at most. */
double cot_gpu_latency_factor(double queueing, double load, double load_max);

/*
 * One PCIe transfer: latency + whole 4 KiB bursts (Tanasic et al., Table 2).
 */
uint64_t cot_gpu_pcie_ps(const struct cot_gpu *gpu, uint64_t bytes);

#endif
