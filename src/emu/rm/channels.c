/*
 * Controls of channel groups, channels and subdevices, behaving as they were measured to behave on
 * an H200 with driver 580: GPFIFO_SCHEDULE with enable = 0 succeeds and holds nothing off, a slice
 * needs no privilege, interleave levels need it and change nothing.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/rm/inside.h"

/* A freeze or preempt that takes longer than this in GPU time is reported as timed out. */
#define OFF_GPU_NS (60ull * 1000 * 1000 * 1000)
/* How long the driver works on new channels after the last request for them. */
#define FRAGILE_NS (100ull * 1000 * 1000)

static void *params(const struct cot_nv_control *c)
{
	return (void *)(uintptr_t)c->params;
}

/* ---- channel groups ---- */

static uint32_t set_slice(struct cot_emu_gpu *gpu, struct cot_emu_group_id group, uint64_t us)
{
	struct cot_emu_model *m;
	int err;

	if (cot_emu_config_quirk("no-slice"))
		return COT_NV_NOT_SUPPORTED;
	if (us > COT_EMU_MAX_SLICE / 1000)
		return COT_NV_INVALID_ARGUMENT;
	m = cot_emu_gpu_begin(gpu);
	if (!m)
		return COT_NV_INVALID_STATE;
	err = cot_emu_model_set_slice(m, group, us * 1000);
	cot_emu_gpu_commit(gpu, true);
	return cot_emu_rm_status(err);
}

static uint32_t get_group(struct cot_emu_gpu *gpu, struct cot_emu_group_id group,
			  struct cot_emu_group *ret_group)
{
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);
	const struct cot_emu_group *g;

	if (!m)
		return COT_NV_INVALID_STATE;
	g = cot_emu_model_group(m, group);
	if (g)
		*ret_group = *g;
	cot_emu_gpu_commit(gpu, false);
	return g ? COT_NV_OK : COT_NV_OBJECT_NOT_FOUND;
}

static uint32_t set_interleave(struct cot_emu_gpu *gpu, struct cot_emu_group_id group,
			       uint32_t level)
{
	struct cot_emu_model *m;
	int err;

	if (geteuid() != 0)
		return COT_NV_NO_PERMISSION;
	m = cot_emu_gpu_begin(gpu);
	if (!m)
		return COT_NV_INVALID_STATE;
	err = cot_emu_model_set_interleave(m, group, level);
	cot_emu_gpu_commit(gpu, false);
	return cot_emu_rm_status(err);
}

struct preempted {
	struct cot_emu_group_id group;
	uint64_t n_left; /* when the preempt was requested */
};

static bool has_left(const struct cot_emu_model *m, void *arg)
{
	const struct preempted *p = arg;
	const struct cot_emu_group *g = cot_emu_model_group(m, p->group);

	return !g || g->n_left > p->n_left || !cot_emu_model_resident(m, p->group);
}

static uint32_t preempt(struct cot_emu_gpu *gpu, struct cot_emu_group_id group,
			const struct cot_nv_preempt *p)
{
	struct preempted who = {.group = group};
	uint64_t timeout = OFF_GPU_NS;
	struct cot_emu_model *m;
	int err;

	if (cot_emu_config_quirk("no-preempt"))
		return COT_NV_NOT_SUPPORTED;
	m = cot_emu_gpu_begin(gpu);
	if (!m)
		return COT_NV_INVALID_STATE;
	if (cot_emu_model_group(m, group))
		who.n_left = cot_emu_model_group(m, group)->n_left;
	err = cot_emu_model_preempt(m, group);
	cot_emu_gpu_commit(gpu, true);
	if (p->manual_timeout && p->timeout_us)
		timeout = p->timeout_us * 1000ull;
	if (!err && p->wait)
		err = cot_emu_gpu_wait(gpu, has_left, &who, timeout);
	return cot_emu_rm_status(err);
}

