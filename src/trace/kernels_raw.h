/*
 * The form in which kernels for the models are written: structs that libcyaml fills, and their
 * schema. Private to the reader of kernels.
 */
#ifndef COT_TRACE_KERNELS_RAW_H
#define COT_TRACE_KERNELS_RAW_H

#include "text/yaml.h"
#include "trace/kernels.h"

/* Pointers are NULL where the key was left out. */
struct cot_raw_model_gpu {
	char *preset;
	uint32_t *sms, *clock_mhz;
	uint32_t *threads_per_sm, *blocks_per_sm, *regs_per_sm, *shmem_per_sm;
	double *dram_gbps, *pcie_gbps, *memory_gb;
	double *mem_latency, *uncoalesced_delay, *coalesced_delay, *issue;
};

struct cot_raw_model_power {
	double idle_w, lambda_w, memory_w, instruction_w;
	double thermal_gain, thermal_tau_s;
};

struct cot_raw_model_kernel {
	char *name;
	uint32_t blocks, threads_per_block, regs_per_block, shmem_per_block;
	double comp, uncoalesced, coalesced, syncs;
	double *transactions, *load_bytes;
	double h2d_bytes, d2h_bytes, memory_bytes;
	double cpu_s, cpu_w;
	uint32_t *count;
};

struct cot_raw_model_sms {
	uint32_t sms;
	double *blocks;
	uint32_t blocks_count;
};

struct cot_raw_kernels {
	char *schema;
	struct cot_raw_model_gpu *gpu;
	struct cot_raw_model_power *power;
	struct cot_raw_model_kernel *kernels;
	uint32_t kernels_count;
	struct cot_raw_model_sms *layout;
	uint32_t layout_count;
};

extern const struct cot_yaml_format cot_kernels_format;

#endif
