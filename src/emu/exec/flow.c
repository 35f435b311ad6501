/*
 * The body of a function: its basic blocks, where the ways of a branch meet again, and its
 * instructions in order. The meeting place of a branch is its immediate post-dominator (Cooper,
 * Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", on the reversed graph).
 */
#include <stdlib.h>
#include <string.h>

#include "emu/exec/lower.h"

#define NO_BLOCK UINT32_MAX

/* Blocks end where control may go elsewhere. The last index is the function's end. */
struct block {
	const struct cot_ptx_stmt *first, *last; /* last: included */
	uint32_t first_edge, n_edges;		 /* to the blocks that follow */
	uint32_t first_back, n_back;		 /* from those before */
	uint32_t order;				 /* in a post-order of the reversed graph */
	uint32_t ipdom;
	bool splits; /* its last instruction may send lanes to different places */
	bool meets;  /* is the meeting place of some block that splits */
	uint32_t pc;
};

struct graph {
	struct cot_exec_lower *l;
	struct cot_exec_list blocks, edges, backs;
	uint32_t *label_blocks; /* of each label of the function */
	uint32_t *stack, *by_order;
	uint32_t n, end; /* blocks; the end comes behind them */
	uint32_t code_end;
};

static struct block *block_at(struct graph *g, uint32_t i)
{
	return &((struct block *)g->blocks.items)[i];
}

static bool ends_block(const struct cot_ptx_stmt *s)
{
	if (s->kind != COT_PTX_STMT_INSN)
		return false;
	return cot_ptx_op_info(s->insn.op)->flags & (COT_PTX_F_BRANCH | COT_PTX_F_END);
}

static bool is_interesting(const struct cot_ptx_stmt *s)
{
	return s->kind == COT_PTX_STMT_INSN || s->kind == COT_PTX_STMT_LABEL;
}

static bool find_blocks(struct graph *g)
{
	const struct cot_ptx_stmt *s;
	struct block *b = NULL;

	for (s = g->l->func->first; s; s = s->next) {
		if (!is_interesting(s))
			continue;
		if (!b || s->kind == COT_PTX_STMT_LABEL) {
			b = cot_exec_list_add(&g->blocks, 1);
			if (!b)
				return false;
			b->first = s;
		}
		b->last = s;
		if (s->kind == COT_PTX_STMT_LABEL)
			g->label_blocks[s->label->index] = (uint32_t)g->blocks.n - 1;
		if (ends_block(s))
			b = NULL;
	}
	g->n = (uint32_t)g->blocks.n;
	g->end = g->n;
	return cot_exec_list_add(&g->blocks, 1) != NULL;
}

static bool add_edge(struct graph *g, struct block *b, uint32_t to)
{
	uint32_t *edge = cot_exec_list_add(&g->edges, 1);

	if (!edge)
		return false;
	*edge = to;
	b->n_edges++;
	return true;
}

static bool add_label(struct graph *g, struct block *b, const struct cot_ptx_label *label)
{
	uint32_t to = g->label_blocks[label->index];

	return add_edge(g, b, to == NO_BLOCK ? g->end : to);
}

static bool add_table(struct graph *g, struct block *b, const struct cot_ptx_label *label)
{
	uint32_t i;

	if (!label->stmt || label->stmt->kind != COT_PTX_STMT_TARGETS)
		return true;
	b->splits = true;
	for (i = 0; i < label->stmt->targets->n; i++)
		if (!add_label(g, b, label->stmt->targets->items[i].label))
			return false;
	return true;
}

static bool edges_of(struct graph *g, uint32_t i)
{
	struct block *b = block_at(g, i);
	const struct cot_ptx_insn *x = &b->last->insn;
	bool guarded;

	b->first_edge = (uint32_t)g->edges.n;
	if (!ends_block(b->last))
		return add_edge(g, b, i + 1);
	guarded = x->guard != COT_PTX_NO_REG;
	if (guarded && !add_edge(g, b, i + 1))
		return false;
	switch (x->op) {
	case COT_PTX_OP_BRA:
		b->splits = guarded;
		return add_label(g, b, x->operands[0].label);
	case COT_PTX_OP_BRX_IDX:
		return add_table(g, b, x->operands[1].label);
	case COT_PTX_OP_TRAP:
		/* No thread comes back from there, so it is no way to the end. */
		return true;
	default:
		return add_edge(g, b, g->end);
	}
}

