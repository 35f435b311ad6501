/*
 * Copies between the GPU and the host. Those of a latency program's requests go first: its shim
 * tells the daemon of each large one, and a batch program's copies in the same direction wait
 * meanwhile. From the first time on large copies are made in pieces, of which each waits for
 * itself: what the driver has begun is not stopped.
 *
 * The daemon says for how long at most, and may be gone when it is over. A program whose requests
 * copy all the time must not keep others from copying: after a wait the next copies go on for as
 * long as that took.
 */
#include "guest/shim/parts.h"

#define PIECE ((size_t)1 << 20) /* bytes; 20 us on an H200 */

_Atomic bool cot_shim_copies_on;

void cot_shim_copies_set(const struct cot_shim_gpu *g, uint32_t way, uint64_t for_ns)
{
	uint64_t until_ns = for_ns ? cot_now_ns() + for_ns : 0;
	struct cot_shim_parts *p;

	if (way >= COT_WAYS || for_ns > COT_PROTO_COPIES_NS)
		return;
	for (p = cot_shim_parts_first(); p; p = p->next) {
		struct cot_shim_give_way *w = &p->give_way[way];

		if (p->gpu == g && (!for_ns || until_ns > atomic_load(&w->until_ns)))
			atomic_store(&w->until_ns, until_ns);
	}
	atomic_store(&cot_shim_copies_on, true);
}

/* With cot_shim_lock, which it lets go of. The listener rings after it has changed the time. */
static void wait_until(const struct cot_shim_give_way *w, uint64_t began_ns)
{
	uint64_t until_ns, most_ns = began_ns + COT_PROTO_COPIES_NS;

	do {
		until_ns = atomic_load(&w->until_ns);
		if (until_ns > most_ns)
			until_ns = most_ns;
	} while (cot_now_ns() < until_ns && cot_shim_changed_wait(until_ns));
}

static void give_way(struct cot_shim_give_way *w)
{
	uint64_t began_ns = cot_now_ns(), now_ns;

	if (atomic_load(&w->until_ns) <= began_ns || atomic_load(&w->rest_ns) > began_ns)
		return;
	pthread_mutex_lock(&cot_shim_lock);
	wait_until(w, began_ns);
	pthread_mutex_unlock(&cot_shim_lock);
	now_ns = cot_now_ns();
	atomic_store(&w->rest_ns, now_ns + (now_ns - began_ns));
	cot_shim_count_copy_wait(now_ns - began_ns);
}

size_t cot_shim_copy_piece(size_t bytes, uint32_t way, CUstream stream, bool per_thread)
{
	struct cot_shim_parts *p = cot_shim_parts_current();

	/* What is recorded is not made yet, and each piece would be a node. */
	if (!p || bytes < COT_PROTO_COPY_MIN ||
	    (cot_shim_any_capture() && cot_shim_is_captured(stream, per_thread)))
		return bytes;
	give_way(&p->give_way[way]);
	return bytes < PIECE ? bytes : PIECE;
}
