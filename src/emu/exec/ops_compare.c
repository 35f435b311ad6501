/* Comparisons and what depends on them: setp, set, selp, slct, testp. */
#include "emu/exec/lower.h"
#include "emu/exec/ops.h"
#include "emu/exec/soft.h"

enum { COMBINE_NONE, COMBINE_AND, COMBINE_OR, COMBINE_XOR }; /* low bits of insn.n */
#define COMBINE_NOT 4					     /* the other predicate is negated */

static uint32_t combine(uint32_t t, uint32_t other, uint8_t how)
{
	switch (how) {
	case COMBINE_AND:
		return t & other;
	case COMBINE_OR:
		return t | other;
	case COMBINE_XOR:
		return t ^ other;
	default:
		return t;
	}
}

/* Writes the result of a comparison, combined with the predicate c; d gets the opposite. */
static enum cot_exec_flow finish(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				 uint32_t m, uint32_t t)
{
	uint8_t how = in->n & 3;
	uint32_t other = how ? cot_exec_pred(w, in->c) : 0;

	if (in->n & COMBINE_NOT)
		other = ~other;
	if (in->d != NOWHERE)
		cot_exec_set_pred(w, in->d, m, combine(~t, other, how));
	if (in->dst != NOWHERE)
		cot_exec_set_pred(w, in->dst, m, combine(t, other, how));
	return FLOW_NEXT;
}

#define COMPARE(name, t, expr)                                        \
	HANDLER(name)                                                 \
	{                                                             \
		const row_##t *a = ROW(t, in->a), *b = ROW(t, in->b); \
		uint32_t result = 0;                                  \
                                                                      \
		FOR_LANES(m, {                                        \
			row_##t x = a[i];                             \
			row_##t y = b[i];                             \
			result |= (uint32_t)(expr) << i;              \
		});                                                   \
		return finish(w, in, m, result);                      \
	}

