/*
 * Block times that vary: lognormal multipliers with mean 1 and a given coefficient of variation,
 * a pure function of (seed, app, run, launch, block), so that every scheduler sees the same blocks.
 * The quantile function is a table made with + - * / and sqrt alone: the C library's exp() and
 * log() differ between machines, these do not. Immutable after init.
 */
#ifndef COT_SIM_JITTER_H
#define COT_SIM_JITTER_H

#include <stdint.h>

#include "base/rng.h"

#define COT_JITTER_BITS 11
#define COT_JITTER_BINS (1u << COT_JITTER_BITS)

struct jitter {
	uint64_t mult_q32[COT_JITTER_BINS + 1]; /* quantiles; 32.32 fixed point */
};

/* 0 < cv <= 2. Tails end at the quantiles 1/8192 and 1 - 1/8192. */
void cot_jitter_init(struct jitter *j, double cv);

/* Time of block `index` of the launch whose hash is `launch`; at least 1 ps. */
static inline uint64_t jitter_block_ps(const struct jitter *j, uint64_t launch, uint32_t index,
				       uint64_t mean_ps)
{
	uint64_t h = cot_mix64(launch + index * COT_RNG_GAMMA);
	uint64_t frac = (h >> 16) & 0xffffffffu;
	uint32_t bin = (uint32_t)(h >> (64 - COT_JITTER_BITS));
	uint64_t lo = j->mult_q32[bin], hi = j->mult_q32[bin + 1];
	uint64_t mult = lo + (uint64_t)(((cot_u128)(hi - lo) * frac) >> 32);
	uint64_t ps = (uint64_t)(((cot_u128)mean_ps * mult) >> 32);

	return ps ? ps : 1;
}

#endif
