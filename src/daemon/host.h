/*
 * The policy core's host for real GPUs: turns actions into messages for the libraries in the
 * programs, their answers into events, and keeps the leases of what is frozen. Knows no sockets and
 * no clock: messages leave through struct cot_host_ops and the time comes as an argument, so that a
 * test can be the other side.
 *
 * A *member* is one connected library, a number below COT_HOST_MAX_MEMBERS. An entity (a pool or a
 * program that stands alone) has one member per process with channel groups; an action on the
 * entity is an order to each of them, and is done when all have answered. A *guest* is a member
 * whose answers are counted and do not decide: a program's own library in a pool, whose groups are
 * the server's. One that fails, or does not answer in time, gets no more orders.
 *
 * The host remembers what it sent to each member, from the welcome on. So a member that comes late,
 * or comes back, gets the orders that the others got.
 *
 * A freeze holds only while the lease in the member's page does. The host renews leases every
 * COT_HOST_RENEW_NS while something is frozen, and not at all otherwise. Only the library can know
 * whether the host came too late (because the daemon was stopped): it counts the leases that ended.
 * If that number has grown, the host records the entity as thawed, which it is.
 */
#ifndef COT_DAEMON_HOST_H
#define COT_DAEMON_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "proto/proto.h"
#include "sched/sched.h"

#define COT_HOST_MAX_MEMBERS 256u
#define COT_HOST_LEASE_NS    (80 * COT_NS_PER_MS)
#define COT_HOST_RENEW_NS    (25 * COT_NS_PER_MS)
/* How long the libraries may take to answer. A freeze takes 0.5 to 2.4 ms on an H200, but as long
 * as a thread block when blocks are drained, and programs may have to wait for a processor. */
#define COT_HOST_ACK_NS (100 * COT_NS_PER_MS)
/* Set in the numbers of the host's own messages, of which the core knows nothing. */
#define COT_HOST_OWN_SEQ 0x80000000u

struct cot_host;
struct cot_host_ops;
struct cot_host_works;
struct cot_host_parts;

/* News to report once. */
struct cot_host_news {
	enum cot_host_news_kind {
		COT_HOST_STUCK,	    /* a freeze or thaw of `entity` failed, the first in a row */
		COT_HOST_FREED,	    /* one succeeded again */
		COT_HOST_FELL_BACK, /* the core took the policy for broken; see its stats */
		COT_HOST_RECOVERED, /* the policy that is wanted is at work again */
	} kind;
	uint32_t entity;
	enum cot_action_kind action; /* COT_ACTION_FREEZE or COT_ACTION_THAW */
	int status;		     /* of the first that failed */
	uint64_t for_ns;	     /* since it was ordered */
	uint64_t n;		     /* that failed in a row */
};

/* Who carries out some kinds of actions for the host: host_work.c, host_part.c. Each has a state of
 * its own in the host. */
struct cot_host_carrier_ops {
	/* NULL: out of memory. */
	void *(*create)(const struct cot_host_ops *ops, void *arg);
	void (*destroy)(void *state); /* takes NULL */
	void (*carry_out)(void *state, const struct cot_action *a, uint64_t now_ns);
};

struct cot_host_ops {
	const struct cot_host_carrier_ops *works; /* GRANT, EVICT */
	const struct cot_host_carrier_ops *parts; /* PLACE */
	/* Sends a SET, FREEZE, THAW, PREEMPT, WORK_GRANT, WORK_EVICT or PLACE. 0 or -errno. Must
	 * not call back. */
	int (*send)(void *arg, unsigned member, const void *packet, size_t size);
	/* Writes the lease into the member's page. Then returns how many leases its library has
	 * seen end, any number: only changes of it count. */
	uint64_t (*lease)(void *arg, unsigned member, uint64_t until_ns);
	/* It has not answered within COT_HOST_ACK_NS. Must not call back. May be NULL. */
	void (*late)(void *arg, unsigned member);
	/* A query that cot_host_query_begin() took from it is over, whoever ended it. Must not call
	 * back. May be NULL. */
	void (*query_over)(void *arg, unsigned member);
	/* Must not call back. May be NULL. */
	void (*tell)(void *arg, const struct cot_host_news *news);
	/* Whether no process of the entity sets channels up; otherwise a FREEZE of the core's fails
	 * with -EAGAIN and is not sent. Must not call back. May be NULL: always. */
	bool (*is_quiet)(void *arg, uint32_t entity, uint64_t now_ns);
};

