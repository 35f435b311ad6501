#include "daemon/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/host_inside.h"
#include "daemon/host_query.h"

/* ---- entities ---- */

/* A place, by the number of the entity in it; 0 = none. */
static struct host_entity *place_of(const struct cot_host *host, uint32_t id)
{
	struct host_entity *e;

	host_for_each_place (e, (struct cot_host *)host)
		if (e->id == id)
			return e;
	return NULL;
}

struct host_entity *cot_host_find(const struct cot_host *host, uint32_t id)
{
	return id ? place_of(host, id) : NULL;
}

struct host_entity *cot_host_find_or_make(struct cot_host *host, uint32_t id)
{
	struct host_entity *e = place_of(host, id);

	if (e)
		return e;
	e = place_of(host, 0);
	if (e)
		*e = (struct host_entity){.id = id};
	return e;
}

struct host_entity *cot_host_entity_of(const struct cot_host *host, unsigned member)
{
	return member < COT_HOST_MAX_MEMBERS ? cot_host_find(host, host->member_entity[member])
					     : NULL;
}

uint32_t cot_host_slice(const struct host_entity *e)
{
	return e->stats.slice_override_us ? e->stats.slice_override_us : e->slice_us;
}

enum cot_mode cot_host_mode(const struct host_entity *e)
{
	return e->stats.mode_override ? e->stats.mode_override : e->mode;
}

/* Its library let go of it when a lease ended, however that came about: it runs. */
static void find_lapse(struct host_entity *e, unsigned member)
{
	e->stats.n_lapsed++;
	if (set_has(&e->guests, member))
		set_put(&e->unfrozen, member);
	else
		e->loose = true;
}

static void renew_member(struct cot_host *host, struct host_entity *e, unsigned member)
{
	uint64_t n_ended = host->ops->lease(host->arg, member, host->lease_until_ns);

	if (n_ended != host->n_ended[member])
		find_lapse(e, member);
	host->n_ended[member] = n_ended;
}

/* Of all that are frozen, so that there is one deadline; none if no entity is frozen. */
static void renew(struct cot_host *host, uint64_t now_ns)
{
	struct host_entity *e;
	bool any = false;
	unsigned i;

	host->lease_until_ns = now_ns + COT_HOST_LEASE_NS;
	host_for_each_place (e, host) {
		if (!e->frozen)
			continue;
		any = true;
		host_for_each_member (i, &e->members)
			renew_member(host, e, i);
	}
	host->renew_ns = any ? now_ns + COT_HOST_RENEW_NS : COT_NEVER;
}

void cot_host_set_frozen(struct cot_host *host, struct host_entity *e, bool frozen, uint64_t now_ns)
{
	e->frozen = frozen;
	if (frozen)
		renew(host, now_ns);
	/* What was so before this order is over. */
	e->unfrozen = (struct member_set){0};
	e->loose = false;
}

/* ---- life ---- */

int cot_host_create(const struct cot_host_ops *ops, void *arg, const struct cot_policy_ops *policy,
		    const struct cot_policy_config *numbers, uint64_t now_ns,
		    struct cot_host **ret_host, struct cot_error *err)
{
	const struct cot_sched_limits limits = {.ack_ns = COT_HOST_ACK_NS};
	struct cot_host *host = calloc(1, sizeof(*host));
	int rc;

	if (!host)
		return cot_error_set(err, -ENOMEM, "out of memory");
	host->ops = ops;
	host->arg = arg;
	host->due_ns = host->renew_ns = COT_NEVER;
	host->works = ops->works->create(ops, arg);
	host->parts = ops->parts->create(ops, arg);
	if (host->works && host->parts)
		rc = cot_sched_create(policy, numbers, &limits, now_ns, &host->sched, err);
	else
		rc = cot_error_set(err, -ENOMEM, "out of memory");
	if (rc < 0) {
		ops->works->destroy(host->works);
		ops->parts->destroy(host->parts);
		free(host);
		return rc;
	}
	*ret_host = host;
	return 0;
}

void cot_host_destroy(struct cot_host *host)
{
	if (!host)
		return;
	cot_sched_destroy(host->sched);
	host->ops->works->destroy(host->works);
	host->ops->parts->destroy(host->parts);
	free(host);
}

struct cot_sched *cot_host_sched(const struct cot_host *host)
{
	return host->sched;
}

struct cot_host_parts *cot_host_parts(const struct cot_host *host)
{
	return host->parts;
}

struct cot_host_works *cot_host_works(const struct cot_host *host)
{
	return host->works;
}

/* The core assumes that a new entity has the driver's settings. The orders that members got before
 * still apply. */
