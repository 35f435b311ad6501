/*
 * Events of all streams of a context, or of its part. One more stream, without kernels, represents
 * them: it waits for all their operations before an event is recorded in it, and for an event that
 * they should wait for. The streams of a context are those of its green contexts, too.
 */
#include "emu/driver/capture.h"
#include "emu/driver/green.h"
#include "emu/driver/inside.h"

static struct cot_emu_barrier *barrier_of(struct cot_emu_place place)
{
	return place.green ? &place.green->barrier : &place.context->barrier;
}

static CUresult begin(struct cot_emu_place place)
{
	struct cot_emu_barrier *b = barrier_of(place);

	/* What kernels wait for on the GPU is not known of several streams. */
	atomic_store(&place.context->lazy, false);
	if (b->stream)
		return CUDA_SUCCESS;
	return cot_emu_stream_make(place, CU_STREAM_NON_BLOCKING, 0, &b->stream);
}

static uint64_t tail_of(struct CUstream_st *s)
{
	uint64_t tail;

	pthread_mutex_lock(&s->lock);
	tail = s->tail;
	pthread_mutex_unlock(&s->lock);
	return tail;
}

static CUresult forbid_captures(struct cot_emu_place place)
{
	CUresult result = CUDA_SUCCESS, one;
	uint64_t id = COT_EMU_NEWEST;
	struct CUstream_st *s;

	while ((s = cot_emu_place_stream(place, &id))) {
		one = cot_emu_capture_forbid(s);
		result = result ? result : one;
		cot_emu_stream_unref(s);
	}
	return result;
}

CUresult cot_emu_place_record(struct cot_emu_place place, CUevent event)
{
	struct CUstream_st *s, *barrier;
	uint64_t id = COT_EMU_NEWEST;
	CUresult result = forbid_captures(place);

	if (!result)
		result = begin(place);
	barrier = barrier_of(place)->stream;
	while (!result && (s = cot_emu_place_stream(place, &id))) {
		if (s != barrier)
			result = cot_emu_stream_push_wait(barrier, s, tail_of(s));
		cot_emu_stream_unref(s);
	}
	return result ? result : cot_emu_event_record(event, barrier);
}

CUresult cot_emu_place_wait(struct cot_emu_place place, CUevent event)
{
	struct cot_emu_barrier *b = barrier_of(place);
	CUresult result = forbid_captures(place);
	uint64_t id = COT_EMU_NEWEST;
	struct CUstream_st *s;

	if (!result && cot_emu_capture_has(event))
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!result)
		result = begin(place);
	if (!result)
		result = cot_emu_event_wait(b->stream, event);
	if (result)
		return result;
	b->position = tail_of(b->stream);
	while (!result && (s = cot_emu_place_stream(place, &id))) {
		result = cot_emu_stream_push_wait(s, b->stream, b->position);
		if (result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
			result = CUDA_SUCCESS; /* it is being closed: it gets nothing more */
		cot_emu_stream_unref(s);
	}
	return result;
}

/* The stream waits for all others of the context, and what comes into them waits for it. */
static CUresult hold_back(struct CUstream_st *gate)
{
	struct cot_emu_place all = {gate->context, NULL};
	uint64_t id = COT_EMU_NEWEST;
	CUresult result = CUDA_SUCCESS;
	struct CUstream_st *s;

	while (!result && (s = cot_emu_place_stream(all, &id))) {
		result = cot_emu_stream_push_wait(gate, s, tail_of(s));
		cot_emu_stream_unref(s);
	}
	id = COT_EMU_NEWEST;
	while (!result && (s = cot_emu_place_stream(all, &id))) {
		result = cot_emu_stream_push_wait(s, gate, tail_of(gate));
		cot_emu_stream_unref(s);
	}
	return result;
}

void cot_emu_context_settle(struct cot_emu_context *c)
{
	struct CUstream_st *gate;

	if (atomic_load(&c->lazy)) {
		(void)cot_emu_context_drain(c);
		return;
	}
	if (cot_emu_stream_make((struct cot_emu_place){c, NULL}, CU_STREAM_NON_BLOCKING, 0, &gate))
		return;
	if (!hold_back(gate))
		(void)cot_emu_stream_drain(gate, true);
	(void)cot_emu_stream_close(gate);
}

CUresult cot_emu_barrier_join(struct cot_emu_place place, struct CUstream_st *s)
{
	struct cot_emu_place all = {place.context, NULL};
	const struct cot_emu_barrier *part = barrier_of(place), *whole = barrier_of(all);
	CUresult result = CUDA_SUCCESS;

	if (part->position)
		result = cot_emu_stream_push_wait(s, part->stream, part->position);
	if (!result && place.green && whole->position)
		result = cot_emu_stream_push_wait(s, whole->stream, whole->position);
	return result;
}
