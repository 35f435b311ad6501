/*
 * The provider for any kernel (include/cotenant/cpu.h): the interpreter of the emulated GPU, which
 * takes the kernel's PTX. It is slow, for tests and for kernels of a few thread blocks.
 *
 * It runs on copies of what the kernel's pointers point to, so these pointers become others. That
 * is right only where all addresses of a kernel come from its parameters and none is stored; what
 * does not look so is left to the GPU. So is what may wait for others: the pass `workers` would
 * refuse it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "cotenant/cpu.h"
#include "emu/exec/exec.h"
#include "ptx/pass/pass.h"
#include "ptx/table.h"

#define POINTER_BYTES 8u
#define GRAIN_MAX     16u
#define TIME_MAX_NS   UINT64_C(10000000000) /* then the GPU does it after all */

struct kernel {
	struct cot_exec_ranges *variables; /* of the module: there are none */
	struct cot_exec_module *module;
	const struct cot_exec_function *function;
	const struct cot_exec_function_info *info;
	uint32_t grain; /* it writes no less at a time */
};

/* ---- whether ---- */

/* Memory that others see. What a thread or block keeps for itself came from its parameters. */
static bool is_outside(enum cot_ptx_space space)
{
	return space == COT_PTX_SPACE_NONE || space == COT_PTX_SPACE_GLOBAL;
}

/* Could it be an address, or half of one? */
static bool may_hold_address(const struct cot_ptx_insn *insn)
{
	enum cot_ptx_type type = (enum cot_ptx_type)insn->types[insn->n_types - 1];

	return cot_ptx_type_bits(type) >= 64 && cot_ptx_type_class(type) != COT_PTX_FLOAT_TYPE;
}

static bool names_memory(const struct cot_ptx_operand *o)
{
	return o->kind == COT_PTX_OPND_ADDR || o->kind == COT_PTX_OPND_TENSOR;
}

static bool is_plain_access(const struct cot_ptx_insn *insn)
{
	return insn->op == COT_PTX_OP_LD || insn->op == COT_PTX_OP_ST ||
	       insn->op == COT_PTX_OP_ATOM || insn->op == COT_PTX_OP_RED;
}

/* A register of 64 bits, made of parts that may have come from memory. */
static bool packs_address(const struct cot_ptx_insn *insn)
{
	return insn->op == COT_PTX_OP_MOV && insn->n_operands > 1 && insn->n_types &&
	       insn->operands[1].kind == COT_PTX_OPND_VECTOR &&
	       cot_ptx_type_bits((enum cot_ptx_type)insn->types[0]) >= 64;
}

static bool is_closed(const struct cot_ptx_insn *insn, uint32_t *grain)
{
	uint32_t i, bytes;

	if (insn->op == COT_PTX_OP_CALL || packs_address(insn))
		return false;
	for (i = 0; i < insn->n_operands && !names_memory(&insn->operands[i]); i++)
		;
	if (i == insn->n_operands)
		return true;
	if (!is_plain_access(insn) || !insn->n_types || insn->space == COT_PTX_SPACE_CONST)
		return false;
	if (!is_outside((enum cot_ptx_space)insn->space))
		return true;
	bytes = cot_ptx_type_bytes((enum cot_ptx_type)insn->types[insn->n_types - 1]);
	if (insn->op != COT_PTX_OP_LD && bytes < *grain)
		*grain = bytes;
	return !may_hold_address(insn) && bytes;
}

static bool has_plain_params(const struct cot_ptx_func *f)
{
	uint32_t i;

	for (i = 0; i < f->n_params; i++)
		if (cot_ptx_var_bytes(f->params[i]) > POINTER_BYTES)
			return false;
	return true;
}

/* How much the kernel writes at a time; 0: it is not for us. */
static uint32_t judge(const struct cot_ptx_func *f)
{
	struct cot_refusal refusal;
	struct cot_ptx_stmt *s;
	uint32_t grain = GRAIN_MAX;

	if (!f || !f->entry || !f->has_body || !has_plain_params(f) ||
	    cot_pass_check(COT_PASS_WORKERS, f, NULL, &refusal))
		return 0;
	for (s = f->first; s; s = s->next)
		if (s->kind == COT_PTX_STMT_INSN && !is_closed(&s->insn, &grain))
			return 0;
	return grain;
}

static uint32_t judge_text(const struct cot_cpu_code *code)
{
	struct cot_ptx_module *module = NULL;
	struct cot_error err;
	uint32_t grain;

	if (cot_ptx_parse(code->ptx, code->ptx_length, "PTX", &module, &err))
		return 0;
	grain = judge(cot_ptx_find_func(module, code->name));
	cot_ptx_destroy(module);
	return grain;
}

/* ---- the provider ---- */

static void drop(struct kernel *k)
{
	if (k->module)
		cot_exec_module_unload(k->module);
	cot_exec_ranges_destroy(k->variables);
	free(k);
}