static void begin_anew(struct cot_host *host, uint32_t id)
{
	struct host_entity *e = cot_host_find(host, id);

	if (!e)
		return;
	e->slice_us = COT_SLICE_DRIVER;
	if (e->mode != COT_MODE_DRIVER) /* DRIVER would not take a mode back */
		e->mode = COT_MODE_SWITCH;
	e->unsure = true;
}

int cot_host_event(struct cot_host *host, const struct cot_event *ev)
{
	bool may_come_up = ev->type == COT_EV_TENANT || ev->type == COT_EV_POOL;
	bool was_up = may_come_up && cot_sched_entity(host->sched, ev->id);
	int rc = cot_sched_event(host->sched, ev);

	if (may_come_up && !was_up && cot_sched_entity(host->sched, ev->id))
		begin_anew(host, ev->id);
	if (ev->type == COT_EV_TENANT)
		cot_host_query_ask(host, ev->now_ns); /* its class may be another one */
	cot_host_pump(host, ev->now_ns);
	return rc;
}

int cot_host_set_policy(struct cot_host *host, const struct cot_policy_ops *policy,
			const struct cot_policy_config *numbers, uint64_t now_ns,
			struct cot_error *err)
{
	int rc = cot_sched_set_policy(host->sched, policy, numbers, now_ns, err);

	cot_host_query_ask(host, now_ns);
	cot_host_pump(host, now_ns);
	return rc;
}

void cot_host_stop(struct cot_host *host, uint64_t now_ns)
{
	struct host_entity *e;

	host_for_each_place (e, host) {
		e->stats.slice_override_us = 0;
		e->stats.mode_override = COT_MODE_DRIVER;
	}
	cot_sched_stop(host->sched, now_ns);
	cot_host_pump(host, now_ns);
}

/* ---- time ---- */

/* The core says whether it is to be frozen again. While an order is on its way it takes no news. */
static void let_go(struct cot_host *host, struct host_entity *e, uint64_t now_ns)
{
	const struct order *run = &e->orders[PLACE_RUN];
	struct cot_event ev = {.type = COT_EV_FOUND, .id = e->id, .now_ns = now_ns};

	if (!e->loose || (run->seq && !run->decided))
		return;
	cot_host_set_frozen(host, e, false, now_ns);
	if (cot_sched_entity(host->sched, e->id))
		(void)cot_sched_event(host->sched, &ev);
}

void cot_host_release(struct cot_host *host, uint32_t entity, uint64_t now_ns)
{
	struct host_entity *e = cot_host_find(host, entity);
	struct cot_msg_header thaw;
	unsigned i;

	if (!e || !e->frozen)
		return;
	cot_proto_header(&thaw, COT_MSG_THAW, sizeof(thaw), 0);
	host_for_each_member (i, &e->members)
		(void)host->ops->send(host->arg, i, &thaw, sizeof(thaw));
	e->loose = true;
	let_go(host, e, now_ns);
	cot_host_pump(host, now_ns);
}

/* Those that came while it was frozen, or set channels up then. */
static void freeze_newcomers(struct cot_host *host, struct host_entity *e, uint64_t now_ns)
{
	struct member_set to = e->unfrozen;

	if (!e->frozen || set_empty(&to) || e->orders[PLACE_OWN_FREEZE].seq)
		return;
	e->unfrozen = (struct member_set){0};
	(void)cot_host_own_order(host, e, PLACE_OWN_FREEZE, &to, now_ns);
}

void cot_host_tick(struct cot_host *host, uint64_t now_ns)
{
	struct cot_event ev = {.type = COT_EV_TICK, .now_ns = now_ns};
	struct host_entity *e;

	if (now_ns >= host->renew_ns) {
		renew(host, now_ns);
		host_for_each_place (e, host) {
			let_go(host, e, now_ns);
			freeze_newcomers(host, e, now_ns);
		}
	}
	if (cot_sched_wake_ns(host->sched) <= now_ns)
		(void)cot_sched_event(host->sched, &ev);
	cot_host_pump(host, now_ns);
}

uint64_t cot_host_wake_ns(const struct cot_host *host)
{
	uint64_t wake_ns = cot_sched_wake_ns(host->sched);

	if (host->due_ns < wake_ns)
		wake_ns = host->due_ns;
	return host->renew_ns < wake_ns ? host->renew_ns : wake_ns;
}

/* ---- members ---- */

void cot_host_settings(const struct cot_host *host, uint32_t entity,
		       struct cot_host_settings *ret_settings)
{
	const struct host_entity *e = cot_host_find(host, entity);

