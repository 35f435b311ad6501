/*
 * Names for the compiler extensions that we use, and what every file needs.
 * Nothing here has state; everything is safe from any thread.
 */
#ifndef COT_BASE_COMPILER_H
#define COT_BASE_COMPILER_H

#include <stddef.h>

#define COT_PRINTF(fmt_arg, first_arg) __attribute__((format(printf, fmt_arg, first_arg)))
/* Its result depends on its arguments alone: for getters of what never changes, too. */
#define COT_CONST __attribute__((const))
/* What a shared library of ours shows to programs. */
#define COT_EXPORT	__attribute__((visibility("default")))
#define COT_LIKELY(x)	__builtin_expect(!!(x), 1)
#define COT_UNLIKELY(x) __builtin_expect(!!(x), 0)

#define COT_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* 128-bit products keep rates, bandwidths and jitter exact in integers. */
__extension__ typedef unsigned __int128 cot_u128;

#endif
