#include "daemon/host_part.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_TENANTS COT_SCHED_MAX_TENANTS

_Static_assert(COT_PROTO_HOLD_NS == COT_HOLD_MAX_NS, "the shim ends a hold when the core does");

struct part_member {
	uint32_t tenant; /* 0 = no shim */
	bool known;	 /* it has said PARTS */
	bool found;	 /* it has said what it has from the time of another daemon */
	int status;
	uint32_t n_sms, unit, n_units;
	bool can_cpu;
	struct cot_part part;
	uint32_t waiting;     /* for the answer to the PLACE with this number; 0 = none */
	struct cot_part sent; /* in it */
};

struct part_tenant {
	uint32_t tenant;	/* 0 = unused */
	uint32_t seq;		/* of the core's last PLACE */
	struct cot_part wanted; /* what it said */
	int status;		/* of the answers until now */
	struct cot_host_part_stats stats;
};

struct cot_host_parts {
	const struct cot_host_ops *ops;
	void *arg;
	struct part_member members[COT_HOST_MAX_MEMBERS];
	struct part_tenant tenants[MAX_TENANTS];
	uint32_t own_seq; /* of messages that the core knows nothing of: the upper half */
};

static void *create(const struct cot_host_ops *ops, void *arg)
{
	struct cot_host_parts *parts = calloc(1, sizeof(*parts));

	if (!parts)
		return NULL;
	parts->ops = ops;
	parts->arg = arg;
	return parts;
}

/* ---- tenants and their members ---- */

static struct part_tenant *find(const struct cot_host_parts *parts, uint32_t tenant)
{
	unsigned i;

	for (i = 0; i < MAX_TENANTS; i++)
		if (parts->tenants[i].tenant == tenant)
			return (struct part_tenant *)&parts->tenants[i];
	return NULL;
}

/* There is a place for each tenant that the core knows. */
static struct part_tenant *find_or_make(struct cot_host_parts *parts, uint32_t tenant)
{
	struct part_tenant *t = find(parts, tenant);

	if (t)
		return t;
	t = find(parts, 0);
	if (t)
		*t = (struct part_tenant){.tenant = tenant};
	return t;
}

/* Those that have said PARTS. */
#define for_each_known(m, parts, id)                                                       \
	for ((m) = (parts)->members; (m) < (parts)->members + COT_HOST_MAX_MEMBERS; (m)++) \
		if ((m)->tenant == (id) && (m)->known)

static bool are_alike(const struct part_member *a, const struct part_member *b)
{
	return a->n_sms == b->n_sms && a->unit == b->unit && a->n_units == b->n_units;
}

/* Whether the core knows the tenant's GPUs as divided like this. */
static bool is_known(const struct cot_tenant *is, const struct part_member *all)
{
	return is->part_sms == all->n_sms && is->part_unit == all->unit &&
	       is->part_units == all->n_units && is->can_cpu == all->can_cpu;
}

/* How the tenant's GPUs are divided; n_sms 0 and why: it cannot be placed. */
static struct part_member common(struct cot_host_parts *parts, uint32_t tenant, unsigned *ret_n)
{
	struct part_member all = {0}, *m;

	*ret_n = 0;
	for_each_known(m, parts, tenant)
	{
		if (!(*ret_n)++)
			all = *m;
		else if (m->status)
			all.status = m->status;
		else if (!all.status && !are_alike(m, &all))
			all.status = -EXDEV;
		all.can_cpu &= m->can_cpu;
	}
	if (all.status)
		all.n_sms = all.unit = all.n_units = 0;
	return all;
}

static bool is_waiting(struct cot_host_parts *parts, uint32_t tenant, uint32_t seq)
{
	struct part_member *m;

	for_each_known(m, parts, tenant) if (m->waiting == seq) return true;
	return false;
}

/* ---- to the shims ---- */

static void send_place(struct cot_host_parts *parts, struct part_member *to, struct cot_part part,
		       bool leave, uint32_t seq)
{
	unsigned member = (unsigned)(to - parts->members);
	struct cot_msg_place m = {
		.first = (uint16_t)part.first,
		.n = (uint16_t)part.n,
		.pace_us = part.pace_us,
		.flags = (part.hold ? COT_PLACE_HOLD : 0) | (leave ? COT_PLACE_LEAVE : 0) |
			 (part.cpu ? COT_PLACE_CPU : 0),
	};

	cot_proto_header(&m.h, COT_MSG_PLACE, sizeof(m), seq);
	to->sent = part;
	to->waiting = parts->ops->send(parts->arg, member, &m, sizeof(m)) < 0 ? 0 : seq;
}

