/*
 * What the lanes of a warp do together: shfl, vote, match, redux, elect, activemask, bar.warp.sync.
 *
 * The forms with .sync wait until all lanes of their mask that are still alive have come to the
 * same instruction, maybe in several groups; then they are done for all of them at once.
 */
#include "emu/exec/lower.h"
#include "emu/exec/matrix.h"
#include "emu/exec/ops.h"
#include "emu/exec/race.h"

/* The operation for lanes m. */
typedef enum cot_exec_flow (*warp_fn)(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				      uint32_t m);

enum {
	KIND_SHFL,
	KIND_VOTE,
	KIND_MATCH,
	KIND_REDUX,
	KIND_ELECT,
	KIND_SYNC,
	KIND_MATRIX, /* and what follows in enum cot_exec_matrix */
};		     /* low bits of insn.n */
#define KIND(in) ((in)->n & 15)
#define SUB(in)	 ((in)->n >> 4)

enum { SHFL_UP, SHFL_DOWN, SHFL_BFLY, SHFL_IDX };
enum { VOTE_ALL, VOTE_ANY, VOTE_UNI, VOTE_BALLOT };
enum { REDUX_ADD, REDUX_MIN, REDUX_MAX, REDUX_AND, REDUX_OR, REDUX_XOR, REDUX_SIGNED = 8 };

/* The lane that lane i reads; false: it keeps its own value. */
static bool shfl_source(unsigned mode, unsigned i, uint32_t b, uint32_t c, unsigned *ret_j)
{
	uint32_t segment = c >> 8 & 0x1f, clamp = c & 0x1f, first = i & segment;
	uint32_t last = first | (clamp & ~segment);
	int32_t j;
	bool inside;

	b &= 0x1f;
	switch (mode) {
	case SHFL_UP:
		j = (int32_t)i - (int32_t)b;
		inside = j >= (int32_t)last;
		break;
	case SHFL_DOWN:
		j = (int32_t)(i + b);
		inside = j <= (int32_t)last;
		break;
	case SHFL_BFLY:
		j = (int32_t)(i ^ b);
		inside = j <= (int32_t)last;
		break;
	default:
		j = (int32_t)(first | (b & ~segment));
		inside = j <= (int32_t)last;
		break;
	}
	*ret_j = inside ? (unsigned)j & 31 : i;
	return inside;
}

/* Reading a lane that does not take part gives what its register holds. */
static enum cot_exec_flow do_shfl(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				  uint32_t m)
{
	row_u32 *d = ROW(u32, in->dst);
	const row_u32 *b = ROW(u32, in->b), *c = ROW(u32, in->c);
	uint32_t values[LANES], good = 0, rest;
	unsigned j;

	memcpy(values, ROW(u32, in->a), sizeof(values));
	for (rest = m; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctz(rest);

		if (shfl_source(SUB(in), i, b[i], c[i], &j))
			good |= 1u << i;
		d[i] = values[j];
	}
	if (in->d != NOWHERE)
		cot_exec_set_pred(w, in->d, m, good);
	return FLOW_NEXT;
}

/* imm: the predicate is negated */
static enum cot_exec_flow do_vote(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				  uint32_t m)
{
	uint32_t p = (cot_exec_pred(w, in->a) ^ (in->imm ? ALL_LANES : 0)) & m;
	row_u32 *d;
	bool yes;

	if (SUB(in) == VOTE_BALLOT) {
		d = ROW(u32, in->dst);
		FOR_LANES(m, d[i] = p);
		return FLOW_NEXT;
	}
	yes = SUB(in) == VOTE_ALL ? p == m : SUB(in) == VOTE_ANY ? p != 0 : p == m || p == 0;
	cot_exec_set_pred(w, in->dst, m, yes ? ALL_LANES : 0);
	return FLOW_NEXT;
}

/* imm: values of 64 bits; SUB: all */
static enum cot_exec_flow do_match(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				   uint32_t m)
{
	const row_u32 *a = ROW(u32, in->a);
	const row_u64 *a64 = ROW(u64, in->a);
	row_u32 *d = ROW(u32, in->dst);
	uint32_t masks[LANES], rest, others, good = 0;

