#include "emu/driver/green.h"

#include <pthread.h>
#include <stdlib.h>

#include "emu/driver/capture.h"
#include "emu/driver/inside.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUgreenCtx_st *greens; /* those that are not destroyed; under list_lock */

static struct cot_emu_place place_of(struct CUgreenCtx_st *g)
{
	return (struct cot_emu_place){g->context, g};
}

struct CUgreenCtx_st *cot_emu_green_ref(struct CUgreenCtx_st *g)
{
	if (g)
		atomic_fetch_add(&g->n_refs, 1);
	return g;
}

void cot_emu_green_unref(struct CUgreenCtx_st *g)
{
	if (g && atomic_fetch_sub(&g->n_refs, 1) == 1)
		free(g);
}

bool cot_emu_green_is_gone(const struct CUgreenCtx_st *g)
{
	return g && atomic_load(&g->gone);
}

CUcontext cot_emu_green_context(struct CUgreenCtx_st *g)
{
	return (CUcontext)(void *)&g->name;
}

CUresult cot_emu_green_get(CUgreenCtx handle, struct CUgreenCtx_st **ret_green)
{
	struct CUgreenCtx_st *g;

	pthread_mutex_lock(&list_lock);
	for (g = greens; g && g != handle; g = g->next)
		;
	pthread_mutex_unlock(&list_lock);
	if (!g || cot_emu_green_is_gone(g))
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_green = g;
	return (CUresult)atomic_load(&g->context->fault);
}

struct CUgreenCtx_st *cot_emu_green_of(CUcontext handle)
{
	struct CUgreenCtx_st *g;

	pthread_mutex_lock(&list_lock);
	for (g = greens; g && cot_emu_green_context(g) != handle; g = g->next)
		;
	pthread_mutex_unlock(&list_lock);
	return g;
}

/* ---- making and destroying ---- */

static void list_add(struct CUgreenCtx_st *g)
{
	pthread_mutex_lock(&list_lock);
	g->next = greens;
	greens = g;
	pthread_mutex_unlock(&list_lock);
}

/* False: it is gone. */
static bool list_remove(const struct CUgreenCtx_st *g)
{
	struct CUgreenCtx_st **at;
	bool found;

	pthread_mutex_lock(&list_lock);
	for (at = &greens; *at && *at != g; at = &(*at)->next)
		;
	found = *at;
	if (found)
		*at = g->next;
	pthread_mutex_unlock(&list_lock);
	return found;
}

CUresult cot_emu_green_make(const struct cot_emu_part *part, struct CUgreenCtx_st **ret_green)
{
	struct CUgreenCtx_st *g = calloc(1, sizeof(*g));
	CUresult result;

	if (!g)
		return CUDA_ERROR_OUT_OF_MEMORY;
	g->n_refs = 1;
	g->part = *part;
	g->id = cot_emu_context_next_id();
	result = cot_emu_primary_retain(part->device, &g->context);
	if (result)
		goto err_green;
	result = cot_emu_stream_make(place_of(g), 0, 0, &g->null_stream);
	if (result)
		goto err_primary;
	list_add(g);
	*ret_green = g;
	return CUDA_SUCCESS;
err_primary:
	(void)cot_emu_primary_release(part->device);
err_green:
	free(g);
	return result;
}

/* Ends captures in its streams. */
static void spoil_captures(struct CUgreenCtx_st *g)
{
	uint64_t id = COT_EMU_NEWEST;
	struct CUstream_st *s;

	while ((s = cot_emu_place_stream(place_of(g), &id))) {
		(void)cot_emu_capture_forbid(s);
		cot_emu_stream_unref(s);
	}
}

CUresult cot_emu_green_destroy(struct CUgreenCtx_st *g)
{
	if (!list_remove(g))
		return CUDA_ERROR_INVALID_CONTEXT;
	cot_emu_current_forget_green(g);
	if (!atomic_exchange(&g->gone, true)) {
		spoil_captures(g);
		(void)cot_emu_stream_close(g->null_stream);
		g->null_stream = NULL;
		if (g->barrier)
			(void)cot_emu_stream_close(g->barrier);
		g->barrier = NULL;
		(void)cot_emu_primary_release(g->part.device);
	}
	cot_emu_green_unref(g);
	return CUDA_SUCCESS;
}

