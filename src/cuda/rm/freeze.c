/*
 * Freeze and thaw. RM takes up to 64 channels of one device in one control; a disabled channel is
 * preempted before the control returns. One bad channel must not hide the others: a chunk that
 * fails is tried again channel by channel.
 *
 * A channel is left alone until the driver has scheduled it or its group. It cannot run before, and
 * on an H200 (driver 580) a program whose channels were disabled and enabled before that hung for
 * ever. When it is scheduled, host.changed() is called and the next cot_rm_sync() freezes it.
 */
#include <errno.h>
#include <string.h>

#include "cuda/rm/inside.h"

/* The device's own subdevice, or one of the same GPU (the list names each channel's client). */
static bool subdevice_below(struct cot_rm *rm, const struct cot_rm_object *device,
			    struct cot_rm_object *ret)
{
	struct cot_rm_object s;
	bool found = false;
	unsigned i = 0;

	while (cot_rm_next(rm, COT_RM_SUBDEVICE, &i, &s)) {
		if (s.client == device->client && s.device == device->handle) {
			*ret = s;
			return true;
		}
		if (!found && s.gpu == device->gpu && s.gpu != 0xff) {
			*ret = s;
			found = true;
		}
	}
	return found;
}

static int send_chunk(struct cot_rm *rm, const struct cot_rm_object *sub, bool disable)
{
	rm->chunk->disable = disable;
	return cot_rm_send(rm, sub, COT_NV_DISABLE_CHANNELS, rm->chunk, sizeof(*rm->chunk), NULL);
}

/* The outcome for one channel. */
static void settle(struct cot_rm *rm, uint32_t client, uint32_t handle, bool disable, int rc,
		   struct cot_rm_result *res)
{
	struct cot_rm_object o = {.client = client, .handle = handle};

	if (rc == 0) {
		cot_rm_mark(rm, &o, disable ? COT_RM_FROZEN : 0, disable ? 0 : COT_RM_FROZEN);
		res->n_done++;
		return;
	}
	if (cot_rm_is_there(rm, &o)) /* else it was freed in the meantime */
		cot_rm_fail(res, rc);
}

static void flush(struct cot_rm *rm, const struct cot_rm_object *sub, bool disable,
		  struct cot_rm_result *res)
{
	uint32_t clients[COT_NV_DISABLE_MAX], channels[COT_NV_DISABLE_MAX];
	uint32_t i, n = rm->chunk->n_channels;
	int rc;

	if (!n)
		return;
	memcpy(clients, rm->chunk->clients, sizeof(clients));
	memcpy(channels, rm->chunk->channels, sizeof(channels));
	rc = send_chunk(rm, sub, disable);
	for (i = 0; i < n; i++) {
		if (rc != 0 && n > 1) {
			memset(rm->chunk, 0, sizeof(*rm->chunk));
			rm->chunk->n_channels = 1;
			rm->chunk->clients[0] = clients[i];
			rm->chunk->channels[0] = channels[i];
			settle(rm, clients[i], channels[i], disable, send_chunk(rm, sub, disable),
			       res);
		} else {
			settle(rm, clients[i], channels[i], disable, rc, res);
		}
	}
	memset(rm->chunk, 0, sizeof(*rm->chunk));
}

static void switch_device(struct cot_rm *rm, const struct cot_rm_object *device, bool disable,
			  struct cot_rm_result *res)
{
	struct cot_rm_object sub, o;
	bool have_sub = false;
	unsigned i = 0;

	memset(rm->chunk, 0, sizeof(*rm->chunk));
	while (cot_rm_next(rm, COT_RM_CHANNEL, &i, &o)) {
		if (o.client != device->client || o.device != device->handle)
			continue;
		if (!disable && !(o.flags & COT_RM_FROZEN))
			continue;
		if (disable && !(o.flags & COT_RM_SCHEDULED)) {
			res->n_early++;
			continue;
		}
		/* Not before a channel was seen: the program may just be making all of it. */
		have_sub = have_sub || subdevice_below(rm, device, &sub);
		if (!have_sub) {
			settle(rm, o.client, o.handle, disable, -ENODEV, res);
			continue;
		}
		rm->chunk->clients[rm->chunk->n_channels] = o.client;
		rm->chunk->channels[rm->chunk->n_channels++] = o.handle;
		if (rm->chunk->n_channels == COT_NV_DISABLE_MAX)
			flush(rm, &sub, disable, res);
	}
	if (have_sub)
		flush(rm, &sub, disable, res);
}

static void switch_all(struct cot_rm *rm, bool disable, struct cot_rm_result *res)
{
	struct cot_rm_object o;
	unsigned i = 0;

	while (cot_rm_next(rm, COT_RM_DEVICE, &i, &o))
		switch_device(rm, &o, disable, res);
	/* Channels whose device we never saw cannot be reached. */
	for (i = 0; disable && cot_rm_next(rm, COT_RM_CHANNEL, &i, &o);)
		if (!o.device && o.flags & COT_RM_SCHEDULED)
			settle(rm, o.client, o.handle, true, -ENODEV, res);
}

void cot_rm_freeze(struct cot_rm *rm, struct cot_rm_result *ret)
{
	bool was_frozen = atomic_load(&rm->frozen);
	struct cot_rm_result back = {.status = 0};

	*ret = (struct cot_rm_result){.status = 0};
	if (!cot_rm_close_gate(rm)) {
		cot_rm_fail(ret, -EAGAIN);
		if (!was_frozen)
			cot_rm_open_gate(rm);
		return;
	}
	cot_rm_prune(rm);
	/* First: a channel that comes from now on is announced by host.changed(). */
	atomic_store(&rm->frozen, true);
	if (atomic_load(&rm->n_lost))
		cot_rm_fail(ret, -ENOSPC);
	else
		switch_all(rm, true, ret);
	if (!ret->status && !ret->n_done && ret->n_early)
		cot_rm_fail(ret, -EAGAIN); /* a driver that is being set up, or one that we do
					    * not understand */
	if (!ret->status || was_frozen)
		return;
	atomic_store(&rm->frozen, false);
	switch_all(rm, false, &back);
	cot_rm_open_gate(rm);
}

void cot_rm_thaw(struct cot_rm *rm, struct cot_rm_result *ret)
{
	*ret = (struct cot_rm_result){.status = 0};
	atomic_store(&rm->frozen, false);
	cot_rm_prune(rm);
	switch_all(rm, false, ret);
	cot_rm_open_gate(rm); /* not before: what is set up next must find all as it was */
}
