/* Slices, preemption modes and preemption. */
#include <errno.h>

#include "cuda/rm/inside.h"

/* ---- slices ---- */

static int get_slice(struct cot_rm *rm, const struct cot_rm_object *o, uint64_t *ret_us)
{
	uint64_t us = 0;
	int rc = cot_rm_send(rm, o, COT_NV_GROUP_GET_SLICE, &us, sizeof(us), NULL);

	if (rc == 0)
		*ret_us = us;
	return rc;
}

/* Before the first slice of ours: what would the driver have? */
static void learn_driver_slice(struct cot_rm *rm, const struct cot_rm_object *o)
{
	struct cot_rm_object *now;
	uint64_t us = 0;

	if (o->flags & (COT_RM_SLICE_KNOWN | COT_RM_SLICE_OURS) || get_slice(rm, o, &us) < 0)
		return;
	pthread_mutex_lock(&rm->lock);
	now = cot_rm_table_find(&rm->table, o->client, o->handle);
	if (now && !(now->flags & (COT_RM_SLICE_KNOWN | COT_RM_SLICE_OURS))) {
		now->driver_slice_us = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
		now->flags |= COT_RM_SLICE_KNOWN;
	}
	pthread_mutex_unlock(&rm->lock);
}

static uint64_t driver_slice(struct cot_rm *rm, const struct cot_rm_object *o)
{
	uint64_t us = COT_NV_DEFAULT_SLICE_US;
	struct cot_rm_object *now;

	pthread_mutex_lock(&rm->lock);
	now = cot_rm_table_find(&rm->table, o->client, o->handle);
	if (now && now->flags & COT_RM_SLICE_KNOWN && now->driver_slice_us)
		us = now->driver_slice_us;
	pthread_mutex_unlock(&rm->lock);
	return us;
}

/* RM no longer knows the client: the program closed its descriptor and opened it again. */
static void forget_client(struct cot_rm *rm, const struct cot_rm_object *o)
{
	pthread_mutex_lock(&rm->lock);
	cot_rm_table_remove(&rm->table, o->client, o->client);
	pthread_mutex_unlock(&rm->lock);
	cot_rm_doubt(rm);
}

static int set_and_read(struct cot_rm *rm, const struct cot_rm_object *o, uint64_t us,
			uint64_t *ret_us)
{
	uint32_t status;
	uint64_t set = us;
	int rc = cot_rm_send(rm, o, COT_NV_GROUP_SET_SLICE, &set, sizeof(set), &status);

	if (rc < 0) {
		if (status == COT_NV_INVALID_CLIENT)
			forget_client(rm, o);
		return rc;
	}
	rc = get_slice(rm, o, ret_us);
	if (rc == -EPERM || rc == -EOPNOTSUPP || rc == -EINVAL) {
		/* Some containers let a slice be set and not be read. */
		cot_rm_doubt(rm);
		*ret_us = us;
		rc = 0;
	}
	return rc;
}

int cot_rm_slice_group(struct cot_rm *rm, const struct cot_rm_object *o, uint64_t *ret_us)
{
	uint64_t want, got = 0;
	unsigned tries;
	int rc = 0;

	*ret_us = 0;
	/* The order may change, and the driver set its own, while we are at it. */
	for (tries = 0; tries < 3; tries++) {
		uint32_t ours = atomic_load(&rm->want_slice_us);

		if (!ours && !(o->flags & COT_RM_SLICE_OURS))
			return 0; /* the driver's, and never was ours */
		if (ours)
			learn_driver_slice(rm, o);
		cot_rm_mark(rm, o, ours ? COT_RM_SLICE_OURS : 0, COT_RM_SLICE_WANTED);
		want = ours ? ours : driver_slice(rm, o);
		rc = set_and_read(rm, o, want, &got);
		if (rc < 0)
			break;
		if (got == want && atomic_load(&rm->want_slice_us) == ours) {
			cot_rm_mark(rm, o, COT_RM_SLICE_WANTED, ours ? 0 : COT_RM_SLICE_OURS);
			break;
		}
	}
	*ret_us = got;
	return rc == 0 && tries == 3 ? -EAGAIN : rc;
}

/* A group that is gone by now did not fail. */
static void slice_result(struct cot_rm *rm, const struct cot_rm_object *o, int rc, uint64_t us,
			 struct cot_rm_result *res)
{
	if (rc == 0) {
		res->n_done++;
		if (!res->value || us != atomic_load(&rm->want_slice_us))
			res->value = us;
	} else if (cot_rm_is_there(rm, o)) {
		cot_rm_fail(res, rc);
		res->value = us ? us : res->value;
	}
}

static void slice_all(struct cot_rm *rm, struct cot_rm_result *res)
{
	struct cot_rm_object o;
	unsigned i = 0;
	uint64_t us;
	int rc;

	while (cot_rm_next(rm, COT_RM_GROUP, &i, &o)) {
		us = 0;
		rc = cot_rm_slice_group(rm, &o, &us);
		slice_result(rm, &o, rc, us, res);
	}
}

void cot_rm_set_slice(struct cot_rm *rm, uint32_t slice_us, struct cot_rm_result *ret)
{
	*ret = (struct cot_rm_result){.status = 0};
	atomic_store(&rm->want_slice_us, slice_us);
	cot_rm_prune(rm);
	slice_all(rm, ret);
}

