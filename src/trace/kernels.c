#include "trace/kernels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/text.h"
#include "trace/kernels_raw.h"

#define SCHEMA	     "cotenant.kernels/1"
#define PATH_MAX_LEN 64
#define KIB	     1024u
#define COUNT_MIN    1e-6

const struct cot_kernels_gpu cot_kernels_gpus[] = {
	{
		/* GT200, compute capability 1.3: the patent's GPU */
		.name = "c1060",
		.sms = 30,
		.clock_mhz = 1296,
		.threads_per_sm = 1024,
		.blocks_per_sm = 8,
		.regs_per_sm = 16384,
		.shmem_per_sm = 16 * KIB,
		.dram_gbps = 102,
		.pcie_gbps = 5,
		.memory_bytes = 4e9,
		.mem_latency = 450,
		.uncoalesced_delay = 40,
		.coalesced_delay = 4,
		.issue = 4,
	},
	{
		/* G80: Hong and Kim, Table 1 and section 3 */
		.name = "fx5600",
		.sms = 16,
		.clock_mhz = 1350,
		.threads_per_sm = 768,
		.blocks_per_sm = 8,
		.regs_per_sm = 8192,
		.shmem_per_sm = 16 * KIB,
		.dram_gbps = 76.8,
		.pcie_gbps = 3,
		.memory_bytes = 1.5e9,
		.mem_latency = 420,
		.uncoalesced_delay = 10,
		.coalesced_delay = 4,
		.issue = 4,
	},
	{
		/*
		 * GH100 with HBM3e, as measured (data/measured/h200). An SM issues four warp
		 * instructions per cycle. One access takes 725 cycles when one warp on every SM
		 * waits for one; sectors read one by one leave an SM every 2.5 cycles. At full
		 * bandwidth an access of 128 B leaves an SM every 132 * 128 * 1.98 / 4719 = 7
		 * cycles.
		 */
		.name = "h200",
		.sms = 132,
		.clock_mhz = 1980,
		.threads_per_sm = 2048,
		.blocks_per_sm = 32,
		.regs_per_sm = 65536,
		.shmem_per_sm = 228 * KIB,
		.dram_gbps = 4719,
		.pcie_gbps = 63,
		.memory_bytes = 141e9,
		.mem_latency = 725,
		.uncoalesced_delay = 2.5,
		.coalesced_delay = 7,
		.issue = 0.25,
	},
};
const unsigned cot_n_kernels_gpus = COT_ARRAY_LEN(cot_kernels_gpus);

struct reader {
	const struct cot_yaml *doc;
	const struct cot_raw_kernels *raw;
	struct cot_kernels *out;
	struct cot_error *err;
};

static const struct cot_kernels_gpu *find_preset(const char *name)
{
	unsigned i;

	for (i = 0; i < cot_n_kernels_gpus; i++)
		if (!strcmp(cot_kernels_gpus[i].name, name))
			return &cot_kernels_gpus[i];
	return NULL;
}

static int fail_preset(struct reader *r, const char *name)
{
	char list[128] = "", quote[COT_QUOTE_MAX];
	size_t n = 0;
	unsigned i;

	for (i = 0; i < cot_n_kernels_gpus && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
				      cot_kernels_gpus[i].name);
	return cot_yaml_fail(r->doc, "gpu.preset", r->err,
			     "unknown GPU '%s'; expected one of %s, or a map of its fields",
			     cot_text_quote(name, quote), list);
}

static void set_u32(uint32_t *field, const uint32_t *value, bool *changed)
{
	if (value) {
		*field = *value;
		*changed = true;
	}
}

static void set_double(double *field, const double *value, bool *changed)
{
	if (value) {
		*field = *value;
		*changed = true;
	}
}

static int read_gpu(struct reader *r)
{
	static const struct cot_raw_model_gpu none;
	const struct cot_raw_model_gpu *raw = r->raw->gpu ? r->raw->gpu : &none;
	const char *name = raw->preset ? raw->preset : cot_kernels_gpus[0].name;
	const struct cot_kernels_gpu *preset = find_preset(name);
	struct cot_kernels_gpu *gpu = &r->out->gpu;
	bool changed = false;

	if (!preset)
		return fail_preset(r, name);
	*gpu = *preset;
	set_u32(&gpu->sms, raw->sms, &changed);
	set_u32(&gpu->clock_mhz, raw->clock_mhz, &changed);
	set_u32(&gpu->threads_per_sm, raw->threads_per_sm, &changed);
	set_u32(&gpu->blocks_per_sm, raw->blocks_per_sm, &changed);
	set_u32(&gpu->regs_per_sm, raw->regs_per_sm, &changed);
	set_u32(&gpu->shmem_per_sm, raw->shmem_per_sm, &changed);
	set_double(&gpu->dram_gbps, raw->dram_gbps, &changed);
	set_double(&gpu->pcie_gbps, raw->pcie_gbps, &changed);
	set_double(&gpu->memory_bytes, raw->memory_gb, &changed);
	if (raw->memory_gb)
		gpu->memory_bytes *= 1e9;
	set_double(&gpu->mem_latency, raw->mem_latency, &changed);
	set_double(&gpu->uncoalesced_delay, raw->uncoalesced_delay, &changed);
	set_double(&gpu->coalesced_delay, raw->coalesced_delay, &changed);
	set_double(&gpu->issue, raw->issue, &changed);
	if (changed)
		(void)snprintf(gpu->name, sizeof(gpu->name), "custom");
	return 0;
}

