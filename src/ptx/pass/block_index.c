/*
 * The block index as values: what the kernel reads from %ctaid and %nctaid comes from registers, in
 * called functions from parameters.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cotenant/passes.h"
#include "ptx/pass/inside.h"

#define COPY_SUFFIX "$cot_index"
#define N_PARTS	    6 /* ctaid.x to .z, nctaid.x to .z */
#define ARGS_MAX    256u

static const char *const part_names[N_PARTS] = {"%bx", "%by", "%bz", "%gx", "%gy", "%gz"};

/* ---- which parts are read ---- */

static void note_part(void *arg, struct cot_ptx_operand *operand)
{
	uint32_t *mask = arg;

	if (operand->kind != COT_PTX_OPND_SREG || operand->part > 2)
		return;
	if (operand->sreg == COT_PTX_SREG_CTAID)
		*mask |= 1u << operand->part;
	else if (operand->sreg == COT_PTX_SREG_NCTAID)
		*mask |= 1u << (3 + operand->part);
}

/* Bits 0 to 2 for %ctaid, 3 to 5 for %nctaid, in the function and all that it calls. */
static int read_mask(const struct cot_ptx_func *func, uint32_t *ret_mask)
{
	const struct cot_ptx_func **funcs;
	struct cot_ptx_stmt *s;
	uint32_t n, i;
	int rc = cot_pass_closure(func, &funcs, &n);

	*ret_mask = 0;
	for (i = 0; !rc && i < n; i++)
		for (s = funcs[i]->first; s; s = s->next)
			if (s->kind == COT_PTX_STMT_INSN)
				cot_ptx_for_each_operand(&s->insn, note_part, ret_mask);
	if (!rc)
		free(funcs);
	return rc;
}

void cot_block_index_make(struct cot_emit *e, const struct cot_facts *facts,
			  struct cot_block_index *ret_index)
{
	uint32_t mask = (facts->ctaid & 7) | (facts->nctaid & 7) << 3, i, reg;

	for (i = 0; i < N_PARTS; i++) {
		reg = mask >> i & 1 ? cot_emit_reg(e, COT_PTX_B32, part_names[i]) : COT_PTX_NO_REG;
		if (i < 3)
			ret_index->ctaid[i] = reg;
		else
			ret_index->nctaid[i - 3] = reg;
	}
}

static uint32_t index_reg(const struct cot_block_index *index, uint32_t part)
{
	return part < 3 ? index->ctaid[part] : index->nctaid[part - 3];
}

/* ---- operands ---- */

static void replace_part(void *arg, struct cot_ptx_operand *operand)
{
	const struct cot_block_index *index = arg;
	uint32_t mask = 0, i;

	note_part(&mask, operand);
	for (i = 0; i < N_PARTS; i++)
		if (mask >> i & 1 && index_reg(index, i) != COT_PTX_NO_REG)
			*operand = cot_ptx_reg_operand(index_reg(index, i));
}

/* ---- calls ---- */

static struct cot_ptx_func *copy_callee(struct cot_emit *e, struct cot_ptx_func *callee,
					uint32_t mask);

/* The text of a call, and what its names mean. */
struct call_text {
	char *text;
	size_t size, used;
	struct cot_ptx_bind binds[ARGS_MAX];
	char names[ARGS_MAX][8];
	size_t n_binds;
	bool full;
};

static void put(struct call_text *t, const char *text)
{
	size_t n = strlen(text);

	if (t->used + n >= t->size) {
		t->full = true;
		return;
	}
	memcpy(t->text + t->used, text, n + 1);
	t->used += n;
}

static const char *bind(struct call_text *t, struct cot_ptx_operand operand)
{
	size_t i = t->n_binds;

	if (i == ARGS_MAX) {
		t->full = true;
		return "";
	}
	(void)snprintf(t->names[i], sizeof(t->names[i]),
		       operand.kind == COT_PTX_OPND_REG ? "%%b%zu" : "b%zu", i);
	t->binds[i] = (struct cot_ptx_bind){t->names[i], operand};
	t->n_binds++;
	return t->names[i];
}

static void put_list(struct call_text *t, const struct cot_ptx_operand *list)
{
	uint32_t i;

	for (i = 0; i < list->n; i++) {
		put(t, i ? ", " : "");
		put(t, bind(t, list->items[i]));
	}
}