int cot_host_create(const struct cot_host_ops *ops, void *arg, const struct cot_policy_ops *policy,
		    const struct cot_policy_config *numbers, uint64_t now_ns,
		    struct cot_host **ret_host, struct cot_error *err);
void cot_host_destroy(struct cot_host *host);

/* Hands an event to the core and carries out what it decides. As cot_sched_event(). */
int cot_host_event(struct cot_host *host, const struct cot_event *ev);
/* The time of cot_host_wake_ns() has come. */
void cot_host_tick(struct cot_host *host, uint64_t now_ns);
uint64_t cot_host_wake_ns(const struct cot_host *host);

int cot_host_set_policy(struct cot_host *host, const struct cot_policy_ops *policy,
			const struct cot_policy_config *numbers, uint64_t now_ns,
			struct cot_error *err);
/* Gives everything back to the driver; go on with ticks and answers until it is quiet. */
void cot_host_stop(struct cot_host *host, uint64_t now_ns);

/* How an entity should be: as the user wants it, or else the policy. */
struct cot_host_settings {
	uint32_t slice_us;
	enum cot_mode mode;
	bool frozen;
};

void cot_host_settings(const struct cot_host *host, uint32_t entity,
		       struct cot_host_settings *ret_settings);
/*
 * A library has connected: what its welcome says. While the policy does not see the entity yet, the
 * slice is the policy's first slice for its class on its GPUs.
 */
void cot_host_welcome(struct cot_host *host, unsigned member, uint32_t entity, enum cot_class cls,
		      uint64_t gpu_mask, struct cot_host_settings *ret_settings);
/* From here on it gets the entity's orders, at once a FREEZE if the others are frozen. */
void cot_host_join(struct cot_host *host, unsigned member, uint32_t entity, bool guest,
		   uint64_t now_ns);
/* One of its processes begins to set channels up, which must not happen while it is frozen: it
 * runs, and the core is told so. */
void cot_host_release(struct cot_host *host, uint32_t entity, uint64_t now_ns);
/* Its library is gone and answers no longer. */
void cot_host_leave(struct cot_host *host, unsigned member, uint64_t now_ns);
void cot_host_ack(struct cot_host *host, unsigned member, const struct cot_msg_ack *ack,
		  uint64_t now_ns);

/*
 * The user's own slice or mode for an entity overrides the policy's until slice 0 or
 * COT_MODE_DRIVER takes it back. Sent at once.
 */
void cot_host_override_slice(struct cot_host *host, uint32_t entity, uint32_t slice_us,
			     uint64_t now_ns);
void cot_host_override_mode(struct cot_host *host, uint32_t entity, enum cot_mode mode,
			    uint64_t now_ns);
/* The user holds it, or no longer. If the core does not know the entity now, the host reports the
 * hold later. */
void cot_host_hold(struct cot_host *host, uint32_t entity, bool hold, uint64_t now_ns);
/* Forgets overrides and settings of an entity that will not come back. */
void cot_host_forget(struct cot_host *host, uint32_t entity);

/* Freezes or thaws that failed one after the other. */
struct cot_host_trouble {
	uint64_t n, since_ns,
		last_ns; /* when the first and the last of them were ordered; 0 = none */
	int status;	 /* of the last */
};

struct cot_host_entity_stats {
	uint32_t slice_override_us;
	enum cot_mode mode_override;
	uint64_t n_freezes, n_thaws, n_failed; /* confirmed by every member; failed orders */
	uint64_t freeze_last_ns, freeze_max_ns, thaw_last_ns, thaw_max_ns; /* to the answer */
	uint64_t n_lapsed;						   /* leases */
	unsigned n_waiting; /* orders that a member has not answered yet */
	int freeze_status;  /* of the last one: 0 or -errno */
	int set_status;	    /* of the last SET: likewise */
	struct cot_host_trouble freeze, thaw;
	unsigned n_guests;	/* now */
	uint64_t n_guests_left; /* failed, or did not answer */
};

void cot_host_entity_stats(const struct cot_host *host, uint32_t entity,
			   struct cot_host_entity_stats *ret_stats);
struct cot_sched *cot_host_sched(const struct cot_host *host);

/* The states of the two carriers, for these. */
struct cot_host_works *cot_host_works(const struct cot_host *host);
struct cot_host_parts *cot_host_parts(const struct cot_host *host);

#endif
