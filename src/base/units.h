/*
 * Units. The simulator counts time in integer picoseconds (`_ps`): a byte at 16 GB/s takes
 * 62.5 ps, so costs stay exact to a fraction of a nanosecond, and 2^64 ps are 213 days.
 * Outside the simulator people read and write microseconds (`_us`, double).
 */
#ifndef COT_BASE_UNITS_H
#define COT_BASE_UNITS_H

#include <stdint.h>

#include "base/compiler.h"

#define COT_PS_PER_US 1000000ULL
#define COT_PS_PER_S  1000000000000ULL

/* The longest time that input may ask for: 1e12 us (11.6 days). */
#define COT_TIME_US_MAX 1e12

static inline double cot_us_from_ps(uint64_t t_ps)
{
	return (double)t_ps / (double)COT_PS_PER_US;
}

/* Rounds to the nearest picosecond; the caller has checked 0 <= t_us <= COT_TIME_US_MAX. */
static inline uint64_t cot_ps_from_us(double t_us)
{
	return (uint64_t)(t_us * (double)COT_PS_PER_US + 0.5);
}

/* Time to move `bytes` at `bytes_per_s` (> 0), rounded to the nearest picosecond. */
static inline uint64_t cot_transfer_ps(uint64_t bytes, uint64_t bytes_per_s)
{
	return (uint64_t)(((cot_u128)bytes * COT_PS_PER_S + bytes_per_s / 2) / bytes_per_s);
}

static inline uint64_t cot_div_up(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

#endif
