#include "trace/kernels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpu_sheet.h"
#include "text/text.h"
#include "text/yaml.h"
#include "trace/program.h"

#define KIB	  1024u
#define COUNT_MIN 1e-6

struct preset {
	const char *name;
	struct cot_model_gpu gpu;
};

/* Published or measured values (docs/models.md has their sources). */
static const struct preset presets[] = {
	{
		/* GT200, compute capability 1.3: the patent's GPU */
		.name = "c1060",
		.gpu.n_sms = 30,
		.gpu.clock_ghz = 1.296,
		.gpu.threads_per_sm = 1024,
		.gpu.blocks_per_sm = 8,
		.gpu.regs_per_sm = 16384,
		.gpu.shmem_per_sm = 16 * KIB,
		.gpu.dram_gbps = 102,
		.gpu.pcie_gbps = 5,
		.gpu.memory_bytes = 4e9,
		.gpu.mem_latency = 450,
		.gpu.uncoal_delay = 40,
		.gpu.coal_delay = 4,
		.gpu.issue = 4,
	},
	{
		/* G80: Hong and Kim, Table 1 and section 3 */
		.name = "fx5600",
		.gpu.n_sms = 16,
		.gpu.clock_ghz = 1.35,
		.gpu.threads_per_sm = 768,
		.gpu.blocks_per_sm = 8,
		.gpu.regs_per_sm = 8192,
		.gpu.shmem_per_sm = 16 * KIB,
		.gpu.dram_gbps = 76.8,
		.gpu.pcie_gbps = 3,
		.gpu.memory_bytes = 1.5e9,
		.gpu.mem_latency = 420,
		.gpu.uncoal_delay = 10,
		.gpu.coal_delay = 4,
		.gpu.issue = 4,
	},
	{
		/*
		 * As measured (results/h200/2026-11-22/contention). An SM issues four warp
		 * instructions per cycle. One access takes 725 cycles when one warp on every SM
		 * waits for one; sectors read one by one leave an SM every 2.5 cycles. At full
		 * bandwidth an access of 128 B leaves an SM every 132 * 128 * 1.98 / 4719 = 7
		 * cycles.
		 */
		.name = "h200",
		.gpu.n_sms = COT_H200_SMS,
		.gpu.clock_ghz = COT_H200_CLOCK_MHZ / 1000.0,
		.gpu.threads_per_sm = COT_H200_THREADS_PER_SM,
		.gpu.blocks_per_sm = COT_H200_BLOCKS_PER_SM,
		.gpu.regs_per_sm = COT_H200_REGS_PER_SM,
		.gpu.shmem_per_sm = COT_H200_SHMEM_PER_SM,
		.gpu.dram_gbps = 4719,
		.gpu.pcie_gbps = COT_H200_PCIE_GBPS,
		.gpu.memory_bytes = 141e9,
		.gpu.mem_latency = 725,
		.gpu.uncoal_delay = 2.5,
		.gpu.coal_delay = 7,
		.gpu.issue = 0.25,
	},
};

/* ---- what may be written; counts and times stay so small that no sum or product of them leaves a
 * double ---- */

#define TO(key, member, ...)	 COT_FIELD(key, struct cot_kernels, member, __VA_ARGS__)
#define KERNEL(key, member, ...) COT_FIELD(key, struct written_kernel, member, __VA_ARGS__)
#define EVENT(key, member, ...)	 COT_FIELD(key, struct cot_kernels_event, member, __VA_ARGS__)
#define SMS(key, member, ...)	 COT_FIELD(key, struct cot_kernels_sms, member, __VA_ARGS__)
#define COUNT			 COT_NUMBER(0, 1e15)

struct written_kernel {
	char name[COT_NAME_MAX];
	uint32_t count;
	double h2d_bytes, d2h_bytes;
	struct cot_kernels_event events[COT_MODEL_EXTRA_MAX];
	struct cot_model_kernel k;
};

