/* Groups of lanes: splitting at branches, joining, calling and returning, ending. */
#include <stdlib.h>
#include <string.h>

#include "emu/exec/inside.h"

void cot_exec_use_frame(struct cot_exec_warp *w, int32_t frame)
{
	w->base[BASE_FRAME] = w->regs + w->frames[frame].regs;
	w->local_base = w->frames[frame].local;
}

void cot_exec_use_group(struct cot_exec_warp *w, struct cot_exec_group *g)
{
	w->group = g;
	if (g)
		cot_exec_use_frame(w, g->frame);
}

void cot_exec_ready(struct cot_exec_warp *w, struct cot_exec_group *g)
{
	g->state = GROUP_READY;
	g->turn = ++w->turn;
	g->wait = NULL;
	w->n_ready++;
}

static struct cot_exec_group *new_group(struct cot_exec_warp *w)
{
	unsigned k = 0;

	/* There is a free one: each of the others has a lane, and there are as many as lanes. */
	while (w->groups[k].state != GROUP_FREE)
		k++;
	return &w->groups[k];
}

static void drop_group(struct cot_exec_warp *w, struct cot_exec_group *g)
{
	g->state = GROUP_FREE;
	w->n_ready--;
	if (w->group == g)
		w->group = NULL;
}

/* An index, or -1. */
static int32_t new_join(struct cot_exec_warp *w)
{
	struct cot_exec_join *grown;
	int32_t j = w->free_join;
	uint32_t room;

	if (j >= 0) {
		w->free_join = w->joins[j].parent;
		return j;
	}
	if (w->n_joins == w->room_joins) {
		room = w->room_joins ? w->room_joins * 2 : 16;
		if (room > MAX_JOINS)
			return -1;
		grown = realloc(w->joins, room * sizeof(*grown));
		if (!grown)
			return -1;
		w->joins = grown;
		w->room_joins = room;
	}
	return (int32_t)w->n_joins++;
}

static void free_join(struct cot_exec_warp *w, int32_t j)
{
	w->joins[j].arrived = 0;
	w->joins[j].parent = w->free_join;
	w->free_join = j;
}

static int32_t push_join(struct cot_exec_warp *w, const struct cot_exec_group *g, uint32_t pc,
			 int32_t frame)
{
	int32_t j = new_join(w);

	if (j >= 0)
		w->joins[j] = (struct cot_exec_join){pc, g->mask, 0, g->join, frame, 0};
	return j;
}

static void arrive(struct cot_exec_warp *w, struct cot_exec_join *j, uint32_t m)
{
	if (!j->arrived)
		j->since = w->n_run;
	j->arrived |= m;
}

static bool waits_at(const struct cot_exec_warp *w, const struct cot_exec_group *g, uint32_t pc)
{
	const struct cot_exec_join *j = g->join < 0 ? NULL : &w->joins[g->join];

	return j && j->pc == pc && j->frame == g->frame;
}

static enum cot_exec_flow too_deep(struct cot_exec_warp *w)
{
	const struct cot_exec_group *g = w->group;

	return cot_exec_fault(w, &w->block->run->module->code[g->pc],
			      (unsigned)__builtin_ctz(g->mask), COT_EXEC_FAULT_STACK, 0,
			      "no room for more branches or calls inside each other");
}

enum cot_exec_flow cot_exec_split(struct cot_exec_warp *w, uint32_t m, uint32_t pc,
				  uint32_t next_pc, uint32_t join_pc)
{
	struct cot_exec_group *g = w->group, *other;
	uint32_t rest = g->mask & ~m, here;

	if (!rest) {
		g->pc = pc;
		return FLOW_JUMP;
	}
	if (join_pc != NOWHERE && !waits_at(w, g, join_pc)) {
		int32_t j = push_join(w, g, join_pc, g->frame);

		if (j < 0)
			return too_deep(w);
		g->join = j;
	}
	/* This group takes the way that comes first in the code: it may meet the others there. */
	if (next_pc < pc) {
		here = m;
		m = rest;
		rest = here;
		here = pc;
		pc = next_pc;
		next_pc = here;
	}
	g->mask = m;
	g->pc = pc;
	if (next_pc == join_pc) {
		arrive(w, &w->joins[g->join], rest);
		return FLOW_JUMP;
	}
	other = new_group(w);
	*other = *g;
	other->mask = rest;
	other->pc = next_pc;
	cot_exec_ready(w, other);
	return FLOW_JUMP;
}

enum cot_exec_flow cot_exec_join(struct cot_exec_warp *w, const struct cot_exec_insn *in)
{
	uint32_t here = (uint32_t)(in - w->block->run->module->code);
	struct cot_exec_group *g = w->group;
	struct cot_exec_join *j;
	int32_t done;

	if (!waits_at(w, g, here))
		return FLOW_NEXT;
	j = &w->joins[g->join];
	arrive(w, j, g->mask);
	if (j->arrived != j->expected) {
		drop_group(w, g);
		return FLOW_SWITCH;
	}
	done = g->join;
	g->mask = j->expected;
	g->join = j->parent;
	g->pc = here + 1;
	free_join(w, done);
	return FLOW_JUMP;
}