static void carry_out(void *state, const struct cot_action *a, uint64_t now_ns)
{
	struct cot_host_parts *parts = state;
	struct part_tenant *t = find_or_make(parts, a->entity);
	struct part_member *m;

	(void)now_ns;
	if (!t)
		return;
	t->seq = a->seq;
	t->wanted = a->part;
	t->status = 0;
	for_each_known(m, parts, a->entity) send_place(parts, m, a->part, a->leave, a->seq);
}

const struct cot_host_carrier_ops cot_host_parts_ops = {
	.create = create, .destroy = free, .carry_out = carry_out};

static uint32_t next_own_seq(struct cot_host_parts *parts)
{
	parts->own_seq = (parts->own_seq + 1) | COT_HOST_OWN_SEQ;
	return parts->own_seq;
}

/* One that is not where the tenant's others are. */
static void send_after(struct cot_host_parts *parts, struct part_member *m,
		       const struct part_tenant *t)
{
	if (m->part.first == t->wanted.first && m->part.n == t->wanted.n &&
	    m->part.pace_us == t->wanted.pace_us && !t->wanted.hold && !t->wanted.cpu)
		return;
	send_place(parts, m, t->wanted, false, next_own_seq(parts));
}

/* It stays on all of the GPU, where it is. Before it hears that, it cannot know whether its first
 * launches are where they are wanted. Nothing changes, so its answer is not waited for. */
static void say_whole(struct cot_host_parts *parts, struct part_member *m)
{
	send_place(parts, m, (struct cot_part){.pace_us = m->part.pace_us}, false,
		   next_own_seq(parts));
	m->waiting = 0;
}

/* ---- to the core ---- */

/* The part goes first: what the core decides then is newer. */
static int tell_part(struct cot_host *host, struct cot_event *ev, struct cot_part part)
{
	struct part_tenant *t = find_or_make(cot_host_parts(host), ev->id);

	/* The core knows of neither; the one ends by itself, the other with the next order. */
	part.hold = part.cpu = false;
	if (t)
		t->wanted = part;
	ev->parts.part = part;
	return cot_host_event(host, ev);
}

static void tell_parts(struct cot_host *host, uint32_t tenant, const struct part_member *all,
		       uint64_t now_ns)
{
	struct cot_event ev = {
		.type = COT_EV_PARTS,
		.id = tenant,
		.now_ns = now_ns,
		.parts = {.n_sms = all->n_sms,
			  .unit = all->unit,
			  .n_units = all->n_units,
			  .can_cpu = all->can_cpu},
	};

	/* What it says of itself may be nonsense: then it is on all of the GPU, for the core. */
	if (!all->n_sms || tell_part(host, &ev, all->part) < 0)
		(void)tell_part(host, &ev, (struct cot_part){0});
}

static void tell_placed(struct cot_host *host, const struct part_tenant *t, uint32_t seq,
			struct cot_part part, uint64_t now_ns)
{
	struct cot_event ev = {
		.type = COT_EV_PLACED,
		.id = t->tenant,
		.now_ns = now_ns,
		.placed = {.seq = seq, .status = seq == t->seq ? t->status : 0, .part = part},
	};

	(void)cot_host_event(host, &ev);
}

/* ---- packets ---- */

void cot_host_part_join(struct cot_host *host, unsigned member, uint32_t tenant)
{
	cot_host_parts(host)->members[member] = (struct part_member){.tenant = tenant};
}

/* The tenant is told of as it is now, unless it was so and this one is one more of its shims. */
static void settle(struct cot_host *host, struct part_member *m, uint64_t now_ns)
{
	struct cot_host_parts *parts = cot_host_parts(host);
	const struct cot_tenant *is = cot_sched_tenant(cot_host_sched(host), m->tenant);
	const struct part_tenant *t = find_or_make(parts, m->tenant);
	unsigned n;
	struct part_member all = common(parts, m->tenant, &n);

	if (!is || !t)
		return;
	if (n > 1 && all.n_sms && is_known(is, &all))
		send_after(parts, m, t);
	else if (all.n_sms || is->part_sms)
		tell_parts(host, m->tenant, &all, now_ns);
}

