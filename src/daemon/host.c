#include "daemon/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/host_work.h"

#define MAX_ENTITIES COT_SCHED_MAX_ENTITIES
#define MAX_ORDERS   512u
#define SET_WORDS    (COT_HOST_MAX_MEMBERS / 64)

struct member_set {
	uint64_t bits[SET_WORDS];
};

struct entity {
	uint32_t id; /* 0 = unused */
	struct member_set members;
	struct member_set refused; /* came while it was frozen, and could not be frozen then */
	uint32_t slice_us;	   /* the policy's */
	enum cot_proto_mode mode;  /* the policy's */
	bool frozen;		   /* the last order was to freeze */
	struct cot_host_entity_stats stats;
};

/* An action on its way. */
struct order {
	uint32_t seq; /* 0 = unused; also that of the messages */
	uint32_t entity;
	bool for_core; /* else it is the host's own and nobody waits for it */
	enum cot_action_kind kind;
	uint32_t slice_us; /* SLICE: what must be read back; 0 = any */
	uint64_t sent_ns;
	struct member_set waiting;
	bool late; /* that has been told */
	int status;
};

struct cot_host {
	const struct cot_host_ops *ops;
	void *arg;
	struct cot_sched *sched;
	struct entity entities[MAX_ENTITIES];
	uint32_t member_entity[COT_HOST_MAX_MEMBERS]; /* 0 = none */
	struct order orders[MAX_ORDERS];
	unsigned next_order;
	uint32_t own_seq; /* of the host's own orders: the upper half of the numbers */
	uint64_t lease_until_ns, renew_ns;
	unsigned n_frozen; /* entities */
	struct cot_host_works *works;
};

#define OWN_SEQ 0x80000000u

/* ---- sets of members ---- */

static void set_put(struct member_set *set, unsigned i)
{
	set->bits[i / 64] |= 1ull << (i % 64);
}

static void set_drop(struct member_set *set, unsigned i)
{
	set->bits[i / 64] &= ~(1ull << (i % 64));
}

static bool set_has(const struct member_set *set, unsigned i)
{
	return set->bits[i / 64] >> (i % 64) & 1;
}

static bool set_empty(const struct member_set *set)
{
	unsigned i;

	for (i = 0; i < SET_WORDS; i++)
		if (set->bits[i])
			return false;
	return true;
}

/* ---- entities ---- */

static struct entity *find(const struct cot_host *host, uint32_t id)
{
	unsigned i;

	for (i = 0; id && i < MAX_ENTITIES; i++)
		if (host->entities[i].id == id)
			return (struct entity *)&host->entities[i];
	return NULL;
}

static struct entity *find_or_make(struct cot_host *host, uint32_t id)
{
	struct entity *e = find(host, id);
	unsigned i;

	for (i = 0; !e && i < MAX_ENTITIES; i++) {
		if (host->entities[i].id)
			continue;
		e = &host->entities[i];
		*e = (struct entity){.id = id};
	}
	return e;
}

static uint32_t effective_slice(const struct entity *e)
{
	return e->stats.slice_override_us ? e->stats.slice_override_us : e->slice_us;
}

static enum cot_proto_mode effective_mode(const struct entity *e)
{
	return e->stats.mode_override ? e->stats.mode_override : e->mode;
}

static void lease_all(struct cot_host *host, const struct entity *e)
{
	unsigned i;

	for (i = 0; i < COT_HOST_MAX_MEMBERS; i++)
		if (set_has(&e->members, i))
			host->ops->lease(host->arg, i, host->lease_until_ns);
}

static void renew(struct cot_host *host, uint64_t now_ns)
{
	unsigned i;

	/* Of all that are frozen, so that there is one deadline. */
	host->lease_until_ns = now_ns + COT_HOST_LEASE_NS;
	host->renew_ns = now_ns + COT_HOST_RENEW_NS;
	for (i = 0; i < MAX_ENTITIES; i++)
		if (host->entities[i].id && host->entities[i].frozen)
			lease_all(host, &host->entities[i]);
}

static void set_frozen(struct cot_host *host, struct entity *e, bool frozen, uint64_t now_ns)
{
	if (e->frozen != frozen)
		host->n_frozen += frozen ? 1u : -1u;
	e->frozen = frozen;
	e->refused = (struct member_set){0};
	if (frozen)
		renew(host, now_ns);
}

/* ---- orders ---- */

static struct order *find_order(struct cot_host *host, uint32_t seq)
{
	unsigned i;

	for (i = 0; seq && i < MAX_ORDERS; i++)
		if (host->orders[i].seq == seq)
			return &host->orders[i];
	return NULL;
}

