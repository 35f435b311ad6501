#include "fake_rm.h"

#include <errno.h>
#include <string.h>

#include "cuda/abi/rm.h"

#define CHANNEL_GROUP COT_NV_CLASS_GROUP

struct fake_object *fake_rm_find(struct fake_rm *f, uint32_t client, uint32_t handle)
{
	unsigned i;

	for (i = 0; i < f->n_objects; i++)
		if (f->objects[i].live && f->objects[i].handle == handle &&
		    (!client || f->objects[i].client == client))
			return &f->objects[i];
	return NULL;
}

unsigned fake_rm_count(const struct fake_rm *f, uint32_t class_, bool only_disabled)
{
	unsigned i, n = 0;

	for (i = 0; i < f->n_objects; i++)
		if (f->objects[i].live && f->objects[i].class_ == class_ &&
		    (!only_disabled || f->objects[i].disabled))
			n++;
	return n;
}

static uint32_t alloc(struct fake_rm *f, int pid, uint32_t client, uint32_t parent,
		      uint32_t *handle, uint32_t class_)
{
	struct fake_object *o;

	if (f->fail_alloc)
		return f->fail_alloc;
	if (f->n_objects == FAKE_MAX_OBJECTS)
		return COT_NV_NO_MEMORY;
	if (!*handle)
		*handle = 0xc1d00000u + ++f->next_handle;
	if (class_ == COT_NV_CLASS_ROOT || class_ == COT_NV_CLASS_ROOT_CLIENT)
		client = *handle;
	o = &f->objects[f->n_objects++];
	*o = (struct fake_object){.live = true,
				  .pid = pid,
				  .client = client,
				  .handle = *handle,
				  .parent = parent,
				  .class_ = class_};
	if (class_ == CHANNEL_GROUP)
		o->slice_us = COT_NV_DEFAULT_SLICE_US;
	return COT_NV_OK;
}

static void release(struct fake_rm *f, uint32_t client, uint32_t handle)
{
	unsigned i;

	for (i = 0; i < f->n_objects; i++) {
		struct fake_object *o = &f->objects[i];

		if (!o->live || o->client != client)
			continue;
		if (o->handle == handle || client == handle) {
			o->live = false;
		} else if (o->parent == handle) {
			release(f, client, o->handle);
		}
	}
}

static uint32_t disable(struct fake_rm *f, int pid, const struct cot_nv_disable *d, uint64_t now_ns)
{
	struct fake_object *o;
	uint32_t i;

	f->n_disable++;
	if (d->n_channels > COT_NV_DISABLE_MAX || d->event)
		return COT_NV_INVALID_ARGUMENT;
	if (d->n_channels > f->largest_chunk)
		f->largest_chunk = d->n_channels;
	for (i = 0; i < d->n_channels; i++)
		if (d->channels[i] == f->bad_channel || !d->clients[i] ||
		    !fake_rm_find(f, d->clients[i], d->channels[i]))
			return COT_NV_INVALID_CHANNEL;
	for (i = 0; i < d->n_channels; i++) {
		o = fake_rm_find(f, d->clients[i], d->channels[i]);
		if (o->pid != pid)
			f->n_foreign++;
		if (o->disabled != !!d->disable)
			o->changed_ns = now_ns;
		o->disabled = d->disable;
		o->hung |= d->disable && !o->scheduled;
	}
	return COT_NV_OK;
}

static void schedule_group(struct fake_rm *f, const struct fake_object *group)
{
	unsigned i;

	for (i = 0; i < f->n_objects; i++)
		if (f->objects[i].live && f->objects[i].client == group->client &&
		    f->objects[i].parent == group->handle)
			f->objects[i].scheduled = true;
}

static uint32_t group_control(struct fake_rm *f, struct fake_object *o, uint32_t cmd, void *params)
{
	switch (cmd) {
	case COT_NV_GROUP_SET_SLICE:
		f->n_set_slice++;
		if (f->fail_set_slice)
			return f->fail_set_slice;
		if (f->ignore_sets)
			f->ignore_sets--;
		else
			memcpy(&o->slice_us, params, sizeof(o->slice_us));
		return COT_NV_OK;
	case COT_NV_GROUP_GET_SLICE:
		if (f->fail_get_slice)
			return f->fail_get_slice;
		memcpy(params, &o->slice_us, sizeof(o->slice_us));
		return COT_NV_OK;
	case COT_NV_GROUP_PREEMPT:
		f->n_preempt += ((const struct cot_nv_preempt *)params)->wait == 1;
		return f->fail_preempt;
	case COT_NV_GROUP_SCHEDULE:
		schedule_group(f, o);
		return COT_NV_OK;
	default:
		return COT_NV_NOT_SUPPORTED;
	}
}

