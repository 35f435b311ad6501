#include "base/hist.h"

#include <stdlib.h>

/* Values below 2^SUB_BITS have a bucket each; above, SUB per power of two. */
#define SUB_BITS  8
#define SUB	  (1u << SUB_BITS)
#define N_BUCKETS ((64 - SUB_BITS + 1) * SUB)

/* `excess` sums what the values have beyond the bucket's lowest one, so that it does not overflow.
 */
struct bucket {
	uint64_t n, excess;
};

struct cot_hist {
	uint64_t n, max;
	struct bucket buckets[N_BUCKETS];
};

static unsigned bucket_of(uint64_t v)
{
	unsigned shift;

	if (v < SUB)
		return (unsigned)v;
	shift = 63u - (unsigned)__builtin_clzll(v) - SUB_BITS;
	return (shift + 1) * SUB + (unsigned)((v >> shift) - SUB);
}

static uint64_t lowest_of(unsigned bucket)
{
	if (bucket < SUB)
		return bucket;
	return (uint64_t)(SUB + bucket % SUB) << (bucket / SUB - 1);
}

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
	unsigned i = bucket_of(value);
	struct bucket *b = &h->buckets[i];

	b->n++;
	b->excess += value - lowest_of(i);
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
			return mean_of(&h->buckets[i], lowest_of(i));
	}
	return (double)h->max;
}