static bool find_edges(struct graph *g)
{
	uint32_t i, k;

	for (i = 0; i < g->n; i++)
		if (!edges_of(g, i))
			return false;
	for (i = 0; i < g->edges.n; i++)
		block_at(g, ((uint32_t *)g->edges.items)[i])->n_back++;
	for (i = 0, k = 0; i <= g->n; i++) {
		block_at(g, i)->first_back = k;
		k += block_at(g, i)->n_back;
		block_at(g, i)->n_back = 0;
	}
	if (k && !cot_exec_list_add(&g->backs, k))
		return false;
	for (i = 0; i < g->n; i++) {
		for (k = 0; k < block_at(g, i)->n_edges; k++) {
			uint32_t to = ((uint32_t *)g->edges.items)[block_at(g, i)->first_edge + k];
			struct block *b = block_at(g, to);

			((uint32_t *)g->backs.items)[b->first_back + b->n_back++] = i;
		}
	}
	return true;
}

/* Numbers the blocks from which the end is reached; the end has the highest number. */
static uint32_t number_blocks(struct graph *g)
{
	uint32_t depth = 0, n = 0, i;

	for (i = 0; i <= g->n; i++)
		block_at(g, i)->order = NO_BLOCK;
	/* On the stack: a block, and how many of its neighbours were visited. */
	g->stack[0] = g->end;
	g->stack[1] = 0;
	block_at(g, g->end)->order = 0;
	depth = 1;
	while (depth) {
		struct block *b = block_at(g, g->stack[2 * depth - 2]);
		uint32_t k = g->stack[2 * depth - 1]++;

		if (k < b->n_back) {
			uint32_t from = ((uint32_t *)g->backs.items)[b->first_back + k];

			if (block_at(g, from)->order != NO_BLOCK)
				continue;
			block_at(g, from)->order = 0;
			g->stack[2 * depth] = from;
			g->stack[2 * depth + 1] = 0;
			depth++;
			continue;
		}
		g->by_order[n] = g->stack[2 * depth - 2];
		b->order = n++;
		depth--;
	}
	return n;
}

static uint32_t common(struct graph *g, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (block_at(g, a)->order < block_at(g, b)->order)
			a = block_at(g, a)->ipdom;
		while (block_at(g, b)->order < block_at(g, a)->order)
			b = block_at(g, b)->ipdom;
	}
	return a;
}

static void find_meetings(struct graph *g)
{
	uint32_t n = number_blocks(g), i, k;
	bool changed = true;

	for (i = 0; i <= g->n; i++)
		block_at(g, i)->ipdom = NO_BLOCK;
	block_at(g, g->end)->ipdom = g->end;
	while (changed) {
		changed = false;
		for (i = n - 1; i-- > 0;) {
			struct block *b = block_at(g, g->by_order[i]);
			uint32_t best = NO_BLOCK;

			for (k = 0; k < b->n_edges; k++) {
				uint32_t to = ((uint32_t *)g->edges.items)[b->first_edge + k];

				if (block_at(g, to)->ipdom == NO_BLOCK)
					continue;
				best = best == NO_BLOCK ? to : common(g, best, to);
			}
			changed |= best != b->ipdom;
			b->ipdom = best;
		}
	}
	for (i = 0; i < g->n; i++) {
		struct block *b = block_at(g, i);

		if (b->splits && b->ipdom != NO_BLOCK && b->ipdom != g->end)
			block_at(g, b->ipdom)->meets = true;
	}
}

/* ---- instructions ---- */

static const cot_exec_lower_fn families[] = {
	cot_exec_lower_mov,	cot_exec_lower_compare, cot_exec_lower_logic,
	cot_exec_lower_bits,	cot_exec_lower_cvt,	cot_exec_lower_memory,
	cot_exec_lower_control, cot_exec_lower_barrier, cot_exec_lower_atomic,
	cot_exec_lower_warp,	cot_exec_lower_async,	cot_exec_lower_mma,
};

static bool is_arithmetic(uint16_t op)
{
	switch (op) {
	case COT_PTX_OP_ADD:
	case COT_PTX_OP_SUB:
	case COT_PTX_OP_MUL:
	case COT_PTX_OP_MAD:
	case COT_PTX_OP_DIV:
	case COT_PTX_OP_ABS:
	case COT_PTX_OP_NEG:
	case COT_PTX_OP_MIN:
	case COT_PTX_OP_MAX:
	case COT_PTX_OP_MUL24:
	case COT_PTX_OP_MAD24:
	case COT_PTX_OP_SAD:
	case COT_PTX_OP_REM:
	case COT_PTX_OP_FMA:
	case COT_PTX_OP_RCP:
	case COT_PTX_OP_SQRT:
	case COT_PTX_OP_RSQRT:
	case COT_PTX_OP_SIN:
	case COT_PTX_OP_COS:
	case COT_PTX_OP_LG2:
	case COT_PTX_OP_EX2:
	case COT_PTX_OP_TANH:
	case COT_PTX_OP_COPYSIGN:
		return true;
	default:
		return false;
	}
}

