#include "guest/marks.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#include "guest/os.h"
#include "proto/ring.h"

#define N_SLOTS	 1024u
#define N_PROBES 8u
#define N_MOVE	 16u

enum { FREE, BUSY, OPEN };

struct slot {
	_Atomic uint32_t state;
	_Atomic uint64_t id;
	uint64_t arrival_ns, begin_ns; /* of whoever has made it BUSY */
};

static struct slot slots[N_SLOTS];
static _Atomic bool marked; /* the program has marks */

/*
 * A thread may be about to write into a ring that was in use a moment ago. So no ring goes away:
 * that of the next daemon is mapped over that of the last one.
 */
static struct cot_ring kept;
static struct cot_ring_reader kept_reader; /* the control thread's */
static void *place;			   /* of the daemon's; NULL: there was none yet */
static _Atomic(struct cot_ring *) ring = &kept;

static struct slot *slot_of(uint64_t id, unsigned probe)
{
	return &slots[((id * 0x9e3779b97f4a7c15ull >> 32) + probe) % N_SLOTS];
}

static bool take(struct slot *s, uint32_t from)
{
	return atomic_load_explicit(&s->state, memory_order_relaxed) == from &&
	       atomic_compare_exchange_strong_explicit(&s->state, &from, BUSY, memory_order_acquire,
						       memory_order_relaxed);
}

static void give(struct slot *s, uint32_t state)
{
	atomic_store_explicit(&s->state, state, memory_order_release);
}

static bool has_id(const struct slot *s, uint64_t id)
{
	return atomic_load_explicit(&s->id, memory_order_relaxed) == id;
}

/* The open one of this id, which is BUSY then; NULL: there is none. */
static struct slot *take_open(uint64_t id)
{
	unsigned i;

	for (i = 0; i < N_PROBES; i++) {
		struct slot *s = slot_of(id, i);

		if (!has_id(s, id) || !take(s, OPEN))
			continue;
		if (has_id(s, id))
			return s;
		give(s, OPEN); /* it has become another one's */
	}
	return NULL;
}

static struct slot *take_free(uint64_t id)
{
	unsigned i;

	for (i = 0; i < N_PROBES; i++)
		if (take(slot_of(id, i), FREE))
			return slot_of(id, i);
	return NULL;
}

static void drop(void)
{
	atomic_fetch_add_explicit(&atomic_load(&ring)->n_dropped, 1, memory_order_relaxed);
}

void cot_marks_begin(uint64_t id, uint64_t arrival_ns, uint64_t now_ns)
{
	struct slot *s = take_open(id);

	if (!atomic_load_explicit(&marked, memory_order_relaxed))
		atomic_store(&marked, true);
	if (!s)
		s = take_free(id);
	if (!s)
		return; /* its end is dropped */
	atomic_store_explicit(&s->id, id, memory_order_relaxed);
	s->arrival_ns = arrival_ns;
	s->begin_ns = now_ns;
	give(s, OPEN);
}

void cot_marks_end(uint64_t id, uint64_t now_ns)
{
	struct slot *s = take_open(id);
	struct cot_ring_request r = {.end_ns = now_ns};

	if (!s) {
		drop();
		return;
	}
	r.arrival_ns = s->arrival_ns;
	r.begin_ns = s->begin_ns;
	give(s, FREE);
	cot_ring_put(atomic_load(&ring), &r);
}

bool cot_marks_any(void)
{
	return atomic_load(&marked);
}

void cot_marks_seen(uint64_t begin_ns, uint64_t end_ns)
{
	const struct cot_ring_request r = {.begin_ns = begin_ns, .end_ns = end_ns, .is_burst = 1};

	if (!atomic_load(&marked))
		cot_ring_put(atomic_load(&ring), &r);
}

void cot_marks_unclear(uint64_t n)
{
	if (!atomic_load(&marked))
		atomic_fetch_add_explicit(&atomic_load(&ring)->n_unclear, n, memory_order_relaxed);
}

/* What is counted in the one goes on in the other. */
static void move_count(_Atomic uint64_t *from, _Atomic uint64_t *to)
{
	atomic_fetch_add_explicit(to, atomic_exchange_explicit(from, 0, memory_order_relaxed),
				  memory_order_relaxed);
}

static void hand_over(struct cot_ring *to)
{
	struct cot_ring_request r[N_MOVE];
	uint64_t head = cot_ring_head(&kept), now_ns = cot_now_ns();
	unsigned i, n;

	do {
		n = cot_ring_read(&kept, &kept_reader, head, now_ns, r, N_MOVE);
		for (i = 0; i < n; i++)
			cot_ring_put(to, &r[i]);
	} while (n);
	move_count(&kept.n_dropped, &to->n_dropped);
	move_count(&kept.n_unclear, &to->n_unclear);
}

int cot_marks_attach(int fd, uint32_t page_size)
{
	void *p;

	if (page_size < COT_RING_MAPPING)
		return 0;
	p = mmap(place, sizeof(struct cot_ring), PROT_READ | PROT_WRITE,
		 MAP_SHARED | (place ? MAP_FIXED : 0), fd, COT_RING_OFFSET);
	if (p == MAP_FAILED)
		return -errno;
	place = p;
	atomic_store(&ring, (struct cot_ring *)p);
	hand_over(p);
	return 0;
}

void cot_marks_detach(void)
{
	atomic_store(&ring, &kept);
}

void cot_marks_forget(void)
{
	unsigned i;

	cot_marks_detach();
	atomic_store(&marked, false);
	kept_reader.next = cot_ring_head(&kept);
	for (i = 0; i < N_SLOTS; i++)
		give(&slots[i], FREE);
}
