#include "trace/kernels_raw.h"

#include "trace/program.h"

#define OPTIONAL CYAML_FLAG_OPTIONAL
#define OPT_PTR	 (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)

#define GPU struct cot_raw_model_gpu
static const cyaml_schema_field_t gpu_fields[] = {
	CYAML_FIELD_STRING_PTR("preset", OPT_PTR, GPU, preset, 1, COT_NAME_MAX - 1),
	CYAML_FIELD_UINT_PTR("sms", OPT_PTR, GPU, sms),
	CYAML_FIELD_UINT_PTR("clock_mhz", OPT_PTR, GPU, clock_mhz),
	CYAML_FIELD_UINT_PTR("threads_per_sm", OPT_PTR, GPU, threads_per_sm),
	CYAML_FIELD_UINT_PTR("blocks_per_sm", OPT_PTR, GPU, blocks_per_sm),
	CYAML_FIELD_UINT_PTR("regs_per_sm", OPT_PTR, GPU, regs_per_sm),
	CYAML_FIELD_UINT_PTR("shmem_per_sm", OPT_PTR, GPU, shmem_per_sm),
	CYAML_FIELD_FLOAT_PTR("dram_gbps", OPT_PTR, GPU, dram_gbps),
	CYAML_FIELD_FLOAT_PTR("pcie_gbps", OPT_PTR, GPU, pcie_gbps),
	CYAML_FIELD_FLOAT_PTR("memory_gb", OPT_PTR, GPU, memory_gb),
	CYAML_FIELD_FLOAT_PTR("mem_latency_cycles", OPT_PTR, GPU, mem_latency),
	CYAML_FIELD_FLOAT_PTR("uncoalesced_delay_cycles", OPT_PTR, GPU, uncoalesced_delay),
	CYAML_FIELD_FLOAT_PTR("coalesced_delay_cycles", OPT_PTR, GPU, coalesced_delay),
	CYAML_FIELD_FLOAT_PTR("issue_cycles", OPT_PTR, GPU, issue),
	CYAML_FIELD_END};

#define POWER struct cot_raw_model_power
static const cyaml_schema_field_t power_fields[] = {
	CYAML_FIELD_FLOAT("idle_w", CYAML_FLAG_DEFAULT, POWER, idle_w),
	CYAML_FIELD_FLOAT("lambda_w", CYAML_FLAG_DEFAULT, POWER, lambda_w),
	CYAML_FIELD_FLOAT("memory_w", CYAML_FLAG_DEFAULT, POWER, memory_w),
	CYAML_FIELD_FLOAT("instruction_w", CYAML_FLAG_DEFAULT, POWER, instruction_w),
	CYAML_FIELD_FLOAT("thermal_gain", OPTIONAL, POWER, thermal_gain),
	CYAML_FIELD_FLOAT("thermal_tau_s", OPTIONAL, POWER, thermal_tau_s),
	CYAML_FIELD_END};

#define KERNEL struct cot_raw_model_kernel
static const cyaml_schema_field_t kernel_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, KERNEL, name, 1, COT_NAME_MAX - 1),
	CYAML_FIELD_UINT("blocks", CYAML_FLAG_DEFAULT, KERNEL, blocks),
	CYAML_FIELD_UINT("threads_per_block", CYAML_FLAG_DEFAULT, KERNEL, threads_per_block),
	CYAML_FIELD_UINT("regs_per_block", OPTIONAL, KERNEL, regs_per_block),
	CYAML_FIELD_UINT("shmem_per_block", OPTIONAL, KERNEL, shmem_per_block),
	CYAML_FIELD_FLOAT("comp", CYAML_FLAG_DEFAULT, KERNEL, comp),
	CYAML_FIELD_FLOAT("uncoalesced", OPTIONAL, KERNEL, uncoalesced),
	CYAML_FIELD_FLOAT("coalesced", OPTIONAL, KERNEL, coalesced),
	CYAML_FIELD_FLOAT("syncs", OPTIONAL, KERNEL, syncs),
	CYAML_FIELD_FLOAT_PTR("transactions", OPT_PTR, KERNEL, transactions),
	CYAML_FIELD_FLOAT_PTR("load_bytes", OPT_PTR, KERNEL, load_bytes),
	CYAML_FIELD_FLOAT("h2d_bytes", OPTIONAL, KERNEL, h2d_bytes),
	CYAML_FIELD_FLOAT("d2h_bytes", OPTIONAL, KERNEL, d2h_bytes),
	CYAML_FIELD_FLOAT("memory_bytes", OPTIONAL, KERNEL, memory_bytes),
	CYAML_FIELD_FLOAT("cpu_s", OPTIONAL, KERNEL, cpu_s),
	CYAML_FIELD_FLOAT("cpu_w", OPTIONAL, KERNEL, cpu_w),
	CYAML_FIELD_UINT_PTR("count", OPT_PTR, KERNEL, count),
	CYAML_FIELD_END};

