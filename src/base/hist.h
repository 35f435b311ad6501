/*
 * A histogram of 64-bit values with bounded memory and bounded error, for percentiles of runs of
 * any length. Buckets are log-linear (256 per power of two: at most 0.4 % wide) and each keeps
 * the sum of what fell into it, so a percentile is the mean of one bucket: exact wherever the
 * bucket holds one distinct value. Not thread-safe.
 */
#ifndef COT_BASE_HIST_H
#define COT_BASE_HIST_H

#include <stdint.h>

struct cot_hist;

struct cot_hist *cot_hist_create(void); /* NULL when out of memory */
void cot_hist_destroy(struct cot_hist *h);
void cot_hist_add(struct cot_hist *h, uint64_t value);
uint64_t cot_hist_count(const struct cot_hist *h);
uint64_t cot_hist_max(const struct cot_hist *h); /* 0 when empty */

/* Nearest rank: the ceil(q * n)-th smallest value; q in (0, 1]. 0 when empty. */
double cot_hist_quantile(const struct cot_hist *h, double q);
/* The same of n of them, which ascend, in one look at the histogram. */
void cot_hist_quantiles(const struct cot_hist *h, const double *q, unsigned n, double *ret_values);

#endif
