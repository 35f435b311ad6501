/* Virtual streams: which there are, and in which a graph is recorded. */
#include <stdlib.h>

#include "guest/shim/parts.h"

#define BUCKETS	  512u
#define MAX_KNOWN 8192u /* streams of a program that are virtual at a time */

static _Atomic(struct cot_shim_stream *) buckets[BUCKETS];
static _Atomic uint32_t n_known;
static _Atomic uint32_t n_captures, n_blocking_captures;
static pthread_mutex_t add_lock = PTHREAD_MUTEX_INITIALIZER;
/* Threads that begin a capture, until it is counted; and that do what would spoil one. Each asks
 * for the other number when it has counted itself. */
static _Atomic uint32_t n_beginning, n_holding_off;
static __thread bool begins;

/* Who holds captures off may be in a call of the driver that returns only when this thread goes
 * on: after that time a capture begins all the same. */
#define HELD_OFF_NS (COT_NS_PER_S / 2)
#define LOOK_NS	    20000u

/* ---- captures ---- */

static void note_capture(struct cot_shim_stream *s)
{
	atomic_store(&s->capturing, true);
	if (s->blocking && !atomic_exchange(&s->counted, true))
		atomic_fetch_add(&n_blocking_captures, 1);
}

static bool captures(CUstream handle)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return !COT_REAL(cuStreamIsCapturing)(handle, &status) &&
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* ---- the streams of one thread ---- */

static __thread struct cot_shim_stream *of_thread;
static cot_thread_key thread_key;
static _Atomic bool has_key;

void cot_shim_stream_drop_shadows(struct cot_shim_stream *s)
{
	uint32_t i;

	for (i = 1; i < COT_SHIM_PARTS_MAX; i++) {
		if (s->shadows[i])
			(void)COT_REAL(cuStreamDestroy_v2)(s->shadows[i]);
		s->shadows[i] = NULL;
	}
	atomic_store(&s->at, 0);
}

static void list_blocking(struct cot_shim_stream *s)
{
	struct cot_shim_parts *p = s->parts;

	pthread_mutex_lock(&p->lock);
	s->next_blocking = p->blocking;
	p->blocking = s;
	atomic_fetch_add(&p->n_blocking, 1);
	pthread_mutex_unlock(&p->lock);
}

/* With p->lock. */
static void unlink_blocking(struct cot_shim_parts *p, struct cot_shim_stream *s)
{
	struct cot_shim_stream **at;

	for (at = &p->blocking; *at && *at != s; at = &(*at)->next_blocking)
		;
	if (*at) {
		*at = s->next_blocking;
		atomic_fetch_sub(&p->n_blocking, 1);
	}
}

static void unlist_blocking(struct cot_shim_stream *s)
{
	struct cot_shim_parts *p = s->parts;

	pthread_mutex_lock(&p->lock);
	unlink_blocking(p, s);
	pthread_mutex_unlock(&p->lock);
}

static void drop_events(struct cot_shim_stream *s)
{
	if (s->event)
		(void)COT_REAL(cuEventDestroy_v2)(s->event);
	if (s->left)
		(void)COT_REAL(cuEventDestroy_v2)(s->left);
	s->event = s->left = NULL;
	s->is_going = false;
}

static void end_thread(void *list)
{
	struct cot_shim_stream *s = list, *next;

	for (; s; s = next) {
		struct cot_shim_parts *p = s->parts;

		next = s->next;
		/* The listener gives up a part when it finds no stream there: not before. */
		pthread_mutex_lock(&p->lock);
		if (atomic_load(&p->context)) {
			cot_shim_stream_drop_shadows(s);
			cot_shim_pace_end(s);
			drop_events(s);
		}
		unlink_blocking(p, s);
		pthread_mutex_unlock(&p->lock);
		free(s);
	}
	of_thread = NULL;
}

static bool make_key(void)
{
	pthread_mutex_lock(&add_lock);
	if (!atomic_load(&has_key) && cot_thread_key_make(&thread_key, end_thread) == 0)
		atomic_store(&has_key, true);
	pthread_mutex_unlock(&add_lock);
	return atomic_load(&has_key);
}

static struct cot_shim_stream *thread_stream(struct cot_shim_parts *p)
{
	struct cot_shim_stream *s;

	for (s = of_thread; s; s = s->next)
		if (s->parts == p)
			return s;
	s = make_key() ? calloc(1, sizeof(*s)) : NULL;
	if (!s) {
		cot_shim_stream_unknown(p, CU_STREAM_PER_THREAD);
		return NULL;
	}
	atomic_store(&s->handle, CU_STREAM_PER_THREAD);
	s->parts = p;
	s->blocking = true;
	pthread_mutex_init(&s->pair, NULL);
	pthread_mutex_init(&s->pace.lock, NULL);
	s->next = of_thread;
	of_thread = s;
	(void)cot_thread_key_set(thread_key, s);
	list_blocking(s);
	if (cot_shim_any_capture() && captures(CU_STREAM_PER_THREAD))
		note_capture(s);
	return s;
}

/* ---- the streams of everybody ---- */

