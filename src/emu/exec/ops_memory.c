/*
 * ld and st. Every element is read and written as one atomic access, so what other CPU threads
 * write at the same time is seen, in whole elements.
 */
#include "emu/exec/lower.h"
#include "emu/exec/ops.h"

static inline void fence_before(const struct cot_exec_insn *in)
{
	if (in->flags & INSN_RELEASE)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void fence_after(const struct cot_exec_insn *in)
{
	if (in->flags & INSN_ACQUIRE)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#define ELEMENT(t, p) ((t##_element *)(void *)(p))

typedef uint8_t __attribute__((may_alias)) u8_element;
typedef int8_t __attribute__((may_alias)) s8_element;
typedef uint16_t __attribute__((may_alias)) u16_element;
typedef int16_t __attribute__((may_alias)) s16_element;
typedef uint32_t __attribute__((may_alias)) u32_element;
typedef int32_t __attribute__((may_alias)) s32_element;
typedef uint64_t __attribute__((may_alias)) u64_element;

/* Not FOR_LANES: an atomic access cannot be part of a vector loop anyway. */
#define LOAD(t, r)                                                                     \
	HANDLER(ld_##t##_##r)                                                          \
	{                                                                              \
		row_##r *d = ROW(r, in->dst);                                          \
		uint8_t *p[LANES];                                                     \
		uint32_t rest;                                                         \
                                                                                       \
		if (cot_exec_access(w, in, m, sizeof(t##_element), p))                 \
			return FLOW_FAULT;                                             \
		if (m == ALL_LANES)                                                    \
			for (unsigned i = 0; i < LANES; i++)                           \
				d[i] = (row_##r)__atomic_load_n(ELEMENT(t, p[i]),      \
								__ATOMIC_RELAXED);     \
		else                                                                   \
			for (rest = m; rest; rest &= rest - 1) {                       \
				unsigned i = (unsigned)__builtin_ctz(rest);            \
                                                                                       \
				d[i] = (row_##r)__atomic_load_n(ELEMENT(t, p[i]),      \
								__ATOMIC_RELAXED);     \
			}                                                              \
		fence_after(in);                                                       \
		return FLOW_NEXT;                                                      \
	}                                                                              \
                                                                                       \
	/* The kernel's parameters: the same for all lanes, and they do not change. */ \
	HANDLER(ldarg_##t##_##r)                                                       \
	{                                                                              \
		row_##r *d = ROW(r, in->dst);                                          \
		t##_element value;                                                     \
                                                                                       \
		memcpy(&value, w->block->run->args + in->imm, sizeof(value));          \
		FOR_LANES(m, d[i] = (row_##r)value);                                   \
		return FLOW_NEXT;                                                      \
	}

LOAD(u8, u16)
LOAD(u8, u32)
LOAD(u8, u64)
LOAD(s8, u16)
LOAD(s8, u32)
LOAD(s8, u64)
LOAD(u16, u16)
LOAD(u16, u32)
LOAD(u16, u64)
LOAD(s16, u16)
LOAD(s16, u32)
LOAD(s16, u64)
LOAD(u32, u32)
LOAD(u32, u64)
LOAD(s32, u32)
LOAD(s32, u64)
LOAD(u64, u64)

#define LOADS(how, t)                                             \
	{                                                         \
		how##_##t##_u16, how##_##t##_u32, how##_##t##_u64 \
	}

enum { V_U8, V_S8, V_U16, V_S16, V_U32, V_S32, V_64, N_V };

#define LOAD_TABLE(how)                                                                      \
	{                                                                                    \
		[V_U8] = LOADS(how, u8), [V_S8] = LOADS(how, s8), [V_U16] = LOADS(how, u16), \
		[V_S16] = LOADS(how, s16), [V_U32] = {NULL, how##_u32_u32, how##_u32_u64},   \
		[V_S32] = {NULL, how##_s32_u32, how##_s32_u64},                              \
		[V_64] = {NULL, NULL, how##_u64_u64},                                        \
	}

static const cot_exec_fn loads[N_V][3] = LOAD_TABLE(ld);
static const cot_exec_fn arg_loads[N_V][3] = LOAD_TABLE(ldarg);

#define STORE(t, r)                                                                              \
	HANDLER(st_##t##_##r)                                                                    \
	{                                                                                        \
		const row_##r *s = ROW(r, in->b);                                                \
		uint8_t *p[LANES];                                                               \
		uint32_t rest;                                                                   \
                                                                                                 \
		if (cot_exec_access(w, in, m, sizeof(t##_element), p))                           \
			return FLOW_FAULT;                                                       \
		fence_before(in);                                                                \
		for (rest = m; rest; rest &= rest - 1) {                                         \
			unsigned i = (unsigned)__builtin_ctz(rest);                              \
                                                                                                 \
			__atomic_store_n(ELEMENT(t, p[i]), (t##_element)s[i], __ATOMIC_RELAXED); \
		}                                                                                \
		return FLOW_NEXT;                                                                \
	}

STORE(u8, u16)
STORE(u8, u32)
STORE(u8, u64)
STORE(u16, u16)
STORE(u16, u32)
STORE(u16, u64)
STORE(u32, u32)
STORE(u32, u64)
STORE(u64, u64)

static const cot_exec_fn stores[4][3] = {
	{st_u8_u16, st_u8_u32, st_u8_u64},
	{st_u16_u16, st_u16_u32, st_u16_u64},
	{NULL, st_u32_u32, st_u32_u64},
	{NULL, NULL, st_u64_u64},
};

/* ---- vectors: insn.n elements of insn.e bytes, their rows in a list at insn.b ---- */

static uint64_t load_element(const uint8_t *p, uint32_t bytes)
{
	switch (bytes) {
	case 1:
		return __atomic_load_n(ELEMENT(u8, p), __ATOMIC_RELAXED);
	case 2:
		return __atomic_load_n(ELEMENT(u16, p), __ATOMIC_RELAXED);
	case 4:
		return __atomic_load_n(ELEMENT(u32, p), __ATOMIC_RELAXED);
	default:
		return __atomic_load_n(ELEMENT(u64, p), __ATOMIC_RELAXED);
	}
}

static void store_element(uint8_t *p, uint32_t bytes, uint64_t value)
{
	switch (bytes) {
	case 1:
		__atomic_store_n(ELEMENT(u8, p), (uint8_t)value, __ATOMIC_RELAXED);
		break;
	case 2:
		__atomic_store_n(ELEMENT(u16, p), (uint16_t)value, __ATOMIC_RELAXED);
		break;
	case 4:
		__atomic_store_n(ELEMENT(u32, p), (uint32_t)value, __ATOMIC_RELAXED);
		break;
	default:
		__atomic_store_n(ELEMENT(u64, p), value, __ATOMIC_RELAXED);
		break;
	}
}

/* Rows of a list say their width in the bits that a row's offset does not use: see row_code(). */
#define ROW_WIDTH(code) ((code) >> 2 & 3)
#define ROW_SIGN	16u
#define ROW_PLAIN(code) ((code) & ~(cot_exec_ref)0x1c)

static uint64_t widen(uint64_t value, uint32_t bytes, cot_exec_ref code)
{
	uint64_t sign = 1ull << (8 * bytes - 1);

	return code & ROW_SIGN && bytes < 8 ? (value ^ sign) - sign : value;
}

HANDLER(ld_vector)
{
	const cot_exec_ref *list = w->block->run->module->lists + in->b;
	uint8_t *p[LANES];
	uint32_t k, rest;

	if (cot_exec_access(w, in, m, in->n * in->e, p))
		return FLOW_FAULT;
	for (k = 0; k < in->n; k++) {
		void *d = cot_exec_row(w, ROW_PLAIN(list[k]));

		for (rest = m; rest; rest &= rest - 1) {
			unsigned i = (unsigned)__builtin_ctz(rest);
			uint64_t v = widen(load_element(p[i] + k * in->e, in->e), in->e, list[k]);

			if (ROW_WIDTH(list[k]) == 0)
				((row_u16 *)d)[i] = (uint16_t)v;
			else if (ROW_WIDTH(list[k]) == 1)
				((row_u32 *)d)[i] = (uint32_t)v;
			else
				((row_u64 *)d)[i] = v;
		}
	}
	fence_after(in);
	return FLOW_NEXT;
}

HANDLER(st_vector)
{
	const cot_exec_ref *list = w->block->run->module->lists + in->b;
	uint8_t *p[LANES];
	uint32_t k, rest;

	if (cot_exec_access(w, in, m, in->n * in->e, p))
		return FLOW_FAULT;
	fence_before(in);
	for (k = 0; k < in->n; k++) {
		const void *s = cot_exec_row(w, ROW_PLAIN(list[k]));

		for (rest = m; rest; rest &= rest - 1) {
			unsigned i = (unsigned)__builtin_ctz(rest);
			uint64_t v = ROW_WIDTH(list[k]) == 0   ? ((const row_u16 *)s)[i]
				     : ROW_WIDTH(list[k]) == 1 ? ((const row_u32 *)s)[i]
							       : ((const row_u64 *)s)[i];

			store_element(p[i] + k * in->e, in->e, v);
		}
	}
	return FLOW_NEXT;
}

/* ---- lowering ---- */

static unsigned width_index(unsigned bits)
{
	return bits == 16 ? 0 : bits == 32 ? 1 : 2;
}

static unsigned value_index(uint8_t type)
{
	bool is_signed = cot_ptx_type_class(type) == COT_PTX_SIGNED_TYPE;

	switch (cot_ptx_type_bits(type)) {
	case 8:
		return is_signed ? V_S8 : V_U8;
	case 16:
		return is_signed ? V_S16 : V_U16;
	case 32:
		return is_signed ? V_S32 : V_U32;
	default:
		return V_64;
	}
}

/* What .acquire and the like ask for: flags of an instruction. */
static uint8_t order_flags(const struct cot_ptx_insn *x)
{
	switch (cot_ptx_mod_of(x, COT_PTX_CLASS_SEM)) {
	case COT_PTX_MOD_ACQUIRE:
		return INSN_STRONG | INSN_ACQUIRE;
	case COT_PTX_MOD_RELEASE:
		return INSN_STRONG | INSN_RELEASE;
	case COT_PTX_MOD_SC:
		return INSN_STRONG | INSN_ACQUIRE | INSN_RELEASE;
	case COT_PTX_NO_MOD:
	case COT_PTX_MOD_WEAK:
		return 0;
	default:
		return INSN_STRONG;
	}
}

/* Fills in what loads and stores have in common. */
static bool lower_address(struct cot_exec_lower *l, const struct cot_ptx_insn *x,
			  struct cot_exec_insn *in, const struct cot_ptx_operand *o)
{
	in->flags |= order_flags(x);
	return cot_exec_address(l, in, o, x->space);
}

static bool lower_vector(struct cot_exec_lower *l, const struct cot_ptx_insn *x,
			 const struct cot_ptx_operand *address, const struct cot_ptx_operand *v,
			 bool write)
{
	unsigned bits = cot_ptx_type_bits(x->types[0]), width;
	bool is_signed = cot_ptx_type_class(x->types[0]) == COT_PTX_SIGNED_TYPE;
	struct cot_exec_insn in = {.flags = write ? INSN_WRITES : 0};
	cot_exec_ref list[8];
	uint32_t k;

	if (v->n != x->vec || v->n > COT_ARRAY_LEN(list) || bits < 8 || bits > 64)
		return false;
	for (k = 0; k < v->n; k++) {
		list[k] = write ? cot_exec_source_any(l, &v->items[k], bits, &width)
				: cot_exec_dest_any(l, &v->items[k], bits, &width);
		list[k] |= width_index(width) << 2 | (is_signed && !write ? ROW_SIGN : 0);
	}
	if (!lower_address(l, x, &in, address))
		return true;
	in.n = (uint8_t)v->n;
	in.e = bits / 8;
	in.b = cot_exec_add_list(l, list, v->n);
	cot_exec_emit_memory(l, write ? st_vector : ld_vector, &in);
	return true;
}

static bool lower_load(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	unsigned bits = cot_ptx_type_bits(x->types[0]), width, v = value_index(x->types[0]);
	struct cot_exec_insn in = {0};
	cot_exec_ref dst;
	cot_exec_fn fn;
	bool fixed;

	if (x->operands[0].kind == COT_PTX_OPND_VECTOR)
		return lower_vector(l, x, &x->operands[1], &x->operands[0], false);
	if (bits < 8 || bits > 64)
		return false;
	dst = cot_exec_dest_any(l, &x->operands[0], bits, &width);
	if (!lower_address(l, x, &in, &x->operands[1]))
		return true;
	/* A parameter at a known place, inside what the kernel has. */
	fixed = in.space == MEM_ARGS && in.a == ROW_REF(BASE_RUN, RUN_ZERO) && in.imm >= 0 &&
		!(in.imm & (bits / 8 - 1)) && (uint64_t)in.imm + bits / 8 <= cot_exec_args_size(l);
	fn = fixed ? arg_loads[v][width_index(width)] : loads[v][width_index(width)];
	in.dst = dst;
	cot_exec_emit_memory(l, fn, &in);
	return fn != NULL;
}

static bool lower_store(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	unsigned bits = cot_ptx_type_bits(x->types[0]), width, v;
	struct cot_exec_insn in = {.flags = INSN_WRITES};
	cot_exec_ref src;

	if (x->operands[1].kind == COT_PTX_OPND_VECTOR)
		return lower_vector(l, x, &x->operands[0], &x->operands[1], true);
	if (bits < 8 || bits > 64)
		return false;
	v = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : 3;
	src = cot_exec_source_any(l, &x->operands[1], bits, &width);
	if (!lower_address(l, x, &in, &x->operands[0]))
		return true;
	if (in.space == MEM_ARGS)
		return cot_exec_refuse(l, "a store to a kernel's parameter");
	in.b = src;
	cot_exec_emit_memory(l, stores[v][width_index(width)], &in);
	return stores[v][width_index(width)] != NULL;
}

bool cot_exec_lower_memory(struct cot_exec_lower *l, const struct cot_ptx_insn *x)
{
	switch (x->op) {
	case COT_PTX_OP_LD:
	case COT_PTX_OP_LDU:
		return lower_load(l, x);
	case COT_PTX_OP_ST:
		return lower_store(l, x);
	default:
		return false;
	}
}