static const struct cot_field gpu_fields[] = {
	TO("preset", gpu_name, COT_TEXT, .alone = true),
	TO("sms", gpu.n_sms, COT_WHOLE(1, COT_MAX_SMS)),
	TO("clock_mhz", gpu.clock_ghz, COT_WHOLE(1, 100000), .in = COT_UNIT_MHZ, .unit = 0.001),
	TO("threads_per_sm", gpu.threads_per_sm, COT_WHOLE(32, COT_THREADS_MAX)),
	TO("blocks_per_sm", gpu.blocks_per_sm, COT_WHOLE(1, COT_MODEL_SLOTS_MAX)),
	TO("regs_per_sm", gpu.regs_per_sm, COT_WHOLE(1, COT_REGS_MAX)),
	TO("shmem_per_sm", gpu.shmem_per_sm, COT_WHOLE(1, COT_SHMEM_MAX), .in = COT_UNIT_B),
	TO("dram_gbps", gpu.dram_gbps, COT_NUMBER(0.1, 1000000), .in = COT_UNIT_GB_S),
	TO("pcie_gbps", gpu.pcie_gbps, COT_NUMBER(0.01, 1000000), .in = COT_UNIT_GB_S),
	TO("memory_gb", gpu.memory_bytes, COT_NUMBER(0.001, 1000000), .in = COT_UNIT_GB,
	   .unit = 1e9),
	TO("mem_latency_cycles", gpu.mem_latency, COT_NUMBER(1, 1000000)),
	TO("uncoalesced_delay_cycles", gpu.uncoal_delay, COT_NUMBER(0, 100000)),
	TO("coalesced_delay_cycles", gpu.coal_delay, COT_NUMBER(0, 100000)),
	TO("issue_cycles", gpu.issue, COT_NUMBER(0.01, 10000)),
	{0},
};

static const struct cot_field launch_fields[] = {
	TO("call_us", gpu.launch.call_s, COT_NUMBER(0, 1e9), .in = COT_UNIT_US, .unit = 1e-6),
	TO("end_us", gpu.launch.end_s, COT_NUMBER(0, 1e9), .in = COT_UNIT_US, .unit = 1e-6),
	TO("end_beside_us", gpu.launch.end_beside_s, COT_NUMBER(0, 1e9), .in = COT_UNIT_US,
	   .unit = 1e-6),
	TO("end_stream_us", gpu.launch.end_stream_s, COT_NUMBER(0, 1e9), .in = COT_UNIT_US,
	   .unit = 1e-6),
	TO("instance_us", gpu.launch.instance_s, COT_NUMBER(0, 1e9), .in = COT_UNIT_US,
	   .unit = 1e-6),
	TO("gap_us", gpu.launch.gap_s, COT_NUMBER(0, 1e9), .in = COT_UNIT_US, .unit = 1e-6),
	TO("block_ns", gpu.launch.block_s, COT_NUMBER(0, 1e9), .unit = 1e-9),
	TO("blocks_most_us", gpu.launch.blocks_most_s, COT_NUMBER(0, 1e9), .in = COT_UNIT_US,
	   .unit = 1e-6),
	TO("block_nj", gpu.launch.block_j, COT_NUMBER(0, 1e9), .unit = 1e-9),
	{0},
};

static const struct cot_field power_event_fields[] = {
	EVENT("name", name, COT_TEXT, .required = true),
	EVENT("w", value, COT_NUMBER(-1e9, 1e9), .required = true),
	{0},
};

static const struct cot_field kernel_event_fields[] = {
	EVENT("name", name, COT_TEXT, .required = true),
	EVENT("count", value, COUNT, .required = true),
	{0},
};

static const struct cot_field power_fields[] = {
	TO("idle_w", power.idle_w, COT_NUMBER(0, 1000000), .required = true),
	TO("lambda_w", power.lambda_w, COT_NUMBER(-1000000, 1000000), .required = true),
	TO("memory_w", power.memory_w, COT_NUMBER(-1e9, 1e9)),
	TO("instruction_w", power.instruction_w, COT_NUMBER(-1e9, 1e9)),
	TO("events", events, COT_MAP(power_event_fields), .list = COT_MODEL_EXTRA_MAX),
	TO("thermal_gain", power.thermal_gain, COT_NUMBER(0, 100)),
	TO("thermal_tau_s", power.tau_s, COT_NUMBER(0.001, 1000000), .in = COT_UNIT_S),
	{0},
};

