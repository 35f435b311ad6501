#include "study/preemption/workloads.h"

#include "base/rng.h"

enum { STREAM_SEED = 1, STREAM_HIGH = 2, STREAM_COMPANION = 3, STREAM_RANDOM = 4 };

static struct cot_rng stream_rng(uint64_t seed, uint64_t stream, uint64_t a, uint64_t b)
{
	uint64_t h = cot_hash64(cot_hash64(cot_hash64(seed, stream), a), b);

	return (struct cot_rng){.state = h};
}

/*
 * Card number `index` of an endless row of shuffled decks, each with every app once: n_apps
 * consecutive cards that begin at a multiple of n_apps hold all of them.
 */
static uint8_t deal(struct cot_rng row, const uint8_t *apps, unsigned n_apps, unsigned index)
{
	struct cot_rng rng = {.state = cot_hash64(row.state, index / n_apps)};
	uint8_t deck[UINT8_MAX] = {0};
	unsigned i, j;

	for (i = 0; i < n_apps; i++) {
		j = (unsigned)cot_rng_below(&rng, i + 1);
		deck[i] = deck[j];
		deck[j] = apps[i];
	}
	return deck[index % n_apps];
}

struct cot_workload cot_workload_priority(uint64_t seed, const uint8_t *apps, unsigned n_apps,
					  unsigned size, unsigned index)
{
	unsigned role = index % n_apps, set = index / n_apps, i;
	struct cot_rng rng = stream_rng(seed, STREAM_HIGH, size, index);
	struct cot_workload w = {.n = size};

	w.seed = cot_rng_next(&rng);
	w.high = (unsigned)cot_rng_below(&rng, size);
	/* Companion number 1 .. size - 1, each with a row of decks of its own. */
	for (i = 1; i < size; i++)
		w.apps[(w.high + i) % size] =
			deal(stream_rng(seed, STREAM_COMPANION, size, (uint64_t)role * size + i),
			     apps, n_apps, set);
	w.apps[w.high] = apps[role];
	return w;
}

struct cot_workload cot_workload_random(uint64_t seed, const uint8_t *apps, unsigned n_apps,
					unsigned size, unsigned index)
{
	struct cot_rng rng = stream_rng(seed, STREAM_SEED, size, index);
	struct cot_workload w = {.n = size};
	unsigned i;

	w.seed = cot_rng_next(&rng);
	for (i = 0; i < size; i++)
		w.apps[i] = deal(stream_rng(seed, STREAM_RANDOM, size, i), apps, n_apps, index);
	return w;
}
