#include "trace/scenario_raw.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "text/text.h"
#include "trace/gpu.h"
#include "trace/trace.h"

#define OPTIONAL CYAML_FLAG_OPTIONAL
#define OPT_PTR	 (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define WORDS	 (CYAML_FLAG_OPTIONAL | CYAML_FLAG_STRICT)

#define KIB 1024u

static const cyaml_schema_value_t shmem_config_schema = {
	CYAML_VALUE_UINT(CYAML_FLAG_DEFAULT, uint32_t),
};

static const cyaml_schema_field_t power_fields[] = {
	CYAML_FIELD_FLOAT_PTR("base_w", OPT_PTR, struct cot_raw_power, base_w),
	CYAML_FIELD_FLOAT_PTR("gated_w", OPT_PTR, struct cot_raw_power, gated_w),
	CYAML_FIELD_FLOAT_PTR("idle_w", OPT_PTR, struct cot_raw_power, idle_w),
	CYAML_FIELD_FLOAT_PTR("active_w", OPT_PTR, struct cot_raw_power, active_w),
	CYAML_FIELD_FLOAT_PTR("inst_nj", OPT_PTR, struct cot_raw_power, inst_nj),
	CYAML_FIELD_FLOAT_PTR("dram_pj_per_bit", OPT_PTR, struct cot_raw_power, dram_pj_per_bit),
	CYAML_FIELD_UINT_PTR("wake_cycles", OPT_PTR, struct cot_raw_power, wake_cycles),
	CYAML_FIELD_END};

static const cyaml_schema_field_t gpu_fields[] = {
	CYAML_FIELD_STRING_PTR("preset", OPT_PTR, struct cot_raw_gpu, preset, 1, COT_NAME_MAX - 1),
	CYAML_FIELD_UINT_PTR("sms", OPT_PTR, struct cot_raw_gpu, sms),
	CYAML_FIELD_UINT_PTR("clock_mhz", OPT_PTR, struct cot_raw_gpu, clock_mhz),
	CYAML_FIELD_FLOAT_PTR("dram_gbps", OPT_PTR, struct cot_raw_gpu, dram_gbps),
	CYAML_FIELD_UINT_PTR("regs_per_sm", OPT_PTR, struct cot_raw_gpu, regs_per_sm),
	CYAML_FIELD_SEQUENCE("shmem_configs_kb", OPT_PTR, struct cot_raw_gpu, shmem_configs_kb,
			     &shmem_config_schema, 1, COT_MAX_SHMEM_CONFIGS),
	CYAML_FIELD_UINT_PTR("blocks_per_sm", OPT_PTR, struct cot_raw_gpu, blocks_per_sm),
	CYAML_FIELD_UINT_PTR("threads_per_sm", OPT_PTR, struct cot_raw_gpu, threads_per_sm),
	CYAML_FIELD_FLOAT_PTR("pcie_gbps", OPT_PTR, struct cot_raw_gpu, pcie_gbps),
	CYAML_FIELD_FLOAT_PTR("pcie_latency_us", OPT_PTR, struct cot_raw_gpu, pcie_latency_us),
	CYAML_FIELD_FLOAT_PTR("trap_us", OPT_PTR, struct cot_raw_gpu, trap_us),
	CYAML_FIELD_FLOAT_PTR("setup_us", OPT_PTR, struct cot_raw_gpu, setup_us),
	CYAML_FIELD_FLOAT_PTR("switch_us", OPT_PTR, struct cot_raw_gpu, switch_us),
	CYAML_FIELD_FLOAT_PTR("issue_width", OPT_PTR, struct cot_raw_gpu, issue_width),
	CYAML_FIELD_FLOAT_PTR("sm_bytes_per_cycle", OPT_PTR, struct cot_raw_gpu,
			      sm_bytes_per_cycle),
	CYAML_FIELD_FLOAT_PTR("dram_efficiency", OPT_PTR, struct cot_raw_gpu, dram_efficiency),
	CYAML_FIELD_FLOAT_PTR("queueing", OPT_PTR, struct cot_raw_gpu, queueing),
	CYAML_FIELD_FLOAT_PTR("load_max", OPT_PTR, struct cot_raw_gpu, load_max),
	CYAML_FIELD_FLOAT_PTR("share_penalty", OPT_PTR, struct cot_raw_gpu, share_penalty),
	CYAML_FIELD_FLOAT_PTR("share_stall", OPT_PTR, struct cot_raw_gpu, share_stall),
	CYAML_FIELD_MAPPING_PTR("power", OPT_PTR, struct cot_raw_gpu, power, power_fields),
	CYAML_FIELD_END};