static int read_power(struct reader *r)
{
	const struct cot_raw_model_power *raw = r->raw->power;
	struct cot_kernels_power *p = &r->out->power;

	if (!raw)
		return 0;
	if (raw->thermal_gain > 0 && raw->thermal_tau_s <= 0)
		return cot_yaml_fail(r->doc, "power.thermal_gain", r->err,
				     "thermal_gain without thermal_tau_s; expected the time "
				     "constant beside it");
	r->out->has_power = true;
	p->idle_w = raw->idle_w;
	p->lambda_w = raw->lambda_w;
	p->memory_w = raw->memory_w;
	p->instruction_w = raw->instruction_w;
	p->thermal_gain = raw->thermal_gain;
	p->thermal_tau_s = raw->thermal_tau_s;
	return 0;
}

/* ---- kernels ---- */

static int check_name(struct reader *r, uint32_t i)
{
	const char *name = r->raw->kernels[i].name;
	char path[PATH_MAX_LEN];
	uint32_t j;

	(void)snprintf(path, sizeof(path), "kernels[%u].name", i);
	for (j = 0; j < i; j++)
		if (!strcmp(r->raw->kernels[j].name, name))
			return cot_yaml_fail(r->doc, path, r->err,
					     "two kernels are named '%s'; expected a name of its "
					     "own for each",
					     name);
	return 0;
}

/* One block must fit on an SM. */
static int check_block(struct reader *r, uint32_t i)
{
	const struct cot_raw_model_kernel *k = &r->raw->kernels[i];
	const struct cot_kernels_gpu *gpu = &r->out->gpu;
	const struct {
		const char *key, *what;
		uint32_t needs, has;
	} checks[] = {
		{"threads_per_block", "threads", k->threads_per_block, gpu->threads_per_sm},
		{"regs_per_block", "registers", k->regs_per_block, gpu->regs_per_sm},
		{"shmem_per_block", "bytes of shared memory", k->shmem_per_block,
		 gpu->shmem_per_sm},
	};
	char path[PATH_MAX_LEN];
	size_t c;

	for (c = 0; c < COT_ARRAY_LEN(checks); c++) {
		if (checks[c].needs <= checks[c].has)
			continue;
		(void)snprintf(path, sizeof(path), "kernels[%u].%s", i, checks[c].key);
		return cot_yaml_fail(r->doc, path, r->err,
				     "a block takes %u %s; expected at most %u, what an SM of "
				     "the GPU '%s' has",
				     checks[c].needs, checks[c].what, checks[c].has, gpu->name);
	}
	return 0;
}

/* Less than this of anything is nothing, and would make ratios that no double holds. */
static int check_counts(struct reader *r, uint32_t i)
{
	const struct cot_raw_model_kernel *k = &r->raw->kernels[i];
	const struct {
		const char *key;
		double count;
	} counts[] = {
		{"comp", k->comp},
		{"uncoalesced", k->uncoalesced},
		{"coalesced", k->coalesced},
	};
	char path[PATH_MAX_LEN];
	size_t c;

	for (c = 0; c < COT_ARRAY_LEN(counts); c++) {
		if (!(counts[c].count > 0) || counts[c].count >= COUNT_MIN)
			continue;
		(void)snprintf(path, sizeof(path), "kernels[%u].%s", i, counts[c].key);
		return cot_yaml_fail(r->doc, path, r->err, "%s is %g; expected 0 or at least %g",
				     counts[c].key, counts[c].count, COUNT_MIN);
	}
	return 0;
}

static int check_work(struct reader *r, uint32_t i)
{
	const struct cot_raw_model_kernel *k = &r->raw->kernels[i];
	char path[PATH_MAX_LEN];

	(void)snprintf(path, sizeof(path), "kernels[%u]", i);
	if (!(k->comp + k->uncoalesced + k->coalesced > 0))
		return cot_yaml_fail(r->doc, path, r->err,
				     "the kernel does nothing; expected comp, coalesced or "
				     "uncoalesced above 0");
	if ((k->cpu_s > 0) != (k->cpu_w > 0))
		return cot_yaml_fail(r->doc, path, r->err,
				     "the kernel has only one of cpu_s and cpu_w; expected both "
				     "or neither");
	return 0;
}