	*ret_settings = (struct cot_host_settings){0};
	if (!e)
		return;
	ret_settings->slice_us = cot_host_slice(e);
	ret_settings->mode = cot_host_mode(e);
	ret_settings->frozen = e->frozen;
}

void cot_host_welcome(struct cot_host *host, unsigned member, uint32_t entity, enum cot_class cls,
		      uint64_t gpu_mask, struct cot_host_settings *ret_settings)
{
	const struct host_entity *e = cot_host_find(host, entity);

	cot_host_settings(host, entity, ret_settings);
	if (!cot_sched_entity(host->sched, entity) && !(e && e->stats.slice_override_us))
		ret_settings->slice_us = cot_sched_first_slice(host->sched, cls, gpu_mask);
	if (member < COT_HOST_MAX_MEMBERS)
		host->told[member] = (struct told){ret_settings->slice_us, ret_settings->mode};
}

void cot_host_join(struct cot_host *host, unsigned member, uint32_t entity, bool guest,
		   uint64_t now_ns)
{
	struct host_entity *e = cot_host_find_or_make(host, entity);

	if (!e || member >= COT_HOST_MAX_MEMBERS || host->member_entity[member])
		return;
	host->member_entity[member] = entity;
	set_put(&e->members, member);
	if (guest)
		set_put(&e->guests, member);
	e->unsure = true;
	host->n_ended[member] =
		host->ops->lease(host->arg, member, e->frozen ? host->lease_until_ns : 0);
	if (e->frozen) {
		set_put(&e->unfrozen, member);
		freeze_newcomers(host, e, now_ns);
	}
	cot_host_pump(host, now_ns);
}

void cot_host_drop_member(struct cot_host *host, struct host_entity *e, unsigned member)
{
	host->member_entity[member] = 0;
	set_drop(&e->members, member);
	set_drop(&e->guests, member);
	set_drop(&e->unfrozen, member);
}

void cot_host_leave(struct cot_host *host, unsigned member, uint64_t now_ns)
{
	struct host_entity *e = cot_host_entity_of(host, member);

	if (!e)
		return;
	cot_host_drop_member(host, e, member);
	if (set_empty(&e->members)) {
		cot_host_set_frozen(host, e, false, now_ns);
		e->stats.freeze = e->stats.thaw = (struct cot_host_trouble){0};
	}
	cot_host_forgive(host, e, member, now_ns);
	cot_host_pump(host, now_ns);
}

/* ---- what the user wants ---- */

/* At once, or when the one before is answered: then the newest. */
static void send_set(struct cot_host *host, struct host_entity *e, uint64_t now_ns)
{
	if (cot_host_own_order(host, e, PLACE_OWN_SET, &e->members, now_ns) == -EBUSY)
		e->unsure = true;
}

void cot_host_hold(struct cot_host *host, uint32_t entity, bool hold, uint64_t now_ns)
{
	struct cot_event ev = {.type = COT_EV_HOLD, .id = entity, .now_ns = now_ns, .hold = hold};

	if (cot_sched_entity(cot_host_sched(host), entity))
		(void)cot_host_event(host, &ev);
}

void cot_host_override_slice(struct cot_host *host, uint32_t entity, uint32_t slice_us,
			     uint64_t now_ns)
{
	struct host_entity *e = cot_host_find_or_make(host, entity);

	if (!e)
		return;
	e->stats.slice_override_us = slice_us;
	send_set(host, e, now_ns);
}

void cot_host_override_mode(struct cot_host *host, uint32_t entity, enum cot_mode mode,
			    uint64_t now_ns)
{
	struct host_entity *e = cot_host_find_or_make(host, entity);

	if (!e)
		return;
	e->stats.mode_override = mode;
	if (e->mode == COT_MODE_DRIVER) /* DRIVER would not take the user's mode back */
		e->mode = COT_MODE_SWITCH;
	send_set(host, e, now_ns);
}

void cot_host_forget(struct cot_host *host, uint32_t entity)
{
	struct host_entity *e = cot_host_find(host, entity);

	if (!e || !set_empty(&e->members))
		return;
	*e = (struct host_entity){0};
}

void cot_host_entity_stats(const struct cot_host *host, uint32_t entity,
			   struct cot_host_entity_stats *ret_stats)
{
	struct host_entity *e = cot_host_find(host, entity);
	const struct order *o;
	unsigned i;

	*ret_stats = (struct cot_host_entity_stats){0};
	if (!e)
		return;
	*ret_stats = e->stats;
	host_for_each_order (o, e)
		ret_stats->n_waiting += o->seq && !o->decided;
	host_for_each_member (i, &e->guests)
		ret_stats->n_guests++;
}
