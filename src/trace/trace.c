#include "trace/trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/units.h"
#include "text/text.h"
#include "trace/gpu.h"
#include "trace/kernel_work.h"
#include "trace/trace_load.h"
#include "trace/trace_table.h"

#define BUILT_IN_FOLDER "traces/"
#define FILE_SUFFIX	".yaml"
#define SCHEMA_NAME	"cotenant.trace/1"

struct raw_trace {
	char *schema, *name, *summary, *source;
	char *gpu, *kernels, *benchmark;
	struct cot_raw_step *program;
	uint32_t program_count;
};

static const cyaml_schema_field_t trace_fields[] = {
	CYAML_FIELD_STRING_PTR("schema", CYAML_FLAG_POINTER, struct raw_trace, schema, 1, 63),
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct raw_trace, name, 1, 63),
	CYAML_FIELD_STRING_PTR("summary", CYAML_FLAG_POINTER, struct raw_trace, summary, 1, 255),
	CYAML_FIELD_STRING_PTR("source", CYAML_FLAG_POINTER, struct raw_trace, source, 1, 255),
	CYAML_FIELD_STRING_PTR("gpu", CYAML_FLAG_POINTER, struct raw_trace, gpu, 1, 63),
	CYAML_FIELD_STRING_PTR("kernels", CYAML_FLAG_POINTER, struct raw_trace, kernels, 1, 255),
	CYAML_FIELD_STRING_PTR("benchmark", CYAML_FLAG_POINTER, struct raw_trace, benchmark, 1, 63),
	CYAML_FIELD_SEQUENCE("program", CYAML_FLAG_POINTER, struct raw_trace, program,
			     &cot_program_trace_step_schema, 1, COT_PROGRAM_STEPS_MAX),
	CYAML_FIELD_END};

static const cyaml_schema_value_t trace_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_trace, trace_fields),
};

static const struct cot_yaml_format trace_format = {
	.schema = &trace_schema,
	.ranges = {cot_program_ranges},
};

/* A trace with the document that it came from, while its program is still to be built. */
struct open_trace {
	struct cot_trace *trace;
	struct cot_yaml *doc;
};

static int copy_head(const struct cot_yaml *doc, const struct raw_trace *raw,
		     struct cot_trace *trace, struct cot_error *err)
{
	char quote[COT_QUOTE_MAX];

	if (strcmp(raw->schema, SCHEMA_NAME) != 0)
		return cot_yaml_fail(doc, "schema", err, "schema is '%s'; expected " SCHEMA_NAME,
				     cot_text_quote(raw->schema, quote));
	trace->gpu = cot_gpu_find(raw->gpu);
	if (!trace->gpu)
		return cot_yaml_fail(doc, "gpu", err, "unknown GPU '%s'; expected a preset's name",
				     cot_text_quote(raw->gpu, quote));
	if (strchr(raw->kernels, '/'))
		return cot_yaml_fail(
			doc, "kernels", err,
			"kernels is a path; expected the name of a file in this folder");
	/* The schema bounds all four. */
	(void)snprintf(trace->name, sizeof(trace->name), "%s", raw->name);
	(void)snprintf(trace->summary, sizeof(trace->summary), "%s", raw->summary);
	(void)snprintf(trace->source, sizeof(trace->source), "%s", raw->source);
	(void)snprintf(trace->benchmark, sizeof(trace->benchmark), "%s", raw->benchmark);
	return 0;
}

/* Reads the table beside the trace, both built in or both files. */
static int read_table(const char *name, const char *table, struct cot_trace *trace,
		      struct cot_error *err)
{
	const struct cot_embedded *built_in = NULL;
	char path[COT_PATH_MAX], *bytes = NULL;
	size_t size;
	int rc;

	rc = cot_text_beside(name, table, path, err);
	if (rc)
		return rc;
	if (cot_embedded_find(name))
		built_in = cot_embedded_find(path);
	if (built_in)
		return cot_trace_table_read(path, built_in->bytes, built_in->size, trace->benchmark,
					    &trace->kernels, &trace->n_kernels, err);
	rc = cot_text_read(path, &bytes, &size, err);
	if (rc)
		return rc;
	rc = cot_trace_table_read(path, bytes, size, trace->benchmark, &trace->kernels,
				  &trace->n_kernels, err);
	free(bytes);
	return rc;
}

static void close_trace(struct open_trace *open)
{
	cot_yaml_destroy(open->doc);
	cot_trace_destroy(open->trace);
}

static int open_bytes(const char *name, const void *bytes, size_t size, struct open_trace *ret_open,
		      struct cot_error *err)
{
	struct open_trace open = {0};
	const struct raw_trace *raw;
	int rc;

	rc = cot_yaml_load(name, bytes, size, &trace_format, &open.doc, err);
	if (rc)
		return rc;
	raw = cot_yaml_data(open.doc);
	open.trace = calloc(1, sizeof(*open.trace));
	if (!open.trace)
		rc = cot_error_set(err, -ENOMEM, "%s: out of memory", name);
	if (!rc)
		rc = copy_head(open.doc, raw, open.trace, err);
	if (!rc)
		rc = read_table(name, raw->kernels, open.trace, err);
	if (rc)
		close_trace(&open);
	else
		*ret_open = open;
	return rc;
}