static const cyaml_schema_field_t stop_fields[] = {
	CYAML_FIELD_UINT_PTR("runs", OPT_PTR, struct cot_raw_stop, runs),
	CYAML_FIELD_FLOAT_PTR("at_us", OPT_PTR, struct cot_raw_stop, at_us), CYAML_FIELD_END};

static const cyaml_schema_field_t workers_fields[] = {
	CYAML_FIELD_FLOAT_PTR("grant_us", OPT_PTR, struct cot_raw_workers, grant_us),
	CYAML_FIELD_FLOAT_PTR("evict_us", OPT_PTR, struct cot_raw_workers, evict_us),
	CYAML_FIELD_FLOAT_PTR("overhead_percent", OPT_PTR, struct cot_raw_workers,
			      overhead_percent),
	CYAML_FIELD_END};

static const cyaml_strval_t class_words[] = {
	{"batch", COT_APP_BATCH},
	{"latency", COT_APP_LATENCY},
};

static const cyaml_strval_t yes_words[] = {
	{"false", 0},
	{"true", 1},
};

static const cyaml_schema_field_t qos_fields[] = {
	CYAML_FIELD_STRING_PTR("kernel", OPT_PTR, struct cot_raw_qos, kernel, 1, COT_NAME_MAX - 1),
	CYAML_FIELD_FLOAT_PTR("ipc", OPT_PTR, struct cot_raw_qos, ipc),
	CYAML_FIELD_FLOAT_PTR("percent", OPT_PTR, struct cot_raw_qos, percent), CYAML_FIELD_END};

static const cyaml_schema_field_t app_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct cot_raw_app, name, 1,
			       COT_NAME_MAX - 1),
	CYAML_FIELD_INT_PTR("priority", OPT_PTR, struct cot_raw_app, priority),
	CYAML_FIELD_UINT_PTR("tokens", OPT_PTR, struct cot_raw_app, tokens),
	CYAML_FIELD_STRING_PTR("context", OPT_PTR, struct cot_raw_app, context, 1,
			       COT_NAME_MAX - 1),
	CYAML_FIELD_FLOAT_PTR("start_us", OPT_PTR, struct cot_raw_app, start_us),
	CYAML_FIELD_ENUM("class", WORDS, struct cot_raw_app, cls, class_words,
			 COT_ARRAY_LEN(class_words)),
	CYAML_FIELD_UINT_PTR("weight", OPT_PTR, struct cot_raw_app, weight),
	CYAML_FIELD_UINT_PTR("block_hint_us", OPT_PTR, struct cot_raw_app, block_hint_us),
	CYAML_FIELD_ENUM("solo", WORDS, struct cot_raw_app, solo, yes_words,
			 COT_ARRAY_LEN(yes_words)),
	CYAML_FIELD_STRING_PTR("quota", OPT_PTR, struct cot_raw_app, quota, 1, COT_NAME_MAX - 1),
	CYAML_FIELD_STRING_PTR("reserve", OPT_PTR, struct cot_raw_app, reserve, 1,
			       COT_NAME_MAX - 1),
	CYAML_FIELD_ENUM("rewrite", WORDS, struct cot_raw_app, rewrite, yes_words,
			 COT_ARRAY_LEN(yes_words)),
	CYAML_FIELD_MAPPING_PTR("qos", OPT_PTR, struct cot_raw_app, qos, qos_fields),
	CYAML_FIELD_SEQUENCE("program", OPT_PTR, struct cot_raw_app, program,
			     &cot_program_step_schema, 1, COT_PROGRAM_STEPS_MAX),
	CYAML_FIELD_STRING_PTR("trace", OPT_PTR, struct cot_raw_app, trace, 1, 1023),
	CYAML_FIELD_END};

