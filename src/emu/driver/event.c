/* Events: a point in a stream, and the GPU time at which the stream got there. */
#include <stdlib.h>

#include "emu/driver/capture.h"
#include "emu/driver/inside.h"

void cot_emu_event_ref(CUevent event)
{
	atomic_fetch_add(&event->n_refs, 1);
}

void cot_emu_event_unref(CUevent event)
{
	if (!event || atomic_fetch_sub(&event->n_refs, 1) != 1)
		return;
	cot_emu_capture_forget(event);
	cot_emu_stream_unref(event->stream);
	cot_emu_ipc_drop(event);
	pthread_mutex_destroy(&event->lock);
	free(event);
}

void cot_emu_event_done(CUevent event, struct CUstream_st *s, uint64_t position, uint64_t time_ns)
{
	pthread_mutex_lock(&event->lock);
	/* It may have been recorded again since. */
	if (event->stream == s && event->position == position + 1) {
		event->done = true;
		event->time_ns = time_ns;
	}
	pthread_mutex_unlock(&event->lock);
}

void cot_emu_event_stamp(CUevent event)
{
	struct CUstream_st *before;

	pthread_mutex_lock(&event->lock);
	before = event->stream;
	event->stream = NULL;
	event->done = true;
	event->time_ns = cot_emu_gpu_now(cot_emu_machine());
	pthread_mutex_unlock(&event->lock);
	cot_emu_stream_unref(before);
}

CUresult cot_emu_event_await(CUevent event, bool block)
{
	struct CUstream_st *s = NULL;
	uint64_t position = 0;
	CUresult result;

	pthread_mutex_lock(&event->lock);
	if (event->stream && !event->done) {
		s = event->stream;
		position = event->position;
		cot_emu_stream_ref(s);
	}
	pthread_mutex_unlock(&event->lock);
	if (!s)
		return CUDA_SUCCESS;
	result = cot_emu_stream_retire(s, position, block);
	cot_emu_stream_unref(s);
	return result;
}

CUresult cot_emu_event_record(CUevent event, struct CUstream_st *s)
{
	struct cot_emu_op op = {.kind = COT_EMU_OP_RECORD, .event = event};
	CUresult result = CUDA_SUCCESS;

	if (!atomic_load(&s->context->lazy))
		result = cot_emu_stream_order(s);
	if (result)
		return result;
	cot_emu_event_ref(event);
	op.asked_ns = cot_emu_gpu_now(cot_emu_machine());
	return cot_emu_stream_push(s, &op);
}

/* In a lazy context one kernel can wait for one other; a second event is waited for here and now.
 */
static CUresult wait_lazily(struct CUstream_st *s, CUevent event)
{
	struct cot_emu_op op = {.kind = COT_EMU_OP_WAIT};
	struct cot_emu_ticket kernel = {0, 0};
	CUresult result;

	pthread_mutex_lock(&event->lock);
	op.other = event->stream;
	op.position = event->position;
	kernel = event->kernel;
	if (op.other)
		cot_emu_stream_ref(op.other);
	pthread_mutex_unlock(&event->lock);
	if (!op.other)
		return CUDA_SUCCESS;
	if (s->after.serial) {
		result = cot_emu_stream_retire(op.other, op.position, true);
		cot_emu_stream_unref(op.other);
		return result;
	}
	pthread_mutex_lock(&s->lock);
	s->after = kernel;
	pthread_mutex_unlock(&s->lock);
	return cot_emu_stream_push(s, &op);
}

CUresult cot_emu_event_wait(struct CUstream_st *s, CUevent event)
{
	struct CUstream_st *other = NULL;
	uint64_t position = 0;
	CUresult result;

	pthread_mutex_lock(&event->lock);
	if (event->stream && !event->done && event->stream != s) {
		other = event->stream;
		position = event->position;
		cot_emu_stream_ref(other);
	}
	pthread_mutex_unlock(&event->lock);
	if (!other)
		return CUDA_SUCCESS;
	if (atomic_load(&s->context->lazy) && atomic_load(&other->context->lazy))
		result = wait_lazily(s, event);
	else
		result = cot_emu_stream_push_wait(s, other, position);
	cot_emu_stream_unref(other);
	return result;
}
