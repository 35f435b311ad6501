/*
 * The form in which a scenario is written: structs that libcyaml fills, their schema, and the GPU
 * part. Private to the scenario reader.
 */
#ifndef COT_TRACE_SCENARIO_RAW_H
#define COT_TRACE_SCENARIO_RAW_H

#include "text/yaml.h"
#include "trace/program.h"
#include "trace/scenario.h"

/* Pointers are NULL where the key was left out. */
struct cot_raw_gpu {
	char *preset;
	uint32_t *sms, *clock_mhz;
	double *dram_gbps;
	uint32_t *regs_per_sm;
	uint32_t *shmem_configs_kb;
	uint32_t shmem_configs_kb_count;
	uint32_t *blocks_per_sm, *threads_per_sm;
	double *pcie_gbps, *pcie_latency_us;
	double *trap_us, *setup_us, *switch_us;
	double *issue_width, *sm_bytes_per_cycle, *dram_efficiency, *queueing, *load_max;
	double *share_penalty, *share_stall;
	struct cot_raw_power *power;
};

struct cot_raw_power {
	double *base_w, *gated_w, *idle_w, *active_w, *inst_nj, *dram_pj_per_bit;
	uint32_t *wake_cycles;
};

struct cot_raw_qos {
	char *kernel;
	double *ipc, *percent;
};

struct cot_raw_workers {
	double *grant_us, *evict_us, *overhead_percent;
};

struct cot_raw_stop {
	uint32_t *runs;
	double *at_us;
};

struct cot_raw_app {
	char *name;
	int32_t *priority;
	uint32_t *tokens;
	char *context;
	double *start_us;
	enum cot_app_class cls;
	uint32_t *weight, *block_hint_us;
	int solo, rewrite;
	char *quota, *reserve;
	struct cot_raw_qos *qos;
	struct cot_raw_step *program;
	uint32_t program_count;
	char *trace;
};

struct cot_raw_scenario {
	char *schema;
	struct cot_raw_gpu *gpu;
	char *scheduler;
	char *policy;
	enum cot_preempt preempt;
	enum cot_transfer_order transfers;
	uint64_t *seed;
	double block_jitter_cv;
	double *quantum_us;
	uint32_t *epoch_cycles;
	double *rate_noise, *qos_threshold;
	uint32_t *qos_batch_sms;
	int block_time; /* enum cot_block_time */
	struct cot_raw_workers *workers;
	struct cot_raw_stop *stop;
	struct cot_raw_app *apps;
	uint32_t apps_count;
};

extern const struct cot_yaml_format cot_scenario_format;

/* The GPU of the scenario: a preset, changed where the file says so. */
int cot_scenario_gpu(const struct cot_yaml *doc, const struct cot_raw_gpu *raw,
		     struct cot_gpu *ret_gpu, struct cot_error *err);

#endif
