#include "trace/scenario_fields.h"
#include "model/smqos.h"

#include "base/units.h"
#include "trace/program.h"
#include "trace/workload.h"

#define KIB 1024u

#define TO(key, member, ...)  COT_FIELD(key, struct cot_scenario_file, member, __VA_ARGS__)
#define GPU(key, member, ...) TO(key, sc.gpu.member, __VA_ARGS__)
#define APP(key, member, ...) COT_FIELD(key, struct cot_app, member, __VA_ARGS__)
#define US(min, max)	      COT_NUMBER(min, max), .in = COT_UNIT_US, .unit = COT_PS_PER_US
#define GBPS(min, max)	      COT_NUMBER(min, max), .in = COT_UNIT_GB_S, .unit = 1e9

static const struct cot_field power_fields[] = {
	GPU("base_w", power.base_w, COT_NUMBER(0, 100000)),
	GPU("gated_w", power.gated_w, COT_NUMBER(0, 1000)),
	GPU("idle_w", power.idle_w, COT_NUMBER(0, 1000)),
	GPU("active_w", power.active_w, COT_NUMBER(0, 1000)),
	GPU("inst_nj", power.inst_nj, COT_NUMBER(0, 1000)),
	GPU("dram_pj_per_bit", power.dram_pj_per_bit, COT_NUMBER(0, 1000)),
	GPU("wake_cycles", power.wake_cycles, COT_WHOLE(0, 1000000)),
	{0},
};

static const struct cot_field gpu_fields[] = {
	GPU("preset", name, COT_TEXT, .alone = true),
	GPU("sms", n_sms, COT_WHOLE(1, COT_MAX_SMS)),
	GPU("clock_mhz", clock_mhz, COT_WHOLE(1, 100000), .in = COT_UNIT_MHZ),
	GPU("dram_gbps", dram_bytes_per_s, GBPS(1, 1000000)),
	GPU("regs_per_sm", regs_per_sm, COT_WHOLE(1, COT_REGS_MAX)),
	GPU("shmem_configs_kb", shmem_config_bytes, COT_WHOLE(1, COT_SHMEM_MAX / KIB),
	    .in = COT_UNIT_KIB, .unit = KIB, .list = COT_MAX_SHMEM_CONFIGS),
	GPU("blocks_per_sm", blocks_per_sm, COT_WHOLE(1, COT_MAX_BLOCKS_PER_SM)),
	GPU("threads_per_sm", threads_per_sm, COT_WHOLE(1, COT_THREADS_MAX)),
	GPU("pcie_gbps", pcie_bytes_per_s, GBPS(0.01, 1000000)),
	GPU("pcie_latency_us", pcie_latency_ps, US(0, 1000000)),
	GPU("trap_us", trap_ps, US(0, 1000000)),
	GPU("setup_us", setup_ps, US(0, 1000000)),
	GPU("switch_us", switch_ps, US(0, 1000000)),
	GPU("resume_us", resume_ps, US(0, 1000000)),
	GPU("issue_width", issue_width, COT_NUMBER(0.125, 64)),
	GPU("sm_bytes_per_cycle", sm_bytes_per_cycle, COT_NUMBER(0.125, 4096)),
	GPU("dram_efficiency", dram_efficiency, COT_NUMBER(0.01, 1)),
	GPU("queueing", queueing, COT_NUMBER(0, 10)),
	GPU("load_max", load_max, COT_NUMBER(0.01, 0.999)),
	GPU("share_penalty", share_penalty, COT_NUMBER(0, 10)),
	GPU("share_stall", share_stall, COT_NUMBER(0, 1)),
	COT_FIELD_CHECKED("power", COT_MAP(power_fields)),
	{0},
};

static const struct cot_field stop_fields[] = {
	TO("runs", sc.stop_runs, COT_WHOLE(1, 1000000)),
	TO("at_us", sc.stop_ps, US(COT_STEP_US_MIN, COT_TIME_US_MAX)),
	{0},
};

static const struct cot_field workers_fields[] = {
	TO("grant_us", sc.workers.grant_ps, US(0, 1000000), .otherwise = COT_WORKERS_GRANT_US),
	TO("evict_us", sc.workers.evict_ps, US(0, 1000000), .otherwise = COT_WORKERS_EVICT_US),
	TO("overhead_percent", sc.workers.overhead, COT_NUMBER(0, 1000), .unit = 0.01),
	{0},
};

