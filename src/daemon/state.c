/*
 * What the next daemon must know to go on: which pools run and which programs are in them. Programs
 * in a pool may have no library of their own that would come back and tell. Written after changes,
 * as a whole; processes are recognised by pid and start time.
 */
#include "daemon/state.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/basis.h"
#include "daemon/choose.h"
#include "daemon/file.h"
#include "daemon/log.h"
#include "daemon/processes.h"
#include "daemon/recover.h"
#include "daemon/roster.h"
#include "text/json.h"
#include "text/text.h"

#define STATE_NAME    "state.json"
#define STATE_VERSION 1
#define RETRY_NS      COT_NS_PER_S
/* At most this many writes in this time, then a pause: a user who changes many settings does not
 * keep the daemon busy. */
#define BURST	 8u
#define BURST_NS (400 * COT_NS_PER_MS)

/* ---- saving ---- */

static json_t *save_pool(const struct pool *p)
{
	return json_pack("{s:i, s:i, s:b, s:b, s:i, s:i, s:I}", "id", (int)p->id, "class",
			 (int)p->cls, "shared", (int)p->shared, "held", (int)p->held, "gpu",
			 (int)p->gpu, "pid", (int)p->control.pid, "start",
			 (json_int_t)p->control.start_time);
}

static json_t *save_tenant(const struct tenant *t)
{
	return json_pack(
		"{s:i, s:b, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:i, s:I, s:b, s:I, s:I, s:b, s:I, "
		"s:i, s:I, s:i, s:s}",
		"id", (int)t->id, "held", (int)t->held, "class", (int)t->cls, "weight",
		(int)t->weight, "block_us", (int)t->block_us, "quota", (int)t->quota, "reserve",
		(int)t->reserve, "sms", (int)t->sms, "pace_us", (int)t->pace_us, "memory_mib",
		(int)t->memory_mib, "parts", (int)t->parts, "target", (int)t->target.kind, "amount",
		(json_int_t)t->target.amount, "measured", (int)t->measured, "command",
		(json_int_t)t->command, "gpus", (json_int_t)t->gpu_mask, "gpu_unknown",
		(int)t->gpu_unknown, "uid", (json_int_t)t->uid, "pid", (int)t->watch.pid, "start",
		(json_int_t)t->watch.start_time, "pool", t->pool ? (int)t->pool->id : 0, "name",
		t->name);
}

/* NULL: there is not enough memory for all of it. */
static char *save_all(const struct roster *r)
{
	json_t *all, *pools = json_array(), *tenants = json_array();
	const struct tenant *t;
	const struct pool *p;
	char *text;

	(void)cot_json_whole();
	for_each_pool (p, r)
		json_array_append_new(pools, save_pool(p));
	for_each_tenant (t, r)
		json_array_append_new(tenants, save_tenant(t));
	all = json_pack("{s:i, s:I, s:s*, s:o, s:o}", "version", STATE_VERSION, "next_id",
			(json_int_t)r->next_id, "policy",
			r->basis->by_user ? r->basis->by_user->name : NULL, "pools", pools,
			"tenants", tenants);
	text = json_dumps(all, JSON_COMPACT);
	json_decref(all);
	if (text && cot_json_whole())
		return text;
	free(text);
	return NULL;
}

static void rested(struct cot_timer *timer, uint64_t now_ns)
{
	struct roster *r = COT_CONTAINER_OF(timer, struct roster, state.retry);

	(void)now_ns;
	if (r->state.dirty)
		cot_state_save(r);
}

/*
 * Until it can be written the old file stays: what it says of a process that still runs was true
 * when it was written, and the next daemon asks the processes for the rest.
 */
void cot_state_save(struct roster *r)
{
	char path[COT_PATH_TEXT_MAX], *text = NULL;
	int rc = cot_paths_join(path, r->basis->runtime, STATE_NAME, NULL);

	if (!rc) {
		text = save_all(r);
		rc = text ? cot_file_write(path, text) : -ENOMEM;
		free(text);
	}
	r->state.dirty = rc < 0;
	if (rc < 0) {
		if (!r->state.lost)
			log_warn("cannot write %s: %s; trying again every second", path,
				 strerror(-rc));
		r->state.retry.fire = rested;
		cot_timer_set(&r->basis->loop, &r->state.retry, cot_now_ns() + RETRY_NS);
	} else if (r->state.lost) {
		log_info("%s is written again", path);
	}
	r->state.lost = rc < 0;
}

/* Whether there were enough writes lately; then the next is when the timer fires. */
static bool has_to_rest(struct roster *r)
{
	uint64_t now_ns = cot_now_ns();

	if (now_ns - r->state.since_ns >= BURST_NS) {
		r->state.since_ns = now_ns;
		r->state.n_writes = 0;
	}
	if (r->state.n_writes++ < BURST)
		return false;
	r->state.retry.fire = rested;
	cot_timer_set(&r->basis->loop, &r->state.retry, r->state.since_ns + BURST_NS);
	return true;
}

