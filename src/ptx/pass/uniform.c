#include "ptx/pass/uniform.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LANES 32

struct analysis {
	const struct cot_cfg *cfg;
	struct cot_uniformity *out;
	bool entry, rows, changed;
	uint8_t *n_defs;   /* by register: 0, 1 or 2 for more */
	uint8_t *branches; /* by block: the class its branch had when its region was marked */
	bool *seen;	   /* scratch for regions */
	uint32_t *stack;   /* the same */
	/* What the block at hand has written itself: known better than what all blocks write. */
	uint8_t *local;
	uint32_t *local_visit;	/* by register: the visit of a block to which `local` belongs */
	uint32_t visit;		/* the one at hand; visits count from 1 */
	enum cot_uniform value; /* scratch: what the instruction at hand writes */
	bool guarded;		/* scratch: it may also write nothing */
};

static enum cot_uniform join(enum cot_uniform a, enum cot_uniform b)
{
	if (a == b || b == COT_UNI_NONE)
		return a;
	if (a == COT_UNI_NONE)
		return b;
	if (a == COT_UNI_LANES || b == COT_UNI_LANES)
		return COT_UNI_DIFFERENT;
	return a > b ? a : b;
}

static enum cot_uniform of_reg(const struct analysis *a, uint32_t reg)
{
	return (enum cot_uniform)(a->local_visit[reg] == a->visit ? a->local[reg]
								  : a->out->regs[reg]);
}

/* ---- what operands are ---- */

static enum cot_uniform of_sreg(const struct analysis *a, const struct cot_ptx_operand *o)
{
	switch (o->sreg) {
	case COT_PTX_SREG_TID:
		if (!a->rows || o->part == COT_PTX_WHOLE)
			return COT_UNI_DIFFERENT;
		return o->part == 0 ? COT_UNI_LANES : COT_UNI_WARP;
	case COT_PTX_SREG_NTID:
		return o->part == 0 && a->rows ? COT_UNI_BLOCK_32 : COT_UNI_BLOCK;
	case COT_PTX_SREG_WARPID:
		return COT_UNI_WARP;
	case COT_PTX_SREG_CTAID:
	case COT_PTX_SREG_NCTAID:
	case COT_PTX_SREG_CLUSTERID:
	case COT_PTX_SREG_NCLUSTERID:
	case COT_PTX_SREG_NWARPID:
	case COT_PTX_SREG_NSMID:
	case COT_PTX_SREG_GRIDID:
	case COT_PTX_SREG_TOTAL_SMEM_SIZE:
	case COT_PTX_SREG_DYNAMIC_SMEM_SIZE:
	case COT_PTX_SREG_ENVREG:
		return COT_UNI_BLOCK;
	default:
		return COT_UNI_DIFFERENT;
	}
}

static enum cot_uniform of_operand(const struct analysis *a, const struct cot_ptx_operand *o)
{
	enum cot_uniform u = COT_UNI_NONE;
	uint32_t i;

	switch (o->kind) {
	case COT_PTX_OPND_REG:
		return of_reg(a, o->reg);
	case COT_PTX_OPND_SREG:
		return of_sreg(a, o);
	case COT_PTX_OPND_INT:
		return o->imm % LANES ? COT_UNI_BLOCK : COT_UNI_BLOCK_32;
	case COT_PTX_OPND_VECTOR:
	case COT_PTX_OPND_PAIR:
	case COT_PTX_OPND_LIST:
	case COT_PTX_OPND_TENSOR:
		for (i = 0; i < o->n; i++)
			u = join(u, of_operand(a, &o->items[i]));
		return u;
	case COT_PTX_OPND_ADDR:
		u = of_operand(a, &o->items[0]);
		return u == COT_UNI_BLOCK_32 ? COT_UNI_BLOCK : u;
	default:
		return COT_UNI_BLOCK;
	}
}

/* ---- what instructions make ---- */

static bool whole_lanes(const struct cot_ptx_operand *o, int64_t plus)
{
	return o->kind == COT_PTX_OPND_INT && (o->imm + plus) % LANES == 0;
}

static enum cot_uniform add(enum cot_uniform x, enum cot_uniform y)
{
	if ((x == COT_UNI_LANES && y == COT_UNI_BLOCK_32) ||
	    (x == COT_UNI_BLOCK_32 && y == COT_UNI_LANES))
		return COT_UNI_LANES;
	return x == COT_UNI_LANES && y == COT_UNI_LANES ? COT_UNI_DIFFERENT : join(x, y);
}