static _Atomic(struct cot_shim_stream *) *bucket_of(CUstream handle)
{
	uint64_t x = (uintptr_t)handle;

	return &buckets[(x >> 4 ^ x >> 13) % BUCKETS];
}

static struct cot_shim_stream *known(CUstream handle)
{
	struct cot_shim_stream *s = atomic_load_explicit(bucket_of(handle), memory_order_acquire);

	/* It is in the list before it has its handle: adopt(). */
	while (s && atomic_load_explicit(&s->handle, memory_order_acquire) != handle)
		s = s->next;
	return s;
}

/* With add_lock: one that is free with this hash, or a new one. */
static struct cot_shim_stream *room_for(CUstream handle)
{
	_Atomic(struct cot_shim_stream *) *bucket = bucket_of(handle);
	struct cot_shim_stream *s;

	for (s = atomic_load(bucket); s; s = s->next)
		if (!atomic_load(&s->handle))
			return s;
	if (atomic_load(&n_known) >= MAX_KNOWN)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	atomic_fetch_add(&n_known, 1);
	pthread_mutex_init(&s->pair, NULL);
	pthread_mutex_init(&s->pace.lock, NULL);
	s->next = atomic_load(bucket);
	atomic_store_explicit(bucket, s, memory_order_release);
	return s;
}

static CUresult look_at(CUstream handle, struct cot_shim_looks *ret_looks)
{
	CUresult rc = COT_REAL(cuStreamGetCtx)(handle, &ret_looks->context);

	if (!rc)
		rc = COT_REAL(cuStreamGetFlags)(handle, &ret_looks->flags);
	ret_looks->priority = 0;
	(void)COT_REAL(cuStreamGetPriority)(handle, &ret_looks->priority);
	return rc;
}

/* With add_lock. */
static void belong(struct cot_shim_stream *s, struct cot_shim_parts *p)
{
	s->blocking = p && !(s->looks.flags & CU_STREAM_NON_BLOCKING);
	s->parts = p;
	if (s->blocking)
		list_blocking(s);
	if (atomic_load(&s->capturing))
		note_capture(s);
	atomic_store_explicit(&s->has_parts, p != NULL, memory_order_release);
}

/* Seen for the first time. One of a context without parts is known as such; one that captures is
 * not looked at. */
static struct cot_shim_stream *adopt(CUstream handle)
{
	struct cot_shim_stream *s;
	struct cot_shim_parts *p;
	struct cot_shim_looks looks;
	CUresult rc;

	if (cot_shim_any_capture() && captures(handle))
		return NULL;
	rc = look_at(handle, &looks);
	if (rc) {
		if (rc == CUDA_ERROR_OUT_OF_MEMORY && (p = cot_shim_parts_current()))
			cot_shim_stream_unknown(p, handle);
		return NULL;
	}
	pthread_mutex_lock(&add_lock);
	p = cot_shim_parts_of(looks.context);
	s = known(handle);
	if (!s && (s = room_for(handle))) {
		atomic_store(&s->seen, 0);
		atomic_store(&s->at, 0);
		atomic_store(&s->capturing, false);
		s->looks = looks;
		belong(s, p);
		atomic_store_explicit(&s->handle, handle, memory_order_release);
	}
	pthread_mutex_unlock(&add_lock);
	if (!s && p && !(looks.flags & CU_STREAM_NON_BLOCKING))
		cot_shim_stream_unknown(p, handle);
	return s;
}

void cot_shim_streams_join(struct cot_shim_parts *p)
{
	CUcontext context = atomic_load(&p->context);
	struct cot_shim_stream *s;
	unsigned i;

	pthread_mutex_lock(&add_lock);
	for (i = 0; i < BUCKETS; i++)
		for (s = atomic_load(&buckets[i]); s; s = s->next)
			if (atomic_load(&s->handle) && !s->parts && s->looks.context == context)
				belong(s, p);
	pthread_mutex_unlock(&add_lock);
}

struct cot_shim_stream *cot_shim_stream_find(CUstream stream, bool per_thread)
{
	struct cot_shim_parts *p;
	struct cot_shim_stream *s;

	if (!stream && per_thread)
		stream = CU_STREAM_PER_THREAD;
	if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) {
		p = cot_shim_parts_current();
		if (!p)
			return NULL;
		return stream == CU_STREAM_PER_THREAD ? thread_stream(p) : &p->default_stream;
	}
	s = known(stream);
	if (!s)
		s = adopt(stream);
	return s && atomic_load_explicit(&s->has_parts, memory_order_acquire) ? s : NULL;
}

/* ---- captures begin and end ---- */

void cot_shim_capture_begin(void)
{
	uint64_t until_ns;

	begins = true;
	atomic_fetch_add(&n_beginning, 1);
	if (!atomic_load(&n_holding_off))
		return;
	until_ns = cot_now_ns() + HELD_OFF_NS;
	while (atomic_load(&n_holding_off) && cot_now_ns() < until_ns)
		cot_shim_pause(LOOK_NS);
}

