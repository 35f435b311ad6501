/* Virtual streams: how they move, and the order of the default stream. */
#include <sched.h>

#include "guest/shim/parts.h"

#define MOVING 0x80000000u

_Atomic uint32_t cot_shim_parts_live;

/* ---- from one to another ---- */

static CUstream stream_at(const struct cot_shim_stream *s, uint32_t part)
{
	return part ? s->shadows[part] : atomic_load_explicit(&s->handle, memory_order_relaxed);
}

static bool has_event(struct cot_shim_stream *s)
{
	if (!s->event)
		s->event = cot_shim_parts_event(s->parts);
	return s->event != NULL;
}

/* With s->pair: what comes into `to` waits for what is in `from`. */
static bool order(struct cot_shim_stream *s, CUstream from, CUstream to)
{
	return has_event(s) && !COT_REAL(cuEventRecord)(s->event, from) &&
	       !COT_REAL(cuStreamWaitEvent)(to, s->event, 0);
}

/* The same where the order must not be lost: if the driver has no event for it, we wait ourselves,
 * for what the program has put into the stream. */
static void must_order(struct cot_shim_stream *s, CUstream from, CUstream to)
{
	if (!order(s, from, to))
		cot_shim_await_stream(from);
}

static void order_locked(struct cot_shim_stream *s, CUstream from, CUstream to)
{
	pthread_mutex_lock(&s->pair);
	must_order(s, from, to);
	pthread_mutex_unlock(&s->pair);
}

/* What comes into `to` waits for what is in `s`, unless that is at home; another thread may be
 * about to move it. False: it is. */
static bool order_after(struct cot_shim_stream *s, CUstream to)
{
	uint32_t at;

	pthread_mutex_lock(&s->pair);
	at = atomic_load(&s->at);
	if (at)
		must_order(s, stream_at(s, at), to);
	pthread_mutex_unlock(&s->pair);
	return at;
}

/* What a program may have set of its stream, and the driver does not give to a shadow by itself. */
static void copy_attributes(CUstream from, CUstream to)
{
	static const int which[] = {
		CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
		CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, CU_LAUNCH_ATTRIBUTE_PRIORITY,
		CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN};
	CUlaunchAttributeValue value;
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(which); i++)
		if (!COT_REAL(cuStreamGetAttribute)(from, which[i], &value))
			(void)COT_REAL(cuStreamSetAttribute)(to, which[i], &value);
}

static bool make_shadow(struct cot_shim_stream *s, uint32_t part)
{
	struct cot_shim_parts *p = s->parts;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	struct cot_error err;
	int rc;

	if (s->shadows[part])
		return true;
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	rc = cot_green_stream(&p->green, p->part[part].green, s->looks.priority, &s->shadows[part],
			      &err);
	if (rc)
		s->shadows[part] = NULL;
	else
		copy_attributes(atomic_load(&s->handle), s->shadows[part]);
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	return rc == 0;
}

static void begin_turn(struct cot_shim_stream *s)
{
	while (atomic_fetch_add_explicit(&s->n_turns, 1, memory_order_acquire) & MOVING) {
		atomic_fetch_sub(&s->n_turns, 1);
		while (atomic_load(&s->n_turns) & MOVING)
			(void)sched_yield();
	}
}

static void end_turn(struct cot_shim_stream *s)
{
	atomic_fetch_sub_explicit(&s->n_turns, 1, memory_order_release);
}

/* With MOVING. Where it cannot go it stays. */
static bool move(struct cot_shim_stream *s, uint32_t part)
{
	uint32_t at = atomic_load(&s->at);
	bool moved;

	if (at == part)
		return true;
	pthread_mutex_lock(&s->pair);
	moved = (!part || make_shadow(s, part)) && order(s, stream_at(s, at), stream_at(s, part));
	if (moved) {
		atomic_store(&s->at, part);
		if (COT_UNLIKELY(atomic_load(&s->parts->leaving)))
			cot_shim_stream_note_left(s);
	}
	pthread_mutex_unlock(&s->pair);
	return moved;
}

