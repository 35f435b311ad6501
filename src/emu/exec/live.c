/*
 * How many registers a thread would need: the widest place, where every register counts from its
 * first to its last mention, and to the end of each loop that it is carried into. A compiler does
 * better here and there and worse elsewhere; it is an estimate.
 */
#include <stdlib.h>

#include "emu/exec/lower.h"

struct range {
	uint32_t first, last; /* places of statements; first > last: never */
};

struct loop {
	uint32_t first, last; /* from its label to the branch back */
};

struct ranges {
	const struct cot_ptx_func *func;
	struct range *regs;
	uint32_t *label_places;
	struct cot_exec_list loops;
	uint32_t place, n_places;
};

static void mention(void *arg, uint32_t reg, bool written)
{
	struct ranges *r = arg;

	(void)written;
	if (r->regs[reg].first > r->place)
		r->regs[reg].first = r->place;
	r->regs[reg].last = r->place;
}

static void add_loop(struct ranges *r, const struct cot_ptx_label *label)
{
	struct loop *loop;

	if (r->label_places[label->index] > r->place)
		return;
	loop = cot_exec_list_add(&r->loops, 1);
	/* Without memory for it the estimate is lower: no harm. */
	if (loop)
		*loop = (struct loop){r->label_places[label->index], r->place};
}

static void find_loops(struct ranges *r, const struct cot_ptx_insn *x)
{
	const struct cot_ptx_stmt *table;
	uint32_t i;

	if (x->op == COT_PTX_OP_BRA)
		add_loop(r, x->operands[0].label);
	if (x->op != COT_PTX_OP_BRX_IDX)
		return;
	table = x->operands[1].label->stmt;
	for (i = 0; table && table->kind == COT_PTX_STMT_TARGETS && i < table->targets->n; i++)
		add_loop(r, table->targets->items[i].label);
}

static void find_ranges(struct ranges *r)
{
	const struct cot_ptx_stmt *s;

	for (s = r->func->first; s; s = s->next) {
		if (s->kind == COT_PTX_STMT_LABEL)
			r->label_places[s->label->index] = r->place;
		if (s->kind != COT_PTX_STMT_INSN)
			continue;
		cot_ptx_for_each_reg(&s->insn, mention, r);
		find_loops(r, &s->insn);
		r->place++;
	}
	r->n_places = r->place;
}

/* Until nothing changes, or a few times: loops inside each other reach their ends soon. */
static void extend(struct ranges *r)
{
	const struct loop *loops = r->loops.items;
	unsigned round;
	uint32_t i;
	size_t k;

	for (round = 0; round < 4; round++)
		for (k = 0; k < r->loops.n; k++)
			for (i = 0; i < r->func->n_regs; i++)
				if (r->regs[i].first < loops[k].first &&
				    r->regs[i].last >= loops[k].first &&
				    r->regs[i].last < loops[k].last)
					r->regs[i].last = loops[k].last;
}

static uint32_t weight(uint8_t type)
{
	unsigned bits = cot_ptx_type_bits(type);

	return bits == 1 ? 0 : (bits + 31) / 32;
}

static uint32_t widest(const struct ranges *r)
{
	int32_t *change = calloc(r->n_places + 2, sizeof(*change)), now = 0, most = 0;
	uint32_t i;

	if (!change)
		return 0;
	for (i = 0; i < r->func->n_regs; i++) {
		if (r->regs[i].first > r->regs[i].last)
			continue;
		/* A register that is read for the last time makes room for the result. */
		change[r->regs[i].first] += (int32_t)weight(r->func->regs[i].type);
		change[r->regs[i].last] -= (int32_t)weight(r->func->regs[i].type);
	}
	for (i = 0; i < r->n_places; i++) {
		now += change[i];
		most = now > most ? now : most;
	}
	free(change);
	return (uint32_t)most;
}

uint32_t cot_exec_live_registers(const struct cot_exec_lower *l)
{
	struct ranges r = {.func = l->func, .loops = {.size = sizeof(struct loop)}};
	uint32_t n = 0, i;

	r.regs = malloc((r.func->n_regs + 1) * sizeof(*r.regs));
	r.label_places = malloc((r.func->n_labels + 1) * sizeof(*r.label_places));
	if (r.regs && r.label_places) {
		for (i = 0; i < r.func->n_regs; i++)
			r.regs[i] = (struct range){UINT32_MAX, 0};
		for (i = 0; i < r.func->n_labels; i++)
			r.label_places[i] = UINT32_MAX;
		find_ranges(&r);
		extend(&r);
		n = widest(&r);
	}
	free(r.regs);
	free(r.label_places);
	free(r.loops.items);
	return n;
}
