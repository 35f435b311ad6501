/*
 * How long requests wait for each other: the p99 of the time in the queue of one server that takes
 * equally long for each request. The tail of that wait falls exponentially, at Lundberg's rate for
 * gaps that are distributed by a gamma distribution with the measured mean and scatter. Its height
 * is that of the M/D/1 queue (Poisson arrivals), for which the formula is right to a few per cent;
 * where gaps scatter less that is too high, where they scatter more it is taken to be nearer to
 * Lundberg's bound. Pure; see model.h.
 */
#ifndef COT_MODEL_WAIT_H
#define COT_MODEL_WAIT_H

#include <stdint.h>

#define COT_WAIT_FOR_EVER UINT64_MAX

/* How often requests come, learned from one after the other. All 0 at first. */
struct cot_gaps {
	uint64_t mean_ns;
	double square; /* mean of the squares, in ns */
	uint32_t n;    /* that the squares' is over, about */
};

/* Once the mean is known, what is far from it counts as eight times that. */
void cot_gaps_add(struct cot_gaps *g, uint64_t gap_ns);

/* Squared coefficient of variation, in 1/1000: 0 if all are equal, 1000 for a Poisson process. */
uint32_t cot_gaps_scatter_milli(const struct cot_gaps *g);

/* 0 where nothing is known of the gaps; COT_WAIT_FOR_EVER where the queue grows. */
uint64_t cot_wait_p99_ns(uint64_t service_ns, const struct cot_gaps *g);

#endif