static const struct cot_field kernel_fields[] = {
	KERNEL("name", name, COT_TEXT, .required = true),
	KERNEL("blocks", k.n_blocks, COT_WHOLE(1, COT_KERNELS_BLOCKS_MAX), .required = true),
	KERNEL("threads_per_block", k.threads_per_block, COT_WHOLE(1, COT_THREADS_MAX),
	       .required = true),
	KERNEL("regs_per_block", k.regs_per_block, COT_WHOLE(0, COT_REGS_MAX)),
	KERNEL("shmem_per_block", k.shmem_per_block, COT_WHOLE(0, COT_SHMEM_MAX), .in = COT_UNIT_B),
	KERNEL("comp", k.comp, COUNT, .required = true),
	KERNEL("uncoalesced", k.uncoal, COUNT),
	KERNEL("coalesced", k.coal, COUNT),
	KERNEL("syncs", k.syncs, COUNT),
	KERNEL("transactions", k.transactions, COT_NUMBER(1, 32), .otherwise = 32),
	KERNEL("load_bytes", k.load_bytes, COT_NUMBER(1, 1048576), .in = COT_UNIT_B,
	       .otherwise = 128),
	KERNEL("h2d_bytes", h2d_bytes, COUNT, .in = COT_UNIT_B),
	KERNEL("d2h_bytes", d2h_bytes, COUNT, .in = COT_UNIT_B),
	KERNEL("memory_bytes", k.memory_bytes, COUNT, .in = COT_UNIT_B),
	KERNEL("events", events, COT_MAP(kernel_event_fields), .list = COT_MODEL_EXTRA_MAX),
	KERNEL("cpu_s", k.cpu_s, COT_NUMBER(0, 1e9), .in = COT_UNIT_S),
	KERNEL("cpu_w", k.cpu_w, COT_NUMBER(0, 1000000)),
	KERNEL("launches", k.launches, COT_WHOLE(1, 1000000), .otherwise = 1),
	KERNEL("call_us", k.call_s, COT_NUMBER(0, 1e9), .in = COT_UNIT_US, .unit = 1e-6),
	KERNEL("alone_us", k.alone_s, COT_NUMBER(0, 1e12), .in = COT_UNIT_US, .unit = 1e-6),
	KERNEL("alone_j", k.alone_j, COT_NUMBER(0, 1e12)),
	KERNEL("count", count, COT_WHOLE(0, COT_KERNELS_COPIES_MAX), .otherwise = 1),
	{0},
};

static const struct cot_field sms_fields[] = {
	SMS("sms", sms, COT_WHOLE(1, COT_MAX_SMS), .required = true),
	SMS("blocks_each", blocks, COT_NUMBER(0, 1000000000), .list = COT_KERNELS_MAX,
	    .required = true),
	{0},
};

static const struct cot_field_word schema_words[] = {{"cotenant.kernels/1", 0}, {0}};

static const struct cot_field fields[] = {
	COT_FIELD_CHECKED("schema", COT_WORD(schema_words), .required = true),
	COT_FIELD_CHECKED("gpu", COT_MAP(gpu_fields)),
	COT_FIELD_CHECKED("launch", COT_MAP(launch_fields)),
	COT_FIELD_CHECKED("power", COT_MAP(power_fields)),
	COT_FIELD_CHECKED("kernels", COT_MAP(kernel_fields), .list = COT_KERNELS_MAX,
			  .required = true),
	TO("layout", layout, COT_MAP(sms_fields), .list = COT_KERNELS_LAYOUT_MAX),
	{0},
};

struct reader {
	const struct cot_yaml *doc;
	struct cot_kernels *out;
	struct cot_error *err;
};

static uint32_t get(const struct reader *r, uint32_t map, const char *key)
{
	return cot_yaml_get(r->doc, map, key);
}

/* ---- the GPU and its power ---- */

static const struct preset *find_preset(const char *name)
{
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(presets); i++)
		if (!strcmp(presets[i].name, name))
			return &presets[i];
	return NULL;
}

static int fail_preset(struct reader *r, uint32_t map, const char *name)
{
	char list[128] = "", quote[COT_QUOTE_MAX];
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(presets); i++)
		cot_text_add_word(list, sizeof(list), presets[i].name);
	return cot_yaml_fail_key(r->doc, map, "preset", r->err,
				 "unknown GPU '%s'; expected one of %s, or a map of its fields",
				 cot_text_quote(name, quote), list);
}

/* A preset, which the rest of the file fills over. */
static int take_preset(struct reader *r)
{
	uint32_t map = get(r, COT_YAML_ROOT, "gpu");
	const char *given = cot_yaml_text(r->doc, get(r, map, "preset"));
	const struct preset *preset = find_preset(given ? given : presets[0].name);

	if (!preset)
		return fail_preset(r, map, given);
	r->out->gpu = preset->gpu;
	(void)snprintf(r->out->gpu_name, sizeof(r->out->gpu_name), "%s", preset->name);
	return 0;
}

static void name_gpu(struct reader *r)
{
	uint32_t map = get(r, COT_YAML_ROOT, "gpu");
	bool named = get(r, map, "preset") != COT_YAML_NONE;

	if (cot_yaml_count(r->doc, map) > named)
		(void)snprintf(r->out->gpu_name, sizeof(r->out->gpu_name), "custom");
}

