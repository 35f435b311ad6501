#include "trace/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "trace/gpu.h"

#define PATH_MAX_LEN 128

static const cyaml_schema_field_t kernel_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct cot_raw_kernel, name, 1,
			       COT_NAME_MAX - 1),
	CYAML_FIELD_UINT_PTR("blocks", CYAML_FLAG_POINTER, struct cot_raw_kernel, blocks),
	CYAML_FIELD_FLOAT_PTR("block_us", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			      struct cot_raw_kernel, block_us),
	CYAML_FIELD_FLOAT_PTR("kernel_us", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			      struct cot_raw_kernel, kernel_us),
	CYAML_FIELD_UINT_PTR("blocks_per_sm", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct cot_raw_kernel, blocks_per_sm),
	CYAML_FIELD_UINT_PTR("regs_per_block", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct cot_raw_kernel, regs_per_block),
	CYAML_FIELD_UINT_PTR("shmem_per_block", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct cot_raw_kernel, shmem_per_block),
	CYAML_FIELD_UINT_PTR("threads_per_block", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct cot_raw_kernel, threads_per_block),
	CYAML_FIELD_UINT_PTR("launches", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct cot_raw_kernel, launches),
	CYAML_FIELD_UINT_PTR("warps_per_block", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct cot_raw_kernel, warps_per_block),
	CYAML_FIELD_UINT_PTR("insts_per_warp", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct cot_raw_kernel, insts_per_warp),
	CYAML_FIELD_UINT_PTR("insts_per_block", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct cot_raw_kernel, insts_per_block),
	CYAML_FIELD_FLOAT_PTR("cpi", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			      struct cot_raw_kernel, cpi),
	CYAML_FIELD_FLOAT_PTR("mem_fraction", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			      struct cot_raw_kernel, mem_fraction),
	CYAML_FIELD_FLOAT_PTR("dram_bytes", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			      struct cot_raw_kernel, dram_bytes),
	CYAML_FIELD_FLOAT_PTR("latency_cycles", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			      struct cot_raw_kernel, latency_cycles),
	CYAML_FIELD_FLOAT_PTR("mlp", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			      struct cot_raw_kernel, mlp),
	CYAML_FIELD_FLOAT_PTR("ipc_max", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			      struct cot_raw_kernel, ipc_max),
	CYAML_FIELD_END};

static const cyaml_schema_field_t kernel_row_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct cot_raw_kernel, name, 1,
			       COT_NAME_MAX - 1),
	CYAML_FIELD_UINT_PTR("launches", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,
			     struct cot_raw_kernel, launches),
	CYAML_FIELD_END};

/* The keys of a step that is not a loop. */
#define STEP_FIELDS(kernel_schema)                                                          \
	CYAML_FIELD_FLOAT_PTR("cpu_us", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,           \
			      struct cot_raw_step, cpu_us),                                 \
		CYAML_FIELD_UINT_PTR("h2d_bytes", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, \
				     struct cot_raw_step, h2d_bytes),                       \
		CYAML_FIELD_UINT_PTR("d2h_bytes", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, \
				     struct cot_raw_step, d2h_bytes),                       \
		CYAML_FIELD_MAPPING_PTR("kernel", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, \
					struct cot_raw_step, kernel, kernel_schema),        \
		CYAML_FIELD_BOOL_PTR("sync", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,      \
				     struct cot_raw_step, sync)

/* A loop may hold any step but a loop. */
#define LOOP_SCHEMAS(prefix, kernel_schema)                                                     \
	static const cyaml_schema_field_t prefix##inner_fields[] = {STEP_FIELDS(kernel_schema), \
								    CYAML_FIELD_END};           \
	static const cyaml_schema_value_t prefix##inner_schema = {                              \
		CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct cot_raw_step,                    \
				    prefix##inner_fields),                                      \
	};                                                                                      \
	static const cyaml_schema_field_t prefix##repeat_fields[] = {                           \
		CYAML_FIELD_UINT("times", CYAML_FLAG_DEFAULT, struct cot_raw_repeat, times),    \
		CYAML_FIELD_SEQUENCE("program", CYAML_FLAG_POINTER, struct cot_raw_repeat,      \
				     program, &prefix##inner_schema, 1, COT_PROGRAM_STEPS_MAX), \
		CYAML_FIELD_END};                                                               \
	static const cyaml_schema_field_t prefix##step_fields[] = {                             \
		STEP_FIELDS(kernel_schema),                                                     \
		CYAML_FIELD_MAPPING_PTR("repeat", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL,     \
					struct cot_raw_step, repeat, prefix##repeat_fields),    \
		CYAML_FIELD_END}

