/*
 * Times counted in fixed buckets for as long as a program runs: what a collector adds up and takes
 * differences of. Beside requests.h, which knows the last minute exactly. Plain data; zeroed is
 * empty. Not thread-safe.
 */
#ifndef COT_METRICS_BUCKETS_H
#define COT_METRICS_BUCKETS_H

#include <stdint.h>

#define COT_BUCKETS 16u

struct cot_buckets {
	uint64_t n[COT_BUCKETS +
		   1]; /* by bucket, each without those before; the last has the rest */
	uint64_t sum_ns;
};

/* The longest time that belongs to each, in order. */
extern const uint64_t cot_bucket_max_ns[COT_BUCKETS];

void cot_buckets_add(struct cot_buckets *b, uint64_t ns);
uint64_t cot_buckets_count(const struct cot_buckets *b);

#endif
