/*
 * cotenant list: what there is to put into a scenario, or into the daemon's configuration.
 */
#include <argp.h>
#include <cotenant/policy.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "report/format.h"
#include "report/table.h"
#include "sim/hw/hw.h"
#include "text/nearest.h"
#include "trace/gpu.h"
#include "trace/trace.h"

struct arguments {
	const char *what;
	const char *json;
};

enum { KEY_JSON = 256 };

#define LISTS "schedulers, policies, gpus or traces"

static const struct argp_option options[] = {
	COT_CLI_JSON(KEY_JSON, 0),
	{0},
};

/* ---- schedulers ---- */

static struct cot_table *table_schedulers(void)
{
	static const struct cot_column columns[] = {
		{"scheduler", COT_ALIGN_LEFT},
		{"preempts", COT_ALIGN_LEFT},
		{"what it does", COT_ALIGN_LEFT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	unsigned i;

	for (i = 0; i < hw_n_scheds; i++) {
		cot_table_text(t, hw_scheds[i]->name);
		cot_table_text(t, hw_scheds[i]->preempts ? "yes" : "no");
		cot_table_text(t, hw_scheds[i]->summary);
	}
	return t;
}

static json_t *json_scheduler(unsigned i)
{
	return json_pack("{s:s, s:b, s:s}", "name", hw_scheds[i]->name, "preempts",
			 hw_scheds[i]->preempts ? 1 : 0, "summary", hw_scheds[i]->summary);
}

static unsigned n_schedulers(void)
{
	return hw_n_scheds;
}

/* ---- policies ---- */

static struct cot_table *table_policies(void)
{
	static const struct cot_column columns[] = {
		{"policy", COT_ALIGN_LEFT},
		{"MPS", COT_ALIGN_LEFT},
		{"what it does", COT_ALIGN_LEFT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	unsigned i;

	for (i = 0; i < cot_n_policies; i++) {
		cot_table_text(t, cot_policies[i]->name);
		cot_table_text(t, cot_policies[i]->wants_pools ? "yes" : "no");
		cot_table_text(t, cot_policies[i]->summary);
	}
	return t;
}

static json_t *json_policy(unsigned i)
{
	return json_pack("{s:s, s:b, s:s}", "name", cot_policies[i]->name, "pools",
			 cot_policies[i]->wants_pools ? 1 : 0, "summary", cot_policies[i]->summary);
}

static unsigned n_policies(void)
{
	return cot_n_policies;
}

/* ---- GPUs ---- */

static uint32_t shmem_max(const struct cot_gpu *gpu)
{
	return gpu->shmem_config_bytes[gpu->n_shmem_configs - 1];
}

static struct cot_table *table_gpus(void)
{
	static const struct cot_column columns[] = {
		{"GPU", COT_ALIGN_LEFT},	 {"SMs", COT_ALIGN_RIGHT},
		{"MHz", COT_ALIGN_RIGHT},	 {"memory", COT_ALIGN_RIGHT},
		{"PCIe", COT_ALIGN_RIGHT},	 {"registers/SM", COT_ALIGN_RIGHT},
		{"shared/SM", COT_ALIGN_RIGHT},	 {"blocks/SM", COT_ALIGN_RIGHT},
		{"threads/SM", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	struct cot_text text;
	unsigned i;

	for (i = 0; i < cot_n_gpu_presets; i++) {
		const struct cot_gpu *gpu = &cot_gpu_presets[i];

		cot_table_text(t, gpu->name);
		cot_table_cell(t, "%" PRIu32, gpu->n_sms);
		cot_table_cell(t, "%" PRIu32, gpu->clock_mhz);
		cot_table_cell(t, "%s/s", cot_format_bytes(&text, (double)gpu->dram_bytes_per_s));
		cot_table_cell(t, "%s/s", cot_format_bytes(&text, (double)gpu->pcie_bytes_per_s));
		cot_table_text(t, cot_format_count(&text, gpu->regs_per_sm));
		cot_table_cell(t, "%" PRIu32 " KiB", shmem_max(gpu) / 1024);
		cot_table_cell(t, "%" PRIu32, gpu->blocks_per_sm);
		cot_table_cell(t, "%" PRIu32, gpu->threads_per_sm);
	}
	return t;
}

static json_t *json_gpu(unsigned i)
{
	const struct cot_gpu *gpu = &cot_gpu_presets[i];
	json_t *configs = json_array();
	uint32_t c;

	for (c = 0; c < gpu->n_shmem_configs; c++)
		(void)json_array_append_new(
			configs, json_integer((json_int_t)gpu->shmem_config_bytes[c] / 1024));
	/* The keys and units of a scenario's `gpu` map. */
	return json_pack("{s:s, s:I, s:I, s:f, s:I, s:o, s:I, s:I, s:f, s:f}", "name", gpu->name,
			 "sms", (json_int_t)gpu->n_sms, "clock_mhz", (json_int_t)gpu->clock_mhz,
			 "dram_gbps", (double)gpu->dram_bytes_per_s / 1e9, "regs_per_sm",
			 (json_int_t)gpu->regs_per_sm, "shmem_configs_kb", configs, "blocks_per_sm",
			 (json_int_t)gpu->blocks_per_sm, "threads_per_sm",
			 (json_int_t)gpu->threads_per_sm, "pcie_gbps",
			 (double)gpu->pcie_bytes_per_s / 1e9, "pcie_latency_us",
			 (double)gpu->pcie_latency_ps / 1e6);
}

static unsigned n_gpus(void)
{
	return cot_n_gpu_presets;
}

/* ---- traces ---- */

static struct cot_table *table_traces(void)
{
	static const struct cot_column columns[] = {
		{"trace", COT_ALIGN_LEFT},
		{"what it is", COT_ALIGN_LEFT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	unsigned i;

	for (i = 0; i < cot_trace_count(); i++) {
		cot_table_text(t, cot_trace_name(i));
		cot_table_text(t, cot_trace_summary(i));
	}
	return t;
}

static json_t *json_trace(unsigned i)
{
	return json_pack("{s:s, s:s}", "name", cot_trace_name(i), "summary", cot_trace_summary(i));
}

/* ---- the command ---- */

static const struct list {
	const char *name;
	struct cot_table *(*table)(void); /* NULL when out of memory */
	json_t *(*item)(unsigned i);
	unsigned (*n)(void);
} lists[] = {
	{"schedulers", table_schedulers, json_scheduler, n_schedulers},
	{"policies", table_policies, json_policy, n_policies},
	{"gpus", table_gpus, json_gpu, n_gpus},
	{"traces", table_traces, json_trace, cot_trace_count},
};

static const struct list *find(const char *name)
{
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(lists); i++)
		if (!strcmp(lists[i].name, name))
			return &lists[i];
	return NULL;
}

static void fail_unknown(const char *name, struct argp_state *state)
{
	char hint[COT_NEAREST_HINT_MAX];
	struct cot_nearest near = {.word = name};
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(lists); i++)
		cot_nearest_try(&near, lists[i].name);
	argp_error(state, "unknown list '%s'%s; expected " LISTS, name,
		   cot_nearest_hint(&near, hint));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_JSON:
		a->json = cot_cli_json(arg, state);
		return 0;
	case ARGP_KEY_ARG:
		if (a->what)
			argp_error(state, "one list at a time; '%s' is one too many", arg);
		if (!find(arg))
			fail_unknown(arg, state);
		a->what = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->what)
			argp_error(state, "expected " LISTS);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int print_text(const struct list *list, struct cot_error *err)
{
	if (cot_table_print(list->table(), stdout))
		return cot_error_set(err, -ENOMEM, "out of memory");
	return cot_cli_flush(err);
}

static int print_json(const struct list *list, const char *path, struct cot_error *err)
{
	json_t *items = json_array();
	unsigned i, n = list->n();

	for (i = 0; i < n; i++)
		(void)json_array_append_new(items, list->item(i));
	return cot_cli_write_json(
		json_pack("{s:s, s:o}", "schema", "cotenant.list/1", list->name, items), path, err);
}

int cot_cmd_list(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "schedulers|policies|gpus|traces",
		.doc = "Shows what a scenario can name: the hardware schedulers, the software "
		       "policies (which cotenantd knows as well), the GPU presets, or the built-in "
		       "traces of applications.",
		.children = cot_cli_argp_children,
	};
	struct arguments args = {0};
	struct cot_error err;
	int rc;

	if (cot_cli_parse(&argp, argc, argv, 0, &args))
		return COT_EXIT_FAILURE;
	if (args.json)
		rc = print_json(find(args.what), args.json, &err);
	else
		rc = print_text(find(args.what), &err);
	return cot_cli_end(rc, &err);
}
