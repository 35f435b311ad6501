#include "proto/ring.h"

#include <stdatomic.h>
#include <stdbool.h>

/* An entry that the daemon should have seen long ago. */
#define OLD_NS (60 * COT_NS_PER_S)

static void store(_Atomic uint64_t *field, uint64_t x)
{
	atomic_store_explicit(field, x, memory_order_relaxed);
}

static uint64_t load(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_relaxed);
}

static struct cot_ring_entry *entry_of(struct cot_ring *ring, uint64_t i)
{
	return &ring->entries[i % COT_RING_ENTRIES];
}

/* A thread that is held up in here for a whole round may leave a mixture of two requests. */
void cot_ring_put(struct cot_ring *ring, const struct cot_ring_request *r)
{
	uint64_t i = atomic_fetch_add_explicit(&ring->head, 1, memory_order_relaxed);
	struct cot_ring_entry *e = entry_of(ring, i);

	store(&e->number, 0);
	atomic_thread_fence(memory_order_release);
	store(&e->arrival_ns, r->arrival_ns);
	store(&e->begin_ns, r->begin_ns);
	store(&e->end_ns, r->end_ns);
	store(&e->is_burst, r->is_burst);
	atomic_store_explicit(&e->number, i + 1, memory_order_release);
}

uint64_t cot_ring_head(const struct cot_ring *ring)
{
	return atomic_load_explicit(&ring->head, memory_order_acquire);
}

static bool is_possible(const struct cot_ring_request *r, uint64_t now_ns)
{
	return r->arrival_ns <= r->begin_ns && r->begin_ns && r->begin_ns <= r->end_ns &&
	       r->end_ns <= now_ns && now_ns - r->end_ns <= OLD_NS && r->is_burst <= 1;
}

/* The number of the entry, before and after its fields were read. */
static uint64_t read_entry(struct cot_ring_entry *e, struct cot_ring_request *ret_request)
{
	uint64_t number = atomic_load_explicit(&e->number, memory_order_acquire);

	*ret_request = (struct cot_ring_request){.arrival_ns = load(&e->arrival_ns),
						 .begin_ns = load(&e->begin_ns),
						 .end_ns = load(&e->end_ns),
						 .is_burst = load(&e->is_burst)};
	atomic_thread_fence(memory_order_acquire);
	return load(&e->number) == number ? number : 0;
}

/* What the ring does not hold any longer is lost. */
static void catch_up(struct cot_ring_reader *reader, uint64_t head)
{
	if (head - reader->next <= COT_RING_ENTRIES)
		return;
	reader->n_lost += head - COT_RING_ENTRIES - reader->next;
	reader->next = head - COT_RING_ENTRIES;
}

unsigned cot_ring_read(struct cot_ring *ring, struct cot_ring_reader *reader, uint64_t head,
		       uint64_t now_ns, struct cot_ring_request *ret_requests, unsigned max)
{
	unsigned n = 0;

	if (head < reader->next)
		reader->next = head; /* no program of ours does that */
	for (catch_up(reader, head); reader->next < head && n < max; reader->next++) {
		struct cot_ring_request *r = &ret_requests[n];
		uint64_t wanted = reader->next + 1;
		uint64_t number = read_entry(entry_of(ring, reader->next), r);

		if (number < wanted && reader->waits_for != wanted) {
			reader->waits_for = wanted; /* it gets the time until the next look */
			break;
		}
		if (number != wanted)
			reader->n_lost++;
		else if (is_possible(r, now_ns))
			n++;
		else
			reader->n_rejected++;
	}
	return n;
}
