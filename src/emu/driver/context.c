/* Contexts: which there are. */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/green.h"
#include "emu/driver/grid.h"
#include "emu/driver/inside.h"
#include "emu/driver/memory.h"
#include "emu/mps/client.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cot_emu_context *contexts; /* under list_lock */

static _Atomic uint64_t last_id;

/* In the order of CUlimit; what a program sets is remembered and changes nothing. */
static const size_t default_limits[COT_EMU_N_LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};

uint64_t cot_emu_context_next_id(void)
{
	return atomic_fetch_add(&last_id, 1) + 1;
}

static CUresult join_pool(struct cot_emu_context *c)
{
	uint32_t wanted = cot_emu_connections(COT_EMU_MPS_CHANNELS_PER_CLIENT), i;
	uint32_t tokens[COT_EMU_MPS_MAX_CLIENTS];
	CUresult result;

	/* The server sees the same GPUs as we do: under MPS it is the daemon that chooses them. */
	result = cot_emu_mps_join(c->device, wanted, &c->pool, tokens, &c->n_channels);
	if (result)
		return result;
	for (i = 0; i < c->n_channels; i++)
		c->channels[i] = cot_emu_channel_of_token(tokens[i]);
	return CUDA_SUCCESS;
}

static CUresult fill_context(struct cot_emu_context *c)
{
	CUresult result;

	if (!c->shared && cot_emu_under_mps()) {
		result = join_pool(c);
		if (result)
			return result;
	}
	result = cot_emu_hardware_create(c);
	if (result)
		goto err_pool;
	result = cot_emu_stream_make((struct cot_emu_place){c, NULL}, 0, 0, &c->null_stream);
	if (result)
		goto err_hardware;
	return CUDA_SUCCESS;
err_hardware:
	cot_emu_hardware_destroy(c);
err_pool:
	if (c->pool >= 0)
		cot_emu_mps_leave(c->pool);
	return result;
}

CUresult cot_emu_context_make(CUdevice device, unsigned n_shared_channels,
			      struct cot_emu_context **ret_context)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (cot_emu_visible(device) < 0)
		return CUDA_ERROR_INVALID_DEVICE;
	if (n_shared_channels > COT_EMU_POOL_CHANNELS)
		return CUDA_ERROR_INVALID_VALUE;
	c = calloc(1, sizeof(*c));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->device = device;
	c->shared = n_shared_channels > 0;
	c->n_channels = c->shared ? n_shared_channels : cot_emu_connections(COT_EMU_CTX_CHANNELS);
	c->pool = -1;
	c->id = cot_emu_context_next_id();
	c->lazy = true;
	memcpy(c->limits, default_limits, sizeof(c->limits));
	pthread_mutex_init(&c->lock, NULL);
	result = fill_context(c);
	if (result) {
		free(c);
		return result;
	}
	pthread_mutex_lock(&list_lock);
	c->next = contexts;
	contexts = c;
	pthread_mutex_unlock(&list_lock);
	*ret_context = c;
	return CUDA_SUCCESS;
}

/* Workers take their streams out of the list themselves, hence the lock. */
static struct CUstream_st *take_stream(struct cot_emu_context *c)
{
	struct CUstream_st *s;

	pthread_mutex_lock(&c->lock);
	s = c->streams;
	if (s) {
		c->streams = s->next;
		c->n_streams--;
	}
	pthread_mutex_unlock(&c->lock);
	return s;
}

/* Calls the functions that were registered for the end of the context. */
static void free_slots(struct cot_emu_context *c)
{
	struct cot_emu_slot *slot;

	for (;;) {
		pthread_mutex_lock(&c->lock);
		slot = c->slots;
		if (slot)
			c->slots = slot->next;
		pthread_mutex_unlock(&c->lock);
		if (!slot)
			return;
		if (slot->end)
			slot->end((CUcontext)c, slot->key, slot->value);
		free(slot);
	}
}