static bool is_file_name(const char *name)
{
	size_t n = strlen(name), suffix = strlen(FILE_SUFFIX);

	return n > suffix && !strcmp(name + n - suffix, FILE_SUFFIX);
}

static const struct cot_embedded *find_built_in(const char *name)
{
	char path[2 * COT_NAME_MAX];
	int n = snprintf(path, sizeof(path), BUILT_IN_FOLDER "%s" FILE_SUFFIX, name);

	return n > 0 && (size_t)n < sizeof(path) ? cot_embedded_find(path) : NULL;
}

static int open_named(const char *name, const char *beside, struct open_trace *ret_open,
		      struct cot_error *err)
{
	const struct cot_embedded *built_in = find_built_in(name);
	char path[COT_PATH_MAX], list[512], quote[COT_QUOTE_MAX], *bytes;
	bool is_file;
	size_t size;
	int rc;

	if (built_in)
		return open_bytes(built_in->name, built_in->bytes, built_in->size, ret_open, err);
	if (!cot_trace_known(name, &is_file, list, sizeof(list)))
		return cot_error_set(err, -EINVAL, "no trace '%s'; expected %s",
				     cot_text_quote(name, quote), list);
	rc = cot_text_beside(beside ? beside : "", name, path, err);
	if (rc)
		return rc;
	rc = cot_text_read(path, &bytes, &size, err);
	if (rc)
		return rc;
	rc = open_bytes(path, bytes, size, ret_open, err);
	free(bytes);
	return rc;
}

bool cot_trace_known(const char *name, bool *ret_is_file, char *list, size_t list_size)
{
	size_t n;
	unsigned i;

	n = (size_t)snprintf(list, list_size, "a file *" FILE_SUFFIX " or one of ");
	for (i = 0; i < cot_trace_count() && n < list_size; i++)
		n += (size_t)snprintf(list + n, list_size - n, "%s%s", i ? ", " : "",
				      cot_trace_name(i));
	*ret_is_file = is_file_name(name);
	return *ret_is_file || find_built_in(name);
}

int cot_trace_read(const char *name, const char *beside, struct cot_trace **ret_trace,
		   struct cot_error *err)
{
	struct open_trace open;
	int rc = open_named(name, beside, &open, err);

	if (rc)
		return rc;
	*ret_trace = open.trace;
	cot_yaml_destroy(open.doc);
	return 0;
}

uint64_t cot_trace_block_ps(const struct cot_trace_kernel *kernel, enum cot_block_time mode,
			    const struct cot_gpu *gpu)
{
	uint64_t slots = (uint64_t)gpu->n_sms * kernel->blocks_per_sm;
	double t_ps = kernel->avg_time_us * (double)COT_PS_PER_US;
	double block_ps = t_ps;

	if (mode == COT_BLOCK_TIME_PRINTED && kernel->time_per_block_us > 0)
		block_ps = kernel->time_per_block_us * (double)COT_PS_PER_US;
	else if (mode == COT_BLOCK_TIME_PRINTED)
		block_ps = t_ps * kernel->blocks_per_sm / kernel->n_blocks;
	else if (mode == COT_BLOCK_TIME_SMOOTH && kernel->n_blocks > slots)
		block_ps = t_ps * (double)slots / kernel->n_blocks;
	else if (mode == COT_BLOCK_TIME_WAVE)
		block_ps = t_ps / (double)cot_div_up(kernel->n_blocks, slots);
	return block_ps < 1 ? 1 : (uint64_t)(block_ps + 0.5);
}

struct kernel_context {
	const struct cot_trace *trace;
	enum cot_block_time mode;
	const struct cot_gpu *gpu;
};

/* The table's row as a kernel on the scenario's GPU, which may be another one than recorded. */
static int resolve_kernel(const struct cot_program_source *src, const struct cot_raw_kernel *raw,
			  const char *path, struct cot_kernel *ret_kernel, struct cot_error *err)
{
	const struct kernel_context *ctx = src->arg;
	const struct cot_trace_kernel *row = NULL;
	char quote[COT_QUOTE_MAX];
	uint32_t i, fits;

	for (i = 0; i < ctx->trace->n_kernels; i++)
		if (!strcmp(ctx->trace->kernels[i].name, raw->name))
			row = &ctx->trace->kernels[i];
	if (!row)
		return cot_yaml_fail(
			src->doc, path, err,
			"no kernel '%s' of benchmark '%s' in the table; expected one of "
			"its rows",
			cot_text_quote(raw->name, quote), ctx->trace->benchmark);
	fits = cot_gpu_occupancy(ctx->gpu, row->regs_per_block, row->shmem_per_block,
				 row->work.warps * COT_WARP_THREADS);
	if (!fits)
		return cot_yaml_fail(
			src->doc, path, err,
			"the kernel '%s' does not fit an SM of the GPU '%s': a block needs "
			"%u registers and %u bytes of shared memory",
			row->name, ctx->gpu->name, row->regs_per_block, row->shmem_per_block);
	*ret_kernel = (struct cot_kernel){
		.n_blocks = row->n_blocks,
		/* The threads per block are not recorded, so never more than was observed. */
		.blocks_per_sm = fits < row->blocks_per_sm ? fits : row->blocks_per_sm,
		.block_ps = row->work.insts ? cot_gpu_work_ps(ctx->gpu, row->work.insts)
					    : cot_trace_block_ps(row, ctx->mode, ctx->trace->gpu),
		.work = row->work,
		.regs_per_block = row->regs_per_block,
		.shmem_per_block = row->shmem_per_block,
		.ctx_bytes_per_block = 4 * row->regs_per_block + row->shmem_per_block,
	};
	memcpy(ret_kernel->name, row->name, sizeof(row->name));
	return 0;
}

