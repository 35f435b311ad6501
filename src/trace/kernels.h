/*
 * Kernels for the analytical models: one GPU, what its power goes into, and kernels as counts per
 * warp (docs/models.md). Reads them from YAML, schema "cotenant.kernels/1". Every mistake is one
 * sentence "FILE:LINE:COL: what is wrong; what was expected". No state: any number of threads may
 * read at once.
 */
#ifndef COT_TRACE_KERNELS_H
#define COT_TRACE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/scenario.h"

#define COT_KERNELS_MAX	       10u /* different kernels of one file */
#define COT_KERNELS_COPIES_MAX 64u
#define COT_KERNELS_BLOCKS_MAX ((1u << 26) - 1) /* all copies together stay below 2^32 */
#define COT_KERNELS_LAYOUT_MAX 9u
#define COT_KERNELS_SLOTS_MAX  32u

/* Cycles are SM clock cycles, GB/s 1e9 B/s, sizes bytes. */
struct cot_kernels_gpu {
	char name[COT_NAME_MAX];
	uint32_t sms, clock_mhz;
	uint32_t threads_per_sm, blocks_per_sm, regs_per_sm, shmem_per_sm;
	double dram_gbps, pcie_gbps;
	double memory_bytes;
	double mem_latency, uncoalesced_delay, coalesced_delay, issue; /* cycles */
};

struct cot_kernels_power {
	double idle_w, lambda_w;
	double memory_w, instruction_w; /* per event and cycle of the mean SM */
	double thermal_gain, thermal_tau_s;
};

struct cot_kernels_entry {
	char name[COT_NAME_MAX];
	uint32_t blocks, threads_per_block, regs_per_block, shmem_per_block;
	double comp, uncoalesced, coalesced, syncs; /* of one warp */
	double transactions, load_bytes;
	double h2d_bytes, d2h_bytes, memory_bytes;
	double cpu_s, cpu_w; /* 0: does not run on the CPU */
	uint32_t count;	     /* instances that are pending */
};

/* SMs whose blocks the file gives. */
struct cot_kernels_sms {
	uint32_t sms;
	double blocks[COT_KERNELS_MAX];
};

struct cot_kernels {
	struct cot_kernels_gpu gpu;
	bool has_power;
	struct cot_kernels_power power;
	uint32_t n;
	struct cot_kernels_entry kernels[COT_KERNELS_MAX];
	uint32_t n_layout; /* 0: none given */
	struct cot_kernels_sms layout[COT_KERNELS_LAYOUT_MAX];
};

/* Presets for `gpu`; published or measured values (docs/models.md has their sources). */
extern const struct cot_kernels_gpu cot_kernels_gpus[];
extern const unsigned cot_n_kernels_gpus;

/* `name` is for messages. -EINVAL, -ENOMEM. */
int cot_kernels_parse(const char *name, const void *bytes, size_t size,
		      struct cot_kernels *ret_kernels, struct cot_error *err);

/* `path` "-" is standard input. */
int cot_kernels_read(const char *path, struct cot_kernels *ret_kernels, struct cot_error *err);

#endif
