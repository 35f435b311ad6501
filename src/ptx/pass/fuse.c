/*
 * The pass `fuse`: two kernels in one grid. Blocks below first_blocks do the first kernel's work,
 * the others the second's.
 *
 * Each kernel is made into a side: a copy that takes its block and thread index from numbers, ends
 * the threads that it has no use for, and has its shared memory in one array. The two sides then
 * become two blocks of one body, so names do not clash. Registers are the compiler's business; it
 * gives the larger of the two sets. Barriers stay as they are: threads that have ended do not hold
 * up a barrier of all threads (PTX ISA, "exit"), and no block runs both sides.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cotenant/passes.h"
#include "ptx/pass/inside.h"
#include "ptx/print.h"

#define SHARED	     "cot_fuse_shared"
#define SHARED_ALIGN 16u

#define ARG(field)  ((uint32_t)offsetof(struct cot_fuse_args, field))
#define SIDE(field) (side->at + (uint32_t)offsetof(struct cot_fuse_side, field))

static const char *const tid_names[3] = {"%tx", "%ty", "%tz"};
static const char *const ntid_names[3] = {"%ux", "%uy", "%uz"};

struct side {
	struct cot_ptx_func *func;
	uint32_t at;			  /* where its struct cot_fuse_side is in the parameter */
	const char *args;		  /* the name of that parameter */
	const struct cot_ptx_func *first; /* the second side: whose parameters come first */
	uint32_t tid, ntid;		  /* bits: what is read */
	uint32_t tid_regs[3], ntid_regs[3];
	struct cot_ptx_var *array;	     /* its shared memory */
	uint64_t shared_bytes, shared_align; /* all its variables together */
	const struct cot_ptx_var *var;	     /* scratch: moved to `offset` of the array */
	uint64_t offset;
};

/* ---- thread index ---- */

static void note_thread_index(void *arg, struct cot_ptx_operand *o)
{
	struct side *side = arg;

	if (o->kind != COT_PTX_OPND_SREG || o->part > 2)
		return;
	if (o->sreg == COT_PTX_SREG_TID)
		side->tid |= 1u << o->part;
	else if (o->sreg == COT_PTX_SREG_NTID)
		side->ntid |= 1u << o->part;
}

static void replace_thread_index(void *arg, struct cot_ptx_operand *o)
{
	const struct side *side = arg;

	if (o->kind != COT_PTX_OPND_SREG || o->part > 2)
		return;
	if (o->sreg == COT_PTX_SREG_TID)
		*o = cot_ptx_reg_operand(side->tid_regs[o->part]);
	else if (o->sreg == COT_PTX_SREG_NTID)
		*o = cot_ptx_reg_operand(side->ntid_regs[o->part]);
}

static void each_operand(struct cot_ptx_func *func, cot_ptx_operand_fn fn, void *arg)
{
	struct cot_ptx_stmt *s;

	for (s = func->first; s; s = s->next)
		if (s->kind == COT_PTX_STMT_INSN)
			cot_ptx_for_each_operand(&s->insn, fn, arg);
}

static void put_thread_index(struct cot_emit *e, struct side *side, struct cot_ptx_stmt *start)
{
	const struct cot_decode at = {SIDE(block), SIDE(by_block_row), SIDE(by_block_column)};
	uint32_t i;

	cot_emit_format(e, start,
			".reg .pred %%p; .reg .b32 %%n, %%t;\n"
			"mov.u32 %%thread, %%tid.x; ld.param.u32 %%n, [args+%u];\n"
			"ld.param.u32 %%t, [args+%u]; mul.lo.u32 %%n, %%n, %%t;\n"
			"ld.param.u32 %%t, [args+%u]; mul.lo.u32 %%n, %%n, %%t;\n"
			"setp.ge.u32 %%p, %%thread, %%n; @%%p exit;",
			(unsigned)SIDE(block), (unsigned)SIDE(block) + 4,
			(unsigned)SIDE(block) + 8);
	cot_pass_decode(e, start, "%thread", tid_names, side->tid, &at);
	for (i = 0; i < 3; i++)
		if (side->ntid >> i & 1)
			cot_emit_format(e, start, "ld.param.u32 %s, [args+%u];", ntid_names[i],
					(unsigned)(SIDE(block) + 4 * i));
}

