/*
 * Orders: from the core's actions to messages, and from the libraries' answers to events.
 */
#include <errno.h>

#include "daemon/host_inside.h"

static bool is_own(const struct host_entity *e, const struct order *o)
{
	return o - e->orders >= PLACE_OWN_SET;
}

/* ---- statistics and news ---- */

static void tell(struct cot_host *host, const struct cot_host_news *news)
{
	if (host->ops->tell)
		host->ops->tell(host->arg, news);
}

static void fail(struct cot_host *host, struct host_entity *e, const struct order *o,
		 uint64_t now_ns)
{
	struct cot_host_trouble *t =
		o->kind == COT_ACTION_FREEZE ? &e->stats.freeze : &e->stats.thaw;
	struct cot_host_news news = {.kind = COT_HOST_STUCK,
				     .entity = e->id,
				     .action = o->kind,
				     .status = o->status,
				     .for_ns = now_ns - o->sent_ns,
				     .n = 1};

	if (!t->n)
		t->since_ns = o->sent_ns;
	t->n++;
	t->last_ns = o->sent_ns;
	t->status = o->status;
	if (t->n == 1)
		tell(host, &news);
}

static void succeed(struct cot_host *host, struct host_entity *e, const struct order *o,
		    uint64_t now_ns)
{
	struct cot_host_trouble *t =
		o->kind == COT_ACTION_FREEZE ? &e->stats.freeze : &e->stats.thaw;
	struct cot_host_news news = {.kind = COT_HOST_FREED,
				     .entity = e->id,
				     .action = o->kind,
				     .status = t->status,
				     .for_ns = now_ns - t->since_ns,
				     .n = t->n};

	if (t->n)
		tell(host, &news);
	*t = (struct cot_host_trouble){0};
}

static void took(uint64_t took_ns, uint64_t *n, uint64_t *last_ns, uint64_t *max_ns)
{
	++*n;
	*last_ns = took_ns;
	if (took_ns > *max_ns)
		*max_ns = took_ns;
}

static void count(struct cot_host *host, struct host_entity *e, const struct order *o,
		  uint64_t now_ns)
{
	struct cot_host_entity_stats *s = &e->stats;
	bool runs = o->kind == COT_ACTION_FREEZE || o->kind == COT_ACTION_THAW;
	/* Neither says that it cannot be done: it sets channels up just then, or is gone. */
	bool excused = o->status == -EAGAIN || o->status == -ENOTCONN;

	if (o->kind == COT_ACTION_FREEZE)
		s->freeze_status = o->status;
	if (!runs)
		s->set_status = o->status;
	s->n_failed += o->status < 0;
	if (runs && o->status < 0 && !excused)
		fail(host, e, o, now_ns);
	if (!runs || o->status < 0)
		return;
	if (o->kind == COT_ACTION_FREEZE)
		took(now_ns - o->sent_ns, &s->n_freezes, &s->freeze_last_ns, &s->freeze_max_ns);
	else
		took(now_ns - o->sent_ns, &s->n_thaws, &s->thaw_last_ns, &s->thaw_max_ns);
	if (!is_own(e, o))
		succeed(host, e, o, now_ns);
}

/* ---- an order's life ---- */

/* From the orders that are on their way. */
static void find_due(struct cot_host *host)
{
	const struct order *o;
	struct host_entity *e;

	host->due_ns = COT_NEVER;
	host_for_each_place (e, host)
		host_for_each_order (o, e)
			if (o->seq && o->sent_ns + COT_HOST_ACK_NS < host->due_ns)
				host->due_ns = o->sent_ns + COT_HOST_ACK_NS;
}

static void close_order(struct cot_host *host, struct order *o)
{
	o->seq = 0;
	if (o->sent_ns + COT_HOST_ACK_NS == host->due_ns)
		find_due(host);
}

/* The core gets the results of its own orders; of the host's own freezes it learns only that a
 * member runs. */
static void finish(struct cot_host *host, struct host_entity *e, const struct order *o,
		   uint64_t now_ns)
{
	bool later = o->status == -EAGAIN; /* it is in e->unfrozen */

	count(host, e, o, now_ns);
	if (o == &e->orders[PLACE_OWN_FREEZE] && o->status < 0 && !later && e->frozen)
		e->loose = true;
}

static void settle(struct cot_host *host, struct host_entity *e, struct order *o, uint64_t now_ns)
{
	struct cot_event ev = {.type = COT_EV_DONE,
			       .id = e->id,
			       .now_ns = now_ns,
			       .done = {.seq = o->seq, .status = o->status}};

	o->decided = true;
	finish(host, e, o, now_ns);
	if (!is_own(e, o))
		(void)cot_sched_event(host->sched, &ev);
}

/* A member has answered, or will not answer. */
static void judge(struct cot_host *host, struct host_entity *e, struct order *o, uint64_t now_ns)
{
	struct member_set deciding = set_without(&o->waiting, &e->guests);

	if (!o->decided && set_empty(&deciding))
		settle(host, e, o, now_ns);
	if (set_empty(&o->waiting))
		close_order(host, o);
}

