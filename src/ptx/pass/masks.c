#include "ptx/pass/masks.h"

#include <errno.h>

/* The operand that says which lanes take part; NULL: the instruction has none. */
static const struct cot_ptx_operand *mask_of(const struct cot_ptx_insn *insn)
{
	switch (insn->op) {
	case COT_PTX_OP_SHFL:
	case COT_PTX_OP_VOTE:
	case COT_PTX_OP_MATCH:
	case COT_PTX_OP_REDUX:
	case COT_PTX_OP_ELECT:
	case COT_PTX_OP_BAR_WARP_SYNC:
		return &insn->operands[insn->n_operands - 1];
	default:
		return NULL;
	}
}

/* Lanes wait for each other here, or may. */
static bool is_meeting(const struct cot_ptx_stmt *s)
{
	return s->kind == COT_PTX_STMT_INSN && s->insn.op != COT_PTX_OP_ACTIVEMASK &&
	       (cot_ptx_op_info(s->insn.op)->flags & COT_PTX_F_WARP);
}

static bool is_ballot(const struct cot_ptx_insn *insn)
{
	return insn->op == COT_PTX_OP_VOTE && cot_ptx_has_mod(insn, COT_PTX_MOD_BALLOT);
}

/* Its result names lanes that executed it, and no others. */
static bool asks(const struct cot_ptx_insn *insn)
{
	return insn->guard == COT_PTX_NO_REG && (insn->op == COT_PTX_OP_ACTIVEMASK ||
						 insn->op == COT_PTX_OP_MATCH || is_ballot(insn));
}

struct writer {
	uint32_t reg;
	bool found;
};

static void note_write(void *arg, uint32_t reg, bool written)
{
	struct writer *w = arg;

	w->found |= written && reg == w->reg;
}

static bool writes(const struct cot_ptx_stmt *s, uint32_t reg)
{
	struct writer w = {reg, false};

	if (s->kind == COT_PTX_STMT_INSN)
		cot_ptx_for_each_reg(&s->insn, note_write, &w);
	return w.found;
}

/* ---- who gets from one place to another ---- */

/* Does every way from the beginning of block `from` lead through block `to`? */
static bool leads_to(const struct cot_cfg *cfg, uint32_t from, uint32_t to)
{
	while (from != to && from < cfg->n_blocks)
		from = cfg->blocks[from].pdom;
	return from == to;
}

/* Is `first` before `second`, both in this block? */
static bool comes_before(const struct cot_cfg_block *block, const struct cot_ptx_stmt *first,
			 const struct cot_ptx_stmt *second)
{
	const struct cot_ptx_stmt *s;

	for (s = first; s != block->last && s != second; s = s->next)
		continue;
	return s == second;
}

/*
 * A ballot of the predicate on which its block branches: the lanes that it names are those that go
 * one way. The block where they go; COT_CFG_NONE if it is no such ballot.
 */
static uint32_t where_voters_go(const struct cot_cfg *cfg, uint32_t block,
				const struct cot_ptx_stmt *ballot)
{
	const struct cot_cfg_block *b = &cfg->blocks[block];
	const struct cot_ptx_insn *branch = cot_cfg_branch(b);
	const struct cot_ptx_operand *voted = &ballot->insn.operands[1];
	const struct cot_ptx_stmt *s;
	bool negated;

	if (!is_ballot(&ballot->insn) || voted->kind != COT_PTX_OPND_REG || !branch ||
	    branch->guard != voted->reg || b->n_succ != 2)
		return COT_CFG_NONE;
	for (s = ballot; s != b->last; s = s->next)
		if (writes(s, voted->reg))
			return COT_CFG_NONE;
	/* The first successor is where the branch leads, the last one what follows it. */
	negated = voted->flags & COT_PTX_NEGATED;
	return cfg->succs[b->succ + (negated == branch->guard_negated ? 0 : 1)];
}

/* Do all lanes that `asked` (in block `from`) names come to the use of the mask in block `to`? */
static bool all_come(const struct cot_cfg *cfg, uint32_t from, const struct cot_ptx_stmt *asked,
		     uint32_t to, const struct cot_ptx_stmt *use)
{
	uint32_t way;

	if (from == to)
		return comes_before(&cfg->blocks[from], asked, use);
	if (leads_to(cfg, from, to))
		return true;
	way = where_voters_go(cfg, from, asked);
	return way != COT_CFG_NONE && leads_to(cfg, way, to);
}

bool cot_mask_waits(const struct cot_cfg *cfg, uint32_t block, const struct cot_ptx_stmt *use)
{
	const struct cot_ptx_operand *mask;
	const struct cot_ptx_stmt *s;
	bool any = false;
	uint32_t b;

	if (!is_meeting(use))
		return false;
	mask = mask_of(&use->insn);
	if (!mask || mask->kind != COT_PTX_OPND_REG)
		return true;
	for (b = 0; b < cfg->n_blocks; b++) {
		for (s = cfg->blocks[b].first;; s = s->next) {
			if (writes(s, mask->reg)) {
				if (!asks(&s->insn) || !all_come(cfg, b, s, block, use))
					return true;
				any = true;
			}
			if (s == cfg->blocks[b].last)
				break;
		}
	}
	return !any;
}

static const struct cot_ptx_stmt *first_meeting(const struct cot_ptx_func *func)
{
	const struct cot_ptx_stmt *s;

	for (s = func->first; s; s = s->next)
		if (is_meeting(s))
			return s;
	return NULL;
}

int cot_mask_first_waiting(const struct cot_ptx_func *func, const struct cot_ptx_stmt **ret_stmt)
{
	const struct cot_ptx_stmt *s = first_meeting(func), *waiting = NULL;
	struct cot_cfg cfg = {0};
	uint32_t b;
	int rc = s ? cot_cfg_build(func, &cfg) : 0;

	for (b = 0; s && !rc && b < cfg.n_blocks && !waiting; b++) {
		for (s = cfg.blocks[b].first;; s = s->next) {
			if (cot_mask_waits(&cfg, b, s)) {
				waiting = s;
				break;
			}
			if (s == cfg.blocks[b].last)
				break;
		}
	}
	if (rc == -E2BIG) {
		waiting = s;
		rc = 0;
	}
	cot_cfg_finish(&cfg);
	if (!rc)
		*ret_stmt = waiting;
	return rc;
}
