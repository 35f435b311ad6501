/* The scenario reader: defaults, every key, and the exact sentence for every mistake. */
#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"
#include "trace/gpu.h"
#include "trace/scenario_read.h"
#include "trace/trace.h"

#define US 1000000ull

static const char *const schedulers[] = {"fcfs", "npq", "ppq", "ppq-shared", "dss", "timeslice"};

static const struct cot_scenario_options options = {
	.schedulers = schedulers,
	.n_schedulers = COT_ARRAY_LEN(schedulers),
};

static struct cot_scenario *parse_with(const char *text, const struct cot_scenario_options *opt)
{
	struct cot_scenario *sc = NULL;
	struct cot_error err = {""};

	if (cot_scenario_parse("s.yaml", text, strlen(text), opt, &sc, &err))
		fail_msg("%s", err.text);
	return sc;
}

static struct cot_scenario *parse(const char *text)
{
	return parse_with(text, &options);
}

#define HEAD	       "schema: cotenant.scenario/1\n"
#define APP	       "apps:\n  - name: a\n    program: [{cpu_us: 1}]\n"
#define SMGUARD	       "scheduler: timeslice\npolicy: smguard\n"
#define SHARED(s)      "apps: [{name: a, " s ", program: [{cpu_us: 1}]}]\n"
#define ARRIVALS_OF(s) "apps: [{name: a, arrivals: {" s "}, program: [{cpu_us: 1}]}]\n"
#define STEPS(s)       HEAD "apps:\n  - name: a\n    program:\n" s
#define KERNEL(k)      STEPS("      - kernel: {name: k, " k "}\n")

static void test_defaults(void **state)
{
	struct cot_scenario *sc =
		parse("schema: cotenant.scenario/1\n"
		      "apps:\n"
		      "  - name: a\n"
		      "    program: [{kernel: {name: k, blocks: 5, block_us: 2}}]\n");
	const struct cot_app *app = &sc->apps[0];

	(void)state;
	assert_string_equal(sc->gpu.name, "k20c");
	assert_string_equal(sc->scheduler, "fcfs");
	assert_int_equal(sc->preempt, COT_PREEMPT_SWITCH);
	assert_int_equal(sc->transfers, COT_TRANSFERS_FCFS);
	assert_int_equal(sc->seed, 1);
	assert_true(sc->block_jitter_cv == 0);
	assert_int_equal(sc->quantum_ps, 2000 * US);
	assert_int_equal(sc->stop_runs, 3);
	assert_int_equal(sc->stop_ps, 0);
	assert_int_equal(sc->n_apps, 1);
	assert_int_equal(app->priority, 0);
	assert_int_equal(app->tokens, COT_TOKENS_EQUAL);
	assert_int_equal(app->context, 0);
	assert_int_equal(app->start_ps, 0);
	assert_int_equal(app->program.n_steps, 1);
	assert_int_equal(app->program.steps[0].launches, 1);
	assert_int_equal(app->program.kernels[0].blocks_per_sm, 16);
	assert_int_equal(app->program.kernels[0].ctx_bytes_per_block, 0);
	cot_scenario_destroy(sc);
}

static const char full[] =
	"schema: cotenant.scenario/1\n"
	"gpu:\n"
	"  preset: h200\n"
	"  sms: 4\n"
	"  clock_mhz: 1000\n"
	"  dram_gbps: 100.5\n"
	"  regs_per_sm: 1000\n"
	"  shmem_configs_kb: [1, 2]\n"
	"  blocks_per_sm: 8\n"
	"  threads_per_sm: 512\n"
	"  pcie_gbps: 2.5\n"
	"  pcie_latency_us: 0.25\n"
	"  trap_us: 1.5\n"
	"  setup_us: 0.5\n"
	"scheduler: dss\n"
	"preempt: drain\n"
	"transfers: priority\n"
	"seed: 9223372036854775807\n"
	"block_jitter_cv: 0.3\n"
	"quantum_us: 500\n"
	"block_time: smooth\n"
	"stop: {runs: 7, at_us: 1000000}\n"
	"apps:\n"
	"  - name: first\n"
	"    priority: -3\n"
	"    tokens: 2\n"
	"    context: shared\n"
	"    start_us: 12.5\n"
	"    program:\n"
	"      - cpu_us: 0.5\n"
	"      - h2d_bytes: 4096\n"
	"      - repeat:\n"
	"          times: 3\n"
	"          program:\n"
	"            - kernel: {name: k, blocks: 33, kernel_us: 10, blocks_per_sm: 4,\n"
	"                       regs_per_block: 100, shmem_per_block: 256,\n"
	"                       threads_per_block: 128, launches: 2}\n"
	"            - sync\n"
	"      - d2h_bytes: 1\n"
	"  - name: second\n"
	"    class: latency\n"
	"    weight: 7\n"
	"    block_hint_us: 50\n"
	"    solo: true\n"
	"    pool_cost_pct: 12\n"
	"    program:\n"
	"      - kernel: {name: k, blocks: 1, block_us: 0.000001}\n"
	"  - name: third\n"
	"    context: shared\n"
	"    program: [{cpu_us: 1}]\n";

