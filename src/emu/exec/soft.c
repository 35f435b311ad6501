#include "emu/exec/soft.h"

/* value = sig * 2^exp */
struct number {
	enum { ZERO, FINITE, INFINITE, NOT } kind;
	bool negative;
	int exp;
	cot_u128 sig;
};

struct layout {
	int exponent_bits, fraction_bits, pad_bits; /* pad: unused low bits */
	uint64_t nan;
};

static const struct layout layouts[COT_SOFT_N_FORMATS] = {
	[COT_SOFT_F16] = {5, 10, 0, 0x7fff},
	[COT_SOFT_BF16] = {8, 7, 0, 0x7fff},
	[COT_SOFT_TF32] = {8, 10, 13, 0x7fffffff},
	[COT_SOFT_F32] = {8, 23, 0, 0x7fffffff},
	[COT_SOFT_F64] = {11, 52, 0, 0xfff8000000000000},
	[COT_SOFT_E4M3] = {4, 3, 0, 0x7f},
	[COT_SOFT_E5M2] = {5, 2, 0, 0x7f},
};

static int bias(const struct layout *l)
{
	return (1 << (l->exponent_bits - 1)) - 1;
}

static int top_bit(cot_u128 x)
{
	uint64_t high = (uint64_t)(x >> 64);

	return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((uint64_t)x);
}

static struct number unpack(uint64_t bits, enum cot_soft_format f, bool ftz)
{
	const struct layout *l = &layouts[f];
	uint64_t fraction_mask = (1ull << l->fraction_bits) - 1;
	uint64_t exponent_mask = (1ull << l->exponent_bits) - 1;
	struct number n = {ZERO, false, 0, 0};
	uint64_t fraction, exponent;

	bits >>= l->pad_bits;
	fraction = bits & fraction_mask;
	exponent = bits >> l->fraction_bits & exponent_mask;
	n.negative = bits >> (l->fraction_bits + l->exponent_bits) & 1;
	if (f == COT_SOFT_E4M3) {
		if (exponent == exponent_mask && fraction == fraction_mask)
			n.kind = NOT;
	} else if (exponent == exponent_mask) {
		n.kind = fraction ? NOT : INFINITE;
	}
	if (n.kind != ZERO || (!exponent && (!fraction || ftz)))
		return n;
	n.kind = FINITE;
	n.exp = (exponent ? (int)exponent : 1) - bias(l) - l->fraction_bits;
	n.sig = exponent ? fraction | 1ull << l->fraction_bits : fraction;
	return n;
}

/* Does a quotient with this remainder go up? `odd`: its last bit; the rest is against one half. */
static bool goes_up(enum cot_soft_mode mode, bool negative, bool odd, bool half, bool below)
{
	switch (mode) {
	case COT_SOFT_RN:
		return half && (below || odd);
	case COT_SOFT_RNA:
		return half;
	case COT_SOFT_RM:
		return negative && (half || below);
	case COT_SOFT_RP:
		return !negative && (half || below);
	case COT_SOFT_RZ:
		break;
	}
	return false;
}

/* sig / 2^shift, rounded. shift > 0. */
static cot_u128 shift_rounded(cot_u128 sig, int shift, enum cot_soft_mode mode, bool negative)
{
	cot_u128 whole = shift > 127 ? 0 : sig >> shift;
	bool half = shift <= 128 && (sig >> (shift - 1) & 1);
	cot_u128 rest = shift > 128 ? sig : sig & (((cot_u128)1 << (shift - 1)) - 1);

	return whole + goes_up(mode, negative, whole & 1, half, rest != 0);
}

/* The largest finite number, without sign. */
static uint64_t largest(enum cot_soft_format f)
{
	const struct layout *l = &layouts[f];
	uint64_t infinite = ((1ull << l->exponent_bits) - 1) << l->fraction_bits;

	return f == COT_SOFT_E4M3 ? 0x7e : infinite - 1;
}

static uint64_t overflow(enum cot_soft_format f, bool negative, struct cot_soft_rule rule)
{
	const struct layout *l = &layouts[f];
	bool away = rule.mode == COT_SOFT_RN || rule.mode == COT_SOFT_RNA ||
		    rule.mode == (negative ? COT_SOFT_RM : COT_SOFT_RP);

	if (rule.satfinite || !away)
		return largest(f);
	return f == COT_SOFT_E4M3 ? 0x7f : ((1ull << l->exponent_bits) - 1) << l->fraction_bits;
}

/* The bits of a finite number that is not zero, without sign. */
static uint64_t pack_finite(const struct number *n, enum cot_soft_format f,
			    struct cot_soft_rule rule)
{
	const struct layout *l = &layouts[f];
	int least = 1 - bias(l) - l->fraction_bits; /* exponent of a subnormal's last bit */
	int exp = n->exp + top_bit(n->sig) - l->fraction_bits;
	uint64_t bits;
	int shift;