/* The driver knows the default stream at home only: there it keeps its order with streams that we
 * do not know. */
static bool must_stay_home(const struct cot_shim_stream *s)
{
	return COT_UNLIKELY(atomic_load_explicit(&s->parts->has_unknown, memory_order_relaxed)) &&
	       s == &s->parts->default_stream;
}

/*
 * In the only turn that there is in it; with others it moves later. False: it cannot. Where it is
 * to be is looked up with MOVING: a part that is not chosen any longer may be given up by a thread
 * that finds no MOVING (clear()).
 */
static bool follow(struct cot_shim_stream *s)
{
	uint32_t one = 1;
	bool moved;

	if (!atomic_compare_exchange_strong(&s->n_turns, &one, 1 | MOVING))
		return true;
	moved = move(s, must_stay_home(s) ? 0 : atomic_load(&s->parts->now));
	atomic_fetch_and(&s->n_turns, ~MOVING);
	return moved;
}

/* ---- the default stream ---- */

/* It waits for all that is in blocking streams. Those at home its own home waits for. */
static void wait_for_blocking(struct cot_shim_stream *d, CUstream to)
{
	struct cot_shim_parts *p = d->parts;
	CUstream home = atomic_load(&d->handle);
	struct cot_shim_stream *s;

	pthread_mutex_lock(&p->lock);
	for (s = p->blocking; s; s = s->next_blocking)
		if (!atomic_load(&s->capturing) && atomic_load(&s->at) &&
		    atomic_exchange(&s->dirty, false))
			(void)order_after(s, to);
	pthread_mutex_unlock(&p->lock);
	if (to != home && cot_shim_hold_off_blocking_captures()) {
		order_locked(d, home, to);
		cot_shim_let_captures();
	}
}

/* With s->pair. The default stream's home has no name here: another context may be current. But
 * the driver has the home of `s` wait for it (measured on an H200: an event there, too). */
static void order_after_default(struct cot_shim_stream *s, CUstream to)
{
	CUstream home = atomic_load(&s->handle);

	if (!order_after(&s->parts->default_stream, to) && to != home)
		must_order(s, home, to);
}

/*
 * A blocking stream waits for what is in the default stream. Another thread that finds `seen` up to
 * date finds the wait in the stream, too: hence the lock.
 */
static void wait_for_default(struct cot_shim_stream *s, CUstream to)
{
	uint64_t n = atomic_load(&s->parts->n_default);

	/* While a graph is recorded in a blocking stream the default stream must not be touched,
	 * not by the program either: what is in it can wait. */
	if (!cot_shim_hold_off_blocking_captures())
		return;
	pthread_mutex_lock(&s->pair);
	if (atomic_load(&s->seen) < n) {
		order_after_default(s, to);
		atomic_store(&s->seen, n);
	}
	pthread_mutex_unlock(&s->pair);
	cot_shim_let_captures();
}

static bool is_default(const struct cot_shim_stream *s)
{
	return s == &s->parts->default_stream;
}

/* Whether there may be something that it has to wait for before anything else. */
static bool owes_order(const struct cot_shim_stream *s)
{
	const struct cot_shim_parts *p = s->parts;

	if (is_default(s))
		return atomic_load_explicit(&p->n_blocking, memory_order_relaxed);
	return s->blocking && atomic_load(&s->seen) < atomic_load(&p->n_default);
}

static void keep_order(struct cot_shim_stream *s, CUstream to)
{
	if (!owes_order(s))
		return;
	if (is_default(s))
		wait_for_blocking(s, to);
	else
		wait_for_default(s, to);
}

/* ---- turns ---- */

void cot_shim_stream_unknown(struct cot_shim_parts *p, CUstream stream)
{
	atomic_store(&p->has_unknown, true);
	if (!cot_shim_hold_off_blocking_captures())
		return;
	(void)order_after(&p->default_stream, stream);
	cot_shim_let_captures();
}