void cot_emu_context_free(struct cot_emu_context *c)
{
	struct cot_emu_context **at;
	struct CUstream_st *s;

	pthread_mutex_lock(&list_lock);
	for (at = &contexts; *at && *at != c; at = &(*at)->next)
		;
	if (*at)
		*at = c->next;
	pthread_mutex_unlock(&list_lock);
	free_slots(c);
	cot_emu_greens_forget(c);
	/* The work goes with the context; what it would have done to memory is not done. */
	while ((s = take_stream(c))) {
		cot_emu_stream_abandon(s);
		cot_emu_stream_unref(s);
	}
	cot_emu_print_flush();
	cot_emu_hardware_destroy(c);
	if (c->pool >= 0)
		cot_emu_mps_leave(c->pool);
	cot_emu_modules_free(c);
	cot_emu_memory_forget(c);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct cot_emu_place cot_emu_place_of(CUcontext handle)
{
	struct CUgreenCtx_st *green = cot_emu_green_of(handle);

	if (green)
		return (struct cot_emu_place){green->context, green};
	return (struct cot_emu_place){(struct cot_emu_context *)handle, NULL};
}

CUcontext cot_emu_place_handle(struct cot_emu_place place)
{
	return place.green ? cot_emu_green_context(place.green) : (CUcontext)place.context;
}

static bool exists(const struct cot_emu_context *wanted)
{
	struct cot_emu_context *c;

	pthread_mutex_lock(&list_lock);
	for (c = contexts; c && c != wanted; c = c->next)
		;
	pthread_mutex_unlock(&list_lock);
	return c;
}

CUresult cot_emu_place_get(CUcontext handle, struct cot_emu_place *ret_place)
{
	struct cot_emu_place place = handle ? cot_emu_place_of(handle) : cot_emu_current_place();
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!place.context || (handle && !exists(place.context)))
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_place = place;
	return (CUresult)atomic_load(&place.context->fault);
}

CUresult cot_emu_context_get(CUcontext handle, struct cot_emu_context **ret_context)
{
	struct cot_emu_place place = {NULL, NULL};
	CUresult result = cot_emu_place_get(handle, &place);

	if (place.context)
		*ret_context = place.context;
	return result;
}

CUresult cot_emu_context_fail(struct cot_emu_context *c, CUresult fault)
{
	int none = CUDA_SUCCESS;

	atomic_compare_exchange_strong(&c->fault, &none, fault);
	return (CUresult)atomic_load(&c->fault);
}

static bool is_in(const struct CUstream_st *s, struct cot_emu_place place)
{
	return !place.green || s->green == place.green;
}

struct CUstream_st *cot_emu_place_stream(struct cot_emu_place place, uint64_t *id)
{
	struct cot_emu_context *c = place.context;
	struct CUstream_st *s;

	pthread_mutex_lock(&c->lock);
	for (s = c->streams; s && (s->id >= *id || !is_in(s, place)); s = s->next)
		;
	if (s) {
		cot_emu_stream_ref(s);
		*id = s->id;
	}
	pthread_mutex_unlock(&c->lock);
	return s;
}

CUresult cot_emu_place_drain(struct cot_emu_place place)
{
	CUresult result = (CUresult)atomic_load(&place.context->fault);
	uint64_t id = COT_EMU_NEWEST;
	struct CUstream_st *s;

	while (!result && (s = cot_emu_place_stream(place, &id))) {
		result = cot_emu_stream_drain(s, true);
		cot_emu_stream_unref(s);
	}
	cot_emu_print_flush();
	return result;
}

CUresult cot_emu_context_drain(struct cot_emu_context *c)
{
	return cot_emu_place_drain((struct cot_emu_place){c, NULL});
}

struct cot_emu_context *cot_emu_context_primary(CUdevice device)
{
	struct cot_emu_context *c;

	pthread_mutex_lock(&list_lock);
	for (c = contexts; c && !(c->primary && c->device == device); c = c->next)
		;
	pthread_mutex_unlock(&list_lock);
	return c;
}

/* The module of the library in any context, taken out of it; or NULL. */
static struct cot_emu_module *take_module(const struct cot_emu_library *l)
{
	struct cot_emu_module *found = NULL, **at;
	struct cot_emu_context *c;

	pthread_mutex_lock(&list_lock);
	for (c = contexts; c && !found; c = c->next) {
		pthread_mutex_lock(&c->lock);
		for (at = &c->modules; *at && (*at)->library != l; at = &(*at)->next)
			;
		found = *at;
		if (found)
			*at = found->next;
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_unlock(&list_lock);
	return found;
}

void cot_emu_contexts_drop_library(const struct cot_emu_library *l)
{
	struct cot_emu_module *m;

	while ((m = take_module(l))) {
		(void)cot_emu_context_drain(m->context);
		cot_emu_module_unload(m);
	}
}
