/* Integer arithmetic without carry. */
#include "emu/exec/lower.h"
#include "emu/exec/ops.h"

/* Sums and products are computed without sign; 16 bits do not fit what C promotes them to. */
BINARY(add_u16, u16, (uint32_t)x + y)
BINARY(add_u32, u32, x + y)
BINARY(add_u64, u64, x + y)
BINARY(sub_u16, u16, (uint32_t)x - y)
BINARY(sub_u32, u32, x - y)
BINARY(sub_u64, u64, x - y)
BINARY(mul_u16, u16, (uint32_t)x *y)
BINARY(mul_u32, u32, x *y)
BINARY(mul_u64, u64, x *y)
TERNARY(mad_u16, u16, (uint32_t)x *y + z)
TERNARY(mad_u32, u32, x *y + z)
TERNARY(mad_u64, u64, x *y + z)

static inline uint64_t high_u64(uint64_t x, uint64_t y)
{
	return (uint64_t)((cot_u128)x * y >> 64);
}

static inline uint64_t high_s64(uint64_t x, uint64_t y)
{
	return high_u64(x, y) - (x >> 63 ? y : 0) - (y >> 63 ? x : 0);
}

#define HIGH_U16 ((uint32_t)x * y >> 16)
#define HIGH_S16 ((uint32_t)((int32_t)x * y) >> 16)
#define HIGH_U32 ((uint64_t)x * y >> 32)
#define HIGH_S32 ((uint64_t)((int64_t)x * y) >> 32)

BINARY(mulhi_u16, u16, HIGH_U16)
BINARY_AS(mulhi_s16, u16, s16, s16, HIGH_S16)
BINARY(mulhi_u32, u32, HIGH_U32)
BINARY_AS(mulhi_s32, u32, s32, s32, HIGH_S32)
BINARY(mulhi_u64, u64, high_u64(x, y))
BINARY(mulhi_s64, u64, high_s64(x, y))
TERNARY(madhi_u16, u16, HIGH_U16 + z)
TERNARY_AS(madhi_s16, u16, s16, s16, u16, HIGH_S16 + z)
TERNARY(madhi_u32, u32, HIGH_U32 + z)
TERNARY_AS(madhi_s32, u32, s32, s32, u32, HIGH_S32 + z)
TERNARY(madhi_u64, u64, high_u64(x, y) + z)
TERNARY(madhi_s64, u64, high_s64(x, y) + z)

BINARY_AS(mulwide_u16, u32, u16, u16, (uint32_t)x *y)
BINARY_AS(mulwide_s16, u32, s16, s16, (int32_t)x *y)
BINARY_AS(mulwide_u32, u64, u32, u32, (uint64_t)x *y)
BINARY_AS(mulwide_s32, u64, s32, s32, (int64_t)x *y)
TERNARY_AS(madwide_u16, u32, u16, u16, u32, (uint32_t)x *y + z)
TERNARY_AS(madwide_s16, u32, s16, s16, u32, (uint32_t)((int32_t)x *y) + z)
TERNARY_AS(madwide_u32, u64, u32, u32, u64, (uint64_t)x *y + z)
TERNARY_AS(madwide_s32, u64, s32, s32, u64, (uint64_t)((int64_t)x *y) + z)

static inline uint32_t clamp_s32(int64_t x)
{
	return (uint32_t)(int32_t)(x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : x);
}

BINARY_AS(addsat_s32, u32, s32, s32, clamp_s32((int64_t)x + y))
BINARY_AS(subsat_s32, u32, s32, s32, clamp_s32((int64_t)x - y))
TERNARY_AS(madhisat_s32, u32, s32, s32, s32, clamp_s32(((int64_t)x * y >> 32) + z))

/* 24 bits of each factor; the low or the high 32 bits of the 48. */
static inline int64_t low24(uint32_t x)
{
	return (int32_t)(x << 8) >> 8;
}

#define PRODUCT_U24 ((uint64_t)(x & 0xffffff) * (y & 0xffffff))
#define PRODUCT_S24 ((uint64_t)(low24(x) * low24(y)))