LOOP_SCHEMAS(full_, kernel_fields);
LOOP_SCHEMAS(row_, kernel_row_fields);

const cyaml_schema_value_t cot_program_step_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct cot_raw_step, full_step_fields),
};
const cyaml_schema_value_t cot_program_trace_step_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct cot_raw_step, row_step_fields),
};

const struct cot_yaml_range cot_program_ranges[] = {
	{"cpu_us", COT_STEP_US_MIN, COT_STEP_US_MAX},
	{"h2d_bytes", 1, COT_STEP_BYTES_MAX},
	{"d2h_bytes", 1, COT_STEP_BYTES_MAX},
	{"blocks", 1, COT_MAX_BLOCKS},
	{"block_us", COT_STEP_US_MIN, COT_STEP_US_MAX},
	{"kernel_us", COT_STEP_US_MIN, COT_STEP_US_MAX},
	{"blocks_per_sm", 1, COT_MAX_BLOCKS_PER_SM},
	{"regs_per_block", 0, COT_REGS_MAX},
	{"shmem_per_block", 0, COT_SHMEM_MAX},
	{"threads_per_block", 0, COT_THREADS_MAX},
	{"launches", 1, COT_MAX_LAUNCHES},
	{"times", 1, COT_MAX_STEPS},
	{"warps_per_block", 1, COT_WARPS_MAX},
	{"insts_per_warp", 1, COT_INSTS_MAX},
	{"insts_per_block", 1, COT_INSTS_MAX},
	{"cpi", 1, 100000},
	{"mem_fraction", 0, 1},
	{"dram_bytes", 0, 65536},
	{"latency_cycles", 1, 1000000},
	{"mlp", 1, 1024},
	{"ipc_max", 0.001, 64},
	{NULL, 0, 0},
};

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

static int add_step(const struct cot_program_source *src, const char *path,
		    struct cot_program_store *store, struct cot_step step, struct cot_error *err)
{
	if (store->n_steps == COT_MAX_STEPS)
		return cot_yaml_fail(src->doc, path, err,
				     "the program is too long; expected at most %u steps with its "
				     "loops unrolled",
				     COT_MAX_STEPS);
	if (store->n_steps == store->cap_steps) {
		uint32_t cap = store->cap_steps ? 2 * store->cap_steps : 16;
		struct cot_step *bigger = realloc(store->steps, cap * sizeof(*bigger));

		if (!bigger)
			return out_of_memory(err);
		store->steps = bigger;
		store->cap_steps = cap;
	}
	store->steps[store->n_steps++] = step;
	return 0;
}

static bool same_work(const struct cot_kernel_work *a, const struct cot_kernel_work *b)
{
	return a->insts == b->insts && a->warps == b->warps && a->cpi == b->cpi &&
	       a->mem_fraction == b->mem_fraction && a->dram_bytes == b->dram_bytes &&
	       a->latency == b->latency && a->mlp == b->mlp && a->ipc_max == b->ipc_max;
}

static bool same_kernel(const struct cot_kernel *a, const struct cot_kernel *b)
{
	return a->n_blocks == b->n_blocks && a->blocks_per_sm == b->blocks_per_sm &&
	       a->block_ps == b->block_ps && a->regs_per_block == b->regs_per_block &&
	       a->shmem_per_block == b->shmem_per_block && same_work(&a->work, &b->work) &&
	       !strcmp(a->name, b->name);
}

