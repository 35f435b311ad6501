/*
 * The inside of the policy core's host, shared by host.c (time, members, what the user wants) and
 * host_order.c (orders and their answers). Outsiders use host.h.
 */
#ifndef COT_DAEMON_HOST_INSIDE_H
#define COT_DAEMON_HOST_INSIDE_H

#include "daemon/host.h"

#define MAX_ENTITIES COT_SCHED_MAX_ENTITIES
#define SET_WORDS    (COT_HOST_MAX_MEMBERS / 64)

struct member_set {
	uint64_t bits[SET_WORDS];
};

/*
 * The orders that an entity may have on their way: one of each kind. A new order replaces the one
 * before, whose answer then no longer counts, not for the core either. So a member that does not
 * answer does not delay others, however many orders it gets.
 */
enum order_place {
	PLACE_SLICE, /* the core's three wishes */
	PLACE_MODE,
	PLACE_RUN,
	PLACE_OWN_SET, /* the host's own: the core does not wait for their end */
	PLACE_OWN_FREEZE,
	N_PLACES,
};

struct order {
	uint32_t seq; /* 0 = unused; also that of the messages */
	enum cot_action_kind kind;
	uint32_t slice_us; /* SLICE: what must be read back; 0 = any */
	uint64_t sent_ns;
	struct member_set waiting;
	bool decided; /* the members that decide have answered; only guests have not */
	int status;
};

struct host_entity {
	uint32_t id; /* 0 = unused */
	struct member_set members;
	struct member_set guests;   /* of them: those whose answers do not decide */
	struct member_set unfrozen; /* came while it was frozen, and have not been frozen yet */
	uint32_t slice_us;	    /* the policy's */
	enum cot_mode mode;	    /* the policy's */
	bool frozen;		    /* the last order was to freeze, */
	bool loose;		    /* but a member that decides runs: the core says what to do */
	bool unsure;		    /* a member may have got another order */
	struct order orders[N_PLACES];
	struct cot_host_entity_stats stats;
};

/* The last settings that a member got. */
struct told {
	uint32_t slice_us;
	enum cot_mode mode;
};

/* A query of which the core knows. */
struct host_query {
	uint32_t id;	/* 0 = unused */
	uint32_t query; /* as its shim calls it */
	uint16_t member;
	uint64_t copies_until_ns; /* copies out give way until then, or its end */
};

struct cot_host {
	const struct cot_host_ops *ops;
	void *arg;
	struct cot_sched *sched;
	struct host_entity entities[MAX_ENTITIES];
	uint32_t member_entity[COT_HOST_MAX_MEMBERS]; /* 0 = none */
	struct told told[COT_HOST_MAX_MEMBERS];
	uint64_t n_ended[COT_HOST_MAX_MEMBERS]; /* leases, as its library counts them */
	uint32_t own_seq; /* of the host's own orders: the upper half of the numbers */
	uint64_t due_ns;  /* when the first order has waited long enough; COT_NEVER */
	uint64_t lease_until_ns, renew_ns; /* NEVER: no entity is frozen */
	uint64_t n_fallbacks;		   /* of the core, until now */
	bool fell;			   /* the policy that was wanted is not at work */
	void *works, *parts;		   /* the states of `ops->works` and `ops->parts` */
	/* host_query.c: at the place of their id modulo the size of the core's table. */
	struct host_query queries[COT_SCHED_MAX_QUERIES];
	uint32_t last_query;
	uint32_t query_tenant[COT_HOST_MAX_MEMBERS]; /* of shims; 0 = none */
	struct member_set query_told;		     /* those that tell of queries */
};

/* ---- sets of members ---- */

static inline void set_put(struct member_set *set, unsigned i)
{
	set->bits[i / 64] |= 1ull << (i % 64);
}

static inline void set_drop(struct member_set *set, unsigned i)
{
	set->bits[i / 64] &= ~(1ull << (i % 64));
}

static inline bool set_has(const struct member_set *set, unsigned i)
{
	return set->bits[i / 64] >> (i % 64) & 1;
}

static inline struct member_set set_without(const struct member_set *a, const struct member_set *b)
{
	struct member_set rest;
	unsigned i;

	for (i = 0; i < SET_WORDS; i++)
		rest.bits[i] = a->bits[i] & ~b->bits[i];
	return rest;
}

static inline bool set_empty(const struct member_set *set)
{
	unsigned i;

	for (i = 0; i < SET_WORDS; i++)
		if (set->bits[i])
			return false;
	return true;
}

/* The first from `i` on that is in the set; COT_HOST_MAX_MEMBERS. */
static inline unsigned set_next(const struct member_set *set, unsigned i)
{
	while (i < COT_HOST_MAX_MEMBERS && !set_has(set, i))
		i++;
	return i;
}

/* `set` may change meanwhile. */
#define host_for_each_member(i, set) \
	for ((i) = set_next((set), 0); (i) < COT_HOST_MAX_MEMBERS; (i) = set_next((set), (i) + 1))

/* Unused places as well; their `id` is 0, and nothing is in them. */
#define host_for_each_place(e, host) \
	for ((e) = (host)->entities; (e) < (host)->entities + MAX_ENTITIES; (e)++)

#define host_for_each_order(o, e) for ((o) = (e)->orders; (o) < (e)->orders + N_PLACES; (o)++)

/* ---- host.c ---- */

struct host_entity *cot_host_find(const struct cot_host *host, uint32_t id);
/* Whose orders the member gets; NULL. */
struct host_entity *cot_host_entity_of(const struct cot_host *host, unsigned member);
struct host_entity *cot_host_find_or_make(struct cot_host *host, uint32_t id);
/* The user's, or else the policy's. */
uint32_t cot_host_slice(const struct host_entity *e);
enum cot_mode cot_host_mode(const struct host_entity *e);
void cot_host_set_frozen(struct cot_host *host, struct host_entity *e, bool frozen,
			 uint64_t now_ns);
/* The member gets no more orders, and its lease is no longer renewed. */
void cot_host_drop_member(struct cot_host *host, struct host_entity *e, unsigned member);

/* ---- host_order.c ---- */

/* Everything that the core has decided, and what follows from that. */
void cot_host_pump(struct cot_host *host, uint64_t now_ns);
/* A SET or FREEZE that the core knows nothing of. -EBUSY: one is on its way. */
int cot_host_own_order(struct cot_host *host, struct host_entity *e, enum order_place place,
		       const struct member_set *to, uint64_t now_ns);
/* Ends the orders that have waited for COT_HOST_ACK_NS. */
void cot_host_end_late(struct cot_host *host, uint64_t now_ns);
/* No order waits for the member's answers any longer. */
void cot_host_forgive(struct cot_host *host, struct host_entity *e, unsigned member,
		      uint64_t now_ns);

#endif
