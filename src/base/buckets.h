/*
 * Log-linear buckets of 64-bit values: values below 2^sub_bits have a bucket each; above,
 * 2^sub_bits buckets divide each power of two, so that a bucket is at most 1/2^sub_bits of its
 * values wide.
 */
#ifndef COT_BASE_BUCKETS_H
#define COT_BASE_BUCKETS_H

#include <stdint.h>

/* So many buckets take the values below 2^value_bits. */
#define COT_BUCKETS(value_bits, sub_bits) (((value_bits) - (sub_bits) + 1) << (sub_bits))

static inline unsigned cot_bucket_of(uint64_t v, unsigned sub_bits)
{
	unsigned shift;

	if (v < 1u << sub_bits)
		return (unsigned)v;
	shift = 63u - (unsigned)__builtin_clzll(v) - sub_bits;
	return (shift << sub_bits) + (unsigned)(v >> shift);
}

/* The lowest value that falls into it. */
static inline uint64_t cot_bucket_lowest(unsigned bucket, unsigned sub_bits)
{
	unsigned sub = 1u << sub_bits;

	if (bucket < sub)
		return bucket;
	return (uint64_t)(sub + bucket % sub) << (bucket / sub - 1);
}

#endif