static void lower_insn(struct cot_exec_lower *l, const struct cot_ptx_stmt *s)
{
	const struct cot_ptx_insn *x = &s->insn;
	char text[160];
	bool done = false;
	size_t i;

	l->stmt = s;
	l->insn = x;
	if (is_arithmetic(x->op))
		done = cot_exec_lower_arith(l, x);
	else if (x->op == COT_PTX_OP_ADDC || x->op == COT_PTX_OP_SUBC || x->op == COT_PTX_OP_MADC)
		done = cot_exec_lower_carry(l, x);
	for (i = 0; !done && !l->refusal && i < COT_ARRAY_LEN(families); i++)
		done = families[i](l, x);
	if (!done) {
		cot_ptx_print_stmt(l->func, s, text, sizeof(text));
		cot_exec_refuse(l, "\"%s\" is not executed", text);
	}
	l->insn = NULL;
}

static void emit_block(struct graph *g, struct block *b)
{
	struct cot_exec_lower *l = g->l;
	const struct cot_ptx_stmt *s;
	struct cot_exec_insn *in;

	b->pc = (uint32_t)l->code.n;
	if (b->meets) {
		l->stmt = b->first;
		l->insn = NULL;
		in = cot_exec_emit(l, cot_exec_join_handler());
		if (in)
			in->flags = INSN_NOT_COUNTED;
	}
	for (s = b->first;; s = s->next) {
		if (s->kind == COT_PTX_STMT_INSN)
			lower_insn(l, s);
		else if (s->kind == COT_PTX_STMT_LABEL)
			l->label_pcs[s->label->index] = b->pc;
		if (s == b->last)
			break;
	}
}

static void emit_return(struct cot_exec_lower *l)
{
	static const struct cot_ptx_insn x = {.op = COT_PTX_OP_RET, .guard = COT_PTX_NO_REG};

	l->insn = &x;
	cot_exec_lower_control(l, &x);
	l->insn = NULL;
}

/* The branch of a block is its last instruction. */
static void set_meetings(struct graph *g)
{
	struct cot_exec_insn *code = g->l->code.items;
	uint32_t i;

	for (i = 0; i < g->n; i++) {
		struct block *b = block_at(g, i);
		uint32_t end = i + 1 < g->n ? block_at(g, i + 1)->pc : g->code_end;

		if (b->splits && end > b->pc && b->ipdom != NO_BLOCK && b->ipdom != g->end)
			code[end - 1].e = block_at(g, b->ipdom)->pc;
	}
}

static bool analyse(struct graph *g)
{
	uint32_t i;

	g->label_blocks = malloc((g->l->func->n_labels + 1) * sizeof(*g->label_blocks));
	if (!g->label_blocks)
		return false;
	for (i = 0; i < g->l->func->n_labels; i++)
		g->label_blocks[i] = NO_BLOCK;
	if (!find_blocks(g) || !find_edges(g))
		return false;
	g->stack = malloc((g->n + 1) * 2 * sizeof(*g->stack));
	g->by_order = malloc((g->n + 1) * sizeof(*g->by_order));
	if (!g->stack || !g->by_order)
		return false;
	find_meetings(g);
	return true;
}

bool cot_exec_lower_body(struct cot_exec_lower *l)
{
	struct graph g = {.l = l,
			  .blocks = {.size = sizeof(struct block)},
			  .edges = {.size = sizeof(uint32_t)},
			  .backs = {.size = sizeof(uint32_t)}};
	bool ok = analyse(&g);
	uint32_t i;

	for (i = 0; ok && i < g.n && !l->error && !l->refusal; i++)
		emit_block(&g, block_at(&g, i));
	if (ok && !l->error && !l->refusal) {
		g.code_end = (uint32_t)l->code.n;
		set_meetings(&g);
		emit_return(l);
	}
	if (!ok)
		l->error = -1;
	free(g.blocks.items);
	free(g.edges.items);
	free(g.backs.items);
	free(g.label_blocks);
	free(g.stack);
	free(g.by_order);
	return !l->error && !l->refusal;
}