static const cyaml_schema_value_t app_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct cot_raw_app, app_fields),
};

static const cyaml_strval_t preempt_words[] = {
	{"switch", COT_PREEMPT_SWITCH},
	{"drain", COT_PREEMPT_DRAIN},
};
static const cyaml_strval_t transfers_words[] = {
	{"fcfs", COT_TRANSFERS_FCFS},
	{"priority", COT_TRANSFERS_PRIORITY},
};
static const cyaml_strval_t block_time_words[] = {
	{"wave", COT_BLOCK_TIME_WAVE},
	{"smooth", COT_BLOCK_TIME_SMOOTH},
	{"printed", COT_BLOCK_TIME_PRINTED},
};

static const cyaml_schema_field_t scenario_fields[] = {
	CYAML_FIELD_STRING_PTR("schema", CYAML_FLAG_POINTER, struct cot_raw_scenario, schema, 1,
			       COT_NAME_MAX - 1),
	CYAML_FIELD_MAPPING_PTR("gpu", OPT_PTR, struct cot_raw_scenario, gpu, gpu_fields),
	CYAML_FIELD_STRING_PTR("scheduler", OPT_PTR, struct cot_raw_scenario, scheduler, 1,
			       COT_NAME_MAX - 1),
	CYAML_FIELD_STRING_PTR("policy", OPT_PTR, struct cot_raw_scenario, policy, 1,
			       COT_NAME_MAX - 1),
	CYAML_FIELD_ENUM("preempt", WORDS, struct cot_raw_scenario, preempt, preempt_words,
			 COT_ARRAY_LEN(preempt_words)),
	CYAML_FIELD_ENUM("transfers", WORDS, struct cot_raw_scenario, transfers, transfers_words,
			 COT_ARRAY_LEN(transfers_words)),
	CYAML_FIELD_UINT_PTR("seed", OPT_PTR, struct cot_raw_scenario, seed),
	CYAML_FIELD_FLOAT("block_jitter_cv", OPTIONAL, struct cot_raw_scenario, block_jitter_cv),
	CYAML_FIELD_FLOAT_PTR("quantum_us", OPT_PTR, struct cot_raw_scenario, quantum_us),
	CYAML_FIELD_UINT_PTR("epoch_cycles", OPT_PTR, struct cot_raw_scenario, epoch_cycles),
	CYAML_FIELD_FLOAT_PTR("rate_noise", OPT_PTR, struct cot_raw_scenario, rate_noise),
	CYAML_FIELD_UINT_PTR("qos_batch_sms", OPT_PTR, struct cot_raw_scenario, qos_batch_sms),
	CYAML_FIELD_FLOAT_PTR("qos_threshold", OPT_PTR, struct cot_raw_scenario, qos_threshold),
	CYAML_FIELD_ENUM("block_time", WORDS, struct cot_raw_scenario, block_time, block_time_words,
			 COT_ARRAY_LEN(block_time_words)),
	CYAML_FIELD_MAPPING_PTR("workers", OPT_PTR, struct cot_raw_scenario, workers,
				workers_fields),
	CYAML_FIELD_MAPPING_PTR("stop", OPT_PTR, struct cot_raw_scenario, stop, stop_fields),
	CYAML_FIELD_SEQUENCE("apps", CYAML_FLAG_POINTER, struct cot_raw_scenario, apps, &app_schema,
			     1, COT_MAX_APPS),
	CYAML_FIELD_END};

