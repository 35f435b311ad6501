/* Bitwise logic of registers and of predicates. */
#include "emu/exec/lower.h"
#include "emu/exec/ops.h"

#define LOGIC(t)                  \
	BINARY(and_##t, t, x &y)  \
	BINARY(or_##t, t, x | y)  \
	BINARY(xor_##t, t, x ^ y) \
	UNARY(not_##t, t, ~x)     \
	UNARY(cnot_##t, t, x == 0)

LOGIC(u16)
LOGIC(u32)
LOGIC(u64)

/* Bit k of the table is the result for the three bits of k. */
static inline uint32_t lookup(uint32_t x, uint32_t y, uint32_t z, uint8_t table)
{
	uint32_t r = 0;

	r |= table & 0x01 ? ~x & ~y & ~z : 0;
	r |= table & 0x02 ? ~x & ~y & z : 0;
	r |= table & 0x04 ? ~x & y & ~z : 0;
	r |= table & 0x08 ? ~x & y & z : 0;
	r |= table & 0x10 ? x & ~y & ~z : 0;
	r |= table & 0x20 ? x & ~y & z : 0;
	r |= table & 0x40 ? x & y & ~z : 0;
	r |= table & 0x80 ? x & y & z : 0;
	return r;
}

TERNARY(lop3_32, u32, lookup(x, y, z, in->n))

/* The other result: (d != 0) op q */
HANDLER(lop3_pred)
{
	const row_u32 *d = ROW(u32, in->a);
	uint32_t q = cot_exec_pred(w, in->b) ^ (in->n & 2 ? ALL_LANES : 0), result = 0;

	FOR_LANES(m, result |= (uint32_t)(d[i] != 0) << i);
	cot_exec_set_pred(w, in->dst, m, in->n & 1 ? result & q : result | q);
	return FLOW_NEXT;
}

HANDLER(and_pred)
{
	uint32_t a = cot_exec_pred(w, in->a), b = cot_exec_pred(w, in->b);

	cot_exec_set_pred(w, in->dst, m,
			  (a ^ (in->n & 1 ? ALL_LANES : 0)) & (b ^ (in->n & 2 ? ALL_LANES : 0)));
	return FLOW_NEXT;
}

HANDLER(or_pred)
{
	uint32_t a = cot_exec_pred(w, in->a), b = cot_exec_pred(w, in->b);

	cot_exec_set_pred(w, in->dst, m,
			  (a ^ (in->n & 1 ? ALL_LANES : 0)) | (b ^ (in->n & 2 ? ALL_LANES : 0)));
	return FLOW_NEXT;
}

HANDLER(xor_pred)
{
	uint32_t a = cot_exec_pred(w, in->a), b = cot_exec_pred(w, in->b);

	cot_exec_set_pred(w, in->dst, m,
			  a ^ b ^ (in->n & 1 ? ALL_LANES : 0) ^ (in->n & 2 ? ALL_LANES : 0));
	return FLOW_NEXT;
}

HANDLER(not_pred)
{
	cot_exec_set_pred(w, in->dst, m, ~cot_exec_pred(w, in->a) ^ (in->n & 1 ? ALL_LANES : 0));
	return FLOW_NEXT;
}

struct row {
	uint16_t op;
	cot_exec_fn pred, w16, w32, w64;
};

static const struct row rows[] = {
	{COT_PTX_OP_AND, and_pred, and_u16, and_u32, and_u64},
	{COT_PTX_OP_OR, or_pred, or_u16, or_u32, or_u64},
	{COT_PTX_OP_XOR, xor_pred, xor_u16, xor_u32, xor_u64},
	{COT_PTX_OP_NOT, not_pred, not_u16, not_u32, not_u64},
	{COT_PTX_OP_CNOT, NULL, cnot_u16, cnot_u32, cnot_u64},
};

static bool lower_pred(struct cot_exec_lower *l, const struct cot_ptx_insn *x, const struct row *r)
{
	bool not_a = false, not_b = false;
	cot_exec_ref dst, a, b = 0;
	struct cot_exec_insn *in;

	if (!r->pred)
		return false;
	a = cot_exec_source_pred(l, &x->operands[1], &not_a);
	if (x->n_operands > 2)
		b = cot_exec_source_pred(l, &x->operands[2], &not_b);
	dst = cot_exec_dest_pred(l, &x->operands[0]);
	if (dst == NOWHERE)
		return true;
	in = cot_exec_emit(l, r->pred);
	if (!in)
		return true;
	in->dst = dst;
	in->a = a;
	in->b = b;
	in->n = (uint8_t)(not_a | not_b << 1);
	return true;
}

static bool lower_bool_lop3(struct cot_exec_lower *l, const struct cot_ptx_insn *x, cot_exec_ref d)
{
	const struct cot_ptx_operand *o = &x->operands[0];
	bool negated = false;
	cot_exec_ref p, q = cot_exec_source_pred(l, &x->operands[5], &negated);
	struct cot_exec_insn *in;

	p = cot_exec_dest_pred(l, &o->items[1]);
	if (p == NOWHERE)
		return true;
	in = cot_exec_emit(l, lop3_pred);
	if (!in)
		return true;
	in->dst = p;
	in->a = d;
	in->b = q;
	in->n = (uint8_t)(cot_ptx_has_mod(x, COT_PTX_MOD_AND) | negated << 1);
	return true;
}

static bool lower_lop3(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	const struct cot_ptx_operand *o = &x->operands[0];
	bool pair = o->kind == COT_PTX_OPND_PAIR;
	cot_exec_ref dst, a, b, c;
	struct cot_exec_insn *in;

	a = cot_exec_source(l, &x->operands[1], 32);
	b = cot_exec_source(l, &x->operands[2], 32);
	c = cot_exec_source(l, &x->operands[3], 32);
	dst = cot_exec_dest(l, pair ? &o->items[0] : o, 32);
	in = cot_exec_emit(l, lop3_32);
	if (!in)
		return true;
	in->dst = dst;
	in->a = a;
	in->b = b;
	in->c = c;
	in->n = (uint8_t)cot_exec_number(l, &x->operands[4]);
	return pair && x->n_operands > 5 ? lower_bool_lop3(l, x, dst) : true;
}

static const struct row *row_of(uint16_t op)
{
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(rows); i++)
		if (rows[i].op == op)
			return &rows[i];
	return NULL;
}

bool cot_exec_lower_logic(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	unsigned bits = cot_ptx_type_bits(x->types[0]);
	const struct row *r = row_of(x->op);
	cot_exec_ref dst, a, b = 0;
	struct cot_exec_insn *in;

	if (x->op == COT_PTX_OP_LOP3)
		return lower_lop3(l, x);
	if (!r)
		return false;
	if (x->types[0] == COT_PTX_PRED)
		return lower_pred(l, x, r);
	a = cot_exec_source(l, &x->operands[1], bits);
	if (x->n_operands > 2)
		b = cot_exec_source(l, &x->operands[2], bits);
	dst = cot_exec_dest(l, &x->operands[0], bits);
	in = cot_exec_emit(l, bits == 16 ? r->w16 : bits == 32 ? r->w32 : r->w64);
	if (!in)
		return true;
	in->dst = dst;
	in->a = a;
	in->b = b;
	return true;
}