/* Newcomers, and groups whose slice is not what we read back last. */
static void slice_sync(struct cot_rm *rm, struct cot_rm_result *res)
{
	uint32_t want = atomic_load(&rm->want_slice_us);
	struct cot_rm_object o;
	unsigned i = 0;
	uint64_t us;
	int rc;

	while (want && cot_rm_next(rm, COT_RM_GROUP, &i, &o)) {
		us = 0;
		if (o.flags & COT_RM_SLICE_WANTED && get_slice(rm, &o, &us) == 0 && us == want) {
			res->n_done++;
			res->value = us;
			continue;
		}
		rc = cot_rm_slice_group(rm, &o, &us);
		slice_result(rm, &o, rc, us, res);
	}
}

/* ---- preemption mode ---- */

static bool on_graphics_engine(const struct cot_rm_object *o)
{
	return o->engine <= COT_NV_ENGINE_GRAPHICS_7;
}

/* A subdevice of the channel's own device and client, or else any of the same GPU. */
static bool subdevice_of(struct cot_rm *rm, const struct cot_rm_object *o,
			 struct cot_rm_object *ret)
{
	struct cot_rm_object s;
	bool found = false;
	unsigned i = 0;

	while (cot_rm_next(rm, COT_RM_SUBDEVICE, &i, &s)) {
		if (s.client == o->client && s.device == o->device) {
			*ret = s;
			return true;
		}
		if (!found && o->gpu != 0xff && s.gpu == o->gpu) {
			*ret = s;
			found = true;
		}
	}
	return found;
}

int cot_rm_mode_channel(struct cot_rm *rm, const struct cot_rm_object *o, uint32_t mode)
{
	struct cot_nv_preemption p = {
		.flags = COT_NV_PREEMPTION_SET_COMPUTE,
		.channel = o->handle,
		.compute = mode,
	};
	struct cot_rm_object s;

	if (!subdevice_of(rm, o, &s))
		return -ENODEV;
	/* The channel is looked up in the caller's client: another client's cannot be named. */
	if (s.client != o->client)
		return -EXDEV;
	return cot_rm_send(rm, &s, COT_NV_SET_PREEMPTION, &p, sizeof(p), NULL);
}

/* `all`: also those that have the mode already. */
static void mode_channels(struct cot_rm *rm, bool all, struct cot_rm_result *res)
{
	uint32_t want = atomic_load(&rm->want_mode), mode;
	struct cot_rm_object o;
	unsigned i = 0;
	int rc;

	while (cot_rm_next(rm, COT_RM_CHANNEL, &i, &o)) {
		if (!on_graphics_engine(&o) || (!all && o.flags & COT_RM_MODE_SET))
			continue;
		if (!want && !(o.flags & COT_RM_MODE_OURS))
			continue;
		/* Unless it says otherwise, the driver's channels behave as with a switch. */
		mode = want ? want : o.driver_mode ? o.driver_mode : COT_NV_PREEMPTION_CILP;
		rc = cot_rm_mode_channel(rm, &o, mode);
		if (rc == 0) {
			res->n_done++;
			cot_rm_mark(rm, &o, COT_RM_MODE_SET | (want ? COT_RM_MODE_OURS : 0),
				    want ? 0 : COT_RM_MODE_OURS | COT_RM_MODE_SET);
		} else if (o.flags & COT_RM_COMPUTE && cot_rm_is_there(rm, &o)) {
			/* Channels without a compute object have no mode: no failure. */
			cot_rm_fail(res, rc);
		}
	}
}

void cot_rm_set_mode(struct cot_rm *rm, enum cot_mode mode, struct cot_rm_result *ret)
{
	static const uint32_t nv_modes[] = {
		[COT_MODE_DRAIN] = COT_NV_PREEMPTION_CTA,
		[COT_MODE_SWITCH] = COT_NV_PREEMPTION_CILP,
	};

	*ret = (struct cot_rm_result){.status = 0};
	atomic_store(&rm->want_mode, nv_modes[mode]);
	mode_channels(rm, true, ret);
}

/* ---- once ---- */

void cot_rm_preempt(struct cot_rm *rm, struct cot_rm_result *ret)
{
	struct cot_nv_preempt p;
	struct cot_rm_object o;
	unsigned i = 0;
	int rc;

	*ret = (struct cot_rm_result){.status = 0};
	while (cot_rm_next(rm, COT_RM_GROUP, &i, &o)) {
		p = (struct cot_nv_preempt){.wait = 1};
		rc = cot_rm_send(rm, &o, COT_NV_GROUP_PREEMPT, &p, sizeof(p), NULL);
		if (rc == 0)
			ret->n_done++;
		else if (cot_rm_is_there(rm, &o))
			cot_rm_fail(ret, rc);
	}
}

void cot_rm_sync(struct cot_rm *rm, struct cot_rm_result *ret)
{
	struct cot_rm_result frozen;

	*ret = (struct cot_rm_result){.status = 0};
	cot_rm_prune(rm);
	slice_sync(rm, ret);
	if (atomic_load(&rm->want_mode))
		mode_channels(rm, false, ret);
	if (atomic_load(&rm->frozen)) {
		cot_rm_freeze(rm, &frozen);
		if (frozen.status)
			cot_rm_fail(ret, frozen.status);
	}
}