void cot_host_part_told(struct cot_host *host, unsigned member, const struct cot_msg_parts *m,
			uint64_t now_ns)
{
	struct part_member *from = &cot_host_parts(host)->members[member];
	const struct cot_tenant *is;

	if (!from->tenant || from->known)
		return;
	from->known = true;
	from->status = m->status;
	from->n_sms = m->n_sms;
	from->unit = m->unit;
	from->n_units = cot_msg_parts_n_units(m);
	from->can_cpu = cot_msg_parts_flags(m) & COT_PARTS_CPU;
	from->part.pace_us = m->pace_us;
	settle(host, from, now_ns);
	is = cot_sched_tenant(cot_host_sched(host), from->tenant);
	if (is && is->part_sms && !from->waiting && !from->part.n)
		say_whole(cot_host_parts(host), from);
}

static void count(struct part_tenant *t, const struct cot_msg_placed *m, bool again)
{
	struct cot_host_part_stats *s = &t->stats;

	s->n_placed += m->status == 0 && !again;
	s->n_failed += m->status != 0 && !again;
	s->last_status = m->status;
	s->last_ns = m->latency_ns;
	if (m->latency_ns > s->max_ns)
		s->max_ns = m->latency_ns;
}

void cot_host_part_placed(struct cot_host *host, unsigned member, const struct cot_msg_placed *m,
			  uint64_t now_ns)
{
	struct cot_host_parts *parts = cot_host_parts(host);
	struct part_member *from = &parts->members[member];
	struct part_tenant *t = from->tenant ? find_or_make(parts, from->tenant) : NULL;

	if (!t)
		return;
	if (!m->h.seq) {
		if (from->found)
			return;
		from->found = true;
		from->part.first = m->first;
		from->part.n = m->n;
		if (from->known)
			settle(host, from, now_ns);
		return;
	}
	from->part.first = m->first;
	from->part.n = m->n;
	if (!from->waiting && m->h.seq == t->seq && !is_waiting(parts, t->tenant, t->seq)) {
		/* Another part has stood in for the one that was asked for. */
		count(t, m, true);
		tell_placed(host, t, m->h.seq, from->part, now_ns);
	}
	if (from->waiting != m->h.seq)
		return;
	from->waiting = 0;
	if (!m->status) {
		from->part.pace_us = from->sent.pace_us;
		from->part.hold = from->sent.hold;
		from->part.cpu = from->sent.cpu;
	}
	count(t, m, false);
	if (m->h.seq == t->seq && m->status)
		t->status = m->status;
	if (!(m->h.seq & COT_HOST_OWN_SEQ) && !is_waiting(parts, t->tenant, m->h.seq))
		tell_placed(host, t, m->h.seq, from->part, now_ns);
}

void cot_host_part_leave(struct cot_host *host, unsigned member, uint64_t now_ns)
{
	struct cot_host_parts *parts = cot_host_parts(host);
	struct part_member was = parts->members[member], all;
	const struct cot_tenant *is = cot_sched_tenant(cot_host_sched(host), was.tenant);
	struct part_tenant *t = was.tenant ? find(parts, was.tenant) : NULL;
	unsigned n;

	parts->members[member] = (struct part_member){0};
	if (!was.known || !is || !t)
		return;
	all = common(parts, was.tenant, &n);
	if (!is_known(is, &all))
		tell_parts(host, was.tenant, &all, now_ns);
	else if (was.waiting && was.waiting == t->seq &&
		 !is_waiting(parts, was.tenant, was.waiting))
		tell_placed(host, t, was.waiting, all.part, now_ns);
}

void cot_host_part_stats(const struct cot_host *host, uint32_t tenant,
			 struct cot_host_part_stats *ret_stats)
{
	struct cot_host_parts *parts = cot_host_parts(host);
	const struct part_tenant *t = tenant ? find(parts, tenant) : NULL;

	*ret_stats = t ? t->stats : (struct cot_host_part_stats){0};
	if (tenant)
		ret_stats->status = common(parts, tenant, &ret_stats->n_shims).status;
}

void cot_host_part_forget(struct cot_host *host, uint32_t tenant)
{
	struct part_tenant *t = find(cot_host_parts(host), tenant);

	if (tenant && t)
		*t = (struct part_tenant){0};
}
