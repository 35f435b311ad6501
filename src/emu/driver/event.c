/* Events: a point in a stream, and the GPU time at which the stream got there. */
#include <stdlib.h>

#include "emu/driver/driver.h"

void cot_emu_event_unref(CUevent event)
{
	if (!event || atomic_fetch_sub(&event->n_refs, 1) != 1)
		return;
	cot_emu_stream_unref(event->stream);
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

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);
	CUevent e;

	(void)flags; /* how to wait, and whether the time is wanted: it always is */
	if (result)
		return result;
	if (!event)
		return CUDA_ERROR_INVALID_VALUE;
	e = calloc(1, sizeof(*e));
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_init(&e->lock, NULL);
	e->n_refs = 1;
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

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	struct cot_emu_op op = {.kind = COT_EMU_OP_RECORD, .event = event};
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result)
		return result;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	atomic_fetch_add(&event->n_refs, 1);
	op.asked_ns = cot_emu_gpu_now(cot_emu_machine());
	return cot_emu_stream_push(s, &op);
}

static CUresult reach(CUevent event, bool block)
{
	struct CUstream_st *s = NULL;
	CUresult result = cot_emu_ready();
	uint64_t position = 0;

	if (result)
		return result;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
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