/* A product with a multiple of 32 is one, if both are the same for the block. */
static enum cot_uniform multiply(enum cot_uniform x, enum cot_uniform y)
{
	enum cot_uniform u;

	if (x == COT_UNI_NONE || y == COT_UNI_NONE)
		return COT_UNI_NONE;
	if ((x == COT_UNI_BLOCK_32 && y <= COT_UNI_BLOCK) ||
	    (y == COT_UNI_BLOCK_32 && x <= COT_UNI_BLOCK))
		return COT_UNI_BLOCK_32;
	u = join(x, y);
	return u == COT_UNI_LANES ? COT_UNI_DIFFERENT : u;
}

/* Whether `x op y` of a row's positions is the same in a warp: the border is between two warps. */
static bool border(const struct cot_ptx_insn *insn, enum cot_uniform x, enum cot_uniform y)
{
	const struct cot_ptx_operand *o = &insn->operands[2];

	if (x != COT_UNI_LANES || insn->n_operands != 3)
		return false;
	if (cot_ptx_has_mod(insn, COT_PTX_MOD_LT) || cot_ptx_has_mod(insn, COT_PTX_MOD_GE) ||
	    cot_ptx_has_mod(insn, COT_PTX_MOD_LO) || cot_ptx_has_mod(insn, COT_PTX_MOD_HS))
		return y == COT_UNI_BLOCK_32;
	if (cot_ptx_has_mod(insn, COT_PTX_MOD_GT) || cot_ptx_has_mod(insn, COT_PTX_MOD_LE) ||
	    cot_ptx_has_mod(insn, COT_PTX_MOD_HI) || cot_ptx_has_mod(insn, COT_PTX_MOD_LS))
		return whole_lanes(o, 1);
	return false;
}

static enum cot_uniform plain(const struct analysis *a, const struct cot_ptx_insn *insn,
			      uint32_t first)
{
	enum cot_uniform u = COT_UNI_NONE;
	bool lanes = false;
	uint32_t i;

	for (i = first; i < insn->n_operands; i++) {
		enum cot_uniform v = of_operand(a, &insn->operands[i]);

		lanes |= v == COT_UNI_LANES;
		u = join(u, v);
	}
	if (lanes)
		return COT_UNI_DIFFERENT;
	/* A sum, bits or a copy of multiples of 32 may be one; this is asked for elsewhere. */
	return u == COT_UNI_BLOCK_32 ? COT_UNI_BLOCK : u;
}

static bool is_param(const struct cot_ptx_func *func, const struct cot_ptx_var *var)
{
	uint32_t i;

	for (i = 0; i < func->n_params; i++)
		if (func->params[i] == var)
			return true;
	return false;
}

static enum cot_uniform of_load(const struct analysis *a, const struct cot_ptx_insn *insn)
{
	const struct cot_ptx_operand *base = &insn->operands[1].items[0];
	enum cot_ptx_mod sem = cot_ptx_mod_of(insn, COT_PTX_CLASS_SEM);
	enum cot_uniform u = of_operand(a, &insn->operands[1]);

	if (insn->space == COT_PTX_SPACE_PARAM) {
		if (!a->entry)
			return COT_UNI_DIFFERENT; /* what the function was given */
		if (base->kind == COT_PTX_OPND_VAR && !is_param(a->cfg->func, base->var))
			return COT_UNI_DIFFERENT; /* what a call gave back */
		return u;
	}
	if (insn->space == COT_PTX_SPACE_LOCAL ||
	    (sem != COT_PTX_NO_MOD && sem != COT_PTX_MOD_WEAK))
		return COT_UNI_DIFFERENT;
	if (insn->space == COT_PTX_SPACE_NONE && u != COT_UNI_NONE)
		return COT_UNI_DIFFERENT; /* one generic address may be each thread's own local one
					   */
	return u == COT_UNI_LANES ? COT_UNI_DIFFERENT : u;
}

/* A shift by a constant, of at least a warp's width. */
static bool wide_shift(const struct cot_ptx_insn *insn)
{
	return insn->operands[2].kind == COT_PTX_OPND_INT && insn->operands[2].imm >= 5 &&
	       insn->operands[2].imm < 64;
}

static enum cot_uniform of_arithmetic(const struct analysis *a, const struct cot_ptx_insn *insn)
{
	const struct cot_ptx_operand *o = insn->operands;
	enum cot_uniform x = of_operand(a, &o[1]), y;

