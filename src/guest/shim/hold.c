/*
 * The hold: for a moment the program launches nothing, because others need all SMs. The daemon says
 * when that begins and ends, and says so again where it is to last. It may be gone: so a hold ends
 * by itself, COT_PROTO_HOLD_NS after the order, and that is counted.
 */
#include "guest/shim/parts.h"

void cot_shim_hold_set(struct cot_shim_parts *p, uint64_t until_ns)
{
	atomic_store(&p->hold_until_ns, until_ns);
}

/* With cot_shim_lock, which it lets go of. Whether the hold has lasted too long, which only one
 * thread finds. The listener rings after it has changed the time. */
static bool wait_for_end(struct cot_shim_parts *p)
{
	uint64_t until_ns;

	while ((until_ns = atomic_load(&p->hold_until_ns)))
		if (!cot_shim_changed_wait(until_ns) &&
		    atomic_compare_exchange_strong(&p->hold_until_ns, &until_ns, 0))
			return true;
	return false;
}

void cot_shim_hold_wait(struct cot_shim_stream *s)
{
	uint64_t began_ns;
	bool lapsed;

	if (!s || !atomic_load(&s->parts->hold_until_ns) || atomic_load(&s->capturing))
		return;
	began_ns = cot_now_ns();
	pthread_mutex_lock(&cot_shim_lock);
	lapsed = wait_for_end(s->parts);
	if (lapsed)
		cot_shim_changed(); /* all launches go on */
	pthread_mutex_unlock(&cot_shim_lock);
	cot_shim_count_held(cot_now_ns() - began_ns, lapsed);
}