static void guest_failed(struct cot_host *host, struct host_entity *e, unsigned member)
{
	e->stats.n_guests_left++;
	cot_host_drop_member(host, e, member);
}

/* Members that have not answered by now are late. The core itself gives up its actions. */
static void end(struct cot_host *host, struct host_entity *e, struct order *o, uint64_t now_ns)
{
	struct member_set late = o->waiting;
	unsigned member;

	o->waiting = (struct member_set){0};
	host_for_each_member (member, &late) {
		if (set_has(&e->guests, member))
			guest_failed(host, e, member);
		else if (host->ops->late)
			host->ops->late(host->arg, member);
	}
	if (!o->decided) {
		o->status = -ETIMEDOUT;
		finish(host, e, o, now_ns);
	}
	close_order(host, o);
}

void cot_host_end_late(struct cot_host *host, uint64_t now_ns)
{
	struct host_entity *e;
	struct order *o;

	if (now_ns < host->due_ns)
		return;
	host_for_each_place (e, host)
		host_for_each_order (o, e)
			if (o->seq && now_ns - o->sent_ns >= COT_HOST_ACK_NS)
				end(host, e, o, now_ns);
	find_due(host);
}

void cot_host_forgive(struct cot_host *host, struct host_entity *e, unsigned member,
		      uint64_t now_ns)
{
	struct order *o;

	host_for_each_order (o, e) {
		if (!o->seq || !set_has(&o->waiting, member))
			continue;
		set_drop(&o->waiting, member);
		if (set_empty(&e->members))
			o->status = -ENOTCONN;
		judge(host, e, o, now_ns);
	}
}

/* ---- sending ---- */

static size_t write_packet(const struct host_entity *e, const struct order *o,
			   struct cot_msg_set *set)
{
	switch (o->kind) {
	case COT_ACTION_FREEZE:
		cot_proto_header(&set->h, COT_MSG_FREEZE, sizeof(set->h), o->seq);
		return sizeof(set->h);
	case COT_ACTION_THAW:
		cot_proto_header(&set->h, COT_MSG_THAW, sizeof(set->h), o->seq);
		return sizeof(set->h);
	default:
		*set = (struct cot_msg_set){.slice_us = cot_host_slice(e),
					    .mode = cot_host_mode(e)};
		cot_proto_header(&set->h, COT_MSG_SET, sizeof(*set), o->seq);
		return sizeof(*set);
	}
}

static void send_order(struct cot_host *host, struct host_entity *e, struct order *o)
{
	struct cot_msg_set packet;
	size_t size = write_packet(e, o, &packet);
	unsigned i;
	int rc;

	host_for_each_member (i, &o->waiting) {
		if (o->kind == COT_ACTION_SLICE || o->kind == COT_ACTION_MODE)
			host->told[i] = (struct told){cot_host_slice(e), cot_host_mode(e)};
		rc = host->ops->send(host->arg, i, &packet, size);
		if (rc >= 0)
			continue;
		set_drop(&o->waiting, i);
		if (set_has(&e->guests, i))
			guest_failed(host, e, i);
		else /* -EAGAIN is what a library says that sets channels up */
			o->status = rc == -EAGAIN ? -ENOBUFS : rc;
	}
	if (o->sent_ns + COT_HOST_ACK_NS < host->due_ns)
		host->due_ns = o->sent_ns + COT_HOST_ACK_NS;
}

static enum order_place place_of(enum cot_action_kind kind)
{
	return kind == COT_ACTION_SLICE	 ? PLACE_SLICE
	       : kind == COT_ACTION_MODE ? PLACE_MODE
					 : PLACE_RUN;
}

/* In a pool a freeze is the server's business, and a set-up that of each program: so the server's
 * own gate (src/cuda/rm/gate.c) knows nothing of it. */
static bool is_untimely(const struct cot_host *host, const struct cot_action *a, uint64_t now_ns)
{
	return a->kind == COT_ACTION_FREEZE && host->ops->is_quiet &&
	       !host->ops->is_quiet(host->arg, a->entity, now_ns);
}

/* The core does not get far with an entity that has no place here. */
static void carry_out(struct cot_host *host, const struct cot_action *a, uint64_t now_ns)
{
	bool runs = a->kind == COT_ACTION_FREEZE || a->kind == COT_ACTION_THAW;
	struct host_entity *e = cot_host_find_or_make(host, a->entity);
	bool untimely = is_untimely(host, a, now_ns);
	struct member_set deciding;
	struct order *o;

	if (!e)
		return;
	if (a->kind == COT_ACTION_SLICE)
		e->slice_us = a->value;
	if (a->kind == COT_ACTION_MODE)
		e->mode = (enum cot_mode)a->value;
	if (runs && !untimely)
		cot_host_set_frozen(host, e, a->kind == COT_ACTION_FREEZE, now_ns);
	deciding = set_without(&e->members, &e->guests);
	o = &e->orders[place_of(a->kind)];
	*o = (struct order){.seq = a->seq,
			    .kind = a->kind,
			    .slice_us = a->kind == COT_ACTION_SLICE ? cot_host_slice(e) : 0,
			    .sent_ns = now_ns,
			    .waiting = e->members,
			    .status = set_empty(&deciding) ? -ENOTCONN : 0};
	if (untimely) {
		o->waiting = (struct member_set){0};
		o->status = -EAGAIN;
	}
	send_order(host, e, o);
	judge(host, e, o, now_ns);
}

