#include "policy/turns.h"

#include "policy/shared.h"

/* Freezes in a row that may fail before an entity is let loose, and for how long it is. */
#define LOOSE_AFTER 3u
#define LOOSE_NS    (10 * COT_NS_PER_S)

/* How long an entity goes on that a freeze could not stop: the core takes no new one for so long.
 */
#define FAILED_NS (100 * COT_NS_PER_MS)

/* How long the owner of a turn may be idle before another entity gets the rest of it. A freeze and
 * a thaw together take 1 to 2 ms on an H200: a shorter limit would cost more than it saves. */
#define GRACE_NS (2 * COT_NS_PER_MS)

/* Turns are not made shorter than this, whatever the weights: the same freeze and thaw. */
#define TURN_MIN_NS (5 * COT_NS_PER_MS)
/* A turn is at most so many times one of average weight. */
#define TURN_STRETCH_MAX 4u

static struct turn *turn_of(const struct cot_entity *e)
{
	return e->own;
}

static enum turn_phase phase_of(const struct cot_entity *e)
{
	return turn_of(e)->phase;
}

static void set_phase(struct cot_entity *e, enum turn_phase phase)
{
	turn_of(e)->phase = phase;
}

/* ---- who takes part ---- */

static void begin_waiting(const struct cot_policy *p, struct cot_entity *e)
{
	set_phase(e, TURN_WAITING);
	turn_of(e)->waiting_since_ns = p->now_ns;
}

static void join(const struct cot_policy *p, const struct turns *turns, struct cot_entity *e)
{
	begin_waiting(p, e);
	if (turn_of(e)->virtual_ns < turns->virtual_ns)
		turn_of(e)->virtual_ns = turns->virtual_ns;
}

static void update_members(struct cot_policy *p, struct turns *turns, turns_member_fn *is_member,
			   const void *arg)
{
	struct cot_entity *e;

	cot_for_each_entity (e, p) {
		bool member = is_member(e, arg), wants = member && cot_entity_may_run(e);
		bool in_grace = member && !e->held && phase_of(e) == TURN_OWNED &&
				p->now_ns - e->activity_since_ns < GRACE_NS;

		if (phase_of(e) == TURN_LOOSE && member && !e->held &&
		    p->now_ns < turn_of(e)->end_ns)
			continue;
		if (phase_of(e) == TURN_LOOSE || (!wants && !in_grace))
			set_phase(e, TURN_OUTSIDE);
		if (wants && phase_of(e) == TURN_OUTSIDE)
			join(p, turns, e);
		/* One that only went idle stays as it is until it has work. */
		if (!member && !(e->gpu_mask & turns->kept_gpus))
			(void)cot_thaw(p, e);
	}
}

/* ---- time ---- */

static void charge(struct cot_policy *p)
{
	struct cot_entity *e;

	cot_for_each_entity (e, p) {
		uint64_t dt_ns = p->now_ns - turn_of(e)->charged_ns;

		if (phase_of(e) != TURN_OWNED)
			continue;
		turn_of(e)->virtual_ns += dt_ns * COT_WEIGHT_DEFAULT / e->weight;
		turn_of(e)->charged_ns = p->now_ns;
	}
}

static void advance_virtual_time(struct cot_policy *p, struct turns *turns)
{
	uint64_t least_ns = COT_NEVER;
	struct cot_entity *e;

	cot_for_each_entity (e, p)
		if (phase_of(e) == TURN_WAITING || phase_of(e) == TURN_OWNED)
			policy_earlier(&least_ns, turn_of(e)->virtual_ns);
	if (least_ns != COT_NEVER && least_ns > turns->virtual_ns)
		turns->virtual_ns = least_ns;
}

/* In proportion to its weight among those with whom it shares a GPU. */
static uint64_t turn_length(const struct cot_policy *p, const struct cot_entity *of)
{
	uint64_t weights = 0, n = 0, turn_ns = p->config->turn_ns, length_ns;
	const struct cot_entity *e;

	cot_for_each_entity (e, p) {
		if (!(e->gpu_mask & of->gpu_mask) ||
		    (phase_of(e) != TURN_WAITING && phase_of(e) != TURN_OWNED))
			continue;
		weights += e->weight;
		n++;
	}
	if (turn_ns > p->config->cycle_ns / n)
		turn_ns = p->config->cycle_ns / n;
	length_ns = turn_ns * n * of->weight / weights;
	if (length_ns > turn_ns * TURN_STRETCH_MAX)
		length_ns = turn_ns * TURN_STRETCH_MAX;
	return length_ns < TURN_MIN_NS ? TURN_MIN_NS : length_ns;
}

/* ---- whose turn it is ---- */

/* However small its share, no entity waits for ever. */
static bool is_overdue(const struct cot_policy *p, const struct cot_entity *e)
{
	return p->now_ns - turn_of(e)->waiting_since_ns >= p->config->cycle_ns;
}

static bool goes_before(const struct cot_policy *p, const struct cot_entity *a,
			const struct cot_entity *b)
{
	if (is_overdue(p, a) != is_overdue(p, b))
		return is_overdue(p, a);
	if (is_overdue(p, a))
		return turn_of(a)->waiting_since_ns < turn_of(b)->waiting_since_ns;
	return turn_of(a)->virtual_ns < turn_of(b)->virtual_ns;
}

static struct cot_entity *first_waiting(struct cot_policy *p, uint64_t on_gpus, uint64_t not_on)
{
	struct cot_entity *e, *first = NULL;

