/*
 * When the requests of an application come (struct cot_arrivals), one after the other: whatever the
 * application is doing, or, in a closed loop, each after the answer before. Gaps are drawn for a
 * rate of 1 and stretched by the rate that holds meanwhile, so a rate that changes within a gap
 * counts as it should. A function of the seed alone, the same on every machine.
 */
#ifndef COT_SIM_ARRIVALS_H
#define COT_SIM_ARRIVALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "trace/scenario.h"

struct arrivals {
	const struct cot_arrivals *desc;
	uint64_t start_ps, at_ps; /* begin of the curve; last arrival */
	struct cot_rng gaps, phases;
	bool on; /* in a burst, or without any */
	uint64_t phase_end_ps;
};

/* `hash` is the application's. */
void cot_arrivals_start(struct arrivals *a, const struct cot_arrivals *desc, uint64_t hash,
			uint64_t start_ps);

/* The last one has been answered; only a closed loop cares. */
void cot_arrivals_answered(struct arrivals *a, uint64_t now_ps);

/* The next one; UINT64_MAX: it would be too late to be told. */
uint64_t cot_arrivals_next(struct arrivals *a);

#endif
