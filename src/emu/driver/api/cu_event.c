/* Events. */
#include <stdlib.h>

#include "emu/driver/capture.h"
#include "emu/driver/driver.h"

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);
	CUevent e;

	if (result)
		return result;
	if (!event || flags & ~7u)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_INTERPROCESS)
		return CUDA_ERROR_NOT_SUPPORTED;
	e = calloc(1, sizeof(*e));
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_init(&e->lock, NULL);
	e->n_refs = 1;
	e->flags = flags;
	*event = e;
	return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	cot_emu_event_unref(event);
	return CUDA_SUCCESS;
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
	struct cot_emu_op op = {.kind = COT_EMU_OP_RECORD, .event = event};
	bool captured = false;
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result)
		return result;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~1u) /* 1: also in a capture, an event of the world outside */
		return CUDA_ERROR_INVALID_VALUE;
	result = cot_emu_capture_record(s, event, flags & 1, &captured);
	if (result || captured)
		return result;
	if (!atomic_load(&s->context->lazy))
		result = cot_emu_stream_order(s);
	if (result)
		return result;
	cot_emu_event_ref(event);
	op.asked_ns = cot_emu_gpu_now(cot_emu_machine());
	return cot_emu_stream_push(s, &op);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	return cuEventRecordWithFlags(event, stream, 0);
}

static CUresult reach(CUevent event, bool block)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (cot_emu_capture_has(event))
		return CUDA_ERROR_CAPTURED_EVENT;
	return cot_emu_event_await(event, block);
}

CUresult cuEventQuery(CUevent event)
{
	return reach(event, false);
}

CUresult cuEventSynchronize(CUevent event)
{
	return reach(event, true);
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!ms)
		return CUDA_ERROR_INVALID_VALUE;
	if (!from || !to || (from->flags | to->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	result = reach(from, false);
	if (!result)
		result = reach(to, false);
	if (result)
		return result;
	if (!from->done || !to->done)
		return CUDA_ERROR_INVALID_HANDLE;
	*ms = (float)(((double)to->time_ns - (double)from->time_ns) * 1e-6);
	return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to)
{
	return cuEventElapsedTime(ms, from, to);
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

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	bool captured = false, busy;
	struct CUstream_st *s, *other = NULL;
	uint64_t position = 0;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result)
		return result;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~1u)
		return CUDA_ERROR_INVALID_VALUE;
	result = cot_emu_capture_wait(s, event, flags & 1, &captured);
	if (result || captured)
		return result;
	pthread_mutex_lock(&event->lock);
	busy = event->stream && !event->done && event->stream != s;
	if (busy) {
		other = event->stream;
		position = event->position;
		cot_emu_stream_ref(other);
	}
	pthread_mutex_unlock(&event->lock);
	if (!busy)
		return CUDA_SUCCESS;
	if (atomic_load(&s->context->lazy) && atomic_load(&other->context->lazy))
		result = wait_lazily(s, event);
	else
		result = cot_emu_stream_push_wait(s, other, position);
	cot_emu_stream_unref(other);
	return result;
}
