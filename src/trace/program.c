#include "trace/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/units.h"
#include "trace/gpu.h"

/* A step as it is written. */
struct written_step {
	struct cot_step step;
	bool sync;
	uint32_t times;
	struct cot_written_kernel k;
};

#define STEP(key, member, ...) COT_FIELD(key, struct written_step, member, __VA_ARGS__)
#define TIME		       COT_NUMBER(COT_STEP_US_MIN, COT_STEP_US_MAX), .in = COT_UNIT_US, .unit = COT_PS_PER_US
#define BYTES(min, max)	       COT_WHOLE(min, max), .in = COT_UNIT_B

/*
 * From warps_per_block on they say what the blocks do. The defaults are of a warp that waits for
 * each of its instructions, on the pipelines of these GPUs; 128 bytes are 4 of each of 32 threads,
 * without a cache.
 */
static const struct cot_field kernel_fields[] = {
	STEP("name", k.kernel.name, COT_TEXT, .required = true),
	STEP("blocks", k.kernel.n_blocks, COT_WHOLE(1, COT_MAX_BLOCKS), .required = true),
	STEP("block_us", k.kernel.block_ps, TIME),
	STEP("kernel_us", k.kernel_ps, TIME),
	STEP("blocks_per_sm", k.kernel.blocks_per_sm, COT_WHOLE(1, COT_MAX_BLOCKS_PER_SM)),
	STEP("regs_per_block", k.kernel.regs_per_block, COT_WHOLE(0, COT_REGS_MAX)),
	STEP("shmem_per_block", k.kernel.shmem_per_block, BYTES(0, COT_SHMEM_MAX)),
	STEP("threads_per_block", k.threads_per_block, COT_WHOLE(0, COT_THREADS_MAX)),
	STEP("launches", step.launches, COT_WHOLE(1, COT_MAX_LAUNCHES), .otherwise = 1),
	STEP("machine_code", k.kernel.machine_code, COT_BOOL),
	STEP("warps_per_block", k.kernel.work.warps, COT_WHOLE(1, COT_WARPS_MAX)),
	STEP("insts_per_warp", k.insts_per_warp, COT_WHOLE(1, COT_INSTS_MAX)),
	STEP("insts_per_block", k.kernel.work.insts, COT_WHOLE(1, COT_INSTS_MAX)),
	STEP("cpi", k.kernel.work.cpi, COT_NUMBER(1, 100000), .otherwise = 4),
	STEP("mem_fraction", k.kernel.work.mem_fraction, COT_NUMBER(0, 1)),
	STEP("dram_bytes", k.kernel.work.dram_bytes, COT_NUMBER(0, 65536), .in = COT_UNIT_B,
	     .otherwise = 128),
	STEP("latency_cycles", k.kernel.work.latency, COT_NUMBER(1, 1000000), .otherwise = 400),
	STEP("mlp", k.kernel.work.mlp, COT_NUMBER(1, 1024), .otherwise = 1),
	STEP("ipc_max", k.kernel.work.ipc_max, COT_NUMBER(0.001, 64)),
	STEP("gpu_ipc_max", k.kernel.work.gpu_ipc_max, COT_NUMBER(0.001, 65536)),
	{0},
};

static const struct cot_field kernel_row_fields[] = {
	STEP("name", k.kernel.name, COT_TEXT, .required = true),
	STEP("launches", step.launches, COT_WHOLE(1, COT_MAX_LAUNCHES), .otherwise = 1),
	STEP("blocks", k.kernel.n_blocks, COT_WHOLE(1, COT_MAX_BLOCKS)),
	{0},
};

/* The keys of a step that is not a loop. */
#define STEP_FIELDS(kernel)                                                  \
	STEP("cpu_us", step.cpu_ps, TIME),                                   \
		STEP("h2d_bytes", step.bytes, BYTES(1, COT_STEP_BYTES_MAX)), \
		STEP("d2h_bytes", step.bytes, BYTES(1, COT_STEP_BYTES_MAX)), \
		COT_FIELD_CHECKED("kernel", COT_MAP(kernel)),                \
		STEP("sync", sync, COT_BOOL, .alone = true)