static void test_every_key_of_the_head(void **state)
{
	struct cot_scenario *sc = parse(full);
	const struct cot_gpu *gpu = &sc->gpu;

	(void)state;
	assert_string_equal(gpu->name, "custom");
	assert_int_equal(gpu->n_sms, 4);
	assert_int_equal(gpu->clock_mhz, 1000);
	assert_int_equal(gpu->dram_bytes_per_s, 100500000000);
	assert_int_equal(gpu->regs_per_sm, 1000);
	assert_int_equal(gpu->n_shmem_configs, 2);
	assert_int_equal(gpu->shmem_config_bytes[1], 2048);
	assert_int_equal(gpu->blocks_per_sm, 8);
	assert_int_equal(gpu->threads_per_sm, 512);
	assert_int_equal(gpu->pcie_bytes_per_s, 2500000000);
	assert_int_equal(gpu->pcie_latency_ps, US / 4);
	assert_int_equal(gpu->trap_ps, 3 * US / 2);
	assert_int_equal(gpu->setup_ps, US / 2);
	assert_string_equal(sc->scheduler, "dss");
	assert_int_equal(sc->preempt, COT_PREEMPT_DRAIN);
	assert_int_equal(sc->transfers, COT_TRANSFERS_PRIORITY);
	assert_true(sc->seed == INT64_MAX);
	assert_true(sc->block_jitter_cv == 0.3);
	assert_int_equal(sc->quantum_ps, 500 * US);
	assert_int_equal(sc->stop_runs, 7);
	assert_int_equal(sc->stop_ps, 1000000 * US);
	assert_int_equal(sc->n_apps, 3);
	cot_scenario_destroy(sc);
}

static void test_every_key_of_an_app(void **state)
{
	static const enum cot_step_kind kinds[] = {
		COT_STEP_CPU,  COT_STEP_H2D,	COT_STEP_KERNEL, COT_STEP_SYNC, COT_STEP_KERNEL,
		COT_STEP_SYNC, COT_STEP_KERNEL, COT_STEP_SYNC,	 COT_STEP_D2H,
	};
	struct cot_scenario *sc = parse(full);
	const struct cot_app *app = &sc->apps[0];
	const struct cot_program *p = &app->program;
	const struct cot_kernel *k = &p->kernels[0];
	uint32_t i;

	(void)state;
	assert_string_equal(app->name, "first");
	assert_int_equal(app->priority, -3);
	assert_int_equal(app->tokens, 2);
	assert_int_equal(app->start_ps, 25 * US / 2);
	assert_int_equal(p->n_steps, COT_ARRAY_LEN(kinds));
	for (i = 0; i < p->n_steps; i++)
		assert_int_equal(p->steps[i].kind, kinds[i]);
	assert_int_equal(p->steps[0].cpu_ps, US / 2);
	assert_int_equal(p->steps[1].bytes, 4096);
	assert_int_equal(p->steps[6].launches, 2);
	assert_int_equal(p->steps[8].bytes, 1);
	assert_int_equal(p->n_kernels, 1);
	assert_string_equal(k->name, "k");
	assert_int_equal(k->n_blocks, 33);
	assert_int_equal(k->blocks_per_sm, 4);
	/* 16 fit at once: 3 waves in 10 us */
	assert_int_equal(k->block_ps, 3333333);
	assert_int_equal(k->ctx_bytes_per_block, 4 * 100 + 256);
	assert_int_equal(sc->apps[1].program.kernels[0].block_ps, 1);
	assert_int_equal(app->cls, COT_CLASS_BATCH);
	assert_int_equal(app->weight, COT_WEIGHT_DEFAULT);
	assert_int_equal(app->block_hint_us, 0);
	assert_false(app->solo);
	assert_int_equal(app->pool_cost_pct, 0);
	assert_int_equal(sc->apps[1].pool_cost_pct, 12);
	assert_int_equal(sc->apps[1].cls, COT_CLASS_LATENCY);
	assert_int_equal(sc->apps[1].weight, 7);
	assert_int_equal(sc->apps[1].block_hint_us, 50);
	assert_true(sc->apps[1].solo);
	/* Contexts: the first and the third share one. */
	assert_int_equal(app->context, 0);
	assert_int_equal(sc->apps[1].context, 1);
	assert_int_equal(sc->apps[2].context, 0);
	cot_scenario_destroy(sc);
}

static void test_shares(void **state)
{
	struct cot_scenario *sc =
		parse("schema: cotenant.scenario/1\n"
		      "scheduler: timeslice\n"
		      "policy: smguard\n"
		      "workers: {grant_us: 1.5, evict_us: 8.5, overhead_percent: 5}\n"
		      "apps:\n"
		      "  - {name: a, class: latency, reserve: 30%, quota: 132sm,\n"
		      "     program: [{cpu_us: 1}]}\n"
		      "  - {name: b, quota: 66sm, program: [{cpu_us: 1}]}\n"
		      "  - {name: c, rewrite: true, program: [{cpu_us: 1}]}\n"
		      "  - {name: d, program: [{cpu_us: 1}]}\n");

	(void)state;
	assert_int_equal(sc->workers.grant_ps, 3 * US / 2);
	assert_int_equal(sc->workers.evict_ps, 17 * US / 2);
	assert_true(sc->workers.overhead == 0.05);
	assert_int_equal(sc->apps[0].reserve.pct, 30);
	assert_int_equal(sc->apps[0].reserve.sms, 0);
	assert_int_equal(sc->apps[0].quota.sms, 132);
	assert_int_equal(sc->apps[1].quota.sms, 66);
	assert_false(sc->apps[1].rewrite);
	assert_true(sc->apps[2].rewrite);
	assert_false(sc->apps[3].rewrite);
	assert_int_equal(sc->apps[3].quota.sms + sc->apps[3].quota.pct, 0);
	cot_scenario_destroy(sc);
	sc = parse(HEAD APP);
	assert_int_equal(sc->workers.grant_ps, COT_WORKERS_GRANT_US * US);
	assert_int_equal(sc->workers.evict_ps, COT_WORKERS_EVICT_US * US);
	assert_true(sc->workers.overhead == 0.0);
	cot_scenario_destroy(sc);
}

