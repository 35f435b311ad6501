/*
 * Weighted fair turns: of the entities that take part, at most one per GPU is thawed. Used by
 * policies, which give it a struct turns as their state, or in it, and a struct turn of each
 * entity.
 *
 *      +--------- another one's turn ----------+
 *      v                                       |
 *   WAITING --- least virtual time, and ---> TURN ---> (freeze failed) ---> LOOSE
 *      ^        its GPUs are free                                             |
 *      +----------------- after a while, try again ---------------------------+
 *
 * Virtual time is the time that an entity had the turn, divided by its weight: the entity with the
 * least is next. An entity that was idle starts at the least of the others, so none saves up time;
 * and one that has waited for config->cycle_ns is next whatever its share. A turn begins only when
 * the freeze of the one before is acknowledged, never on trust. A turn ends early when its owner
 * leaves the GPU idle and another entity waits; otherwise it goes on.
 *
 * An entity that several freezes in a row could not stop is LOOSE: it runs all the time and the
 * others take their turns beside it. The policy should then give them slices that two runnable
 * programs can live with.
 */
#ifndef COT_POLICY_TURNS_H
#define COT_POLICY_TURNS_H

#include <cotenant/policy.h>

enum turn_phase { TURN_OUTSIDE, TURN_WAITING, TURN_OWNED, TURN_LOOSE };

/* Of an entity: what a policy with turns has as its entity_bytes. */
struct turn {
	enum turn_phase phase;
	uint64_t virtual_ns, waiting_since_ns;
	uint64_t charged_ns; /* until when its virtual time is counted */
	uint64_t end_ns;     /* of its turn, or of being loose */
};

struct turns {
	uint64_t virtual_ns; /* never goes back; where entities that were idle start */
	uint64_t kept_gpus;  /* the policy itself freezes and thaws who is there and no member */
};

/* Whether `e` takes part. Must not depend on e->run. */
typedef bool turns_member_fn(const struct cot_entity *e, const void *arg);

/*
 * Freezes and thaws the members, for a policy's tick(). Thaws all other entities, but
 * for those on turns->kept_gpus. Returns when the next turn ends; COT_NEVER if none does.
 */
uint64_t cot_turns_tick(struct cot_policy *p, struct turns *turns, turns_member_fn *is_member,
			const void *arg);

/* For a policy's action_done(). */
void cot_turns_action_done(struct cot_policy *p, struct cot_entity *e,
			   const struct cot_action_result *r);

/* The GPUs on which an entity is LOOSE. */
uint64_t cot_turns_loose_gpus(const struct cot_policy *p);

#endif