/* ---- shared memory ---- */

static void move_operand(const struct side *side, struct cot_ptx_operand *o)
{
	uint32_t i;

	switch (o->kind) {
	case COT_PTX_OPND_VAR:
		if (o->var == side->var) {
			o->var = side->array;
			o->imm += (int64_t)side->offset;
		}
		break;
	case COT_PTX_OPND_ADDR:
		/* The offset of an address is outside of its base. */
		if (o->items[0].kind == COT_PTX_OPND_VAR && o->items[0].var == side->var) {
			o->items[0].var = side->array;
			o->imm += (int64_t)side->offset;
		}
		break;
	case COT_PTX_OPND_VECTOR:
	case COT_PTX_OPND_LIST:
	case COT_PTX_OPND_TENSOR:
		for (i = 0; i < o->n; i++)
			move_operand(side, &o->items[i]);
		break;
	default:
		break;
	}
}

static bool is_own_shared(const struct cot_ptx_stmt *s)
{
	return s->kind == COT_PTX_STMT_VAR && s->var->space == COT_PTX_SPACE_SHARED &&
	       !s->var->unsized && s->var->linkage != COT_PTX_LINK_EXTERN;
}

static void move_shared(struct cot_emit *e, struct side *side)
{
	struct cot_ptx_stmt *s, *use, *array = NULL;
	uint32_t i;

	if (!e->rc)
		e->rc = cot_ptx_insert_text(e->func, cot_ptx_body_start(e->func),
					    ".shared .align 16 .b8 " SHARED "[1];", NULL, 0, &array,
					    NULL, e->err);
	if (e->rc)
		return;
	side->array = array->var;
	side->array->name = SHARED; /* a literal: it outlives the module */
	for (s = e->func->first; s; s = s->next) {
		uint64_t align;

		if (!is_own_shared(s) || s == array)
			continue;
		align = cot_ptx_var_align(s->var);
		side->var = s->var;
		side->offset = (side->shared_bytes + align - 1) / align * align;
		side->shared_bytes = side->offset + cot_ptx_var_bytes(s->var);
		if (align > side->shared_align)
			side->shared_align = align;
		for (use = e->func->first; use; use = use->next)
			for (i = 0; use->kind == COT_PTX_STMT_INSN && i < use->insn.n_operands; i++)
				move_operand(side, &use->insn.operands[i]);
	}
}

/* ---- a side ---- */

static bool has_param(const struct cot_ptx_func *func, const char *name)
{
	uint32_t i;

	for (i = 0; i < func->n_params; i++)
		if (!strcmp(func->params[i]->name, name))
			return true;
	return false;
}

/*
 * `stem`, with a number behind it where one of the kernels, which may be fused ones, has a
 * parameter of that name. NULL when out of memory.
 */
static const char *fresh_name(const char *stem, const struct cot_ptx_func *first,
			      const struct cot_ptx_func *second)
{
	char *name = cot_pass_join(stem, "", NULL), number[16];
	const char *fresh;
	unsigned i;

	for (i = 2; name && (has_param(first, name) || has_param(second, name)); i++) {
		(void)snprintf(number, sizeof(number), "$%u", i);
		free(name);
		name = cot_pass_join(stem, number, NULL);
	}
	fresh = name ? cot_ptx_strdup(first->module, name) : NULL;
	free(name);
	return fresh;
}

/* Parameters of the second kernel get names that the first has not. */
static int rename_params(struct side *side)
{
	struct cot_ptx_func *func = side->func;
	uint32_t i;

	for (i = 0; side->first && i < func->n_params; i++) {
		char *stem = cot_pass_join(func->params[i]->name, "$second", NULL);

		if (!stem)
			return -ENOMEM;
		func->params[i]->name = fresh_name(stem, side->first, func);
		free(stem);
		if (!func->params[i]->name)
			return -ENOMEM;
	}
	return 0;
}

static void add_args(struct cot_emit *e, const char *name)
{
	cot_emit_param(e, "args", sizeof(struct cot_fuse_args));
	if (!e->rc)
		e->binds[e->n_binds - 1].operand.var->name = name;
}

