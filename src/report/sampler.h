/*
 * Watches a simulation of any length in bounded memory, for pictures: the mean number of SMs that
 * every application held in each of at most COT_SAMPLER_SLICES equal slices of the run; every
 * change of who holds how many around the first preemption; and how many preemptions took how long.
 * When the run outgrows the slices, their width doubles.
 * Not thread-safe.
 */
#ifndef COT_REPORT_SAMPLER_H
#define COT_REPORT_SAMPLER_H

#include "sim/sim.h"

#define COT_SAMPLER_SLICES    2000u
#define COT_SAMPLER_CHANGES   2000u
#define COT_SAMPLER_LATENCIES 32u

struct cot_sampler;

struct cot_sampler *cot_sampler_create(const struct cot_scenario *sc); /* NULL: out of memory */
void cot_sampler_destroy(struct cot_sampler *s);

/* Its argument is the cot_sampler. */
extern const struct cot_sim_observer cot_sampler_observer;

/* Counts what is held up to end_ps. Once, at the end; the readers below come after it. */
void cot_sampler_finish(struct cot_sampler *s, uint64_t end_ps);

uint32_t cot_sampler_n_slices(const struct cot_sampler *s);
double cot_sampler_slice_us(const struct cot_sampler *s);
double cot_sampler_mean_sms(const struct cot_sampler *s, uint32_t slice, uint32_t app);

/* Some successive changes, the first preemption among them if there is one: from its time on, app
 * held that many SMs. Others may come before the first and after the last one. */
uint32_t cot_sampler_n_changes(const struct cot_sampler *s);
uint64_t cot_sampler_change_ps(const struct cot_sampler *s, uint32_t change);
uint32_t cot_sampler_change_sms(const struct cot_sampler *s, uint32_t change, uint32_t app);

/* True when these are all the changes there were. */
bool cot_sampler_complete(const struct cot_sampler *s);

/*
 * Preemptions whose latency is below bound i and not below bound i - 1; bound 0 is 0.1 us and
 * they go on as 0.2, 0.5, 1, 2, 5, ... The last one has no upper end.
 */
uint64_t cot_sampler_latencies(const struct cot_sampler *s, unsigned i);
uint64_t cot_sampler_latency_bound_ps(unsigned i);

#endif