static void test_targets(void **state)
{
	struct cot_scenario *sc =
		parse("schema: cotenant.scenario/1\n"
		      "scheduler: timeslice\n"
		      "policy: smguard\n"
		      "apps:\n"
		      "  - {name: a, class: latency, p99: 2.5ms, program: [{cpu_us: 1}]}\n"
		      "  - {name: b, class: latency, slowdown: 1.3x, program: [{cpu_us: 1}]}\n"
		      "  - {name: c, rate: 80%, program: [{cpu_us: 1}]}\n"
		      "  - {name: d, program: [{cpu_us: 1}]}\n");

	(void)state;
	assert_int_equal(sc->apps[0].target.kind, COT_TARGET_P99);
	assert_int_equal(sc->apps[0].target.amount, 2500);
	assert_int_equal(sc->apps[1].target.kind, COT_TARGET_SLOWDOWN);
	assert_int_equal(sc->apps[1].target.amount, 1300);
	assert_int_equal(sc->apps[2].target.kind, COT_TARGET_RATE);
	assert_int_equal(sc->apps[2].target.amount, 800);
	assert_int_equal(sc->apps[3].target.kind, COT_TARGET_NONE);
	cot_scenario_destroy(sc);
}

static void test_options_win_over_the_file(void **state)
{
	const uint64_t seed = 42;
	struct cot_scenario_options opt = options;
	struct cot_scenario *sc;
	struct cot_error err = {""};

	(void)state;
	opt.scheduler = "npq";
	opt.preempt = "switch";
	opt.seed = &seed;
	sc = parse_with(full, &opt);
	assert_string_equal(sc->scheduler, "npq");
	assert_int_equal(sc->preempt, COT_PREEMPT_SWITCH);
	assert_int_equal(sc->seed, 42);
	cot_scenario_destroy(sc);

	opt.scheduler = "best";
	assert_int_equal(cot_scenario_parse("s", full, strlen(full), &opt, &sc, &err), -EINVAL);
	assert_string_equal(err.text, "unknown scheduler 'best'; expected one of fcfs, npq, ppq, "
				      "ppq-shared, dss, timeslice");
	opt.scheduler = NULL;
	opt.preempt = "flush";
	assert_int_equal(cot_scenario_parse("s", full, strlen(full), &opt, &sc, &err), -EINVAL);
	assert_string_equal(err.text,
			    "unknown way to preempt 'flush'; expected one of switch, drain");

	/* Without a list of names, any will do. */
	sc = parse_with(full, NULL);
	assert_string_equal(sc->scheduler, "dss");
	cot_scenario_destroy(sc);
}

#define APP_KEYS                                                                          \
	"name, priority, tokens, context, start_us, class, weight, block_hint_us, solo, " \
	"pool_cost_pct, "                                                                 \
	"quota, reserve, sms, p99, slowdown, rate, rewrite, qos, arrivals, sizes, program, trace"
