/*
 * The handles that this process has allocated from the emulated resource manager: a bounded table
 * of (client, handle) -> class, parent and its object in the model. Private to the process; rm.c
 * holds the lock.
 */
#ifndef COT_EMU_RM_OBJECTS_H
#define COT_EMU_RM_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/gpu/model.h"

#define COT_EMU_RM_MAX_OBJECTS 4096u

struct cot_emu_rm_object {
	uint32_t client, handle, parent, class_;
	uint32_t gpu; /* of devices and what lies below */
	union {
		struct cot_emu_group_id group;
		struct cot_emu_channel_id channel;
	} is;
};

struct cot_emu_rm_table {
	struct cot_emu_rm_object *objects; /* grows; owned */
	uint32_t n_objects;
	size_t n_allocated;
	uint32_t last_client, last_handle;
};

static inline bool cot_emu_rm_is_root(uint32_t class_)
{
	return class_ == 0x0000 || class_ == 0x0001 || class_ == 0x0041;
}

/* All generations of channels end in 6F: 0x906F, 0xC36F, 0xC86F. */
static inline bool cot_emu_rm_is_channel(uint32_t class_)
{
	return (class_ & 0xff) == 0x6f && class_ >= 0x506f;
}

struct cot_emu_rm_object *cot_emu_rm_find(struct cot_emu_rm_table *t, uint32_t client,
					  uint32_t handle);
/* A copy is stored; handle 0 is replaced by a fresh one. NULL: full. The pointer is good until the
 * next change. */
struct cot_emu_rm_object *cot_emu_rm_add(struct cot_emu_rm_table *t,
					 const struct cot_emu_rm_object *o);
/* Removes one object without children. */
void cot_emu_rm_remove(struct cot_emu_rm_table *t, struct cot_emu_rm_object *o);
/* Any child of the object, or NULL. For a client: anything that belongs to it. */
struct cot_emu_rm_object *cot_emu_rm_child(struct cot_emu_rm_table *t,
					   const struct cot_emu_rm_object *o);

#endif
