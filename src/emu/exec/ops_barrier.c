/* Barriers of the block: bar.sync, bar.arrive, bar.red and their other names. */
#include <string.h>

#include "emu/exec/lower.h"
#include "emu/exec/ops.h"
#include "emu/exec/race.h"

enum { RED_NONE, RED_POPC, RED_AND, RED_OR };

/* insn.n */
#define RED(in)	    ((in)->n & 3)
#define ARRIVES(in) ((in)->n & 4)
#define ALIGNED(in) ((in)->n & 8)
#define NEGATED(in) ((in)->n & 16)

static void write_result(struct cot_exec_warp *w, const struct cot_exec_insn *in, uint32_t m,
			 const struct cot_exec_barrier *bar)
{
	uint32_t n = bar->n_true;
	row_u32 *d;

	switch (RED(in)) {
	case RED_POPC:
		d = ROW(u32, in->dst);
		FOR_LANES(m, d[i] = n);
		break;
	case RED_AND:
		cot_exec_set_pred(w, in->dst, m, n == bar->arrived ? ALL_LANES : 0);
		break;
	case RED_OR:
		cot_exec_set_pred(w, in->dst, m, n ? ALL_LANES : 0);
		break;
	default:
		break;
	}
}

/* All threads are there: those that wait go on. */
static void release(struct cot_exec_block *b, unsigned id)
{
	struct cot_exec_barrier *bar = &b->barriers[id];
	uint32_t i, k;

	for (i = 0; i < b->n_warps; i++) {
		struct cot_exec_warp *w = &b->warps[i];
		bool some = false;

		for (k = 0; k < LANES; k++) {
			struct cot_exec_group *g = &w->groups[k];

			if (g->state != GROUP_BARRIER || g->barrier != id)
				continue;
			if (RED(g->wait)) {
				cot_exec_use_frame(w, g->frame);
				write_result(w, g->wait, g->mask, bar);
			}
			cot_exec_ready(w, g);
			some = true;
		}
		if (some && w->n_ready > 1)
			cot_exec_merge(w);
		if (w->group)
			cot_exec_use_frame(w, w->group->frame);
	}
	/* Also where only some threads meet: a race less is better than one that is none. */
	cot_exec_race_barrier(b);
	memset(bar, 0, sizeof(*bar));
}

static bool complete(const struct cot_exec_block *b, const struct cot_exec_barrier *bar)
{
	return bar->used && bar->arrived >= (bar->expected ? bar->expected : b->n_live);
}

void cot_exec_barriers_recheck(struct cot_exec_block *b)
{
	unsigned id;

	for (id = 0; id < N_BARRIERS; id++)
		if (!b->barriers[id].expected && b->barriers[id].arrived &&
		    complete(b, &b->barriers[id]))
			release(b, id);
}

/* What PTX leaves undefined and this interpreter executes: a GPU may hang. */
static enum cot_exec_flow check_strictly(struct cot_exec_warp *w, const struct cot_exec_insn *in,
					 unsigned lane, uint32_t id)
{
	const struct cot_exec_barrier *bar = &w->block->barriers[id];

	if (ALIGNED(in) && w->group->mask != w->live)
		return cot_exec_fault(
			w, in, lane, COT_EXEC_FAULT_BARRIER, 0,
			"barrier %u reached by part of a warp (lanes 0x%08x of 0x%08x)", id,
			w->group->mask, w->live);
	if (bar->used && bar->reduces != (RED(in) != RED_NONE))
		return cot_exec_fault(
			w, in, lane, COT_EXEC_FAULT_BARRIER, 0,
			"barrier %u with a reduction and, in line %u, without one (or "
			"the other way round)",
			id, bar->line);
	return FLOW_NEXT;
}

static enum cot_exec_flow check(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				unsigned lane, uint32_t id, uint32_t count)
{
	const struct cot_exec_barrier *bar = &w->block->barriers[id & (N_BARRIERS - 1)];

	if (id >= N_BARRIERS)
		return cot_exec_fault(w, in, lane, COT_EXEC_FAULT_BARRIER, 0,
				      "barrier %u; expected one below %u", id, N_BARRIERS);
	if (count % LANES)
		return cot_exec_fault(w, in, lane, COT_EXEC_FAULT_BARRIER, 0,
				      "barrier %u for %u threads; expected a multiple of %u", id,
				      count, LANES);
	if (bar->used && bar->expected != count)
		return cot_exec_fault(
			w, in, lane, COT_EXEC_FAULT_BARRIER, 0,
			"barrier %u for %u threads, but in line %u it is for %u (0 is all)", id,
			count, bar->line, bar->expected);
	return w->block->run->launch.checks & COT_EXEC_CHECK_ALIGNED
		       ? check_strictly(w, in, lane, id)
		       : FLOW_NEXT;
}