#define STEP_KEYS "cpu_us, h2d_bytes, d2h_bytes, kernel, sync"
static const struct {
	const char *text, *expected;
} mistakes[] = {
	{"", "s.yaml:1:1: the file is empty; expected a map"},
	{APP, "s.yaml:1:1: the key 'schema' is missing; expected it in this file"},
	{HEAD, "s.yaml:1:1: the key 'apps' is missing; expected it in this file"},
	{"schema: cotenant.scenario/2\n" APP,
	 "s.yaml:1:9: schema is 'cotenant.scenario/2'; expected cotenant.scenario/1"},
	{HEAD "gpus: k20c\n" APP,
	 "s.yaml:2:1: unknown key 'gpus' (did you mean 'gpu'?); expected one of schema, gpu, scheduler, policy, "
	 "preempt, transfers, dispatch, seed, block_jitter_cv, quantum_us, epoch_cycles, rate_noise, "
	 "qos_batch_sms, qos_threshold, block_time, workers, stop, apps"},
	{HEAD SMGUARD SHARED("quota: 101%"),
	 "s.yaml:4:25: quota is '101%'; expected a part of the GPU such as 50% or 66sm"},
	{HEAD SMGUARD SHARED("quota: 50"),
	 "s.yaml:4:25: quota is '50'; expected a part of the GPU such as 50% or 66sm"},
	{HEAD SMGUARD SHARED("quota: 0sm"),
	 "s.yaml:4:25: quota is '0sm'; expected a part of the GPU such as 50% or 66sm"},
	{HEAD SMGUARD SHARED("reserve: 1025sm"),
	 "s.yaml:4:27: reserve is '1025sm'; expected a part of the GPU such as 50% or 66sm"},
	{HEAD SMGUARD SHARED("reserve: 30%"),
	 "s.yaml:4:27: a reserve is for apps of class latency; a batch app may have a quota"},
	{HEAD SMGUARD SHARED("class: latency, p99: 5"),
	 "s.yaml:4:39: p99 is '5'; expected a time such as 5ms"},
	{HEAD SMGUARD SHARED("class: latency, slowdown: 50%"),
	 "s.yaml:4:44: slowdown is '50%'; expected a multiple such as 1.5x"},
	{HEAD SMGUARD SHARED("rate: 1.5x"),
	 "s.yaml:4:24: rate is '1.5x'; expected a share such as 80%"},
	{HEAD SMGUARD SHARED("p99: 5ms"),
	 "s.yaml:4:23: p99 is for apps of class latency; a batch app may have a rate"},
	{HEAD SMGUARD SHARED("class: latency, rate: 80%, p99: 5ms"),
	 "s.yaml:4:40: an app has one target; expected p99 or rate, not both"},
	{HEAD "scheduler: dss\n" SHARED("rate: 80%"),
	 "s.yaml:3:24: rate is for a software policy; expected a policy such as smguard"},
	{HEAD SHARED("quota: 50%"), "s.yaml:2:25: quota is for a software policy; expected a "
				    "policy such as smguard"},
	{HEAD SHARED("rewrite: true"), "s.yaml:2:27: rewrite is for a software policy; expected a "
				       "policy such as smguard"},
	{HEAD "workers: {evict_us: -1}\n" APP,
	 "s.yaml:2:21: evict_us is '-1'; expected a number from 0 to 1000000 in us, or with a unit (ns, us, ms, s, min or h)"},
	{HEAD ARRIVALS_OF("gaps: even"),
	 "s.yaml:2:28: the key 'per_s' is missing; expected it in arrivals"},
	{HEAD ARRIVALS_OF("per_s: 0"),
	 "s.yaml:2:36: per_s is '0'; expected a number from 0.1 to 1000000"},
	{HEAD ARRIVALS_OF("per_s: 1, gaps: odd"),
	 "s.yaml:2:45: gaps is 'odd'; expected one of random, even, after"},
	{HEAD ARRIVALS_OF("per_s: 1, on_us: 1000"),
	 "s.yaml:2:28: arrivals have on_us; expected both on_us and off_us, or neither"},
	{HEAD ARRIVALS_OF("per_s: 1, off_us: 1000"),
	 "s.yaml:2:28: arrivals have off_us; expected both on_us and off_us, or neither"},
	{HEAD ARRIVALS_OF("per_s: 1, curve: [1]"),
	 "s.yaml:2:28: arrivals have a curve; expected both curve and curve_step_us, or neither"},
	{HEAD ARRIVALS_OF("per_s: 1, curve_step_us: 1000"),
	 "s.yaml:2:28: arrivals have curve_step_us; expected both curve and curve_step_us, or neither"},
	{HEAD ARRIVALS_OF("per_s: 1, curve: [0, 0.01], curve_step_us: 1000"),
	 "s.yaml:2:46: the mean of the curve is 0.005; expected at least 0.01"},
	{HEAD "stop: {runs: 1000000}\n" ARRIVALS_OF("per_s: 0.1"),
	 "s.yaml:3:8: the apps' runs take more than 1000000000000 us one after another; expected less"},
	{HEAD "scheduler: timeslice\npolicy: pools@4\n" APP,
	 "s.yaml:3:9: the policy 'pools@4' has a size; expected pools, as only parts has one"},
	{HEAD "scheduler: timeslice\npolicy: parts@14\n" APP,
	 "s.yaml:3:9: the policy 'parts@14' has no such size; expected parts@1 to parts@13, the SMs "
	 "that batch programs have"},
	{HEAD "scheduler: fcfs\npolicy: pools\n" APP,
	 "s.yaml:3:9: a policy needs the scheduler timeslice, not 'fcfs'"},
	{HEAD "gpu: k20\n" APP,
	 "s.yaml:2:6: unknown GPU 'k20'; expected one of k20c, gtx480, rtx2080ti, h200, "
	 "or a map of its fields"},
	{HEAD "gpu: {preset: k20}\n" APP,
	 "s.yaml:2:15: unknown GPU 'k20'; expected one of k20c, gtx480, rtx2080ti, h200, or a map of its "
	 "fields"},
	{HEAD "gpu: {sms: 0}\n" APP,
	 "s.yaml:2:12: sms is '0'; expected a whole number from 1 to 1024"},
	{HEAD "gpu: {sms: 1025}\n" APP,
	 "s.yaml:2:12: sms is '1025'; expected a whole number from 1 to 1024"},
	{HEAD "gpu: {dram_gbps: 0.5}\n" APP,
	 "s.yaml:2:18: dram_gbps is '0.5'; expected a number from 1 to 1000000 in GB/s, or with a unit (MB/s, GB/s or TB/s)"},
	{HEAD "gpu: {blocks_per_sm: 65}\n" APP,
	 "s.yaml:2:22: blocks_per_sm is '65'; expected a whole number from 1 to 64"},
	{HEAD "gpu: {shmem_configs_kb: [16, 48, 32]}\n" APP,
	 "s.yaml:2:34: shmem_configs_kb has 32 after 48; expected sizes that grow"},
	{HEAD "gpu: {shmem_configs_kb: [0]}\n" APP,
	 "s.yaml:2:26: an entry of shmem_configs_kb is '0'; expected a whole number from 1 to "
	 "65536 in KiB, or with a unit (B, kB, MB, GB, TB, KiB, MiB or GiB)"},
	{HEAD "scheduler: best\n" APP, "s.yaml:2:12: unknown scheduler 'best'; expected one of "
				       "fcfs, npq, ppq, ppq-shared, dss, timeslice"},
	{HEAD "preempt: flush\n" APP,
	 "s.yaml:2:10: preempt is 'flush'; expected one of switch, drain"},
	{HEAD "transfers: lifo\n" APP,
	 "s.yaml:2:12: transfers is 'lifo'; expected one of fcfs, priority"},
	{HEAD "block_time: mean\n" APP,
	 "s.yaml:2:13: block_time is 'mean'; expected one of wave, smooth, printed"},
	{HEAD "seed: 9223372036854775808\n" APP,
	 "s.yaml:2:7: seed is '9223372036854775808'; expected a whole number from 0 to "
	 "9223372036854775807"},
	{HEAD "seed: -1\n" APP,
	 "s.yaml:2:7: seed is '-1'; expected a whole number from 0 to 18446744073709551615"},
	{HEAD "block_jitter_cv: 2.1\n" APP,
	 "s.yaml:2:18: block_jitter_cv is '2.1'; expected a number from 0 to 2"},
	{HEAD "quantum_us: 0\n" APP,
	 "s.yaml:2:13: quantum_us is '0'; expected a number from 1 to 1000000000 in us, or with a unit (ns, us, ms, s, min or h)"},
	{HEAD "stop: {}\n" APP, "s.yaml:2:7: stop is an empty map; expected runs, at_us or both"},
	{HEAD "stop: 3\n" APP, "s.yaml:2:7: stop is '3'; expected a map of runs, at_us"},
	{HEAD "stop: {runs: 0}\n" APP,
	 "s.yaml:2:14: runs is '0'; expected a whole number from 1 to 1000000"},
	{HEAD "stop: {at_us: 0}\n" APP,
	 "s.yaml:2:15: at_us is '0'; expected a number from 0.000001 to 1000000000000 in us, or with a unit (ns, us, ms, s, min or h)"},
	{HEAD "apps: []\n", "s.yaml:2:7: apps has 0 entries; expected 1 to 32"},
	{HEAD "apps:\n  - a\n", "s.yaml:3:5: an entry of apps is 'a'; expected a map of " APP_KEYS},
	{HEAD "apps:\n  - program: [{cpu_us: 1}]\n",
	 "s.yaml:3:5: the key 'name' is missing; expected it in each entry of apps"},
	{HEAD "apps:\n  - name: a\n",
	 "s.yaml:3:5: the app has neither program nor trace; expected one of them"},
	{HEAD APP "    trace: parboil/lbm\n",
	 "s.yaml:3:5: the app has both program and trace; expected one of them"},
	{HEAD APP "  - name: a\n    trace: parboil/lbm\n",
	 "s.yaml:5:11: two apps are named 'a'; expected a name of its own for each"},
	{HEAD "apps:\n"
	      "  - name: abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz123456789012\n"
	      "    trace: parboil/lbm\n",
	 "s.yaml:3:11: name is 'abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqr...'; expected text of "
	 "1 to 63 bytes"},
	{HEAD APP "    priority: 1.5\n",
	 "s.yaml:5:15: priority is '1.5'; expected a whole number from -1000000 to 1000000"},
	{HEAD APP "    tokens: 2000\n",
	 "s.yaml:5:13: tokens is '2000'; expected a whole number from 0 to 1024"},
	{HEAD APP "    start_us: -1\n",
	 "s.yaml:5:15: start_us is '-1'; expected a number from 0 to 1000000000 in us, or with a unit (ns, us, ms, s, min or h)"},
	{HEAD "apps:\n  - name: a\n    trace: parboil/bfs\n",
	 "s.yaml:4:12: no trace 'parboil/bfs'; expected a file *.yaml or one that "
	 "`cotenant list traces` shows"},
	{HEAD "apps:\n  - name: a\n    trace: no/such.yaml\n",
	 "s.yaml:4:12: the trace 'no/such.yaml' cannot be used: no/such.yaml: cannot open: No such "
	 "file or directory"},
	{HEAD "gpu: {regs_per_sm: 4096}\napps:\n  - name: a\n    trace: parboil/lbm\n",
	 "s.yaml:5:12: the trace 'parboil/lbm' cannot be used: traces/parboil/lbm.yaml:14:13: the "
	 "kernel 'StreamCollide' does not fit an SM of the GPU 'custom': a block needs 4320 "
	 "registers and 0 bytes of shared memory"},
	{STEPS("      - sync\n"),
	 "s.yaml:5:7: the program takes no time; expected a step besides sync"},
	{STEPS("      - {}\n"), "s.yaml:5:9: a step does nothing; expected one thing in each step"},
	{STEPS("      - cpu_us: 1\n        sync: true\n"),
	 "s.yaml:5:9: a step does several things; expected one thing in each step"},
	{STEPS("      - sync: false\n"), "s.yaml:5:9: sync is false; expected '- sync'"},
	{STEPS("      - snyc\n"),
	 "s.yaml:5:9: an entry of program is 'snyc'; expected the word sync or a map of " STEP_KEYS
	 ", repeat"},
	{STEPS("      - cpu_us: 0\n"),
	 "s.yaml:5:17: cpu_us is '0'; expected a number from 0.000001 to 1000000000 in us, or with a unit (ns, us, ms, s, min or h)"},
	{STEPS("      - h2d_bytes: 1e6\n"),
	 "s.yaml:5:20: h2d_bytes is '1e6'; expected a whole number from 1 to 1099511627776 in B, or with a unit (B, kB, MB, GB, TB, KiB, MiB or GiB)"},
	{STEPS("      - repeat: {times: 0, program: [sync]}\n"),
	 "s.yaml:5:25: times is '0'; expected a whole number from 1 to 65536"},
	{STEPS("      - repeat: {times: 2, program: [{repeat: {}}]}\n"),
	 "s.yaml:5:39: unknown key 'repeat'; expected one of " STEP_KEYS},
	{STEPS("      - repeat: {times: 2, program: [sync]}\n"),
	 "s.yaml:5:37: the program takes no time; expected a step besides sync"},
	{STEPS("      - repeat: {times: 65536, program: [{cpu_us: 1}, sync]}\n"),
	 "s.yaml:5:9: the program is too long; expected at most 65536 steps with its loops "
	 "unrolled"},
	{KERNEL("bloks: 3, block_us: 1"),
	 "s.yaml:5:27: unknown key 'bloks' (did you mean 'blocks'?); expected one of name, blocks, block_us, kernel_us, "
	 "blocks_per_sm, regs_per_block, shmem_per_block, threads_per_block, launches, machine_code, "
	 "warps_per_block, insts_per_warp, insts_per_block, cpi, mem_fraction, dram_bytes, "
	 "latency_cycles, mlp, "
	 "ipc_max, gpu_ipc_max"},
	{KERNEL("blocks: 3, block_us: 1, warps_per_block: 4, insts_per_warp: 9"),
	 "s.yaml:5:17: the kernel has both a measured time and instructions; expected either "
	 "block_us or kernel_us, or insts_per_warp or insts_per_block"},
	{KERNEL("blocks: 3, insts_per_warp: 9"),
	 "s.yaml:5:17: the kernel lacks warps_per_block; expected it beside insts_per_warp or "
	 "insts_per_block"},
	{KERNEL("blocks: 3, warps_per_block: 4, mlp: 2"),
	 "s.yaml:5:17: the kernel has neither insts_per_warp nor insts_per_block; expected one of "
	 "them"},
	{KERNEL("blocks: 3, warps_per_block: 4, insts_per_block: 3"),
	 "s.yaml:5:17: a block has 3 instructions; expected at least one for each of its 4 warps, "
	 "and at most 1000000000000"},
	{KERNEL("blocks: 3, warps_per_block: 4, insts_per_warp: 3, mem_fraction: 1.5"),
	 "s.yaml:5:91: mem_fraction is '1.5'; expected a number from 0 to 1"},
	{KERNEL("block_us: 1"), "s.yaml:5:17: the key 'blocks' is missing; expected it in kernel"},
	{KERNEL("blocks: 3"),
	 "s.yaml:5:17: the kernel has neither block_us nor kernel_us; expected one of them"},
	{KERNEL("blocks: 3, block_us: 1, kernel_us: 1"),
	 "s.yaml:5:17: the kernel has both block_us and kernel_us; expected one of them"},
	{KERNEL("blocks: 2147483649, block_us: 1"),
	 "s.yaml:5:35: blocks is '2147483649'; expected a whole number from 1 to 2147483648"},
	{KERNEL("blocks: 3, block_us: 1, launches: 0"),
	 "s.yaml:5:61: launches is '0'; expected a whole number from 1 to 1000000"},
	{KERNEL("blocks: 3, block_us: 1, blocks_per_sm: 17"),
	 "s.yaml:5:66: blocks_per_sm is 17; expected at most 16, which is what fits an SM"},
	{KERNEL("blocks: 3, block_us: 1, threads_per_block: 256, blocks_per_sm: 9"),
	 "s.yaml:5:90: blocks_per_sm is 9; expected at most 8, which is what fits an SM"},
	{KERNEL("blocks: 3, block_us: 1, regs_per_block: 65537"),
	 "s.yaml:5:17: a block needs 65537 registers, 0 bytes of shared memory and 0 threads; "
	 "expected at most 65536, 49152 and 2048, which is what an SM has"},
	{KERNEL("blocks: 1000000000, kernel_us: 0.001"),
	 "s.yaml:5:17: a block takes less than 0.000001 us; expected at least that"},
	{KERNEL("blocks: 2147483648, block_us: 1e9"),
	 "s.yaml:3:5: the apps' runs take more than 1000000000000 us one after another; expected "
	 "less"},
	{HEAD "apps: [\r\n  {name: a,\r\n   program: [{cpu_us: x}]}]\r\n",
	 "s.yaml:4:23: cpu_us is 'x'; expected a number from 0.000001 to 1000000000 in us, or with a unit (ns, us, ms, s, min or h)"},
};

