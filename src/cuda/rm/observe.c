/* The program's own requests: carried out, learnt from, and in two cases changed on their way. */
#include <errno.h>
#include <string.h>

#include "cuda/rm/inside.h"

/* A request as the program made it, and what is inside when it is wrapped. */
struct request {
	int fd;
	unsigned long number;
	void *arg;
	unsigned nr, size;
	void *body;
	bool wrapped;
};

static int pass(struct cot_rm *rm, const struct request *r)
{
	return rm->host->ioctl(r->fd, r->number, r->arg);
}

/* The same request with another body of the same size. */
static int pass_body(struct cot_rm *rm, const struct request *r, void *body)
{
	struct cot_nv_xfer xfer = {.nr = r->nr, .size = r->size, .ptr = (uintptr_t)body};

	return rm->host->ioctl(r->fd, r->number, r->wrapped ? (void *)&xfer : body);
}

static void changed(struct cot_rm *rm)
{
	if (rm->host->changed)
		rm->host->changed();
}

/* ---- allocation ---- */

/* Both layouts as one; *ret_packed: its parameters are not to be read. */
static bool read_alloc(const struct request *r, struct cot_nv_alloc *ret, bool *ret_packed)
{
	struct cot_nv_alloc_access a;

	*ret_packed = false;
	if (r->size == sizeof(*ret)) {
		memcpy(ret, r->body, sizeof(*ret));
		return true;
	}
	if (r->size != sizeof(a))
		return false;
	memcpy(&a, r->body, sizeof(a));
	*ret = (struct cot_nv_alloc){
		.client = a.client,
		.parent = a.parent,
		.object = a.object,
		.class_ = a.class_,
		.params = a.params,
		.params_size = a.params_size,
		.status = a.status,
	};
	*ret_packed = a.flags & COT_NV_ALLOC_PACKED;
	return true;
}

/* A channel or a group, and not the program's memory or anything else. */
static bool is_channel(struct cot_rm *rm, uint32_t client, uint32_t handle)
{
	const struct cot_rm_object *o;
	bool yes;

	pthread_mutex_lock(&rm->lock);
	o = cot_rm_table_find(&rm->table, client, handle);
	yes = o && (o->kind == COT_RM_GROUP || o->kind == COT_RM_CHANNEL);
	pthread_mutex_unlock(&rm->lock);
	return yes;
}

static enum cot_rm_kind kind_of(uint32_t class_)
{
	switch (class_) {
	case COT_NV_CLASS_ROOT:
	case COT_NV_CLASS_ROOT_NON_PRIV:
	case COT_NV_CLASS_ROOT_CLIENT:
		return COT_RM_CLIENT;
	case COT_NV_CLASS_DEVICE:
		return COT_RM_DEVICE;
	case COT_NV_CLASS_SUBDEVICE:
		return COT_RM_SUBDEVICE;
	case COT_NV_CLASS_GROUP:
		return COT_RM_GROUP;
	default:
		return cot_nv_is_channel_class(class_) ? COT_RM_CHANNEL : COT_RM_FREE;
	}
}

/* A word of the allocation's parameters, which RM has just read from the same place. */
static uint32_t param_word(const struct cot_nv_alloc *a, unsigned offset, uint32_t otherwise)
{
	uint32_t word;

	/* The size may be left 0: then the class says it, and RM knows. */
	if (!a->params || (a->params_size && a->params_size < offset + sizeof(word)))
		return otherwise;
	memcpy(&word, (const char *)(uintptr_t)a->params + offset, sizeof(word));
	return word;
}

/* The new object's entry, copied; kind COT_RM_FREE when it found no place. */
static struct cot_rm_object record(struct cot_rm *rm, const struct request *r,
				   const struct cot_nv_alloc *a, bool packed, enum cot_rm_kind kind)
{
	struct cot_rm_object copy = {.kind = COT_RM_FREE};
	struct cot_rm_identity id = {0, 0, 0};
	uint32_t client = kind == COT_RM_CLIENT ? a->object : a->client;
	struct cot_rm_object *o;

	if (rm->host->identify && !rm->host->identify(r->fd, &id)) {
		cot_rm_doubt(rm);
		return copy;
	}
	pthread_mutex_lock(&rm->lock);
	o = cot_rm_table_add(&rm->table, kind, client, a->object, a->parent, r->fd, &id);
	if (o && !packed && kind == COT_RM_DEVICE) {
		uint32_t instance = param_word(a, COT_NV_DEVICE_INSTANCE_OFFSET, 0);

		o->gpu = instance < 0xff ? (uint8_t)instance : 0xff;
	} else if (o && !packed && kind == COT_RM_GROUP) {
		o->engine = param_word(a, COT_NV_GROUP_ENGINE_OFFSET, COT_NV_ENGINE_NONE);
	}
	if (o)
		copy = *o;
	pthread_mutex_unlock(&rm->lock);
	if (!o)
		atomic_fetch_add(&rm->n_lost, 1);
	return copy;
}