/* A loop may hold any step but a loop. */
#define LOOP_FIELDS(prefix, kernel)                                                        \
	static const struct cot_field prefix##inner_fields[] = {STEP_FIELDS(kernel), {0}}; \
	static const struct cot_field prefix##repeat_fields[] = {                          \
		STEP("times", times, COT_WHOLE(1, COT_MAX_STEPS), .required = true),       \
		COT_FIELD_CHECKED("program", COT_MAP(prefix##inner_fields),                \
				  .list = COT_PROGRAM_STEPS_MAX, .required = true),        \
		{0},                                                                       \
	}

LOOP_FIELDS(full_, kernel_fields);
LOOP_FIELDS(row_, kernel_row_fields);

const struct cot_field cot_program_step_fields[] = {
	STEP_FIELDS(kernel_fields),
	COT_FIELD_CHECKED("repeat", COT_MAP(full_repeat_fields)),
	{0},
};
const struct cot_field cot_program_trace_step_fields[] = {
	STEP_FIELDS(kernel_row_fields),
	COT_FIELD_CHECKED("repeat", COT_MAP(row_repeat_fields)),
	{0},
};

bool cot_program_says_work(const struct cot_yaml *doc, uint32_t kernel)
{
	const struct cot_field *f = cot_field_find(kernel_fields, "warps_per_block");

	for (; f->key; f++)
		if (cot_yaml_get(doc, kernel, f->key) != COT_YAML_NONE)
			return true;
	return false;
}

void cot_program_store_finish(struct cot_program_store *store)
{
	free(store->steps);
	free(store->kernels);
	*store = (struct cot_program_store){0};
}

struct cot_program cot_program_store_view(const struct cot_program_store *store)
{
	return (struct cot_program){
		.steps = store->steps,
		.n_steps = store->n_steps,
		.kernels = store->kernels,
		.n_kernels = store->n_kernels,
	};
}

static int out_of_memory(struct cot_error *err)
{
	return cot_error_set(err, -ENOMEM, "out of memory");
}

static int add_step(const struct cot_program_source *src, uint32_t node,
		    struct cot_program_store *store, struct cot_step step, struct cot_error *err)
{
	struct cot_step *steps;

	if (store->n_steps == COT_MAX_STEPS)
		return cot_yaml_fail(src->doc, node, err,
				     "the program is too long; expected at most %u steps with its "
				     "loops unrolled",
				     COT_MAX_STEPS);
	steps = cot_grow(store->steps, store->n_steps, &store->cap_steps, sizeof(*steps));
	if (!steps)
		return out_of_memory(err);
	store->steps = steps;
	store->steps[store->n_steps++] = step;
	return 0;
}

static bool same_work(const struct cot_kernel_work *a, const struct cot_kernel_work *b)
{
	return a->insts == b->insts && a->warps == b->warps && a->cpi == b->cpi &&
	       a->mem_fraction == b->mem_fraction && a->dram_bytes == b->dram_bytes &&
	       a->latency == b->latency && a->mlp == b->mlp && a->ipc_max == b->ipc_max &&
	       a->gpu_ipc_max == b->gpu_ipc_max;
}

static bool same_kernel(const struct cot_kernel *a, const struct cot_kernel *b)
{
	return a->n_blocks == b->n_blocks && a->blocks_per_sm == b->blocks_per_sm &&
	       a->block_ps == b->block_ps && a->regs_per_block == b->regs_per_block &&
	       a->shmem_per_block == b->shmem_per_block && a->machine_code == b->machine_code &&
	       same_work(&a->work, &b->work) && !strcmp(a->name, b->name);
}

/* Steps that launch the same kernel share one entry. */
static int add_kernel(const struct cot_program_source *src, uint32_t node,
		      struct cot_program_store *store, const struct cot_kernel *kernel,
		      uint32_t *ret_index, struct cot_error *err)
{
	struct cot_kernel *kernels;
	uint32_t i;

	for (i = 0; i < store->n_kernels; i++)
		if (same_kernel(&store->kernels[i], kernel)) {
			*ret_index = i;
			return 0;
		}
	if (store->n_kernels == COT_MAX_KERNELS)
		return cot_yaml_fail(src->doc, node, err,
				     "the program has too many kernels; expected at most %u",
				     COT_MAX_KERNELS);
	kernels = cot_grow(store->kernels, store->n_kernels, &store->cap_kernels, sizeof(*kernels));
	if (!kernels)
		return out_of_memory(err);
	store->kernels = kernels;
	store->kernels[store->n_kernels] = *kernel;
	*ret_index = store->n_kernels++;
	return 0;
}