/* The oldest makes room: its library has not answered for hundreds of orders. */
static struct order *new_order(struct cot_host *host)
{
	unsigned i;

	for (i = 0; i < MAX_ORDERS; i++) {
		struct order *o = &host->orders[host->next_order++ % MAX_ORDERS];

		if (!o->seq)
			return o;
	}
	return &host->orders[host->next_order++ % MAX_ORDERS];
}

static size_t write_packet(const struct entity *e, const struct order *o, struct cot_msg_set *set)
{
	switch (o->kind) {
	case COT_ACTION_FREEZE:
		cot_proto_header(&set->h, COT_MSG_FREEZE, sizeof(set->h), o->seq);
		return sizeof(set->h);
	case COT_ACTION_THAW:
		cot_proto_header(&set->h, COT_MSG_THAW, sizeof(set->h), o->seq);
		return sizeof(set->h);
	default:
		*set = (struct cot_msg_set){.slice_us = effective_slice(e),
					    .mode = effective_mode(e)};
		cot_proto_header(&set->h, COT_MSG_SET, sizeof(*set), o->seq);
		return sizeof(*set);
	}
}

static void count(struct entity *e, const struct order *o, uint64_t took_ns)
{
	struct cot_host_entity_stats *s = &e->stats;

	if (o->kind == COT_ACTION_FREEZE)
		s->freeze_status = o->status;
	if (o->status < 0) {
		s->n_failed++;
	} else if (o->kind == COT_ACTION_FREEZE) {
		s->n_freezes++;
		s->freeze_last_ns = took_ns;
		if (took_ns > s->freeze_max_ns)
			s->freeze_max_ns = took_ns;
	} else if (o->kind == COT_ACTION_THAW) {
		s->n_thaws++;
		s->thaw_last_ns = took_ns;
		if (took_ns > s->thaw_max_ns)
			s->thaw_max_ns = took_ns;
	}
}

static void settle(struct cot_host *host, struct order *o, uint64_t now_ns)
{
	struct entity *e = find(host, o->entity);
	struct cot_event ev = {.type = COT_EV_DONE,
			       .id = o->entity,
			       .now_ns = now_ns,
			       .done = {.seq = o->seq, .status = o->status}};

	if (e)
		count(e, o, now_ns - o->sent_ns);
	if (o->for_core)
		(void)cot_sched_event(host->sched, &ev);
	o->seq = 0;
}

static void send_order(struct cot_host *host, struct entity *e, struct order *o)
{
	struct cot_msg_set packet;
	size_t size = write_packet(e, o, &packet);
	unsigned i;
	int rc;

	for (i = 0; i < COT_HOST_MAX_MEMBERS; i++) {
		if (!set_has(&o->waiting, i))
			continue;
		rc = host->ops->send(host->arg, i, &packet, size);
		if (rc < 0) {
			set_drop(&o->waiting, i);
			o->status = rc;
		}
	}
}

static void carry_out(struct cot_host *host, const struct cot_action *a, uint64_t now_ns)
{
	bool runs = a->kind == COT_ACTION_FREEZE || a->kind == COT_ACTION_THAW;
	struct entity *e = find_or_make(host, a->entity);
	struct order *o = new_order(host);

	*o = (struct order){.seq = a->seq,
			    .entity = a->entity,
			    .for_core = true,
			    .kind = a->kind,
			    .sent_ns = now_ns};
	if (!e) {
		o->status = -ENOSPC;
		settle(host, o, now_ns);
		return;
	}
	if (a->kind == COT_ACTION_SLICE)
		e->slice_us = a->value;
	if (a->kind == COT_ACTION_MODE)
		e->mode = a->value == COT_MODE_DRAIN ? COT_PROTO_DRAIN : COT_PROTO_SWITCH;
	if (runs)
		set_frozen(host, e, a->kind == COT_ACTION_FREEZE, now_ns);
	o->slice_us = a->kind == COT_ACTION_SLICE ? effective_slice(e) : 0;
	o->waiting = e->members;
	o->status = set_empty(&o->waiting) ? -ENOTCONN : 0;
	send_order(host, e, o);
	if (set_empty(&o->waiting))
		settle(host, o, now_ns);
}

/* Everything that the core has decided. Answers may lead to new decisions. */
static void pump(struct cot_host *host, uint64_t now_ns)
{
	struct cot_action a;

	while (cot_sched_next_action(host->sched, &a)) {
		if (a.kind == COT_ACTION_GRANT || a.kind == COT_ACTION_EVICT)
			cot_host_works_carry_out(host->works, &a, now_ns);
		else
			carry_out(host, &a, now_ns);
	}
}