static const struct cot_field qos_fields[] = {
	APP("kernel", qos.kernel, COT_TEXT),
	APP("ipc", qos.ipc, COT_NUMBER(0.000001, 65536)),
	APP("percent", qos.percent, COT_NUMBER(1, 100)),
	{0},
};

static const struct cot_field_word class_words[] = {
	{"batch", COT_CLASS_BATCH},
	{"latency", COT_CLASS_LATENCY},
	{0},
};

static const struct cot_field_word gap_words[] = {
	{"random", COT_GAPS_RANDOM},
	{"even", COT_GAPS_EVEN},
	{"after", COT_GAPS_AFTER},
	{0},
};

static const struct cot_field arrivals_fields[] = {
	APP("per_s", arrivals.per_s, COT_NUMBER(0.1, 1000000), .required = true),
	APP("gaps", arrivals.gaps, COT_WORD(gap_words)),
	APP("on_us", arrivals.on_ps, US(1000, COT_STEP_US_MAX)),
	APP("off_us", arrivals.off_ps, US(1000, COT_STEP_US_MAX)),
	APP("curve", arrivals.curve, COT_NUMBER(0, 1000), .list = COT_CURVE_MAX),
	APP("curve_step_us", arrivals.curve_step_ps, US(1000, COT_STEP_US_MAX)),
	APP("size_cv", arrivals.size_cv, COT_NUMBER(0, 2)),
	{0},
};

/* What apps and jobs have in common. */
#define ROWS_OF_CLASS                                                               \
	APP("class", cls, COT_WORD(class_words), .otherwise = COT_CLASS_BATCH),     \
		APP("weight", weight, COT_WHOLE(COT_WEIGHT_MIN, COT_WEIGHT_MAX),    \
		    .otherwise = COT_WEIGHT_DEFAULT),                               \
		APP("block_hint_us", block_hint_us, COT_WHOLE(0, COT_BLOCK_US_MAX), \
		    .in = COT_UNIT_US)
#define ROWS_OF_TARGETS                                                       \
	COT_FIELD_CHECKED("p99", COT_TEXT_TO(COT_NAME_MAX - 1)),              \
		COT_FIELD_CHECKED("slowdown", COT_TEXT_TO(COT_NAME_MAX - 1)), \
		COT_FIELD_CHECKED("rate", COT_TEXT_TO(COT_NAME_MAX - 1))
#define ROWS_OF_WORK                                                                    \
	COT_FIELD_CHECKED("arrivals", COT_MAP(arrivals_fields)),                        \
		APP("sizes", sizes, COT_WHOLE(1, COT_SIZE_MAX), .list = COT_SIZES_MAX), \
		COT_FIELD_CHECKED("program", COT_MAP(cot_program_step_fields),          \
				  .list = COT_PROGRAM_STEPS_MAX),                       \
		COT_FIELD_CHECKED("trace", COT_TEXT_TO(1023))

static const struct cot_field app_fields[] = {
	APP("name", name, COT_TEXT, .required = true),
	APP("priority", priority, COT_WHOLE(-1000000, 1000000)),
	APP("tokens", tokens, COT_WHOLE(0, COT_MAX_SMS)),
	COT_FIELD_CHECKED("context", COT_TEXT_TO(COT_NAME_MAX - 1)),
	APP("start_us", start_ps, US(0, COT_STEP_US_MAX)),
	ROWS_OF_CLASS,
	APP("solo", solo, COT_BOOL),
	APP("pool_cost_pct", pool_cost_pct, COT_WHOLE(0, COT_POOL_COST_MAX)),
	COT_FIELD_CHECKED("quota", COT_TEXT_TO(COT_NAME_MAX - 1)),
	COT_FIELD_CHECKED("reserve", COT_TEXT_TO(COT_NAME_MAX - 1)),
	COT_FIELD_CHECKED("sms", COT_TEXT_TO(COT_NAME_MAX - 1)),
	ROWS_OF_TARGETS,
	APP("rewrite", rewrite, COT_BOOL),
	COT_FIELD_CHECKED("qos", COT_MAP(qos_fields)),
	ROWS_OF_WORK,
	{0},
};

