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
void cot_shim_seen_operation(CUstream stream, bool per_thread);
static inline void cot_shim_seen_put(CUstream stream, bool per_thread)
{
	if (COT_UNLIKELY(cot_shim_settings.requests))
		cot_shim_seen_operation(stream, per_thread);
}

/* A wait, before the call; what it covers if that succeeds. */
struct cot_shim_wait {
	struct cot_burst_point point; /* position 0: nothing */
	uint64_t context;	      /* 0: of one stream */
};

static const struct cot_shim_wait cot_shim_seen_nothing = {.context = 0};

struct cot_shim_wait cot_shim_seen_stream(CUstream stream, bool per_thread);
struct cot_shim_wait cot_shim_seen_context(CUcontext context);
struct cot_shim_wait cot_shim_seen_event(CUevent event);

static inline struct cot_shim_wait cot_shim_wait_stream(CUstream stream, bool per_thread)
{
	return COT_UNLIKELY(cot_shim_settings.requests) ? cot_shim_seen_stream(stream, per_thread)
							: cot_shim_seen_nothing;
}

/* NULL: the current one. */
static inline struct cot_shim_wait cot_shim_wait_context(CUcontext context)
{
	return COT_UNLIKELY(cot_shim_settings.requests) ? cot_shim_seen_context(context)
							: cot_shim_seen_nothing;
}

static inline struct cot_shim_wait cot_shim_wait_event(CUevent event)
{
	return COT_UNLIKELY(cot_shim_settings.requests) ? cot_shim_seen_event(event)
							: cot_shim_seen_nothing;
}

/* The call has returned, or the function was called that the stream was given. */
void cot_shim_seen_covered(const struct cot_shim_wait *wait);
static inline void cot_shim_seen_waited(const struct cot_shim_wait *wait, CUresult rc)
{
	if (COT_UNLIKELY(wait->point.position) && !rc)
		cot_shim_seen_covered(wait);
}

/* The event was recorded where a wait for the stream leads, which began before that. */
void cot_shim_seen_record(CUevent event, const struct cot_shim_wait *there, CUresult rc);
void cot_shim_seen_order(CUstream stream, bool per_thread, CUevent after);

/* Whether this is memory of the host: who copies to it without a stream has waited. */
bool cot_shim_is_host(CUdeviceptr to);

void cot_shim_seen_event_gone(CUevent event);
void cot_shim_seen_stream_gone(CUstream stream);
void cot_shim_seen_context_gone(CUcontext context); /* NULL: it may be any */
void cot_shim_seen_forget(void);		    /* after fork() */

#endif
