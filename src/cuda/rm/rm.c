#include "cuda/rm/rm.h"

#include <errno.h>
#include <string.h>

#include "cuda/rm/inside.h"

_Static_assert(sizeof(((struct cot_rm *)0)->chunk_space) >= sizeof(struct cot_nv_disable), "room");

static void reset(struct cot_rm *rm)
{
	pthread_mutex_init(&rm->lock, NULL);
	cot_rm_table_init(&rm->table);
	memset(rm->freeing, 0, sizeof(rm->freeing));
	atomic_store(&rm->frozen, false);
	atomic_store(&rm->gate_closed, false);
	atomic_store(&rm->n_changing, 0);
	atomic_store(&rm->changed_ns, 0);
	rm->chunk = (struct cot_nv_disable *)(void *)rm->chunk_space;
}

void cot_rm_init(struct cot_rm *rm, const struct cot_rm_host *host)
{
	rm->host = host;
	rm->table.n_used = 0;
	atomic_store(&rm->want_slice_us, 0);
	atomic_store(&rm->want_mode, 0);
	atomic_store(&rm->n_doubts, 0);
	atomic_store(&rm->n_lost, 0);
	reset(rm);
}

void cot_rm_forget(struct cot_rm *rm)
{
	/* The thread that held the lock, if any, does not exist in the child: initialise the lock
	 * again. */
	reset(rm);
	atomic_store(&rm->n_lost, 0);
}

static int errno_of_status(uint32_t status)
{
	switch (status) {
	case COT_NV_OK:
		return 0;
	case COT_NV_NO_PERMISSION:
		return -EPERM;
	case COT_NV_INVALID_ARGUMENT:
		return -EINVAL;
	case COT_NV_INVALID_CHANNEL:
	case COT_NV_INVALID_CLIENT:
	case COT_NV_INVALID_OBJECT:
	case COT_NV_INVALID_OBJECT_HANDLE:
	case COT_NV_OBJECT_NOT_FOUND:
		return -ENOENT;
	case COT_NV_BUSY_RETRY:
		return -EBUSY;
	case COT_NV_INSUFFICIENT_RESOURCES:
	case COT_NV_NO_MEMORY:
		return -ENOMEM;
	case COT_NV_NOT_SUPPORTED:
		return -EOPNOTSUPP;
	case COT_NV_TIMEOUT:
		return -ETIMEDOUT;
	case COT_NV_GPU_IS_LOST:
		return -ENODEV;
	default:
		return -EIO;
	}
}

/* Whether the descriptor is still the file that the object came through. */
static bool descriptor_of(struct cot_rm *rm, const struct cot_rm_object *o, int *ret_fd)
{
	struct cot_rm_identity now, then;

	pthread_mutex_lock(&rm->lock);
	*ret_fd = rm->table.fds[o->fd].fd;
	then = rm->table.fds[o->fd].id;
	pthread_mutex_unlock(&rm->lock);
	if (!rm->host->identify)
		return true;
	return rm->host->identify(*ret_fd, &now) && memcmp(&now, &then, sizeof(now)) == 0;
}

int cot_rm_send(struct cot_rm *rm, const struct cot_rm_object *o, uint32_t cmd, void *params,
		uint32_t size, uint32_t *ret_status)
{
	struct cot_nv_control c = {
		.client = o->client,
		.object = o->handle,
		.cmd = cmd,
		.params = (uintptr_t)params,
		.params_size = size,
	};
	int fd;

	if (ret_status)
		*ret_status = COT_NV_OK;
	if (!descriptor_of(rm, o, &fd))
		return -EBADF;
	if (rm->host->ioctl(fd, COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(c)), &c) < 0)
		return errno ? -errno : -EIO;
	if (ret_status)
		*ret_status = c.status;
	return errno_of_status(c.status);
}

bool cot_rm_next(struct cot_rm *rm, enum cot_rm_kind kind, unsigned *index,
		 struct cot_rm_object *ret_object)
{
	bool found;