static const struct cot_field_word schema_words[] = {{"cotenant.scenario/1", 0}, {0}};
static const struct cot_field_word preempt_words[] = {
	{"switch", COT_PREEMPT_SWITCH},
	{"drain", COT_PREEMPT_DRAIN},
	{0},
};
static const struct cot_field_word transfers_words[] = {
	{"fcfs", COT_TRANSFERS_FCFS},
	{"priority", COT_TRANSFERS_PRIORITY},
	{0},
};
static const struct cot_field_word dispatch_words[] = {
	{"depth", COT_DISPATCH_DEPTH},
	{"breadth", COT_DISPATCH_BREADTH},
	{0},
};
static const struct cot_field_word block_time_words[] = {
	{"wave", COT_BLOCK_TIME_WAVE},
	{"smooth", COT_BLOCK_TIME_SMOOTH},
	{"printed", COT_BLOCK_TIME_PRINTED},
	{0},
};

const struct cot_field cot_scenario_fields[] = {
	COT_FIELD_CHECKED("schema", COT_WORD(schema_words), .required = true),
	COT_FIELD_CHECKED("gpu", COT_MAP(gpu_fields)),
	TO("scheduler", sc.scheduler, COT_TEXT),
	TO("policy", sc.policy, COT_TEXT),
	TO("preempt", sc.preempt, COT_WORD(preempt_words)),
	TO("transfers", sc.transfers, COT_WORD(transfers_words)),
	TO("dispatch", sc.dispatch, COT_WORD(dispatch_words)),
	TO("seed", sc.seed, COT_WHOLE(0, 0), .otherwise = 1),
	TO("block_jitter_cv", sc.block_jitter_cv, COT_NUMBER(0, 2)),
	/* of time slicing on real GPUs: about 2 ms */
	TO("quantum_us", sc.quantum_ps, US(1, COT_STEP_US_MAX), .otherwise = 2000),
	TO("epoch_cycles", sc.epoch_cycles, COT_WHOLE(100, 1000000000),
	   .otherwise = COT_EPOCH_CYCLES_DEFAULT),
	TO("rate_noise", sc.rate_noise, COT_NUMBER(0, 0.2)),
	TO("qos_batch_sms", sc.qos_batch_sms, COT_WHOLE(0, COT_MAX_SMS), .otherwise = 1),
	TO("qos_threshold", sc.qos_threshold, COT_NUMBER(0.0001, 0.5),
	   .otherwise = COT_SMQOS_THRESHOLD),
	TO("block_time", block_time, COT_WORD(block_time_words)),
	COT_FIELD_CHECKED("workers", COT_MAP(workers_fields)),
	COT_FIELD_CHECKED("stop", COT_MAP(stop_fields)),
	TO("apps", sc.apps, COT_MAP(app_fields), .list = COT_MAX_APPS, .required = true),
	{0},
};

/* ---- workloads ---- */

#define JOB(key, member, ...)  COT_FIELD(key, struct cot_job, member, __VA_ARGS__)
#define WORK(key, member, ...) COT_FIELD(key, struct cot_workload, member, __VA_ARGS__)
#define MEMORY		       COT_WHOLE(1, COT_WORKLOAD_MEMORY_MAX), .in = COT_UNIT_B

static const struct cot_field job_fields[] = {
	JOB("name", app.name, COT_TEXT_TO(COT_WORKLOAD_NAME_MAX - 1), .required = true),
	JOB("count", count, COT_WHOLE(1, COT_WORKLOAD_PROGRAMS_MAX), .otherwise = 1),
	JOB("memory", memory_bytes, MEMORY),
	JOB("watts", watts, COT_NUMBER(0, COT_WORKLOAD_WATTS_MAX)),
	ROWS_OF_CLASS,
	ROWS_OF_TARGETS,
	ROWS_OF_WORK,
	JOB("knowledge", knowledge, COT_TEXT_TO(COT_WORKLOAD_PATH_MAX - 1)),
	{0},
};

static const struct cot_field_word workload_words[] = {{"cotenant.jobs/1", 0}, {0}};

const struct cot_field cot_workload_fields[] = {
	COT_FIELD_CHECKED("schema", COT_WORD(workload_words), .required = true),
	COT_FIELD_CHECKED("gpu", COT_MAP(gpu_fields)),
	WORK("gpu_memory", memory_bytes, MEMORY),
	TO("seed", sc.seed, COT_WHOLE(0, 0), .otherwise = 1),
	WORK("jobs", jobs, COT_MAP(job_fields), .list = COT_WORKLOAD_JOBS_MAX, .required = true),
	{0},
};