/* An order that the core knows nothing of. */
static void own_order(struct cot_host *host, struct entity *e, enum cot_action_kind kind,
		      const struct member_set *to, uint64_t now_ns)
{
	struct order *o = new_order(host);

	*o = (struct order){.seq = OWN_SEQ | host->own_seq++,
			    .entity = e->id,
			    .kind = kind,
			    .sent_ns = now_ns,
			    .waiting = *to};
	send_order(host, e, o);
	if (set_empty(&o->waiting))
		settle(host, o, now_ns);
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
	host->works = cot_host_works_create(ops, arg);
	if (host->works)
		rc = cot_sched_create(policy, numbers, &limits, now_ns, &host->sched, err);
	else
		rc = cot_error_set(err, -ENOMEM, "out of memory");
	if (rc < 0) {
		cot_host_works_destroy(host->works);
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
	cot_host_works_destroy(host->works);
	free(host);
}

struct cot_sched *cot_host_sched(const struct cot_host *host)
{
	return host->sched;
}

struct cot_host_works *cot_host_works(const struct cot_host *host)
{
	return host->works;
}

int cot_host_event(struct cot_host *host, const struct cot_event *ev)
{
	int rc = cot_sched_event(host->sched, ev);

	pump(host, ev->now_ns);
	return rc;
}

int cot_host_set_policy(struct cot_host *host, const struct cot_policy_ops *policy,
			const struct cot_policy_config *numbers, uint64_t now_ns,
			struct cot_error *err)
{
	int rc = cot_sched_set_policy(host->sched, policy, numbers, now_ns, err);

	pump(host, now_ns);
	return rc;
}

void cot_host_stop(struct cot_host *host, uint64_t now_ns)
{
	unsigned i;

	for (i = 0; i < MAX_ENTITIES; i++) {
		host->entities[i].stats.slice_override_us = 0;
		host->entities[i].stats.mode_override = COT_PROTO_KEEP;
	}
	cot_sched_stop(host->sched, now_ns);
	pump(host, now_ns);
}

/* ---- time ---- */

/* The leases ran out before we came: the libraries have thawed their programs. */
static void lapse(struct cot_host *host, uint64_t now_ns)
{
	unsigned i;

	for (i = 0; i < MAX_ENTITIES; i++) {
		struct entity *e = &host->entities[i];
		const struct cot_entity *known;
		struct cot_event ev = {.type = COT_EV_STATE, .id = e->id, .now_ns = now_ns};

		if (!e->id || !e->frozen)
			continue;
		set_frozen(host, e, false, now_ns);
		e->stats.n_lapsed++;
		known = cot_sched_entity(host->sched, e->id);
		if (!known)
			continue;
		ev.state.slice_us = known->slice_us;
		ev.state.mode = known->mode;
		(void)cot_sched_event(host->sched, &ev);
	}
}

static void tell_late(struct cot_host *host, uint64_t now_ns)
{
	unsigned i, member;

	for (i = 0; i < MAX_ORDERS; i++) {
		struct order *o = &host->orders[i];

		if (!o->seq || o->late || now_ns - o->sent_ns < COT_HOST_ACK_NS)
			continue;
		o->late = true;
		for (member = 0; member < COT_HOST_MAX_MEMBERS; member++)
			if (set_has(&o->waiting, member))
				host->ops->late(host->arg, member);
	}
}

/* Those that set channels up when they came may be done with it. */
static void freeze_refused(struct cot_host *host, uint64_t now_ns)
{
	unsigned i;

	for (i = 0; i < MAX_ENTITIES; i++) {
		struct entity *e = &host->entities[i];
		struct member_set to = e->refused;

		if (!e->id || !e->frozen || set_empty(&to))
			continue;
		e->refused = (struct member_set){0};
		own_order(host, e, COT_ACTION_FREEZE, &to, now_ns);
	}
}

void cot_host_tick(struct cot_host *host, uint64_t now_ns)
{
	struct cot_event ev = {.type = COT_EV_TICK, .now_ns = now_ns};

	if (host->n_frozen && now_ns >= host->lease_until_ns)
		lapse(host, now_ns);
	if (host->n_frozen && now_ns >= host->renew_ns) {
		renew(host, now_ns);
		freeze_refused(host, now_ns);
	}
	if (cot_sched_wake_ns(host->sched) <= now_ns)
		(void)cot_sched_event(host->sched, &ev);
	if (host->ops->late)
		tell_late(host, now_ns);
	pump(host, now_ns);
}

uint64_t cot_host_wake_ns(const struct cot_host *host)
{
	uint64_t wake_ns = cot_sched_wake_ns(host->sched);

	return host->n_frozen && host->renew_ns < wake_ns ? host->renew_ns : wake_ns;
}

/* ---- members ---- */

void cot_host_settings(const struct cot_host *host, uint32_t entity,
		       struct cot_host_settings *ret_settings)
{
	const struct entity *e = find(host, entity);

	*ret_settings = (struct cot_host_settings){0};
	if (!e)
		return;
	ret_settings->slice_us = effective_slice(e);
	ret_settings->mode = effective_mode(e);
	ret_settings->frozen = e->frozen;
}

void cot_host_join(struct cot_host *host, unsigned member, uint32_t entity, uint64_t now_ns)
{
	struct entity *e = find_or_make(host, entity);
	struct member_set alone = {0};

	if (!e || member >= COT_HOST_MAX_MEMBERS || host->member_entity[member])
		return;
	host->member_entity[member] = entity;
	set_put(&e->members, member);
	if (!e->frozen)
		return;
	host->ops->lease(host->arg, member, host->lease_until_ns);
	set_put(&alone, member);
	own_order(host, e, COT_ACTION_FREEZE, &alone, now_ns);
}

void cot_host_leave(struct cot_host *host, unsigned member, uint64_t now_ns)
{
	struct entity *e;
	unsigned i;

	if (member >= COT_HOST_MAX_MEMBERS || !host->member_entity[member])
		return;
	e = find(host, host->member_entity[member]);
	host->member_entity[member] = 0;
	if (e) {
		set_drop(&e->members, member);
		set_drop(&e->refused, member);
	}
	if (e && set_empty(&e->members))
		set_frozen(host, e, false, now_ns);
	for (i = 0; i < MAX_ORDERS; i++) {
		struct order *o = &host->orders[i];

		if (!o->seq || !set_has(&o->waiting, member))
			continue;
		set_drop(&o->waiting, member);
		if (!set_empty(&o->waiting))
			continue;
		if (e && set_empty(&e->members))
			o->status = -ENOTCONN;
		settle(host, o, now_ns);
	}
	pump(host, now_ns);
}

void cot_host_ack(struct cot_host *host, unsigned member, const struct cot_msg_ack *ack,
		  uint64_t now_ns)
{
	struct order *o = find_order(host, ack->h.seq);
	struct entity *e;

	if (!o || member >= COT_HOST_MAX_MEMBERS || !set_has(&o->waiting, member))
		return;
	set_drop(&o->waiting, member);
	e = find(host, o->entity);
	if (e && e->frozen && !o->for_core && o->kind == COT_ACTION_FREEZE &&
	    ack->status == -EAGAIN)
		set_put(&e->refused, member);
	if (ack->status < 0)
		o->status = ack->status;
	else if (o->slice_us && ack->value != o->slice_us && !o->status)
		o->status = -EIO; /* it was set, but another value was read back */
	if (set_empty(&o->waiting))
		settle(host, o, now_ns);
	pump(host, now_ns);
}

/* ---- what the user wants ---- */

static void send_set(struct cot_host *host, struct entity *e, uint64_t now_ns)
{
	own_order(host, e, COT_ACTION_MODE, &e->members, now_ns);
}

void cot_host_override_slice(struct cot_host *host, uint32_t entity, uint32_t slice_us,
			     uint64_t now_ns)
{
	struct entity *e = find_or_make(host, entity);

	if (!e)
		return;
	e->stats.slice_override_us = slice_us;
	send_set(host, e, now_ns);
}

void cot_host_override_mode(struct cot_host *host, uint32_t entity, enum cot_proto_mode mode,
			    uint64_t now_ns)
{
	struct entity *e = find_or_make(host, entity);

	if (!e)
		return;
	e->stats.mode_override = mode;
	if (e->mode == COT_PROTO_KEEP) /* KEEP would not take the user's mode back */
		e->mode = COT_PROTO_SWITCH;
	send_set(host, e, now_ns);
}

void cot_host_forget(struct cot_host *host, uint32_t entity)
{
	struct entity *e = find(host, entity);

	if (!e || !set_empty(&e->members))
		return;
	set_frozen(host, e, false, 0);
	*e = (struct entity){0};
}

void cot_host_entity_stats(const struct cot_host *host, uint32_t entity,
			   struct cot_host_entity_stats *ret_stats)
{
	const struct entity *e = find(host, entity);
	unsigned i;

	*ret_stats = e ? e->stats : (struct cot_host_entity_stats){0};
	for (i = 0; e && i < MAX_ORDERS; i++)
		if (host->orders[i].seq && host->orders[i].entity == entity)
			ret_stats->n_waiting++;
}