	switch (insn->op) {
	case COT_PTX_OP_MOV:
	case COT_PTX_OP_CVT:
		if (insn->n_operands == 2 && o[1].kind != COT_PTX_OPND_VECTOR &&
		    cot_ptx_type_class(insn->types[0]) != COT_PTX_FLOAT_TYPE)
			return x;
		break;
	case COT_PTX_OP_ADD:
	case COT_PTX_OP_OR: /* with a multiple of 32 on one side, as good as a sum */
	case COT_PTX_OP_XOR:
		return add(x, of_operand(a, &o[2]));
	case COT_PTX_OP_SUB:
		y = of_operand(a, &o[2]);
		return y == COT_UNI_LANES ? COT_UNI_DIFFERENT : add(x, y);
	case COT_PTX_OP_MUL:
		return multiply(x, of_operand(a, &o[2]));
	case COT_PTX_OP_MAD:
		return add(multiply(x, of_operand(a, &o[2])), of_operand(a, &o[3]));
	case COT_PTX_OP_SHL:
		if (wide_shift(insn) && x != COT_UNI_NONE && x <= COT_UNI_BLOCK)
			return COT_UNI_BLOCK_32;
		break;
	case COT_PTX_OP_SHR:
		if (wide_shift(insn) && x == COT_UNI_LANES)
			return COT_UNI_WARP;
		break;
	case COT_PTX_OP_DIV:
		if (x == COT_UNI_LANES && whole_lanes(&o[2], 0))
			return COT_UNI_WARP;
		break;
	case COT_PTX_OP_AND:
		if (x == COT_UNI_LANES && whole_lanes(&o[2], 0))
			return COT_UNI_WARP;
		break;
	case COT_PTX_OP_SETP:
		if (border(insn, x, of_operand(a, &o[2])))
			return COT_UNI_WARP;
		break;
	default:
		break;
	}
	return plain(a, insn, 1);
}

static enum cot_uniform of_insn(const struct analysis *a, const struct cot_ptx_insn *insn)
{
	uint32_t flags = cot_ptx_op_info(insn->op)->flags;

	switch (insn->op) {
	case COT_PTX_OP_LD:
	case COT_PTX_OP_LDU:
		return of_load(a, insn);
	case COT_PTX_OP_BAR_RED:
	case COT_PTX_OP_BARRIER_RED:
		return COT_UNI_BLOCK;
	case COT_PTX_OP_VOTE:
	case COT_PTX_OP_REDUX:
		return COT_UNI_WARP;
	case COT_PTX_OP_CALL:
	case COT_PTX_OP_ALLOCA:
	case COT_PTX_OP_STACKSAVE:
		return COT_UNI_DIFFERENT;
	default:
		if (flags & (COT_PTX_F_READ | COT_PTX_F_WARP | COT_PTX_F_MBARRIER |
			     COT_PTX_F_TEXTURE | COT_PTX_F_ASYNC))
			return COT_UNI_DIFFERENT;
		return insn->n_operands > 1 ? of_arithmetic(a, insn) : COT_UNI_DIFFERENT;
	}
}

/* ---- the fixed point ---- */

static void raise_reg(void *arg, uint32_t reg, bool written)
{
	struct analysis *a = arg;
	enum cot_uniform u;

	if (!written)
		return;
	u = a->guarded ? join(of_reg(a, reg), a->value) : a->value;
	a->local[reg] = (uint8_t)u;
	a->local_visit[reg] = a->visit;
	u = join(a->out->regs[reg], a->value);
	if (u != a->out->regs[reg]) {
		a->out->regs[reg] = (uint8_t)u;
		a->changed = true;
	}
}

/* A register with several definitions may have any of them where threads went different ways. */
static void raise_by_place(void *arg, uint32_t reg, bool written)
{
	struct analysis *a = arg;
	enum cot_uniform u;

	if (!written || a->n_defs[reg] < 2)
		return;
	u = join(a->out->regs[reg], a->value);
	a->changed |= u != a->out->regs[reg];
	a->out->regs[reg] = (uint8_t)u;
}

static void count_def(void *arg, uint32_t reg, bool written)
{
	struct analysis *a = arg;

	if (written && a->n_defs[reg] < 2)
		a->n_defs[reg]++;
}

/* Threads differ by predicates, never by what was not written yet. */
static enum cot_uniform guard_of(const struct analysis *a, const struct cot_ptx_insn *insn)
{
	enum cot_uniform u;