	for (rest = m; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctz(rest);

		masks[i] = 0;
		for (others = m; others; others &= others - 1) {
			unsigned j = (unsigned)__builtin_ctz(others);

			if (in->imm ? a64[i] == a64[j] : a[i] == a[j])
				masks[i] |= 1u << j;
		}
		if (SUB(in) && masks[i] != m)
			masks[i] = 0;
		good |= masks[i] == m ? 1u << i : 0;
	}
	for (rest = m; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctz(rest);

		d[i] = masks[i];
	}
	if (in->d != NOWHERE)
		cot_exec_set_pred(w, in->d, m, good);
	return FLOW_NEXT;
}

static uint32_t reduce(unsigned op, uint32_t x, uint32_t y)
{
	switch (op) {
	case REDUX_ADD:
	case REDUX_ADD | REDUX_SIGNED:
		return x + y;
	case REDUX_MIN:
		return x < y ? x : y;
	case REDUX_MAX:
		return x > y ? x : y;
	case REDUX_MIN | REDUX_SIGNED:
		return (int32_t)x < (int32_t)y ? x : y;
	case REDUX_MAX | REDUX_SIGNED:
		return (int32_t)x > (int32_t)y ? x : y;
	case REDUX_AND:
		return x & y;
	case REDUX_OR:
		return x | y;
	default:
		return x ^ y;
	}
}

static enum cot_exec_flow do_redux(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				   uint32_t m)
{
	const row_u32 *a = ROW(u32, in->a);
	row_u32 *d = ROW(u32, in->dst);
	uint32_t rest = m & (m - 1), value = a[__builtin_ctz(m)];

	for (; rest; rest &= rest - 1)
		value = reduce(SUB(in), value, a[__builtin_ctz(rest)]);
	FOR_LANES(m, d[i] = value);
	return FLOW_NEXT;
}

static enum cot_exec_flow do_elect(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				   uint32_t m)
{
	uint32_t leader = (uint32_t)__builtin_ctz(m);

	if (in->dst != NOWHERE) {
		row_u32 *d = ROW(u32, in->dst);

		FOR_LANES(m, d[i] = leader);
	}
	if (in->d != NOWHERE)
		cot_exec_set_pred(w, in->d, m, 1u << leader);
	return FLOW_NEXT;
}

static enum cot_exec_flow do_nothing(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				     uint32_t m)
{
	(void)w;
	(void)in;
	(void)m;
	return FLOW_NEXT;
}

static const warp_fn operations[] = {
	[KIND_SHFL] = do_shfl,
	[KIND_VOTE] = do_vote,
	[KIND_MATCH] = do_match,
	[KIND_REDUX] = do_redux,
	[KIND_ELECT] = do_elect,
	[KIND_SYNC] = do_nothing,
	[KIND_MATRIX + COT_EXEC_MATRIX_MMA] = cot_exec_do_mma,
	[KIND_MATRIX + COT_EXEC_MATRIX_MEMORY] = cot_exec_do_wmma_memory,
	[KIND_MATRIX + COT_EXEC_MATRIX_LOAD] = cot_exec_do_ldmatrix,
};

/* ---- waiting for each other ---- */

/* bar.warp.sync may be another one of the program; everything else has to be the same place. */
static bool same_meeting(const struct cot_exec_warp *w, const struct cot_exec_group *g,
			 const struct cot_exec_insn *in, int32_t frame)
{
	(void)w;
	if (g->state != GROUP_WARP)
		return false;
	if (KIND(in) == KIND_SYNC)
		return KIND(g->wait) == KIND_SYNC;
	return g->wait == in && g->frame == frame;
}

/* Lets those go on that wait at `in`, after the operation. */
static void release(struct cot_exec_warp *w, const struct cot_exec_insn *in, int32_t frame)
{
	unsigned k;

	for (k = 0; k < LANES; k++) {
		struct cot_exec_group *g = &w->groups[k];

		if (same_meeting(w, g, in, frame))
			cot_exec_ready(w, g);
	}
}

static uint32_t gathered(struct cot_exec_warp *w, const struct cot_exec_insn *in, int32_t frame)
{
	uint32_t mask = 0;
	unsigned k;

	for (k = 0; k < LANES; k++)
		if (same_meeting(w, &w->groups[k], in, frame))
			mask |= w->groups[k].mask;
	return mask;
}

