/* Additions that hand on a carry: add.cc, addc, sub.cc, subc, mad.cc and madc. */
#include "emu/exec/lower.h"
#include "emu/exec/ops.h"

enum { /* insn.n */
       READS = 1,
       WRITES = 2,
       SUBTRACTS = 4,
       HIGH = 8,
       SIGNED = 16,
};

/* x + y + carry, or x - y - borrow; the carry flag is the one of the sum or of the difference. */
static uint64_t add_carry(uint64_t x, uint64_t y, unsigned bits, bool subtract, bool in,
			  bool *ret_out)
{
	uint64_t all = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	cot_u128 sum;

	x &= all;
	y &= all;
	sum = subtract ? (cot_u128)x - y - in : (cot_u128)x + y + in;
	*ret_out = sum >> bits & 1;
	return (uint64_t)sum & all;
}

static uint64_t product(uint64_t x, uint64_t y, unsigned bits, uint8_t how)
{
	uint64_t high;

	if (!(how & HIGH))
		return x * y;
	if (bits == 32)
		return how & SIGNED
			       ? (uint64_t)((int64_t)(int32_t)x * (int32_t)y >> 32) & UINT32_MAX
			       : x * y >> 32;
	high = (uint64_t)((cot_u128)x * y >> 64);
	return how & SIGNED ? high - (x >> 63 ? y : 0) - (y >> 63 ? x : 0) : high;
}

static void set_carry(struct cot_exec_warp *w, unsigned i, uint8_t how, bool carry)
{
	if (how & WRITES)
		w->carry = (w->carry & ~(1u << i)) | (uint32_t)carry << i;
}

#define CARRY_HANDLERS(type, bits)                                                           \
	HANDLER(addc_##type)                                                                 \
	{                                                                                    \
		row_##type *d = ROW(type, in->dst);                                          \
		const row_##type *a = ROW(type, in->a), *b = ROW(type, in->b);               \
		uint32_t rest;                                                               \
		bool out;                                                                    \
                                                                                             \
		for (rest = m; rest; rest &= rest - 1) {                                     \
			unsigned i = (unsigned)__builtin_ctz(rest);                          \
			bool c = in->n & READS && w->carry >> i & 1;                         \
                                                                                             \
			d[i] = (row_##type)add_carry(a[i], b[i], bits, in->n & SUBTRACTS, c, \
						     &out);                                  \
			set_carry(w, i, in->n, out);                                         \
		}                                                                            \
		return FLOW_NEXT;                                                            \
	}                                                                                    \
                                                                                             \
	HANDLER(madc_##type)                                                                 \
	{                                                                                    \
		row_##type *d = ROW(type, in->dst);                                          \
		const row_##type *a = ROW(type, in->a), *b = ROW(type, in->b);               \
		const row_##type *z = ROW(type, in->c);                                      \
		uint32_t rest;                                                               \
		bool out;                                                                    \
                                                                                             \
		for (rest = m; rest; rest &= rest - 1) {                                     \
			unsigned i = (unsigned)__builtin_ctz(rest);                          \
			uint64_t p = product(a[i], b[i], bits, in->n);                       \
			bool c = in->n & READS && w->carry >> i & 1;                         \
                                                                                             \
			d[i] = (row_##type)add_carry(p, z[i], bits, false, c, &out);         \
			set_carry(w, i, in->n, out);                                         \
		}                                                                            \
		return FLOW_NEXT;                                                            \
	}

CARRY_HANDLERS(u32, 32)
CARRY_HANDLERS(u64, 64)

bool cot_exec_lower_carry(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	unsigned bits = cot_ptx_type_bits(x->types[0]);
	bool mad = x->op == COT_PTX_OP_MAD || x->op == COT_PTX_OP_MADC;
	uint8_t how = 0;
	cot_exec_ref dst, a, b, c = 0;
	struct cot_exec_insn *in;

	if (bits != 32 && bits != 64)
		return false;
	if (x->op == COT_PTX_OP_ADDC || x->op == COT_PTX_OP_SUBC || x->op == COT_PTX_OP_MADC)
		how |= READS;
	if (cot_ptx_has_mod(x, COT_PTX_MOD_CC))
		how |= WRITES;
	if (x->op == COT_PTX_OP_SUB || x->op == COT_PTX_OP_SUBC)
		how |= SUBTRACTS;
	if (cot_ptx_has_mod(x, COT_PTX_MOD_HI))
		how |= HIGH;
	if (cot_ptx_type_class(x->types[0]) == COT_PTX_SIGNED_TYPE)
		how |= SIGNED;
	a = cot_exec_source(l, &x->operands[1], bits);
	b = cot_exec_source(l, &x->operands[2], bits);
	if (mad)
		c = cot_exec_source(l, &x->operands[3], bits);
	dst = cot_exec_dest(l, &x->operands[0], bits);
	in = cot_exec_emit(l, mad ? (bits == 32 ? madc_u32 : madc_u64)
				  : (bits == 32 ? addc_u32 : addc_u64));
	if (!in)
		return true;
	in->dst = dst;
	in->a = a;
	in->b = b;
	in->c = c;
	in->n = how;
	return true;
}