static const cyaml_schema_value_t kernel_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, KERNEL, kernel_fields),
};

static const cyaml_schema_value_t block_count_schema = {
	CYAML_VALUE_FLOAT(CYAML_FLAG_DEFAULT, double),
};

#define SMS struct cot_raw_model_sms
static const cyaml_schema_field_t sms_fields[] = {
	CYAML_FIELD_UINT("sms", CYAML_FLAG_DEFAULT, SMS, sms),
	CYAML_FIELD_SEQUENCE("blocks_each", CYAML_FLAG_POINTER, SMS, blocks, &block_count_schema, 1,
			     COT_KERNELS_MAX),
	CYAML_FIELD_END};

static const cyaml_schema_value_t sms_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, SMS, sms_fields),
};

#define ROOT struct cot_raw_kernels
static const cyaml_schema_field_t root_fields[] = {
	CYAML_FIELD_STRING_PTR("schema", CYAML_FLAG_POINTER, ROOT, schema, 1, COT_NAME_MAX - 1),
	CYAML_FIELD_MAPPING_PTR("gpu", OPT_PTR, ROOT, gpu, gpu_fields),
	CYAML_FIELD_MAPPING_PTR("power", OPT_PTR, ROOT, power, power_fields),
	CYAML_FIELD_SEQUENCE("kernels", CYAML_FLAG_POINTER, ROOT, kernels, &kernel_schema, 1,
			     COT_KERNELS_MAX),
	CYAML_FIELD_SEQUENCE("layout", OPT_PTR, ROOT, layout, &sms_schema, 1,
			     COT_KERNELS_LAYOUT_MAX),
	CYAML_FIELD_END};

static const cyaml_schema_value_t root_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, ROOT, root_fields),
};

/* Counts and times stay so small that no sum or product of them leaves a double. */
static const struct cot_yaml_range ranges[] = {
	{"sms", 1, COT_MAX_SMS},
	{"clock_mhz", 1, 100000},
	{"threads_per_sm", 32, COT_THREADS_MAX},
	{"blocks_per_sm", 1, COT_KERNELS_SLOTS_MAX},
	{"regs_per_sm", 1, COT_REGS_MAX},
	{"shmem_per_sm", 1, COT_SHMEM_MAX},
	{"dram_gbps", 0.1, 1000000},
	{"pcie_gbps", 0.01, 1000000},
	{"memory_gb", 0.001, 1000000},
	{"mem_latency_cycles", 1, 1000000},
	{"uncoalesced_delay_cycles", 0, 100000},
	{"coalesced_delay_cycles", 0, 100000},
	{"issue_cycles", 0.01, 10000},
	{"idle_w", 0, 1000000},
	{"lambda_w", 0, 1000000},
	{"memory_w", 0, 1000000000},
	{"instruction_w", 0, 1000000000},
	{"thermal_gain", 0, 100},
	{"thermal_tau_s", 0.001, 1000000},
	{"blocks", 1, COT_KERNELS_BLOCKS_MAX},
	{"threads_per_block", 1, COT_THREADS_MAX},
	{"regs_per_block", 0, COT_REGS_MAX},
	{"shmem_per_block", 0, COT_SHMEM_MAX},
	{"comp", 0, 1e15},
	{"uncoalesced", 0, 1e15},
	{"coalesced", 0, 1e15},
	{"syncs", 0, 1e15},
	{"transactions", 1, 32},
	{"load_bytes", 1, 1048576},
	{"h2d_bytes", 0, 1e15},
	{"d2h_bytes", 0, 1e15},
	{"memory_bytes", 0, 1e15},
	{"cpu_s", 0, 1e9},
	{"cpu_w", 0, 1000000},
	{"count", 0, COT_KERNELS_COPIES_MAX},
	{"blocks_each", 0, 1000000000},
	{NULL, 0, 0},
};

const struct cot_yaml_format cot_kernels_format = {
	.schema = &root_schema,
	.ranges = {ranges},
};