static void test_mistakes(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(mistakes); i++) {
		struct cot_scenario *sc = NULL;
		struct cot_error err = {""};
		int rc = cot_scenario_parse("s.yaml", mistakes[i].text, strlen(mistakes[i].text),
					    &options, &sc, &err);

		assert_string_equal(err.text, mistakes[i].expected);
		assert_int_equal(rc, -EINVAL);
		assert_null(sc);
	}
}

static void test_sizes(void **state)
{
	struct cot_scenario *sc;

	(void)state;
	sc = parse(HEAD "apps: [{name: a, sizes: [16, 64, 32], program: [{cpu_us: 1}]}, "
			"{name: b, program: [{cpu_us: 1}]}]\n");
	assert_int_equal(sc->apps[0].n_sizes, 3);
	assert_int_equal(sc->apps[0].sizes[0], 16);
	assert_int_equal(sc->apps[0].sizes[2], 32);
	assert_int_equal(sc->apps[0].full_size, 64);
	assert_int_equal(sc->apps[1].n_sizes, 0);
	cot_scenario_destroy(sc);
}

static void test_arrivals(void **state)
{
	struct cot_scenario *sc =
		parse(HEAD ARRIVALS_OF("per_s: 500, gaps: even, on_us: 2000, off_us: 3000, "
				       "curve: [0.5, 0, 2], curve_step_us: 1000, "
				       "size_cv: 0.25"));
	const struct cot_arrivals *a = &sc->apps[0].arrivals;

	(void)state;
	assert_true(a->per_s == 500);
	assert_int_equal(a->gaps, COT_GAPS_EVEN);
	assert_int_equal(a->on_ps, 2000 * US);
	assert_int_equal(a->off_ps, 3000 * US);
	assert_int_equal(a->n_curve, 3);
	assert_true(a->curve[0] == 0.5 && a->curve[1] == 0 && a->curve[2] == 2);
	assert_int_equal(a->curve_step_ps, 1000 * US);
	assert_true(a->size_cv == 0.25);
	cot_scenario_destroy(sc);
	sc = parse(HEAD ARRIVALS_OF("per_s: 0.1"));
	a = &sc->apps[0].arrivals;
	assert_int_equal(a->gaps, COT_GAPS_RANDOM);
	assert_int_equal(a->on_ps + a->off_ps + a->n_curve + a->curve_step_ps, 0);
	assert_true(a->size_cv == 0);
	cot_scenario_destroy(sc);
	sc = parse(HEAD APP);
	assert_true(sc->apps[0].arrivals.per_s == 0);
	cot_scenario_destroy(sc);
}