static int make_side(struct cot_ptx_func *kernel, const struct cot_facts *facts, struct side *side,
		     struct cot_error *err)
{
	char *name = cot_pass_join(kernel->name, "$cot_side", side->first ? "2" : "1");
	const struct cot_decode at = {SIDE(grid), SIDE(by_row), SIDE(by_column)};
	struct cot_block_index index;
	struct cot_ptx_stmt *start;
	struct cot_emit e;
	uint32_t i;
	int rc = name ? cot_ptx_clone_func(kernel, name, &side->func, err)
		      : cot_error_set(err, -ENOMEM, "out of memory");

	free(name);
	if (rc)
		return rc;
	cot_emit_init(&e, side->func, err);
	e.rc = rename_params(side);
	each_operand(side->func, note_thread_index, side);
	add_args(&e, side->args);
	(void)cot_emit_reg(&e, COT_PTX_B32, "%id");
	(void)cot_emit_reg(&e, COT_PTX_B32, "%thread");
	for (i = 0; i < 3; i++) {
		if (side->tid >> i & 1)
			side->tid_regs[i] = cot_emit_reg(&e, COT_PTX_B32, tid_names[i]);
		if (side->ntid >> i & 1)
			side->ntid_regs[i] = cot_emit_reg(&e, COT_PTX_B32, ntid_names[i]);
	}
	each_operand(side->func, replace_thread_index, side);
	cot_block_index_make(&e, facts, &index);
	cot_block_index_replace(&e, &index);
	move_shared(&e, side);
	start = cot_ptx_body_start(side->func);
	cot_emit_format(&e, start,
			".reg .b32 %%t; mov.u32 %%id, %%ctaid.x; ld.param.u32 %%t, [args+%u];%s",
			(unsigned)ARG(first_blocks), side->first ? " sub.u32 %id, %id, %t;" : "");
	put_thread_index(&e, side, start);
	cot_block_index_decode(&e, start, facts, &at);
	cot_block_index_load_grid(&e, start, facts, SIDE(grid));
	return e.rc;
}

static void drop_side(struct side *side)
{
	if (side->func)
		cot_ptx_remove_item(side->func->module, cot_ptx_item_of_func(side->func));
}

/* ---- the two as one text ---- */

static uint32_t max_threads(const struct cot_ptx_func *func)
{
	uint32_t i, k, n;

	for (i = 0; i < func->n_directives; i++) {
		const struct cot_ptx_directive *d = &func->directives[i];

		if (d->kind != COT_PTX_DIR_MAXNTID && d->kind != COT_PTX_DIR_REQNTID)
			continue;
		for (n = 1, k = 0; k < d->n; k++)
			n *= d->values[k];
		return n;
	}
	return 0;
}

static void print_side(struct cot_ptx_buf *b, const struct side *side)
{
	const struct cot_ptx_stmt *s;

	cot_ptx_buf_add(b, "{\n");
	for (s = side->func->first; s; s = s->next) {
		if (s->kind == COT_PTX_STMT_LOC || is_own_shared(s))
			continue;
		cot_ptx_print_one(b, side->func, s);
		cot_ptx_buf_add(b, s->kind == COT_PTX_STMT_LABEL || s->kind == COT_PTX_STMT_OPEN ||
						   s->kind == COT_PTX_STMT_CLOSE
					   ? "\n"
					   : ";\n");
	}
	cot_ptx_buf_add(b, "ret;\n}\n");
}

