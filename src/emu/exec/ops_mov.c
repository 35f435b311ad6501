/* Moves: between registers, of addresses, and into and out of vectors; cvta and isspacep. */
#include "emu/exec/lower.h"
#include "emu/exec/ops.h"

UNARY(mov_16, u16, x)
UNARY(mov_32, u32, x)
UNARY(mov_64, u64, x)
/* An address in the function's local memory; n: as a generic one. */
HANDLER(mov_frame)
{
	uint64_t at = w->local_base + (uint64_t)in->imm + (in->n ? WINDOW_LOCAL : 0);

	if (in->b) {
		row_u32 *d = ROW(u32, in->dst);

		FOR_LANES(m, d[i] = (uint32_t)at);
	} else {
		row_u64 *d = ROW(u64, in->dst);

		FOR_LANES(m, d[i] = at);
	}
	return FLOW_NEXT;
}

HANDLER(mov_pred)
{
	uint32_t value = cot_exec_pred(w, in->a) ^ (in->n ? ALL_LANES : 0);

	cot_exec_set_pred(w, in->dst, m, value);
	return FLOW_NEXT;
}

/* Parts of 16 or 32 bits from and to the word a or dst; the parts are in a list at imm. */
#define PARTS(whole, part, bits)                                                   \
	HANDLER(pack_##whole##_##part)                                             \
	{                                                                          \
		const cot_exec_ref *list = w->block->run->module->lists + in->imm; \
		row_##whole *d = ROW(whole, in->dst);                              \
		row_##whole v[LANES] = {0};                                        \
		unsigned k;                                                        \
                                                                                   \
		for (k = 0; k < in->n; k++) {                                      \
			const row_##part *s = ROW(part, list[k]);                  \
                                                                                   \
			FOR_LANES(m, v[i] |= (row_##whole)s[i] << (k * (bits)));   \
		}                                                                  \
		FOR_LANES(m, d[i] = v[i]);                                         \
		return FLOW_NEXT;                                                  \
	}                                                                          \
                                                                                   \
	HANDLER(unpack_##whole##_##part)                                           \
	{                                                                          \
		const cot_exec_ref *list = w->block->run->module->lists + in->imm; \
		const row_##whole *a = ROW(whole, in->a);                          \
		unsigned k;                                                        \
                                                                                   \
		for (k = 0; k < in->n; k++) {                                      \
			row_##part *d = ROW(part, list[k]);                        \
                                                                                   \
			FOR_LANES(m, d[i] = (row_##part)(a[i] >> (k * (bits))));   \
		}                                                                  \
		return FLOW_NEXT;                                                  \
	}

PARTS(u32, u16, 16)
PARTS(u64, u32, 32)
PARTS(u64, u16, 16)

/* cvta: n is what is added (1) or taken away (2), imm the window. */
HANDLER(cvta_64)
{
	row_u64 *d = ROW(u64, in->dst);
	const row_u64 *a = ROW(u64, in->a);
	uint64_t offset = in->n == 1 ? (uint64_t)in->imm : 0 - (uint64_t)in->imm;

	FOR_LANES(m, d[i] = a[i] + offset);
	return FLOW_NEXT;
}

HANDLER(in_window)
{
	const row_u64 *a = ROW(u64, in->a);
	uint32_t result = 0;

	FOR_LANES(m, result |= (uint32_t)(a[i] - (uint64_t)in->imm < WINDOW_BYTES) << i);
	cot_exec_set_pred(w, in->dst, m, result);
	return FLOW_NEXT;
}

/* Global is what is in no window; n: constant variables, of which there is a range of addresses. */
HANDLER(in_global)
{
	const row_u64 *a = ROW(u64, in->a);
	const struct cot_exec_module *module = w->block->run->module;
	uint64_t first = (uint64_t)(uintptr_t)module->data;
	uint32_t result = 0;

	if (in->n)
		FOR_LANES(m, result |= (uint32_t)(a[i] - first < module->const_bytes) << i);
	else
		FOR_LANES(m, result |=
			     (uint32_t)(a[i] < WINDOW_SHARED && a[i] - first >= module->const_bytes)
			     << i);
	cot_exec_set_pred(w, in->dst, m, result);
	return FLOW_NEXT;
}

static void emit_unary(struct cot_exec_lower *l, cot_exec_fn fn, cot_exec_ref dst, cot_exec_ref a)
{
	struct cot_exec_insn *in = cot_exec_emit(l, fn);

	if (!in)
		return;
	in->dst = dst;
	in->a = a;
}

static cot_exec_fn mover(unsigned bits)
{
	return bits == 16 ? mov_16 : bits == 32 ? mov_32 : mov_64;
}

static uint64_t window_of(enum cot_exec_space space)
{
	switch (space) {
	case MEM_SHARED:
		return WINDOW_SHARED;
	case MEM_LOCAL:
		return WINDOW_LOCAL;
	case MEM_ARGS:
		return WINDOW_PARAM;
	default:
		return 0;
	}
}

/* mov of a variable's address; generic: as cvta makes it. */
static bool move_address(struct cot_exec_lower *l, const struct cot_ptx_operand *to,
			 const struct cot_ptx_operand *from, unsigned bits, bool generic)
{
	struct cot_exec_address at;
	struct cot_exec_insn *in;
	cot_exec_ref dst = cot_exec_dest(l, to, bits);

	if (!cot_exec_place_of(l, from->var, &at))
		return true;
	at.at += (uint64_t)from->imm;
	if (!at.frame) {
		at.at += generic ? window_of(at.space) : 0;
		emit_unary(l, mover(bits), dst, cot_exec_const_row(l, at.at, bits));
		return true;
	}
	in = cot_exec_emit(l, mov_frame);
	if (!in)
		return true;
	in->dst = dst;
	in->imm = (int64_t)at.at;
	in->n = generic;
	in->b = bits == 32;
	return true;
}

static bool lower_parts(struct cot_exec_lower *l, const struct cot_ptx_operand *vector,
			const struct cot_ptx_operand *whole, unsigned bits, bool unpack)
{
	cot_exec_ref list[4], ref;
	unsigned part = vector->n ? bits / vector->n : 0, k;
	struct cot_exec_insn *in;

	if (vector->n > 4 || (part != 16 && part != 32) || (bits != 32 && bits != 64))
		return false;
	for (k = 0; k < vector->n; k++)
		list[k] = unpack ? cot_exec_dest(l, &vector->items[k], part)
				 : cot_exec_source(l, &vector->items[k], part);
	ref = unpack ? cot_exec_source(l, whole, bits) : cot_exec_dest(l, whole, bits);
	if (bits == 32)
		in = cot_exec_emit(l, unpack ? unpack_u32_u16 : pack_u32_u16);
	else if (part == 32)
		in = cot_exec_emit(l, unpack ? unpack_u64_u32 : pack_u64_u32);
	else
		in = cot_exec_emit(l, unpack ? unpack_u64_u16 : pack_u64_u16);
	if (!in)
		return true;
	in->a = in->dst = ref;
	in->n = (uint8_t)vector->n;
	in->imm = cot_exec_add_list(l, list, vector->n);
	return true;
}

static bool lower_vector(struct cot_exec_lower *l, const struct cot_ptx_insn *x, unsigned bits)
{
	const struct cot_ptx_operand *to = &x->operands[0], *from = &x->operands[1];
	uint32_t k;

	if (to->kind == COT_PTX_OPND_VECTOR && from->kind == COT_PTX_OPND_VECTOR) {
		if (to->n != from->n)
			return false;
		for (k = 0; k < to->n; k++)
			emit_unary(l, mover(bits), cot_exec_dest(l, &to->items[k], bits),
				   cot_exec_source(l, &from->items[k], bits));
		return true;
	}
	if (to->kind == COT_PTX_OPND_VECTOR)
		return lower_parts(l, to, from, bits, true);
	return lower_parts(l, from, to, bits, false);
}

static bool lower_mov(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	const struct cot_ptx_operand *to = &x->operands[0], *from = &x->operands[1];
	unsigned bits = cot_ptx_type_bits(x->types[0]);
	cot_exec_ref dst, a;
	struct cot_exec_insn *in;
	bool negated = false;

	if (x->types[0] == COT_PTX_PRED) {
		a = cot_exec_source_pred(l, from, &negated);
		dst = cot_exec_dest_pred(l, to);
		in = dst == NOWHERE ? NULL : cot_exec_emit(l, mov_pred);
		if (in) {
			in->dst = dst;
			in->a = a;
			in->n = negated;
		}
		return true;
	}
	if (to->kind == COT_PTX_OPND_VECTOR || from->kind == COT_PTX_OPND_VECTOR)
		return lower_vector(l, x, bits);
	if (bits != 16 && bits != 32 && bits != 64)
		return false;
	if (from->kind == COT_PTX_OPND_VAR)
		return move_address(l, to, from, bits, false);
	a = cot_exec_source(l, from, bits);
	dst = cot_exec_dest(l, to, bits);
	emit_unary(l, mover(bits), dst, a);
	return true;
}

static uint64_t window_of_space(uint8_t space)
{
	switch (space) {
	case COT_PTX_SPACE_SHARED:
	case COT_PTX_SPACE_SHARED_CLUSTER:
		return WINDOW_SHARED;
	case COT_PTX_SPACE_LOCAL:
		return WINDOW_LOCAL;
	case COT_PTX_SPACE_PARAM:
		return WINDOW_PARAM;
	default:
		return 0;
	}
}

static bool lower_cvta(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	bool to = cot_ptx_has_mod(x, COT_PTX_MOD_TO);
	cot_exec_ref dst, a;
	struct cot_exec_insn *in;

	if (cot_ptx_type_bits(x->types[0]) != 64)
		return cot_exec_refuse(l, "cvta with 32-bit addresses is not executed");
	if (x->operands[1].kind == COT_PTX_OPND_VAR)
		return move_address(l, &x->operands[0], &x->operands[1], 64, !to);
	a = cot_exec_source(l, &x->operands[1], 64);
	dst = cot_exec_dest(l, &x->operands[0], 64);
	in = cot_exec_emit(l, cvta_64);
	if (!in)
		return true;
	in->dst = dst;
	in->a = a;
	in->n = to ? 2 : 1;
	in->imm = (int64_t)window_of_space(x->space);
	return true;
}

static bool lower_isspacep(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	uint64_t window = window_of_space(x->space);
	cot_exec_ref dst, a;
	struct cot_exec_insn *in;

	a = cot_exec_source(l, &x->operands[1], 64);
	dst = cot_exec_dest_pred(l, &x->operands[0]);
	if (dst == NOWHERE)
		return true;
	in = cot_exec_emit(l, window ? in_window : in_global);
	if (!in)
		return true;
	in->dst = dst;
	in->a = a;
	in->imm = (int64_t)window;
	in->n = x->space == COT_PTX_SPACE_CONST;
	return true;
}

bool cot_exec_lower_mov(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	switch (x->op) {
	case COT_PTX_OP_MOV:
		return lower_mov(l, x);
	case COT_PTX_OP_CVTA:
		return lower_cvta(l, x);
	case COT_PTX_OP_ISSPACEP:
		return lower_isspacep(l, x);
	default:
		return false;
	}
}