/* The call again, to the copy, with the parts of the index as further arguments. */
static void write_call(struct call_text *t, const struct cot_ptx_insn *call,
		       struct cot_ptx_func *copy, uint32_t mask,
		       const struct cot_block_index *index)
{
	uint32_t i;
	char text[96];

	for (i = 0; i < N_PARTS; i++) {
		if (!(mask >> i & 1))
			continue;
		(void)snprintf(text, sizeof(text),
			       ".param .b32 part%u; st.param.b32 [part%u], %s;\n", (unsigned)i,
			       (unsigned)i, bind(t, cot_ptx_reg_operand(index_reg(index, i))));
		put(t, text);
	}
	if (call->guard != COT_PTX_NO_REG) {
		put(t, call->guard_negated ? "@!" : "@");
		put(t, bind(t, cot_ptx_reg_operand(call->guard)));
		put(t, " ");
	}
	put(t, cot_ptx_has_mod(call, COT_PTX_MOD_UNI) ? "call.uni " : "call ");
	if (call->operands[0].kind == COT_PTX_OPND_LIST && call->operands[0].n) {
		put(t, "(");
		put_list(t, &call->operands[0]);
		put(t, "), ");
	}
	put(t, bind(t, cot_ptx_func_operand(copy)));
	put(t, ", (");
	if (call->operands[2].kind == COT_PTX_OPND_LIST)
		put_list(t, &call->operands[2]);
	for (i = 0; i < N_PARTS; i++) {
		if (!(mask >> i & 1))
			continue;
		put(t, t->text[t->used - 1] == '(' ? "" : ", ");
		(void)snprintf(text, sizeof(text), "part%u", (unsigned)i);
		put(t, text);
	}
	put(t, ");");
}

static void replace_call(struct cot_emit *e, struct cot_ptx_stmt *s,
			 const struct cot_block_index *index)
{
	struct cot_ptx_func *callee = cot_pass_callee(&s->insn), *copy;
	struct call_text *t;
	uint32_t mask;

	if (!callee || !callee->has_body)
		return;
	e->rc = read_mask(callee, &mask);
	if (e->rc || !mask)
		return;
	copy = copy_callee(e, callee, mask);
	if (e->rc)
		return;
	t = calloc(1, sizeof(*t));
	if (t) {
		t->size = 16u * ARGS_MAX;
		t->text = calloc(1, t->size);
	}
	if (!t || !t->text) {
		e->rc = cot_error_set(e->err, -ENOMEM, "out of memory");
	} else {
		write_call(t, &s->insn, copy, mask, index);
		e->rc = t->full ? cot_error_set(e->err, -E2BIG, "%s: a call has too many arguments",
						e->func->name)
				: cot_ptx_insert_text(e->func, s, t->text, t->binds, t->n_binds,
						      NULL, NULL, e->err);
		if (!e->rc)
			cot_ptx_unlink(e->func, s);
	}
	if (t)
		free(t->text);
	free(t);
}

void cot_block_index_replace(struct cot_emit *e, const struct cot_block_index *index)
{
	struct cot_ptx_stmt *s, *next;

	for (s = e->func->first; s && !e->rc; s = next) {
		next = s->next;
		if (s->kind != COT_PTX_STMT_INSN)
			continue;
		cot_ptx_for_each_operand(&s->insn, replace_part, (void *)(uintptr_t)index);
		if (s->insn.op == COT_PTX_OP_CALL)
			replace_call(e, s, index);
	}
}

/* ---- copies of called functions ---- */

static void add_part_params(struct cot_emit *e, uint32_t mask, struct cot_block_index *ret_index)
{
	struct cot_facts facts = {.ctaid = mask & 7, .nctaid = mask >> 3};
	struct cot_ptx_stmt *start = cot_ptx_body_start(e->func);
	struct cot_ptx_var *var;
	char text[64];
	uint32_t i;

	cot_block_index_make(e, &facts, ret_index);
	for (i = 0; i < N_PARTS && !e->rc; i++) {
		if (!(mask >> i & 1))
			continue;
		(void)snprintf(text, sizeof(text), "cot_index_%u", (unsigned)i);
		e->rc = cot_ptx_add_param(e->func, COT_PTX_B32, text, &var);
		if (e->rc)
			return;
		cot_emit_bind(e, "part", cot_ptx_var_operand(var));
		(void)snprintf(text, sizeof(text), "ld.param.b32 %s, [part];", part_names[i]);
		cot_emit_text(e, start, text);
		e->n_binds--;
	}
}