static const cyaml_schema_value_t scenario_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct cot_raw_scenario, scenario_fields),
};

static const struct cot_yaml_range ranges[] = {
	{"sms", 1, COT_MAX_SMS},
	{"clock_mhz", 1, 100000},
	{"dram_gbps", 1, 1000000},
	{"regs_per_sm", 1, COT_REGS_MAX},
	{"shmem_configs_kb", 1, COT_SHMEM_MAX / KIB},
	{"threads_per_sm", 1, COT_THREADS_MAX},
	{"pcie_gbps", 0.01, 1000000},
	{"pcie_latency_us", 0, 1000000},
	{"trap_us", 0, 1000000},
	{"setup_us", 0, 1000000},
	{"switch_us", 0, 1000000},
	{"issue_width", 0.125, 64},
	{"sm_bytes_per_cycle", 0.125, 4096},
	{"dram_efficiency", 0.01, 1},
	{"queueing", 0, 10},
	{"load_max", 0.01, 0.999},
	{"share_penalty", 0, 10},
	{"share_stall", 0, 1},
	{"base_w", 0, 100000},
	{"gated_w", 0, 1000},
	{"idle_w", 0, 1000},
	{"active_w", 0, 1000},
	{"inst_nj", 0, 1000},
	{"dram_pj_per_bit", 0, 1000},
	{"wake_cycles", 0, 1000000},
	{"epoch_cycles", 100, 1000000000},
	{"rate_noise", 0, 0.2},
	{"qos_batch_sms", 0, COT_MAX_SMS},
	{"qos_threshold", 0.0001, 0.5},
	{"ipc", 0.000001, 65536},
	{"percent", 1, 100},
	{"block_jitter_cv", 0, 2},
	{"quantum_us", 1, COT_STEP_US_MAX},
	{"runs", 1, 1000000},
	{"at_us", COT_STEP_US_MIN, COT_TIME_US_MAX},
	{"priority", -1000000, 1000000},
	{"tokens", 0, COT_MAX_SMS},
	{"weight", 1, 10000},
	{"block_hint_us", 0, 1000000000},
	{"start_us", 0, COT_STEP_US_MAX},
	{"grant_us", 0, 1000000},
	{"evict_us", 0, 1000000},
	{"overhead_percent", 0, 1000},
	{NULL, 0, 0},
};

const struct cot_yaml_format cot_scenario_format = {
	.schema = &scenario_schema,
	.ranges = {ranges, cot_program_ranges},
};

static void list_presets(char *buf, size_t size)
{
	size_t n = 0;
	unsigned i;

	buf[0] = '\0';
	for (i = 0; i < cot_n_gpu_presets && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? ", " : "",
				      cot_gpu_presets[i].name);
}

static void set_u32(uint32_t *field, const uint32_t *value)
{
	if (value)
		*field = *value;
}

static void set_rate(uint64_t *field, const double *gbps)
{
	if (gbps)
		*field = (uint64_t)(*gbps * 1e9 + 0.5);
}

static void set_time(uint64_t *field, const double *us)
{
	if (us)
		*field = cot_ps_from_us(*us);
}

static int set_shmem(const struct cot_yaml *doc, const struct cot_raw_gpu *raw, struct cot_gpu *gpu,
		     struct cot_error *err)
{
	char path[64];
	uint32_t i;

	if (!raw->shmem_configs_kb)
		return 0;
	gpu->n_shmem_configs = raw->shmem_configs_kb_count;
	for (i = 0; i < raw->shmem_configs_kb_count; i++) {
		(void)snprintf(path, sizeof(path), "gpu.shmem_configs_kb[%u]", i);
		if (i && raw->shmem_configs_kb[i] <= raw->shmem_configs_kb[i - 1])
			return cot_yaml_fail(
				doc, path, err,
				"shmem_configs_kb has %u after %u; expected sizes that grow",
				raw->shmem_configs_kb[i], raw->shmem_configs_kb[i - 1]);
		gpu->shmem_config_bytes[i] = raw->shmem_configs_kb[i] * KIB;
	}
	return 0;
}