	pthread_mutex_lock(&rm->lock);
	found = cot_rm_table_next(&rm->table, kind, index, ret_object);
	pthread_mutex_unlock(&rm->lock);
	return found;
}

bool cot_rm_mark(struct cot_rm *rm, const struct cot_rm_object *o, unsigned set, unsigned clear)
{
	struct cot_rm_object *now;

	pthread_mutex_lock(&rm->lock);
	now = cot_rm_table_find(&rm->table, o->client, o->handle);
	if (now)
		now->flags = (uint8_t)((now->flags & ~clear) | set);
	pthread_mutex_unlock(&rm->lock);
	return now != NULL;
}

/* With the lock: is the object, or what it is below of, being freed? */
static bool is_freed(struct cot_rm *rm, const struct cot_rm_object *o)
{
	const struct cot_rm_object *up = o;
	unsigned i;

	while (up) {
		for (i = 0; i < COT_RM_MAX_FREEING; i++)
			if (rm->freeing[i].client == o->client &&
			    (rm->freeing[i].handle == up->handle ||
			     rm->freeing[i].handle == o->client))
				return true;
		up = up->kind > COT_RM_DEVICE ? cot_rm_table_find(&rm->table, o->client, up->parent)
					      : NULL;
	}
	return false;
}

bool cot_rm_is_there(struct cot_rm *rm, const struct cot_rm_object *o)
{
	const struct cot_rm_object *now;
	bool yes;

	pthread_mutex_lock(&rm->lock);
	now = cot_rm_table_find(&rm->table, o->client, o->handle);
	yes = now && !is_freed(rm, now);
	pthread_mutex_unlock(&rm->lock);
	return yes;
}

unsigned cot_rm_begin_free(struct cot_rm *rm, uint32_t client, uint32_t handle)
{
	unsigned i;

	pthread_mutex_lock(&rm->lock);
	for (i = 0; i < COT_RM_MAX_FREEING && rm->freeing[i].client; i++)
		;
	if (i < COT_RM_MAX_FREEING)
		rm->freeing[i] = (struct cot_rm_freeing){client, handle};
	pthread_mutex_unlock(&rm->lock);
	return i;
}

void cot_rm_end_free(struct cot_rm *rm, unsigned slot)
{
	if (slot < COT_RM_MAX_FREEING)
		rm->freeing[slot].client = 0;
}

void cot_rm_fail(struct cot_rm_result *res, int status)
{
	if (!res->status)
		res->status = status;
	res->n_failed++;
}

bool cot_rm_prune(struct cot_rm *rm)
{
	struct cot_rm_identity now, then;
	bool any = false;
	unsigned i;
	int fd;

	for (i = 0; rm->host->identify && i < COT_RM_MAX_FDS; i++) {
		pthread_mutex_lock(&rm->lock);
		fd = rm->table.fds[i].n_objects ? rm->table.fds[i].fd : -1;
		then = rm->table.fds[i].id;
		pthread_mutex_unlock(&rm->lock);
		if (fd < 0 || (rm->host->identify(fd, &now) && !memcmp(&now, &then, sizeof(now))))
			continue;
		pthread_mutex_lock(&rm->lock);
		/* Unless the slot has been given to another file in the meantime. */
		if (rm->table.fds[i].fd == fd && !memcmp(&rm->table.fds[i].id, &then, sizeof(then)))
			cot_rm_table_remove_fd(&rm->table, i);
		pthread_mutex_unlock(&rm->lock);
		any = true;
	}
	return any;
}

void cot_rm_counts(struct cot_rm *rm, struct cot_rm_counts *ret)
{
	pthread_mutex_lock(&rm->lock);
	ret->n_groups = rm->table.n_groups;
	ret->n_channels = rm->table.n_channels;
	ret->gpus = cot_rm_table_gpus(&rm->table);
	pthread_mutex_unlock(&rm->lock);
	ret->n_doubts = atomic_load(&rm->n_doubts) + atomic_load(&rm->n_lost);
}
