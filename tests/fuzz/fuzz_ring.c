/*
 * The ring that a process shares with the daemon: whatever the bytes are, the reader ends, and
 * every request that it gives out could have been.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

#define NOW 0x2020202020202020ull /* so that text has possible times */

/* The bytes again and again, from where they say. */
static void fill(struct cot_ring *ring, const uint8_t *data, size_t size, size_t from)
{
	uint8_t *to = (uint8_t *)ring;
	size_t i;

	for (i = from; i < sizeof(*ring); i++)
		to[i] = data[i % size];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cot_ring ring;
	static struct cot_ring_request got[COT_RING_ENTRIES];
	struct cot_ring_reader reader = {0};
	unsigned look, i, n;

	if (!size)
		return 0;
	memset(&ring, 0, sizeof(ring));
	fill(&ring, data, size, 0);
	for (look = 0; look < 4; look++) {
		n = cot_ring_read(&ring, &reader, cot_ring_head(&ring), NOW, got, COT_RING_ENTRIES);
		REQUIRE(n <= COT_RING_ENTRIES && reader.next <= cot_ring_head(&ring));
		for (i = 0; i < n; i++) {
			REQUIRE(got[i].arrival_ns <= got[i].begin_ns);
			REQUIRE(got[i].begin_ns <= got[i].end_ns && got[i].end_ns <= NOW);
			REQUIRE(NOW - got[i].end_ns <= 60 * COT_NS_PER_S && got[i].is_burst <= 1);
		}
		/* As if the process wrote on, with the right numbers. */
		ring.head = look < 2 ? reader.next + data[0] % 8u * COT_RING_ENTRIES / 4 : 3;
		for (i = 0; i < COT_RING_ENTRIES; i++) {
			uint64_t lap = reader.next / COT_RING_ENTRIES * COT_RING_ENTRIES;

			ring.entries[i].number = lap + i + 1;
			ring.entries[i].end_ns = NOW - data[i % size] % 4u;
			ring.entries[i].begin_ns = NOW - data[(i + 1) % size] % 8u;
			ring.entries[i].arrival_ns = data[(i + 2) % size];
			ring.entries[i].is_burst = data[(i + 3) % size] % 3u;
		}
	}
	return 0;
}
