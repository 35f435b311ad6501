/* atom and red: atomic between CPU threads, one lane after the other. */
#include "emu/exec/lower.h"
#include "emu/exec/ops.h"
#include "emu/exec/soft.h"

enum {
	OP_ADD,
	OP_MIN,
	OP_MAX,
	OP_AND,
	OP_OR,
	OP_XOR,
	OP_INC,
	OP_DEC,
	OP_EXCH,
	OP_CAS
}; /* insn.n */

enum { /* insn.e: what the bits are */
       AS_UNSIGNED,
       AS_SIGNED,
       AS_F32,
       AS_F32_FTZ,
       AS_F64,
       AS_F16,
       AS_BF16,
       AS_F16X2,
       AS_BF16X2,
};

typedef uint16_t __attribute__((may_alias)) u16_element;
typedef uint32_t __attribute__((may_alias)) u32_element;
typedef uint64_t __attribute__((may_alias)) u64_element;

static uint64_t integer(uint8_t op, bool is_signed, uint64_t old, uint64_t x)
{
	switch (op) {
	case OP_ADD:
		return old + x;
	case OP_MIN:
		return is_signed ? ((int64_t)x < (int64_t)old ? x : old) : (x < old ? x : old);
	case OP_MAX:
		return is_signed ? ((int64_t)x > (int64_t)old ? x : old) : (x > old ? x : old);
	case OP_AND:
		return old & x;
	case OP_OR:
		return old | x;
	case OP_XOR:
		return old ^ x;
	case OP_INC:
		return old >= x ? 0 : old + 1;
	case OP_DEC:
		return old == 0 || old > x ? x : old - 1;
	default:
		return x;
	}
}

static bool less(uint64_t x, uint64_t y, enum cot_soft_format f)
{
	struct cot_soft_rule rule = {COT_SOFT_RN, false, false, false, false};

	return f64_bits(cot_soft_convert(x, f, COT_SOFT_F64, rule)) <
	       f64_bits(cot_soft_convert(y, f, COT_SOFT_F64, rule));
}

static uint64_t half(uint8_t op, enum cot_soft_format f, uint64_t old, uint64_t x)
{
	struct cot_soft_rule rule = {COT_SOFT_RN, false, false, false, false};

	if (op == OP_ADD)
		return cot_soft_add(old, x, f, rule);
	if (cot_soft_is_nan(old, f) || cot_soft_is_nan(x, f))
		return cot_soft_is_nan(old, f) ? x : old;
	if (op == OP_MIN)
		return less(x, old, f) ? x : old;
	return less(old, x, f) ? x : old;
}

static uint64_t halves(uint8_t op, enum cot_soft_format f, uint64_t old, uint64_t x)
{
	return half(op, f, old & 0xffff, x & 0xffff) | half(op, f, old >> 16, x >> 16) << 16;
}

/* What is stored where `old` was. */
static uint64_t result(uint8_t op, uint8_t as, uint64_t old, uint64_t x)
{
	if (op >= OP_EXCH)
		return x;
	switch (as) {
	case AS_F32:
		return bits_f32(one_nan(f32_bits((uint32_t)old) + f32_bits((uint32_t)x)));
	case AS_F32_FTZ:
		return bits_f32(flush(
			one_nan(flush(f32_bits((uint32_t)old)) + flush(f32_bits((uint32_t)x)))));
	case AS_F64:
		return bits_f64(f64_bits(old) + f64_bits(x));
	case AS_F16:
		return half(op, COT_SOFT_F16, old, x);
	case AS_BF16:
		return half(op, COT_SOFT_BF16, old, x);
	case AS_F16X2:
		return halves(op, COT_SOFT_F16, old, x);
	case AS_BF16X2:
		return halves(op, COT_SOFT_BF16, old, x);
	default:
		return integer(op, as == AS_SIGNED, old, x);
	}
}

