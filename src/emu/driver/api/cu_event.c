/* Events. */
#include <stdlib.h>

#include "emu/driver/capture.h"
#include "emu/driver/inside.h"

static CUevent make(const struct cot_emu_context *c, unsigned flags)
{
	CUevent e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	pthread_mutex_init(&e->lock, NULL);
	e->n_refs = 1;
	e->context = c;
	e->flags = flags;
	return e;
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);
	CUevent e;

	if (result)
		return result;
	if (!event || flags & ~7u)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	e = make(c, flags);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (flags & CU_EVENT_INTERPROCESS)
		result = cot_emu_ipc_make(e);
	if (result)
		cot_emu_event_unref(e);
	else
		*event = e;
	return result;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!handle || !event)
		return CUDA_ERROR_INVALID_VALUE;
	return cot_emu_ipc_handle(event, handle);
}

CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);
	CUevent e;

	if (result || !event)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	e = make(c, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = cot_emu_ipc_open(&handle, e);
	if (result)
		cot_emu_event_unref(e);
	else
		*event = e;
	return result;
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
	bool captured = false;
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result)
		return result;
	if (!event || event->context != s->context)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~1u) /* 1: also in a capture, an event of the world outside */
		return CUDA_ERROR_INVALID_VALUE;
	if (event->ipc)
		return cuStreamWriteValue64_v2(stream, (uintptr_t)&event->ipc->done,
					       atomic_fetch_add(&event->ipc->recorded, 1) + 1, 0);
	result = cot_emu_capture_record(s, event, flags & 1, &captured);
	return result || captured ? result : cot_emu_event_record(event, s);
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
	result = cot_emu_capture_check_unsafe();
	if (result)
		return result;
	if (event->ipc)
		return cot_emu_ipc_await(event, block);
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

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	bool captured = false;
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result)
		return result;
	if (!event)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~1u)
		return CUDA_ERROR_INVALID_VALUE;
	if (event->ipc)
		return cuStreamWaitValue64_v2(stream, (uintptr_t)&event->ipc->done,
					      atomic_load(&event->ipc->recorded), 0);
	result = cot_emu_capture_wait(s, event, flags & 1, &captured);
	return result || captured ? result : cot_emu_event_wait(s, event);
}