/* A compute object makes its channel one whose preemption mode can be set. */
static void record_compute(struct cot_rm *rm, const struct cot_nv_alloc *a)
{
	struct cot_rm_object parent = {.client = a->client, .handle = a->parent}, *now;
	uint32_t mode = atomic_load(&rm->want_mode);

	if (!cot_rm_mark(rm, &parent, COT_RM_COMPUTE, COT_RM_MODE_SET))
		return;
	pthread_mutex_lock(&rm->lock);
	now = cot_rm_table_find(&rm->table, a->client, a->parent);
	if (now)
		parent = *now;
	pthread_mutex_unlock(&rm->lock);
	if (mode && parent.kind == COT_RM_CHANNEL && cot_rm_mode_channel(rm, &parent, mode) == 0)
		cot_rm_mark(rm, &parent, COT_RM_MODE_SET | COT_RM_MODE_OURS, 0);
	changed(rm);
}

static void after_alloc(struct cot_rm *rm, const struct request *r)
{
	struct cot_rm_object o;
	struct cot_nv_alloc a;
	enum cot_rm_kind kind;
	bool packed;
	uint64_t us;

	if (!read_alloc(r, &a, &packed) || a.status != COT_NV_OK)
		return;
	if (cot_nv_is_compute_class(a.class_)) {
		record_compute(rm, &a);
		return;
	}
	kind = kind_of(a.class_);
	if (kind == COT_RM_FREE)
		return;
	o = record(rm, r, &a, packed, kind);
	if (kind != COT_RM_GROUP && kind != COT_RM_CHANNEL)
		return;
	if (o.kind == COT_RM_GROUP && atomic_load(&rm->want_slice_us))
		(void)cot_rm_slice_group(rm, &o, &us);
	changed(rm);
}

/* Of a channel or a group: itself, or something below it. */
static bool is_set_up(struct cot_rm *rm, const struct request *r)
{
	struct cot_nv_alloc a;
	enum cot_rm_kind kind;
	bool packed;

	if (!read_alloc(r, &a, &packed))
		return false;
	kind = kind_of(a.class_);
	return kind == COT_RM_GROUP || kind == COT_RM_CHANNEL ||
	       cot_nv_is_compute_class(a.class_) || is_channel(rm, a.client, a.parent);
}

static int pass_alloc(struct cot_rm *rm, const struct request *r)
{
	bool set_up = is_set_up(rm, r);
	int rc, saved;

	if (set_up)
		cot_rm_begin_change(rm);
	rc = pass(rm, r);
	saved = errno;
	if (rc == 0)
		after_alloc(rm, r);
	if (set_up)
		cot_rm_end_change(rm);
	errno = saved;
	return rc;
}

/* ---- duplicating ---- */

/*
 * A client of an MPS server makes no compute group of its own: it duplicates the server's below its
 * device, and allocates its channels in there. What a duplicate is of is not said, so all below a
 * device are kept, up to a number: there are few before the first channels.
 */
static int pass_dup(struct cot_rm *rm, const struct request *r)
{
	struct cot_rm_identity id = {0, 0, 0};
	const struct cot_rm_object *device;
	struct cot_nv_dup d;
	int rc = pass(rm, r);
	int saved = errno;

	if (rc != 0 || r->size != sizeof(d))
		return rc;
	memcpy(&d, r->body, sizeof(d));
	if (d.status != COT_NV_OK || (rm->host->identify && !rm->host->identify(r->fd, &id)))
		goto out;
	pthread_mutex_lock(&rm->lock);
	device = cot_rm_table_find(&rm->table, d.client, d.parent);
	if (device && device->kind == COT_RM_DEVICE && rm->table.n_shared < COT_RM_MAX_SHARED)
		(void)cot_rm_table_add(&rm->table, COT_RM_SHARED, d.client, d.object, d.parent,
				       r->fd, &id);
	pthread_mutex_unlock(&rm->lock);
out:
	errno = saved;
	return rc;
}

