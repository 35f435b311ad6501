/* Counting, moving and selecting bits, and shifts. */
#include "emu/exec/lower.h"
#include "emu/exec/ops.h"

static inline uint32_t count32(uint32_t x)
{
	x -= x >> 1 & 0x55555555;
	x = (x & 0x33333333) + (x >> 2 & 0x33333333);
	return ((x + (x >> 4)) & 0x0f0f0f0f) * 0x01010101u >> 24;
}

static inline uint32_t clz64(uint64_t x)
{
	return x ? (uint32_t)__builtin_clzll(x) : 64;
}

static inline uint32_t clz32(uint32_t x)
{
	return x ? (uint32_t)__builtin_clz(x) : 32;
}

static inline uint32_t reverse32(uint32_t x)
{
	x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
	x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
	x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(x);
}

UNARY(popc_32, u32, count32(x))
UNARY_AS(popc_64, u32, u64, count32((uint32_t)x) + count32((uint32_t)(x >> 32)))
UNARY(clz_32, u32, clz32(x))
UNARY_AS(clz_64, u32, u64, clz64(x))
UNARY(brev_32, u32, reverse32(x))
UNARY(brev_64, u64, (uint64_t)reverse32((uint32_t)x) << 32 | reverse32((uint32_t)(x >> 32)))

/* The highest bit that is not a copy of the sign; insn.n: how far it is from the top instead. */
static inline uint32_t find(uint64_t x, unsigned bits, bool is_signed, bool from_top)
{
	uint32_t zeros;

	if (is_signed && x >> (bits - 1) & 1)
		x = ~x;
	if (bits == 32)
		x = (uint32_t)x;
	if (!x)
		return UINT32_MAX;
	zeros = clz64(x);
	return from_top ? zeros - (64 - bits) : 63 - zeros;
}

UNARY_AS(bfind_u32, u32, u32, find(x, 32, false, in->n))
UNARY_AS(bfind_s32, u32, u32, find(x, 32, true, in->n))
UNARY_AS(bfind_u64, u32, u64, find(x, 64, false, in->n))
UNARY_AS(bfind_s64, u32, u64, find(x, 64, true, in->n))

/* The place of the n-th set bit, counted from `base` upwards, or downwards for n < 0. */
static uint32_t nth_set(uint32_t mask, uint32_t base, int32_t n)
{
	int32_t step = n < 0 ? -1 : 1;
	int64_t left = n < 0 ? -(int64_t)n : n;
	int32_t i;

	if (base > 31)
		return UINT32_MAX;
	if (n == 0)
		return mask >> base & 1 ? base : UINT32_MAX;
	for (i = (int32_t)base; i >= 0 && i < 32; i += step)
		if (mask >> i & 1 && --left == 0)
			return (uint32_t)i;
	return UINT32_MAX;
}

TERNARY(fns_32, u32, nth_set(x, y, (int32_t)z))

static inline uint64_t extract(uint64_t x, uint32_t pos, uint32_t len, unsigned bits,
			       bool is_signed)
{
	uint32_t at = pos & 0xff, n = len & 0xff, top;
	uint64_t all = bits == 64 ? UINT64_MAX : UINT32_MAX;
	uint64_t field, mask, sign;

	mask = n >= 64 ? UINT64_MAX : (1ull << n) - 1;
	field = at >= bits ? 0 : (x >> at) & mask;
	if (!is_signed || !n)
		return field;
	top = at + n - 1 < bits - 1 ? at + n - 1 : bits - 1;
	sign = x >> top & 1;
	if (!sign)
		return field;
	/* Beyond what the field had: copies of its sign. */
	n = at >= bits ? 0 : (n < bits - at ? n : bits - at);
	return (field | (n >= 64 ? 0 : UINT64_MAX << n)) & all;
}

TERNARY_AS(bfe_u32, u32, u32, u32, u32, extract(x, y, z, 32, false))
TERNARY_AS(bfe_s32, u32, u32, u32, u32, extract(x, y, z, 32, true))
TERNARY_AS(bfe_u64, u64, u64, u32, u32, extract(x, y, z, 64, false))
TERNARY_AS(bfe_s64, u64, u64, u32, u32, extract(x, y, z, 64, true))