static uint32_t group_control(struct cot_emu_gpu *gpu, const struct cot_emu_rm_object *o,
			      const struct cot_nv_control *c)
{
	struct cot_emu_group g;
	uint64_t us;
	uint32_t word, status;

	switch (c->cmd) {
	case COT_NV_GROUP_SCHEDULE: /* enable = 0 has no effect, as measured */
	case COT_NV_GROUP_BIND:
		return get_group(gpu, o->is.group, &g);
	case COT_NV_GROUP_SET_SLICE:
		memcpy(&us, params(c), sizeof(us));
		return set_slice(gpu, o->is.group, us);
	case COT_NV_GROUP_GET_SLICE:
		status = get_group(gpu, o->is.group, &g);
		us = status ? 0 : g.slice_ns / 1000;
		memcpy(params(c), &us, sizeof(us));
		return status;
	case COT_NV_GROUP_PREEMPT:
		return preempt(gpu, o->is.group, params(c));
	case COT_NV_GROUP_GET_INFO:
		word = o->is.group.slot;
		memcpy(params(c), &word, sizeof(word));
		return COT_NV_OK;
	case COT_NV_GROUP_SET_INTERLEAVE:
		memcpy(&word, params(c), sizeof(word));
		return set_interleave(gpu, o->is.group, word);
	default: /* GET_INTERLEAVE_LEVEL */
		status = get_group(gpu, o->is.group, &g);
		word = status ? 0 : g.interleave;
		memcpy(params(c), &word, sizeof(word));
		return status;
	}
}

/* ---- subdevices ---- */

struct disabled {
	struct cot_emu_channel_id channels[COT_NV_DISABLE_MAX];
	uint32_t n_channels;
};

static bool all_off(const struct cot_emu_model *m, void *arg)
{
	const struct disabled *d = arg;
	uint32_t i;

	for (i = 0; i < d->n_channels; i++)
		if (cot_emu_model_channel_resident(m, d->channels[i]))
			return false;
	return true;
}

/*
 * With the quirk `fragile`: channels that are disabled while the driver sets channels up, or just
 * did, never run again. So it was on an H200. Reported once, for users who wonder why a program
 * hangs.
 */
static bool breaks_set_up(const struct cot_nv_disable *p)
{
	static _Atomic bool broken;
	struct timespec t;
	uint64_t now_ns;

	if (!cot_emu_config_quirk("fragile"))
		return false;
	clock_gettime(CLOCK_MONOTONIC, &t);
	now_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	if (p->disable && now_ns - cot_emu_rm_changed_ns() < FRAGILE_NS &&
	    !atomic_exchange(&broken, true))
		fprintf(stderr,
			"cotenant-emu: channels were disabled during a set-up: they hang\n");
	return !p->disable && atomic_load(&broken);
}

/* Channels that do not exist make the call fail; the others are done all the same. */
static uint32_t disable_channels(struct cot_emu_gpu *gpu, const struct cot_nv_disable *p)
{
	uint32_t i, status = COT_NV_OK;
	struct cot_emu_model *m;
	struct disabled d = {.n_channels = 0};
	struct cot_emu_rm_object o;
	int err = 0;

	if (cot_emu_config_quirk("no-freeze") || p->event)
		return COT_NV_NO_PERMISSION;
	if (p->n_channels > COT_NV_DISABLE_MAX)
		return COT_NV_INVALID_ARGUMENT;
	for (i = 0; i < p->n_channels; i++) {
		if (cot_emu_rm_lookup(p->clients[i], p->channels[i], &o) &&
		    cot_emu_rm_is_channel(o.class_))
			d.channels[d.n_channels++] = o.is.channel;
		else
			status = COT_NV_INVALID_CHANNEL;
	}
	if (cot_emu_config_quirk("hollow-freeze") || breaks_set_up(p))
		return status;
	m = cot_emu_gpu_begin(gpu);
	if (!m)
		return COT_NV_INVALID_STATE;
	for (i = 0; i < d.n_channels; i++)
		cot_emu_model_disable(m, d.channels[i], p->disable, p->only_scheduling);
	cot_emu_gpu_commit(gpu, true);
	if (p->disable && !p->only_scheduling)
		err = cot_emu_gpu_wait(gpu, all_off, &d, OFF_GPU_NS);
	return err ? cot_emu_rm_status(err) : status;
}