static int build_program(const struct open_trace *open, enum cot_block_time mode,
			 const struct cot_gpu *gpu, struct cot_program_store *store,
			 struct cot_error *err)
{
	const struct raw_trace *raw = cot_yaml_data(open->doc);
	const struct kernel_context ctx = {.trace = open->trace, .mode = mode, .gpu = gpu};
	const struct cot_program_source src = {
		.doc = open->doc,
		.kernel = resolve_kernel,
		.arg = &ctx,
	};

	return cot_program_build(&src, "program", raw->program, raw->program_count, store, err);
}

int cot_trace_parse(const char *name, const void *bytes, size_t size, struct cot_trace **ret_trace,
		    struct cot_error *err)
{
	struct cot_program_store store = {0};
	struct open_trace open;
	int rc;

	rc = open_bytes(name, bytes, size, &open, err);
	if (rc)
		return rc;
	/* Built once to find its mistakes. */
	rc = build_program(&open, COT_BLOCK_TIME_WAVE, open.trace->gpu, &store, err);
	cot_program_store_finish(&store);
	if (rc) {
		close_trace(&open);
		return rc;
	}
	*ret_trace = open.trace;
	cot_yaml_destroy(open.doc);
	return 0;
}

void cot_trace_destroy(struct cot_trace *trace)
{
	if (!trace)
		return;
	free(trace->kernels);
	free(trace);
}

int cot_trace_load(const char *name, const char *beside, enum cot_block_time mode,
		   const struct cot_gpu *gpu, struct cot_program_store *store,
		   struct cot_error *err)
{
	struct open_trace open;
	int rc;

	rc = open_named(name, beside, &open, err);
	if (rc)
		return rc;
	rc = build_program(&open, mode, gpu, store, err);
	close_trace(&open);
	return rc;
}

struct cot_trace_program {
	struct cot_program_store store;
	struct cot_program program;
};

int cot_trace_program(const char *name, enum cot_block_time mode, const struct cot_gpu *gpu,
		      struct cot_trace_program **ret, const struct cot_program **ret_program,
		      struct cot_error *err)
{
	struct cot_trace_program *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return cot_error_set(err, -ENOMEM, "out of memory");
	rc = cot_trace_load(name, NULL, mode, gpu, &p->store, err);
	if (rc) {
		cot_trace_program_destroy(p);
		return rc;
	}
	p->program = cot_program_store_view(&p->store);
	*ret = p;
	*ret_program = &p->program;
	return 0;
}

void cot_trace_program_destroy(struct cot_trace_program *program)
{
	if (!program)
		return;
	cot_program_store_finish(&program->store);
	free(program);
}

/* ---- the list of built-in traces, made once ---- */

#define BUILT_IN_MAX 64

struct built_in {
	char name[COT_NAME_MAX];
	char summary[256];
};

static struct built_in built_ins[BUILT_IN_MAX];
static unsigned n_built_ins;
static pthread_once_t built_ins_once = PTHREAD_ONCE_INIT;

static void list_built_ins(void)
{
	const size_t folder = strlen(BUILT_IN_FOLDER);
	struct built_in *b;
	struct cot_trace *trace;
	unsigned i;
	int n;

	for (i = 0; i < cot_n_embedded_files && n_built_ins < BUILT_IN_MAX; i++) {
		const char *path = cot_embedded_files[i].name;

		if (strncmp(path, BUILT_IN_FOLDER, folder) != 0 || !is_file_name(path))
			continue;
		b = &built_ins[n_built_ins];
		n = (int)(strlen(path) - folder - strlen(FILE_SUFFIX));
		(void)snprintf(b->name, sizeof(b->name), "%.*s", n, path + folder);
		if (cot_trace_read(b->name, NULL, &trace, NULL))
			continue;
		memcpy(b->summary, trace->summary, sizeof(b->summary));
		cot_trace_destroy(trace);
		n_built_ins++;
	}
}

unsigned cot_trace_count(void)
{
	(void)pthread_once(&built_ins_once, list_built_ins);
	return n_built_ins;
}

const char *cot_trace_name(unsigned i)
{
	(void)pthread_once(&built_ins_once, list_built_ins);
	return built_ins[i].name;
}

const char *cot_trace_summary(unsigned i)
{
	(void)pthread_once(&built_ins_once, list_built_ins);
	return built_ins[i].summary;
}