/* Lanes of m that mean the same barrier as the first. */
static uint32_t same_barrier(struct cot_exec_warp *w, const struct cot_exec_insn *in, uint32_t m,
			     uint32_t *ret_id, uint32_t *ret_count)
{
	const row_u32 *ids = ROW(u32, in->a), *counts = ROW(u32, in->b);
	unsigned first = (unsigned)__builtin_ctz(m);
	uint32_t same = 0, rest;

	*ret_id = ids[first];
	*ret_count = counts[first];
	for (rest = m; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctz(rest);

		if (ids[i] == *ret_id && counts[i] == *ret_count)
			same |= 1u << i;
	}
	return same;
}

HANDLER(barrier)
{
	uint32_t here = (uint32_t)(in - w->block->run->module->code), id, count, same;
	struct cot_exec_group *g = w->group;
	struct cot_exec_barrier *bar;

	if (m != g->mask)
		return cot_exec_split(w, m, here, here + 1, NOWHERE);
	same = same_barrier(w, in, m, &id, &count);
	if (same != m)
		return cot_exec_split(w, same, here, here, NOWHERE);
	if (check(w, in, (unsigned)__builtin_ctz(m), id, count))
		return FLOW_FAULT;
	bar = &w->block->barriers[id];
	if (!bar->used) {
		bar->used = true;
		bar->expected = count;
		bar->reduces = RED(in) != RED_NONE;
		bar->line = w->block->run->module->lines[here];
	}
	bar->arrived += (uint32_t)__builtin_popcount(m);
	if (RED(in)) {
		uint32_t p = cot_exec_pred(w, in->c) ^ (NEGATED(in) ? ALL_LANES : 0);

		bar->n_true += (uint32_t)__builtin_popcount(p & m);
	}
	if (complete(w->block, bar)) {
		write_result(w, in, m, bar);
		release(w->block, id);
		return FLOW_NEXT;
	}
	if (ARRIVES(in))
		return FLOW_NEXT;
	g->state = GROUP_BARRIER;
	g->wait = in;
	g->barrier = (uint8_t)id;
	g->pc = here + 1;
	w->n_ready--;
	w->group = NULL;
	return FLOW_SWITCH;
}

/* ---- lowering ---- */

static bool lower_red(struct cot_exec_lower *l, const struct cot_ptx_insn *x,
		      struct cot_exec_insn *how)
{
	unsigned last = x->n_operands - 1u;
	bool negated = false;

	how->c = cot_exec_source_pred(l, &x->operands[last], &negated);
	how->n |= negated ? 16 : 0;
	how->a = cot_exec_source(l, &x->operands[1], 32);
	if (last > 2)
		how->b = cot_exec_source(l, &x->operands[2], 32);
	switch (cot_ptx_mod_of(x, COT_PTX_CLASS_ACTION)) {
	case COT_PTX_MOD_POPC:
		how->n |= RED_POPC;
		how->dst = cot_exec_dest(l, &x->operands[0], 32);
		return true;
	case COT_PTX_MOD_AND:
		how->n |= RED_AND;
		break;
	default:
		how->n |= RED_OR;
		break;
	}
	how->dst = cot_exec_dest_pred(l, &x->operands[0]);
	if (how->dst == NOWHERE)
		how->dst = cot_exec_scratch(l, 1);
	return true;
}

bool cot_exec_lower_barrier(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	struct cot_exec_insn how = {.b = ROW_REF(BASE_RUN, RUN_ZERO)}, *in;
	bool old_name = x->op == COT_PTX_OP_BAR_SYNC || x->op == COT_PTX_OP_BAR_ARRIVE ||
			x->op == COT_PTX_OP_BAR_RED;

	how.n = old_name || cot_ptx_has_mod(x, COT_PTX_MOD_ALIGNED) ? 8 : 0;
	how.n |= x->op == COT_PTX_OP_BAR_ARRIVE || x->op == COT_PTX_OP_BARRIER_ARRIVE ? 4 : 0;
	switch (x->op) {
	case COT_PTX_OP_BAR_ARRIVE:
	case COT_PTX_OP_BARRIER_ARRIVE:
	case COT_PTX_OP_BAR_SYNC:
	case COT_PTX_OP_BARRIER_SYNC:
		how.a = cot_exec_source(l, &x->operands[0], 32);
		if (x->n_operands > 1)
			how.b = cot_exec_source(l, &x->operands[1], 32);
		break;
	case COT_PTX_OP_BAR_RED:
	case COT_PTX_OP_BARRIER_RED:
		lower_red(l, x, &how);
		break;
	default:
		return false;
	}
	in = cot_exec_emit(l, barrier);
	if (!in)
		return true;
	in->dst = how.dst;
	in->a = how.a;
	in->b = how.b;
	in->c = how.c;
	in->n = how.n;
	return true;
}