/* The program still has to destroy them. */
void cot_emu_greens_forget(struct cot_emu_context *c)
{
	struct CUgreenCtx_st *g;

	pthread_mutex_lock(&list_lock);
	for (g = greens; g; g = g->next)
		if (g->context == c) {
			atomic_store(&g->gone, true);
			g->context = NULL;
			g->null_stream = NULL;
			g->barrier = NULL;
		}
	pthread_mutex_unlock(&list_lock);
}

/* ---- streams ---- */

CUresult cot_emu_green_stream(struct CUgreenCtx_st *g, unsigned flags, int priority,
			      struct CUstream_st **ret_stream)
{
	CUresult result = cot_emu_stream_make(place_of(g), flags, priority, ret_stream);

	if (!result && g->barrier)
		result = cot_emu_stream_push_wait(*ret_stream, g->barrier, g->barrier_position);
	return result;
}

/* ---- events of all streams ---- */

/*
 * One more stream, without kernels, represents all of them: it waits for all their operations
 * before an event is recorded in it, and for an event that they should wait for.
 */
static CUresult begin_barrier(struct CUgreenCtx_st *g)
{
	/* What kernels wait for on the GPU is not known of several streams. */
	atomic_store(&g->context->lazy, false);
	if (g->barrier)
		return CUDA_SUCCESS;
	return cot_emu_stream_make(place_of(g), CU_STREAM_NON_BLOCKING, 0, &g->barrier);
}

static uint64_t tail_of(struct CUstream_st *s)
{
	uint64_t tail;

	pthread_mutex_lock(&s->lock);
	tail = s->tail;
	pthread_mutex_unlock(&s->lock);
	return tail;
}

static CUresult forbid_captures(struct CUgreenCtx_st *g)
{
	CUresult result = CUDA_SUCCESS, one;
	uint64_t id = COT_EMU_NEWEST;
	struct CUstream_st *s;

	while ((s = cot_emu_place_stream(place_of(g), &id))) {
		one = cot_emu_capture_forbid(s);
		result = result ? result : one;
		cot_emu_stream_unref(s);
	}
	return result;
}

/* Everything in the green context's streams comes before what the barrier gets next. */
static CUresult gather(struct CUgreenCtx_st *g)
{
	CUresult result = CUDA_SUCCESS;
	uint64_t id = COT_EMU_NEWEST;
	struct CUstream_st *s;

	while (!result && (s = cot_emu_place_stream(place_of(g), &id))) {
		if (s != g->barrier)
			result = cot_emu_stream_push_wait(g->barrier, s, tail_of(s));
		cot_emu_stream_unref(s);
	}
	return result;
}

CUresult cot_emu_green_record(struct CUgreenCtx_st *g, CUevent event)
{
	CUresult result = forbid_captures(g);

	if (!result)
		result = begin_barrier(g);
	if (!result)
		result = gather(g);
	return result ? result : cot_emu_event_record(event, g->barrier);
}

CUresult cot_emu_green_wait(struct CUgreenCtx_st *g, CUevent event)
{
	CUresult result = forbid_captures(g);
	uint64_t id = COT_EMU_NEWEST;
	struct CUstream_st *s;

	if (!result && cot_emu_capture_has(event))
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (!result)
		result = begin_barrier(g);
	if (!result)
		result = cot_emu_event_wait(g->barrier, event);
	if (result)
		return result;
	g->barrier_position = tail_of(g->barrier);
	while (!result && (s = cot_emu_place_stream(place_of(g), &id))) {
		result = cot_emu_stream_push_wait(s, g->barrier, g->barrier_position);
		cot_emu_stream_unref(s);
	}
	return result;
}
