#include "emu/rm/objects.h"

#include <stdlib.h>

#include "base/grow.h"

#define FIRST_CLIENT 0xc1d00001u /* where the real one begins */
#define FIRST_HANDLE 0xcaf00001u

struct cot_emu_rm_object *cot_emu_rm_find(struct cot_emu_rm_table *t, uint32_t client,
					  uint32_t handle)
{
	uint32_t i;

	for (i = 0; i < t->n_objects; i++)
		if (t->objects[i].client == client && t->objects[i].handle == handle)
			return &t->objects[i];
	return NULL;
}

struct cot_emu_rm_object *cot_emu_rm_add(struct cot_emu_rm_table *t,
					 const struct cot_emu_rm_object *o)
{
	struct cot_emu_rm_object *objects, *slot;

	if (t->n_objects == COT_EMU_RM_MAX_OBJECTS)
		return NULL;
	objects = cot_grow(t->objects, t->n_objects, &t->n_allocated, sizeof(*objects));
	if (!objects)
		return NULL;
	t->objects = objects;
	slot = &t->objects[t->n_objects++];
	*slot = *o;
	if (!slot->handle && cot_emu_rm_is_root(slot->class_))
		slot->handle = FIRST_CLIENT + t->last_client++;
	else if (!slot->handle)
		slot->handle = FIRST_HANDLE + t->last_handle++;
	if (cot_emu_rm_is_root(slot->class_))
		slot->client = slot->handle;
	return slot;
}

void cot_emu_rm_remove(struct cot_emu_rm_table *t, struct cot_emu_rm_object *o)
{
	*o = t->objects[--t->n_objects];
}

struct cot_emu_rm_object *cot_emu_rm_child(struct cot_emu_rm_table *t,
					   const struct cot_emu_rm_object *o)
{
	uint32_t i;

	for (i = 0; i < t->n_objects; i++)
		if (t->objects[i].client == o->client && t->objects[i].parent == o->handle &&
		    &t->objects[i] != o)
			return &t->objects[i];
	return NULL;
}