static uint32_t set_mode(struct fake_rm *f, uint32_t client, const struct cot_nv_preemption *p)
{
	struct fake_object *o = fake_rm_find(f, client, p->channel);
	unsigned i;

	if (!o || !cot_nv_is_channel_class(o->class_))
		return COT_NV_INVALID_CHANNEL;
	/* Only channels with a compute object have a mode. */
	for (i = 0; i < f->n_objects; i++)
		if (f->objects[i].live && f->objects[i].parent == o->handle &&
		    cot_nv_is_compute_class(f->objects[i].class_))
			break;
	if (i == f->n_objects)
		return COT_NV_INVALID_STATE;
	if (p->flags & COT_NV_PREEMPTION_SET_COMPUTE)
		o->mode = p->compute;
	return COT_NV_OK;
}

static uint32_t control(struct fake_rm *f, int pid, const struct cot_nv_control *c, uint64_t now_ns)
{
	struct fake_object *o = fake_rm_find(f, c->client, c->object);
	void *params = (void *)(uintptr_t)c->params;

	f->n_controls++;
	if (!fake_rm_find(f, c->client, c->client))
		return COT_NV_INVALID_CLIENT;
	if (!o)
		return COT_NV_INVALID_OBJECT_HANDLE;
	if (o->pid != pid)
		f->n_foreign++;
	if (o->class_ == COT_NV_CLASS_SUBDEVICE && c->cmd == COT_NV_DISABLE_CHANNELS) {
		f->disable_by = c->object;
		return disable(f, pid, params, now_ns);
	}
	if (o->class_ == COT_NV_CLASS_SUBDEVICE && c->cmd == COT_NV_SET_PREEMPTION) {
		f->mode_by = c->object;
		return f->fail_set_mode ? f->fail_set_mode : set_mode(f, c->client, params);
	}
	if (o->class_ == CHANNEL_GROUP)
		return group_control(f, o, c->cmd, params);
	if (cot_nv_is_channel_class(o->class_) && c->cmd == COT_NV_CHANNEL_SCHEDULE) {
		o->scheduled = true;
		return COT_NV_OK;
	}
	return COT_NV_NOT_SUPPORTED;
}

int fake_rm_ioctl(struct fake_rm *f, int pid, unsigned long request, void *arg, uint64_t now_ns)
{
	struct cot_nv_alloc_access *access = arg;
	struct cot_nv_alloc *a = arg;
	struct cot_nv_free *fr = arg;
	struct cot_nv_control *c = arg;
	struct cot_nv_xfer *x = arg;
	struct cot_nv_dup *d = arg;

	if (f->fail_errno) {
		errno = f->fail_errno;
		return -1;
	}
	switch (_IOC_NR(request)) {
	case COT_NV_NR_XFER:
		return fake_rm_ioctl(f, pid, COT_NV_REQUEST(x->nr, x->size),
				     (void *)(uintptr_t)x->ptr, now_ns);
	case COT_NV_NR_ALLOC:
		if (_IOC_SIZE(request) == sizeof(*access))
			access->status = alloc(f, pid, access->client, access->parent,
					       &access->object, access->class_);
		else
			a->status = alloc(f, pid, a->client, a->parent, &a->object, a->class_);
		return 0;
	case COT_NV_NR_DUP: /* of whatever it is: an object without a class */
		d->status = alloc(f, pid, d->client, d->parent, &d->object, FAKE_CLASS_SHARED);
		return 0;
	case COT_NV_NR_FREE:
		release(f, fr->client, fr->object);
		fr->status = COT_NV_OK;
		return 0;
	case COT_NV_NR_CONTROL:
		c->status = control(f, pid, c, now_ns);
		return 0;
	default:
		errno = ENOTTY;
		return -1;
	}
}
