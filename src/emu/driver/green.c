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
		if (g->barrier.stream)
			(void)cot_emu_stream_close(g->barrier.stream);
		g->barrier.stream = NULL;
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
			g->barrier.stream = NULL;
		}
	pthread_mutex_unlock(&list_lock);
}