static int read_kernel(struct reader *r, uint32_t i)
{
	const struct cot_raw_model_kernel *raw = &r->raw->kernels[i];
	struct cot_kernels_entry *k = &r->out->kernels[i];
	int rc;

	rc = check_name(r, i);
	rc = rc ? rc : check_block(r, i);
	rc = rc ? rc : check_counts(r, i);
	rc = rc ? rc : check_work(r, i);
	if (rc)
		return rc;
	(void)snprintf(k->name, sizeof(k->name), "%s", raw->name);
	k->blocks = raw->blocks;
	k->threads_per_block = raw->threads_per_block;
	k->regs_per_block = raw->regs_per_block;
	k->shmem_per_block = raw->shmem_per_block;
	k->comp = raw->comp;
	k->uncoalesced = raw->uncoalesced;
	k->coalesced = raw->coalesced;
	k->syncs = raw->syncs;
	k->transactions = raw->transactions ? *raw->transactions : 32;
	k->load_bytes = raw->load_bytes ? *raw->load_bytes : 128;
	k->h2d_bytes = raw->h2d_bytes;
	k->d2h_bytes = raw->d2h_bytes;
	k->memory_bytes = raw->memory_bytes;
	k->cpu_s = raw->cpu_s;
	k->cpu_w = raw->cpu_w;
	k->count = raw->count ? *raw->count : 1;
	return 0;
}

/* ---- layout ---- */

static int read_sms(struct reader *r, uint32_t i, uint32_t *total)
{
	const struct cot_raw_model_sms *raw = &r->raw->layout[i];
	char path[PATH_MAX_LEN];
	uint32_t k;

	(void)snprintf(path, sizeof(path), "layout[%u].blocks_each", i);
	if (raw->blocks_count != r->raw->kernels_count)
		return cot_yaml_fail(r->doc, path, r->err,
				     "blocks_each has %u numbers; expected %u, one for each "
				     "kernel",
				     raw->blocks_count, r->raw->kernels_count);
	*total += raw->sms;
	(void)snprintf(path, sizeof(path), "layout[%u].sms", i);
	if (*total > r->out->gpu.sms)
		return cot_yaml_fail(r->doc, path, r->err,
				     "the layout has %u SMs so far; expected at most %u, what "
				     "the GPU has",
				     *total, r->out->gpu.sms);
	r->out->layout[i].sms = raw->sms;
	for (k = 0; k < raw->blocks_count; k++)
		r->out->layout[i].blocks[k] = raw->blocks[k];
	return 0;
}

/* Every block of every kernel stands in the layout once. */
static int check_layout(struct reader *r)
{
	double placed;
	uint32_t i, k;

	for (k = 0; k < r->out->n; k++) {
		placed = 0;
		for (i = 0; i < r->out->n_layout; i++)
			placed += r->out->layout[i].sms * r->out->layout[i].blocks[k];
		if (placed < r->out->kernels[k].blocks || placed > r->out->kernels[k].blocks)
			return cot_yaml_fail(r->doc, "layout", r->err,
					     "the layout has %.10g blocks of '%s'; expected %u, "
					     "all that it has",
					     placed, r->out->kernels[k].name,
					     r->out->kernels[k].blocks);
	}
	return 0;
}

static int read_all(struct reader *r)
{
	uint32_t i, total = 0;
	char quote[COT_QUOTE_MAX];
	int rc;

	if (strcmp(r->raw->schema, SCHEMA) != 0)
		return cot_yaml_fail(r->doc, "schema", r->err, "the schema is '%s'; expected %s",
				     cot_text_quote(r->raw->schema, quote), SCHEMA);
	rc = read_gpu(r);
	rc = rc ? rc : read_power(r);
	r->out->n = r->raw->kernels_count;
	for (i = 0; !rc && i < r->raw->kernels_count; i++)
		rc = read_kernel(r, i);
	r->out->n_layout = r->raw->layout_count;
	for (i = 0; !rc && i < r->raw->layout_count; i++)
		rc = read_sms(r, i, &total);
	if (!rc && r->out->n_layout)
		rc = check_layout(r);
	return rc;
}

int cot_kernels_parse(const char *name, const void *bytes, size_t size, struct cot_kernels *ret,
		      struct cot_error *err)
{
	struct cot_kernels out;
	struct reader r = {.out = &out, .err = err};
	struct cot_yaml *doc;
	int rc;

	rc = cot_yaml_load(name, bytes, size, &cot_kernels_format, &doc, err);
	if (rc)
		return rc;
	memset(&out, 0, sizeof(out));
	r.doc = doc;
	r.raw = cot_yaml_data(doc);
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
