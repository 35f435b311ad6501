/*
 * The entry points by which the host learns that something has been done: waits and questions, host
 * functions, and the events in between.
 */
#include <stdlib.h>

#include "guest/shim/parts.h"
#include "guest/shim/seen.h"

/* ---- streams: not a turn, so that the stream may move meanwhile ---- */

#define WAIT(name, per_thread, waits)                                                \
	CUresult name(CUstream stream)                                               \
	{                                                                            \
		struct cot_shim_wait wait;                                           \
		struct cot_shim_stay stay;                                           \
		CUresult rc;                                                         \
                                                                                     \
		if (waits)                                                           \
			cot_shim_merge_linger(stream);                               \
		cot_shim_wait_stream(&wait, stream, per_thread, waits);              \
		rc = COT_REAL(name)(cot_shim_stay_begin(&stay, stream, per_thread)); \
		cot_shim_stay_end(&stay);                                            \
		cot_shim_seen_waited(&wait, rc);                                     \
		return cot_shim_merge_late(rc);                                      \
	}

WAIT(cuStreamSynchronize, false, true)
WAIT(cuStreamSynchronize_ptsz, true, true)
WAIT(cuStreamQuery, false, false)
WAIT(cuStreamQuery_ptsz, true, false)

/* ---- contexts ---- */

CUresult cuCtxSynchronize(void)
{
	struct cot_shim_wait wait;
	CUresult rc;

	cot_shim_merge_flush();
	cot_shim_wait_context(&wait, NULL);
	rc = COT_REAL(cuCtxSynchronize)();
	cot_shim_seen_waited(&wait, rc);
	return cot_shim_merge_late(rc);
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
	struct cot_shim_wait wait;
	CUresult rc;

	cot_shim_merge_flush();
	cot_shim_wait_context(&wait, ctx);
	rc = COT_REAL(cuCtxSynchronize_v2)(ctx);
	cot_shim_seen_waited(&wait, rc);
	return cot_shim_merge_late(rc);
}

/* ---- events ---- */

CUresult cuEventSynchronize(CUevent event)
{
	struct cot_shim_wait wait;
	CUresult rc;

	cot_shim_wait_event(&wait, event, true);
	rc = COT_REAL(cuEventSynchronize)(event);
	cot_shim_seen_waited(&wait, rc);
	return rc;
}

CUresult cuEventQuery(CUevent event)
{
	struct cot_shim_wait wait;
	CUresult rc;

	cot_shim_wait_event(&wait, event, false);
	rc = COT_REAL(cuEventQuery)(event);
	cot_shim_seen_waited(&wait, rc);
	return rc;
}

CUresult cuEventDestroy_v2(CUevent event)
{
	cot_shim_seen_event_gone(event);
	return COT_REAL(cuEventDestroy_v2)(event);
}

#define RECORD(name, params, args, per_thread)                              \
	CUresult name params                                                \
	{                                                                   \
		struct cot_shim_wait there;                                 \
		struct cot_shim_turn turn;                                  \
		CUstream to;                                                \
		CUresult rc;                                                \
                                                                            \
		cot_shim_wait_stream(&there, stream, per_thread, false);    \
		to = cot_shim_turn_begin_ending(&turn, stream, per_thread); \
		rc = COT_REAL(name) args;                                   \
		cot_shim_turn_end(&turn);                                   \
		cot_shim_seen_record(event, &there, rc);                    \
		cot_shim_merge_record(event, stream, per_thread);           \
		return rc;                                                  \
	}

RECORD(cuEventRecord, (CUevent event, CUstream stream), (event, to), false)
RECORD(cuEventRecord_ptsz, (CUevent event, CUstream stream), (event, to), true)
RECORD(cuEventRecordWithFlags, (CUevent event, CUstream stream, unsigned flags), (event, to, flags),
       false)
RECORD(cuEventRecordWithFlags_ptsz, (CUevent event, CUstream stream, unsigned flags),
       (event, to, flags), true)

/* ---- callbacks: they are told the stream by the program's name ---- */

struct callback {
	CUstreamCallback function;
	CUstream stream;
	void *data;
	struct cot_shim_wait wait;
};

static void call_back(CUstream stream, CUresult status, void *data)
{
	struct callback c = *(struct callback *)data;

	(void)stream;
	free(data);
	cot_shim_seen_waited(&c.wait, status);
	c.function(c.stream, status, c.data);
}

static CUresult add_callback(CUstream stream, CUstreamCallback function, void *data, unsigned flags,
			     bool per_thread)
{
	struct cot_shim_wait wait;
	struct cot_shim_turn turn;
	struct callback *c = NULL;
	CUstream to;
	CUresult rc;

	cot_shim_wait_stream(&wait, stream, per_thread, true);
	to = cot_shim_turn_begin(&turn, stream, per_thread);
	if (function && (to != stream || wait.point.position))
		c = malloc(sizeof(*c));
	if (c)
		*c = (struct callback){function, stream, data, wait};
	else
		cot_shim_turn_go_home(&turn);
	rc = (per_thread ? COT_REAL(cuStreamAddCallback_ptsz) : COT_REAL(cuStreamAddCallback))(
		c ? to : stream, c ? call_back : function, c ? c : data, flags);
	if (rc)
		free(c);
	cot_shim_turn_end(&turn);
	return rc;
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function, void *data, unsigned flags)
{
	return add_callback(stream, function, data, flags, false);
}

CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback function, void *data,
				  unsigned flags)
{
	return add_callback(stream, function, data, flags, true);
}

/* ---- host functions ---- */

struct host_call {
	CUhostFn function;
	void *data;
	struct cot_shim_wait wait;
};

static void call_host(void *data)
{
	struct host_call c = *(struct host_call *)data;

	free(data);
	cot_shim_seen_waited(&c.wait, CUDA_SUCCESS);
	c.function(c.data);
}

/* NULL: it is not measured. One that is recorded into a graph runs many times, and is left alone.
 */
static struct host_call *see_host_call(CUstream stream, CUhostFn function, void *data,
				       bool per_thread)
{
	struct host_call *c = NULL;
	struct cot_shim_wait wait;

	cot_shim_wait_stream(&wait, stream, per_thread, true);
	if (COT_UNLIKELY(wait.point.position) && function &&
	    !cot_shim_is_captured(stream, per_thread))
		c = malloc(sizeof(*c));
	if (c)
		*c = (struct host_call){function, data, wait};
	return c;
}

static CUresult launch_host(CUstream stream, CUhostFn function, void *data, bool per_thread)
{
	struct host_call *c = see_host_call(stream, function, data, per_thread);
	struct cot_shim_turn turn;
	CUstream to = cot_shim_turn_begin(&turn, stream, per_thread);
	CUresult rc = (per_thread ? COT_REAL(cuLaunchHostFunc_ptsz) : COT_REAL(cuLaunchHostFunc))(
		to, c ? call_host : function, c ? c : data);

	cot_shim_turn_end(&turn);
	if (rc)
		free(c);
	return rc;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
	return launch_host(stream, function, data, false);
}

CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void *data)
{
	return launch_host(stream, function, data, true);
}