int cot_host_own_order(struct cot_host *host, struct host_entity *e, enum order_place place,
		       const struct member_set *to, uint64_t now_ns)
{
	struct order *o = &e->orders[place];

	if (o->seq)
		return -EBUSY;
	*o = (struct order){.seq = COT_HOST_OWN_SEQ | host->own_seq++,
			    .kind = place == PLACE_OWN_SET ? COT_ACTION_MODE : COT_ACTION_FREEZE,
			    .sent_ns = now_ns,
			    .waiting = *to};
	send_order(host, e, o);
	judge(host, e, o, now_ns);
	return 0;
}

/* ---- members with other settings ---- */

static struct member_set told_otherwise(const struct cot_host *host, const struct host_entity *e)
{
	struct member_set set = {0};
	unsigned i;

	host_for_each_member (i, &e->members)
		if (host->told[i].slice_us != cot_host_slice(e) ||
		    host->told[i].mode != cot_host_mode(e))
			set_put(&set, i);
	return set;
}

/*
 * The settings in a member's welcome may no longer be the current ones, and the core only sends
 * changes. So the host sends them, but not before the policy has seen the entity, and one SET at a
 * time.
 */
static void tell_unsure(struct cot_host *host, uint64_t now_ns)
{
	struct member_set to;
	struct host_entity *e;

	host_for_each_place (e, host) {
		if (!e->unsure || !cot_sched_entity(host->sched, e->id))
			continue;
		to = told_otherwise(host, e);
		if (set_empty(&to) || !cot_host_own_order(host, e, PLACE_OWN_SET, &to, now_ns))
			e->unsure = false;
	}
}

/* ---- everything that the core has decided ---- */

static void watch_policy(struct cot_host *host)
{
	struct cot_host_news news = {.kind = COT_HOST_FELL_BACK};
	struct cot_sched_stats stats;
	bool back;

	cot_sched_stats(host->sched, &stats);
	back = cot_sched_policy(host->sched)->ops == cot_sched_wanted_policy(host->sched);
	if (stats.fallbacks != host->n_fallbacks) {
		host->fell = true;
		tell(host, &news);
	}
	host->n_fallbacks = stats.fallbacks;
	if (!host->fell || !back)
		return;
	host->fell = false;
	news.kind = COT_HOST_RECOVERED;
	tell(host, &news);
}

void cot_host_pump(struct cot_host *host, uint64_t now_ns)
{
	struct cot_action a;

	cot_host_end_late(host, now_ns);
	/* Answers may lead to new decisions. */
	while (cot_sched_next_action(host->sched, &a)) {
		if (a.kind == COT_ACTION_GRANT || a.kind == COT_ACTION_EVICT)
			host->ops->works->carry_out(host->works, &a, now_ns);
		else if (a.kind == COT_ACTION_PLACE)
			host->ops->parts->carry_out(host->parts, &a, now_ns);
		else
			carry_out(host, &a, now_ns);
	}
	tell_unsure(host, now_ns);
	watch_policy(host);
}

/* ---- answers ---- */

static struct order *find_order(struct host_entity *e, uint32_t seq)
{
	struct order *o;

	host_for_each_order (o, e)
		if (seq && o->seq == seq)
			return o;
	return NULL;
}

static int result(const struct order *o, const struct cot_msg_ack *ack)
{
	if (ack->status < 0)
		return ack->status;
	/* It was set, but another value was read back. */
	return o->slice_us && ack->value != o->slice_us ? -EIO : 0;
}

void cot_host_ack(struct cot_host *host, unsigned member, const struct cot_msg_ack *ack,
		  uint64_t now_ns)
{
	struct host_entity *e = cot_host_entity_of(host, member);
	struct order *o = e ? find_order(e, ack->h.seq) : NULL;
	bool guest, later;
	int status;

	if (!o || !set_has(&o->waiting, member))
		return;
	set_drop(&o->waiting, member);
	status = result(o, ack);
	guest = set_has(&e->guests, member);
	/* Channels are being set up there. The core tries its own orders again. */
	later = status == -EAGAIN && o->kind == COT_ACTION_FREEZE && e->frozen &&
		(guest || is_own(e, o));
	if (later)
		set_put(&e->unfrozen, member);
	if (guest && status < 0 && !later)
		guest_failed(host, e, member);
	else if (!guest && status < 0)
		o->status = status;
	judge(host, e, o, now_ns);
	cot_host_pump(host, now_ns);
}
