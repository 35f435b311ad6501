#include "emu/rm/rm.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/guarded.h"
#include "emu/rm/inside.h"

#define DEVICE_PREFIX "/dev/nvidia"
#define VERSION_TEXT  "580.0-cotenant-emu"
#define MAX_NODES     8u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cot_emu_rm_table table; /* under lock */
static _Atomic int owner_pid;	      /* the process whose handles these are; 0: none */

static _Atomic uint64_t changed_ns; /* when channels were set up or taken down last */

/* Device nodes that this process has opened: the first n_nodes no longer change. */
static struct {
	dev_t dev;
	ino_t ino;
} nodes[MAX_NODES];
static _Atomic unsigned n_nodes;

/* ---- nodes ---- */

bool cot_emu_rm_is_node(const char *path)
{
	const char *rest = path;

	if (strncmp(path, DEVICE_PREFIX, strlen(DEVICE_PREFIX)))
		return false;
	rest += strlen(DEVICE_PREFIX);
	if (!strcmp(rest, "ctl") || !strcmp(rest, "-uvm"))
		return true;
	return rest[0] >= '0' && rest[0] < '0' + (int)COT_EMU_MAX_GPUS && !rest[1];
}

static void remember_node(int fd)
{
	struct stat st;
	unsigned n;

	if (cot_emu_rm_is_ours(fd) || fstat(fd, &st))
		return;
	pthread_mutex_lock(&lock);
	n = atomic_load(&n_nodes);
	if (n < MAX_NODES) {
		nodes[n].dev = st.st_dev;
		nodes[n].ino = st.st_ino;
		atomic_store(&n_nodes, n + 1);
	}
	pthread_mutex_unlock(&lock);
}

int cot_emu_rm_open(const char *path, int flags)
{
	const char *name = path + strlen("/dev/");
	struct cot_emu_config config;
	int fd;

	config = cot_emu_config_read();
	if (!cot_emu_rm_is_node(path) ||
	    (name[6] >= '0' && name[6] <= '9' && name[6] >= '0' + (int)config.params.n_gpus)) {
		errno = ENOENT;
		return -1;
	}
	fd = cot_emu_gpu_open_node(name, flags);
	if (fd < 0) {
		errno = -fd;
		return -1;
	}
	remember_node(fd);
	return fd;
}

bool cot_emu_rm_is_ours(int fd)
{
	unsigned n = atomic_load(&n_nodes), i;
	struct stat st;

	if (!n || fstat(fd, &st))
		return false;
	for (i = 0; i < n; i++)
		if (nodes[i].dev == st.st_dev && nodes[i].ino == st.st_ino)
			return true;
	return false;
}

/* ---- objects ---- */

uint32_t cot_emu_rm_status(int err)
{
	switch (-err) {
	case 0:
		return COT_NV_OK;
	case EINVAL:
		return COT_NV_INVALID_ARGUMENT;
	case ENOENT:
		return COT_NV_OBJECT_NOT_FOUND;
	case ETIMEDOUT:
		return COT_NV_TIMEOUT;
	case ENOSPC:
	case ENOMEM:
		return COT_NV_INSUFFICIENT_RESOURCES;
	default:
		return COT_NV_INVALID_STATE;
	}
}

bool cot_emu_rm_lookup(uint32_t client, uint32_t handle, struct cot_emu_rm_object *ret_object)
{
	struct cot_emu_rm_object *o;

	pthread_mutex_lock(&lock);
	o = cot_emu_rm_find(&table, client, handle);
	if (o)
		*ret_object = *o;
	pthread_mutex_unlock(&lock);
	return o;
}

/* Reads a structure of the caller; a shorter one leaves the rest zero. */
static void read_params(void *to, size_t size, uint64_t params, uint32_t params_size)
{
	memset(to, 0, size);
	if (params)
		memcpy(to, (const void *)(uintptr_t)params,
		       params_size && params_size < size ? params_size : size);
}

