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
#include "trace/trace_inside.h"
#include "trace/trace_table.h"

#define BUILT_IN_FOLDER "traces/"
#define FILE_SUFFIX	".yaml"

#define TRACE(key, member) COT_FIELD(key, struct cot_trace, member, COT_TEXT, .required = true)

static const struct cot_field_word schema_words[] = {{"cotenant.trace/1", 0}, {0}};

static const struct cot_field trace_fields[] = {
	COT_FIELD_CHECKED("schema", COT_WORD(schema_words), .required = true),
	TRACE("name", name),
	TRACE("summary", summary),
	TRACE("source", source),
	COT_FIELD_CHECKED("gpu", COT_TEXT_TO(COT_NAME_MAX - 1), .required = true),
	COT_FIELD_CHECKED("kernels", COT_TEXT_TO(255), .required = true),
	TRACE("benchmark", benchmark),
	COT_FIELD_CHECKED("program", COT_MAP(cot_program_trace_step_fields),
			  .list = COT_PROGRAM_STEPS_MAX, .required = true),
	{0},
};

/* A trace with the document that it came from, while its program is still to be built. */
struct open_trace {
	struct cot_trace *trace;
	struct cot_yaml *doc;
};

static const char *text_of(const struct cot_yaml *doc, const char *key)
{
	return cot_yaml_text(doc, cot_yaml_get(doc, COT_YAML_ROOT, key));
}

static int read_head(const struct cot_yaml *doc, struct cot_trace *trace, struct cot_error *err)
{
	const char *gpu = text_of(doc, "gpu");
	char quote[COT_QUOTE_MAX];

	cot_yaml_fill(doc, COT_YAML_ROOT, trace_fields, trace);
	trace->gpu = cot_gpu_find(gpu);
	if (!trace->gpu)
		return cot_yaml_fail_key(doc, COT_YAML_ROOT, "gpu", err,
					 "unknown GPU '%s'; expected a preset's name",
					 cot_text_quote(gpu, quote));
	if (strchr(text_of(doc, "kernels"), '/'))
		return cot_yaml_fail_key(
			doc, COT_YAML_ROOT, "kernels", err,
			"kernels is a path; expected the name of a file in this folder");
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
	int rc;

	rc = cot_yaml_load(name, bytes, size, trace_fields, &open.doc, err);
	if (rc)
		return rc;
	open.trace = calloc(1, sizeof(*open.trace));
	if (!open.trace)
		rc = cot_error_set(err, -ENOMEM, "%s: out of memory", name);
	if (!rc)
		rc = read_head(open.doc, open.trace, err);
	if (!rc)
		rc = read_table(name, text_of(open.doc, "kernels"), open.trace, err);
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
	char path[COT_PATH_MAX], quote[COT_QUOTE_MAX], *bytes;
	bool is_file;
	size_t size;
	int rc;

	if (built_in)
		return open_bytes(built_in->name, built_in->bytes, built_in->size, ret_open, err);
	if (!cot_trace_known(name, &is_file))
		return cot_error_set(err, -EINVAL, "no trace '%s'; expected " TRACE_EXPECTED,
				     cot_text_quote(name, quote));
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

bool cot_trace_known(const char *name, bool *ret_is_file)
{
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
static int resolve_kernel(const struct cot_program_source *src,
			  const struct cot_written_kernel *written, uint32_t node,
			  struct cot_kernel *ret_kernel, struct cot_error *err)
{
	const struct kernel_context *ctx = src->arg;
	const char *name = written->kernel.name;
	const struct cot_trace_kernel *row = NULL;
	char quote[COT_QUOTE_MAX];
	uint32_t i, fits;

	for (i = 0; i < ctx->trace->n_kernels; i++)
		if (!strcmp(ctx->trace->kernels[i].name, name))
			row = &ctx->trace->kernels[i];
	if (!row)
		return cot_yaml_fail(
			src->doc, node, err,
			"no kernel '%s' of benchmark '%s' in the table; expected one of "
			"its rows",
			cot_text_quote(name, quote), ctx->trace->benchmark);
	fits = cot_gpu_occupancy(ctx->gpu, row->regs_per_block, row->shmem_per_block,
				 row->work.warps * COT_WARP_THREADS);
	if (!fits)
		return cot_yaml_fail(
			src->doc, node, err,
			"the kernel '%s' does not fit an SM of the GPU '%s': a block needs "
			"%u registers and %u bytes of shared memory",
			row->name, ctx->gpu->name, row->regs_per_block, row->shmem_per_block);
	*ret_kernel = (struct cot_kernel){
		.n_blocks = written->kernel.n_blocks ? written->kernel.n_blocks : row->n_blocks,
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
	const struct kernel_context ctx = {.trace = open->trace, .mode = mode, .gpu = gpu};
	const struct cot_program_source src = {
		.doc = open->doc,
		.fields = cot_program_trace_step_fields,
		.kernel = resolve_kernel,
		.arg = &ctx,
	};

	return cot_program_build(&src, cot_yaml_get(open->doc, COT_YAML_ROOT, "program"), store,
				 err);
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
