/* Conversions. The common ones have handlers of their own; the others are done in integers. */
#include <assert.h>

#include "emu/exec/lower.h"
#include "emu/exec/ops.h"
#include "emu/exec/soft.h"

/* Integers: the value of type `t` in a row of `r`, to rows of 16, 32 and 64 bits. */
#define FROM_INT(t, r)                                         \
	UNARY_AS(t##_##r##_u16, u16, r, (int64_t)(t##_value)x) \
	UNARY_AS(t##_##r##_u32, u32, r, (int64_t)(t##_value)x) \
	UNARY_AS(t##_##r##_u64, u64, r, (int64_t)(t##_value)x)

typedef uint8_t u8_value;
typedef int8_t s8_value;
typedef uint16_t u16_value;
typedef int16_t s16_value;
typedef uint32_t u32_value;
typedef int32_t s32_value;
typedef uint64_t u64_value;

FROM_INT(u8, u16)
FROM_INT(u8, u32)
FROM_INT(u8, u64)
FROM_INT(s8, u16)
FROM_INT(s8, u32)
FROM_INT(s8, u64)
FROM_INT(u16, u16)
FROM_INT(u16, u32)
FROM_INT(u16, u64)
FROM_INT(s16, u16)
FROM_INT(s16, u32)
FROM_INT(s16, u64)
FROM_INT(u32, u32)
FROM_INT(u32, u64)
FROM_INT(s32, u32)
FROM_INT(s32, u64)
FROM_INT(u64, u64)

#define NONE                     \
	{                        \
		NULL, NULL, NULL \
	}
#define TO_INT(t, r)                                        \
	{                                                   \
		t##_##r##_u16, t##_##r##_u32, t##_##r##_u64 \
	}

enum { V_U8, V_S8, V_U16, V_S16, V_U32, V_S32, V_64, N_V };

/* By type of the value, width of its row, width of the destination's row. */
static const cot_exec_fn int_to_int[N_V][3][3] = {
	[V_U8] = {TO_INT(u8, u16), TO_INT(u8, u32), TO_INT(u8, u64)},
	[V_S8] = {TO_INT(s8, u16), TO_INT(s8, u32), TO_INT(s8, u64)},
	[V_U16] = {TO_INT(u16, u16), TO_INT(u16, u32), TO_INT(u16, u64)},
	[V_S16] = {TO_INT(s16, u16), TO_INT(s16, u32), TO_INT(s16, u64)},
	[V_U32] = {NONE, TO_INT(u32, u32), TO_INT(u32, u64)},
	[V_S32] = {NONE, TO_INT(s32, u32), TO_INT(s32, u64)},
	[V_64] = {NONE, NONE, TO_INT(u64, u64)},
};

/* What the CPU converts as the GPU does. */
UNARY_AS(s32_f32, f32, s32, x)
UNARY_AS(u32_f32, f32, u32, x)
UNARY_AS(s64_f32, f32, s64, x)
UNARY_AS(s32_f64, f64, s32, x)
UNARY_AS(u32_f64, f64, u32, x)
UNARY_AS(s64_f64, f64, s64, x)
UNARY_AS(f32_f64, f64, f32, x)
UNARY_AS(f64_f32, f32, f64, one_nan((float)x))

static inline int32_t s32_of(double x)
{
	return x >= 0x1p31 ? INT32_MAX : x <= -0x1p31 ? INT32_MIN : x == x ? (int32_t)x : 0;
}

static inline uint32_t u32_of(double x)
{
	return x >= 0x1p32 ? UINT32_MAX : x > 0 ? (uint32_t)(int64_t)x : 0;
}

UNARY_AS(f32_s32, s32, f32, s32_of((double)x))
UNARY_AS(f32_u32, u32, f32, u32_of((double)x))
UNARY_AS(f64_s32, s32, f64, s32_of(x))
UNARY_AS(f64_u32, u32, f64, u32_of(x))

/* ---- everything else ---- */

enum { KIND_UNSIGNED = 64, KIND_SIGNED = 65 }; /* below: a format of soft.h */

/* insn.imm */
union cvt_how {
	int64_t imm;
	struct {
		uint8_t from, from_bits, to, to_bits;
		uint8_t mode, from_row, to_row; /* rows: 16, 32, 64 */
		bool ftz : 1, sat : 1, satfinite : 1, relu : 1, whole : 1;
	} s;
};

static_assert(sizeof(union cvt_how) == sizeof(int64_t), "fits the instruction");

static uint64_t read_row(const void *row, unsigned bits, unsigned i)
{
	switch (bits) {
	case 16:
		return ((const row_u16 *)row)[i];
	case 32:
		return ((const row_u32 *)row)[i];
	default:
		return ((const row_u64 *)row)[i];
	}
}

static void write_row(void *row, unsigned bits, unsigned i, uint64_t value)
{
	switch (bits) {
	case 16:
		((row_u16 *)row)[i] = (uint16_t)value;
		break;
	case 32:
		((row_u32 *)row)[i] = (uint32_t)value;
		break;
	default:
		((row_u64 *)row)[i] = value;
		break;
	}
}

static uint64_t low_bits(uint64_t x, unsigned bits)
{
	return bits == 64 ? x : x & ((1ull << bits) - 1);
}

static uint64_t extend(uint64_t x, unsigned bits)
{
	uint64_t sign = 1ull << (bits - 1);

	return (low_bits(x, bits) ^ sign) - sign;
}

/* The nearest value of the destination's type. */
static uint64_t clamp(uint64_t x, bool from_signed, unsigned bits, bool to_signed)
{
	uint64_t all = low_bits(UINT64_MAX, bits), top = to_signed ? all >> 1 : all;

	if (from_signed && x >> 63) {
		if (!to_signed)
			return 0;
		return x < ~top ? ~top : x;
	}
	return x > top ? top : x;
}

static uint64_t convert_int(const union cvt_how *how, uint64_t x)
{
	bool from_signed = how->s.from == KIND_SIGNED, to_signed = how->s.to == KIND_SIGNED;

	x = from_signed ? extend(x, how->s.from_bits) : low_bits(x, how->s.from_bits);
	if (how->s.sat)
		x = clamp(x, from_signed, how->s.to_bits, to_signed);
	return to_signed ? extend(x, how->s.to_bits) : low_bits(x, how->s.to_bits);
}

static uint64_t convert(const union cvt_how *how, uint64_t x)
{
	struct cot_soft_rule rule = {(enum cot_soft_mode)how->s.mode, how->s.ftz, how->s.sat,
				     how->s.satfinite, how->s.relu};

	if (how->s.from >= KIND_UNSIGNED && how->s.to >= KIND_UNSIGNED)
		return convert_int(how, x);
	if (how->s.from >= KIND_UNSIGNED) {
		x = how->s.from == KIND_SIGNED ? extend(x, how->s.from_bits)
					       : low_bits(x, how->s.from_bits);
		return cot_soft_from_int(x, how->s.from == KIND_SIGNED, how->s.to, rule);
	}
	if (how->s.to >= KIND_UNSIGNED) {
		x = cot_soft_to_int(x, how->s.from, how->s.to_bits, how->s.to == KIND_SIGNED, rule);
		return how->s.to == KIND_SIGNED ? extend(x, how->s.to_bits) : x;
	}
	if (how->s.whole)
		x = cot_soft_round(
			x, how->s.from,
			(struct cot_soft_rule){rule.mode, rule.ftz, false, false, false});
	return cot_soft_convert(x, how->s.from, how->s.to, rule);
}

HANDLER(cvt_any)
{
	union cvt_how how = {in->imm};
	const void *a = cot_exec_row(w, in->a);
	void *d = cot_exec_row(w, in->dst);
	uint32_t rest;

	for (rest = m; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctz(rest);

		write_row(d, how.s.to_row, i, convert(&how, read_row(a, how.s.from_row, i)));
	}
	return FLOW_NEXT;
}

/* Two values into one word: a is the upper one. */
HANDLER(cvt_pair)
{
	union cvt_how how = {in->imm};
	const row_u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b);
	void *d = cot_exec_row(w, in->dst);
	uint32_t rest;

	for (rest = m; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctz(rest);

		write_row(d, how.s.to_row, i,
			  convert(&how, b[i]) | convert(&how, a[i]) << how.s.to_bits);
	}
	return FLOW_NEXT;
}

/* Two small values in 16 bits to two halves. */
HANDLER(cvt_split)
{
	union cvt_how how = {in->imm};
	const row_u16 *a = ROW(u16, in->a);
	row_u32 *d = ROW(u32, in->dst);
	uint32_t rest;

	for (rest = m; rest; rest &= rest - 1) {
		unsigned i = (unsigned)__builtin_ctz(rest);

		d[i] = (uint32_t)(convert(&how, a[i] & 0xff) | convert(&how, a[i] >> 8) << 16);
	}
	return FLOW_NEXT;
}

/* cvt.pack: two integers, saturated, below what was in c. */
HANDLER(cvt_pack)
{
	union cvt_how how = {in->imm};
	const row_u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b), *c = ROW(u32, in->c);
	row_u32 *d = ROW(u32, in->dst);
	unsigned bits = how.s.to_bits;

	FOR_LANES(m, {
		uint64_t low = low_bits(convert(&how, b[i]), bits);
		uint64_t high = low_bits(convert(&how, a[i]), bits);
		uint64_t rest = bits == 16 ? 0 : (uint64_t)c[i] << (2 * bits);
		d[i] = (uint32_t)(rest | high << bits | low);
	});
	return FLOW_NEXT;
}

/* ---- choosing ---- */

/* A format, KIND_SIGNED or KIND_UNSIGNED; -1: not convertible. */
static int kind_of(uint8_t type)
{
	switch (type) {
	case COT_PTX_F16:
	case COT_PTX_F16X2:
		return COT_SOFT_F16;
	case COT_PTX_BF16:
	case COT_PTX_BF16X2:
		return COT_SOFT_BF16;
	case COT_PTX_TF32:
		return COT_SOFT_TF32;
	case COT_PTX_F32:
		return COT_SOFT_F32;
	case COT_PTX_F64:
		return COT_SOFT_F64;
	case COT_PTX_E4M3:
	case COT_PTX_E4M3X2:
		return COT_SOFT_E4M3;
	case COT_PTX_E5M2:
	case COT_PTX_E5M2X2:
		return COT_SOFT_E5M2;
	default:
		break;
	}
	switch (cot_ptx_type_class(type)) {
	case COT_PTX_SIGNED_TYPE:
		return KIND_SIGNED;
	case COT_PTX_UNSIGNED_TYPE:
	case COT_PTX_BITS_TYPE:
		return KIND_UNSIGNED;
	default:
		return -1;
	}
}

static int mode_of(const struct cot_ptx_insn *x, bool *ret_whole)
{
	enum cot_ptx_mod mod = cot_ptx_mod_of(x, COT_PTX_CLASS_ROUND);

	*ret_whole = mod == COT_PTX_MOD_RNI || mod == COT_PTX_MOD_RZI || mod == COT_PTX_MOD_RMI ||
		     mod == COT_PTX_MOD_RPI;
	switch (mod) {
	case COT_PTX_NO_MOD:
	case COT_PTX_MOD_RN:
	case COT_PTX_MOD_RNI:
		return COT_SOFT_RN;
	case COT_PTX_MOD_RZ:
	case COT_PTX_MOD_RZI:
		return COT_SOFT_RZ;
	case COT_PTX_MOD_RM:
	case COT_PTX_MOD_RMI:
		return COT_SOFT_RM;
	case COT_PTX_MOD_RP:
	case COT_PTX_MOD_RPI:
		return COT_SOFT_RP;
	case COT_PTX_MOD_RNA:
		return COT_SOFT_RNA;
	default:
		return -1;
	}
}

static bool how_of(const struct cot_ptx_insn *x, union cvt_how *how)
{
	int to = kind_of(x->types[0]), from = kind_of(x->types[1]);
	bool whole;
	int mode = mode_of(x, &whole);

	memset(how, 0, sizeof(*how));
	if (to < 0 || from < 0 || mode < 0)
		return false;
	/* Without .rni and the like a float goes to an integer towards zero. */
	if (to >= KIND_UNSIGNED && from < KIND_UNSIGNED && !cot_ptx_mod_of(x, COT_PTX_CLASS_ROUND))
		mode = COT_SOFT_RZ;
	how->s.to = (uint8_t)to;
	how->s.from = (uint8_t)from;
	how->s.to_bits = (uint8_t)cot_ptx_type_bits(x->types[0]);
	how->s.from_bits = (uint8_t)cot_ptx_type_bits(x->types[1]);
	how->s.mode = (uint8_t)mode;
	how->s.whole = whole;
	how->s.ftz = cot_ptx_has_mod(x, COT_PTX_MOD_FTZ);
	how->s.sat = cot_ptx_has_mod(x, COT_PTX_MOD_SAT);
	how->s.satfinite = cot_ptx_has_mod(x, COT_PTX_MOD_SATFINITE) || to == COT_SOFT_E4M3 ||
			   to == COT_SOFT_E5M2;
	how->s.relu = cot_ptx_has_mod(x, COT_PTX_MOD_RELU);
	return true;
}

struct direct {
	uint8_t to, from, mode;
	cot_exec_fn fn;
};

static cot_exec_fn pick_direct(const struct cot_ptx_insn *x, const union cvt_how *how)
{
	static const struct direct table[] = {
		{COT_PTX_F32, COT_PTX_S32, COT_SOFT_RN, s32_f32},
		{COT_PTX_F32, COT_PTX_U32, COT_SOFT_RN, u32_f32},
		{COT_PTX_F32, COT_PTX_S64, COT_SOFT_RN, s64_f32},
		{COT_PTX_F64, COT_PTX_S32, COT_SOFT_RN, s32_f64},
		{COT_PTX_F64, COT_PTX_U32, COT_SOFT_RN, u32_f64},
		{COT_PTX_F64, COT_PTX_S64, COT_SOFT_RN, s64_f64},
		{COT_PTX_F64, COT_PTX_F32, COT_SOFT_RN, f32_f64},
		{COT_PTX_F32, COT_PTX_F64, COT_SOFT_RN, f64_f32},
		{COT_PTX_S32, COT_PTX_F32, COT_SOFT_RZ, f32_s32},
		{COT_PTX_U32, COT_PTX_F32, COT_SOFT_RZ, f32_u32},
		{COT_PTX_S32, COT_PTX_F64, COT_SOFT_RZ, f64_s32},
		{COT_PTX_U32, COT_PTX_F64, COT_SOFT_RZ, f64_u32},
	};
	size_t i;

	if (how->s.sat && how->s.to < KIND_UNSIGNED)
		return NULL;
	if (how->s.ftz || how->s.satfinite || how->s.relu || how->s.from_row != how->s.from_bits ||
	    how->s.to_row != how->s.to_bits || (how->s.whole && how->s.to < KIND_UNSIGNED))
		return NULL;
	for (i = 0; i < COT_ARRAY_LEN(table); i++)
		if (table[i].to == x->types[0] && table[i].from == x->types[1] &&
		    table[i].mode == how->s.mode)
			return table[i].fn;
	return NULL;
}

static unsigned width_index(unsigned bits)
{
	return bits == 16 ? 0 : bits == 32 ? 1 : 2;
}

static cot_exec_fn pick_int(const union cvt_how *how)
{
	bool is_signed = how->s.from == KIND_SIGNED;
	unsigned v;

	if (how->s.from < KIND_UNSIGNED || how->s.to < KIND_UNSIGNED || how->s.sat ||
	    how->s.to_bits != how->s.to_row)
		return NULL;
	v = how->s.from_bits == 8    ? V_U8
	    : how->s.from_bits == 16 ? V_U16
	    : how->s.from_bits == 32 ? V_U32
				     : V_64;
	if (v != V_64 && is_signed)
		v++;
	return int_to_int[v][width_index(how->s.from_row)][width_index(how->s.to_row)];
}

/* cvt with one source. */
static bool lower_one(struct cot_exec_lower *l, const struct cot_ptx_insn *x, union cvt_how how)
{
	unsigned from_row, to_row;
	cot_exec_ref dst, a;
	struct cot_exec_insn *in;
	cot_exec_fn fn;

	a = cot_exec_source_any(l, &x->operands[1], how.s.from_bits, &from_row);
	dst = cot_exec_dest_any(l, &x->operands[0], how.s.to_bits, &to_row);
	how.s.from_row = (uint8_t)from_row;
	how.s.to_row = (uint8_t)to_row;
	fn = pick_direct(x, &how);
	if (!fn)
		fn = pick_int(&how);
	in = cot_exec_emit(l, fn ? fn : cvt_any);
	if (!in)
		return true;
	in->dst = dst;
	in->a = a;
	in->imm = how.imm;
	return true;
}

static bool lower_packed(struct cot_exec_lower *l, const struct cot_ptx_insn *x, union cvt_how how)
{
	bool split = x->n_operands == 2, small = how.s.to_bits == 16;
	cot_exec_ref dst, a, b = 0;
	struct cot_exec_insn *in;

	if (split && (how.s.to_bits != 32 || how.s.from_bits != 16))
		return false;
	if (!split && (x->n_operands != 3 || x->types[1] != COT_PTX_F32))
		return false;
	a = cot_exec_source(l, &x->operands[1], split ? 16 : 32);
	if (!split)
		b = cot_exec_source(l, &x->operands[2], 32);
	dst = cot_exec_dest(l, &x->operands[0], small ? 16 : 32);
	how.s.to_row = small ? 16 : 32;
	how.s.to_bits = how.s.to_row / 2;
	how.s.from_bits = split ? 8 : 32;
	in = cot_exec_emit(l, split ? cvt_split : cvt_pair);
	if (!in)
		return true;
	in->dst = dst;
	in->a = a;
	in->b = b;
	in->imm = how.imm;
	return true;
}

static bool lower_pack(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	cot_exec_ref dst, a, b, c;
	struct cot_exec_insn *in;
	union cvt_how how;

	if (!how_of(x, &how) || how.s.to_bits > 16 || how.s.to_bits < 8 ||
	    (how.s.to_bits == 8) != (x->n_operands == 4))
		return false;
	how.s.from_bits = 32;
	how.s.from = KIND_SIGNED;
	how.s.sat = true;
	a = cot_exec_source(l, &x->operands[1], 32);
	b = cot_exec_source(l, &x->operands[2], 32);
	c = x->n_operands > 3 ? cot_exec_source(l, &x->operands[3], 32) : a;
	dst = cot_exec_dest(l, &x->operands[0], 32);
	in = cot_exec_emit(l, cvt_pack);
	if (!in)
		return true;
	in->dst = dst;
	in->a = a;
	in->b = b;
	in->c = c;
	in->imm = how.imm;
	return true;
}

static bool is_packed(uint8_t type)
{
	return type == COT_PTX_F16X2 || type == COT_PTX_BF16X2 || type == COT_PTX_E4M3X2 ||
	       type == COT_PTX_E5M2X2;
}

bool cot_exec_lower_cvt(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	union cvt_how how;

	if (x->op == COT_PTX_OP_CVT_PACK)
		return lower_pack(l, x);
	if (x->op != COT_PTX_OP_CVT || !how_of(x, &how))
		return false;
	/* From f16x2 to e4m3x2 there is one source with two values: not done. */
	if (is_packed(x->types[0]))
		return lower_packed(l, x, how);
	if (is_packed(x->types[1]) || x->n_operands != 2)
		return false;
	return lower_one(l, x, how);
}
