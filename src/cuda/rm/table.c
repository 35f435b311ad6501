#include "cuda/rm/table.h"

#include <stddef.h>
#include <string.h>

void cot_rm_table_init(struct cot_rm_table *t)
{
	unsigned i;

	/* The entries themselves are written when they are used: untouched pages cost nothing. */
	for (i = 0; i < COT_RM_BUCKETS; i++)
		t->buckets[i] = COT_RM_NONE;
	memset(t->fds, 0, sizeof(t->fds));
	t->free_list = COT_RM_NONE;
	t->n_used = 0;
	t->n_groups = 0;
	t->n_channels = 0;
	t->n_shared = 0;
}

static uint16_t *bucket_of(struct cot_rm_table *t, uint32_t client, uint32_t handle)
{
	uint32_t x = client * 0x9e3779b1u ^ handle * 0x85ebca6bu;

	return &t->buckets[(x ^ x >> 15) % COT_RM_BUCKETS];
}

struct cot_rm_object *cot_rm_table_find(struct cot_rm_table *t, uint32_t client, uint32_t handle)
{
	unsigned i = *bucket_of(t, client, handle);

	for (; i != COT_RM_NONE; i = t->objects[i].next)
		if (t->objects[i].client == client && t->objects[i].handle == handle)
			return &t->objects[i];
	return NULL;
}

static void count(struct cot_rm_table *t, const struct cot_rm_object *o, uint32_t by)
{
	if (o->kind == COT_RM_GROUP)
		t->n_groups += by;
	else if (o->kind == COT_RM_CHANNEL)
		t->n_channels += by;
	else if (o->kind == COT_RM_SHARED)
		t->n_shared += by;
	t->fds[o->fd].n_objects += by;
}

static void remove_one(struct cot_rm_table *t, struct cot_rm_object *o)
{
	uint16_t self = (uint16_t)(o - t->objects);
	uint16_t *link = bucket_of(t, o->client, o->handle);

	while (*link != self)
		link = &t->objects[*link].next;
	*link = o->next;
	count(t, o, (uint32_t)-1);
	o->kind = COT_RM_FREE;
	o->next = t->free_list;
	t->free_list = self;
}

/* An unused slot, or the one that already has this open file; COT_RM_MAX_FDS when full. */
static unsigned fd_slot(struct cot_rm_table *t, int fd, const struct cot_rm_identity *id)
{
	unsigned i, unused = COT_RM_MAX_FDS;

	for (i = 0; i < COT_RM_MAX_FDS; i++) {
		struct cot_rm_fd *f = &t->fds[i];

		if (!f->n_objects) {
			if (unused == COT_RM_MAX_FDS)
				unused = i;
		} else if (f->fd == fd) {
			if (memcmp(&f->id, id, sizeof(*id)) == 0)
				return i;
			/* The number is another file now: the program closed the old one, and the
			 * kernel freed the objects that came through it. */
			cot_rm_table_remove_fd(t, i);
			unused = i;
		}
	}
	if (unused < COT_RM_MAX_FDS)
		t->fds[unused] = (struct cot_rm_fd){.fd = fd, .id = *id};
	return unused;
}

static struct cot_rm_object *new_entry(struct cot_rm_table *t)
{
	struct cot_rm_object *o;

	if (t->free_list != COT_RM_NONE) {
		o = &t->objects[t->free_list];
		t->free_list = o->next;
		return o;
	}
	return t->n_used < COT_RM_MAX_OBJECTS ? &t->objects[t->n_used++] : NULL;
}

static void inherit(struct cot_rm_table *t, struct cot_rm_object *o)
{
	const struct cot_rm_object *up;

	o->gpu = 0xff;
	if (o->kind == COT_RM_DEVICE)
		o->device = o->handle;
	up = o->kind > COT_RM_DEVICE ? cot_rm_table_find(t, o->client, o->parent) : NULL;
	if (!up)
		return;
	o->device = up->device;
	o->gpu = up->gpu;
	if (o->kind == COT_RM_CHANNEL && up->kind == COT_RM_GROUP)
		o->engine = up->engine;
}

struct cot_rm_object *cot_rm_table_add(struct cot_rm_table *t, enum cot_rm_kind kind,
				       uint32_t client, uint32_t handle, uint32_t parent, int fd,
				       const struct cot_rm_identity *id)
{
	unsigned slot = fd_slot(t, fd, id);
	struct cot_rm_object *o;
	uint16_t *link;

	if (slot == COT_RM_MAX_FDS)
		return NULL;
	cot_rm_table_remove(t, client, handle);
	o = new_entry(t);
	if (!o)
		return NULL;
	*o = (struct cot_rm_object){
		.client = client,
		.handle = handle,
		.parent = parent,
		.kind = (uint8_t)kind,
		.fd = (uint8_t)slot,
	};
	inherit(t, o);
	link = bucket_of(t, client, handle);
	o->next = *link;
	*link = (uint16_t)(o - t->objects);
	count(t, o, 1);
	return o;
}

static bool has_children(const struct cot_rm_object *o)
{
	return o->kind == COT_RM_DEVICE || o->kind == COT_RM_SHARED || o->kind == COT_RM_GROUP;
}

/* Depth is bounded by the order of the kinds: a child's kind is above its parent's. */
static void remove_below(struct cot_rm_table *t, uint32_t client, uint32_t handle, unsigned kind)
{
	unsigned i;

	for (i = 0; i < t->n_used; i++) {
		struct cot_rm_object *o = &t->objects[i];

		if (o->kind <= kind || o->client != client || o->parent != handle)
			continue;
		if (has_children(o))
			remove_below(t, client, o->handle, o->kind);
		remove_one(t, o);
	}
}

void cot_rm_table_remove(struct cot_rm_table *t, uint32_t client, uint32_t handle)
{
	struct cot_rm_object *o;
	unsigned i;

	if (client == handle) {
		for (i = 0; i < t->n_used; i++)
			if (t->objects[i].kind != COT_RM_FREE && t->objects[i].client == client)
				remove_one(t, &t->objects[i]);
		return;
	}
	o = cot_rm_table_find(t, client, handle);
	if (!o)
		return;
	if (has_children(o))
		remove_below(t, client, handle, o->kind);
	remove_one(t, o);
}

void cot_rm_table_remove_fd(struct cot_rm_table *t, unsigned fd_index)
{
	unsigned i;

	for (i = 0; i < t->n_used; i++)
		if (t->objects[i].kind != COT_RM_FREE && t->objects[i].fd == fd_index)
			remove_one(t, &t->objects[i]);
}

bool cot_rm_table_next(const struct cot_rm_table *t, enum cot_rm_kind kind, unsigned *index,
		       struct cot_rm_object *ret_object)
{
	for (; *index < t->n_used; (*index)++) {
		if (t->objects[*index].kind != kind)
			continue;
		*ret_object = t->objects[(*index)++];
		return true;
	}
	return false;
}

uint64_t cot_rm_table_gpus(const struct cot_rm_table *t)
{
	struct cot_rm_object o;
	uint64_t gpus = 0;
	unsigned i = 0;

	while (cot_rm_table_next(t, COT_RM_GROUP, &i, &o))
		if (o.gpu != 0xff)
			gpus |= 1ull << (o.gpu < 63 ? o.gpu : 63);
	return gpus;
}