/* ---- freeing ---- */

/* Frees channels or groups: themselves, a device or a client that has some, what is below them. */
static bool is_taken_down(struct cot_rm *rm, const struct cot_nv_free *f)
{
	const struct cot_rm_object *o;
	bool yes = false;

	if (is_channel(rm, f->client, f->object) || is_channel(rm, f->client, f->parent))
		return true;
	pthread_mutex_lock(&rm->lock);
	o = cot_rm_table_find(&rm->table, f->client, f->object);
	if (o && (o->kind == COT_RM_CLIENT || o->kind == COT_RM_DEVICE))
		yes = rm->table.n_groups || rm->table.n_channels;
	pthread_mutex_unlock(&rm->lock);
	return yes;
}

static int pass_free(struct cot_rm *rm, const struct request *r)
{
	uint32_t groups, channels;
	bool fewer, taken_down;
	struct cot_nv_free f;
	unsigned slot;
	int rc, saved;

	if (r->size != sizeof(f))
		return pass(rm, r);
	memcpy(&f, r->body, sizeof(f));
	taken_down = is_taken_down(rm, &f);
	if (taken_down)
		cot_rm_begin_change(rm);
	slot = cot_rm_begin_free(rm, f.client, f.object);
	rc = pass(rm, r);
	saved = errno;
	memcpy(&f, r->body, sizeof(f));
	pthread_mutex_lock(&rm->lock);
	groups = rm->table.n_groups;
	channels = rm->table.n_channels;
	if (rc == 0 && f.status == COT_NV_OK)
		cot_rm_table_remove(&rm->table, f.client, f.object);
	cot_rm_end_free(rm, slot);
	fewer = rm->table.n_groups != groups || rm->table.n_channels != channels;
	pthread_mutex_unlock(&rm->lock);
	if (fewer)
		changed(rm);
	if (taken_down)
		cot_rm_end_change(rm);
	errno = saved;
	return rc;
}

/* ---- the driver's own controls ---- */

/* The driver wants this slice for a group: remembered, and ours goes instead. */
static int pass_set_slice(struct cot_rm *rm, const struct request *r, struct cot_nv_control *c)
{
	uint64_t wish, ours = atomic_load(&rm->want_slice_us);
	struct cot_rm_object *o, copy = {.kind = COT_RM_FREE};
	int rc, saved;

	memcpy(&wish, (const void *)(uintptr_t)c->params, sizeof(wish));
	pthread_mutex_lock(&rm->lock);
	o = cot_rm_table_find(&rm->table, c->client, c->object);
	if (o && o->kind == COT_RM_GROUP) {
		o->driver_slice_us = wish < UINT32_MAX ? (uint32_t)wish : UINT32_MAX;
		o->flags |= COT_RM_SLICE_KNOWN | (ours ? COT_RM_SLICE_OURS : 0);
		copy = *o;
	}
	pthread_mutex_unlock(&rm->lock);
	if (copy.kind == COT_RM_FREE || !ours) {
		rc = pass(rm, r);
	} else {
		struct cot_nv_control mine = *c;

		mine.params = (uintptr_t)&ours;
		rc = pass_body(rm, r, &mine);
		mine.params = c->params;
		memcpy(r->body, &mine, sizeof(mine));
	}
	saved = errno;
	/* Another slice may have been ordered while this one was on its way. */
	if (copy.kind != COT_RM_FREE && atomic_load(&rm->want_slice_us) != ours)
		(void)cot_rm_slice_group(rm, &copy, &wish);
	errno = saved;
	return rc;
}

/* Likewise for a channel's preemption mode. */
static int pass_set_mode(struct cot_rm *rm, const struct request *r, struct cot_nv_control *c)
{
	uint32_t ours = atomic_load(&rm->want_mode);
	struct cot_nv_control mine = *c;
	struct cot_nv_preemption p;
	struct cot_rm_object *o;
	bool known = false;
	int rc;

	memcpy(&p, (const void *)(uintptr_t)c->params, sizeof(p));
	pthread_mutex_lock(&rm->lock);
	o = cot_rm_table_find(&rm->table, c->client, p.channel);
	if (o && o->kind == COT_RM_CHANNEL && p.flags & COT_NV_PREEMPTION_SET_COMPUTE) {
		o->driver_mode = p.compute;
		o->flags |= ours ? COT_RM_MODE_OURS : 0;
		known = true;
	}
	pthread_mutex_unlock(&rm->lock);
	if (!known || !ours)
		return pass(rm, r);
	p.compute = ours;
	mine.params = (uintptr_t)&p;
	rc = pass_body(rm, r, &mine);
	mine.params = c->params;
	memcpy(r->body, &mine, sizeof(mine));
	return rc;
}

