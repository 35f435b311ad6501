/*
 * Arithmetic that is done in integers: rounding other than to nearest, and all of f16 and bf16.
 * One lane after the other, so it is slow; it is also rare.
 */
#include <assert.h>

#include "emu/exec/lower.h"
#include "emu/exec/ops.h"
#include "emu/exec/soft.h"

enum {
	SOFT_ADD,
	SOFT_SUB,
	SOFT_MUL,
	SOFT_FMA,
	SOFT_DIV,
	SOFT_SQRT,
	SOFT_RCP,
	SOFT_MIN,
	SOFT_MAX,
	SOFT_ABS,
	SOFT_NEG,
	SOFT_COPYSIGN,
};

/* insn.imm */
union soft_how {
	int64_t imm;
	struct {
		uint8_t op, format, mode;
		bool ftz, sat, relu, nan, xorsign;
	} s;
};

static_assert(sizeof(union soft_how) == sizeof(int64_t), "fits the instruction");

static unsigned width_of(uint8_t format)
{
	return format == COT_SOFT_F64 ? 64 : format == COT_SOFT_F32 ? 32 : 16;
}

static uint64_t one_of(uint8_t format)
{
	switch (format) {
	case COT_SOFT_F16:
		return 0x3c00;
	case COT_SOFT_BF16:
		return 0x3f80;
	case COT_SOFT_F32:
		return 0x3f800000;
	default:
		return 0x3ff0000000000000;
	}
}

static uint64_t nan_of(uint8_t format)
{
	return format == COT_SOFT_F64	? 0xfff8000000000000
	       : format == COT_SOFT_F32 ? NAN_F32
					: 0x7fff;
}

/* Order of the bit patterns of numbers: -0 is below +0. */
static int64_t rank(uint64_t x, uint64_t sign)
{
	return x & sign ? -(int64_t)(x & (sign - 1)) - 1 : (int64_t)x;
}

static uint64_t order(const union soft_how *how, uint64_t x, uint64_t y)
{
	uint64_t sign = 1ull << (width_of(how->s.format) - 1), s = (x ^ y) & sign, r;
	bool x_nan = cot_soft_is_nan(x, how->s.format), y_nan = cot_soft_is_nan(y, how->s.format);
	struct cot_soft_rule rule = {COT_SOFT_RN, how->s.ftz, false, false, false};

	if ((x_nan && y_nan) || (how->s.nan && (x_nan || y_nan)))
		return nan_of(how->s.format);
	if (how->s.ftz) {
		x = cot_soft_convert(x, how->s.format, how->s.format, rule);
		y = cot_soft_convert(y, how->s.format, how->s.format, rule);
	}
	if (how->s.xorsign) {
		x &= sign - 1;
		y &= sign - 1;
	}
	if (x_nan || y_nan)
		r = x_nan ? y : x;
	else if (how->s.op == SOFT_MIN)
		r = rank(x, sign) < rank(y, sign) ? x : y;
	else
		r = rank(x, sign) > rank(y, sign) ? x : y;
	return how->s.xorsign ? r | s : r;
}

static uint64_t compute(const union soft_how *how, uint64_t x, uint64_t y, uint64_t z)
{
	struct cot_soft_rule rule = {(enum cot_soft_mode)how->s.mode, how->s.ftz, how->s.sat, false,
				     how->s.relu};
	enum cot_soft_format f = how->s.format;
	uint64_t sign = 1ull << (width_of(how->s.format) - 1);

	switch (how->s.op) {
	case SOFT_ADD:
		return cot_soft_add(x, y, f, rule);
	case SOFT_SUB:
		return cot_soft_add(x, y ^ sign, f, rule);
	case SOFT_MUL:
		return cot_soft_mul(x, y, f, rule);
	case SOFT_FMA:
		return cot_soft_fma(x, y, z, f, rule);
	case SOFT_DIV:
		return cot_soft_div(x, y, f, rule);
	case SOFT_RCP:
		return cot_soft_div(one_of(how->s.format), x, f, rule);
	case SOFT_SQRT:
		return cot_soft_sqrt(x, f, rule);
	case SOFT_ABS:
		return x & (sign - 1);
	case SOFT_NEG:
		return x ^ sign;
	case SOFT_COPYSIGN:
		return (x & sign) | (y & (sign - 1));
	default:
		return order(how, x, y);
	}
}

