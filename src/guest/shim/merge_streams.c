/*
 * Streams whose launches may be merged, and what may be in them. A stream is *unknown* when
 * something was put into it that may wait for the program: until it is seen idle. The default
 * stream counts for all that wait for it.
 */
#include "guest/shim/merge_inside.h"
#include "guest/shim/parts.h"

#define GONE ((CUstream)(uintptr_t)~0ull) /* those that follow are still to be found */

static struct cot_shim_merge_stream streams[COT_SHIM_MERGE_STREAMS];
static _Atomic bool default_unknown = true;

#define EVENTS 1024u
static _Atomic uint64_t events[EVENTS];

static unsigned place_of(CUstream stream)
{
	uint64_t x = (uintptr_t)stream;

	return (unsigned)((x >> 4 ^ x >> 13) % COT_SHIM_MERGE_STREAMS);
}

struct cot_shim_merge_stream *cot_shim_merge_stream_find(CUstream stream)
{
	unsigned at = place_of(stream), i;

	for (i = 0; i < COT_SHIM_MERGE_STREAMS; i++) {
		struct cot_shim_merge_stream *s = &streams[(at + i) % COT_SHIM_MERGE_STREAMS];
		CUstream handle = atomic_load_explicit(&s->handle, memory_order_acquire);

		if (handle == stream)
			return s;
		if (!handle)
			return NULL;
	}
	return NULL;
}

static struct cot_shim_merge_stream *room_for(CUstream stream)
{
	unsigned at = place_of(stream), i;

	for (i = 0; i < COT_SHIM_MERGE_STREAMS; i++) {
		struct cot_shim_merge_stream *s = &streams[(at + i) % COT_SHIM_MERGE_STREAMS];
		CUstream handle = atomic_load(&s->handle);

		if (!handle || handle == GONE)
			return s;
	}
	return NULL;
}

struct cot_shim_merge_stream *cot_shim_merge_stream_of(CUstream stream)
{
	struct cot_shim_merge_stream *s = cot_shim_merge_stream_find(stream);
	CUcontext context = NULL;
	unsigned flags = 0;
	int priority = 0;

	if (s)
		return s;
	if (COT_REAL(cuStreamGetCtx)(stream, &context) ||
	    COT_REAL(cuStreamGetFlags)(stream, &flags) ||
	    COT_REAL(cuStreamGetPriority)(stream, &priority))
		return NULL;
	s = room_for(stream);
	if (!s)
		return NULL;
	s->context = context;
	s->blocking = !(flags & CU_STREAM_NON_BLOCKING);
	s->priority = priority;
	atomic_store(&s->held, false);
	atomic_store(&s->unknown, true);
	atomic_store_explicit(&s->handle, stream, memory_order_release);
	return s;
}

/* Wherever it is now: a question of the program would be the same. */
static bool is_over(CUstream stream)
{
	struct cot_shim_stay stay;
	CUresult rc = COT_REAL(cuStreamQuery)(cot_shim_stay_begin(&stay, stream, false));

	cot_shim_stay_end(&stay);
	return rc == CUDA_SUCCESS;
}

bool cot_shim_merge_stream_ends(struct cot_shim_merge_stream *s)
{
	if (s->blocking && atomic_load(&default_unknown)) {
		/* Another thread may enter it meanwhile: then it is unknown again. */
		atomic_store(&default_unknown, false);
		if (!is_over(CU_STREAM_LEGACY)) {
			atomic_store(&default_unknown, true);
			return false;
		}
	}
	if (!atomic_load(&s->unknown))
		return true;
	atomic_store(&s->unknown, false);
	if (is_over(atomic_load(&s->handle)))
		return true;
	atomic_store(&s->unknown, true);
	return false;
}

bool cot_shim_merge_stream_is_idle(const struct cot_shim_merge_stream *s)
{
	return !s->blocking && is_over(atomic_load(&s->handle));
}

void cot_shim_merge_default_entered(bool ends)
{
	if (!ends)
		atomic_store(&default_unknown, true);
}

void cot_shim_merge_stream_drop(struct cot_shim_merge_stream *s)
{
	atomic_store(&s->handle, GONE);
}

void cot_shim_merge_streams_forget(void)
{
	unsigned i;

	for (i = 0; i < COT_SHIM_MERGE_STREAMS; i++)
		atomic_store(&streams[i].handle, NULL);
	for (i = 0; i < EVENTS; i++)
		atomic_store(&events[i], 0);
	atomic_store(&default_unknown, true);
}

bool cot_shim_merge_is_known(CUstream stream, bool per_thread)
{
	const struct cot_shim_merge_stream *s;

	if (stream == CU_STREAM_PER_THREAD || (!stream && per_thread))
		return false;
	/* It waits for all that wait for it. */
	if (!stream || stream == CU_STREAM_LEGACY)
		return false;
	s = cot_shim_merge_stream_find(stream);
	return s && !atomic_load(&s->unknown) && !(s->blocking && atomic_load(&default_unknown));
}

/* ---- events that come by themselves: one at each place, the others are not known to ---- */

static _Atomic uint64_t *place_of_event(CUevent event)
{
	uint64_t x = (uintptr_t)event;

	return &events[(x >> 4 ^ x >> 14) % EVENTS];
}

void cot_shim_merge_event_recorded(CUevent event, CUstream stream, bool per_thread)
{
	_Atomic uint64_t *place = place_of_event(event);
	uint64_t is = (uintptr_t)event;

	if (cot_shim_merge_is_known(stream, per_thread))
		atomic_store(place, is);
	else
		(void)atomic_compare_exchange_strong(place, &is, 0);
}

bool cot_shim_merge_event_comes(CUevent event)
{
	return atomic_load(place_of_event(event)) == (uintptr_t)event;
}