static void test_too_many_apps(void **state)
{
	char text[8192];
	size_t n = (size_t)snprintf(text, sizeof(text), HEAD "apps:\n");
	struct cot_scenario *sc = NULL;
	struct cot_error err = {""};
	int i;

	(void)state;
	for (i = 0; i < COT_MAX_APPS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "  - {name: a%d, program: [{cpu_us: 1}]}\n", i);
	sc = parse(text);
	assert_int_equal(sc->n_apps, COT_MAX_APPS);
	assert_int_equal(sc->apps[31].context, 31);
	cot_scenario_destroy(sc);
	(void)snprintf(text + n, sizeof(text) - n, "  - {name: b, program: [{cpu_us: 1}]}\n");
	assert_int_equal(cot_scenario_parse("s.yaml", text, strlen(text), &options, &sc, &err),
			 -EINVAL);
	assert_string_equal(err.text, "s.yaml:3:3: apps has 33 entries; expected 1 to 32");
}

static void test_same_kernel_is_kept_once(void **state)
{
	struct cot_scenario *sc =
		parse(STEPS("      - kernel: {name: k, blocks: 3, block_us: 1}\n"
			    "      - kernel: {name: k, blocks: 3, block_us: 1, launches: 5}\n"
			    "      - kernel: {name: k, blocks: 4, block_us: 1}\n"));

	(void)state;
	assert_int_equal(sc->apps[0].program.n_kernels, 2);
	assert_int_equal(sc->apps[0].program.steps[1].kernel, 0);
	assert_int_equal(sc->apps[0].program.steps[1].launches, 5);
	assert_int_equal(sc->apps[0].program.steps[2].kernel, 1);
	cot_scenario_destroy(sc);
}