static inline uint64_t insert(uint64_t x, uint64_t y, uint32_t pos, uint32_t len, unsigned bits)
{
	uint32_t at = pos & 0xff, n = len & 0xff;
	uint64_t mask = n >= 64 ? UINT64_MAX : (1ull << n) - 1;

	if (at >= bits)
		return y;
	mask <<= at;
	return (x << at & mask) | (y & ~mask);
}

#define INSERT(name, type, bits)                                                        \
	HANDLER(name)                                                                   \
	{                                                                               \
		row_##type *d = ROW(type, in->dst);                                     \
		const row_##type *a = ROW(type, in->a), *b = ROW(type, in->b);          \
		const row_u32 *at = ROW(u32, in->c), *n = ROW(u32, in->d);              \
                                                                                        \
		FOR_LANES(m, d[i] = (row_##type)insert(a[i], b[i], at[i], n[i], bits)); \
		return FLOW_NEXT;                                                       \
	}

INSERT(bfi_32, u32, 32)
INSERT(bfi_64, u64, 64)

/* .clamp (n = 0): amounts above 32 are 32; .wrap (n = 1): modulo 32 */
static inline uint32_t sized(uint32_t x, uint32_t n, bool is_signed, bool wrap)
{
	n = wrap ? n & 31 : n;
	if (n >= 32)
		return x;
	if (!n)
		return 0;
	x <<= 32 - n;
	return is_signed ? (uint32_t)((int32_t)x >> (32 - n)) : x >> (32 - n);
}

BINARY(szext_u32, u32, sized(x, y, false, in->n))
BINARY(szext_s32, u32, sized(x, y, true, in->n))

static inline uint32_t mask_of(uint32_t at, uint32_t n, bool wrap)
{
	uint32_t ones;

	at = wrap ? at & 31 : at;
	n = wrap ? n & 31 : n;
	ones = n >= 32 ? UINT32_MAX : (1u << n) - 1;
	return at >= 32 ? 0 : ones << at;
}

BINARY(bmsk_32, u32, mask_of(x, y, in->n))

/* Shifts: amounts of the width and more shift everything out. */
#define SHIFTS(utype, type, bits)                                          \
	BINARY_AS(shl_##utype, utype, utype, u32,                          \
		  y < (bits) ? (row_##utype)((uint64_t)x << (y & 63)) : 0) \
	BINARY_AS(shr_##utype, utype, utype, u32,                          \
		  y < (bits) ? (row_##utype)(x >> (y & ((bits)-1))) : 0)   \
	BINARY_AS(shr_##type, utype, type, u32, x >> (y < (bits) ? y : (bits)-1))

SHIFTS(u16, s16, 16)
SHIFTS(u32, s32, 32)
SHIFTS(u64, s64, 64)

#define FUNNEL(x, y) ((uint64_t)(y) << 32 | (x))
TERNARY(shfl_clamp, u32, FUNNEL(x, y) << (z < 32 ? z : 32) >> 32)
TERNARY(shfl_wrap, u32, FUNNEL(x, y) << (z & 31) >> 32)
TERNARY(shfr_clamp, u32, FUNNEL(x, y) >> (z < 32 ? z : 32))
TERNARY(shfr_wrap, u32, FUNNEL(x, y) >> (z & 31))

/* prmt: four of eight bytes; the mode makes the selector. */
static inline uint32_t permute(uint32_t x, uint32_t y, uint32_t sel)
{
	uint64_t bytes = FUNNEL(x, y);
	uint32_t out = 0, k;

	for (k = 0; k < 4; k++) {
		uint32_t s = sel >> (4 * k);
		uint32_t byte = (uint32_t)(bytes >> (8 * (s & 7))) & 0xff;

		if (s & 8)
			byte = byte & 0x80 ? 0xff : 0;
		out |= byte << (8 * k);
	}
	return out;
}

static uint32_t selector(unsigned mode, uint32_t n)
{
	static const uint16_t table[][4] = {
		{0x3210, 0x4321, 0x5432, 0x6543}, /* f4e */
		{0x5670, 0x6701, 0x7012, 0x0123}, /* b4e */
		{0x0000, 0x1111, 0x2222, 0x3333}, /* rc8 */
		{0x3210, 0x3211, 0x3222, 0x3333}, /* ecl */
		{0x0000, 0x1110, 0x2210, 0x3210}, /* ecr */
		{0x1010, 0x3232, 0x1010, 0x3232}, /* rc16 */
	};

	return mode ? table[mode - 1][n & 3] : n;
}

TERNARY(prmt_32, u32, permute(x, y, z))
TERNARY(prmt_mode, u32, permute(x, y, selector(in->n, z)))

static inline uint32_t dot4(uint32_t x, uint32_t y, uint32_t z, bool sx, bool sy)
{
	unsigned k;

	for (k = 0; k < 32; k += 8) {
		uint32_t p = x >> k & 0xff, q = y >> k & 0xff;

		p = sx ? (uint32_t)(int8_t)p : p;
		q = sy ? (uint32_t)(int8_t)q : q;
		z += p * q;
	}
	return z;
}

static inline uint32_t dot2(uint32_t x, uint32_t y, uint32_t z, bool sx, bool sy, unsigned from)
{
	unsigned k;

	for (k = 0; k < 2; k++) {
		uint32_t p = x >> (16 * k) & 0xffff, q = y >> (8 * k + from) & 0xff;

		p = sx ? (uint32_t)(int16_t)p : p;
		q = sy ? (uint32_t)(int8_t)q : q;
		z += p * q;
	}
	return z;
}

TERNARY(dp4a_32, u32, dot4(x, y, z, in->n & 1, in->n & 2))
TERNARY(dp2a_32, u32, dot2(x, y, z, in->n & 1, in->n & 2, in->n & 4 ? 16 : 0))

/* ---- choosing the handler ---- */

struct choice {
	cot_exec_fn fn;
	uint8_t n;
	uint8_t bits[4]; /* of destination and sources */
	uint8_t extra;	 /* a fourth source, of 32 bits */
};

static bool is_signed(uint8_t type)
{
	return cot_ptx_type_class(type) == COT_PTX_SIGNED_TYPE;
}

static cot_exec_fn pick_shift(const struct cot_ptx_insn *x, unsigned bits)
{
	if (x->op == COT_PTX_OP_SHL)
		return bits == 16 ? shl_u16 : bits == 32 ? shl_u32 : shl_u64;
	if (is_signed(x->types[0]))
		return bits == 16 ? shr_s16 : bits == 32 ? shr_s32 : shr_s64;
	return bits == 16 ? shr_u16 : bits == 32 ? shr_u32 : shr_u64;
}

static cot_exec_fn pick_funnel(const struct cot_ptx_insn *x)
{
	bool wrap = cot_ptx_has_mod(x, COT_PTX_MOD_WRAP);

	if (cot_ptx_has_mod(x, COT_PTX_MOD_L))
		return wrap ? shfl_wrap : shfl_clamp;
	return wrap ? shfr_wrap : shfr_clamp;
}

static unsigned prmt_mode_of(const struct cot_ptx_insn *x)
{
	switch (cot_ptx_mod_of(x, COT_PTX_CLASS_PRMT)) {
	case COT_PTX_MOD_F4E:
		return 1;
	case COT_PTX_MOD_B4E:
		return 2;
	case COT_PTX_MOD_RC8:
		return 3;
	case COT_PTX_MOD_ECL:
		return 4;
	case COT_PTX_MOD_ECR:
		return 5;
	case COT_PTX_MOD_RC16:
		return 6;
	default:
		return 0;
	}
}

static struct choice choose_field(const struct cot_ptx_insn *x, bool wide, bool sign)
{
	uint8_t b = wide ? 64 : 32;

	switch (x->op) {
	case COT_PTX_OP_BFE:
		if (sign)
			return (struct choice){wide ? bfe_s64 : bfe_s32, 0, {b, b, 32, 32}, 0};
		return (struct choice){wide ? bfe_u64 : bfe_u32, 0, {b, b, 32, 32}, 0};
	case COT_PTX_OP_BFI:
		return (struct choice){wide ? bfi_64 : bfi_32, 0, {b, b, b, 32}, 1};
	case COT_PTX_OP_BFIND:
		if (sign)
			return (struct choice){wide ? bfind_s64 : bfind_s32, 0, {32, b}, 0};
		return (struct choice){wide ? bfind_u64 : bfind_u32, 0, {32, b}, 0};
	case COT_PTX_OP_POPC:
		return (struct choice){wide ? popc_64 : popc_32, 0, {32, b}, 0};
	case COT_PTX_OP_CLZ:
		return (struct choice){wide ? clz_64 : clz_32, 0, {32, b}, 0};
	case COT_PTX_OP_BREV:
		return (struct choice){wide ? brev_64 : brev_32, 0, {b, b}, 0};
	default:
		return (struct choice){0};
	}
}

static struct choice choose(const struct cot_ptx_insn *x)
{
	uint8_t bits = (uint8_t)cot_ptx_type_bits(x->types[0]);
	bool sign = is_signed(x->types[0]);
	uint8_t wrap = cot_ptx_has_mod(x, COT_PTX_MOD_WRAP);
	uint8_t signs, mode;

	switch (x->op) {
	case COT_PTX_OP_SHL:
	case COT_PTX_OP_SHR:
		return (struct choice){pick_shift(x, bits), 0, {bits, bits, 32}, 0};
	case COT_PTX_OP_SHF:
		return (struct choice){pick_funnel(x), 0, {32, 32, 32, 32}, 0};
	case COT_PTX_OP_FNS:
		return (struct choice){fns_32, 0, {32, 32, 32, 32}, 0};
	case COT_PTX_OP_SZEXT:
		return (struct choice){sign ? szext_s32 : szext_u32, wrap, {32, 32, 32}, 0};
	case COT_PTX_OP_BMSK:
		return (struct choice){bmsk_32, wrap, {32, 32, 32}, 0};
	case COT_PTX_OP_PRMT:
		mode = (uint8_t)prmt_mode_of(x);
		return (struct choice){mode ? prmt_mode : prmt_32, mode, {32, 32, 32, 32}, 0};
	case COT_PTX_OP_DP4A:
	case COT_PTX_OP_DP2A:
		signs = (uint8_t)(sign | is_signed(x->types[1]) << 1 |
				  cot_ptx_has_mod(x, COT_PTX_MOD_HI) << 2);
		return (struct choice){
			x->op == COT_PTX_OP_DP4A ? dp4a_32 : dp2a_32, signs, {32, 32, 32, 32}, 0};
	default:
		return choose_field(x, bits == 64, sign);
	}
}

bool cot_exec_lower_bits(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	struct choice how = choose(x);
	cot_exec_ref refs[4] = {0}, extra = 0;
	struct cot_exec_insn *in;
	unsigned k;

	if (!how.fn)
		return false;
	if (x->op == COT_PTX_OP_BFIND)
		how.n = cot_ptx_has_mod(x, COT_PTX_MOD_SHIFTAMT);
	for (k = 1; k < 4 && k < x->n_operands && how.bits[k]; k++)
		refs[k] = cot_exec_source(l, &x->operands[k], how.bits[k]);
	if (how.extra)
		extra = cot_exec_source(l, &x->operands[4], 32);
	refs[0] = cot_exec_dest(l, &x->operands[0], how.bits[0]);
	in = cot_exec_emit(l, how.fn);
	if (!in)
		return true;
	in->dst = refs[0];
	in->a = refs[1];
	in->b = refs[2];
	in->c = refs[3];
	in->d = extra;
	in->n = how.n;
	return true;
}
