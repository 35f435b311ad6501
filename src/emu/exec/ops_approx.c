/* Approximations: rcp, sqrt, rsqrt, div, sin, cos, lg2, ex2 and tanh. */
#include "emu/exec/approx.h"
#include "emu/exec/lower.h"
#include "emu/exec/ops.h"
#include "emu/exec/soft.h"

#define APPROX_PLAIN(name, expr)               \
	static inline float name##_of(float x) \
	{                                      \
		return one_nan((float)(expr)); \
	}                                      \
	UNARY(name##_f32, f32, name##_of(x))

#define APPROX(name, expr)       \
	APPROX_PLAIN(name, expr) \
	UNARY(name##_ftz, f32, flush(name##_of(flush(x))))

APPROX(rcp, 1 / x)
APPROX(sqrt, __builtin_sqrtf(x))
APPROX(rsqrt, cot_approx_rsqrt(x))
APPROX(sin, cot_approx_sin(x))
APPROX(cos, cot_approx_cos(x))
APPROX(lg2, cot_approx_lg2(x))
APPROX(ex2, cot_approx_ex2(x))
APPROX_PLAIN(tanh, cot_approx_tanh(x))
UNARY(rcp_f64, f64, cot_approx_rcp64(x))
UNARY(rsqrt_f64, f64, cot_approx_rsqrt64(x))
UNARY(rsqrt_exact_f64, f64, cot_approx_rsqrt(x))

/*
 * div.approx multiplies by a reciprocal, which is zero for the largest divisors; div.full scales
 * first.
 */
static inline float divide(float x, float y)
{
	uint32_t size = bits_f32(y) & 0x7fffffff;

	if (size > 0x7e800000 && size < 0x7f800000)
		return one_nan(x * f32_bits(bits_f32(y) & 0x80000000));
	return one_nan(x / y);
}

BINARY(div_approx, f32, divide(x, y))
BINARY(div_approx_ftz, f32, flush(divide(flush(x), flush(y))))
BINARY(div_full, f32, one_nan(x / y))
BINARY(div_full_ftz, f32, flush(one_nan(flush(x) / flush(y))))

/* Halves: the function of the value, rounded once. */
static uint32_t half_of(uint32_t x, enum cot_soft_format f, double (*fn)(double))
{
	struct cot_soft_rule rule = {COT_SOFT_RN, false, false, false, false};
	double value = f64_bits(cot_soft_convert(x & 0xffff, f, COT_SOFT_F64, rule));

	return (uint32_t)cot_soft_convert(bits_f64(fn(value)), COT_SOFT_F64, f, rule);
}

#define HALVES(name, format, fn)                 \
	UNARY(name, u16, half_of(x, format, fn)) \
	UNARY(name##x2, u32, half_of(x, format, fn) | half_of(x >> 16, format, fn) << 16)

HALVES(ex2_f16, COT_SOFT_F16, cot_approx_ex2)
HALVES(ex2_bf16, COT_SOFT_BF16, cot_approx_ex2)
HALVES(tanh_f16, COT_SOFT_F16, cot_approx_tanh)
HALVES(tanh_bf16, COT_SOFT_BF16, cot_approx_tanh)

struct row {
	uint16_t op;
	cot_exec_fn plain, ftz, f64;
};

static const struct row rows[] = {
	{COT_PTX_OP_RCP, rcp_f32, rcp_ftz, rcp_f64},
	{COT_PTX_OP_SQRT, sqrt_f32, sqrt_ftz, NULL},
	{COT_PTX_OP_RSQRT, rsqrt_f32, rsqrt_ftz, rsqrt_f64},
	{COT_PTX_OP_SIN, sin_f32, sin_ftz, NULL},
	{COT_PTX_OP_COS, cos_f32, cos_ftz, NULL},
	{COT_PTX_OP_LG2, lg2_f32, lg2_ftz, NULL},
	{COT_PTX_OP_EX2, ex2_f32, ex2_ftz, NULL},
	{COT_PTX_OP_TANH, tanh_f32, NULL, NULL},
	{COT_PTX_OP_DIV, div_approx, div_approx_ftz, NULL},
};

static cot_exec_fn pick_half(const struct cot_ptx_insn *x)
{
	bool tanh_wanted = x->op == COT_PTX_OP_TANH;

	if (!tanh_wanted && x->op != COT_PTX_OP_EX2)
		return NULL;
	switch (x->types[0]) {
	case COT_PTX_F16:
		return tanh_wanted ? tanh_f16 : ex2_f16;
	case COT_PTX_F16X2:
		return tanh_wanted ? tanh_f16x2 : ex2_f16x2;
	case COT_PTX_BF16:
		return tanh_wanted ? tanh_bf16 : ex2_bf16;
	case COT_PTX_BF16X2:
		return tanh_wanted ? tanh_bf16x2 : ex2_bf16x2;
	default:
		return NULL;
	}
}

static cot_exec_fn pick(const struct cot_ptx_insn *x)
{
	bool ftz = cot_ptx_has_mod(x, COT_PTX_MOD_FTZ);
	size_t i;

	if (x->op == COT_PTX_OP_DIV && cot_ptx_has_mod(x, COT_PTX_MOD_FULL))
		return ftz ? div_full_ftz : div_full;
	if (x->op == COT_PTX_OP_RSQRT && x->types[0] == COT_PTX_F64 && !ftz)
		return rsqrt_exact_f64;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		if (rows[i].op != x->op)
			continue;
		if (x->types[0] == COT_PTX_F64)
			return rows[i].f64;
		if (x->types[0] == COT_PTX_F32)
			return ftz ? rows[i].ftz : rows[i].plain;
	}
	return pick_half(x);
}

bool cot_exec_lower_approx(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	unsigned bits = cot_ptx_type_bits(x->types[0]);
	cot_exec_ref dst, a, b = 0;
	struct cot_exec_insn *in;
	cot_exec_fn fn;

	if (!cot_ptx_mod_of(x, COT_PTX_CLASS_APPROX))
		return false;
	fn = pick(x);
	if (!fn)
		return false;
	a = cot_exec_source(l, &x->operands[1], bits);
	if (x->n_operands > 2)
		b = cot_exec_source(l, &x->operands[2], bits);
	dst = cot_exec_dest(l, &x->operands[0], bits);
	in = cot_exec_emit(l, fn);
	if (!in)
		return true;
	in->dst = dst;
	in->a = a;
	in->b = b;
	return true;
}