/* A channel, or all channels that are in a group by now, may run from here on. */
static bool mark_scheduled(struct cot_rm *rm, uint32_t client, uint32_t handle)
{
	struct cot_rm_object *o;
	bool known = false;
	unsigned i;

	pthread_mutex_lock(&rm->lock);
	for (i = 0; i < rm->table.n_used; i++) {
		o = &rm->table.objects[i];
		if (o->kind != COT_RM_CHANNEL || o->client != client ||
		    (o->handle != handle && o->parent != handle))
			continue;
		o->flags |= COT_RM_SCHEDULED;
		known = true;
	}
	pthread_mutex_unlock(&rm->lock);
	return known;
}

static int pass_schedule(struct cot_rm *rm, const struct request *r)
{
	struct cot_nv_control c;
	int rc, saved;

	cot_rm_begin_change(rm);
	rc = pass(rm, r);
	saved = errno;
	memcpy(&c, r->body, sizeof(c));
	if (rc == 0 && c.status == COT_NV_OK) {
		/* What came after the freeze can be frozen now. */
		if (mark_scheduled(rm, c.client, c.object) && atomic_load(&rm->frozen))
			changed(rm);
	}
	cot_rm_end_change(rm);
	errno = saved;
	return rc;
}

/* A slice whose parameters we cannot read: it passes, and the wanted one follows. */
static int pass_unread_slice(struct cot_rm *rm, const struct request *r,
			     const struct cot_nv_control *c)
{
	struct cot_rm_object copy = {.kind = COT_RM_FREE}, *o;
	int rc = pass(rm, r);
	int saved = errno;
	uint64_t us;

	pthread_mutex_lock(&rm->lock);
	o = cot_rm_table_find(&rm->table, c->client, c->object);
	if (o)
		copy = *o;
	pthread_mutex_unlock(&rm->lock);
	if (copy.kind == COT_RM_GROUP && atomic_load(&rm->want_slice_us))
		(void)cot_rm_slice_group(rm, &copy, &us);
	errno = saved;
	return rc;
}

static int pass_control(struct cot_rm *rm, const struct request *r)
{
	struct cot_nv_control c;
	bool readable;

	if (r->size != sizeof(c))
		return pass(rm, r);
	memcpy(&c, r->body, sizeof(c));
	readable = c.params && !(c.flags & COT_NV_CONTROL_PACKED);
	switch (c.cmd) {
	case COT_NV_GROUP_SET_SLICE:
		if (readable && c.params_size == sizeof(uint64_t))
			return pass_set_slice(rm, r, &c);
		return pass_unread_slice(rm, r, &c);
	case COT_NV_SET_PREEMPTION:
		if (readable && c.params_size == sizeof(struct cot_nv_preemption))
			return pass_set_mode(rm, r, &c);
		return pass(rm, r);
	case COT_NV_GROUP_SCHEDULE:
	case COT_NV_CHANNEL_SCHEDULE:
		return pass_schedule(rm, r);
	default:
		return pass(rm, r);
	}
}

/* ---- entry ---- */

int cot_rm_pass(struct cot_rm *rm, int fd, unsigned long number, void *arg)
{
	struct request r = {
		.fd = fd,
		.number = number,
		.arg = arg,
		.nr = _IOC_NR(number),
		.size = _IOC_SIZE(number),
		.body = arg,
	};
	struct cot_nv_xfer xfer;

	if (!arg)
		return pass(rm, &r);
	if (r.nr == COT_NV_NR_XFER) {
		if (r.size != sizeof(xfer))
			return pass(rm, &r);
		memcpy(&xfer, arg, sizeof(xfer));
		if (!xfer.ptr)
			return pass(rm, &r);
		r.nr = xfer.nr;
		r.size = xfer.size;
		r.body = (void *)(uintptr_t)xfer.ptr;
		r.wrapped = true;
	}
	switch (r.nr) {
	case COT_NV_NR_ALLOC:
		return pass_alloc(rm, &r);
	case COT_NV_NR_DUP:
		return pass_dup(rm, &r);
	case COT_NV_NR_FREE:
		return pass_free(rm, &r);
	case COT_NV_NR_CONTROL:
		return pass_control(rm, &r);
	default:
		return pass(rm, &r);
	}
}