#define ATOMIC(t, signed_type)                                                                 \
	static uint64_t change_##t(t##_element *p, const struct cot_exec_insn *in, uint64_t x, \
				   uint64_t y)                                                 \
	{                                                                                      \
		t##_element old = (t##_element)x, new;                                         \
		bool is_signed = in->e == AS_SIGNED;                                           \
                                                                                               \
		if (in->n == OP_CAS) {                                                         \
			__atomic_compare_exchange_n(p, &old, (t##_element)y, false,            \
						    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
			return old;                                                            \
		}                                                                              \
		if (in->n == OP_ADD && in->e <= AS_SIGNED)                                     \
			return __atomic_fetch_add(p, (t##_element)x, __ATOMIC_SEQ_CST);        \
		if (in->n == OP_EXCH)                                                          \
			return __atomic_exchange_n(p, (t##_element)x, __ATOMIC_SEQ_CST);       \
		if (is_signed)                                                                 \
			x = (uint64_t)(int64_t)(signed_type)x;                                 \
		old = __atomic_load_n(p, __ATOMIC_RELAXED);                                    \
		do {                                                                           \
			uint64_t was = is_signed ? (uint64_t)(int64_t)(signed_type)old : old;  \
                                                                                               \
			new = (t##_element)result(in->n, (uint8_t)in->e, was, x);              \
		} while (!__atomic_compare_exchange_n(p, &old, new, false, __ATOMIC_SEQ_CST,   \
						      __ATOMIC_SEQ_CST));                      \
		return old;                                                                    \
	}                                                                                      \
                                                                                               \
	HANDLER(atom_##t)                                                                      \
	{                                                                                      \
		const row_##t *x = ROW(t, in->b), *y = ROW(t, in->c);                          \
		row_##t *d = in->dst == NOWHERE ? NULL : ROW(t, in->dst);                      \
		uint8_t *p[LANES];                                                             \
		uint64_t old;                                                                  \
                                                                                               \
		if (cot_exec_access(w, in, m, sizeof(t##_element), p))                         \
			return FLOW_FAULT;                                                     \
		for (; m; m &= m - 1) {                                                        \
			unsigned i = (unsigned)__builtin_ctz(m);                               \
                                                                                               \
			old = change_##t((t##_element *)(void *)p[i], in, x[i], y[i]);         \
			if (d)                                                                 \
				d[i] = (row_##t)old;                                           \
		}                                                                              \
		return FLOW_NEXT;                                                              \
	}

ATOMIC(u16, int16_t)
ATOMIC(u32, int32_t)
ATOMIC(u64, int64_t)

static int op_of(const struct cot_ptx_insn *x)
{
	static const uint16_t table[] = {COT_PTX_MOD_ADD, COT_PTX_MOD_MIN, COT_PTX_MOD_MAX,
					 COT_PTX_MOD_AND, COT_PTX_MOD_OR,  COT_PTX_MOD_XOR,
					 COT_PTX_MOD_INC, COT_PTX_MOD_DEC, COT_PTX_MOD_EXCH,
					 COT_PTX_MOD_CAS};
	enum cot_ptx_mod mod = cot_ptx_mod_of(x, COT_PTX_CLASS_ACTION);
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(table); i++)
		if (table[i] == mod)
			return (int)i;
	return -1;
}

static int as_of(const struct cot_ptx_insn *x, int op)
{
	switch (x->types[0]) {
	case COT_PTX_F32:
		/* In global memory it flushes, in shared memory it does not. */
		if (op != OP_ADD)
			return -1;
		return x->space == COT_PTX_SPACE_SHARED ? AS_F32 : AS_F32_FTZ;
	case COT_PTX_F64:
		return op == OP_ADD ? AS_F64 : -1;
	case COT_PTX_F16:
		return op <= OP_MAX ? AS_F16 : -1;
	case COT_PTX_BF16:
		return op <= OP_MAX ? AS_BF16 : -1;
	case COT_PTX_F16X2:
		return op <= OP_MAX ? AS_F16X2 : -1;
	case COT_PTX_BF16X2:
		return op <= OP_MAX ? AS_BF16X2 : -1;
	case COT_PTX_S32:
	case COT_PTX_S64:
		return AS_SIGNED;
	case COT_PTX_B16:
		return op >= OP_EXCH ? AS_UNSIGNED : -1;
	case COT_PTX_B32:
	case COT_PTX_B64:
	case COT_PTX_U32:
	case COT_PTX_U64:
		return AS_UNSIGNED;
	default:
		return -1;
	}
}

bool cot_exec_lower_atomic(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	unsigned bits = cot_ptx_type_bits(x->types[0]), first;
	bool returns = x->op == COT_PTX_OP_ATOM;
	struct cot_exec_insn in = {.dst = NOWHERE, .flags = INSN_WRITES | INSN_STRONG};
	int op, as;

	if (x->op != COT_PTX_OP_ATOM && x->op != COT_PTX_OP_RED)
		return false;
	op = op_of(x);
	as = op < 0 ? -1 : as_of(x, op);
	first = returns ? 1 : 0;
	if (as < 0 || bits > 64 || x->vec > 1 || x->n_operands < first + 2u + (op == OP_CAS))
		return false;
	in.n = (uint8_t)op;
	in.e = (cot_exec_ref)as;
	in.b = cot_exec_source(l, &x->operands[first + 1], bits);
	in.c = op == OP_CAS ? cot_exec_source(l, &x->operands[first + 2], bits) : in.b;
	if (returns && x->operands[0].kind != COT_PTX_OPND_SINK)
		in.dst = cot_exec_dest(l, &x->operands[0], bits);
	if (!cot_exec_address(l, &in, &x->operands[first], x->space))
		return true;
	if (in.space == MEM_ARGS)
		return cot_exec_refuse(l, "an atomic operation on a kernel's parameter");
	cot_exec_emit_memory(l, bits == 16 ? atom_u16 : bits == 32 ? atom_u32 : atom_u64, &in);
	return true;
}