#define COMPARE_INT(t)             \
	COMPARE(eq_##t, t, x == y) \
	COMPARE(ne_##t, t, x != y) \
	COMPARE(lt_##t, t, x < y)  \
	COMPARE(le_##t, t, x <= y) \
	COMPARE(gt_##t, t, x > y)  \
	COMPARE(ge_##t, t, x >= y)

/* The unordered ones are true if there is a NaN. */
#define COMPARE_FLOAT(name, t, p, q)                      \
	COMPARE(eq_##name, t, (p) == (q))                 \
	COMPARE(ne_##name, t, (p) < (q) || (p) > (q))     \
	COMPARE(lt_##name, t, (p) < (q))                  \
	COMPARE(le_##name, t, (p) <= (q))                 \
	COMPARE(gt_##name, t, (p) > (q))                  \
	COMPARE(ge_##name, t, (p) >= (q))                 \
	COMPARE(equ_##name, t, !((p) < (q) || (p) > (q))) \
	COMPARE(neu_##name, t, (p) != (q))                \
	COMPARE(ltu_##name, t, !((p) >= (q)))             \
	COMPARE(leu_##name, t, !((p) > (q)))              \
	COMPARE(gtu_##name, t, !((p) <= (q)))             \
	COMPARE(geu_##name, t, !((p) < (q)))              \
	COMPARE(num_##name, t, (p) == (p) && (q) == (q))  \
	COMPARE(nan_##name, t, (p) != (p) || (q) != (q))

static float half_value(uint16_t x)
{
	struct cot_soft_rule rule = {COT_SOFT_RN, false, false, false, false};

	return f32_bits((uint32_t)cot_soft_convert(x, COT_SOFT_F16, COT_SOFT_F32, rule));
}

static float brain_value(uint16_t x)
{
	return f32_bits((uint32_t)x << 16);
}

COMPARE_INT(u16)
COMPARE_INT(u32)
COMPARE_INT(u64)
COMPARE_INT(s16)
COMPARE_INT(s32)
COMPARE_INT(s64)
COMPARE_FLOAT(f32, f32, x, y)
COMPARE_FLOAT(f32_ftz, f32, flush(x), flush(y))
COMPARE_FLOAT(f64, f64, x, y)
COMPARE_FLOAT(f16, u16, half_value(x), half_value(y))
COMPARE_FLOAT(bf16, u16, brain_value(x), brain_value(y))

enum { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_N_INT };

#define INT_ROW(t)                                                   \
	{                                                            \
		eq_##t, ne_##t, lt_##t, le_##t, gt_##t, ge_##t, NULL \
	}
#define FLOAT_ROW(t)                                                                       \
	{                                                                                  \
		eq_##t, ne_##t, lt_##t, le_##t, gt_##t, ge_##t, equ_##t, neu_##t, ltu_##t, \
			leu_##t, gtu_##t, geu_##t, num_##t, nan_##t                        \
	}

enum { T_U16, T_U32, T_U64, T_S16, T_S32, T_S64, T_F32, T_FTZ, T_F64, T_F16, T_BF16, N_T };

static const cot_exec_fn handlers[N_T][14] = {
	[T_U16] = INT_ROW(u16),	  [T_U32] = INT_ROW(u32),	[T_U64] = INT_ROW(u64),
	[T_S16] = INT_ROW(s16),	  [T_S32] = INT_ROW(s32),	[T_S64] = INT_ROW(s64),
	[T_F32] = FLOAT_ROW(f32), [T_FTZ] = FLOAT_ROW(f32_ftz), [T_F64] = FLOAT_ROW(f64),
	[T_F16] = FLOAT_ROW(f16), [T_BF16] = FLOAT_ROW(bf16),
};

static int type_row(uint8_t type, bool ftz)
{
	switch (type) {
	case COT_PTX_B16:
	case COT_PTX_U16:
		return T_U16;
	case COT_PTX_B32:
	case COT_PTX_U32:
		return T_U32;
	case COT_PTX_B64:
	case COT_PTX_U64:
		return T_U64;
	case COT_PTX_S16:
		return T_S16;
	case COT_PTX_S32:
		return T_S32;
	case COT_PTX_S64:
		return T_S64;
	case COT_PTX_F32:
		return ftz ? T_FTZ : T_F32;
	case COT_PTX_F64:
		return T_F64;
	case COT_PTX_F16:
		return T_F16;
	case COT_PTX_BF16:
		return T_BF16;
	default:
		return -1;
	}
}

/* The comparison of setp and set; lo and hi are of another class. */
static int compare_of(const struct cot_ptx_insn *x)
{
	static const uint16_t table[] = {COT_PTX_MOD_EQ,      COT_PTX_MOD_NE,  COT_PTX_MOD_LT,
					 COT_PTX_MOD_LE,      COT_PTX_MOD_GT,  COT_PTX_MOD_GE,
					 COT_PTX_MOD_EQU,     COT_PTX_MOD_NEU, COT_PTX_MOD_LTU,
					 COT_PTX_MOD_LEU,     COT_PTX_MOD_GTU, COT_PTX_MOD_GEU,
					 COT_PTX_MOD_CMP_NUM, COT_PTX_MOD_NAN};
	enum cot_ptx_mod half = cot_ptx_mod_of(x, COT_PTX_CLASS_HALF);
	enum cot_ptx_mod cmp = cot_ptx_mod_of(x, COT_PTX_CLASS_CMP);
	size_t i;

	if (half)
		return half == COT_PTX_MOD_LO ? CMP_LT : half == COT_PTX_MOD_HI ? CMP_GT : -1;
	if (cmp == COT_PTX_MOD_LS)
		return CMP_LE;
	if (cmp == COT_PTX_MOD_HS)
		return CMP_GE;
	for (i = 0; i < COT_ARRAY_LEN(table); i++)
		if (table[i] == cmp)
			return (int)i;
	return -1;
}

static uint8_t combine_of(const struct cot_ptx_insn *x)
{
	switch (cot_ptx_mod_of(x, COT_PTX_CLASS_ACTION)) {
	case COT_PTX_MOD_AND:
		return COMBINE_AND;
	case COT_PTX_MOD_OR:
		return COMBINE_OR;
	case COT_PTX_MOD_XOR:
		return COMBINE_XOR;
	default:
		return COMBINE_NONE;
	}
}

/* A comparison of operands 1 and 2, combined with operand 3, into p and q. */
static bool lower_compare(struct cot_exec_lower *l, const struct cot_ptx_insn *x, uint8_t type,
			  cot_exec_ref p, cot_exec_ref q)
{
	int row = type_row(type, cot_ptx_has_mod(x, COT_PTX_MOD_FTZ)), cmp = compare_of(x);
	unsigned bits = cot_ptx_type_bits(type);
	cot_exec_ref a, b, c = 0;
	struct cot_exec_insn *in;
	uint8_t how = combine_of(x);
	bool negated = false;

	if (row < 0 || cmp < 0 || !handlers[row][cmp])
		return false;
	a = cot_exec_source(l, &x->operands[1], bits);
	b = cot_exec_source(l, &x->operands[2], bits);
	if (how) {
		if (x->n_operands < 4)
			return false;
		c = cot_exec_source_pred(l, &x->operands[3], &negated);
	}
	in = cot_exec_emit(l, handlers[row][cmp]);
	if (!in)
		return true;
	in->dst = p;
	in->d = q;
	in->a = a;
	in->b = b;
	in->c = c;
	in->n = (uint8_t)(how | (negated ? COMBINE_NOT : 0));
	return true;
}

static bool lower_setp(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	const struct cot_ptx_operand *o = &x->operands[0];
	cot_exec_ref p, q = NOWHERE;

	if (o->kind == COT_PTX_OPND_PAIR) {
		p = cot_exec_dest_pred(l, &o->items[0]);
		q = cot_exec_dest_pred(l, &o->items[1]);
	} else {
		p = cot_exec_dest_pred(l, o);
	}
	return lower_compare(l, x, x->types[0], p, q);
}

/* insn.imm where the predicate a is true, else 0 */
HANDLER(expand_16)
{
	row_u16 *d = ROW(u16, in->dst);
	uint32_t p = cot_exec_pred(w, in->a);

	FOR_LANES(m, d[i] = p >> i & 1 ? (uint16_t)in->imm : 0);
	return FLOW_NEXT;
}

HANDLER(expand_32)
{
	row_u32 *d = ROW(u32, in->dst);
	uint32_t p = cot_exec_pred(w, in->a);

	FOR_LANES(m, d[i] = p >> i & 1 ? (uint32_t)in->imm : 0);
	return FLOW_NEXT;
}

static bool lower_set(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	cot_exec_ref p = cot_exec_scratch(l, 1), dst;
	unsigned bits = cot_ptx_type_bits(x->types[0]);
	struct cot_exec_insn *in;
	int64_t one = -1;

	if (bits != 16 && bits != 32)
		return false;
	if (x->types[0] == COT_PTX_F32)
		one = 0x3f800000;
	else if (x->types[0] == COT_PTX_F16)
		one = 0x3c00;
	else if (x->types[0] == COT_PTX_BF16)
		one = 0x3f80;
	if (!lower_compare(l, x, x->types[1], p, NOWHERE))
		return false;
	dst = cot_exec_dest(l, &x->operands[0], bits);
	in = cot_exec_emit(l, bits == 16 ? expand_16 : expand_32);
	if (!in)
		return true;
	in->dst = dst;
	in->a = p;
	in->imm = one;
	return true;
}

#define SELECT(t)                                                               \
	HANDLER(selp_##t)                                                       \
	{                                                                       \
		row_##t *d = ROW(t, in->dst);                                   \
		const row_##t *a = ROW(t, in->a), *b = ROW(t, in->b);           \
		uint32_t p = cot_exec_pred(w, in->c) ^ (in->n ? ALL_LANES : 0); \
                                                                                \
		FOR_LANES(m, d[i] = p >> i & 1 ? a[i] : b[i]);                  \
		return FLOW_NEXT;                                               \
	}                                                                       \
	TERNARY_AS(slct_s32_##t, t, t, t, s32, z >= 0 ? x : y)                  \
	TERNARY_AS(slct_f32_##t, t, t, t, f32, z >= 0 ? x : y)                  \
	TERNARY_AS(slct_ftz_##t, t, t, t, f32, flush(z) >= 0 ? x : y)

SELECT(u16)
SELECT(u32)
SELECT(u64)

static bool lower_selp(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	unsigned bits = cot_ptx_type_bits(x->types[0]);
	cot_exec_ref dst, a, b, c;
	struct cot_exec_insn *in;
	bool negated = false;

	a = cot_exec_source(l, &x->operands[1], bits);
	b = cot_exec_source(l, &x->operands[2], bits);
	c = cot_exec_source_pred(l, &x->operands[3], &negated);
	dst = cot_exec_dest(l, &x->operands[0], bits);
	in = cot_exec_emit(l, bits == 16 ? selp_u16 : bits == 32 ? selp_u32 : selp_u64);
	if (!in)
		return true;
	in->dst = dst;
	in->a = a;
	in->b = b;
	in->c = c;
	in->n = negated;
	return true;
}

static cot_exec_fn pick_slct(const struct cot_ptx_insn *x, unsigned bits)
{
	if (x->types[1] == COT_PTX_S32)
		return bits == 16 ? slct_s32_u16 : bits == 32 ? slct_s32_u32 : slct_s32_u64;
	if (cot_ptx_has_mod(x, COT_PTX_MOD_FTZ))
		return bits == 16 ? slct_ftz_u16 : bits == 32 ? slct_ftz_u32 : slct_ftz_u64;
	return bits == 16 ? slct_f32_u16 : bits == 32 ? slct_f32_u32 : slct_f32_u64;
}

static bool lower_slct(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	unsigned bits = cot_ptx_type_bits(x->types[0]);
	cot_exec_ref dst, a, b, c;
	struct cot_exec_insn *in;

	a = cot_exec_source(l, &x->operands[1], bits);
	b = cot_exec_source(l, &x->operands[2], bits);
	c = cot_exec_source(l, &x->operands[3], 32);
	dst = cot_exec_dest(l, &x->operands[0], bits);
	in = cot_exec_emit(l, pick_slct(x, bits));
	if (!in)
		return true;
	in->dst = dst;
	in->a = a;
	in->b = b;
	in->c = c;
	return true;
}

/* insn.n says which classes are tested; numbers as exponent and fraction */
enum { TEST_FINITE, TEST_INFINITE, TEST_NUMBER, TEST_NAN, TEST_NORMAL, TEST_SUBNORMAL };

static bool test(uint8_t what, bool top, bool exponent, bool fraction)
{
	switch (what) {
	case TEST_FINITE:
		return !top;
	case TEST_INFINITE:
		return top && !fraction;
	case TEST_NUMBER:
		return !(top && fraction);
	case TEST_NAN:
		return top && fraction;
	case TEST_NORMAL:
		return !top && exponent;
	default:
		return !exponent && fraction;
	}
}

#define TEST(name, t, exponent_bits, fraction_bits)                                \
	HANDLER(name)                                                              \
	{                                                                          \
		const row_##t *a = ROW(t, in->a);                                  \
		row_##t top = ((row_##t)1 << (exponent_bits)) - 1;                 \
		uint32_t result = 0;                                               \
                                                                                   \
		FOR_LANES(m, {                                                     \
			row_##t e = a[i] >> (fraction_bits)&top;                   \
			bool f = a[i] & (((row_##t)1 << (fraction_bits)) - 1);     \
			result |= (uint32_t)test(in->n, e == top, e != 0, f) << i; \
		});                                                                \
		cot_exec_set_pred(w, in->dst, m, result);                          \
		return FLOW_NEXT;                                                  \
	}

TEST(test_f32, u32, 8, 23)
TEST(test_f64, u64, 11, 52)

static bool lower_testp(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	static const uint16_t table[] = {COT_PTX_MOD_FINITE, COT_PTX_MOD_INFINITE,
					 COT_PTX_MOD_NUMBER, COT_PTX_MOD_NOTANUMBER,
					 COT_PTX_MOD_NORMAL, COT_PTX_MOD_SUBNORMAL};
	unsigned bits = cot_ptx_type_bits(x->types[0]);
	cot_exec_ref dst, a;
	struct cot_exec_insn *in;
	uint8_t what;

	for (what = 0; what < COT_ARRAY_LEN(table); what++)
		if (table[what] == cot_ptx_mod_of(x, COT_PTX_CLASS_TESTP))
			break;
	if (what == COT_ARRAY_LEN(table) || bits < 32)
		return false;
	a = cot_exec_source(l, &x->operands[1], bits);
	dst = cot_exec_dest_pred(l, &x->operands[0]);
	if (dst == NOWHERE)
		return true;
	in = cot_exec_emit(l, bits == 32 ? test_f32 : test_f64);
	if (!in)
		return true;
	in->dst = dst;
	in->a = a;
	in->n = what;
	return true;
}

bool cot_exec_lower_compare(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	switch (x->op) {
	case COT_PTX_OP_SETP:
		return lower_setp(l, x);
	case COT_PTX_OP_SET:
		return lower_set(l, x);
	case COT_PTX_OP_SELP:
		return lower_selp(l, x);
	case COT_PTX_OP_SLCT:
		return lower_slct(l, x);
	case COT_PTX_OP_TESTP:
		return lower_testp(l, x);
	default:
		return false;
	}
}