	if (exp < least)
		exp = least;
	shift = exp - n->exp;
	if (exp - least > 1 << l->exponent_bits)
		return overflow(f, n->negative, rule);
	bits = (uint64_t)(shift > 0 ? shift_rounded(n->sig, shift, rule.mode, n->negative)
				    : n->sig << -shift);
	/* The leading one, where there is one, counts the exponent up; a carry does it again. */
	bits += (uint64_t)(exp - least) << l->fraction_bits;
	if (bits > largest(f))
		return overflow(f, n->negative, rule);
	if (rule.ftz && !(bits >> l->fraction_bits))
		return 0;
	return bits;
}

static uint64_t pack(const struct number *n, enum cot_soft_format f, struct cot_soft_rule rule)
{
	const struct layout *l = &layouts[f];
	uint64_t one = (uint64_t)bias(l) << l->fraction_bits;
	uint64_t infinite = ((1ull << l->exponent_bits) - 1) << l->fraction_bits;
	bool negative = n->negative;
	uint64_t bits = 0;

	if (n->kind == NOT)
		return rule.sat ? 0 : l->nan << (f == COT_SOFT_TF32 ? 0 : l->pad_bits);
	if (n->kind == INFINITE)
		bits = rule.satfinite || f == COT_SOFT_E4M3 ? overflow(f, negative, rule)
							    : infinite;
	else if (n->kind == FINITE)
		bits = pack_finite(n, f, rule);
	if (negative && (rule.relu || rule.sat))
		return 0;
	if (rule.sat && bits > one)
		bits = one;
	bits |= (uint64_t)negative << (l->fraction_bits + l->exponent_bits);
	return bits << l->pad_bits;
}

static struct number not_a_number(void)
{
	return (struct number){NOT, false, 0, 0};
}

/* Moves the highest bit to `bit`. */
static void normalise(struct number *n, int bit)
{
	int shift = bit - top_bit(n->sig);

	n->sig <<= shift;
	n->exp -= shift;
}

/* Shifts right; what falls off stays visible in the last bit. */
static cot_u128 shift_sticky(cot_u128 sig, int shift)
{
	if (shift == 0)
		return sig;
	if (shift > 127)
		return sig != 0;
	return sig >> shift | ((sig & (((cot_u128)1 << shift) - 1)) != 0);
}

/* Significands are below 2^107, so nothing but the sticky bit is lost that rounding could see. */
static struct number sum(struct number a, struct number b, enum cot_soft_mode mode)
{
	struct number s;

	if (a.kind == NOT || b.kind == NOT ||
	    (a.kind == INFINITE && b.kind == INFINITE && a.negative != b.negative))
		return not_a_number();
	if (a.kind == INFINITE || b.kind == INFINITE)
		return a.kind == INFINITE ? a : b;
	if (a.kind == ZERO && b.kind == ZERO) {
		if (a.negative != b.negative)
			a.negative = mode == COT_SOFT_RM;
		return a;
	}
	if (a.kind == ZERO || b.kind == ZERO)
		return a.kind == ZERO ? b : a;
	normalise(&a, 125);
	normalise(&b, 125);
	if (a.exp < b.exp || (a.exp == b.exp && a.sig < b.sig)) {
		s = a;
		a = b;
		b = s;
	}
	b.sig = shift_sticky(b.sig, a.exp - b.exp);
	s = a;
	s.sig = a.negative == b.negative ? a.sig + b.sig : a.sig - b.sig;
	if (!s.sig)
		s = (struct number){ZERO, mode == COT_SOFT_RM, 0, 0};
	return s;
}

static struct number product(struct number a, struct number b)
{
	struct number p = {FINITE, a.negative != b.negative, a.exp + b.exp, 0};

	if (a.kind == NOT || b.kind == NOT || (a.kind == INFINITE && b.kind == ZERO) ||
	    (a.kind == ZERO && b.kind == INFINITE))
		return not_a_number();
	if (a.kind == INFINITE || b.kind == INFINITE)
		p.kind = INFINITE;
	else if (a.kind == ZERO || b.kind == ZERO)
		p.kind = ZERO;
	else
		p.sig = (cot_u128)(uint64_t)a.sig * (uint64_t)b.sig;
	return p;
}

uint64_t cot_soft_add(uint64_t a, uint64_t b, enum cot_soft_format f, struct cot_soft_rule rule)
{
	struct number s = sum(unpack(a, f, rule.ftz), unpack(b, f, rule.ftz), rule.mode);

	return pack(&s, f, rule);
}

uint64_t cot_soft_mul(uint64_t a, uint64_t b, enum cot_soft_format f, struct cot_soft_rule rule)
{
	struct number p = product(unpack(a, f, rule.ftz), unpack(b, f, rule.ftz));

	return pack(&p, f, rule);
}