/* With all lanes of `wanted` there: does it for them. `m`: those that come now. */
HANDLER(meet)
{
	const row_u32 *members = ROW(u32, in->e);
	uint32_t wanted = members[__builtin_ctz(m)] & w->live, others;
	struct cot_exec_group *g = w->group;

	if (COT_LIKELY(!(wanted & ~m))) {
		if (KIND(in) == KIND_SYNC)
			cot_exec_race_warp(w);
		return operations[KIND(in)](w, in, m);
	}
	others = gathered(w, in, g->frame);
	if (!(wanted & ~(m | others))) {
		if (operations[KIND(in)](w, in, m | others) != FLOW_NEXT)
			return FLOW_FAULT;
		cot_exec_race_warp(w);
		release(w, in, g->frame);
		return FLOW_NEXT;
	}
	if (m != g->mask) {
		/* Under a predicate only some wait here: they become a group of their own. */
		uint32_t here = (uint32_t)(in - w->block->run->module->code);

		return cot_exec_split(w, m, here, here + 1, NOWHERE);
	}
	g->state = GROUP_WARP;
	g->wait = in;
	g->wanted = wanted;
	g->pc = (uint32_t)(in - w->block->run->module->code) + 1;
	w->n_ready--;
	return FLOW_SWITCH;
}

void cot_exec_warp_recheck(struct cot_exec_warp *w)
{
	unsigned k;

	for (k = 0; k < LANES; k++) {
		struct cot_exec_group *g = &w->groups[k];
		const struct cot_exec_insn *in = g->wait;
		uint32_t here;

		if (g->state != GROUP_WARP)
			continue;
		here = gathered(w, in, g->frame);
		if (g->wanted & w->live & ~here)
			continue;
		cot_exec_use_frame(w, g->frame);
		/* A fault stops the run anyway. */
		if (operations[KIND(in)](w, in, here) != FLOW_NEXT)
			return;
		cot_exec_race_warp(w);
		release(w, in, g->frame);
	}
	if (w->group)
		cot_exec_use_frame(w, w->group->frame);
}

/* Those without .sync: the lanes that are here. */
HANDLER(alone)
{
	return operations[KIND(in)](w, in, m);
}

HANDLER(activemask)
{
	row_u32 *d = ROW(u32, in->dst);

	FOR_LANES(m, d[i] = m);
	return FLOW_NEXT;
}

/* ---- lowering ---- */

static struct cot_exec_insn *emit(struct cot_exec_lower *l, const struct cot_ptx_insn *x,
				  unsigned kind, int sub, unsigned mask_operand)
{
	bool sync = mask_operand < x->n_operands;
	cot_exec_ref members = 0;
	struct cot_exec_insn *in;

	if (sync)
		members = cot_exec_source(l, &x->operands[mask_operand], 32);
	in = cot_exec_emit(l, sync ? meet : alone);
	if (!in)
		return NULL;
	in->n = (uint8_t)(kind | (unsigned)sub << 4);
	in->e = members;
	in->dst = in->d = NOWHERE;
	return in;
}

void cot_exec_emit_matrix(struct cot_exec_lower *l, enum cot_exec_matrix kind,
			  const struct cot_exec_insn *in)
{
	struct cot_exec_insn out = *in;

	out.n = (uint8_t)(KIND_MATRIX + kind);
	out.e = cot_exec_const_row(l, UINT32_MAX, 32);
	cot_exec_emit_memory(l, meet, &out);
}

/* d, or d|p */
static void pair_of(struct cot_exec_lower *l, const struct cot_ptx_operand *o, cot_exec_ref *ret_d,
		    cot_exec_ref *ret_p)
{
	bool pair = o->kind == COT_PTX_OPND_PAIR;

	*ret_d = cot_exec_dest(l, pair ? &o->items[0] : o, 32);
	*ret_p = pair ? cot_exec_dest_pred(l, &o->items[1]) : NOWHERE;
}

static bool lower_shfl(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	cot_exec_ref a, b, c, d, p;
	struct cot_exec_insn *in;
	int mode;

	switch (cot_ptx_mod_of(x, COT_PTX_CLASS_SHFL)) {
	case COT_PTX_MOD_UP:
		mode = SHFL_UP;
		break;
	case COT_PTX_MOD_DOWN:
		mode = SHFL_DOWN;
		break;
	case COT_PTX_MOD_BFLY:
		mode = SHFL_BFLY;
		break;
	default:
		mode = SHFL_IDX;
		break;
	}
	a = cot_exec_source(l, &x->operands[1], 32);
	b = cot_exec_source(l, &x->operands[2], 32);
	c = cot_exec_source(l, &x->operands[3], 32);
	pair_of(l, &x->operands[0], &d, &p);
	in = emit(l, x, KIND_SHFL, mode, 4);
	if (!in)
		return true;
	in->dst = d;
	in->d = p;
	in->a = a;
	in->b = b;
	in->c = c;
	return true;
}