static uint32_t set_mode(struct cot_emu_gpu *gpu, const struct cot_emu_rm_object *subdevice,
			 const struct cot_nv_preemption *p)
{
	struct cot_emu_rm_object o;
	struct cot_emu_model *m;
	int err;

	if (cot_emu_config_quirk("no-mode"))
		return COT_NV_NOT_SUPPORTED;
	if (!cot_emu_rm_lookup(subdevice->client, p->channel, &o) ||
	    !cot_emu_rm_is_channel(o.class_))
		return COT_NV_INVALID_CHANNEL;
	if (!(p->flags & COT_NV_PREEMPTION_SET_COMPUTE))
		return COT_NV_OK;
	m = cot_emu_gpu_begin(gpu);
	if (!m)
		return COT_NV_INVALID_STATE;
	err = cot_emu_model_set_mode(m, o.is.channel, p->compute);
	cot_emu_gpu_commit(gpu, true);
	return cot_emu_rm_status(err);
}

/* ---- dispatch ---- */

enum target { ON_GROUP, ON_CHANNEL, ON_SUBDEVICE };

static const struct known {
	uint32_t cmd, size;
	enum target target;
	bool firmware; /* takes the time of a call to the firmware */
} known[] = {
	{COT_NV_GROUP_SCHEDULE, sizeof(struct cot_nv_schedule), ON_GROUP, true},
	{COT_NV_GROUP_BIND, 4, ON_GROUP, true},
	{COT_NV_GROUP_SET_SLICE, 8, ON_GROUP, true},
	{COT_NV_GROUP_GET_SLICE, 8, ON_GROUP, false},
	{COT_NV_GROUP_PREEMPT, sizeof(struct cot_nv_preempt), ON_GROUP, true},
	{COT_NV_GROUP_GET_INFO, 4, ON_GROUP, false},
	{COT_NV_GROUP_SET_INTERLEAVE, 4, ON_GROUP, true},
	{COT_NV_GROUP_GET_INTERLEAVE, 4, ON_GROUP, false},
	{COT_NV_CHANNEL_GET_TOKEN, 4, ON_CHANNEL, false},
	{COT_NV_DISABLE_CHANNELS, sizeof(struct cot_nv_disable), ON_SUBDEVICE, true},
	{COT_NV_SET_PREEMPTION, sizeof(struct cot_nv_preemption), ON_SUBDEVICE, true},
};

static bool on_target(const struct cot_emu_rm_object *o, enum target target)
{
	switch (target) {
	case ON_GROUP:
		return o->class_ == COT_NV_CLASS_GROUP;
	case ON_CHANNEL:
		return cot_emu_rm_is_channel(o->class_);
	default:
		return o->class_ == COT_NV_CLASS_SUBDEVICE;
	}
}

uint32_t cot_emu_rm_control(struct cot_emu_gpu *gpu, const struct cot_emu_rm_object *o,
			    const struct cot_nv_control *c)
{
	const struct known *k = known;
	uint32_t token;

	while (k < known + COT_ARRAY_LEN(known) && k->cmd != c->cmd)
		k++;
	if (k == known + COT_ARRAY_LEN(known) || !on_target(o, k->target))
		return COT_NV_NOT_SUPPORTED;
	if (c->params_size != k->size)
		return COT_NV_INVALID_PARAM_STRUCT;
	if (k->firmware)
		cot_emu_gpu_sleep(gpu, cot_emu_gpu_config(gpu)->control_ns);
	if (k->target == ON_GROUP)
		return group_control(gpu, o, c);
	if (k->target == ON_CHANNEL) {
		token = cot_emu_channel_token(o->is.channel);
		memcpy(params(c), &token, sizeof(token));
		return COT_NV_OK;
	}
	if (c->cmd == COT_NV_DISABLE_CHANNELS)
		return disable_channels(gpu, params(c));
	return set_mode(gpu, o, params(c));
}