BINARY(mul24lo_u32, u32, PRODUCT_U24)
BINARY(mul24lo_s32, u32, PRODUCT_S24)
BINARY(mul24hi_u32, u32, PRODUCT_U24 >> 16)
BINARY(mul24hi_s32, u32, PRODUCT_S24 >> 16)
TERNARY(mad24lo_u32, u32, PRODUCT_U24 + z)
TERNARY(mad24lo_s32, u32, PRODUCT_S24 + z)
TERNARY(mad24hi_u32, u32, (PRODUCT_U24 >> 16) + z)
TERNARY(mad24hi_s32, u32, (PRODUCT_S24 >> 16) + z)
TERNARY(mad24hisat_s32, u32,
	clamp_s32((int64_t)(int32_t)(uint32_t)(PRODUCT_S24 >> 16) + (int32_t)z))

/* Division by zero gives all ones, as the hardware does; the one quotient that overflows wraps. */
#define DIVIDE(type, utype)                                       \
	BINARY(div_##utype, utype, y ? x / y : (row_##utype) - 1) \
	BINARY(rem_##utype, utype, y ? x % y : x)                 \
	BINARY_AS(div_##type, utype, type, type,                  \
		  y == -1  ? (row_##utype)(0 - (row_##utype)x)    \
		  : y != 0 ? (row_##utype)(x / y)                 \
			   : (row_##utype) - 1)                   \
	BINARY_AS(rem_##type, utype, type, type, y == 0 ? x : y == -1 ? 0 : x % y)

DIVIDE(s16, u16)
DIVIDE(s32, u32)
DIVIDE(s64, u64)

#define SIGNED_UNARY(type, utype)                                            \
	UNARY_AS(abs_##type, utype, type,                                    \
		 x < 0 ? (row_##utype)(0 - (row_##utype)x) : (row_##utype)x) \
	UNARY(neg_##type, utype, 0 - x)

SIGNED_UNARY(s16, u16)
SIGNED_UNARY(s32, u32)
SIGNED_UNARY(s64, u64)

#define ORDER(type)                             \
	BINARY(min_##type, type, x < y ? x : y) \
	BINARY(max_##type, type, x > y ? x : y)

ORDER(u16)
ORDER(u32)
ORDER(u64)
ORDER(s16)
ORDER(s32)
ORDER(s64)
BINARY(minrelu_s32, s32, (x < y ? x : y) > 0 ? (x < y ? x : y) : 0)
BINARY(maxrelu_s32, s32, (x > y ? x : y) > 0 ? (x > y ? x : y) : 0)

TERNARY(sad_u16, u16, (uint32_t)z + (x < y ? y - x : x - y))
TERNARY(sad_u32, u32, z + (x < y ? y - x : x - y))
TERNARY(sad_u64, u64, z + (x < y ? y - x : x - y))
TERNARY_AS(sad_s16, u16, s16, s16, u16, (uint32_t)z + (uint32_t)(x < y ? y - x : x - y))
TERNARY_AS(sad_s32, u32, s32, s32, u32,
	   z + (x < y ? (uint32_t)y - (uint32_t)x : (uint32_t)x - (uint32_t)y))
TERNARY_AS(sad_s64, u64, s64, s64, u64,
	   z + (x < y ? (uint64_t)y - (uint64_t)x : (uint64_t)x - (uint64_t)y))

/* Two halves in one word. */
#define PAIR_OF(low, high) (((uint32_t)(low)&0xffff) | (uint32_t)(high) << 16)
#define LOW_S(v)	   ((int16_t)(uint16_t)(v))
#define HIGH_S(v)	   ((int16_t)(uint16_t)((v) >> 16))

BINARY(add_16x2, u32, PAIR_OF(x + y, (x >> 16) + (y >> 16)))
BINARY(min_u16x2, u32,
       PAIR_OF((x & 0xffff) < (y & 0xffff) ? x : y, (x >> 16 < y >> 16 ? x : y) >> 16))
BINARY(max_u16x2, u32,
       PAIR_OF((x & 0xffff) > (y & 0xffff) ? x : y, (x >> 16 > y >> 16 ? x : y) >> 16))
BINARY(min_s16x2, u32, PAIR_OF(LOW_S(x) < LOW_S(y) ? x : y, (HIGH_S(x) < HIGH_S(y) ? x : y) >> 16))
BINARY(max_s16x2, u32, PAIR_OF(LOW_S(x) > LOW_S(y) ? x : y, (HIGH_S(x) > HIGH_S(y) ? x : y) >> 16))

/* Handlers by operation and type. */
struct row {
	uint16_t op;
	uint8_t half; /* 0, or what .lo, .hi and .wide select */
	cot_exec_fn u16, s16, u32, s32, u64, s64;
};

enum { LO = 1, HI, WIDE };

static const struct row rows[] = {
	{COT_PTX_OP_ADD, 0, add_u16, add_u16, add_u32, add_u32, add_u64, add_u64},
	{COT_PTX_OP_SUB, 0, sub_u16, sub_u16, sub_u32, sub_u32, sub_u64, sub_u64},
	{COT_PTX_OP_MUL, LO, mul_u16, mul_u16, mul_u32, mul_u32, mul_u64, mul_u64},
	{COT_PTX_OP_MUL, HI, mulhi_u16, mulhi_s16, mulhi_u32, mulhi_s32, mulhi_u64, mulhi_s64},
	{COT_PTX_OP_MUL, WIDE, mulwide_u16, mulwide_s16, mulwide_u32, mulwide_s32, NULL, NULL},
	{COT_PTX_OP_MAD, LO, mad_u16, mad_u16, mad_u32, mad_u32, mad_u64, mad_u64},
	{COT_PTX_OP_MAD, HI, madhi_u16, madhi_s16, madhi_u32, madhi_s32, madhi_u64, madhi_s64},
	{COT_PTX_OP_MAD, WIDE, madwide_u16, madwide_s16, madwide_u32, madwide_s32, NULL, NULL},
	{COT_PTX_OP_MUL24, LO, NULL, NULL, mul24lo_u32, mul24lo_s32, NULL, NULL},
	{COT_PTX_OP_MUL24, HI, NULL, NULL, mul24hi_u32, mul24hi_s32, NULL, NULL},
	{COT_PTX_OP_MAD24, LO, NULL, NULL, mad24lo_u32, mad24lo_s32, NULL, NULL},
	{COT_PTX_OP_MAD24, HI, NULL, NULL, mad24hi_u32, mad24hi_s32, NULL, NULL},
	{COT_PTX_OP_DIV, 0, div_u16, div_s16, div_u32, div_s32, div_u64, div_s64},
	{COT_PTX_OP_REM, 0, rem_u16, rem_s16, rem_u32, rem_s32, rem_u64, rem_s64},
	{COT_PTX_OP_ABS, 0, NULL, abs_s16, NULL, abs_s32, NULL, abs_s64},
	{COT_PTX_OP_NEG, 0, NULL, neg_s16, NULL, neg_s32, NULL, neg_s64},
	{COT_PTX_OP_MIN, 0, min_u16, min_s16, min_u32, min_s32, min_u64, min_s64},
	{COT_PTX_OP_MAX, 0, max_u16, max_s16, max_u32, max_s32, max_u64, max_s64},
	{COT_PTX_OP_SAD, 0, sad_u16, sad_s16, sad_u32, sad_s32, sad_u64, sad_s64},
};

static uint8_t half_of(const struct cot_ptx_insn *x)
{
	switch (cot_ptx_mod_of(x, COT_PTX_CLASS_HALF)) {
	case COT_PTX_MOD_LO:
		return LO;
	case COT_PTX_MOD_HI:
		return HI;
	case COT_PTX_MOD_WIDE:
		return WIDE;
	default:
		return 0;
	}
}

static cot_exec_fn by_type(const struct row *r, uint8_t type)
{
	switch (type) {
	case COT_PTX_U16:
		return r->u16;
	case COT_PTX_S16:
		return r->s16;
	case COT_PTX_U32:
		return r->u32;
	case COT_PTX_S32:
		return r->s32;
	case COT_PTX_U64:
		return r->u64;
	case COT_PTX_S64:
		return r->s64;
	default:
		return NULL;
	}
}

static cot_exec_fn saturating(const struct cot_ptx_insn *x)
{
	if (x->types[0] != COT_PTX_S32)
		return NULL;
	if (x->op == COT_PTX_OP_ADD)
		return addsat_s32;
	if (x->op == COT_PTX_OP_SUB)
		return subsat_s32;
	if (x->op == COT_PTX_OP_MAD && half_of(x) == HI)
		return madhisat_s32;
	return x->op == COT_PTX_OP_MAD24 && half_of(x) == HI ? mad24hisat_s32 : NULL;
}

static cot_exec_fn with_relu(const struct cot_ptx_insn *x)
{
	if (x->types[0] != COT_PTX_S32)
		return NULL;
	return x->op == COT_PTX_OP_MIN ? minrelu_s32 : maxrelu_s32;
}

static cot_exec_fn packed(const struct cot_ptx_insn *x)
{
	bool is_signed = x->types[0] == COT_PTX_S16X2;

	if (x->op == COT_PTX_OP_ADD)
		return add_16x2;
	if (x->op == COT_PTX_OP_MIN)
		return is_signed ? min_s16x2 : min_u16x2;
	if (x->op == COT_PTX_OP_MAX)
		return is_signed ? max_s16x2 : max_u16x2;
	return NULL;
}

static cot_exec_fn pick(const struct cot_ptx_insn *x)
{
	uint8_t half = half_of(x);
	size_t i;

	if (cot_ptx_has_mod(x, COT_PTX_MOD_SAT))
		return saturating(x);
	if (cot_ptx_has_mod(x, COT_PTX_MOD_RELU))
		return with_relu(x);
	if (x->types[0] == COT_PTX_U16X2 || x->types[0] == COT_PTX_S16X2)
		return packed(x);
	for (i = 0; i < COT_ARRAY_LEN(rows); i++)
		if (rows[i].op == x->op && rows[i].half == half)
			return by_type(&rows[i], x->types[0]);
	return NULL;
}

static bool lower_int(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	unsigned bits = cot_ptx_type_bits(x->types[0]);
	unsigned wide = half_of(x) == WIDE ? bits * 2 : bits;
	cot_exec_fn fn = pick(x);
	cot_exec_ref dst, a, b = 0, c = 0;
	struct cot_exec_insn *in;

	if (!fn)
		return false;
	a = cot_exec_source(l, &x->operands[1], bits);
	if (x->n_operands > 2)
		b = cot_exec_source(l, &x->operands[2], bits);
	if (x->n_operands > 3)
		c = cot_exec_source(l, &x->operands[3], wide);
	dst = cot_exec_dest(l, &x->operands[0], wide);
	in = cot_exec_emit(l, fn);
	if (!in)
		return true;
	in->dst = dst;
	in->a = a;
	in->b = b;
	in->c = c;
	return true;
}

/* add, mul, min ... exist for integers and for floating point. */
bool cot_exec_lower_arith(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	switch (cot_ptx_type_class(x->types[0])) {
	case COT_PTX_BITS_TYPE:
	case COT_PTX_UNSIGNED_TYPE:
	case COT_PTX_SIGNED_TYPE:
		if (cot_ptx_has_mod(x, COT_PTX_MOD_CC))
			return cot_exec_lower_carry(l, x);
		return lower_int(l, x);
	case COT_PTX_PACKED_TYPE:
		if (x->types[0] == COT_PTX_U16X2 || x->types[0] == COT_PTX_S16X2)
			return lower_int(l, x);
		return cot_exec_lower_float(l, x);
	default:
		return cot_exec_lower_float(l, x);
	}
}
