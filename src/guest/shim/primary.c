/* The GPUs whose primary contexts have been seen: what has parts. */
#include <stdlib.h>

#include "guest/shim/parts.h"

struct cot_shim_gate cot_shim_parts_lock;
_Atomic(CUcontext) cot_shim_parts_looked;

static _Atomic(struct cot_shim_parts *) list;
static _Atomic uint32_t n_contexts;

struct cot_shim_parts *cot_shim_parts_of(CUcontext context)
{
	struct cot_shim_parts *p = atomic_load_explicit(&list, memory_order_acquire);

	while (p && atomic_load_explicit(&p->context, memory_order_relaxed) != context)
		p = p->next;
	return context ? p : NULL;
}

struct cot_shim_parts *cot_shim_parts_current(void)
{
	CUcontext context = NULL;

	return COT_REAL(cuCtxGetCurrent)(&context) ? NULL : cot_shim_parts_of(context);
}

static CUevent make_event(const struct cot_shim_parts *p, unsigned flags)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUcontext before = NULL;
	CUevent event = NULL;
	bool pushed = cot_shim_parts_current() != p;

	if (pushed && COT_REAL(cuCtxPushCurrent_v2)(atomic_load(&p->context)))
		return NULL;
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	if (COT_REAL(cuEventCreate)(&event, flags))
		event = NULL;
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	if (pushed)
		(void)COT_REAL(cuCtxPopCurrent_v2)(&before);
	return event;
}

CUevent cot_shim_parts_event(const struct cot_shim_parts *p)
{
	return make_event(p, CU_EVENT_DISABLE_TIMING);
}

CUevent cot_shim_parts_timed_event(const struct cot_shim_parts *p)
{
	return make_event(p, 0);
}

void cot_shim_await_stream(CUstream stream)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	(void)COT_REAL(cuStreamSynchronize)(stream);
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
}

/* Parts are of the primary context: green contexts share its memory and code, and no other's. */
bool cot_shim_is_primary(CUcontext context, int device)
{
	CUcontext primary = NULL;
	unsigned flags;
	int active = 0;

	if (COT_REAL(cuDevicePrimaryCtxGetState)(device, &flags, &active) || !active ||
	    COT_REAL(cuDevicePrimaryCtxRetain)(&primary, device))
		return false;
	(void)COT_REAL(cuDevicePrimaryCtxRelease_v2)(device);
	return primary == context;
}

/* A program that ends its context again and again has no parts after so many. */
#define MAX_CONTEXTS 64u

struct cot_shim_parts *cot_shim_parts_add(CUcontext context, int device, uint32_t n_sms)
{
	struct cot_shim_parts *p;

	if (atomic_load(&n_contexts) >= MAX_CONTEXTS)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->device = device;
	p->n_sms = n_sms;
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->default_stream.pair, NULL);
	pthread_mutex_init(&p->default_stream.pace.lock, NULL);
	p->default_stream.parts = p;
	atomic_store(&p->default_stream.handle, CU_STREAM_LEGACY);
	atomic_store(&p->context, context);
	p->next = atomic_load(&list);
	atomic_store_explicit(&list, p, memory_order_release);
	atomic_fetch_add(&n_contexts, 1);
	return p;
}

struct cot_shim_parts *cot_shim_parts_first(void)
{
	return atomic_load_explicit(&list, memory_order_acquire);
}

void cot_shim_parts_clear(void)
{
	cot_shim_gate_open(&cot_shim_parts_lock);
	atomic_store(&list, NULL);
	atomic_store(&cot_shim_parts_looked, NULL);
}
