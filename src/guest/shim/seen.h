/*
 * What the shim sees of the requests of a program that is measured and does not mark them: which
 * call puts an operation into a stream, and which one waits. burst.h makes requests of it, and
 * libcotenant.so gets them, which leaves them out if the program marks its own. Nothing happens in
 * a program that is not measured.
 */
#ifndef COT_GUEST_SHIM_SEEN_H
#define COT_GUEST_SHIM_SEEN_H

#include "guest/shim/burst.h"
#include "guest/shim/driver.h"

/* An operation, before the call that makes it. */
void cot_shim_seen_operation(CUstream stream, bool per_thread, enum cot_burst_kind kind);
static inline void cot_shim_seen_put(CUstream stream, bool per_thread)
{
	if (COT_UNLIKELY(cot_shim_settings.requests))
		cot_shim_seen_operation(stream, per_thread, COT_BURST_WORK);
}

/* A copy from the host to the GPU. */
static inline void cot_shim_seen_input(CUstream stream, bool per_thread)
{
	if (COT_UNLIKELY(cot_shim_settings.requests))
		cot_shim_seen_operation(stream, per_thread, COT_BURST_INPUT);
}

/* A wait, before the call; what it covers if that succeeds. */
struct cot_shim_wait {
	struct cot_burst_point point; /* position 0: nothing */
	uint64_t context;	      /* 0: of one stream */
	uint64_t begin_ns;	      /* when the call was made; 0: this one is not timed */
};

/* `stays`: the call returns when all is done. A question does not, nor does what records an event.
 */
void cot_shim_seen_stream(struct cot_shim_wait *ret_wait, CUstream stream, bool per_thread,
			  bool stays);
void cot_shim_seen_context(struct cot_shim_wait *ret_wait, CUcontext context);
void cot_shim_seen_event(struct cot_shim_wait *ret_wait, CUevent event, bool stays);

static inline void cot_shim_wait_stream(struct cot_shim_wait *ret_wait, CUstream stream,
					bool per_thread, bool stays)
{
	ret_wait->point.position = 0;
	if (COT_UNLIKELY(cot_shim_settings.requests))
		cot_shim_seen_stream(ret_wait, stream, per_thread, stays);
}

/* NULL: the current one. */
static inline void cot_shim_wait_context(struct cot_shim_wait *ret_wait, CUcontext context)
{
	ret_wait->point.position = 0;
	if (COT_UNLIKELY(cot_shim_settings.requests))
		cot_shim_seen_context(ret_wait, context);
}

static inline void cot_shim_wait_event(struct cot_shim_wait *ret_wait, CUevent event, bool stays)
{
	ret_wait->point.position = 0;
	if (COT_UNLIKELY(cot_shim_settings.requests))
		cot_shim_seen_event(ret_wait, event, stays);
}

/* The call has returned, or the function was called that the stream was given. */
void cot_shim_seen_covered(const struct cot_shim_wait *wait);
/* It was a question, and the answer is not yet. */
void cot_shim_seen_asked(void);
static inline void cot_shim_seen_waited(const struct cot_shim_wait *wait, CUresult rc)
{
	if (COT_LIKELY(!wait->point.position))
		return;
	if (!rc)
		cot_shim_seen_covered(wait);
	else if (rc == CUDA_ERROR_NOT_READY)
		cot_shim_seen_asked();
}

/* The event was recorded where a wait for the stream leads, which began before that. */
void cot_shim_seen_event_at(CUevent event, const struct cot_shim_wait *there);
static inline void cot_shim_seen_record(CUevent event, const struct cot_shim_wait *there,
					CUresult rc)
{
	if (COT_UNLIKELY(cot_shim_settings.requests) && !rc)
		cot_shim_seen_event_at(event, there);
}

void cot_shim_seen_order(CUstream stream, bool per_thread, CUevent after);

/* Whether this is memory of the host: who copies to it without a stream has waited. */
bool cot_shim_is_host(CUdeviceptr to);

void cot_shim_seen_event_gone(CUevent event);
void cot_shim_seen_stream_gone(CUstream stream);
void cot_shim_seen_context_gone(CUcontext context); /* NULL: it may be any */
void cot_shim_seen_forget(void);		    /* after fork() */

#endif