/* ---- calls ---- */

static bool more_regs(struct cot_exec_warp *w, uint32_t need)
{
	uint32_t bytes = w->reg_bytes ? w->reg_bytes : 4096;
	uint8_t *grown;

	if (need <= w->reg_bytes)
		return true;
	if (need > MAX_REG_BYTES)
		return false;
	while (bytes < need)
		bytes *= 2;
	/* Rows are aligned as aligned_alloc() did it, which realloc() would not keep. */
	grown = aligned_alloc(64, bytes);
	if (!grown)
		return false;
	if (w->regs)
		memcpy(grown, w->regs, w->reg_bytes);
	free(w->regs);
	w->regs = grown;
	w->reg_bytes = bytes;
	return true;
}

static bool more_local(struct cot_exec_warp *w, uint32_t need)
{
	uint32_t bytes = w->local_bytes ? w->local_bytes : 64, i;
	uint8_t *grown;

	if (need <= w->local_bytes)
		return true;
	if (need > MAX_LOCAL_BYTES)
		return false;
	while (bytes < need)
		bytes *= 2;
	grown = calloc(LANES, bytes);
	if (!grown)
		return false;
	for (i = 0; w->local && i < LANES; i++)
		memcpy(grown + (size_t)i * bytes, w->local + (size_t)i * w->local_bytes,
		       w->local_bytes);
	free(w->local);
	w->local = grown;
	w->local_bytes = bytes;
	return true;
}

static int32_t new_frame(struct cot_exec_warp *w, uint32_t function, int32_t parent)
{
	const struct cot_exec_function *f = &w->block->run->module->functions[function];
	uint32_t regs = 0, local = 0, k;
	int32_t found = -1;

	/* Above all others: groups that have split may be in calls of their own. */
	for (k = MAX_FRAMES; k-- > 0;) {
		const struct cot_exec_frame *other = &w->frames[k];

		if (!other->used) {
			found = (int32_t)k;
			continue;
		}
		regs = other->regs_end > regs ? other->regs_end : regs;
		local = other->local_end > local ? other->local_end : local;
	}
	if (found < 0 || !more_regs(w, regs + f->reg_bytes) ||
	    !more_local(w, local + f->local_bytes))
		return -1;
	w->frames[found] = (struct cot_exec_frame){
		.function = function,
		.parent = parent,
		.regs = regs,
		.regs_end = regs + f->reg_bytes,
		.local = local,
		.local_end = local + f->local_bytes,
		.used = true,
	};
	memset(w->regs + regs, 0, f->reg_bytes);
	return found;
}

enum cot_exec_flow cot_exec_enter(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				  uint32_t function, const struct cot_exec_call *call,
				  uint32_t return_pc)
{
	const struct cot_exec_function *f = &w->block->run->module->functions[function];
	struct cot_exec_group *g = w->group;
	int32_t frame, j;

	g->pc = (uint32_t)(in - w->block->run->module->code);
	frame = new_frame(w, function, g->frame);
	if (frame < 0)
		return too_deep(w);
	w->frames[frame].return_pc = return_pc;
	w->frames[frame].call = call;
	j = push_join(w, g, NOWHERE, frame);
	if (j < 0)
		return too_deep(w);
	cot_exec_copy_args(w, &w->frames[g->frame], &w->frames[frame], g->mask);
	g->join = j;
	g->frame = frame;
	g->pc = f->pc;
	cot_exec_use_frame(w, frame);
	return FLOW_JUMP;
}

/* All lanes have come back: g goes on in the caller. */
static void finish_call(struct cot_exec_warp *w, struct cot_exec_group *g, int32_t j)
{
	int32_t frame = w->joins[j].frame, parent = w->frames[frame].parent;

	g->mask = w->joins[j].expected;
	g->join = w->joins[j].parent;
	g->frame = parent;
	g->pc = w->frames[frame].return_pc;
	cot_exec_copy_rets(w, &w->frames[frame], &w->frames[parent], g->mask);
	w->frames[frame].used = false;
	free_join(w, j);
	if (w->group == g)
		cot_exec_use_frame(w, parent);
}

/* A join from which lanes have gone may be complete now, or empty, and then the next one outside.
 */
static void settle(struct cot_exec_warp *w, int32_t j)
{
	struct cot_exec_group *g;

	while (j >= 0 && !w->joins[j].expected) {
		int32_t parent = w->joins[j].parent;

		if (w->joins[j].pc == NOWHERE)
			w->frames[w->joins[j].frame].used = false;
		free_join(w, j);
		j = parent;
	}
	if (j < 0 || w->joins[j].arrived != w->joins[j].expected)
		return;
	g = new_group(w);
	*g = (struct cot_exec_group){.mask = w->joins[j].expected, .frame = w->joins[j].frame};
	if (w->joins[j].pc == NOWHERE) {
		finish_call(w, g, j);
	} else {
		g->pc = w->joins[j].pc + 1;
		g->join = w->joins[j].parent;
		free_join(w, j);
	}
	cot_exec_ready(w, g);
}