/* Steps that launch the same kernel share one entry. */
static int add_kernel(const struct cot_program_source *src, const char *path,
		      struct cot_program_store *store, const struct cot_kernel *kernel,
		      uint32_t *ret_index, struct cot_error *err)
{
	uint32_t i;

	for (i = 0; i < store->n_kernels; i++)
		if (same_kernel(&store->kernels[i], kernel)) {
			*ret_index = i;
			return 0;
		}
	if (store->n_kernels == COT_MAX_KERNELS)
		return cot_yaml_fail(src->doc, path, err,
				     "the program has too many kernels; expected at most %u",
				     COT_MAX_KERNELS);
	if (store->n_kernels == store->cap_kernels) {
		uint32_t cap = store->cap_kernels ? 2 * store->cap_kernels : 4;
		struct cot_kernel *bigger = realloc(store->kernels, cap * sizeof(*bigger));

		if (!bigger)
			return out_of_memory(err);
		store->kernels = bigger;
		store->cap_kernels = cap;
	}
	store->kernels[store->n_kernels] = *kernel;
	*ret_index = store->n_kernels++;
	return 0;
}

static int build_kernel_step(const struct cot_program_source *src, const char *path,
			     const struct cot_raw_kernel *raw, struct cot_program_store *store,
			     struct cot_error *err)
{
	struct cot_step step = {.kind = COT_STEP_KERNEL, .launches = 1};
	char kernel_path[PATH_MAX_LEN];
	struct cot_kernel kernel;
	int rc;

	(void)snprintf(kernel_path, sizeof(kernel_path), "%s.kernel", path);
	rc = src->kernel(src, raw, kernel_path, &kernel, err);
	if (rc)
		return rc;
	if (raw->launches)
		step.launches = *raw->launches;
	rc = add_kernel(src, path, store, &kernel, &step.kernel, err);
	return rc ? rc : add_step(src, path, store, step, err);
}

static int build_repeat(const struct cot_program_source *src, const char *path,
			const struct cot_raw_repeat *repeat, struct cot_program_store *store,
			struct cot_error *err)
{
	uint32_t first = store->n_steps, n, i;
	char body_path[PATH_MAX_LEN];
	int rc;

	(void)snprintf(body_path, sizeof(body_path), "%s.repeat.program", path);
	rc = cot_program_build(src, body_path, repeat->program, repeat->program_count, store, err);
	n = store->n_steps - first;
	for (i = 0; !rc && i < (repeat->times - 1) * (uint64_t)n; i++)
		rc = add_step(src, path, store, store->steps[first + i], err);
	return rc;
}

static int build_step(const struct cot_program_source *src, const char *path,
		      const struct cot_raw_step *raw, struct cot_program_store *store,
		      struct cot_error *err)
{
	struct cot_step step = {.launches = 1};
	int n = !!raw->cpu_us + !!raw->h2d_bytes + !!raw->d2h_bytes + !!raw->kernel + !!raw->sync +
		!!raw->repeat;

	if (n != 1)
		return cot_yaml_fail(src->doc, path, err,
				     "a step does %s; expected one thing in each step",
				     n ? "several things" : "nothing");
	if (raw->kernel)
		return build_kernel_step(src, path, raw->kernel, store, err);
	if (raw->repeat)
		return build_repeat(src, path, raw->repeat, store, err);
	if (raw->sync && !*raw->sync)
		return cot_yaml_fail(src->doc, path, err, "sync is false; expected '- sync'");
	if (raw->sync) {
		step.kind = COT_STEP_SYNC;
	} else if (raw->cpu_us) {
		step.kind = COT_STEP_CPU;
		step.cpu_ps = cot_ps_from_us(*raw->cpu_us);
	} else {
		step.kind = raw->h2d_bytes ? COT_STEP_H2D : COT_STEP_D2H;
		step.bytes = raw->h2d_bytes ? *raw->h2d_bytes : *raw->d2h_bytes;
	}
	return add_step(src, path, store, step, err);
}

int cot_program_build(const struct cot_program_source *src, const char *path,
		      const struct cot_raw_step *steps, uint32_t n_steps,
		      struct cot_program_store *store, struct cot_error *err)
{
	char step_path[PATH_MAX_LEN];
	bool takes_time = false;
	uint32_t first = store->n_steps, i;
	int rc;

	for (i = 0; i < n_steps; i++) {
		(void)snprintf(step_path, sizeof(step_path), "%s[%u]", path, i);
		rc = build_step(src, step_path, &steps[i], store, err);
		if (rc)
			return rc;
	}
	for (i = first; i < store->n_steps; i++)
		takes_time |= store->steps[i].kind != COT_STEP_SYNC;
	if (!takes_time)
		return cot_yaml_fail(src->doc, path, err,
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
