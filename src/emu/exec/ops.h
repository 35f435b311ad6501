/*
 * How the handlers of instructions are written: a loop over lanes, made by macros for every type.
 * Where all 32 lanes take part, the loop has no conditions and the compiler makes vector code of
 * it. A destination is the same row as a source or does not overlap it.
 */
#ifndef COT_EMU_EXEC_OPS_H
#define COT_EMU_EXEC_OPS_H

#include <string.h>

#include "emu/exec/inside.h"

/* Rows are memory without a type of their own. */
typedef uint8_t __attribute__((may_alias)) row_u8;
typedef uint16_t __attribute__((may_alias)) row_u16;
typedef uint32_t __attribute__((may_alias)) row_u32;
typedef uint64_t __attribute__((may_alias)) row_u64;
typedef int16_t __attribute__((may_alias)) row_s16;
typedef int32_t __attribute__((may_alias)) row_s32;
typedef int64_t __attribute__((may_alias)) row_s64;
typedef float __attribute__((may_alias)) row_f32;
typedef double __attribute__((may_alias)) row_f64;

#if defined(__clang__)
#define VECTOR_LOOP /* looks at the addresses itself */
#else
#define VECTOR_LOOP _Pragma("GCC ivdep")
#endif

/* The statement for each lane i of m. */
#define FOR_LANES(m, statement)                                                 \
	do {                                                                    \
		if ((m) == ALL_LANES) {                                         \
			VECTOR_LOOP                                             \
			for (unsigned i = 0; i < LANES; i++) {                  \
				statement;                                      \
			}                                                       \
		} else {                                                        \
			for (uint32_t rest_ = (m); rest_; rest_ &= rest_ - 1) { \
				unsigned i = (unsigned)__builtin_ctz(rest_);    \
				statement;                                      \
			}                                                       \
		}                                                               \
	} while (0)

#define HANDLER(name)                                                                           \
	static enum cot_exec_flow name(struct cot_exec_warp *w, const struct cot_exec_insn *in, \
				       uint32_t m)

#define ROW(type, ref) ((row_##type *)cot_exec_row(w, (ref)))

/* d = expr, of x (and y, z), where the types of the rows may differ. */
#define UNARY_AS(name, td, ta, expr)                \
	HANDLER(name)                               \
	{                                           \
		row_##td *d = ROW(td, in->dst);     \
		const row_##ta *a = ROW(ta, in->a); \
                                                    \
		FOR_LANES(m, {                      \
			row_##ta x = a[i];          \
			d[i] = (row_##td)(expr);    \
		});                                 \
		return FLOW_NEXT;                   \
	}

#define BINARY_AS(name, td, ta, tb, expr)           \
	HANDLER(name)                               \
	{                                           \
		row_##td *d = ROW(td, in->dst);     \
		const row_##ta *a = ROW(ta, in->a); \
		const row_##tb *b = ROW(tb, in->b); \
                                                    \
		FOR_LANES(m, {                      \
			row_##ta x = a[i];          \
			row_##tb y = b[i];          \
			d[i] = (row_##td)(expr);    \
		});                                 \
		return FLOW_NEXT;                   \
	}

#define TERNARY_AS(name, td, ta, tb, tc, expr)      \
	HANDLER(name)                               \
	{                                           \
		row_##td *d = ROW(td, in->dst);     \
		const row_##ta *a = ROW(ta, in->a); \
		const row_##tb *b = ROW(tb, in->b); \
		const row_##tc *c = ROW(tc, in->c); \
                                                    \
		FOR_LANES(m, {                      \
			row_##ta x = a[i];          \
			row_##tb y = b[i];          \
			row_##tc z = c[i];          \
			d[i] = (row_##td)(expr);    \
		});                                 \
		return FLOW_NEXT;                   \
	}

#define UNARY(name, t, expr)   UNARY_AS(name, t, t, expr)
#define BINARY(name, t, expr)  BINARY_AS(name, t, t, t, expr)
#define TERNARY(name, t, expr) TERNARY_AS(name, t, t, t, t, expr)

static inline uint32_t bits_f32(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static inline float f32_bits(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static inline uint64_t bits_f64(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static inline double f64_bits(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

#define NAN_F32 0x7fffffffu

/* The GPU makes one NaN only. */
static inline float one_nan(float x)
{
	return x == x ? x : f32_bits(NAN_F32);
}

static inline float flush(float x)
{
	uint32_t bits = bits_f32(x);

	return f32_bits(bits & 0x7f800000 ? bits : bits & 0x80000000);
}

/* NaN becomes 0. */
static inline float saturate(float x)
{
	return x > 0 ? (x < 1 ? x : 1) : 0;
}

#endif
