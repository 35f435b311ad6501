/*
 * Arithmetic of the PTX interpreter against the CPU's: random and nasty operands, all rounding
 * modes. The references use the processor's rounding modes, 128-bit integers and the C library, of
 * which the interpreter uses nothing.
 */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "test.h"
#include "unit/emu/exec/exec_helper.h"

#define N_VALUES 2048u

__extension__ typedef __int128 s128;

typedef uint64_t (*reference)(uint64_t a, uint64_t b, uint64_t c);

struct random_case {
	const char *regs, *text; /* as in test_ops.c, all rows of these widths */
	reference want;
	int mode;    /* of fesetround */
	char kind;   /* of the operands: i, f, d, h (f16), b (bf16) */
	bool is_nan; /* any NaN is as good as another */
};

/* ---- values ---- */

static uint64_t nasty(struct cot_rng *rng, char kind)
{
	static const uint64_t f[] = {0,		 1,	     0x007fffff, 0x00800000,
				     0x3f800000, 0x3f800001, 0x3effffff, 0x7f7fffff,
				     0x7f800000, 0x7fc00000, 0x4b000001, 0x33800000};
	static const uint64_t d[] = {0,
				     1,
				     0x000fffffffffffff,
				     0x0010000000000000,
				     0x3ff0000000000000,
				     0x3ff0000000000001,
				     0x7fefffffffffffff,
				     0x7ff0000000000000,
				     0x7ff8000000000000,
				     0x4340000000000001};
	static const uint64_t h[] = {0, 1, 0x03ff, 0x0400, 0x3c00, 0x3c01, 0x7bff, 0x7c00, 0x7e00};
	static const uint64_t b[] = {0, 1, 0x007f, 0x0080, 0x3f80, 0x3f81, 0x7f7f, 0x7f80, 0x7fc0};
	static const uint64_t i[] = {0,
				     1,
				     2,
				     31,
				     32,
				     33,
				     63,
				     64,
				     0x7fffffff,
				     0x80000000,
				     0xffffffff,
				     0x7fffffffffffffff,
				     0x8000000000000000,
				     UINT64_MAX,
				     0x7fff,
				     0x8000};
	uint64_t r = cot_rng_next(rng);

	switch (kind) {
	case 'f':
		return f[r % COT_ARRAY_LEN(f)] | (r >> 63) << 31;
	case 'd':
		return d[r % COT_ARRAY_LEN(d)] | (r >> 63) << 63;
	case 'h':
		return h[r % COT_ARRAY_LEN(h)] | (r >> 63) << 15;
	case 'b':
		return b[r % COT_ARRAY_LEN(b)] | (r >> 63) << 15;
	default:
		return i[r % COT_ARRAY_LEN(i)];
	}
}

/* Near another one, so that sums cancel and remainders are small. */
static uint64_t value(struct cot_rng *rng, char kind, uint64_t before)
{
	uint64_t r = cot_rng_next(rng);

	switch (r % 8) {
	case 0:
	case 1:
		return nasty(rng, kind);
	case 2:
		return before ^ (cot_rng_next(rng) & 7);
	case 3:
		return before ^ 1ull << cot_rng_below(rng, 64);
	default:
		return cot_rng_next(rng);
	}
}

/* ---- references ---- */

/* Through pointers: what the compiler puts in their place forgets the rounding mode. */
static double (*volatile round_d)(double) = rint;
static float (*volatile round_f)(float) = rintf;