void cot_shim_capture_begun(void)
{
	atomic_fetch_sub(&n_beginning, 1);
	begins = false;
}

bool cot_shim_hold_off_beginning(void)
{
	atomic_fetch_add(&n_holding_off, 1);
	if (!atomic_load(&n_beginning))
		return true;
	cot_shim_let_captures();
	return false;
}

bool cot_shim_hold_off_captures(void)
{
	if (!cot_shim_hold_off_beginning())
		return false;
	if (!atomic_load(&n_captures))
		return true;
	cot_shim_let_captures();
	return false;
}

bool cot_shim_hold_off_blocking_captures(void)
{
	if (begins)
		return false;
	while (!cot_shim_hold_off_beginning())
		(void)sched_yield();
	if (!atomic_load(&n_blocking_captures))
		return true;
	cot_shim_let_captures();
	return false;
}

void cot_shim_let_captures(void)
{
	atomic_fetch_sub(&n_holding_off, 1);
}

bool cot_shim_any_capture(void)
{
	return atomic_load_explicit(&n_captures, memory_order_relaxed) != 0;
}

void cot_shim_stream_will_capture(CUstream stream, bool per_thread)
{
	(void)cot_shim_stream_find(stream, per_thread);
}

void cot_shim_stream_captures(CUstream stream, bool per_thread)
{
	struct cot_shim_stream *s;

	atomic_fetch_add(&n_captures, 1); /* before: one that is not known is left alone */
	s = cot_shim_stream_find(stream, per_thread);
	if (!s && stream)
		s = known(stream); /* in a context without parts, so far */
	if (s)
		note_capture(s);
}

static void uncount(struct cot_shim_stream *s)
{
	if (atomic_exchange(&s->counted, false))
		atomic_fetch_sub(&n_blocking_captures, 1);
}

static void uncount_if_ended(struct cot_shim_stream *s)
{
	CUstream handle = atomic_load(&s->handle);

	if (handle && atomic_load(&s->counted) && !captures(handle))
		uncount(s);
}

static void one_less(_Atomic uint32_t *n)
{
	uint32_t was = atomic_load(n);

	while (was && !atomic_compare_exchange_weak(n, &was, was - 1))
		;
}

/* Streams that had joined the capture have left it, too. */
void cot_shim_stream_captured(CUresult rc)
{
	struct cot_shim_stream *s;
	unsigned i;

	/* Else none was there, or it goes on. */
	if (!rc || rc == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
	    rc == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
		one_less(&n_captures);
	if (!atomic_load(&n_blocking_captures))
		return;
	for (s = of_thread; s; s = s->next)
		uncount_if_ended(s);
	pthread_mutex_lock(&add_lock);
	for (i = 0; i < BUCKETS; i++)
		for (s = atomic_load(&buckets[i]); s; s = s->next)
			uncount_if_ended(s);
	pthread_mutex_unlock(&add_lock);
}

void cot_shim_stream_look_for_capture(struct cot_shim_turn *t)
{
	if (t->stream && captures(atomic_load(&t->stream->handle)))
		note_capture(t->stream);
}

/* ---- ends ---- */

void cot_shim_stream_free(struct cot_shim_stream *s)
{
	uncount(s);
	if (s->parts)
		cot_shim_stream_drop_shadows(s);
	drop_events(s);
	cot_shim_pace_end(s);
	atomic_store(&s->has_parts, false);
	s->parts = NULL;
	s->blocking = false;
	atomic_store(&s->handle, NULL); /* another stream may get it */
}

void cot_shim_stream_end(CUstream stream)
{
	struct cot_shim_stream *s;

	if (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
		return;
	pthread_mutex_lock(&add_lock);
	s = known(stream);
	if (s) {
		if (s->blocking)
			unlist_blocking(s);
		cot_shim_stream_free(s);
	}
	pthread_mutex_unlock(&add_lock);
}

bool cot_shim_streams_each(struct cot_shim_parts *p, cot_shim_stream_visitor *visit, uint32_t part)
{
	struct cot_shim_stream *s;
	bool all = visit(&p->default_stream, part);
	unsigned i;

	pthread_mutex_lock(&add_lock);
	for (i = 0; i < BUCKETS; i++)
		for (s = atomic_load(&buckets[i]); s; s = s->next)
			if (atomic_load(&s->handle) && s->parts == p)
				all &= visit(s, part);
	pthread_mutex_unlock(&add_lock);
	pthread_mutex_lock(&p->lock);
	for (s = p->blocking; s; s = s->next_blocking)
		if (cot_shim_stream_is_of_thread(s))
			all &= visit(s, part);
	pthread_mutex_unlock(&p->lock);
	return all;
}

void cot_shim_stream_table_forget(void)
{
	unsigned i;

	for (i = 0; i < BUCKETS; i++)
		atomic_store(&buckets[i], NULL);
	atomic_store(&n_known, 0);
	atomic_store(&n_captures, 0);
	atomic_store(&n_blocking_captures, 0);
	of_thread = NULL;
	add_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	atomic_store(&n_beginning, 0);
	atomic_store(&n_holding_off, 0);
	begins = false;
}