static bool only_preset(const struct cot_raw_gpu *raw)
{
	return !raw->sms && !raw->clock_mhz && !raw->dram_gbps && !raw->regs_per_sm &&
	       !raw->shmem_configs_kb && !raw->blocks_per_sm && !raw->threads_per_sm &&
	       !raw->pcie_gbps && !raw->pcie_latency_us && !raw->trap_us && !raw->setup_us &&
	       !raw->switch_us && !raw->issue_width && !raw->sm_bytes_per_cycle &&
	       !raw->dram_efficiency && !raw->queueing && !raw->load_max && !raw->share_penalty &&
	       !raw->share_stall && !raw->power;
}

static void set_double(double *field, const double *value)
{
	if (value)
		*field = *value;
}

static void set_fluid(struct cot_gpu *gpu, const struct cot_raw_gpu *raw)
{
	const struct cot_raw_power *power = raw->power;

	set_double(&gpu->issue_width, raw->issue_width);
	set_double(&gpu->sm_bytes_per_cycle, raw->sm_bytes_per_cycle);
	set_double(&gpu->dram_efficiency, raw->dram_efficiency);
	set_double(&gpu->queueing, raw->queueing);
	set_double(&gpu->load_max, raw->load_max);
	set_double(&gpu->share_penalty, raw->share_penalty);
	set_double(&gpu->share_stall, raw->share_stall);
	if (!power)
		return;
	set_double(&gpu->power.base_w, power->base_w);
	set_double(&gpu->power.gated_w, power->gated_w);
	set_double(&gpu->power.idle_w, power->idle_w);
	set_double(&gpu->power.active_w, power->active_w);
	set_double(&gpu->power.inst_nj, power->inst_nj);
	set_double(&gpu->power.dram_pj_per_bit, power->dram_pj_per_bit);
	set_u32(&gpu->power.wake_cycles, power->wake_cycles);
}

int cot_scenario_gpu(const struct cot_yaml *doc, const struct cot_raw_gpu *raw,
		     struct cot_gpu *ret_gpu, struct cot_error *err)
{
	const char *name = raw && raw->preset ? raw->preset : COT_GPU_DEFAULT;
	const struct cot_gpu *preset = cot_gpu_find(name);
	char list[128], quote[COT_QUOTE_MAX];

	if (!preset) {
		list_presets(list, sizeof(list));
		return cot_yaml_fail(doc, "gpu.preset", err,
				     "unknown GPU '%s'; expected one of %s, or a map of its fields",
				     cot_text_quote(name, quote), list);
	}
	*ret_gpu = *preset;
	if (!raw || only_preset(raw))
		return 0;
	(void)snprintf(ret_gpu->name, sizeof(ret_gpu->name), "custom");
	set_u32(&ret_gpu->n_sms, raw->sms);
	set_u32(&ret_gpu->clock_mhz, raw->clock_mhz);
	set_rate(&ret_gpu->dram_bytes_per_s, raw->dram_gbps);
	set_u32(&ret_gpu->regs_per_sm, raw->regs_per_sm);
	set_u32(&ret_gpu->blocks_per_sm, raw->blocks_per_sm);
	set_u32(&ret_gpu->threads_per_sm, raw->threads_per_sm);
	set_rate(&ret_gpu->pcie_bytes_per_s, raw->pcie_gbps);
	set_time(&ret_gpu->pcie_latency_ps, raw->pcie_latency_us);
	set_time(&ret_gpu->trap_ps, raw->trap_us);
	set_time(&ret_gpu->setup_ps, raw->setup_us);
	set_time(&ret_gpu->switch_ps, raw->switch_us);
	set_fluid(ret_gpu, raw);
	return set_shmem(doc, raw, ret_gpu, err);
}