#define SOFT_HANDLER(type)                                                     \
	HANDLER(soft_##type)                                                   \
	{                                                                      \
		union soft_how how = {in->imm};                                \
		row_##type *d = ROW(type, in->dst);                            \
		const row_##type *a = ROW(type, in->a), *b = ROW(type, in->b); \
		const row_##type *c = ROW(type, in->c);                        \
		uint32_t rest;                                                 \
                                                                               \
		for (rest = m; rest; rest &= rest - 1) {                       \
			unsigned i = (unsigned)__builtin_ctz(rest);            \
                                                                               \
			d[i] = (row_##type)compute(&how, a[i], b[i], c[i]);    \
		}                                                              \
		return FLOW_NEXT;                                              \
	}

SOFT_HANDLER(u16)
SOFT_HANDLER(u32)
SOFT_HANDLER(u64)

/* Two values in one word. */
HANDLER(soft_packed)
{
	union soft_how how = {in->imm};
	row_u32 *d = ROW(u32, in->dst);
	const row_u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b), *c = ROW(u32, in->c);
	uint32_t rest;

	for (rest = m; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctz(rest);
		uint64_t low = compute(&how, a[i] & 0xffff, b[i] & 0xffff, c[i] & 0xffff);
		uint64_t high = compute(&how, a[i] >> 16, b[i] >> 16, c[i] >> 16);

		d[i] = (uint32_t)(low & 0xffff) | (uint32_t)high << 16;
	}
	return FLOW_NEXT;
}

/* ---- choosing ---- */

static int op_of(uint16_t op)
{
	switch (op) {
	case COT_PTX_OP_ADD:
		return SOFT_ADD;
	case COT_PTX_OP_SUB:
		return SOFT_SUB;
	case COT_PTX_OP_MUL:
		return SOFT_MUL;
	case COT_PTX_OP_FMA:
	case COT_PTX_OP_MAD:
		return SOFT_FMA;
	case COT_PTX_OP_DIV:
		return SOFT_DIV;
	case COT_PTX_OP_RCP:
		return SOFT_RCP;
	case COT_PTX_OP_SQRT:
		return SOFT_SQRT;
	case COT_PTX_OP_MIN:
		return SOFT_MIN;
	case COT_PTX_OP_MAX:
		return SOFT_MAX;
	case COT_PTX_OP_ABS:
		return SOFT_ABS;
	case COT_PTX_OP_NEG:
		return SOFT_NEG;
	case COT_PTX_OP_COPYSIGN:
		return SOFT_COPYSIGN;
	default:
		return -1;
	}
}

static int format_of(uint8_t type)
{
	switch (type) {
	case COT_PTX_F16:
	case COT_PTX_F16X2:
		return COT_SOFT_F16;
	case COT_PTX_BF16:
	case COT_PTX_BF16X2:
		return COT_SOFT_BF16;
	case COT_PTX_F32:
		return COT_SOFT_F32;
	case COT_PTX_F64:
		return COT_SOFT_F64;
	default:
		return -1;
	}
}

static int mode_of(const struct cot_ptx_insn *x)
{
	switch (cot_ptx_mod_of(x, COT_PTX_CLASS_ROUND)) {
	case COT_PTX_NO_MOD:
	case COT_PTX_MOD_RN:
		return COT_SOFT_RN;
	case COT_PTX_MOD_RZ:
		return COT_SOFT_RZ;
	case COT_PTX_MOD_RM:
		return COT_SOFT_RM;
	case COT_PTX_MOD_RP:
		return COT_SOFT_RP;
	default:
		return -1;
	}
}

bool cot_exec_lower_soft(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	unsigned bits = cot_ptx_type_bits(x->types[0]), k;
	int op = op_of(x->op), format = format_of(x->types[0]), mode = mode_of(x);
	bool packed = x->types[0] == COT_PTX_F16X2 || x->types[0] == COT_PTX_BF16X2;
	cot_exec_ref dst, src[3] = {0};
	struct cot_exec_insn *in;
	union soft_how how = {0};

	if (op < 0 || format < 0 || mode < 0 || x->n_operands > 4 ||
	    cot_ptx_mod_of(x, COT_PTX_CLASS_APPROX) || cot_ptx_mod_of(x, COT_PTX_CLASS_OOB))
		return false;
	how.s.op = (uint8_t)op;
	how.s.format = (uint8_t)format;
	how.s.mode = (uint8_t)mode;
	how.s.ftz = cot_ptx_has_mod(x, COT_PTX_MOD_FTZ);
	how.s.sat = cot_ptx_has_mod(x, COT_PTX_MOD_SAT);
	how.s.relu = cot_ptx_has_mod(x, COT_PTX_MOD_RELU);
	how.s.nan = cot_ptx_has_mod(x, COT_PTX_MOD_MINMAX_NAN);
	how.s.xorsign = cot_ptx_has_mod(x, COT_PTX_MOD_XORSIGN_ABS);
	for (k = 1; k < x->n_operands; k++)
		src[k - 1] = cot_exec_source(l, &x->operands[k], bits);
	dst = cot_exec_dest(l, &x->operands[0], bits);
	in = cot_exec_emit(l, packed	   ? soft_packed
			      : bits == 16 ? soft_u16
			      : bits == 32 ? soft_u32
					   : soft_u64);
	if (!in)
		return true;
	in->dst = dst;
	in->a = src[0];
	/* Rows are read even where the operation has no use for them. */
	in->b = x->n_operands > 2 ? src[1] : src[0];
	in->c = x->n_operands > 3 ? src[2] : src[0];
	in->imm = how.imm;
	return true;
}