/* Whether a stream that is not virtual would be, but for that. */
static bool is_unknown(void)
{
	const struct cot_shim_parts *p = cot_shim_parts_current();

	return p && atomic_load(&p->has_unknown) && atomic_load(&p->now);
}

/* Whether it has to stay at home, because a graph is being recorded there. */
static bool is_capturing(struct cot_shim_stream *s)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (COT_LIKELY(!atomic_load_explicit(&s->capturing, memory_order_relaxed)))
		return false;
	if (!COT_REAL(cuStreamIsCapturing)(atomic_load(&s->handle), &status) &&
	    status != CU_STREAM_CAPTURE_STATUS_NONE)
		return true;
	atomic_store(&s->capturing, false);
	return false;
}

static void note_used(struct cot_shim_stream *s)
{
	if (!atomic_load_explicit(&s->used, memory_order_relaxed))
		atomic_store_explicit(&s->used, true, memory_order_relaxed);
}

enum where { WHERE_IT_IS, HOME, PART };

static CUstream enter(struct cot_shim_turn *t, CUstream stream, bool per_thread, enum where where)
{
	struct cot_shim_stream *s = cot_shim_stream_find(stream, per_thread);
	uint32_t now, part, at;
	CUstream to;

	if (COT_UNLIKELY(!s))
		t->strays = is_unknown();
	if (!s || is_capturing(s))
		return stream;
	t->stream = s;
	begin_turn(s);
	now = atomic_load_explicit(&s->parts->now, memory_order_acquire);
	at = atomic_load_explicit(&s->at, memory_order_relaxed);
	part = where == HOME || must_stay_home(s) ? 0 : where == PART ? now : at;
	if (COT_UNLIKELY(at != part))
		t->strays = !follow(s);
	if (COT_UNLIKELY(part != now) && where == PART)
		t->strays = true;
	note_used(s);
	if (must_stay_home(s)) /* it may not have been moved */
		cot_shim_turn_go_home(t);
	at = cot_shim_turn_part(t);
	to = at ? s->shadows[at] : stream;
	keep_order(s, to);
	return to;
}

CUstream cot_shim_turn_enter(struct cot_shim_turn *t, CUstream stream, bool per_thread)
{
	return enter(t, stream, per_thread, cot_shim_settings.rewrites ? WHERE_IT_IS : PART);
}

CUstream cot_shim_turn_enter_part(struct cot_shim_turn *t, CUstream stream, bool per_thread)
{
	return enter(t, stream, per_thread, PART);
}

/* If another thread is in the stream, it stays where it is and is visited. */
void cot_shim_turn_enter_home(struct cot_shim_turn *t, CUstream stream, bool per_thread)
{
	(void)enter(t, stream, per_thread, HOME);
	cot_shim_turn_go_home(t);
}

void cot_shim_turn_go_home(struct cot_shim_turn *t)
{
	struct cot_shim_stream *s = t->stream;
	uint32_t at = s ? atomic_load(&s->at) : 0;

	if (!at || t->visit)
		return;
	t->visit = true;
	order_locked(s, stream_at(s, at), atomic_load(&s->handle));
}

CUstream cot_shim_turn_visit(struct cot_shim_turn *t, CUstream stream, bool per_thread)
{
	/* In the default stream: a copy, which ends. Else a capture begins, and no launch waits. */
	cot_shim_merge_before(stream, per_thread, !stream);
	if (!cot_shim_turn_is_needed(t))
		return stream;
	(void)cot_shim_turn_enter(t, stream, per_thread);
	cot_shim_turn_go_home(t);
	return stream;
}