static int load(struct kernel *k, const struct cot_cpu_code *code)
{
	struct cot_error err;

	k->variables = cot_exec_ranges_create();
	if (!k->variables)
		return -ENOMEM;
	if (cot_exec_module_load(k->variables, code->ptx, code->ptx_length, NULL, 0, &k->module,
				 &err) ||
	    cot_exec_module_n_variables(k->module))
		return -ENOENT;
	k->function = cot_exec_module_find(k->module, code->name);
	if (!k->function)
		return -ENOENT;
	k->info = cot_exec_function_info(k->function);
	return 0;
}

static int open_kernel(const struct cot_cpu_code *code, void **ret_kernel)
{
	uint32_t grain = code->ptx ? judge_text(code) : 0;
	struct kernel *k = grain ? calloc(1, sizeof(*k)) : NULL;
	int rc;

	if (!k)
		return -ENOENT;
	k->grain = grain;
	rc = load(k, code);
	if (rc)
		drop(k);
	else
		*ret_kernel = k;
	return rc;
}

/* A number that lies in an allocation is a pointer. */
static int memory(void *kernel, struct cot_cpu_launch *launch, cot_cpu_find find)
{
	const struct kernel *k = kernel;
	uint64_t value, begin, bytes;
	uint32_t i;

	for (i = 0; i < k->info->n_params; i++) {
		if (k->info->params[i].size != POINTER_BYTES)
			continue;
		memcpy(&value, launch->params[i], sizeof(value));
		if (find(value, &begin, &bytes))
			continue;
		if (launch->n_ranges == COT_CPU_RANGES_MAX)
			return -E2BIG;
		launch->ranges[launch->n_ranges++] = (struct cot_cpu_range){
			.address = begin,
			.bytes = bytes,
			.uses = COT_CPU_CHANGES,
			.grain = k->grain,
		};
	}
	return 0;
}

static void bind(const struct kernel *k, const struct cot_cpu_launch *launch, unsigned char *args)
{
	uint32_t i;

	for (i = 0; i < k->info->n_params; i++) {
		const struct cot_exec_param *p = &k->info->params[i];
		uint64_t value;
		void *host;

		memcpy(args + p->offset, launch->params[i], p->size);
		if (p->size != POINTER_BYTES)
			continue;
		memcpy(&value, launch->params[i], sizeof(value));
		host = cot_cpu_host(launch, value);
		value = host ? (uint64_t)(uintptr_t)host : value;
		memcpy(args + p->offset, &value, sizeof(value));
	}
}

static struct cot_exec_ranges *ranges_of(const struct cot_cpu_launch *launch)
{
	struct cot_exec_ranges *m = cot_exec_ranges_create();
	uint32_t i;
	int rc = m ? 0 : -ENOMEM;

	for (i = 0; i < launch->n_ranges && !rc; i++)
		rc = cot_exec_ranges_add(m, (uint64_t)(uintptr_t)launch->ranges[i].host,
					 launch->ranges[i].bytes, true);
	if (!rc)
		return m;
	cot_exec_ranges_destroy(m);
	return NULL;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int go_on(void *arg, enum cot_exec_at at)
{
	return at != COT_EXEC_AT_BLOCK && now_ns() > *(const uint64_t *)arg;
}

static int run_in(const struct kernel *k, const struct cot_cpu_launch *launch,
		  struct cot_exec_ranges *memory_of, unsigned char *args)
{
	uint64_t until_ns = now_ns() + TIME_MAX_NS;
	struct cot_exec_launch what = {
		.function = k->function,
		.memory = memory_of,
		.shared_bytes = launch->shared_bytes,
		.args = args,
		.args_size = k->info->args_size,
		.gate = go_on,
		.arg = &until_ns,
	};
	struct cot_exec_run *run;
	struct cot_error err;
	int rc;

	memcpy(what.grid, launch->grid, sizeof(what.grid));
	memcpy(what.block, launch->block, sizeof(what.block));
	rc = cot_exec_start(&what, &run, &err);
	if (rc)
		return rc;
	/* On this thread alone: others would be there for the program's signals, too. */
	rc = cot_exec_run(run, 1) == COT_EXEC_DONE ? 0 : -EFAULT;
	cot_exec_destroy(run);
	return rc;
}

static int run_kernel(void *kernel, const struct cot_cpu_launch *launch)
{
	const struct kernel *k = kernel;
	struct cot_exec_ranges *m = ranges_of(launch);
	unsigned char *args = calloc(1, k->info->args_size + 1);
	int rc = m && args ? 0 : -ENOMEM;

	if (!rc) {
		bind(k, launch, args);
		rc = run_in(k, launch, m, args);
	}
	free(args);
	cot_exec_ranges_destroy(m);
	return rc;
}

COT_EXPORT const struct cot_cpu_provider *cot_cpu_provider(void);

const struct cot_cpu_provider *cot_cpu_provider(void)
{
	static const struct cot_cpu_provider provider = {
		.abi = COT_CPU_ABI,
		.name = "interpreter",
		.open = open_kernel,
		.memory = memory,
		.run = run_kernel,
	};

	return &provider;
}
