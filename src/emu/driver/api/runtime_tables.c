/*
 * The tables that the CUDA runtime asks for when it starts. They are not documented; these are the
 * ones, and the entries, that the runtimes of CUDA 12 and 13 were seen to use, linked statically or
 * not. An entry that no runtime was seen to call returns "not supported".
 *
 *   runtime interface    the primary context of a device
 *   callback hooks       two buffers for tools
 *   thread-local         nothing
 *   context-local        values that the runtime keeps with a context
 *   checks               answers zero
 *   validity             a number that shows that driver and runtime mean the same devices
 */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/inside.h"
#include "emu/driver/validity.h"

static CUresult not_supported(void)
{
	cot_emu_note("the runtime has called an internal function that does not exist here");
	return CUDA_ERROR_NOT_SUPPORTED;
}

#define ENTRY(f) ((void (*)(void))(f))
#define MISSING	 ENTRY(not_supported)
#define SIZE(n)	 ((void (*)(void))(uintptr_t)((n) * sizeof(void *)))

/* ---- the runtime's own interface ---- */

static void (*const runtime_interface[])(void) = {
	SIZE(15), MISSING, ENTRY(cuDevicePrimaryCtxRetain),
	MISSING,  MISSING, MISSING,
	MISSING,  MISSING, MISSING,
	MISSING,  MISSING, MISSING,
	MISSING,  MISSING, MISSING,
};

/* ---- what tools hook into ---- */

static uint32_t hook_buffer[1024], hook_small_buffer[14];

static void get_buffer(void **ptr, size_t *size)
{
	*ptr = hook_buffer;
	*size = COT_ARRAY_LEN(hook_buffer);
}

static void get_small_buffer(void **ptr, size_t *size)
{
	*ptr = hook_small_buffer;
	*size = COT_ARRAY_LEN(hook_small_buffer);
}

static void (*const callback_hooks[])(void) = {
	SIZE(7), MISSING, ENTRY(get_buffer), MISSING, MISSING, MISSING, ENTRY(get_small_buffer),
};

static void (*const thread_local_storage[])(void) = {SIZE(4), MISSING, MISSING, MISSING};

/* ---- values with a context ---- */

static CUresult find_context(CUcontext ctx, struct cot_emu_context **ret_context)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!ctx)
		return cot_emu_current_even_faulted(ret_context);
	*ret_context = cot_emu_place_of(ctx).context;
	return CUDA_SUCCESS;
}

static CUresult slot_put(CUcontext ctx, void *key, void *value, cot_emu_slot_end end)
{
	struct cot_emu_slot *slot = calloc(1, sizeof(*slot));
	struct cot_emu_context *c;
	CUresult result = find_context(ctx, &c);

	if (result || !slot) {
		free(slot);
		return result ? result : CUDA_ERROR_OUT_OF_MEMORY;
	}
	*slot = (struct cot_emu_slot){.key = key, .value = value, .end = end};
	pthread_mutex_lock(&c->lock);
	slot->next = c->slots;
	c->slots = slot;
	pthread_mutex_unlock(&c->lock);
	return CUDA_SUCCESS;
}

static CUresult slot_delete(CUcontext ctx, void *key)
{
	struct cot_emu_slot **at, *found;
	struct cot_emu_context *c;
	CUresult result = find_context(ctx, &c);

	if (result)
		return result;
	pthread_mutex_lock(&c->lock);
	for (at = &c->slots; *at && (*at)->key != key; at = &(*at)->next)
		;
	found = *at;
	if (found)
		*at = found->next;
	pthread_mutex_unlock(&c->lock);
	free(found);
	return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult slot_get(void **value, CUcontext ctx, void *key)
{
	const struct cot_emu_slot *slot;
	struct cot_emu_context *c;
	CUresult result = find_context(ctx, &c);

	if (result)
		return result;
	pthread_mutex_lock(&c->lock);
	for (slot = c->slots; slot && slot->key != key; slot = slot->next)
		;
	if (slot)
		*value = slot->value;
	pthread_mutex_unlock(&c->lock);
	return slot ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static void (*const context_local_storage[])(void) = {
	ENTRY(slot_put),
	ENTRY(slot_delete),
	ENTRY(slot_get),
	MISSING,
};

/* ---- checks ---- */

static CUresult check_context(CUcontext ctx, uint32_t *ret_flags, const void **ret_more)
{
	(void)ctx;
	(void)ret_more;
	*ret_flags = 0;
	return CUDA_SUCCESS;
}

static uint32_t check_nothing(void)
{
	return 0;
}

static void (*const checks[])(void) = {
	SIZE(4),
	MISSING,
	ENTRY(check_context),
	ENTRY(check_nothing),
};

/* ---- validity ---- */

static CUresult show_validity(uint32_t version, uint64_t seconds, uint64_t ret_number[2]);

static void (*const validity[])(void) = {SIZE(3), ENTRY(show_validity), MISSING};

static CUresult show_validity(uint32_t version, uint64_t seconds, uint64_t ret_number[2])
{
	struct cot_emu_validity v = {
		.runtime_version = version,
		.seconds = seconds,
		.runtime_table = (uintptr_t)runtime_interface,
		.validity_table = (uintptr_t)validity,
	};
	void (*self)(void) = ENTRY(show_validity);

	memcpy(&v.function, &self, sizeof(self));
	return cot_emu_validity_show(&v, ret_number);
}

/* ---- the list ---- */

static const struct {
	CUuuid id;
	void (*const *table)(void);
} tables[] = {
	{{{0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d,
	   0xf9}},
	 runtime_interface},
	{{{0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a,
	   0x66}},
	 callback_hooks},
	{{{0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec,
	   0xdc}},
	 thread_local_storage},
	{{{0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95,
	   0x93}},
	 context_local_storage},
	{{{0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa,
	   0x7e}},
	 checks},
	{{{0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b, 0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1,
	   0xf2}},
	 validity},
};

CUresult cot_emu_runtime_table(const void **table, const CUuuid *id)
{
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(tables); i++)
		if (!memcmp(id, &tables[i].id, sizeof(*id))) {
			*table = tables[i].table;
			return CUDA_SUCCESS;
		}
	*table = NULL;
	return CUDA_ERROR_NOT_FOUND;
}