/* Lanes at a join go on without the others. */
static void go_on(struct cot_exec_warp *w, int32_t j)
{
	struct cot_exec_group *g = new_group(w);
	struct cot_exec_join *join = &w->joins[j];
	const struct cot_exec_frame *f = &w->frames[join->frame];

	*g = (struct cot_exec_group){.mask = join->arrived,
				     .frame = join->frame,
				     .pc = join->pc + 1,
				     .join = join->parent};
	if (join->pc == NOWHERE) {
		g->frame = f->parent;
		g->pc = f->return_pc;
		cot_exec_copy_rets(w, f, &w->frames[f->parent], g->mask);
	}
	join->expected &= ~join->arrived;
	join->arrived = 0;
	cot_exec_ready(w, g);
}

void cot_exec_lose_patience(struct cot_exec_warp *w)
{
	uint32_t patience = w->talks ? SHORT_PATIENCE : PATIENCE, j;

	/* If no other lane can run there is nothing to wait for: the others wait themselves. */
	for (j = 0; j < w->n_joins; j++)
		if (w->joins[j].arrived && (!w->n_ready || w->n_run - w->joins[j].since > patience))
			go_on(w, (int32_t)j);
}

/* Takes lanes m out of the group, which goes on at the next instruction if some are left. */
static enum cot_exec_flow leave(struct cot_exec_warp *w, uint32_t m, uint32_t next_pc)
{
	struct cot_exec_group *g = w->group;

	g->mask &= ~m;
	if (g->mask) {
		g->pc = next_pc;
		return FLOW_JUMP;
	}
	drop_group(w, g);
	return FLOW_SWITCH;
}

enum cot_exec_flow cot_exec_exit(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				 uint32_t m)
{
	uint32_t next_pc = (uint32_t)(in - w->block->run->module->code) + 1;
	struct cot_exec_group *g = w->group;
	int32_t join = g->join, j;
	enum cot_exec_flow flow;

	for (j = join; j >= 0; j = w->joins[j].parent)
		w->joins[j].expected &= ~m;
	w->live &= ~m;
	w->block->n_live -= (uint32_t)__builtin_popcount(m);
	flow = leave(w, m, next_pc);
	if (flow == FLOW_SWITCH)
		settle(w, join);
	cot_exec_warp_recheck(w);
	cot_exec_barriers_recheck(w->block);
	return flow;
}

enum cot_exec_flow cot_exec_return(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				   uint32_t m)
{
	uint32_t next_pc = (uint32_t)(in - w->block->run->module->code) + 1;
	struct cot_exec_group *g = w->group;
	int32_t join = g->join, j;
	enum cot_exec_flow flow;

	if (w->frames[g->frame].parent < 0)
		return cot_exec_exit(w, in, m);
	for (j = join; w->joins[j].pc != NOWHERE; j = w->joins[j].parent)
		w->joins[j].expected &= ~m;
	arrive(w, &w->joins[j], m);
	if (m == g->mask && j == join && w->joins[j].arrived == w->joins[j].expected) {
		finish_call(w, g, j);
		return FLOW_JUMP;
	}
	flow = leave(w, m, next_pc);
	if (flow == FLOW_SWITCH)
		settle(w, join);
	return flow;
}

void cot_exec_merge(struct cot_exec_warp *w)
{
	unsigned i, k;

	for (i = 0; i < LANES; i++) {
		struct cot_exec_group *g = &w->groups[i];

		if (g->state != GROUP_READY)
			continue;
		for (k = i + 1; k < LANES; k++) {
			struct cot_exec_group *other = &w->groups[k];

			if (other->state != GROUP_READY || other->pc != g->pc ||
			    other->join != g->join || other->frame != g->frame)
				continue;
			g->mask |= other->mask;
			other->state = GROUP_FREE;
			w->n_ready--;
		}
	}
}

int cot_exec_warp_begin(struct cot_exec_warp *w)
{
	const struct cot_exec_run *run = w->block->run;
	uint32_t function = (uint32_t)(run->function - run->module->functions);
	/* A little even for those that need none: there are no empty rows and frames then. */
	uint32_t regs = run->function->deep_reg_bytes + ROW_BYTES;
	uint32_t local = run->function->deep_local_bytes + 16;

	memset(w->groups, 0, sizeof(w->groups));
	memset(w->frames, 0, sizeof(w->frames));
	w->n_joins = 0;
	w->n_run = 0;
	w->talks = false;
	w->free_join = -1;
	w->turn = 0;
	w->n_ready = 0;
	w->carry = 0;
	w->live = w->started;
	w->group = NULL;
	if (!more_regs(w, regs) || !more_local(w, local) || new_frame(w, function, -1) < 0)
		return -1;
	memset(w->local, 0, (size_t)w->local_bytes * LANES);
	w->groups[0] =
		(struct cot_exec_group){.mask = w->started, .pc = run->function->pc, .join = -1};
	cot_exec_ready(w, &w->groups[0]);
	return 0;
}
