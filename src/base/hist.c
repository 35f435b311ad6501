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

double cot_hist_quantile(const struct cot_hist *h, double q)
{
	uint64_t rank, seen = 0;
	unsigned i;

	if (!h->n)
		return 0.0;
	rank = (uint64_t)(q * (double)h->n);
	if ((double)rank < q * (double)h->n)
		rank++;
	if (rank < 1)
		rank = 1;
	for (i = 0; i < N_BUCKETS; i++) {
		seen += h->buckets[i].n;
		if (seen >= rank)
			return mean_of(&h->buckets[i], cot_bucket_lowest(i, SUB_BITS));
	}
	return (double)h->max;
}