	if (insn->guard == COT_PTX_NO_REG)
		return COT_UNI_BLOCK;
	u = of_reg(a, insn->guard);
	return u == COT_UNI_LANES ? COT_UNI_DIFFERENT : u;
}

static void step(struct analysis *a, uint32_t block, const struct cot_ptx_stmt *s)
{
	enum cot_uniform guard = guard_of(a, &s->insn);

	a->guarded = s->insn.guard != COT_PTX_NO_REG;
	a->value = of_insn(a, &s->insn);
	if (guard > COT_UNI_BLOCK)
		a->value = join(a->value, guard);
	cot_ptx_for_each_reg(&s->insn, raise_reg, a);
	if (a->out->blocks[block] > COT_UNI_BLOCK) {
		a->value = (enum cot_uniform)a->out->blocks[block];
		cot_ptx_for_each_reg(&s->insn, raise_by_place, a);
	}
}

static void mark_region(struct analysis *a, uint32_t block, enum cot_uniform u)
{
	uint32_t b;

	a->branches[block] = (uint8_t)u;
	cot_cfg_region(a->cfg, block, a->seen, a->stack);
	for (b = 0; b < a->cfg->n_blocks; b++) {
		if (a->seen[b] && a->out->blocks[b] < u) {
			a->out->blocks[b] = (uint8_t)u;
			a->changed = true;
		}
	}
}

/* The class of a block's branch: its guard, or for a table its index. */
static enum cot_uniform branch_of(const struct analysis *a, uint32_t block)
{
	const struct cot_ptx_insn *insn = cot_cfg_branch(&a->cfg->blocks[block]);
	enum cot_uniform u;

	if (!insn)
		return COT_UNI_BLOCK;
	u = guard_of(a, insn);
	if (insn->op == COT_PTX_OP_BRX_IDX)
		u = join(u, of_operand(a, &insn->operands[0]));
	return u == COT_UNI_LANES ? COT_UNI_DIFFERENT : u;
}

static void visit_block(struct analysis *a, uint32_t block)
{
	const struct cot_ptx_stmt *s, *end = a->cfg->blocks[block].last->next;
	enum cot_uniform u;

	a->visit++;
	for (s = a->cfg->blocks[block].first; s != end; s = s->next)
		if (s->kind == COT_PTX_STMT_INSN)
			step(a, block, s);
	u = branch_of(a, block);
	if (u > COT_UNI_BLOCK && u > a->branches[block])
		mark_region(a, block, u);
}

static void solve(struct analysis *a)
{
	const struct cot_ptx_stmt *s;
	uint32_t b;

	for (s = a->cfg->func->first; s; s = s->next)
		if (s->kind == COT_PTX_STMT_INSN)
			cot_ptx_for_each_reg(&s->insn, count_def, a);
	do {
		a->changed = false;
		for (b = 0; b < a->cfg->n_blocks; b++)
			visit_block(a, b);
	} while (a->changed);
}

int cot_uniform_analyse(const struct cot_cfg *cfg, bool entry, bool rows,
			struct cot_uniformity *ret_uniformity)
{
	struct cot_uniformity out = {0};
	struct analysis a = {.cfg = cfg, .out = &out, .entry = entry, .rows = rows};
	uint32_t n_regs = cfg->func->n_regs + 1, n_blocks = cfg->n_blocks + 1;
	int rc = -ENOMEM;

	out.regs = calloc(n_regs, sizeof(*out.regs));
	out.blocks = calloc(n_blocks, sizeof(*out.blocks));
	a.n_defs = calloc(n_regs, sizeof(*a.n_defs));
	a.local = calloc(n_regs, sizeof(*a.local));
	a.local_visit = calloc(n_regs, sizeof(*a.local_visit));
	a.branches = calloc(n_blocks, sizeof(*a.branches));
	a.seen = calloc(n_blocks, sizeof(*a.seen));
	a.stack = calloc(n_blocks, sizeof(*a.stack));
	if (out.regs && out.blocks && a.n_defs && a.local && a.local_visit && a.branches &&
	    a.seen && a.stack) {
		solve(&a);
		*ret_uniformity = out;
		out = (struct cot_uniformity){0};
		rc = 0;
	}
	cot_uniform_finish(&out);
	free(a.n_defs);
	free(a.local);
	free(a.local_visit);
	free(a.branches);
	free(a.seen);
	free(a.stack);
	return rc;
}

void cot_uniform_finish(struct cot_uniformity *uniformity)
{
	free(uniformity->regs);
	free(uniformity->blocks);
	*uniformity = (struct cot_uniformity){0};
}