static bool lower_vote(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	bool ballot = cot_ptx_has_mod(x, COT_PTX_MOD_BALLOT), negated = false;
	int mode = ballot				 ? VOTE_BALLOT
		   : cot_ptx_has_mod(x, COT_PTX_MOD_ALL) ? VOTE_ALL
		   : cot_ptx_has_mod(x, COT_PTX_MOD_ANY) ? VOTE_ANY
							 : VOTE_UNI;
	cot_exec_ref a = cot_exec_source_pred(l, &x->operands[1], &negated), d;
	struct cot_exec_insn *in;

	d = ballot ? cot_exec_dest(l, &x->operands[0], 32) : cot_exec_dest_pred(l, &x->operands[0]);
	if (d == NOWHERE)
		d = cot_exec_scratch(l, 1);
	in = emit(l, x, KIND_VOTE, mode, 2);
	if (!in)
		return true;
	in->dst = d;
	in->a = a;
	in->imm = negated;
	return true;
}

static bool lower_match(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	unsigned bits = cot_ptx_type_bits(x->types[0]);
	cot_exec_ref a = cot_exec_source(l, &x->operands[1], bits), d, p;
	struct cot_exec_insn *in;

	pair_of(l, &x->operands[0], &d, &p);
	in = emit(l, x, KIND_MATCH, cot_ptx_has_mod(x, COT_PTX_MOD_ALL), 2);
	if (!in)
		return true;
	in->dst = d;
	in->d = p;
	in->a = a;
	in->imm = bits == 64;
	return true;
}

static int redux_of(const struct cot_ptx_insn *x)
{
	int sign = cot_ptx_type_class(x->types[0]) == COT_PTX_SIGNED_TYPE ? REDUX_SIGNED : 0;

	switch (cot_ptx_mod_of(x, COT_PTX_CLASS_ACTION)) {
	case COT_PTX_MOD_ADD:
		return REDUX_ADD;
	case COT_PTX_MOD_MIN:
		return REDUX_MIN | sign;
	case COT_PTX_MOD_MAX:
		return REDUX_MAX | sign;
	case COT_PTX_MOD_AND:
		return REDUX_AND;
	case COT_PTX_MOD_OR:
		return REDUX_OR;
	case COT_PTX_MOD_XOR:
		return REDUX_XOR;
	default:
		return -1;
	}
}

static bool lower_redux(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	cot_exec_ref a, d;
	struct cot_exec_insn *in;
	int op = redux_of(x);

	if (op < 0 || cot_ptx_type_class(x->types[0]) == COT_PTX_FLOAT_TYPE)
		return false;
	a = cot_exec_source(l, &x->operands[1], 32);
	d = cot_exec_dest(l, &x->operands[0], 32);
	in = emit(l, x, KIND_REDUX, op, 2);
	if (!in)
		return true;
	in->dst = d;
	in->a = a;
	return true;
}

bool cot_exec_lower_warp(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	struct cot_exec_insn *in;
	cot_exec_ref d, p;

	switch (x->op) {
	case COT_PTX_OP_SHFL:
		return lower_shfl(l, x);
	case COT_PTX_OP_VOTE:
		return lower_vote(l, x);
	case COT_PTX_OP_MATCH:
		return lower_match(l, x);
	case COT_PTX_OP_REDUX:
		return lower_redux(l, x);
	case COT_PTX_OP_ELECT:
		pair_of(l, &x->operands[0], &d, &p);
		in = emit(l, x, KIND_ELECT, 0, 1);
		if (in) {
			in->dst = d;
			in->d = p;
		}
		return true;
	case COT_PTX_OP_BAR_WARP_SYNC:
		emit(l, x, KIND_SYNC, 0, 0);
		return true;
	case COT_PTX_OP_ACTIVEMASK:
		d = cot_exec_dest(l, &x->operands[0], 32);
		in = cot_exec_emit(l, activemask);
		if (in)
			in->dst = d;
		return true;
	default:
		return false;
	}
}