void cot_shim_turn_leave(struct cot_shim_turn *t)
{
	struct cot_shim_stream *s = t->stream;

	if (t->visit && !atomic_load(&s->capturing))
		order_locked(s, atomic_load(&s->handle), stream_at(s, atomic_load(&s->at)));
	/* Not before: what is in the stream now is what the others have to wait for. */
	if (s->blocking)
		atomic_store(&s->dirty, true);
	if (s == &s->parts->default_stream)
		atomic_fetch_add_explicit(&s->parts->n_default, 1, memory_order_release);
	end_turn(s);
	t->stream = NULL;
}

uint32_t cot_shim_turn_part(const struct cot_shim_turn *t)
{
	return t->stream && !t->visit ? atomic_load(&t->stream->at) : 0;
}

/* ---- stays ---- */

static CUstream stay_by_turn(struct cot_shim_stay *stay, CUstream stream, bool per_thread)
{
	struct cot_shim_turn turn;
	CUstream to = stream;

	if (cot_shim_turn_is_needed(&turn))
		to = cot_shim_turn_enter(&turn, stream, per_thread);
	stay->part = cot_shim_turn_part(&turn);
	stay->stream = stay->part ? turn.stream : NULL;
	if (stay->stream) /* before the turn ends: clear() */
		atomic_fetch_add(&stay->stream->n_stays[stay->part], 1);
	cot_shim_turn_end(&turn);
	return to;
}

/*
 * Who waits puts nothing in: where the stream is where it is to be, and owes nothing, that is no
 * turn. It may move meanwhile, but its shadow must stay: whoever gives that up first moves the
 * stream away, and then looks whether somebody stays (clear()). Here it is the other way round. All
 * four are memory_order_seq_cst: one of the two sees what the other has done.
 */
static bool stay_without_turn(struct cot_shim_stay *stay, struct cot_shim_stream *s)
{
	uint32_t at = atomic_load(&s->at);

	if (at != atomic_load(&s->parts->now) || must_stay_home(s) || owes_order(s))
		return false;
	note_used(s);
	if (!at)
		return true;
	*stay = (struct cot_shim_stay){.stream = s, .part = at};
	atomic_fetch_add(&s->n_stays[at], 1);
	if (COT_LIKELY(atomic_load(&s->at) == at))
		return true;
	cot_shim_stay_end(stay);
	stay->stream = NULL;
	return false;
}

CUstream cot_shim_stay_begin(struct cot_shim_stay *stay, CUstream stream, bool per_thread)
{
	struct cot_shim_stream *s;

	cot_shim_merge_before(stream, per_thread, true);
	stay->stream = NULL;
	if (COT_LIKELY(!atomic_load_explicit(&cot_shim_parts_live, memory_order_relaxed)))
		return stream;
	s = cot_shim_stream_find(stream, per_thread);
	if (!s || is_capturing(s))
		return stream;
	if (!stay_without_turn(stay, s))
		return stay_by_turn(stay, stream, per_thread);
	return stay->stream ? s->shadows[stay->part] : stream;
}

void cot_shim_stay_end(struct cot_shim_stay *stay)
{
	if (stay->stream)
		atomic_fetch_sub(&stay->stream->n_stays[stay->part], 1);
}

/* ---- ends ---- */

/* The home of a thread's stream has a name in that thread only. */
static bool can_leave(struct cot_shim_stream *s, uint32_t to)
{
	return to || !cot_shim_stream_is_of_thread(s);
}

static bool clear(struct cot_shim_stream *s, uint32_t part)
{
	uint32_t none = 0, now = atomic_load(&s->parts->now);
	bool cleared;

	if (atomic_load(&s->n_turns) & MOVING)
		return false; /* to this part, maybe */
	if (!s->shadows[part])
		return true;
	if (cot_shim_stream_is_of_thread(s) ? atomic_load(&s->capturing) : is_capturing(s))
		return false;
	if (!atomic_compare_exchange_strong(&s->n_turns, &none, MOVING))
		return false;
	if (!atomic_load(&s->n_stays[part]) && atomic_load(&s->at) == part && can_leave(s, now))
		(void)move(s, now);
	/* In this order: stay_without_turn(). */
	cleared = atomic_load(&s->at) != part && !atomic_load(&s->n_stays[part]);
	if (cleared) {
		pthread_mutex_lock(&s->pair);
		(void)COT_REAL(cuStreamDestroy_v2)(s->shadows[part]);
		s->shadows[part] = NULL;
		pthread_mutex_unlock(&s->pair);
	}
	atomic_fetch_and(&s->n_turns, ~MOVING);
	return cleared;
}