static void test_block_time_reaches_traces(void **state)
{
	static const struct {
		const char *mode;
		uint64_t block_ps;
	} cases[] = {{"wave", 31245269}, {"smooth", 31479608}, {"printed", 2420000}};
	char text[256];
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		struct cot_scenario *sc;

		(void)snprintf(text, sizeof(text),
			       HEAD "block_time: %s\napps:\n  - name: a\n    trace: parboil/lbm\n",
			       cases[i].mode);
		sc = parse(text);
		assert_int_equal(sc->apps[0].program.kernels[0].block_ps, cases[i].block_ps);
		cot_scenario_destroy(sc);
	}
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

#define TRACE                                                                      \
	"schema: cotenant.trace/1\nname: mine\nsummary: s\nsource: s\ngpu: k20c\n" \
	"kernels: t.csv\nbenchmark: b\n"                                           \
	"program:\n  - kernel: {name: k, launches: 3}\n"
#define TABLE                                                                                  \
	"# mine\nbenchmark,kernel,avg_time_us,num_tbs,regs_per_tb,shmem_per_tb_b,tbs_per_sm\n" \
	"b,k,10,260,1024,0,10\nc,k,10,260,1024,0,10\n"

/* A trace of the user's own, looked for beside the scenario. */
static void test_trace_files(void **state)
{
	static const struct {
		const char *trace, *table, *expected;
	} cases[] = {
		{"schema: x\n" TRACE, TABLE,
		 "t.yaml:1:9: schema is 'x'; expected cotenant.trace/1"},
		{TRACE "name: again\n", TABLE,
		 "t.yaml:10:1: the key 'name' is here a second time; expected it once"},
		{TRACE "  - kernel: {name: z}\n", TABLE,
		 "t.yaml:10:13: no kernel 'z' of benchmark 'b' in the table; expected one of its "
		 "rows"},
		{TRACE, "benchmark,kernel\nb,k\n",
		 "t.csv:1:1: no column 'avg_time_us'; expected columns out of benchmark, dataset, "
		 "kernel, launches, avg_time_us, num_tbs, time_per_tb_us, shmem_per_tb_b, "
		 "regs_per_tb, tbs_per_sm, resource_pct, save_time_us, class1, class2"},
		{TRACE, TABLE "b,k,10,260\n", "t.csv:5:1: the line has 4 cells; expected 7"},
		{TRACE, TABLE "b,k,10,260,1024,0,10\n",
		 "t.csv:5:3: the kernel 'k' has two rows; expected one"},
		{TRACE, TABLE "b,j,10,0,1024,0,10\n",
		 "t.csv:5:8: num_tbs is '0'; expected a whole number from 1 to 2147483648"},
		{TRACE, TABLE "b,j,-10,3,1024,0,10\n",
		 "t.csv:5:5: avg_time_us is '-10'; expected a number from 0.000001 to 1000000000"},
		{TRACE, TABLE "b,\"j\",10,3,1024,0,10\n",
		 "t.csv:5:3: a quote in a cell; expected cells without quotes"},
		{TRACE, "\n", "t.csv:1:1: the file is empty; expected a line of column names"},
		{TRACE, "benchmark,kernel,kernel\n",
		 "t.csv:1:18: the column name 'kernel' is there twice; expected a name of its own"},
		{TRACE, "benchmark,kernels\n",
		 "t.csv:1:1: unknown column 'kernels'; expected columns out of benchmark, dataset, "
		 "kernel, launches, avg_time_us, num_tbs, time_per_tb_us, shmem_per_tb_b, "
		 "regs_per_tb, tbs_per_sm, resource_pct, save_time_us, class1, class2"},
	};
	char folder[] = P_tmpdir "/test-trace-XXXXXX", path[64], back[4096];
	struct cot_scenario *sc;
	struct cot_error err;
	size_t i;

	(void)state;
	assert_non_null(getcwd(back, sizeof(back)));
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(mkdir("d", 0700), 0);
	write_file("d/s.yaml", HEAD "apps:\n  - name: a\n    trace: t.yaml\n");
	write_file("d/t.yaml", TRACE);
	write_file("d/t.csv", TABLE);
	(void)snprintf(path, sizeof(path), "d/s.yaml");
	if (cot_scenario_read(path, &options, &sc, &err))
		fail_msg("%s", err.text);
	assert_int_equal(sc->apps[0].program.kernels[0].block_ps, 5 * US);
	cot_scenario_destroy(sc);
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		write_file("d/t.yaml", cases[i].trace);
		write_file("d/t.csv", cases[i].table);
		assert_int_equal(cot_scenario_read(path, &options, &sc, &err), -EINVAL);
		assert_memory_equal(err.text, "d/", 2);
		assert_string_equal(err.text + 2, cases[i].expected);
	}
	assert_int_equal(unlink("d/t.csv"), 0);
	write_file("d/t.yaml", TRACE);
	assert_int_equal(cot_scenario_read(path, &options, &sc, &err), -EINVAL);
	assert_string_equal(err.text, "d/s.yaml:4:12: the trace 't.yaml' cannot be used: d/t.csv: "
				      "cannot open: No such file or directory");
	assert_int_equal(unlink("d/t.yaml") | unlink("d/s.yaml") | rmdir("d"), 0);
	assert_int_equal(chdir(back) | rmdir(folder), 0);
}

