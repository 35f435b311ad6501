/*
 * Looks at a kernel and at all that it calls, and says which constructs a pass refuses.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cotenant/passes.h"
#include "ptx/pass/cfg.h"
#include "ptx/pass/hazards.h"
#include "ptx/pass/inside.h"

#define STATIC_SHARED_MAX (48u * 1024)
#define WORKERS_SHARED	  32u /* what `workers` and `retreat` add, see tasks.h */
#define PARAMS_MAX	  4352u
#define PARAMS_MAX_81	  32764u /* from PTX 8.1 on, for sm_70 and later */

/* ---- refusing ---- */

COT_PRINTF(6, 7)
static void refuse(struct cot_scan *scan, enum cot_reason reason, const struct cot_ptx_func *func,
		   uint32_t line, bool names_func, const char *fmt, ...)
{
	struct cot_refusal *r = scan->refusal;
	char what[COT_ERROR_MAX / 2], where[32] = "";
	va_list args;

	if (r->reason != COT_REASON_NONE || !cot_reason_refuses(reason, scan->pass))
		return;
	va_start(args, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	r->reason = reason;
	r->line = line;
	if (line) /* what an earlier pass wrote has none */
		(void)snprintf(where, sizeof(where), ", line %u", (unsigned)line);
	(void)snprintf(r->text, sizeof(r->text), "kernel %s%s%s%s: %s (%s): %s", scan->kernel->name,
		       where, names_func ? ", in " : "", names_func ? func->name : "",
		       cot_reason_name(reason), what, cot_reason_why(reason));
}

void cot_scan_refuse(struct cot_scan *scan, enum cot_reason reason, const struct cot_ptx_func *func,
		     const struct cot_ptx_stmt *stmt)
{
	char text[128];

	cot_ptx_print_stmt(func, stmt, text, sizeof(text));
	refuse(scan, reason, func, stmt->line, func != scan->kernel, "%s", text);
}

void cot_scan_refuse_func(struct cot_scan *scan, enum cot_reason reason,
			  const struct cot_ptx_func *func, const char *what)
{
	refuse(scan, reason, func, func->line, func != scan->kernel, "%s", what);
}

/* ---- one function as a whole ---- */

/* Functions of the CUDA runtime for the GPU that are known not to look at the block index. */
static bool harmless(const char *name)
{
	static const char *const names[] = {"vprintf", "malloc", "free", "__assertfail"};
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static bool launches(const char *name)
{
	return !strncmp(name, "cudaLaunchDevice", 16) ||
	       !strncmp(name, "cudaGetParameterBuffer", 22) || !strncmp(name, "__cudaCDP", 9) ||
	       !strcmp(name, "cudaDeviceSynchronize");
}

static void scan_head(struct cot_scan *scan, const struct cot_ptx_func *func)
{
	const struct cot_ptx_module *m = func->module;
	bool inner = func != scan->kernel;
	uint32_t i;

	if (func->opaque) {
		refuse(scan, COT_REASON_OPAQUE, func, func->line, inner, "%s",
		       func->reason ? func->reason : "text");
		return;
	}
	if (!func->has_body && !inner)
		refuse(scan, COT_REASON_NO_BODY, func, func->line, false, "declaration");
	if (!func->has_body && inner && launches(func->name))
		refuse(scan, COT_REASON_CHILD, func, func->line, true, "%s", func->name);
	if (!func->has_body && inner && !harmless(func->name))
		refuse(scan, COT_REASON_EXTERNAL, func, func->line, true, "%s", func->name);
	if (inner && func->has_body)
		scan->facts->n_calls++;
	if (!inner && (m->sm < 70 || m->version_major < 6))
		refuse(scan, COT_REASON_TARGET, func, func->line, false,
		       ".version %u.%u, .target %s", (unsigned)m->version_major,
		       (unsigned)m->version_minor, m->target);
	for (i = 0; i < func->n_directives; i++) {
		uint8_t kind = func->directives[i].kind;

		if (kind == COT_PTX_DIR_REQNCTAPERCLUSTER || kind == COT_PTX_DIR_EXPLICITCLUSTER ||
		    kind == COT_PTX_DIR_MAXCLUSTERRANK || kind == COT_PTX_DIR_BLOCKSARECLUSTERS)
			refuse(scan, COT_REASON_CLUSTER, func, func->line, inner,
			       "a directive about clusters");
	}
}

/* What the pass appends. */
static uint32_t appended_bytes(enum cot_pass pass)
{
	static const uint32_t bytes[] = {
		[COT_PASS_WORKERS] = sizeof(struct cot_workers_args),
		[COT_PASS_RETREAT] = sizeof(struct cot_retreat_args),
		[COT_PASS_SLICE] = sizeof(struct cot_slice_args),
		[COT_PASS_FUSE] = sizeof(struct cot_fuse_args),
		[COT_PASS_COUNT] = 8,
		[COT_PASS_RECORD] = 8,
	};

	return bytes[pass];
}

uint64_t cot_pass_params_end(const struct cot_ptx_func *func, uint64_t bytes)
{
	uint32_t i;

	for (i = 0; i < func->n_params; i++) {
		uint32_t align = cot_ptx_var_align(func->params[i]);

		bytes = (bytes + align - 1) / align * align + cot_ptx_var_bytes(func->params[i]);
	}
	return bytes;
}

uint64_t cot_pass_param_at(const struct cot_ptx_func *kernel, uint32_t param)
{
	const struct cot_ptx_func upto = {.params = kernel->params, .n_params = param + 1};

	return cot_pass_params_end(&upto, 0) - cot_ptx_var_bytes(kernel->params[param]);
}

/* `batch` appends nothing: its one parameter has those of several launches. */
static void scan_instances(struct cot_scan *scan, uint64_t bytes)
{
	struct cot_batch_shape shape;

	if (cot_pass_batch_shape(scan->kernel, &shape))
		refuse(scan, COT_REASON_PARAMETERS, scan->kernel, scan->kernel->line, false,
		       "%llu bytes, twice", (unsigned long long)bytes);
}

/* `bytes` of parameters, and what the pass appends. */
static void scan_params(struct cot_scan *scan, uint64_t bytes)
{
	const struct cot_ptx_func *func = scan->kernel;
	const struct cot_ptx_module *m = func->module;
	bool long_lists = m->sm >= 70 && (m->version_major > 8 ||
					  (m->version_major == 8 && m->version_minor >= 1));

	if (scan->pass == COT_PASS_BATCH) {
		scan_instances(scan, bytes);
		return;
	}
	bytes = (bytes + 7) / 8 * 8 + appended_bytes(scan->pass);
	if (bytes > (long_lists ? PARAMS_MAX_81 : PARAMS_MAX))
		refuse(scan, COT_REASON_PARAMETERS, func, func->line, false, "%llu bytes",
		       (unsigned long long)bytes);
}

/* ---- instructions ---- */

struct operand_scan {
	struct cot_scan *scan;
	const struct cot_ptx_func *func;
	const struct cot_ptx_stmt *stmt;
};

static void scan_sreg(struct operand_scan *o, const struct cot_ptx_operand *operand)
{
	struct cot_facts *facts = o->scan->facts;

	switch (operand->sreg) {
	case COT_PTX_SREG_CTAID:
	case COT_PTX_SREG_NCTAID:
		if (operand->part > 3)
			cot_scan_refuse(o->scan, COT_REASON_WHOLE_SREG, o->func, o->stmt);
		else if (operand->sreg == COT_PTX_SREG_CTAID)
			facts->ctaid |= 1u << operand->part & 7;
		else
			facts->nctaid |= 1u << operand->part & 7;
		break;
	case COT_PTX_SREG_TID:
	case COT_PTX_SREG_NTID:
		if (operand->part > 3)
			cot_scan_refuse(o->scan, COT_REASON_WHOLE_SREG, o->func, o->stmt);
		if (o->func != o->scan->kernel)
			cot_scan_refuse(o->scan, COT_REASON_THREAD_INDEX, o->func, o->stmt);
		break;
	case COT_PTX_SREG_ENVREG:
		cot_scan_refuse(o->scan, COT_REASON_COOPERATIVE, o->func, o->stmt);
		break;
	case COT_PTX_SREG_CLUSTERID:
	case COT_PTX_SREG_NCLUSTERID:
	case COT_PTX_SREG_CLUSTER_CTAID:
	case COT_PTX_SREG_CLUSTER_NCTAID:
	case COT_PTX_SREG_CLUSTER_CTARANK:
	case COT_PTX_SREG_CLUSTER_NCTARANK:
	case COT_PTX_SREG_IS_EXPLICIT_CLUSTER:
		cot_scan_refuse(o->scan, COT_REASON_CLUSTER, o->func, o->stmt);
		break;
	default:
		break;
	}
}

static void scan_operand(void *arg, struct cot_ptx_operand *operand)
{
	struct operand_scan *o = arg;

	if (operand->kind == COT_PTX_OPND_SREG)
		scan_sreg(o, operand);
	else if (operand->kind == COT_PTX_OPND_VAR && operand->var->space == COT_PTX_SPACE_SHARED)
		o->scan->facts->uses_shared = true;
}

static void scan_barrier(struct operand_scan *o)
{
	const struct cot_ptx_operand *id = &o->stmt->insn.operands[0];

	if (o->stmt->insn.op == COT_PTX_OP_BAR_RED || o->stmt->insn.op == COT_PTX_OP_BARRIER_RED)
		id = &o->stmt->insn.operands[1];
	if (id->kind != COT_PTX_OPND_INT || id->imm < 0 || id->imm > 15)
		cot_scan_refuse(o->scan, COT_REASON_BARRIER_ID, o->func, o->stmt);
	else
		o->scan->facts->barriers |= (uint16_t)(1u << id->imm);
	if (id != &o->stmt->insn.operands[0] || o->stmt->insn.n_operands != 1 || id->imm != 0)
		o->scan->facts->named_barriers = true;
	o->scan->facts->uses_shared = true;
}

static void scan_flags(struct operand_scan *o, uint32_t flags)
{
	static const struct {
		uint32_t flag;
		enum cot_reason reason;
	} table[] = {
		{COT_PTX_F_CLUSTER, COT_REASON_CLUSTER},
		{COT_PTX_F_GRIDDEP, COT_REASON_GRIDDEP},
		{COT_PTX_F_MBARRIER, COT_REASON_MBARRIER},
		{COT_PTX_F_BULK, COT_REASON_BULK},
	};
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(table); i++)
		if (flags & table[i].flag)
			cot_scan_refuse(o->scan, table[i].reason, o->func, o->stmt);
}

static void scan_call(struct operand_scan *o)
{
	const struct cot_ptx_func *callee = cot_pass_callee(&o->stmt->insn);

	if (!callee)
		cot_scan_refuse(o->scan, COT_REASON_INDIRECT, o->func, o->stmt);
	else if (callee->has_body)
		cot_scan_refuse(o->scan, COT_REASON_CALLS, o->func, o->stmt);
}

static void scan_insn(struct operand_scan *o)
{
	struct cot_ptx_insn *insn = (struct cot_ptx_insn *)(uintptr_t)&o->stmt->insn;
	uint32_t flags = cot_ptx_op_info(insn->op)->flags;

	cot_ptx_for_each_operand(insn, scan_operand, o);
	scan_flags(o, flags);
	if (insn->space == COT_PTX_SPACE_SHARED)
		o->scan->facts->uses_shared = true;
	/* Bulk copies say shared::cluster even when they mean the block's own shared memory. */
	if ((insn->space == COT_PTX_SPACE_SHARED_CLUSTER && !(flags & COT_PTX_F_BULK)) ||
	    cot_ptx_has_mod(insn, COT_PTX_MOD_MULTICAST))
		cot_scan_refuse(o->scan, COT_REASON_CLUSTER, o->func, o->stmt);
	if (flags & COT_PTX_F_BARRIER)
		scan_barrier(o);
	if ((flags & COT_PTX_F_ASYNC) && !(flags & COT_PTX_F_WGMMA))
		o->scan->facts->async_copies = true;
	switch (insn->op) {
	case COT_PTX_OP_CALL:
		scan_call(o);
		break;
	case COT_PTX_OP_EXIT:
		if (o->func != o->scan->kernel)
			cot_scan_refuse(o->scan, COT_REASON_EXIT_IN_FUNC, o->func, o->stmt);
		break;
	case COT_PTX_OP_SETMAXNREG:
		cot_scan_refuse(o->scan, COT_REASON_SETMAXNREG, o->func, o->stmt);
		break;
	case COT_PTX_OP_ALLOCA:
		cot_scan_refuse(o->scan, COT_REASON_ALLOCA, o->func, o->stmt);
		break;
	case COT_PTX_OP_MAPA:
	case COT_PTX_OP_GETCTARANK:
		cot_scan_refuse(o->scan, COT_REASON_CLUSTER, o->func, o->stmt);
		break;
	default:
		break;
	}
}

static void scan_body(struct cot_scan *scan, const struct cot_ptx_func *func)
{
	struct operand_scan o = {scan, func, NULL};
	const struct cot_ptx_stmt *s;

	for (s = func->first; s; s = s->next) {
		o.stmt = s;
		if (s->kind == COT_PTX_STMT_INSN)
			scan_insn(&o);
		else if (s->kind == COT_PTX_STMT_VAR && s->var->space == COT_PTX_SPACE_SHARED)
			scan->facts->shared_bytes += cot_ptx_var_bytes(s->var);
	}
}

/*
 * Loops inside loops, in the order of the text: a loop lies between a label and the last branch
 * back to it. A table of labels counts as such, since the analysis does not follow it.
 */
static int find_nested_loops(struct cot_scan *scan, const struct cot_ptx_func *func)
{
	uint32_t *begins = calloc(func->n_labels + 1, sizeof(*begins)), place = 0, loop = 0;
	const struct cot_ptx_stmt *s;
	const struct cot_ptx_operand *to;

	if (!begins)
		return -ENOMEM;
	for (s = func->first; s; s = s->next) {
		place++;
		if (s->kind == COT_PTX_STMT_LABEL)
			begins[s->label->index] = place;
		if (s->kind != COT_PTX_STMT_INSN ||
		    !(cot_ptx_op_info(s->insn.op)->flags & COT_PTX_F_BRANCH))
			continue;
		to = &s->insn.operands[0];
		if (s->insn.op != COT_PTX_OP_BRA || to->kind != COT_PTX_OPND_LABEL)
			scan->facts->nested_loops = true;
		else if (begins[to->label->index] && begins[to->label->index] < loop)
			scan->facts->nested_loops = true;
		else if (begins[to->label->index] > loop)
			loop = begins[to->label->index];
	}
	free(begins);
	return 0;
}

/* The module's variables in shared memory are laid out for every kernel that may name them. */
static void scan_module(struct cot_scan *scan)
{
	const struct cot_ptx_item *item;

	for (item = scan->kernel->module->first; item; item = item->next)
		if (item->kind == COT_PTX_ITEM_VAR && item->var->space == COT_PTX_SPACE_SHARED)
			scan->facts->shared_bytes += cot_ptx_var_bytes(item->var);
	if (scan->facts->shared_bytes + WORKERS_SHARED > STATIC_SHARED_MAX)
		refuse(scan, COT_REASON_SHARED_SIZE, scan->kernel, scan->kernel->line, false,
		       "%llu bytes", (unsigned long long)scan->facts->shared_bytes);
}

/* The pass `count` looks at the basic blocks. */
static int scan_size(struct cot_scan *scan)
{
	struct cot_cfg cfg;
	int rc = cot_cfg_build(scan->kernel, &cfg);

	if (!rc)
		cot_cfg_finish(&cfg);
	if (rc == -E2BIG)
		cot_scan_refuse_func(scan, COT_REASON_TOO_LARGE, scan->kernel, "branches");
	return rc == -E2BIG ? 0 : rc;
}

int cot_pass_check(enum cot_pass pass, const struct cot_ptx_func *kernel,
		   struct cot_facts *ret_facts, struct cot_refusal *ret_refusal)
{
	const struct cot_ptx_func **funcs;
	struct cot_facts facts = {0};
	struct cot_scan scan = {pass, kernel, &facts, ret_refusal};
	uint32_t n, i;
	int rc;

	*ret_refusal = (struct cot_refusal){0};
	rc = cot_pass_closure(kernel, &funcs, &n);
	if (rc == -E2BIG) {
		refuse(&scan, COT_REASON_TOO_LARGE, kernel, kernel->line, false,
		       "it calls more than %u functions", COT_PASS_CALLEES_MAX);
		return -ENOTSUP;
	}
	if (rc)
		return rc;
	for (i = 0; i < n && !rc; i++) {
		scan_head(&scan, funcs[i]);
		if (funcs[i]->opaque)
			continue;
		scan_body(&scan, funcs[i]);
		rc = find_nested_loops(&scan, funcs[i]);
	}
	if (!rc && !kernel->opaque) {
		scan_params(&scan, cot_pass_params_end(kernel, 0));
		scan_module(&scan);
	}
	if (!rc && (pass == COT_PASS_WORKERS || pass == COT_PASS_RETREAT) && !kernel->opaque &&
	    kernel->has_body)
		rc = cot_hazards_find(&scan, funcs, n);
	if (!rc && pass == COT_PASS_BATCH)
		rc = cot_hazards_find_spins(&scan, funcs, n);
	if (!rc && pass == COT_PASS_COUNT && !kernel->opaque)
		rc = scan_size(&scan);
	free(funcs);
	if (rc)
		return rc;
	if (ret_facts)
		*ret_facts = facts;
	return ret_refusal->reason == COT_REASON_NONE ? 0 : -ENOTSUP;
}

int cot_pass_check_pair(const struct cot_ptx_func *first, const struct cot_ptx_func *second,
			struct cot_refusal *ret_refusal)
{
	struct cot_scan scan = {COT_PASS_FUSE, first, NULL, ret_refusal};

	*ret_refusal = (struct cot_refusal){0};
	scan_params(&scan, cot_pass_params_end(second, cot_pass_params_end(first, 0)));
	return ret_refusal->reason == COT_REASON_NONE ? 0 : -ENOTSUP;
}