void cot_state_keep(struct roster *r)
{
	if (r->state.dirty && !r->state.retry.armed && !has_to_rest(r))
		cot_state_save(r);
}

/* ---- loading ---- */

/* 0, or -errno when it cannot be known whether it still runs. */
static int load_pool(struct roster *r, json_t *entry)
{
	int id, cls, gpu, pid, shared = 0, held = 0;
	json_int_t start;
	struct pool *p;

	if (json_unpack(entry, "{s:i, s:i, s?b, s?b, s:i, s:i, s:I}", "id", &id, "class", &cls,
			"shared", &shared, "held", &held, "gpu", &gpu, "pid", &pid, "start",
			&start) < 0)
		return 0;
	p = id > 0 ? cot_roster_pool(r, (uint64_t)id) : NULL;
	if (p) /* found by its processes, which do not know */
		p->held = held;
	if (p || id <= 0 || cls < 0 || cls > COT_CLASS_BATCH || gpu < 0 ||
	    (unsigned)gpu >= r->basis->gpus.n ||
	    cot_pool_is_there(r, (enum cot_class)cls, shared, (unsigned)gpu))
		return 0;
	p = cot_pool_take(r, (uint32_t)id, (enum cot_class)cls, shared, (unsigned)gpu);
	if (p)
		p->held = held;
	return p && pid > 0 ? cot_pool_adopt(p, pid, (uint64_t)start) : 0;
}

/* What of a tenant is in the file. */
struct entry {
	int id, held, cls, weight, block_us, quota, reserve, sms, parts, gpu_unknown, pid, pool;
	int pace_us, memory_mib, target, measured;
	json_int_t amount, command, gpus, uid, start;
	const char *name;
};

static struct cot_target target_of(const struct entry *e)
{
	return (struct cot_target){(enum cot_target_kind)e->target, (uint32_t)e->amount};
}

static bool is_target(const struct entry *e)
{
	return e->target >= 0 && e->target <= COT_TARGET_RATE && e->amount >= 0 &&
	       e->amount <= UINT32_MAX && cot_target_is_valid(target_of(e)) &&
	       cot_target_suits((enum cot_target_kind)e->target, (enum cot_class)e->cls);
}

static bool read_entry(json_t *json, struct entry *e)
{
	*e = (struct entry){0};
	return json_unpack(
		       json,
		       "{s:i, s?b, s:i, s:i, s?i, s?i, s?i, s?i, s?i, s?i, s?b, s?i, s?I, s?b, s?I, s:I, s?b, s:I, s:i, s:I, s:i, s:s}",
		       "id", &e->id, "held", &e->held, "class", &e->cls, "weight", &e->weight,
		       "block_us", &e->block_us, "quota", &e->quota, "reserve", &e->reserve, "sms",
		       &e->sms, "pace_us", &e->pace_us, "memory_mib", &e->memory_mib, "parts",
		       &e->parts, "target", &e->target, "amount", &e->amount, "measured",
		       &e->measured, "command", &e->command, "gpus", &e->gpus, "gpu_unknown",
		       &e->gpu_unknown, "uid", &e->uid, "pid", &e->pid, "start", &e->start, "pool",
		       &e->pool, "name", &e->name) == 0 &&
	       e->id > 0 && e->cls >= 0 && e->cls <= COT_CLASS_BATCH &&
	       e->weight >= (int)COT_WEIGHT_MIN && e->weight <= (int)COT_WEIGHT_MAX &&
	       e->block_us >= 0 && e->block_us <= (int)COT_BLOCK_US_MAX && e->quota >= 0 &&
	       e->quota <= UINT16_MAX && cot_proto_is_share((uint16_t)e->quota) &&
	       e->reserve >= 0 && e->reserve <= UINT16_MAX &&
	       cot_proto_is_share((uint16_t)e->reserve) && e->sms >= 0 && e->sms <= UINT16_MAX &&
	       cot_proto_is_share((uint16_t)e->sms) && is_target(e) && e->pace_us >= 0 &&
	       e->pace_us <= (int)COT_PACE_US_MAX && e->memory_mib >= 0 &&
	       e->memory_mib <= (int)COT_MEMORY_MIB_MAX && e->command >= 0 &&
	       e->command <= UINT32_MAX && e->gpus && e->uid >= 0 && e->uid <= UINT32_MAX;
}

/*
 * Its process, or what that one has left behind. -ESRCH when all of it has ended, another -errno
 * when that cannot be known.
 */
static int process_of(const struct entry *e, const struct cot_processes *all, struct watch *ret_w)
{
	const struct cot_process *p;
	uint64_t start = 0;
	int rc = -ESRCH;

	if (e->pid > 0 && e->start > 0)
		rc = cot_process_start(e->pid, &start);
	if (rc < 0 && rc != -ESRCH)
		return rc;
	if (!rc && start == (uint64_t)e->start) {
		*ret_w = (struct watch){.pid = e->pid, .start_time = start};
		return 0;
	}
	p = cot_processes_of(all, (uint32_t)e->id, (uid_t)e->uid);
	if (!p)
		return -ESRCH;
	*ret_w = (struct watch){.pid = p->pid, .start_time = p->start_time};
	return 0;
}

