#include "metrics/buckets.h"

#define US 1000ull
#define MS 1000000ull

const uint64_t cot_bucket_max_ns[COT_BUCKETS] = {
	100 * US, 250 * US, 500 * US, 1 * MS,	2500 * US, 5 * MS,    10 * MS,	 25 * MS,
	50 * MS,  100 * MS, 250 * MS, 500 * MS, 1000 * MS, 2500 * MS, 5000 * MS, 10000 * MS};

void cot_buckets_add(struct cot_buckets *b, uint64_t ns)
{
	unsigned i = 0;

	while (i < COT_BUCKETS && ns > cot_bucket_max_ns[i])
		i++;
	b->n[i]++;
	b->sum_ns += ns;
}

uint64_t cot_buckets_count(const struct cot_buckets *b)
{
	uint64_t n = 0;
	unsigned i;

	for (i = 0; i <= COT_BUCKETS; i++)
		n += b->n[i];
	return n;
}