static void test_unreadable_files(void **state)
{
	struct cot_scenario *sc;
	struct cot_error err;

	(void)state;
	assert_int_equal(cot_scenario_read("no/such/file.yaml", &options, &sc, &err), -ENOENT);
	assert_string_equal(err.text, "no/such/file.yaml: cannot open: No such file or directory");
	assert_int_equal(cot_scenario_read(".", &options, &sc, &err), -EISDIR);
	assert_string_equal(err.text, ".: cannot read: Is a directory");
}

/* What is saved of a block is what it holds, in recorded programs as in written ones. */
static void check_contexts(const struct cot_program *p)
{
	uint32_t i;

	for (i = 0; i < p->n_kernels; i++)
		assert_int_equal(p->kernels[i].ctx_bytes_per_block,
				 4 * p->kernels[i].regs_per_block + p->kernels[i].shmem_per_block);
}

/* Every one that is shipped can be read, with what is in it. */
static void test_ready_scenarios(void **state)
{
	const char *source = getenv("SOURCE_DIR");
	unsigned n_goals = 0, n_shares = 0, n_policies = 0;
	char pattern[4096];
	glob_t found;
	size_t i, k;

	(void)state;
	(void)snprintf(pattern, sizeof(pattern), "%s/scenarios/*.yaml", source ? source : ".");
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_true(found.gl_pathc >= 10);
	for (i = 0; i < found.gl_pathc; i++) {
		struct cot_scenario *sc;
		struct cot_error err = {""};

		if (cot_scenario_read(found.gl_pathv[i], NULL, &sc, &err))
			fail_msg("%s", err.text);
		for (k = 0; k < sc->n_apps; k++) {
			n_goals += sc->apps[k].qos.ipc > 0 || sc->apps[k].qos.percent > 0;
			n_shares += sc->apps[k].reserve.pct || sc->apps[k].reserve.sms;
			check_contexts(&sc->apps[k].program);
		}
		n_policies += sc->policy[0] != '\0';
		cot_scenario_destroy(sc);
	}
	globfree(&found);
	assert_true(n_goals && n_shares && n_policies);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_every_key_of_the_head),
		cmocka_unit_test(test_every_key_of_an_app),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_options_win_over_the_file),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_arrivals),
		cmocka_unit_test(test_too_many_apps),
		cmocka_unit_test(test_same_kernel_is_kept_once),
		cmocka_unit_test(test_block_time_reaches_traces),
		cmocka_unit_test(test_trace_files),
		cmocka_unit_test(test_unreadable_files),
		cmocka_unit_test(test_ready_scenarios),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