static void print_fused(struct cot_ptx_buf *b, const char *name, const struct side *first,
			const struct side *second)
{
	uint32_t threads[2] = {max_threads(first->func), max_threads(second->func)};
	uint64_t bytes = first->shared_bytes > second->shared_bytes ? first->shared_bytes
								    : second->shared_bytes;

	cot_ptx_buf_add(b, ".visible .entry ");
	cot_ptx_buf_add(b, name);
	cot_ptx_buf_add(b, "(");
	/* Each side's last parameter is the appended one. */
	cot_ptx_print_params(b, first->func->params, first->func->n_params - 1, ", ");
	cot_ptx_buf_add(b, first->func->n_params > 1 ? ", " : "");
	cot_ptx_print_params(b, second->func->params, second->func->n_params, ", ");
	cot_ptx_buf_add(b, ")");
	if (threads[0] && threads[1]) {
		uint32_t n = threads[0] > threads[1] ? threads[0] : threads[1];

		cot_ptx_buf_add(b, " .maxntid ");
		cot_ptx_buf_uint(b, (n + 31) / 32 * 32);
	}
	cot_ptx_buf_add(b, "\n{\n");
	if (bytes) {
		uint64_t align = first->shared_align > second->shared_align ? first->shared_align
									    : second->shared_align;

		cot_ptx_buf_add(b, ".shared .align ");
		cot_ptx_buf_uint(b, align > SHARED_ALIGN ? align : SHARED_ALIGN);
		cot_ptx_buf_add(b, " .b8 " SHARED "[");
		cot_ptx_buf_uint(b, bytes);
		cot_ptx_buf_add(b, "];\n");
	}
	cot_ptx_buf_add(b, ".reg .pred %cot_first; .reg .b32 %cot_block, %cot_blocks;\n"
			   "mov.u32 %cot_block, %ctaid.x; ld.param.u32 %cot_blocks, [");
	cot_ptx_buf_add(b, first->args);
	cot_ptx_buf_add(b, "];\n"
			   "setp.lt.u32 %cot_first, %cot_block, %cot_blocks;\n"
			   "@%cot_first bra $cot_first_kernel;\n");
	print_side(b, second);
	cot_ptx_buf_add(b, "$cot_first_kernel:\n");
	print_side(b, first);
	cot_ptx_buf_add(b, "}\n");
}

static int add_fused(const char *name, const struct side *first, const struct side *second,
		     struct cot_ptx_func **ret_kernel, struct cot_error *err)
{
	struct cot_ptx_module *m = first->func->module;
	struct cot_ptx_buf b = {0};
	struct cot_ptx_item *item;
	int rc;

	print_fused(&b, name, first, second);
	cot_ptx_buf_bytes(&b, "", 1);
	if (b.no_memory)
		rc = cot_error_set(err, -ENOMEM, "out of memory");
	else
		rc = cot_ptx_add_text(m, NULL, b.text, &item, err);
	free(b.text);
	if (rc)
		return rc;
	rc = cot_ptx_verify_func(item->func, err);
	if (rc) {
		cot_ptx_remove_item(m, item);
		return rc;
	}
	*ret_kernel = item->func;
	return 0;
}

/* ---- refusals ---- */

static int check_side(const struct cot_ptx_func *kernel, struct cot_facts *ret_facts,
		      struct cot_refusal *ret_refusal, struct cot_error *err)
{
	int rc = cot_pass_check(COT_PASS_FUSE, kernel, ret_facts, ret_refusal);

	if (rc == -ENOMEM)
		return cot_error_set(err, rc, "out of memory");
	return rc ? cot_error_set(err, rc, "%s", ret_refusal->text) : 0;
}

int cot_pass_fuse(struct cot_ptx_func *first, struct cot_ptx_func *second,
		  struct cot_ptx_func **ret_kernel, struct cot_refusal *ret_refusal,
		  struct cot_error *err)
{
	struct side a = {.at = ARG(first)};
	struct side b = {.at = ARG(second), .first = first};
	struct cot_facts facts_a, facts_b;
	char *name = NULL;
	int rc = check_side(first, &facts_a, ret_refusal, err);

	if (!rc)
		rc = check_side(second, &facts_b, ret_refusal, err);
	if (!rc && cot_pass_check_pair(first, second, ret_refusal))
		rc = cot_error_set(err, -ENOTSUP, "%s", ret_refusal->text);
	if (rc)
		return rc;
	name = cot_pass_join(first->name, "$cot_fuse$", second->name);
	a.args = b.args = fresh_name("cot_fuse_args", first, second);
	if (!name || !a.args) {
		free(name);
		return cot_error_set(err, -ENOMEM, "out of memory");
	}
	if (cot_ptx_find_func(first->module, name))
		rc = cot_error_set(err, -EEXIST, "there is a %s already", name);
	if (!rc)
		rc = make_side(first, &facts_a, &a, err);
	if (!rc)
		rc = make_side(second, &facts_b, &b, err);
	if (!rc)
		rc = add_fused(name, &a, &b, ret_kernel, err);
	drop_side(&a);
	drop_side(&b);
	free(name);
	return rc;
}
