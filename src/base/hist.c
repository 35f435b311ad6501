#include "base/hist.h"

#include <stdlib.h>

#include "base/buckets.h"

#define SUB_BITS  8u
#define N_BUCKETS COT_BUCKETS(64u, SUB_BITS)

/* `excess` sums what the values have beyond the bucket's lowest one, so that it does not overflow.
 */
struct bucket {
	uint64_t n, excess;
};

struct cot_hist {
	uint64_t n, max;
	struct bucket buckets[N_BUCKETS];
};

struct cot_hist *cot_hist_create(void)
{
	return calloc(1, sizeof(struct cot_hist));
}

void cot_hist_destroy(struct cot_hist *h)
{
	free(h);
}

void cot_hist_add(struct cot_hist *h, uint64_t value)
{
	unsigned i = cot_bucket_of(value, SUB_BITS);
	struct bucket *b = &h->buckets[i];

	b->n++;
	b->excess += value - cot_bucket_lowest(i, SUB_BITS);
	h->n++;
	if (value > h->max)
		h->max = value;
}

uint64_t cot_hist_count(const struct cot_hist *h)
{
	return h->n;
}

uint64_t cot_hist_max(const struct cot_hist *h)
{
	return h->max;
}

/* Whole part and fraction apart: a sum may need more bits than a double has. */
static double mean_of(const struct bucket *b, uint64_t lowest)
{
	return (double)(lowest + b->excess / b->n) + (double)(b->excess % b->n) / (double)b->n;
}

/* The ceil(q * n)-th smallest. */
static uint64_t rank_of(const struct cot_hist *h, double q)
{
	uint64_t rank = (uint64_t)(q * (double)h->n);

	if ((double)rank < q * (double)h->n)
		rank++;
	return rank < 1 ? 1 : rank;
}

void cot_hist_quantiles(const struct cot_hist *h, const double *q, unsigned n, double *ret_values)
{
	uint64_t seen = 0;
	unsigned bucket = 0, i;

	for (i = 0; i < n; i++) {
		uint64_t rank = rank_of(h, q[i]);

		while (bucket < N_BUCKETS && seen + h->buckets[bucket].n < rank)
			seen += h->buckets[bucket++].n;
		if (!h->n)
			ret_values[i] = 0.0;
		else if (bucket < N_BUCKETS)
			ret_values[i] =
				mean_of(&h->buckets[bucket], cot_bucket_lowest(bucket, SUB_BITS));
		else
			ret_values[i] = (double)h->max;
	}
}

double cot_hist_quantile(const struct cot_hist *h, double q)
{
	double value;

	cot_hist_quantiles(h, &q, 1, &value);
	return value;
}
