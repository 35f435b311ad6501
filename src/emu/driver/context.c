/* Contexts: which there are. */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/driver.h"
#include "emu/driver/grid.h"
#include "emu/driver/memory.h"
#include "emu/driver/mps_client.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cot_emu_context *contexts; /* under list_lock */

static _Atomic uint64_t last_id;

/* In the order of CUlimit; what a program sets is remembered and changes nothing. */
static const size_t default_limits[COT_EMU_N_LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};

static CUresult join_pool(struct cot_emu_context *c)
{
	uint32_t tokens[COT_EMU_POOL_CHANNELS], i;
	CUresult result;

	/* The server sees the same GPUs as we do: under MPS it is the daemon that chooses them. */
	result =
		cot_emu_mps_join(c->device, &c->pool, tokens, COT_EMU_CTX_CHANNELS, &c->n_channels);
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
	result = cot_emu_stream_make(c, 0, 0, &c->null_stream);
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
	c->n_channels = c->shared ? n_shared_channels : COT_EMU_CTX_CHANNELS;
	c->pool = -1;
	c->id = atomic_fetch_add(&last_id, 1) + 1;
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

/* Calls what was asked to be called when the context ends. */
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

CUresult cot_emu_context_get(CUcontext handle, struct cot_emu_context **ret_context)
{
	struct cot_emu_context *c;

	if (!handle)
		return cot_emu_current(ret_context);
	pthread_mutex_lock(&list_lock);
	for (c = contexts; c && c != (struct cot_emu_context *)handle; c = c->next)
		;
	pthread_mutex_unlock(&list_lock);
	if (!c)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_context = c;
	return (CUresult)atomic_load(&c->fault);
}

CUresult cot_emu_context_fail(struct cot_emu_context *c, CUresult fault)
{
	int none = CUDA_SUCCESS;

	atomic_compare_exchange_strong(&c->fault, &none, fault);
	return (CUresult)atomic_load(&c->fault);
}

static struct CUstream_st *nth_stream(struct cot_emu_context *c, uint32_t n)
{
	struct CUstream_st *s;

	pthread_mutex_lock(&c->lock);
	for (s = c->streams; s && n; s = s->next)
		n--;
	if (s)
		cot_emu_stream_ref(s);
	pthread_mutex_unlock(&c->lock);
	return s;
}

CUresult cot_emu_context_drain(struct cot_emu_context *c)
{
	CUresult result = (CUresult)atomic_load(&c->fault);
	struct CUstream_st *s;
	uint32_t i;

	for (i = 0; !result && (s = nth_stream(c, i)); i++) {
		result = cot_emu_stream_drain(s, true);
		cot_emu_stream_unref(s);
	}
	cot_emu_print_flush();
	return result;
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