bool cot_shim_streams_clear(struct cot_shim_parts *p, uint32_t part)
{
	bool cleared;

	/* A stream that moves home would be in a capture that begins there meanwhile. */
	if (!cot_shim_hold_off_beginning())
		return false;
	cleared = cot_shim_streams_each(p, clear, part);
	cot_shim_let_captures();
	return cleared;
}

static bool prepare(struct cot_shim_stream *s, uint32_t part)
{
	s->was_used = atomic_exchange(&s->used, false);
	/* A thread's stream gets its shadow in that thread, with the attributes of its home. */
	if (cot_shim_stream_is_of_thread(s) || atomic_load(&s->capturing) || !s->was_used)
		return true;
	pthread_mutex_lock(&s->pair);
	(void)make_shadow(s, part);
	pthread_mutex_unlock(&s->pair);
	return true;
}

void cot_shim_streams_prepare(struct cot_shim_parts *p, uint32_t part)
{
	(void)cot_shim_streams_each(p, prepare, part);
}

/*
 * What it has had before it came where it is, comes before what it has there. While a thread is in
 * it nothing is done: it may be there because the stream takes no more, and we would wait, too.
 */
static bool mark(struct cot_shim_stream *s, uint32_t part)
{
	uint32_t none = 0, at;

	(void)part;
	if (!atomic_compare_exchange_strong(&s->n_turns, &none, MOVING))
		return false;
	at = atomic_load(&s->at);
	/* These have names in one thread only, or may not be touched while others record graphs. */
	if (!at && (cot_shim_stream_is_of_thread(s) || s == &s->parts->default_stream)) {
		if (atomic_load(&s->used))
			cot_shim_queued_unseen(s->parts);
	} else if (at || !is_capturing(s)) {
		cot_shim_queued_mark(s->parts, stream_at(s, at));
	}
	atomic_fetch_and(&s->n_turns, ~MOVING);
	return true;
}

bool cot_shim_streams_mark(struct cot_shim_parts *p)
{
	return cot_shim_streams_each(p, mark, 0);
}

static bool drop(struct cot_shim_stream *s, uint32_t part)
{
	(void)part;
	if (cot_shim_stream_is_of_thread(s)) { /* the thread has the rest */
		cot_shim_stream_drop_shadows(s);
		cot_shim_pace_end(s);
		return true;
	}
	if (atomic_load(&s->at))
		order_locked(s, stream_at(s, atomic_load(&s->at)), atomic_load(&s->handle));
	cot_shim_stream_free(s);
	return true;
}

void cot_shim_streams_drop(struct cot_shim_parts *p)
{
	(void)cot_shim_streams_each(p, drop, 0);
}

void cot_shim_stream_attribute(CUstream stream, bool per_thread, int what,
			       const CUlaunchAttributeValue *value)
{
	struct cot_shim_stream *s = cot_shim_stream_find(stream, per_thread);
	uint32_t i;

	if (!s)
		return;
	pthread_mutex_lock(&s->pair);
	for (i = 1; i < COT_SHIM_PARTS_MAX; i++)
		if (s->shadows[i])
			(void)COT_REAL(cuStreamSetAttribute)(s->shadows[i], what, value);
	pthread_mutex_unlock(&s->pair);
}

/* The parent's streams are not the child's: what it knew of them is left behind. */
void cot_shim_streams_forget(void)
{
	atomic_store(&cot_shim_parts_live, COT_SHIM_PLAIN);
	cot_shim_stream_table_forget();
}
