/*
 * The program's own requests: carried out as they are, and learnt from. What has to be known before
 * is copied with care, since its pointers may lead nowhere; what the driver has read is read after
 * it said so.
 */
#include <errno.h>
#include <string.h>

#include "cuda/rm/inside.h"

/* A request as the program made it, and what is inside when it is wrapped. */
struct request {
	int fd;
	unsigned long number;
	void *arg;
	unsigned nr, size;
	const void *body;
};

static int pass(struct cot_rm *rm, const struct request *r)
{
	return rm->host->ioctl(r->fd, r->number, r->arg);
}

/* False, and a doubt, where the program's memory cannot be read: the driver says what is wrong. */
static bool peek(struct cot_rm *rm, void *to, const void *from, size_t n)
{
	if (!rm->host->copy)
		memcpy(to, from, n);
	else if (!rm->host->copy(to, from, n)) {
		cot_rm_doubt(rm);
		return false;
	}
	return true;
}

static void changed(struct cot_rm *rm)
{
	if (rm->host->changed)
		rm->host->changed();
}

/* ---- allocation ---- */

/* Both layouts as one; *ret_packed: its parameters are not to be read. */
static bool read_alloc(struct cot_rm *rm, const struct request *r, struct cot_nv_alloc *ret,
		       bool *ret_packed)
{
	struct cot_nv_alloc_access a;

	*ret_packed = false;
	if (r->size == sizeof(*ret))
		return peek(rm, ret, r->body, sizeof(*ret));
	if (r->size != sizeof(a) || !peek(rm, &a, r->body, sizeof(a)))
		return false;
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
static uint32_t param_word(struct cot_rm *rm, const struct cot_nv_alloc *a, unsigned offset,
			   uint32_t otherwise)
{
	uint32_t word;

	/* The size may be left 0: then the class says it, and RM knows. */
	if (!a->params || (a->params_size && a->params_size < offset + sizeof(word)) ||
	    !peek(rm, &word, (const char *)(uintptr_t)a->params + offset, sizeof(word)))
		return otherwise;
	return word;
}

/* The new object's entry, copied; kind COT_RM_FREE when it found no place. */
static struct cot_rm_object record(struct cot_rm *rm, const struct request *r,
				   const struct cot_nv_alloc *a, bool packed, enum cot_rm_kind kind)
{
	struct cot_rm_object copy = {.kind = COT_RM_FREE};
	struct cot_rm_identity id = {0, 0, 0};
	uint32_t client = kind == COT_RM_CLIENT ? a->object : a->client;
	uint32_t instance = UINT32_MAX, engine = COT_NV_ENGINE_NONE;
	struct cot_rm_object *o;

	if (rm->host->identify && !rm->host->identify(r->fd, &id)) {
		cot_rm_doubt(rm);
		return copy;
	}
	if (!packed && kind == COT_RM_DEVICE)
		instance = param_word(rm, a, offsetof(struct cot_nv_device_params, device_id), 0);
	if (!packed && kind == COT_RM_GROUP)
		engine = param_word(rm, a, offsetof(struct cot_nv_group_params, engine_type),
				    COT_NV_ENGINE_NONE);
	pthread_mutex_lock(&rm->lock);
	o = cot_rm_table_add(&rm->table, kind, client, a->object, a->parent, r->fd, &id);
	if (o && kind == COT_RM_DEVICE)
		o->gpu = instance < 0xff ? (uint8_t)instance : 0xff;
	if (o && kind == COT_RM_GROUP)
		o->engine = engine;
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

	if (!read_alloc(rm, r, &a, &packed) || a.status != COT_NV_OK)
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

	if (!read_alloc(rm, r, &a, &packed))
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

	if (rc != 0 || r->size != sizeof(d) || !peek(rm, &d, r->body, sizeof(d)))
		return rc;
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
	bool fewer, taken_down, freed;
	struct cot_nv_free f;
	unsigned slot;
	int rc, saved;

	if (r->size != sizeof(f) || !peek(rm, &f, r->body, sizeof(f)))
		return pass(rm, r);
	taken_down = is_taken_down(rm, &f);
	if (taken_down)
		cot_rm_begin_change(rm);
	slot = cot_rm_begin_free(rm, f.client, f.object);
	rc = pass(rm, r);
	saved = errno;
	freed = rc == 0 && peek(rm, &f, r->body, sizeof(f)) && f.status == COT_NV_OK;
	pthread_mutex_lock(&rm->lock);
	groups = rm->table.n_groups;
	channels = rm->table.n_channels;
	if (freed)
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

static bool has_succeeded(struct cot_rm *rm, const struct request *r, int rc)
{
	struct cot_nv_control c;

	return rc == 0 && peek(rm, &c, r->body, sizeof(c)) && c.status == COT_NV_OK;
}

/* What the driver has just read, if it is as long as that. */
static bool read_params(struct cot_rm *rm, const struct cot_nv_control *c, void *to, size_t n)
{
	return c->params && !(c->flags & COT_NV_CONTROL_PACKED) && c->params_size == n &&
	       peek(rm, to, (const void *)(uintptr_t)c->params, n);
}

/* The driver has given a group its own slice: remembered, and the wanted one follows at once. */
static void after_set_slice(struct cot_rm *rm, const struct cot_nv_control *c)
{
	struct cot_rm_object *o, copy = {.kind = COT_RM_FREE};
	uint64_t wish = 0, us;
	bool known = read_params(rm, c, &wish, sizeof(wish));

	pthread_mutex_lock(&rm->lock);
	o = cot_rm_table_find(&rm->table, c->client, c->object);
	if (o && o->kind == COT_RM_GROUP) {
		if (known) {
			o->driver_slice_us = wish < UINT32_MAX ? (uint32_t)wish : UINT32_MAX;
			o->flags |= COT_RM_SLICE_KNOWN;
		}
		copy = *o;
	}
	pthread_mutex_unlock(&rm->lock);
	if (copy.kind == COT_RM_GROUP && atomic_load(&rm->want_slice_us))
		(void)cot_rm_slice_group(rm, &copy, &us);
}

/* Likewise of a channel's preemption mode. */
static void after_set_mode(struct cot_rm *rm, const struct cot_nv_control *c)
{
	struct cot_rm_object *o, copy = {.kind = COT_RM_FREE};
	uint32_t ours = atomic_load(&rm->want_mode);
	struct cot_nv_preemption p;

	if (!read_params(rm, c, &p, sizeof(p)) || !(p.flags & COT_NV_PREEMPTION_SET_COMPUTE))
		return;
	pthread_mutex_lock(&rm->lock);
	o = cot_rm_table_find(&rm->table, c->client, p.channel);
	if (o && o->kind == COT_RM_CHANNEL) {
		o->driver_mode = p.compute;
		copy = *o;
	}
	pthread_mutex_unlock(&rm->lock);
	if (copy.kind == COT_RM_CHANNEL && ours && cot_rm_mode_channel(rm, &copy, ours) == 0)
		cot_rm_mark(rm, &copy, COT_RM_MODE_SET | COT_RM_MODE_OURS, 0);
}

static int pass_then(struct cot_rm *rm, const struct request *r, const struct cot_nv_control *c,
		     void (*after)(struct cot_rm *rm, const struct cot_nv_control *c))
{
	int rc = pass(rm, r);
	int saved = errno;

	if (has_succeeded(rm, r, rc))
		after(rm, c);
	errno = saved;
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

static void after_schedule(struct cot_rm *rm, const struct cot_nv_control *c)
{
	/* What came after the freeze can be frozen now. */
	if (mark_scheduled(rm, c->client, c->object) && atomic_load(&rm->frozen))
		changed(rm);
}

static int pass_schedule(struct cot_rm *rm, const struct request *r, const struct cot_nv_control *c)
{
	int rc, saved;

	cot_rm_begin_change(rm);
	rc = pass_then(rm, r, c, after_schedule);
	saved = errno;
	cot_rm_end_change(rm);
	errno = saved;
	return rc;
}

static int pass_control(struct cot_rm *rm, const struct request *r)
{
	struct cot_nv_control c;

	if (r->size != sizeof(c) || !peek(rm, &c, r->body, sizeof(c)))
		return pass(rm, r);
	switch (c.cmd) {
	case COT_NV_GROUP_SET_SLICE:
		return pass_then(rm, r, &c, after_set_slice);
	case COT_NV_SET_PREEMPTION:
		return pass_then(rm, r, &c, after_set_mode);
	case COT_NV_GROUP_SCHEDULE:
	case COT_NV_CHANNEL_SCHEDULE:
		return pass_schedule(rm, r, &c);
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
		if (r.size != sizeof(xfer) || !peek(rm, &xfer, arg, sizeof(xfer)) || !xfer.ptr)
			return pass(rm, &r);
		r.nr = xfer.nr;
		r.size = xfer.size;
		r.body = (const void *)(uintptr_t)xfer.ptr;
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