/* 0, or -errno when it cannot be known whether it still runs. */
static int load_tenant(struct roster *r, json_t *json, const struct cot_processes *all)
{
	struct tenant *t, as;
	struct entry e;
	int rc;

	if (!read_entry(json, &e) || cot_roster_tenant(r, (uint64_t)e.id) ||
	    cot_roster_pool(r, (uint64_t)e.id))
		return 0;
	as = (struct tenant){
		.id = (uint32_t)e.id,
		.uid = (uid_t)e.uid,
		.cls = (enum cot_class)e.cls,
		.weight = (uint32_t)e.weight,
		.block_us = (uint32_t)e.block_us,
		.quota = (uint16_t)e.quota,
		.reserve = (uint16_t)e.reserve,
		.sms = (uint16_t)e.sms,
		.pace_us = (uint32_t)e.pace_us,
		.memory_mib = (uint32_t)e.memory_mib,
		.parts = e.parts,
		.target = target_of(&e),
		.measured = e.measured,
		.command = (uint32_t)e.command,
		.gpu_mask = (uint64_t)e.gpus,
		.gpu_unknown = e.gpu_unknown,
		.held = e.held,
		.pool = cot_roster_pool(r, (uint64_t)e.pool),
	};
	cot_tenant_set_name(&as, e.name);
	rc = process_of(&e, all, &as.watch);
	if (rc < 0)
		return rc == -ESRCH ? 0 : rc;
	rc = cot_tenant_take_over(r, &as, true, &t);
	if (!rc && t)
		log_info("took over program '%s' (id %u, process %d)", t->name, t->id,
			 (int)as.watch.pid);
	return rc;
}

/*
 * *ret_state is NULL if there is no file, or one that makes no sense. -errno: there is one, but it
 * cannot be read now.
 */
static int read_file(const struct roster *r, json_t **ret_state, struct cot_error *err)
{
	char path[COT_PATH_TEXT_MAX], *bytes;
	json_t *state;
	size_t size;
	int rc;

	*ret_state = NULL;
	if (cot_paths_join(path, r->basis->runtime, STATE_NAME, NULL) < 0)
		return 0;
	rc = cot_text_read(path, &bytes, &size, err);
	if (rc < 0)
		return rc == -ENOENT || rc == -EFBIG ? 0 : rc;
	state = json_loadb(bytes, size, 0, NULL);
	free(bytes);
	if (json_integer_value(json_object_get(state, "version")) == STATE_VERSION)
		*ret_state = state;
	else
		json_decref(state);
	return 0;
}

/* What an administrator chose stays, unless the numbers of the configuration do not suit it. */
static void load_policy(struct roster *r, const json_t *entry)
{
	const char *name = json_string_value(entry);
	const struct cot_policy_ops *policy = name ? cot_policy_find(name) : NULL;
	struct cot_error err;

	if (policy && cot_choose_by_user(r, policy, &err) < 0)
		log_warn("the policy '%s' that was chosen is not at work: %s", name, err.text);
	else if (policy)
		log_info("the policy is '%s', as chosen with 'cotenant policy'; 'cotenant policy "
			 "auto' takes that back",
			 name);
}

static int load(struct roster *r, const struct cot_processes *all, json_t *state)
{
	json_int_t next_id = json_integer_value(json_object_get(state, "next_id"));
	json_t *entry;
	int rc = cot_recover_pools(r, all);
	size_t i;

	if (rc < 0)
		return rc;
	load_policy(r, json_object_get(state, "policy"));
	json_array_foreach (json_object_get(state, "pools"), i, entry) {
		rc = load_pool(r, entry);
		if (rc < 0)
			return rc;
	}
	json_array_foreach (json_object_get(state, "tenants"), i, entry) {
		rc = load_tenant(r, entry, all);
		if (rc < 0)
			return rc;
	}
	rc = cot_recover_tenants(r, all);
	if (next_id > 1 && next_id <= INT32_MAX)
		cot_roster_old_id(r, (uint32_t)next_id - 1);
	return rc < 0 || cot_json_whole() ? rc : -ENOMEM;
}

/*
 * Running processes override the file: pools are those whose control programs are there. The file
 * knows the changes by `cotenant set`, and programs whose environment cannot be read.
 *
 * A daemon that cannot read both now must not serve: it would forget, and write that down.
 */
int cot_state_load(struct roster *r, struct cot_error *err)
{
	struct cot_processes *all = cot_processes_read(r->basis->socket_path);
	json_t *state = NULL;
	int rc;

	(void)cot_json_whole();
	rc = all ? read_file(r, &state, err) : -ENOMEM;
	if (!rc)
		rc = load(r, all, state);
	if (!rc)
		cot_choose_look(r, (struct cot_target){0});
	if (rc < 0)
		(void)cot_error_set(err, rc, "cannot take over the programs that run already: %s",
				    strerror(-rc));
	json_decref(state);
	free(all);
	return rc;
}
