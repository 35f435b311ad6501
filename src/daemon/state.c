/*
 * What the next daemon must know to go on: which pools run and which programs are in them. Programs
 * in a pool may have no library of their own that would come back and tell. Written after changes,
 * as a whole; processes are recognised by pid and start time.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "daemon/daemon.h"

#define STATE_NAME    "state.json"
#define STATE_VERSION 1

/* ---- saving ---- */

static json_t *save_pool(const struct pool *p)
{
	return json_pack(
		"{s:i, s:i, s:b, s:i, s:i, s:I}", "id", (int)p->id, "class", (int)p->cls, "shared",
		(int)p->shared, "gpu", (int)p->gpu, "pid",
		(int)(p->state == POOL_UP || p->state == POOL_STARTING ? p->control.pid : 0),
		"start", (json_int_t)p->control.start_time);
}

static json_t *save_tenant(const struct tenant *t)
{
	return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:I, s:i, s:i, s:I, s:i, s:s}", "id",
			 (int)t->id, "class", (int)t->cls, "weight", (int)t->weight, "block_us",
			 (int)t->block_us, "quota", (int)t->quota, "reserve", (int)t->reserve,
			 "gpus", (json_int_t)t->gpu_mask, "uid", (int)t->uid, "pid",
			 (int)t->watch.pid, "start", (json_int_t)t->watch.start_time, "pool",
			 t->pool ? (int)t->pool->id : 0, "name", t->name);
}

static json_t *save_all(const struct daemon *d)
{
	json_t *pools = json_array(), *tenants = json_array();
	unsigned i;

	for (i = 0; i < MAX_POOLS; i++)
		if (d->pools[i].id)
			json_array_append_new(pools, save_pool(&d->pools[i]));
	for (i = 0; i < MAX_TENANTS; i++)
		if (d->tenants[i].id)
			json_array_append_new(tenants, save_tenant(&d->tenants[i]));
	return json_pack("{s:i, s:i, s:o, s:o}", "version", STATE_VERSION, "next_id",
			 (int)d->next_id, "pools", pools, "tenants", tenants);
}

void cot_state_save(struct daemon *d)
{
	char path[COT_PATH_TEXT_MAX], fresh[COT_PATH_TEXT_MAX];
	json_t *state;
	int fd, rc = -1;

	d->state_dirty = false;
	if (cot_paths_join(path, d->runtime, STATE_NAME, NULL) < 0 ||
	    cot_paths_join(fresh, d->runtime, STATE_NAME ".new", NULL) < 0)
		return;
	state = save_all(d);
	(void)unlink(fresh);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0) {
		rc = json_dumpfd(state, fd, JSON_COMPACT);
		(void)close(fd);
	}
	json_decref(state);
	if (rc < 0 || rename(fresh, path) < 0) {
		if (!d->state_lost)
			log_warn("cannot write %s: %s; the next daemon may not know every program",
				 path, strerror(errno));
		d->state_lost = true;
	} else {
		d->state_lost = false;
	}
}

/* ---- loading ---- */

static void load_pool(struct daemon *d, json_t *entry)
{
	int id, cls, gpu, pid, shared = 0;
	json_int_t start;
	struct pool *p;

	if (json_unpack(entry, "{s:i, s:i, s?b, s:i, s:i, s:I}", "id", &id, "class", &cls, "shared",
			&shared, "gpu", &gpu, "pid", &pid, "start", &start) < 0)
		return;
	if (id <= 0 || cls < 0 || cls > COT_CLASS_BATCH || gpu < 0 || (unsigned)gpu >= d->gpus.n ||
	    cot_pool_is_there(d, (enum cot_class)cls, shared, (unsigned)gpu))
		return;
	d->next_id = (uint32_t)id; /* its servers know it by this number */
	p = cot_pool_get(d, (enum cot_class)cls, shared, (unsigned)gpu);
	if (p && pid > 0)
		cot_pool_adopt(p, pid, (uint64_t)start);
}

static void load_tenant(struct daemon *d, json_t *entry)
{
	int id, cls, weight, uid, pid, pool, block_us = 0, quota = 0, reserve = 0;
	json_int_t gpus, start;
	const char *name;
	struct tenant *t;

	if (json_unpack(entry, "{s:i, s:i, s:i, s?i, s?i, s?i, s:I, s:i, s:i, s:I, s:i, s:s}", "id",
			&id, "class", &cls, "weight", &weight, "block_us", &block_us, "quota",
			&quota, "reserve", &reserve, "gpus", &gpus, "uid", &uid, "pid", &pid,
			"start", &start, "pool", &pool, "name", &name) < 0)
		return;
	if (id <= 0 || cls < 0 || cls > COT_CLASS_BATCH || weight < (int)COT_WEIGHT_MIN ||
	    weight > (int)COT_WEIGHT_MAX || block_us < 0 || block_us > (int)COT_BLOCK_US_MAX ||
	    quota < 0 || quota > UINT16_MAX || !cot_proto_is_share((uint16_t)quota) ||
	    reserve < 0 || reserve > UINT16_MAX || !cot_proto_is_share((uint16_t)reserve) ||
	    !gpus || cot_tenant_find(d, (uint64_t)id) || pid <= 0 ||
	    cot_process_start_time(pid) != (uint64_t)start)
		return;
	t = cot_tenant_new(d, (uint32_t)id, pid);
	if (!t)
		return;
	t->cls = (enum cot_class)cls;
	t->weight = (uint32_t)weight;
	t->block_us = (uint32_t)block_us;
	t->quota = (uint16_t)quota;
	t->reserve = (uint16_t)reserve;
	t->uid = (uid_t)uid;
	t->gpu_mask = (uint64_t)gpus;
	t->pool = cot_pool_find(d, (uint64_t)pool);
	t->solo = !t->pool;
	cot_tenant_set_name(t, name);
	cot_tenant_announce(t);
	log_info("took over program '%s' (id %u, process %d)", t->name, t->id, pid);
}

void cot_state_load(struct daemon *d)
{
	char path[COT_PATH_TEXT_MAX];
	json_t *state, *entry;
	uint32_t next_id = 1;
	json_error_t error;
	bool known = false;
	size_t i;
	int version = 0, saved = 0;

	if (cot_paths_join(path, d->runtime, STATE_NAME, NULL) < 0)
		return;
	state = json_load_file(path, 0, &error);
	if (json_unpack(state, "{s:i, s:i}", "version", &version, "next_id", &saved) == 0 &&
	    version == STATE_VERSION && saved > 0) {
		known = true;
		next_id = (uint32_t)saved;
		json_array_foreach(json_object_get(state, "pools"), i, entry) load_pool(d, entry);
		json_array_foreach(json_object_get(state, "tenants"), i, entry)
			load_tenant(d, entry);
	}
	json_decref(state);
	if (!known) /* there is none, or a broken one */
		cot_state_recover(d);
	if (d->next_id < next_id)
		d->next_id = next_id;
}