	cot_for_each_entity (e, p) {
		if (phase_of(e) != TURN_WAITING || !(e->gpu_mask & on_gpus) ||
		    (e->gpu_mask & not_on))
			continue;
		if (!first || goes_before(p, e, first))
			first = e;
	}
	return first;
}

/* Once its turn has ended. */
static bool yields(const struct cot_policy *p, const struct cot_entity *owner,
		   const struct cot_entity *to)
{
	return is_overdue(p, to) || turn_of(to)->virtual_ns < turn_of(owner)->virtual_ns;
}

static void end_turns(struct cot_policy *p)
{
	struct cot_entity *e, *next;

	cot_for_each_entity (e, p) {
		if (phase_of(e) != TURN_OWNED || p->now_ns < turn_of(e)->end_ns)
			continue;
		next = first_waiting(p, e->gpu_mask, 0);
		if (next && yields(p, e, next))
			begin_waiting(p, e);
		else
			turn_of(e)->end_ns = p->now_ns + turn_length(p, e);
	}
}

static void begin_turn(struct cot_policy *p, struct cot_entity *e)
{
	set_phase(e, TURN_OWNED);
	turn_of(e)->charged_ns = p->now_ns;
	turn_of(e)->end_ns = p->now_ns + turn_length(p, e);
}

/*
 * Whether no other entity prevents its turn: one that has the turn, or one whose freeze is not
 * acknowledged yet. The latter does not matter to an entity that is not frozen itself. Entities
 * outside are idle, so they take no time.
 */
static bool may_begin(const struct cot_policy *p, const struct cot_entity *e)
{
	const struct cot_entity *other;

	cot_for_each_entity (other, p) {
		if (other == e || !(other->gpu_mask & e->gpu_mask))
			continue;
		if (phase_of(other) == TURN_OWNED)
			return false;
		if (phase_of(other) == TURN_WAITING && other->run != COT_RUN_FROZEN &&
		    e->run == COT_RUN_FROZEN)
			return false;
	}
	return true;
}

/* What those behind `e` cannot have: all its GPUs if it is next there, else only those on which
 * somebody's turn goes on, or somebody could not be stopped. */
static uint64_t gpus_kept_for(const struct cot_policy *p, const struct cot_entity *e)
{
	const struct cot_entity *owner;
	uint64_t go_on = 0;

	cot_for_each_entity (owner, p)
		if (phase_of(owner) == TURN_OWNED && (owner->n_failed || !yields(p, owner, e)))
			go_on |= owner->gpu_mask & e->gpu_mask;
	return go_on ? go_on : e->gpu_mask;
}

/*
 * In order of virtual time. One that cannot begin yet, because only some of its GPUs are free,
 * keeps those free when it is next on the others: else an entity with several GPUs would wait for
 * ever behind those with one. Before that nobody could say how long they would be idle.
 */
static void begin_turns(struct cot_policy *p)
{
	uint64_t kept_gpus = 0;
	struct cot_entity *e;

	while ((e = first_waiting(p, UINT64_MAX, kept_gpus))) {
		kept_gpus |= gpus_kept_for(p, e);
		if (may_begin(p, e))
			begin_turn(p, e);
	}
}

/* It runs on, so let it count; and if this goes on, let the others get on without it. */
static void go_on_unfrozen(struct cot_policy *p, struct cot_entity *e)
{
	begin_turn(p, e);
	turn_of(e)->end_ns = p->now_ns + FAILED_NS;
	if (e->n_failed < LOOSE_AFTER)
		return;
	set_phase(e, TURN_LOOSE);
	turn_of(e)->end_ns = p->now_ns + LOOSE_NS;
}

static void act(struct cot_policy *p)
{
	struct cot_entity *e;

	cot_for_each_entity (e, p) {
		if (phase_of(e) == TURN_OWNED || phase_of(e) == TURN_LOOSE)
			(void)cot_thaw(p, e);
		/* Refused for now, because the last freeze failed. */
		else if (phase_of(e) == TURN_WAITING && cot_freeze(p, e))
			go_on_unfrozen(p, e);
	}
}

static uint64_t next_wake(struct cot_policy *p)
{
	uint64_t wake_ns = COT_NEVER;
	struct cot_entity *e;

	cot_for_each_entity (e, p) {
		if (phase_of(e) == TURN_LOOSE)
			policy_earlier(&wake_ns, turn_of(e)->end_ns);
		if (phase_of(e) != TURN_OWNED)
			continue;
		if (first_waiting(p, e->gpu_mask, 0))
			policy_earlier(&wake_ns, turn_of(e)->end_ns);
		if (e->activity == COT_ACTIVITY_IDLE)
			policy_earlier(&wake_ns, e->activity_since_ns + GRACE_NS);
	}
	return wake_ns;
}

uint64_t cot_turns_tick(struct cot_policy *p, struct turns *turns, turns_member_fn *is_member,
			const void *arg)
{
	charge(p);
	advance_virtual_time(p, turns);
	update_members(p, turns, is_member, arg);
	end_turns(p);
	begin_turns(p);
	act(p);
	return next_wake(p);
}

void cot_turns_action_done(struct cot_policy *p, struct cot_entity *e,
			   const struct cot_action_result *r)
{
	if (r->kind == COT_ACTION_FREEZE && r->status && phase_of(e) == TURN_WAITING)
		go_on_unfrozen(p, e);
}

uint64_t cot_turns_loose_gpus(const struct cot_policy *p)
{
	const struct cot_entity *e;
	uint64_t gpus = 0;

	cot_for_each_entity (e, p)
		if (phase_of(e) == TURN_LOOSE)
			gpus |= e->gpu_mask;
	return gpus;
}