static void note_change(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	atomic_store(&changed_ns, (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
}

uint64_t cot_emu_rm_changed_ns(void)
{
	return atomic_load(&changed_ns);
}

static uint32_t make_group(struct cot_emu_gpu *gpu, struct cot_emu_rm_object *o, uint64_t params,
			   uint32_t params_size)
{
	struct cot_nv_group_params p;
	struct cot_emu_model *m;
	int err;

	read_params(&p, sizeof(p), params, params_size);
	m = cot_emu_gpu_begin(gpu);
	if (!m)
		return COT_NV_INVALID_STATE;
	err = cot_emu_model_group_add(m, cot_emu_gpu_client(gpu), o->gpu,
				      p.engine_type >= COT_NV_ENGINE_COPY_0
					      ? COT_EMU_ENGINE_COPY
					      : COT_EMU_ENGINE_GRAPHICS,
				      &o->is.group);
	cot_emu_gpu_commit(gpu, false);
	return cot_emu_rm_status(err);
}

static uint32_t make_channel(struct cot_emu_gpu *gpu, struct cot_emu_rm_object *o,
			     const struct cot_emu_rm_object *parent)
{
	struct cot_emu_model *m;
	int err;

	if (parent->class_ != COT_NV_CLASS_GROUP)
		return COT_NV_INVALID_OBJECT_PARENT;
	note_change();
	m = cot_emu_gpu_begin(gpu);
	if (!m)
		return COT_NV_INVALID_STATE;
	err = cot_emu_model_channel_add(m, parent->is.group, &o->is.channel);
	cot_emu_gpu_commit(gpu, false);
	return cot_emu_rm_status(err);
}

/* What lies behind the handle; objects of other classes are only a handle. */
static uint32_t make_object(struct cot_emu_gpu *gpu, struct cot_emu_rm_object *o,
			    const struct cot_emu_rm_object *parent, uint64_t params,
			    uint32_t params_size)
{
	struct cot_nv_device_params device;

	o->gpu = parent ? parent->gpu : 0;
	if (o->class_ == COT_NV_CLASS_DEVICE) {
		read_params(&device, sizeof(device), params, params_size);
		o->gpu = device.device_id;
		if (o->gpu >= cot_emu_gpu_config(gpu)->params.n_gpus)
			return COT_NV_INVALID_DEVICE;
	}
	if (o->class_ == COT_NV_CLASS_GROUP)
		return parent->class_ == COT_NV_CLASS_DEVICE
			       ? make_group(gpu, o, params, params_size)
			       : COT_NV_INVALID_OBJECT_PARENT;
	if (cot_emu_rm_is_channel(o->class_))
		return make_channel(gpu, o, parent);
	return COT_NV_OK;
}

/* Gives back what the model holds for this object. */
static void unmake_object(struct cot_emu_gpu *gpu, const struct cot_emu_rm_object *o)
{
	struct cot_emu_model *m;

	if (o->class_ != COT_NV_CLASS_GROUP && !cot_emu_rm_is_channel(o->class_))
		return;
	note_change();
	m = cot_emu_gpu_begin(gpu);
	if (!m)
		return;
	if (o->class_ == COT_NV_CLASS_GROUP)
		cot_emu_model_group_free(m, o->is.group);
	else
		cot_emu_model_channel_free(m, o->is.channel);
	cot_emu_gpu_commit(gpu, true);
}

static uint32_t alloc_locked(struct cot_emu_gpu *gpu, struct cot_nv_alloc_access *a)
{
	struct cot_emu_rm_object o = {
		.client = a->client, .handle = a->object, .parent = a->parent, .class_ = a->class_};
	struct cot_emu_rm_object *parent = NULL, *stored, copy;
	uint32_t status;

	if (!cot_emu_rm_is_root(o.class_)) {
		if (!cot_emu_rm_find(&table, o.client, o.client))
			return COT_NV_INVALID_CLIENT;
		parent = cot_emu_rm_find(&table, o.client, o.parent);
		if (!parent)
			return COT_NV_INVALID_OBJECT_PARENT;
		copy = *parent;
		parent = &copy;
	} else {
		o.parent = 0;
		o.client = o.handle;
	}
	if (o.handle && cot_emu_rm_find(&table, o.client, o.handle))
		return COT_NV_DUPLICATE_NAME;
	status = make_object(gpu, &o, parent, a->params, a->params_size);
	if (status)
		return status;
	stored = cot_emu_rm_add(&table, &o);
	if (!stored) {
		unmake_object(gpu, &o);
		return COT_NV_INSUFFICIENT_RESOURCES;
	}
	a->object = stored->handle;
	if (cot_emu_rm_is_root(o.class_))
		a->client = stored->handle;
	return COT_NV_OK;
}

/* Frees the object and all below it, children first. */
static void free_tree(struct cot_emu_gpu *gpu, uint32_t client, uint32_t handle)
{
	struct cot_emu_rm_object *o, *child;

	while ((o = cot_emu_rm_find(&table, client, handle))) {
		while ((child = cot_emu_rm_child(&table, o)))
			o = child;
		unmake_object(gpu, o);
		cot_emu_rm_remove(&table, o);
	}
}

/* ---- requests ---- */

static uint32_t do_alloc(struct cot_emu_gpu *gpu, struct cot_nv_alloc_access *a)
{
	uint32_t status;

	pthread_mutex_lock(&lock);
	status = alloc_locked(gpu, a);
	pthread_mutex_unlock(&lock);
	return status;
}

static uint32_t do_free(struct cot_emu_gpu *gpu, const struct cot_nv_free *f)
{
	uint32_t status = COT_NV_OK;

	pthread_mutex_lock(&lock);
	if (!cot_emu_rm_find(&table, f->client, f->client))
		status = COT_NV_INVALID_CLIENT;
	else if (!cot_emu_rm_find(&table, f->client, f->object))
		status = COT_NV_INVALID_OBJECT_OLD;
	else
		free_tree(gpu, f->client, f->object);
	pthread_mutex_unlock(&lock);
	return status;
}

static uint32_t do_control(struct cot_emu_gpu *gpu, const struct cot_nv_control *c)
{
	struct cot_emu_rm_object o;

	if (!cot_emu_rm_lookup(c->client, c->client, &o))
		return COT_NV_INVALID_CLIENT;
	if (!cot_emu_rm_lookup(c->client, c->object, &o))
		return COT_NV_OBJECT_NOT_FOUND;
	if (c->params_size && !c->params)
		return COT_NV_INVALID_POINTER;
	return cot_emu_rm_control(gpu, &o, c);
}

static void alloc_short(struct cot_emu_gpu *gpu, struct cot_nv_alloc *a)
{
	struct cot_nv_alloc_access wide = {.client = a->client,
					   .parent = a->parent,
					   .object = a->object,
					   .class_ = a->class_,
					   .params = a->params,
					   .params_size = a->params_size};

	a->status = do_alloc(gpu, &wide);
	a->client = wide.client;
	a->object = wide.object;
}

static int check_version(struct cot_nv_version *v)
{
	v->reply = 1;
	snprintf(v->text, sizeof(v->text), "%s", VERSION_TEXT);
	return 0;
}

/* The machine, for the one process that these handles belong to. */
static int machine(struct cot_emu_gpu **ret_gpu)
{
	int nobody = 0, self = getpid();

	/* Before any lock: another thread may have held it when this process was forked. */
	if (!atomic_compare_exchange_strong(&owner_pid, &nobody, self) && nobody != self)
		return -EPERM;
	return cot_emu_gpu_attach(ret_gpu);
}

static int fail(int err)
{
	errno = err;
	return -1;
}

/* As the kernel, which copies a request before it looks at it. */
static bool is_readable(const void *arg, size_t n)
{
	char copied[4096];

	return n <= 4096 && (!n || cot_guarded_copy(copied, arg, n));
}

int cot_emu_rm_ioctl(unsigned long request, void *arg)
{
	struct cot_emu_gpu *gpu;
	int err;

	if (_IOC_TYPE(request) != COT_NV_TYPE)
		return fail(ENOTTY);
	if (!is_readable(arg, _IOC_SIZE(request)))
		return fail(EFAULT);
	if (request == COT_NV_REQUEST(COT_NV_NR_VERSION, sizeof(struct cot_nv_version)))
		return check_version(arg);
	if (_IOC_NR(request) == COT_NV_NR_REGISTER_FD)
		return 0;
	err = machine(&gpu);
	if (err)
		return fail(-err);
	switch (request) {
	case COT_NV_REQUEST(COT_NV_NR_ALLOC, sizeof(struct cot_nv_alloc)):
		alloc_short(gpu, arg);
		return 0;
	case COT_NV_REQUEST(COT_NV_NR_ALLOC, sizeof(struct cot_nv_alloc_access)):
		((struct cot_nv_alloc_access *)arg)->status = do_alloc(gpu, arg);
		return 0;
	case COT_NV_REQUEST(COT_NV_NR_FREE, sizeof(struct cot_nv_free)):
		((struct cot_nv_free *)arg)->status = do_free(gpu, arg);
		return 0;
	case COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(struct cot_nv_control)):
		((struct cot_nv_control *)arg)->status = do_control(gpu, arg);
		return 0;
	default:
		return fail(EINVAL);
	}
}