uint64_t cot_soft_fma(uint64_t a, uint64_t b, uint64_t c, enum cot_soft_format f,
		      struct cot_soft_rule rule)
{
	struct number s = product(unpack(a, f, rule.ftz), unpack(b, f, rule.ftz));

	s = sum(s, unpack(c, f, rule.ftz), rule.mode);
	return pack(&s, f, rule);
}

uint64_t cot_soft_div(uint64_t a, uint64_t b, enum cot_soft_format f, struct cot_soft_rule rule)
{
	struct number x = unpack(a, f, rule.ftz), y = unpack(b, f, rule.ftz), q;

	q = (struct number){FINITE, x.negative != y.negative, 0, 0};
	if (x.kind == NOT || y.kind == NOT || (x.kind == y.kind && x.kind != FINITE)) {
		q = not_a_number();
	} else if (x.kind == INFINITE || y.kind == ZERO) {
		q.kind = INFINITE;
	} else if (x.kind == ZERO || y.kind == INFINITE) {
		q.kind = ZERO;
	} else {
		normalise(&x, 127);
		normalise(&y, 63);
		q.sig = x.sig / y.sig;
		q.exp = x.exp - y.exp;
		/* The quotient has 64 bits or more, far below what is rounded. */
		if (x.sig % y.sig)
			q.sig |= 1;
	}
	return pack(&q, f, rule);
}

static cot_u128 root(cot_u128 x, bool *ret_exact)
{
	cot_u128 r = 0, bit = (cot_u128)1 << 126;

	for (; bit; bit >>= 2) {
		if (x >= r + bit) {
			x -= r + bit;
			r = (r >> 1) + bit;
		} else {
			r >>= 1;
		}
	}
	*ret_exact = x == 0;
	return r;
}

uint64_t cot_soft_sqrt(uint64_t a, enum cot_soft_format f, struct cot_soft_rule rule)
{
	struct number n = unpack(a, f, rule.ftz);
	bool exact;

	if (n.kind != NOT && n.kind != ZERO && n.negative)
		n = not_a_number();
	if (n.kind == FINITE) {
		normalise(&n, 126);
		if (n.exp & 1) {
			n.sig >>= 1;
			n.exp++;
		}
		n.sig = root(n.sig, &exact) << 1;
		n.exp = n.exp / 2 - 1;
		if (!exact)
			n.sig |= 1;
	}
	return pack(&n, f, rule);
}

uint64_t cot_soft_convert(uint64_t a, enum cot_soft_format from, enum cot_soft_format to,
			  struct cot_soft_rule rule)
{
	struct number n = unpack(a, from, rule.ftz && from == COT_SOFT_F32);

	rule.ftz = rule.ftz && to == COT_SOFT_F32;
	return pack(&n, to, rule);
}

/* Rounds to a multiple of 1. */
static void make_whole(struct number *n, enum cot_soft_mode mode)
{
	if (n->kind != FINITE || n->exp >= 0)
		return;
	n->sig = shift_rounded(n->sig, -n->exp, mode, n->negative);
	n->exp = 0;
	if (!n->sig)
		n->kind = ZERO;
}

uint64_t cot_soft_round(uint64_t a, enum cot_soft_format f, struct cot_soft_rule rule)
{
	struct number n = unpack(a, f, rule.ftz);

	make_whole(&n, rule.mode);
	return pack(&n, f, rule);
}

uint64_t cot_soft_from_int(uint64_t a, bool is_signed, enum cot_soft_format to,
			   struct cot_soft_rule rule)
{
	struct number n = {a ? FINITE : ZERO, is_signed && a >> 63, 0, 0};

	n.sig = n.negative ? 0 - a : a;
	return pack(&n, to, rule);
}

uint64_t cot_soft_to_int(uint64_t a, enum cot_soft_format from, unsigned bits, bool is_signed,
			 struct cot_soft_rule rule)
{
	struct number n = unpack(a, from, rule.ftz);
	uint64_t all = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	cot_u128 limit;

	if (n.kind == NOT || n.kind == ZERO)
		return 0;
	limit = !is_signed ? (n.negative ? 0 : all) : (all >> 1) + n.negative;
	make_whole(&n, rule.mode);
	if (n.kind == ZERO)
		return 0;
	if (n.kind == INFINITE || n.exp > 64 || n.sig << n.exp > limit)
		n.sig = limit;
	else
		n.sig <<= n.exp;
	return (n.negative ? 0 - (uint64_t)n.sig : (uint64_t)n.sig) & all;
}

bool cot_soft_is_nan(uint64_t a, enum cot_soft_format f)
{
	return unpack(a, f, false).kind == NOT;
}