static int check_power(struct reader *r)
{
	uint32_t map = get(r, COT_YAML_ROOT, "power");
	const struct cot_model_power *p = &r->out->power;

	r->out->has_power = map != COT_YAML_NONE;
	if (p->thermal_gain > 0 && p->tau_s <= 0)
		return cot_yaml_fail_key(r->doc, map, "thermal_gain", r->err,
					 "thermal_gain without thermal_tau_s; expected the time "
					 "constant beside it");
	return 0;
}

/* Each kind of events once. */
static int check_events(struct reader *r, uint32_t list, const struct cot_kernels_event *events)
{
	uint32_t node, n = 0, i;

	for (node = cot_yaml_first(r->doc, list); node != COT_YAML_NONE;
	     node = cot_yaml_next(r->doc, node), n++)
		for (i = 0; i < n; i++)
			if (!strcmp(events[i].name, events[n].name))
				return cot_yaml_fail_key(r->doc, node, "name", r->err,
							 "the events '%s' are there twice; "
							 "expected each kind once",
							 events[n].name);
	return 0;
}

static int read_power_events(struct reader *r)
{
	uint32_t list = get(r, get(r, COT_YAML_ROOT, "power"), "events"), i;
	struct cot_kernels *out = r->out;

	if (list == COT_YAML_NONE)
		return 0;
	out->n_events = cot_yaml_count(r->doc, list);
	for (i = 0; i < out->n_events; i++)
		out->power.extra_w[i] = out->events[i].value;
	return check_events(r, list, out->events);
}

/* ---- kernels ---- */

static int check_name(struct reader *r, uint32_t node, const char *name)
{
	uint32_t i;

	for (i = 0; i < r->out->n; i++)
		if (!strcmp(r->out->names[i], name))
			return cot_yaml_fail_key(
				r->doc, node, "name", r->err,
				"two kernels are named '%s'; expected a name of its "
				"own for each",
				name);
	return 0;
}

/* One block must fit on an SM. */
static int check_block(struct reader *r, uint32_t node, const struct cot_model_kernel *k)
{
	const struct cot_model_gpu *gpu = &r->out->gpu;
	const struct {
		const char *key, *what;
		uint32_t needs, has;
	} checks[] = {
		{"threads_per_block", "threads", k->threads_per_block, gpu->threads_per_sm},
		{"regs_per_block", "registers", k->regs_per_block, gpu->regs_per_sm},
		{"shmem_per_block", "bytes of shared memory", k->shmem_per_block,
		 gpu->shmem_per_sm},
	};
	size_t c;

	for (c = 0; c < COT_ARRAY_LEN(checks); c++)
		if (checks[c].needs > checks[c].has)
			return cot_yaml_fail_key(
				r->doc, node, checks[c].key, r->err,
				"a block takes %u %s; expected at most %u, what an SM of "
				"the GPU '%s' has",
				checks[c].needs, checks[c].what, checks[c].has, r->out->gpu_name);
	return 0;
}

/* Less than this of anything is nothing, and would make ratios that no double holds. */
static int check_counts(struct reader *r, uint32_t node, const struct cot_model_kernel *k)
{
	const struct {
		const char *key;
		double count;
	} counts[] = {
		{"comp", k->comp},
		{"uncoalesced", k->uncoal},
		{"coalesced", k->coal},
	};
	size_t c;

	for (c = 0; c < COT_ARRAY_LEN(counts); c++)
		if (counts[c].count > 0 && counts[c].count < COUNT_MIN)
			return cot_yaml_fail_key(r->doc, node, counts[c].key, r->err,
						 "%s is %g; expected 0 or at least %g",
						 counts[c].key, counts[c].count, COUNT_MIN);
	return 0;
}

static int check_work(struct reader *r, uint32_t node, const struct cot_model_kernel *k)
{
	if (!(k->comp + k->uncoal + k->coal > 0))
		return cot_yaml_fail(r->doc, node, r->err,
				     "the kernel does nothing; expected comp, coalesced or "
				     "uncoalesced above 0");
	if ((k->cpu_s > 0) != (k->cpu_w > 0))
		return cot_yaml_fail(r->doc, node, r->err,
				     "the kernel has only one of cpu_s and cpu_w; expected both "
				     "or neither");
	return 0;
}

/* Without a power model nobody asks for a kernel's events, so their names are not known either. */
static int read_kernel_events(struct reader *r, uint32_t node, struct written_kernel *w)
{
	uint32_t list = get(r, node, "events"), entry, n = 0, i;
	int rc = list == COT_YAML_NONE ? 0 : check_events(r, list, w->events);

	if (rc || list == COT_YAML_NONE || !r->out->has_power)
		return rc;
	for (entry = cot_yaml_first(r->doc, list); entry != COT_YAML_NONE;
	     entry = cot_yaml_next(r->doc, entry), n++) {
		for (i = 0; i < r->out->n_events; i++)
			if (!strcmp(r->out->events[i].name, w->events[n].name))
				break;
		if (i == r->out->n_events)
			return cot_yaml_fail_key(r->doc, entry, "name", r->err,
						 "power has no events '%s'; expected one of those "
						 "that it names",
						 w->events[n].name);
		w->k.extra[i] = w->events[n].value;
	}
	return 0;
}