/* Made once for a function, and put before everything that may call it. */
static struct cot_ptx_func *copy_callee(struct cot_emit *e, struct cot_ptx_func *callee,
					uint32_t mask)
{
	struct cot_block_index index;
	struct cot_ptx_func *copy;
	struct cot_emit inner;
	char *name = cot_pass_join(callee->name, COPY_SUFFIX, NULL);

	if (!name) {
		e->rc = cot_error_set(e->err, -ENOMEM, "out of memory");
		return NULL;
	}
	copy = cot_ptx_find_func(callee->module, name);
	if (!copy) {
		e->rc = cot_ptx_clone_func(callee, name, &copy, e->err);
		if (!e->rc) {
			cot_emit_init(&inner, copy, e->err);
			add_part_params(&inner, mask, &index);
			cot_block_index_replace(&inner, &index);
			e->rc = inner.rc ? inner.rc : cot_ptx_verify_func(copy, e->err);
			cot_pass_move_last(copy);
		}
	}
	free(name);
	return copy;
}

/* ---- from numbers to indices ---- */

/* %above: how often the extent of the divider fits `number`. */
static void put_division(struct cot_emit *e, struct cot_ptx_stmt *before, const char *number,
			 uint32_t divider)
{
	cot_emit_format(
		e, before,
		"ld.param.u64 %%wide, [args+%zu]; ld.param.u32 %%factor, [args+%zu];\n"
		"mad.wide.u32 %%wide, %s, %%factor, %%wide; mov.b64 {%%factor, %%above}, %%wide;\n"
		"ld.param.u32 %%factor, [args+%zu]; shr.u32 %%above, %%above, %%factor;",
		divider + offsetof(struct cot_divider, addend),
		divider + offsetof(struct cot_divider, multiplier), number,
		divider + offsetof(struct cot_divider, shift));
}

/* One index: what is left of `number` without %above times the extent. */
static void put_rest(struct cot_emit *e, struct cot_ptx_stmt *before, const char *name,
		     const char *number, uint32_t extent)
{
	cot_emit_format(
		e, before,
		"ld.param.u32 %%factor, [args+%u]; mul.lo.u32 %%factor, %%factor, %%above;\n"
		"sub.u32 %s, %s, %%factor;",
		(unsigned)extent, name, number);
}

void cot_pass_decode(struct cot_emit *e, struct cot_ptx_stmt *before, const char *number,
		     const char *const names[3], uint32_t mask, const struct cot_decode *at)
{
	size_t n_binds = e->n_binds;

	if (!mask)
		return;
	(void)cot_emit_reg(e, COT_PTX_B64, "%wide");
	(void)cot_emit_reg(e, COT_PTX_B32, "%factor");
	(void)cot_emit_reg(e, COT_PTX_B32, "%above");
	(void)cot_emit_reg(e, COT_PTX_B32, "%rows");
	put_division(e, before, number, at->by_row);
	if (mask & 1)
		put_rest(e, before, names[0], number, at->extents);
	if (mask & 6) {
		cot_emit_text(e, before, "mov.u32 %rows, %above;");
		put_division(e, before, "%rows", at->by_column);
	}
	if (mask & 2)
		put_rest(e, before, names[1], "%rows", at->extents + 4);
	if (mask & 4)
		cot_emit_format(e, before, "mov.u32 %s, %%above;", names[2]);
	e->n_binds = n_binds;
}

void cot_block_index_decode(struct cot_emit *e, struct cot_ptx_stmt *before,
			    const struct cot_facts *facts, const struct cot_decode *at)
{
	cot_pass_decode(e, before, "%id", part_names, facts->ctaid & 7, at);
}

void cot_block_index_load_grid(struct cot_emit *e, struct cot_ptx_stmt *before,
			       const struct cot_facts *facts, uint32_t offset)
{
	uint32_t i;

	for (i = 0; i < 3; i++)
		if (facts->nctaid >> i & 1)
			cot_emit_format(e, before, "ld.param.u32 %s, [args+%u];", part_names[3 + i],
					(unsigned)(offset + 4 * i));
}
