/*
 * Which memory a kernel can reach: see pass.h. By one look at all instructions, until nothing
 * changes; the order in which they run does not matter.
 *
 * What a kernel reads from memory may be used as a number: an index that is multiplied and added to
 * a pointer. It must not be a pointer itself. So a 64-bit register into which 64 bits were loaded,
 * or into which two halves were put together, and all that is made of it, may not be an address.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/pass/inside.h"

enum { CLEAN, NUMBER, POINTER };

struct reach {
	const struct cot_ptx_func *func;
	uint8_t *of; /* of each register */
	bool changed;
	/* Of the instruction that is looked at. */
	uint8_t reads;
	uint8_t writes; /* what a 64-bit register that it writes becomes */
};

static bool is_wide(const struct reach *r, uint32_t reg)
{
	return cot_ptx_type_bytes((enum cot_ptx_type)r->func->regs[reg].type) >= 8;
}

static void note_read(void *arg, uint32_t reg, bool written)
{
	struct reach *r = arg;

	if (!written && r->of[reg] > r->reads)
		r->reads = r->of[reg];
}

static void note_write(void *arg, uint32_t reg, bool written)
{
	struct reach *r = arg;
	uint8_t is = r->writes == POINTER && !is_wide(r, reg) ? NUMBER : r->writes;

	if (!written || is <= r->of[reg])
		return;
	r->of[reg] = is;
	r->changed = true;
}

/* Not what is of the launch, or of one thread block alone. */
static bool is_memory(const struct cot_ptx_insn *insn)
{
	return insn->space != COT_PTX_SPACE_PARAM;
}

/* Halves become a whole. */
static bool joins_halves(const struct cot_ptx_insn *insn)
{
	const struct cot_ptx_operand *last = &insn->operands[insn->n_operands - 1];

	switch (insn->op) {
	case COT_PTX_OP_MOV:
		return insn->n_operands == 2 && last->kind == COT_PTX_OPND_VECTOR;
	case COT_PTX_OP_SHL:
		return last->kind != COT_PTX_OPND_INT || last->imm >= 32;
	case COT_PTX_OP_BFI:
		return true;
	default:
		return false;
	}
}

static void look_at(struct reach *r, const struct cot_ptx_insn *insn)
{
	uint32_t flags = cot_ptx_op_info((enum cot_ptx_op)insn->op)->flags;

	r->reads = CLEAN;
	cot_ptx_for_each_reg(insn, note_read, r);
	if (flags & COT_PTX_F_READ)
		r->writes = is_memory(insn) ? POINTER : CLEAN;
	else if (r->reads == NUMBER && insn->n_operands && joins_halves(insn))
		r->writes = POINTER;
	else
		r->writes = r->reads;
	if (r->writes != CLEAN)
		cot_ptx_for_each_reg(insn, note_write, r);
}

static enum cot_reach reach_of_operand(const struct reach *r, const struct cot_ptx_operand *o,
				       bool in_memory)
{
	enum cot_reach reach = COT_REACH_ARGUMENTS;
	uint32_t i;

	switch (o->kind) {
	case COT_PTX_OPND_VAR:
		/* In shared and local memory, and parameters, they are the launch's own. */
		return o->var->space == COT_PTX_SPACE_GLOBAL ||
				       o->var->space == COT_PTX_SPACE_CONST ||
				       o->var->space == COT_PTX_SPACE_TEX
			       ? COT_REACH_VARIABLES
			       : COT_REACH_ARGUMENTS;
	case COT_PTX_OPND_FUNC:
	case COT_PTX_OPND_TENSOR:
		return COT_REACH_ANYTHING;
	case COT_PTX_OPND_ADDR:
		if (in_memory &&
		    (o->items[0].kind == COT_PTX_OPND_INT ||
		     (o->items[0].kind == COT_PTX_OPND_REG && r->of[o->items[0].reg] == POINTER)))
			return COT_REACH_ANYTHING;
		return reach_of_operand(r, &o->items[0], in_memory);
	case COT_PTX_OPND_VECTOR:
	case COT_PTX_OPND_PAIR:
	case COT_PTX_OPND_LIST:
		for (i = 0; i < o->n && reach == COT_REACH_ARGUMENTS; i++)
			reach = reach_of_operand(r, &o->items[i], in_memory);
		return reach;
	default:
		return COT_REACH_ARGUMENTS;
	}
}

static enum cot_reach reach_of_insn(const struct reach *r, const struct cot_ptx_insn *insn)
{
	uint32_t flags = cot_ptx_op_info((enum cot_ptx_op)insn->op)->flags, i;
	enum cot_reach reach = COT_REACH_ARGUMENTS;
	bool in_memory = is_memory(insn) && insn->space != COT_PTX_SPACE_SHARED &&
			 insn->space != COT_PTX_SPACE_LOCAL;

	if (insn->op == COT_PTX_OP_CALL || flags & (COT_PTX_F_BULK | COT_PTX_F_TEXTURE))
		return COT_REACH_ANYTHING;
	for (i = 0; i < insn->n_operands && reach == COT_REACH_ARGUMENTS; i++)
		reach = reach_of_operand(r, &insn->operands[i], in_memory);
	return reach;
}

int cot_pass_reach(const struct cot_ptx_func *kernel, enum cot_reach *ret_reach)
{
	struct reach r = {.func = kernel};
	enum cot_reach reach = COT_REACH_ARGUMENTS;
	const struct cot_ptx_stmt *s;

	if (kernel->opaque) {
		*ret_reach = COT_REACH_ANYTHING;
		return 0;
	}
	r.of = calloc(kernel->n_regs ? kernel->n_regs : 1, 1);
	if (!r.of)
		return -ENOMEM;
	do {
		r.changed = false;
		for (s = kernel->first; s; s = s->next)
			if (s->kind == COT_PTX_STMT_INSN)
				look_at(&r, &s->insn);
	} while (r.changed);
	for (s = kernel->first; s && reach == COT_REACH_ARGUMENTS; s = s->next)
		if (s->kind == COT_PTX_STMT_INSN)
			reach = reach_of_insn(&r, &s->insn);
	free(r.of);
	*ret_reach = reach;
	return 0;
}
