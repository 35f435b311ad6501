/* Arithmetic of f32 and f64, rounded to nearest: what the CPU does, with the GPU's NaN and ftz. */
#include "emu/exec/lower.h"
#include "emu/exec/ops.h"

/* An operation as it is, with .ftz, with .sat, and with both. */
#define VARIANTS_1(name, expr)                 \
	static inline float name##_of(float x) \
	{                                      \
		return one_nan(expr);          \
	}                                      \
	UNARY(name##_f32, f32, name##_of(x))   \
	UNARY(name##_ftz, f32, flush(name##_of(flush(x))))

#define VARIANTS_2(name, expr)                          \
	static inline float name##_of(float x, float y) \
	{                                               \
		return one_nan(expr);                   \
	}                                               \
	BINARY(name##_f32, f32, name##_of(x, y))        \
	BINARY(name##_ftz, f32, flush(name##_of(flush(x), flush(y))))

#define SATURATING(name)                                   \
	BINARY(name##_sat, f32, saturate(name##_of(x, y))) \
	BINARY(name##_ftz_sat, f32, flush(saturate(name##_of(flush(x), flush(y)))))

VARIANTS_2(add, x + y)
VARIANTS_2(sub, x - y)
VARIANTS_2(mul, x *y)
SATURATING(add)
SATURATING(sub)
SATURATING(mul)
VARIANTS_2(div, x / y)
VARIANTS_1(rcp, 1 / x)
VARIANTS_1(sqrt, __builtin_sqrtf(x))
BINARY(add_f64, f64, x + y)
BINARY(sub_f64, f64, x - y)
BINARY(mul_f64, f64, x *y)
BINARY(div_f64, f64, x / y)
UNARY(rcp_f64, f64, 1 / x)
UNARY(sqrt_f64, f64, __builtin_sqrt(x))

/*
 * Fused multiply-add: with the CPU's instruction where it has one, else with the C library's
 * function. Both are exact, so both give the same.
 */
#define FUSED(suffix, attribute)                                                                 \
	attribute static inline float fma_of##suffix(float x, float y, float z)                  \
	{                                                                                        \
		return one_nan(__builtin_fmaf(x, y, z));                                         \
	}                                                                                        \
	attribute TERNARY(fma_f32##suffix, f32, fma_of##suffix(x, y, z)) attribute TERNARY(      \
		fma_ftz##suffix, f32, flush(fma_of##suffix(flush(x), flush(y), flush(z))))       \
		attribute                                                                        \
		TERNARY(fma_sat##suffix, f32, saturate(fma_of##suffix(x, y, z))) attribute       \
		TERNARY(fma_ftz_sat##suffix, f32,                                                \
			flush(saturate(fma_of##suffix(flush(x), flush(y), flush(z))))) attribute \
		TERNARY(fma_f64##suffix, f64, __builtin_fma(x, y, z))

#define NO_ATTRIBUTE
FUSED(, NO_ATTRIBUTE)
#if defined(__x86_64__)
FUSED(_fast, __attribute__((target("avx2,fma"))))
#define HAVE_FAST __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
#else
#define HAVE_FAST	 false
#define fma_f32_fast	 fma_f32
#define fma_ftz_fast	 fma_ftz
#define fma_sat_fast	 fma_sat
#define fma_ftz_sat_fast fma_ftz_sat
#define fma_f64_fast	 fma_f64
#endif

/* min and max: of a number and NaN the number; -0 is below +0. */
static inline float min_of(float x, float y)
{
	if (x < y)
		return x;
	if (y < x)
		return y;
	if (x == y)
		return f32_bits(bits_f32(x) | bits_f32(y));
	return one_nan(x == x ? x : y);
}

static inline float max_of(float x, float y)
{
	if (x > y)
		return x;
	if (y > x)
		return y;
	if (x == y)
		return f32_bits(bits_f32(x) & bits_f32(y));
	return one_nan(x == x ? x : y);
}

static inline double min64_of(double x, double y)
{
	if (x < y)
		return x;
	if (y < x)
		return y;
	if (x == y)
		return f64_bits(bits_f64(x) | bits_f64(y));
	return x == x ? x : y;
}

static inline double max64_of(double x, double y)
{
	if (x > y)
		return x;
	if (y > x)
		return y;
	if (x == y)
		return f64_bits(bits_f64(x) & bits_f64(y));
	return x == x ? x : y;
}

enum { /* insn.n of order_any */
       ANY_FTZ = 1,
       ANY_NAN = 2,
       ANY_XORSIGN = 4,
       ANY_MAX = 8,
};

static float order_of(float x, float y, uint8_t how)
{
	uint32_t sign = (bits_f32(x) ^ bits_f32(y)) & 0x80000000;
	float r;

	if (how & ANY_FTZ) {
		x = flush(x);
		y = flush(y);
	}
	if (how & ANY_NAN && (x != x || y != y))
		return f32_bits(NAN_F32);
	if (how & ANY_XORSIGN) {
		x = f32_bits(bits_f32(x) & 0x7fffffff);
		y = f32_bits(bits_f32(y) & 0x7fffffff);
	}
	r = how & ANY_MAX ? max_of(x, y) : min_of(x, y);
	return how & ANY_XORSIGN && r == r ? f32_bits(bits_f32(r) | sign) : r;
}

BINARY(min_f32, f32, min_of(x, y))
BINARY(max_f32, f32, max_of(x, y))
BINARY(order_any, f32, order_of(x, y, in->n))
BINARY(min_f64, f64, min64_of(x, y))
BINARY(max_f64, f64, max64_of(x, y))

#define FLUSH_BITS(x) ((x)&0x7f800000 ? (x) : (x)&0x80000000)
UNARY(abs_f32, u32, x & 0x7fffffff)
UNARY(abs_ftz, u32, FLUSH_BITS(x) & 0x7fffffff)
UNARY(abs_f64, u64, x & ~(1ull << 63))
UNARY(neg_f32, u32, x ^ 0x80000000)
UNARY(neg_ftz, u32, FLUSH_BITS(x) ^ 0x80000000)
UNARY(neg_f64, u64, x ^ 1ull << 63)
BINARY(copysign_f32, u32, (x & 0x80000000) | (y & 0x7fffffff))
BINARY(copysign_f64, u64, (x & 1ull << 63) | (y & ~(1ull << 63)))

/* ---- choosing the handler ---- */

struct row {
	uint16_t op;
	cot_exec_fn plain, ftz, sat, ftz_sat, f64;
};

static const struct row rows[] = {
	{COT_PTX_OP_ADD, add_f32, add_ftz, add_sat, add_ftz_sat, add_f64},
	{COT_PTX_OP_SUB, sub_f32, sub_ftz, sub_sat, sub_ftz_sat, sub_f64},
	{COT_PTX_OP_MUL, mul_f32, mul_ftz, mul_sat, mul_ftz_sat, mul_f64},
	{COT_PTX_OP_DIV, div_f32, div_ftz, NULL, NULL, div_f64},
	{COT_PTX_OP_RCP, rcp_f32, rcp_ftz, NULL, NULL, rcp_f64},
	{COT_PTX_OP_SQRT, sqrt_f32, sqrt_ftz, NULL, NULL, sqrt_f64},
	{COT_PTX_OP_FMA, fma_f32, fma_ftz, fma_sat, fma_ftz_sat, fma_f64},
	{COT_PTX_OP_MAD, fma_f32, fma_ftz, fma_sat, fma_ftz_sat, fma_f64},
	{COT_PTX_OP_MIN, min_f32, order_any, NULL, NULL, min_f64},
	{COT_PTX_OP_MAX, max_f32, order_any, NULL, NULL, max_f64},
	{COT_PTX_OP_ABS, abs_f32, abs_ftz, NULL, NULL, abs_f64},
	{COT_PTX_OP_NEG, neg_f32, neg_ftz, NULL, NULL, neg_f64},
	{COT_PTX_OP_COPYSIGN, copysign_f32, NULL, NULL, NULL, copysign_f64},
};

static cot_exec_fn pick_fma(bool f64, bool ftz, bool sat)
{
	if (f64)
		return fma_f64_fast;
	if (ftz)
		return sat ? fma_ftz_sat_fast : fma_ftz_fast;
	return sat ? fma_sat_fast : fma_f32_fast;
}

static cot_exec_fn pick(const struct cot_ptx_insn *x)
{
	bool f64 = x->types[0] == COT_PTX_F64;
	bool ftz = cot_ptx_has_mod(x, COT_PTX_MOD_FTZ), sat = cot_ptx_has_mod(x, COT_PTX_MOD_SAT);
	size_t i;

	if ((x->op == COT_PTX_OP_FMA || x->op == COT_PTX_OP_MAD) && HAVE_FAST)
		return pick_fma(f64, ftz, sat);
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		if (rows[i].op != x->op)
			continue;
		if (f64)
			return rows[i].f64;
		if (ftz)
			return sat ? rows[i].ftz_sat : rows[i].ftz;
		return sat ? rows[i].sat : rows[i].plain;
	}
	return NULL;
}

static uint8_t order_mode(const struct cot_ptx_insn *x)
{
	uint8_t how = x->op == COT_PTX_OP_MAX ? ANY_MAX : 0;

	if (x->op != COT_PTX_OP_MIN && x->op != COT_PTX_OP_MAX)
		return 0;
	if (cot_ptx_has_mod(x, COT_PTX_MOD_FTZ))
		how |= ANY_FTZ;
	if (cot_ptx_has_mod(x, COT_PTX_MOD_MINMAX_NAN))
		how |= ANY_NAN;
	if (cot_ptx_has_mod(x, COT_PTX_MOD_XORSIGN_ABS))
		how |= ANY_XORSIGN;
	return how;
}

/* Other rounding than to nearest, and approximations, are not done here. */
static bool is_ours(const struct cot_ptx_insn *x)
{
	enum cot_ptx_mod round = cot_ptx_mod_of(x, COT_PTX_CLASS_ROUND);

	if (x->types[0] != COT_PTX_F32 && x->types[0] != COT_PTX_F64)
		return false;
	if (cot_ptx_mod_of(x, COT_PTX_CLASS_APPROX) || cot_ptx_has_mod(x, COT_PTX_MOD_RELU))
		return false;
	return round == COT_PTX_NO_MOD || round == COT_PTX_MOD_RN;
}

bool cot_exec_lower_float(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	unsigned bits = cot_ptx_type_bits(x->types[0]);
	uint8_t how = order_mode(x);
	cot_exec_ref dst, src[3] = {0};
	struct cot_exec_insn *in;
	cot_exec_fn fn;
	unsigned k;

	if (!is_ours(x))
		return cot_exec_lower_approx(l, x) || cot_exec_lower_soft(l, x);
	fn = how & ~ANY_MAX && x->types[0] == COT_PTX_F32 ? order_any : pick(x);
	if (!fn || x->n_operands > 4)
		return false;
	for (k = 1; k < x->n_operands; k++)
		src[k - 1] = cot_exec_source(l, &x->operands[k], bits);
	dst = cot_exec_dest(l, &x->operands[0], bits);
	in = cot_exec_emit(l, fn);
	if (!in)
		return true;
	in->dst = dst;
	in->a = src[0];
	in->b = src[1];
	in->c = src[2];
	in->n = how;
	return true;
}