static int read_kernel(struct reader *r, uint32_t node)
{
	struct written_kernel w = {.count = 0};
	struct cot_kernels *out = r->out;
	int rc;

	cot_yaml_fill(r->doc, node, kernel_fields, &w);
	w.k.transfer_bytes = w.h2d_bytes + w.d2h_bytes;
	rc = check_name(r, node, w.name);
	rc = rc ? rc : check_block(r, node, &w.k);
	rc = rc ? rc : check_counts(r, node, &w.k);
	rc = rc ? rc : check_work(r, node, &w.k);
	rc = rc ? rc : read_kernel_events(r, node, &w);
	if (rc)
		return rc;
	memcpy(out->names[out->n], w.name, sizeof(w.name));
	out->pending[out->n] = w.count;
	out->kernels[out->n++] = w.k;
	return 0;
}

/* ---- layout ---- */

/* Every block of every kernel is in the layout once. */
static int check_placed(struct reader *r, uint32_t layout)
{
	const struct cot_kernels *out = r->out;
	double placed;
	uint32_t i, k;

	for (k = 0; k < out->n; k++) {
		placed = 0;
		for (i = 0; i < out->n_layout; i++)
			placed += out->layout[i].sms * out->layout[i].blocks[k];
		if (placed < out->kernels[k].n_blocks || placed > out->kernels[k].n_blocks)
			return cot_yaml_fail(r->doc, layout, r->err,
					     "the layout has %.10g blocks of '%s'; expected %u, "
					     "all that it has",
					     placed, out->names[k], out->kernels[k].n_blocks);
	}
	return 0;
}

static int read_layout(struct reader *r)
{
	uint32_t layout = get(r, COT_YAML_ROOT, "layout"), node, n, total = 0;
	struct cot_kernels *out = r->out;

	for (node = cot_yaml_first(r->doc, layout); node != COT_YAML_NONE;
	     node = cot_yaml_next(r->doc, node)) {
		n = cot_yaml_count(r->doc, get(r, node, "blocks_each"));
		if (n != out->n)
			return cot_yaml_fail_key(
				r->doc, node, "blocks_each", r->err,
				"blocks_each has %u numbers; expected %u, one for each kernel", n,
				out->n);
		total += out->layout[out->n_layout++].sms;
		if (total > out->gpu.n_sms)
			return cot_yaml_fail_key(
				r->doc, node, "sms", r->err,
				"the layout has %u SMs so far; expected at most %u, what the GPU "
				"has",
				total, out->gpu.n_sms);
	}
	return out->n_layout ? check_placed(r, layout) : 0;
}

static int read_all(struct reader *r)
{
	uint32_t node = cot_yaml_first(r->doc, get(r, COT_YAML_ROOT, "kernels"));
	int rc = take_preset(r);

	if (rc)
		return rc;
	cot_yaml_fill(r->doc, COT_YAML_ROOT, fields, r->out);
	name_gpu(r);
	rc = check_power(r);
	rc = rc ? rc : read_power_events(r);
	for (; !rc && node != COT_YAML_NONE; node = cot_yaml_next(r->doc, node))
		rc = read_kernel(r, node);
	return rc ? rc : read_layout(r);
}

int cot_kernels_parse(const char *name, const void *bytes, size_t size, struct cot_kernels *ret,
		      struct cot_error *err)
{
	struct cot_kernels out;
	struct reader r = {.out = &out, .err = err};
	struct cot_yaml *doc;
	int rc;

	rc = cot_yaml_load(name, bytes, size, fields, &doc, err);
	if (rc)
		return rc;
	memset(&out, 0, sizeof(out));
	r.doc = doc;
	rc = read_all(&r);
	cot_yaml_destroy(doc);
	if (!rc)
		*ret = out;
	return rc;
}

int cot_kernels_read(const char *path, struct cot_kernels *ret, struct cot_error *err)
{
	const char *name = strcmp(path, "-") != 0 ? path : "stdin";
	size_t size;
	char *bytes;
	int rc;

	rc = cot_text_read(path, &bytes, &size, err);
	if (rc)
		return rc;
	rc = cot_kernels_parse(name, bytes, size, ret, err);
	free(bytes);
	return rc;
}
