/*
 * Seeded random numbers, the same on every machine: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)
 * as a stream and as a stateless hash. Not for secrets.
 */
#ifndef COT_BASE_RNG_H
#define COT_BASE_RNG_H

#include <stdint.h>

#include "base/compiler.h"

#define COT_RNG_GAMMA 0x9e3779b97f4a7c15ULL

struct cot_rng {
	uint64_t state;
};

/* Mixes all 64 bits: a bijection, so distinct inputs stay distinct. */
static inline uint64_t cot_mix64(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* Folds one more number into a hash. */
static inline uint64_t cot_hash64(uint64_t h, uint64_t x)
{
	return cot_mix64((h ^ x) + COT_RNG_GAMMA);
}

static inline uint64_t cot_hash_text(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = cot_hash64(h, (unsigned char)*text);
	return h;
}

static inline uint64_t cot_rng_next(struct cot_rng *r)
{
	return cot_mix64(r->state += COT_RNG_GAMMA);
}

/* Uniform in [0, n), n > 0; the bias of 2^-64 * n is of no consequence here. */
static inline uint64_t cot_rng_below(struct cot_rng *r, uint64_t n)
{
	return (uint64_t)(((cot_u128)cot_rng_next(r) * n) >> 64);
}

#endif
