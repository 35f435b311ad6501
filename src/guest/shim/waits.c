/*
 * Waits that are open: something in a stream waits for a word in memory, or for others, and it may
 * be the program itself that ends the wait, by what it launches later.
 *
 * The driver makes a part when all that the program has submitted is done, and what the program
 * submits meanwhile begins after that (measured on an H200). So while a wait is open no part is
 * made: it would never come, and the program would never go on.
 *
 * After each such call an event of ours is in its stream. When it is done the wait has ended. A
 * wait that is recorded into a graph, or that has no event, may be open at any time from then on.
 */
#include "guest/shim/parts.h"

#define OPEN_MAX 64u
struct open_wait {
	CUevent event; /* NULL: none */
	const struct cot_shim_parts *parts;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for the list */
static struct open_wait list[OPEN_MAX];
static _Atomic bool for_good; /* one may be open from now on */

/* With the lock. */
static void drop(struct open_wait *w)
{
	(void)COT_REAL(cuEventDestroy_v2)(w->event);
	*w = (struct open_wait){NULL, NULL};
}

/* With the lock: waits that have ended make room. */
static struct open_wait *room(void)
{
	struct open_wait *w, *found = NULL;

	for (w = list; w < list + OPEN_MAX; w++) {
		if (w->event && COT_REAL(cuEventQuery)(w->event) != CUDA_ERROR_NOT_READY)
			drop(w);
		if (!w->event)
			found = w;
	}
	return found;
}

static bool note(const struct cot_shim_parts *p, CUstream in)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	struct open_wait *w;
	bool noted = false;

	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	pthread_mutex_lock(&lock);
	w = room();
	if (w)
		w->event = cot_shim_parts_event(p);
	if (w && w->event) {
		w->parts = p;
		noted = !COT_REAL(cuEventRecord)(w->event, in);
		if (!noted)
			drop(w);
	}
	pthread_mutex_unlock(&lock);
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	return noted;
}

void cot_shim_open_begin(struct cot_shim_open *o)
{
	o->asked = true;
	/* If it cannot be had, a part is being made, and was begun before: it does not wait for
	 * this. */
	o->held = cot_shim_gate_take(&cot_shim_parts_lock);
}

void cot_shim_open_end(struct cot_shim_open *o, const struct cot_shim_turn *t, CUstream stream,
		       bool per_thread, bool failed)
{
	uint32_t part = cot_shim_turn_part(t);
	const struct cot_shim_parts *p;

	if (!o->asked)
		return;
	p = t->stream ? t->stream->parts : cot_shim_parts_current();
	if (part)
		stream = t->stream->shadows[part];
	else if (!stream && per_thread)
		stream = CU_STREAM_PER_THREAD;
	if (!failed && p &&
	    ((cot_shim_any_capture() && cot_shim_is_captured(stream, per_thread)) ||
	     !note(p, stream)))
		atomic_store(&for_good, true);
	if (o->held)
		cot_shim_gate_open(&cot_shim_parts_lock);
}

void cot_shim_open_for_good(void)
{
	atomic_store(&for_good, true);
}

bool cot_shim_open_none(void)
{
	bool none = true;
	unsigned i;

	if (atomic_load(&for_good))
		return false;
	pthread_mutex_lock(&lock);
	(void)room();
	for (i = 0; i < OPEN_MAX; i++)
		none &= !list[i].event;
	pthread_mutex_unlock(&lock);
	return none;
}

void cot_shim_open_drop(const struct cot_shim_parts *p)
{
	unsigned i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < OPEN_MAX; i++)
		if (list[i].event && list[i].parts == p)
			drop(&list[i]);
	pthread_mutex_unlock(&lock);
}

void cot_shim_open_forget(void)
{
	unsigned i;

	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	for (i = 0; i < OPEN_MAX; i++)
		list[i] = (struct open_wait){NULL, NULL};
	atomic_store(&for_good, false);
}
