/*
 * How long what the program has queued takes, looked at before a part is made. The driver does that
 * when all of it is done, and what the program launches meanwhile begins after that: in other
 * streams, too, which would not have waited. And the listener waits with it.
 *
 * An event of ours is put behind what is in each stream. How long they take is what a part would
 * take now. No stream of ours waits for them: it might share a queue of the hardware with one of
 * the program's.
 */
#include "guest/shim/parts.h"

/* A part is made if what is queued has taken no longer: with work in several streams, or in one,
 * whose own launches would wait anyway. */
#define SEVERAL_NS (50 * COT_NS_PER_MS)
#define ONE_NS	   COT_NS_PER_S
/* And in any case after that, if there is no other part to wait on. */
#define PATIENCE_NS SEVERAL_NS
/* Where a stream may have work that cannot be seen. */
#define UNSEEN_NS (ONE_NS / 2)

/* Between two looks: the first, and the others by how long it has been waited. */
#define LOOK_NS	     100000u
#define LOOK_MAX_NS  (10 * COT_NS_PER_MS)
#define PAUSE_MAX_NS (5 * COT_NS_PER_S)

static void drop_last(struct cot_shim_queued *q)
{
	(void)COT_REAL(cuEventDestroy_v2)(q->marks[--q->n]);
}

void cot_shim_queued_drop(struct cot_shim_parts *p)
{
	while (p->queued.n)
		drop_last(&p->queued);
	p->queued.marked_ns = 0;
}

void cot_shim_queued_mark(struct cot_shim_parts *p, CUstream stream)
{
	struct cot_shim_queued *q = &p->queued;
	CUevent event = q->n < COT_SHIM_MARKS_MAX ? cot_shim_parts_event(p) : NULL;

	if (event)
		q->marks[q->n++] = event;
	if (!event || COT_REAL(cuEventRecord)(event, stream))
		cot_shim_queued_unseen(p);
}

void cot_shim_queued_unseen(struct cot_shim_parts *p)
{
	p->queued.unseen_ns = cot_now_ns() + UNSEEN_NS;
}

/* From the last one on, each is dropped that is done. */
static uint32_t n_left(struct cot_shim_queued *q)
{
	uint32_t i, n = q->n;

	for (i = n; i-- > 0;)
		if (COT_REAL(cuEventQuery)(q->marks[i]) != CUDA_ERROR_NOT_READY) {
			CUevent done = q->marks[i];

			q->marks[i] = q->marks[q->n - 1];
			q->marks[q->n - 1] = done;
			drop_last(q);
		}
	return q->n;
}

/* What is in streams that are not known: the program has used them only before there were parts. */
static void mark_context(struct cot_shim_parts *p)
{
	struct cot_shim_queued *q = &p->queued;
	CUevent event = cot_shim_parts_event(p);

	q->has_context = false;
	if (!event)
		return;
	q->marks[q->n++] = event;
	q->has_context = !COT_REAL(cuCtxRecordEvent)(atomic_load(&p->context), event);
	if (!q->has_context)
		drop_last(q); /* an older driver has none; or a graph is recorded there */
}

static bool mark_all(struct cot_shim_parts *p, uint64_t now_ns)
{
	struct cot_shim_queued *q = &p->queued;
	bool marked;

	if (!cot_shim_hold_off_captures())
		return false;
	mark_context(p);
	marked = cot_shim_streams_mark(p);
	cot_shim_let_captures();
	if (!marked) {
		cot_shim_queued_drop(p);
		return false;
	}
	q->marked_ns = now_ns;
	q->n_busy = 0;
	return true;
}

static uint64_t within(uint64_t least, uint64_t ns, uint64_t most)
{
	return ns < least ? least : ns > most ? most : ns;
}

/* Whether a part would be made soon; else *ret_pause_ns is when to look again. */
static bool is_short(struct cot_shim_parts *p, uint64_t now_ns, uint64_t age_ns,
		     uint64_t *ret_pause_ns)
{
	struct cot_shim_queued *q = &p->queued;
	uint64_t took_ns = now_ns - q->marked_ns;
	uint32_t left = n_left(q);

	*ret_pause_ns = within(LOOK_NS, age_ns / 16, LOOK_MAX_NS);
	if (!q->n_busy && took_ns >= LOOK_NS)
		q->n_busy = left > 1 && q->has_context ? left - 1 : left;
	if (took_ns > (q->n_busy > 1 ? SEVERAL_NS : ONE_NS)) {
		cot_shim_queued_drop(p);
		*ret_pause_ns = within(LOOK_MAX_NS, age_ns / 4, PAUSE_MAX_NS);
		return false;
	}
	return !left;
}

uint64_t cot_shim_queued_look(struct cot_shim_parts *p, uint64_t since_ns, bool can_wait)
{
	uint64_t now_ns = cot_now_ns(), age_ns = now_ns - since_ns, pause_ns = LOOK_MAX_NS;
	bool is_seen = atomic_load(&cot_shim_parts_live);

	if (!is_seen)
		cot_shim_queued_unseen(p);
	if (p->queued.marked_ns < since_ns)
		cot_shim_queued_drop(p);
	if (atomic_load(&p->awaited) || (!can_wait && (!is_seen || age_ns >= PATIENCE_NS)))
		return 0;
	if (p->queued.marked_ns || (is_seen && mark_all(p, now_ns))) {
		if (is_short(p, now_ns, age_ns, &pause_ns) &&
		    (!can_wait || now_ns >= p->queued.unseen_ns)) {
			cot_shim_queued_drop(p);
			return 0;
		}
	} else {
		pause_ns = within(LOOK_NS, age_ns / 16, LOOK_MAX_NS);
	}
	return now_ns + pause_ns;
}