static int build_kernel_step(const struct cot_program_source *src, uint32_t node,
			     struct written_step *written, struct cot_program_store *store,
			     struct cot_error *err)
{
	uint32_t at = cot_yaml_get(src->doc, node, "kernel");
	struct cot_kernel kernel;
	int rc;

	rc = src->kernel(src, &written->k, at, &kernel, err);
	if (rc)
		return rc;
	written->step.kind = COT_STEP_KERNEL;
	rc = add_kernel(src, node, store, &kernel, &written->step.kernel, err);
	return rc ? rc : add_step(src, node, store, written->step, err);
}

static int build_repeat(const struct cot_program_source *src, uint32_t node, uint32_t times,
			struct cot_program_store *store, struct cot_error *err)
{
	uint32_t repeat = cot_yaml_get(src->doc, node, "repeat");
	uint32_t first = store->n_steps, n, i;
	int rc;

	rc = cot_program_build(src, cot_yaml_get(src->doc, repeat, "program"), store, err);
	n = store->n_steps - first;
	for (i = 0; !rc && i < (times - 1) * (uint64_t)n; i++)
		rc = add_step(src, node, store, store->steps[first + i], err);
	return rc;
}

static bool has(const struct cot_program_source *src, uint32_t node, const char *key)
{
	return cot_yaml_get(src->doc, node, key) != COT_YAML_NONE;
}

static int build_step(const struct cot_program_source *src, uint32_t node,
		      struct cot_program_store *store, struct cot_error *err)
{
	uint32_t n = cot_yaml_count(src->doc, node);
	struct written_step written = {.step.kind = COT_STEP_CPU};

	if (n != 1)
		return cot_yaml_fail(src->doc, node, err,
				     "a step does %s; expected one thing in each step",
				     n ? "several things" : "nothing");
	cot_yaml_fill(src->doc, node, src->fields, &written);
	if (has(src, node, "kernel"))
		return build_kernel_step(src, node, &written, store, err);
	if (has(src, node, "repeat"))
		return build_repeat(src, node, written.times, store, err);
	if (has(src, node, "sync") && !written.sync)
		return cot_yaml_fail(src->doc, node, err, "sync is false; expected '- sync'");
	if (written.sync)
		written.step.kind = COT_STEP_SYNC;
	else if (written.step.bytes)
		written.step.kind = has(src, node, "h2d_bytes") ? COT_STEP_H2D : COT_STEP_D2H;
	return add_step(src, node, store, written.step, err);
}

int cot_program_build(const struct cot_program_source *src, uint32_t list,
		      struct cot_program_store *store, struct cot_error *err)
{
	uint32_t first = store->n_steps, i, node;
	bool takes_time = false;
	int rc;

	for (node = cot_yaml_first(src->doc, list); node != COT_YAML_NONE;
	     node = cot_yaml_next(src->doc, node)) {
		rc = build_step(src, node, store, err);
		if (rc)
			return rc;
	}
	for (i = first; i < store->n_steps; i++)
		takes_time |= store->steps[i].kind != COT_STEP_SYNC;
	if (!takes_time)
		return cot_yaml_fail(src->doc, list, err,
				     "the program takes no time; expected a step besides sync");
	return 0;
}

double cot_program_solo_us(const struct cot_program *program, const struct cot_gpu *gpu)
{
	double us = 0;
	uint32_t i;

	for (i = 0; i < program->n_steps; i++) {
		const struct cot_step *step = &program->steps[i];
		const struct cot_kernel *k;

		switch (step->kind) {
		case COT_STEP_CPU:
			us += cot_us_from_ps(step->cpu_ps);
			break;
		case COT_STEP_H2D:
		case COT_STEP_D2H:
			us += cot_us_from_ps(cot_gpu_pcie_ps(gpu, step->bytes));
			break;
		case COT_STEP_KERNEL:
			k = &program->kernels[step->kernel];
			us += (double)step->launches *
			      (k->work.insts ? cot_gpu_work_us_max(gpu, k)
					     : cot_us_from_ps(k->block_ps)) *
			      (double)cot_div_up(k->n_blocks,
						 (uint64_t)gpu->n_sms * k->blocks_per_sm);
			break;
		case COT_STEP_SYNC:
			break;
		}
	}
	return us;
}