static float as_f(uint64_t x)
{
	uint32_t u = (uint32_t)x;
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

static uint64_t of_f(float f)
{
	uint32_t u;

	if (f != f)
		return 0x7fffffff;
	memcpy(&u, &f, sizeof(u));
	return u;
}

static double as_d(uint64_t x)
{
	double d;

	memcpy(&d, &x, sizeof(d));
	return d;
}

static uint64_t of_d(double d)
{
	uint64_t u;

	memcpy(&u, &d, sizeof(u));
	return u;
}

#define FLOAT_REFERENCE(name, expr_f, expr_d)                             \
	static uint64_t name##_f(uint64_t a, uint64_t b, uint64_t c)      \
	{                                                                 \
		volatile float x = as_f(a), y = as_f(b), z = as_f(c), r;  \
                                                                          \
		r = (expr_f);                                             \
		(void)y;                                                  \
		(void)z;                                                  \
		return of_f(r);                                           \
	}                                                                 \
	static uint64_t name##_d(uint64_t a, uint64_t b, uint64_t c)      \
	{                                                                 \
		volatile double x = as_d(a), y = as_d(b), z = as_d(c), r; \
                                                                          \
		r = (expr_d);                                             \
		(void)y;                                                  \
		(void)z;                                                  \
		return of_d(r);                                           \
	}

FLOAT_REFERENCE(add, x + y, x + y)
FLOAT_REFERENCE(sub, x - y, x - y)
FLOAT_REFERENCE(mul, x *y, x *y)
FLOAT_REFERENCE(quotient, x / y, x / y)
FLOAT_REFERENCE(fused, fmaf(x, y, z), fma(x, y, z))
FLOAT_REFERENCE(root, sqrtf(x), sqrt(x))
FLOAT_REFERENCE(whole, round_f(x), round_d(x))
FLOAT_REFERENCE(inverse, 1 / x, 1 / x)

static uint64_t narrow(uint64_t a, uint64_t b, uint64_t c)
{
	volatile double x = as_d(a);
	volatile float r = (float)x;

	(void)b;
	(void)c;
	return of_f(r);
}

static uint64_t from_s64(uint64_t a, uint64_t b, uint64_t c)
{
	volatile int64_t x = (int64_t)a;
	volatile float r = (float)x;

	(void)b;
	(void)c;
	return of_f(r);
}

static uint64_t from_s64_d(uint64_t a, uint64_t b, uint64_t c)
{
	volatile int64_t x = (int64_t)a;
	volatile double r = (double)x;

	(void)b;
	(void)c;
	return of_d(r);
}

static uint64_t to_s32(uint64_t a, uint64_t b, uint64_t c)
{
	double x = round_d((double)as_f(a));

	(void)b;
	(void)c;
	if (x != x)
		return 0;
	return (uint32_t)(x >= 0x1p31 ? INT32_MAX : x <= -0x1p31 ? INT32_MIN : (int32_t)x);
}

static uint64_t to_u64(uint64_t a, uint64_t b, uint64_t c)
{
	double x = round_d(as_d(a));

	(void)b;
	(void)c;
	if (!(x > 0))
		return 0;
	return x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}

/* A small float: its value, and the nearest one of a value in the processor's rounding mode. */
struct small {
	int exponent_bits, fraction_bits;
};

static const struct small half = {5, 10}, brain = {8, 7};

static double small_value(uint64_t x, const struct small *s)
{
	uint64_t fraction = x & ((1u << s->fraction_bits) - 1);
	int exponent = (int)(x >> s->fraction_bits & ((1u << s->exponent_bits) - 1));
	int top = (1 << s->exponent_bits) - 1, bias = top / 2;
	double v;

	if (exponent == top)
		v = fraction ? NAN : INFINITY;
	else if (exponent)
		v = ldexp((double)(fraction | 1u << s->fraction_bits),
			  exponent - bias - s->fraction_bits);
	else
		v = ldexp((double)fraction, 1 - bias - s->fraction_bits);
	return x >> 15 & 1 ? -v : v;
}

static uint64_t small_bits(double v, const struct small *s)
{
	int top = (1 << s->exponent_bits) - 1, bias = top / 2, e;
	uint64_t sign = signbit(v) ? 0x8000 : 0;
	double n, largest = ldexp(2 - ldexp(1, -s->fraction_bits), bias);

	if (v != v)
		return 0x7fff;
	v = fabs(v);
	if (isinf(v) || v == 0)
		return sign | (v == 0 ? 0 : (uint64_t)top << s->fraction_bits);
	frexp(v, &e);
	e = e - 1 < 1 - bias ? 1 - bias : e - 1;
	n = round_d(ldexp(v, s->fraction_bits - e));
	if (ldexp(n, e - s->fraction_bits) > largest)
		return sign | (uint64_t)top << s->fraction_bits;
	return sign | ((uint64_t)n + ((uint64_t)(e + bias - 1) << s->fraction_bits));
}

#define SMALL_REFERENCE(name, format)                                                    \
	static uint64_t add_##name(uint64_t a, uint64_t b, uint64_t c)                   \
	{                                                                                \
		(void)c;                                                                 \
		return small_bits(small_value(a, &(format)) + small_value(b, &(format)), \
				  &(format));                                            \
	}                                                                                \
	static uint64_t mul_##name(uint64_t a, uint64_t b, uint64_t c)                   \
	{                                                                                \
		(void)c;                                                                 \
		return small_bits(small_value(a, &(format)) * small_value(b, &(format)), \
				  &(format));                                            \
	}                                                                                \
	static uint64_t narrow_##name(uint64_t a, uint64_t b, uint64_t c)                \
	{                                                                                \
		(void)b;                                                                 \
		(void)c;                                                                 \
		return small_bits((double)as_f(a), &(format));                           \
	}

SMALL_REFERENCE(half, half)
SMALL_REFERENCE(brain, brain)

static uint64_t fma_half(uint64_t a, uint64_t b, uint64_t c)
{
	/* Product and sum of halves fit into a double, but for sums that no rounding can see. */
	return small_bits(small_value(a, &half) * small_value(b, &half) + small_value(c, &half),
			  &half);
}

#define INT_REFERENCE(name, expr)                                           \
	static uint64_t name(uint64_t a, uint64_t b, uint64_t c)            \
	{                                                                   \
		uint32_t x = (uint32_t)a, y = (uint32_t)b, z = (uint32_t)c; \
                                                                            \
		(void)x;                                                    \
		(void)y;                                                    \
		(void)z;                                                    \
		return (uint64_t)(expr);                                    \
	}

#define S(x) ((int64_t)(int32_t)(x))
INT_REFERENCE(mad_hi_s32, (uint32_t)((S(x) * S(y) >> 32) + S(z)))
INT_REFERENCE(mad_wide_s32, (uint64_t)(S(x) * S(y)) + c)
INT_REFERENCE(mul_hi_s64, (uint64_t)((s128)(int64_t)a *(int64_t)b >> 64))
INT_REFERENCE(mad_hi_u64, (uint64_t)(((cot_u128)a * b >> 64) + c))
INT_REFERENCE(div_s64, b == 0 ? UINT64_MAX : (uint64_t)((s128)(int64_t)a / (int64_t)b))
INT_REFERENCE(rem_s64, b == 0 ? a : (uint64_t)((s128)(int64_t)a % (int64_t)b))
INT_REFERENCE(shr_s32, (uint32_t)(S(x) >> (y > 31 ? 31 : y)))
INT_REFERENCE(shl_64, y > 63 ? 0 : a << y)
INT_REFERENCE(sad_s32, (uint32_t)(llabs(S(x) - S(y)) + S(z)))
INT_REFERENCE(carry, (uint32_t)(((uint64_t)x + y) >> 32) + z)
INT_REFERENCE(popcount, (uint32_t)__builtin_popcountll(a))

/* Bit by bit, as the manual describes it. */
static uint64_t bfe_s32(uint64_t a, uint64_t b, uint64_t c)
{
	unsigned pos = b & 0xff, len = c & 0xff, i;
	unsigned sign_at = pos + len - 1 < 31 ? pos + len - 1 : 31;
	bool sign = len && (a >> sign_at & 1);
	uint32_t d = 0;

	for (i = 0; i < 32; i++) {
		bool bit = i < len && pos + i <= 31 ? a >> (pos + i) & 1 : sign;

		d |= (uint32_t)bit << i;
	}
	return d;
}

static uint64_t bfi_64(uint64_t a, uint64_t b, uint64_t c)
{
	unsigned pos = c & 0xff, len = 13, i;
	uint64_t d = b;

	for (i = 0; i < len && pos + i <= 63; i++)
		d = (d & ~(1ull << (pos + i))) | (a >> i & 1) << (pos + i);
	return d;
}

#define ALL_MODES(regs, before, after, want, kind, nan)                     \
	{regs, before ".rn" after, want, FE_TONEAREST, kind, nan},          \
		{regs, before ".rz" after, want, FE_TOWARDZERO, kind, nan}, \
		{regs, before ".rm" after, want, FE_DOWNWARD, kind, nan},   \
	{                                                                   \
		regs, before ".rp" after, want, FE_UPWARD, kind, nan        \
	}
#define BOTH(op, operands, name)                                               \
	ALL_MODES("rrrr", op, ".f32 $d, " operands ";", name##_f, 'f', false), \
		ALL_MODES("dddd", op, ".f64 $d, " operands ";", name##_d, 'd', true)

static const struct random_case cases[] = {
	BOTH("add", "$a, $b", add),
	BOTH("sub", "$a, $b", sub),
	BOTH("mul", "$a, $b", mul),
	BOTH("div", "$a, $b", quotient),
	BOTH("fma", "$a, $b, $c", fused),
	BOTH("sqrt", "$a", root),
	BOTH("rcp", "$a", inverse),
	ALL_MODES("rddd", "cvt", ".f32.f64 $d, $a;", narrow, 'd', false),
	ALL_MODES("rddd", "cvt", ".f32.s64 $d, $a;", from_s64, 'i', false),
	ALL_MODES("dddd", "cvt", ".f64.s64 $d, $a;", from_s64_d, 'i', false),
	{"rrrr", "cvt.rni.f32.f32 $d, $a;", whole_f, FE_TONEAREST, 'f', false},
	{"rrrr", "cvt.rmi.f32.f32 $d, $a;", whole_f, FE_DOWNWARD, 'f', false},
	{"dddd", "cvt.rpi.f64.f64 $d, $a;", whole_d, FE_UPWARD, 'd', true},
	{"rrrr", "cvt.rzi.s32.f32 $d, $a;", to_s32, FE_TOWARDZERO, 'f', false},
	{"rrrr", "cvt.rpi.s32.f32 $d, $a;", to_s32, FE_UPWARD, 'f', false},
	{"dddd", "cvt.rni.u64.f64 $d, $a;", to_u64, FE_TONEAREST, 'd', false},
	{"hhhh", "add.rn.f16 $d, $a, $b;", add_half, FE_TONEAREST, 'h', false},
	{"hhhh", "mul.rn.f16 $d, $a, $b;", mul_half, FE_TONEAREST, 'h', false},
	{"hhhh", "fma.rn.f16 $d, $a, $b, $c;", fma_half, FE_TONEAREST, 'h', false},
	{"hhhh", "add.rn.bf16 $d, $a, $b;", add_brain, FE_TONEAREST, 'b', false},
	{"hhhh", "mul.rn.bf16 $d, $a, $b;", mul_brain, FE_TONEAREST, 'b', false},
	{"hrrr", "cvt.rn.f16.f32 $d, $a;", narrow_half, FE_TONEAREST, 'f', false},
	{"hrrr", "cvt.rn.bf16.f32 $d, $a;", narrow_brain, FE_TONEAREST, 'f', false},
	{"rrrr", "mad.hi.s32 $d, $a, $b, $c;", mad_hi_s32, FE_TONEAREST, 'i', false},
	{"drrd", "mad.wide.s32 $d, $a, $b, $c;", mad_wide_s32, FE_TONEAREST, 'i', false},
	{"dddd", "mul.hi.s64 $d, $a, $b;", mul_hi_s64, FE_TONEAREST, 'i', false},
	{"dddd", "mad.hi.u64 $d, $a, $b, $c;", mad_hi_u64, FE_TONEAREST, 'i', false},
	{"dddd", "div.s64 $d, $a, $b;", div_s64, FE_TONEAREST, 'i', false},
	{"dddd", "rem.s64 $d, $a, $b;", rem_s64, FE_TONEAREST, 'i', false},
	{"rrrr", "shr.s32 $d, $a, $b;", shr_s32, FE_TONEAREST, 'i', false},
	{"ddrr", "shl.b64 $d, $a, $b;", shl_64, FE_TONEAREST, 'i', false},
	{"rrrr", "sad.s32 $d, $a, $b, $c;", sad_s32, FE_TONEAREST, 'i', false},
	{"rrrr", "add.cc.u32 %r5, $a, $b; addc.u32 $d, $c, 0;", carry, FE_TONEAREST, 'i', false},
	{"rddd", "popc.b64 $d, $a;", popcount, FE_TONEAREST, 'i', false},
	{"rrrr", "bfe.s32 $d, $a, $b, $c;", bfe_s32, FE_TONEAREST, 'i', false},
	{"dddr", "bfi.b64 $d, $a, $b, $c, 13;", bfi_64, FE_TONEAREST, 'i', false},
};

/* ---- running ---- */

static unsigned bits_of(char letter)
{
	return letter == 'h' ? 16 : letter == 'd' ? 64 : 32;
}

static size_t substitute(char *out, size_t size, const struct random_case *c)
{
	const char *p;
	size_t n = 0;

	for (p = c->text; *p && n + 8 < size; p++) {
		const char *which = *p == '$' ? strchr("dabc", p[1]) : NULL;

		if (which)
			n += (size_t)snprintf(out + n, size - n, "%%%c%d", c->regs[which - "dabc"],
					      (int)(which - "dabc"));
		else
			out[n++] = *p;
		p += which != NULL;
	}
	return n;
}

static void make_kernel(char *ptx, size_t size, const struct random_case *c)
{
	size_t n, k;

	n = (size_t)snprintf(ptx, size,
			     ".visible .entry k(.param .u64 data) {\n"
			     ".reg .b16 %%h<10>; .reg .b32 %%r<12>; .reg .b64 %%d<12>;\n"
			     "ld.param.u64 %%d10, [data]; mov.u32 %%r8, %%ctaid.x;\n"
			     "mov.u32 %%r9, %%ntid.x; mov.u32 %%r10, %%tid.x;\n"
			     "mad.lo.u32 %%r11, %%r8, %%r9, %%r10; mul.wide.u32 %%d11, %%r11, 32;\n"
			     "add.u64 %%d10, %%d10, %%d11;\n");
	for (k = 1; k < 4; k++)
		n += (size_t)snprintf(ptx + n, size - n, "ld.global.b%u %%%c%zu, [%%d10+%zu];\n",
				      bits_of(c->regs[k]), c->regs[k], k, 8 * k);
	n += substitute(ptx + n, size - n, c);
	snprintf(ptx + n, size - n, "\nst.global.b%u [%%d10], %%%c0; ret; }\n", bits_of(c->regs[0]),
		 c->regs[0]);
}

static bool same(const struct random_case *c, uint64_t got, uint64_t want)
{
	if (got == want)
		return true;
	return c->is_nan && as_d(got) != as_d(got) && as_d(want) != as_d(want);
}

static uint64_t cut(uint64_t x, char letter)
{
	return bits_of(letter) == 64 ? x : x & ((1ull << bits_of(letter)) - 1);
}

static bool run_case(const struct random_case *c, uint64_t seed)
{
	struct cot_rng rng = {seed};
	struct exec_test t;
	uint64_t(*data)[4], want;
	unsigned n_wrong = 0, i, k;
	char ptx[2048];

	make_kernel(ptx, sizeof(ptx), c);
	exec_load_body(&t, ptx);
	data = exec_alloc(&t, sizeof(*data) * N_VALUES);
	for (i = 0; i < N_VALUES; i++)
		for (k = 1; k < 4; k++)
			data[i][k] = cut(value(&rng, c->kind, data[i][k - 1]), c->regs[k]);
	exec_arg_ptr(&t, 0, data);
	if (exec_run(&t, N_VALUES / 128, 128, 2))
		fail_msg("%s: %s", c->text, t.fault.text);
	fesetround(c->mode);
	for (i = 0; i < N_VALUES; i++) {
		want = cut(c->want(data[i][1], data[i][2], data[i][3]), c->regs[0]);
		if (!same(c, data[i][0], want) && n_wrong++ < 3)
			print_error("%s of 0x%llx, 0x%llx, 0x%llx: 0x%llx, expected 0x%llx\n",
				    c->text, (unsigned long long)data[i][1],
				    (unsigned long long)data[i][2], (unsigned long long)data[i][3],
				    (unsigned long long)data[i][0], (unsigned long long)want);
	}
	fesetround(FE_TONEAREST);
	exec_unload(&t);
	return !n_wrong;
}

static void test_against_cpu(void **state)
{
	const char *given = getenv("COTENANT_TEST_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : 20261121;
	bool good = true;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		good &= run_case(&cases[i], seed + i);
	if (!good)
		fail_msg("with COTENANT_TEST_SEED=%llu", (unsigned long long)seed);
}

/* ---- approximations ---- */

struct approx_case {
	const char *text;
	double (*exact)(double);
	double low, high; /* arguments */
	double limit;	  /* of the error; below 0: absolute */
};

static double reciprocal(double x)
{
	return 1 / x;
}

static double reciprocal_root(double x)
{
	return 1 / sqrt(x);
}

/* The limits are those of the PTX manual; the interpreter is a rounding away from exact. */
static const struct approx_case approximations[] = {
	{"ex2.approx.f32 $d, $a;", exp2, -120, 120, 0x1p-23},
	{"lg2.approx.f32 $d, $a;", log2, 2, 1e30, 0x1p-22},
	{"sin.approx.f32 $d, $a;", sin, -1e6, 1e6, -0x1p-24},
	{"cos.approx.f32 $d, $a;", cos, -1e30, 1e30, -0x1p-24},
	{"tanh.approx.f32 $d, $a;", tanh, -9, 9, 0x1p-23},
	{"rcp.approx.f32 $d, $a;", reciprocal, -1e30, 1e30, 0x1p-23},
	{"rsqrt.approx.f32 $d, $a;", reciprocal_root, 1e-30, 1e30, 0x1p-23},
	{"sqrt.approx.f32 $d, $a;", sqrt, 0, 1e30, 0x1p-23},
};

static bool approximates(const struct approx_case *a)
{
	struct random_case c = {"rrrr", a->text, NULL, FE_TONEAREST, 'f', false};
	struct cot_rng rng = {7};
	double worst = 0, x, error;
	struct exec_test t;
	uint64_t(*data)[4];
	char ptx[2048];
	unsigned i;

	make_kernel(ptx, sizeof(ptx), &c);
	exec_load_body(&t, ptx);
	data = exec_alloc(&t, sizeof(*data) * N_VALUES);
	for (i = 0; i < N_VALUES; i++) {
		x = (double)cot_rng_next(&rng) * 0x1p-64;
		data[i][1] = of_f((float)(a->low + (a->high - a->low) * (i % 2 ? x : x * x * x)));
	}
	exec_arg_ptr(&t, 0, data);
	assert_int_equal(exec_run(&t, N_VALUES / 128, 128, 2), COT_EXEC_FAULT_NONE);
	for (i = 0; i < N_VALUES; i++) {
		x = a->exact((double)as_f(data[i][1]));
		error = fabs((double)as_f(data[i][0]) - x) / (a->limit < 0 ? 1 : fabs(x));
		worst = error > worst ? error : worst;
	}
	exec_unload(&t);
	if (worst > fabs(a->limit))
		print_error("%s: error %g, expected at most %g\n", a->text, worst, fabs(a->limit));
	return worst <= fabs(a->limit);
}

static void test_approximations(void **state)
{
	bool good = true;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(approximations) / sizeof(approximations[0]); i++)
		good &= approximates(&approximations[i]);
	assert_true(good);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_cpu),
		cmocka_unit_test(test_approximations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
