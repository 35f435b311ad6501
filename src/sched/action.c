/*
 * From wishes to actions. A wish that differs from what is so goes into a queue, from which the
 * host takes actions; its answer settles the wish. Wishes that contradict each other before the
 * host has looked cancel out.
 */
#include <errno.h>

#include "sched/inside.h"

/* A thaw that failed keeps a program from its work, so it is tried again sooner. */
#define RETHAW_MIN_NS (10 * COT_NS_PER_MS)
/* What the core itself tries again, thaws and what the user holds, never waits longer. */
#define AGAIN_MAX_NS (1 * COT_NS_PER_S)

static enum cot_action_kind action_kind(enum wish_kind kind, uint32_t value)
{
	switch (kind) {
	case WISH_SLICE:
		return COT_ACTION_SLICE;
	case WISH_MODE:
		return COT_ACTION_MODE;
	default:
		return value == RUN_FROZEN ? COT_ACTION_FREEZE : COT_ACTION_THAW;
	}
}

void cot_sched_action_entity_init(struct sched_entity *e)
{
	enum wish_kind kind;

	for (kind = 0; kind < N_WISHES; kind++)
		e->wish[kind] = (struct wish){0};
	/* As the driver makes them: its own slice, switching, thawed. */
	e->wish[WISH_MODE].want = e->wish[WISH_MODE].have = COT_MODE_SWITCH;
	e->again_ns = 0;
	e->rethaw_backoff_ns = 0;
}

/* ---- the queue ---- */

static void enqueue(struct cot_sched *s, struct sched_entity *e, enum wish_kind kind)
{
	struct queue_entry *q;

	if (e->wish[kind].queued)
		return;
	e->wish[kind].queued = true;
	q = &s->queue[(s->queue_head + s->queue_n++) % QUEUE_MAX];
	q->entity = (uint16_t)(e - s->entities);
	q->kind = (uint8_t)kind;
}

void cot_sched_action_entity_forget(struct cot_sched *s, struct sched_entity *e)
{
	uint16_t index = (uint16_t)(e - s->entities);
	uint32_t i, kept = 0;

	for (i = 0; i < s->queue_n; i++) {
		struct queue_entry q = s->queue[(s->queue_head + i) % QUEUE_MAX];

		if (q.entity != index)
			s->queue[(s->queue_head + kept++) % QUEUE_MAX] = q;
	}
	s->queue_n = kept;
	cot_sched_action_entity_init(e);
}

static bool is_due(const struct wish *w)
{
	return w->want != VALUE_NONE && w->want != (w->seq ? w->sent : w->have);
}

static void set_run(struct cot_sched *s, struct sched_entity *e, enum cot_run run)
{
	if (e->pub.run == run)
		return;
	e->pub.run = run;
	e->pub.run_since_ns = s->policy.now_ns;
}

/* `run` as it follows from the wish. */
static void show_run(struct cot_sched *s, struct sched_entity *e)
{
	const struct wish *w = &e->wish[WISH_RUN];
	bool settled = !w->seq && w->have == w->want;

	if (w->want == RUN_FROZEN)
		set_run(s, e, settled ? COT_RUN_FROZEN : COT_RUN_FREEZING);
	else
		set_run(s, e, settled ? COT_RUN_RUNNING : COT_RUN_THAWING);
}

static void want(struct cot_sched *s, struct sched_entity *e, enum wish_kind kind, uint32_t value,
		 bool own)
{
	struct wish *w = &e->wish[kind];

	w->want = value;
	w->own = own;
	w->decided_ns = s->policy.now_ns;
	if (is_due(w))
		enqueue(s, e, kind);
	if (kind == WISH_RUN)
		show_run(s, e);
}

bool cot_sched_next_action(struct cot_sched *s, struct cot_action *ret_action)
{
	/* Works first: a program's launch waits for them. */
	if (cot_sched_work_next_action(s, ret_action))
		return true;
	if (cot_sched_place_next_action(s, ret_action)) {
		cot_sched_watchdog_count_action(s);
		return true;
	}
	while (s->queue_n) {
		struct queue_entry q = s->queue[s->queue_head];
		struct sched_entity *e = &s->entities[q.entity];
		struct wish *w = &e->wish[q.kind];

		s->queue_head = (s->queue_head + 1) % QUEUE_MAX;
		s->queue_n--;
		w->queued = false;
		if (!is_due(w))
			continue;
		if (!++s->next_seq)
			s->next_seq = 1;
		w->seq = s->next_seq;
		w->sent = w->want;
		w->sent_ns = s->policy.now_ns;
		w->deadline_ns = time_after(s->policy.now_ns, s->limits.ack_ns);
		*ret_action = (struct cot_action){
			.seq = w->seq,
			.entity = e->pub.id,
			.kind = action_kind(q.kind, w->sent),
			.value = q.kind == WISH_RUN ? 0 : w->sent,
			.now_ns = s->policy.now_ns,
			.deadline_ns = w->deadline_ns,
		};
		s->stats.actions[ret_action->kind]++;
		if (w->own && ret_action->kind == COT_ACTION_THAW)
			s->stats.rescues++;
		cot_sched_watchdog_count_action(s);
		if (s->tap)
			s->tap(s->tap_arg, NULL, ret_action);
		return true;
	}
	return false;
}

/* ---- the policy's wishes ---- */

int cot_sched_action_wrong(struct cot_sched *s)
{
	cot_sched_watchdog_count_wrong(s);
	return -EINVAL;
}

/* A pointer that a policy kept too long is caught here, without reading what it points to. */
static struct sched_entity *checked(struct cot_sched *s, const struct cot_entity *e)
{
	uintptr_t offset = (uintptr_t)e - (uintptr_t)s->entities;
	struct sched_entity *entity;

	if (offset >= sizeof(s->entities) || offset % sizeof(s->entities[0]))
		return NULL;
	entity = &s->entities[offset / sizeof(s->entities[0])];
	return entity->used && entity->up ? entity : NULL;
}

static int wish(struct cot_policy *p, struct cot_entity *pub, enum wish_kind kind, uint32_t value)
{
	struct cot_sched *s = sched_of(p);
	struct sched_entity *e = checked(s, pub);
	struct wish *w;

	if (s->is_asked) {
		cot_sched_watchdog_count_wrong(s);
		return -EPERM;
	}
	if (!e)
		return cot_sched_action_wrong(s);
	w = &e->wish[kind];
	if (w->want == value)
		return 0;
	if (s->stopped || (kind == WISH_RUN && e->pub.held))
		return not_now(s);
	if (w->retry_ns > p->now_ns && !(kind == WISH_RUN && value == RUN_THAWED))
		return not_now(s);
	want(s, e, kind, value, false);
	return 0;
}

static int set_slice(struct cot_policy *p, struct cot_entity *e, uint32_t slice_us)
{
	if (slice_us != COT_SLICE_DRIVER &&
	    (slice_us < COT_SLICE_US_MIN || slice_us > COT_SLICE_US_MAX))
		return cot_sched_action_wrong(sched_of(p));
	return wish(p, e, WISH_SLICE, slice_us);
}

static int set_mode(struct cot_policy *p, struct cot_entity *e, enum cot_mode mode)
{
	if (mode != COT_MODE_SWITCH && mode != COT_MODE_DRAIN)
		return cot_sched_action_wrong(sched_of(p));
	return wish(p, e, WISH_MODE, mode);
}

static int freeze(struct cot_policy *p, struct cot_entity *e)
{
	return wish(p, e, WISH_RUN, RUN_FROZEN);
}

static int thaw(struct cot_policy *p, struct cot_entity *e)
{
	return wish(p, e, WISH_RUN, RUN_THAWED);
}

static int place(struct cot_policy *p, struct cot_tenant *t, struct cot_part part)
{
	struct cot_sched *s = sched_of(p);
	int rc = s->is_asked ? -EPERM : cot_sched_place(s, t, part);

	if (rc == -EPERM || rc == -EINVAL)
		cot_sched_watchdog_count_wrong(s);
	return rc;
}

static int learn(struct cot_policy *p, const struct cot_lesson *l)
{
	struct cot_sched *s = sched_of(p);
	int rc = s->is_asked ? -EPERM : cot_sched_learn(s, l);

	if (rc && rc != -EAGAIN)
		cot_sched_watchdog_count_wrong(s);
	return rc == -ENOSPC ? not_now(s) : rc;
}

const struct cot_policy_actions cot_sched_actions = {
	.set_slice = set_slice,
	.set_mode = set_mode,
	.freeze = freeze,
	.thaw = thaw,
	.grant = cot_sched_work_grant,
	.evict = cot_sched_work_evict,
	.place = place,
	.learn = learn,
};

/* ---- the core's wishes ---- */

/* The core's own wish, whatever the policy says. */
static void want_run(struct cot_sched *s, struct sched_entity *e, uint32_t run)
{
	if (e->wish[WISH_RUN].want != run)
		want(s, e, WISH_RUN, run, true);
}

void cot_sched_action_thaw_all(struct cot_sched *s)
{
	struct cot_entity *e;

	cot_for_each_entity (e, &s->policy)
		if (!e->held)
			want_run(s, entity_of(e), RUN_THAWED);
}

int cot_sched_action_on_hold(struct cot_sched *s, uint32_t id, bool hold)
{
	struct sched_entity *e = cot_sched_table_up(s, id);

	if (!e)
		return -EINVAL;
	if (e->pub.held == hold)
		return 0;
	e->pub.held = hold;
	want_run(s, e, hold ? RUN_FROZEN : RUN_THAWED);
	if (s->started && s->policy.ops->entity_changed)
		s->policy.ops->entity_changed(&s->policy, &e->pub, COT_CHANGED_HELD);
	return 0;
}

/* ---- answers ---- */

static void succeed(struct sched_entity *e, enum wish_kind kind)
{
	struct wish *w = &e->wish[kind];

	w->have = w->sent;
	if (kind == WISH_SLICE)
		e->pub.slice_us = w->have;
	if (kind == WISH_MODE)
		e->pub.mode = (enum cot_mode)w->have;
	if (kind == WISH_RUN && w->have == RUN_THAWED) {
		/* It says nothing about whether the next freeze will work. */
		e->rethaw_backoff_ns = 0;
		return;
	}
	w->retry_ns = 0;
	w->backoff_ns = 0;
	if (kind == WISH_RUN)
		e->pub.n_failed = 0;
}

/* What is wanted now may already be newer than what failed. */
static void fail(struct cot_sched *s, struct sched_entity *e, enum wish_kind kind)
{
	struct wish *w = &e->wish[kind];
	uint64_t now_ns = s->policy.now_ns;

	w->have = VALUE_NONE;
	if (kind == WISH_RUN && w->sent == RUN_THAWED) {
		grow_backoff(&e->rethaw_backoff_ns, RETHAW_MIN_NS, AGAIN_MAX_NS);
		if (w->want == RUN_THAWED)
			e->again_ns = time_after(now_ns, e->rethaw_backoff_ns);
		return;
	}
	wish_wait(s, w);
	if (kind != WISH_RUN) {
		if (w->want == w->sent)
			w->want = VALUE_NONE;
		return;
	}
	e->pub.n_failed++;
	if (w->want != RUN_FROZEN)
		return;
	if (e->pub.held) {
		/* The user's freeze lasts until the user takes it back, whichever library could not
		 * do it just now. */
		e->again_ns = time_after(now_ns, w->backoff_ns < AGAIN_MAX_NS ? w->backoff_ns
									      : AGAIN_MAX_NS);
	} else {
		/* Part of it may be frozen. */
		w->want = RUN_THAWED;
		w->own = true;
		enqueue(s, e, kind);
	}
}

static void tell(struct cot_sched *s, struct sched_entity *e, bool own,
		 const struct cot_action_result *r)
{
	const struct cot_policy_ops *ops = s->policy.ops;

	if (!s->started)
		return;
	if (own && ops->entity_changed)
		ops->entity_changed(&s->policy, &e->pub, COT_CHANGED_RUN);
	else if (!own && ops->action_done)
		ops->action_done(&s->policy, &e->pub, r);
}

static void settle(struct cot_sched *s, struct sched_entity *e, enum wish_kind kind, int status)
{
	struct wish *w = &e->wish[kind];
	bool replaced = w->want != w->sent, own = w->own;
	struct cot_action_result r = {
		.kind = action_kind(kind, w->sent),
		.status = status,
		.value = kind == WISH_RUN ? 0 : w->sent,
		.latency_ns = s->policy.now_ns - w->decided_ns,
	};
	uint64_t took_ns = s->policy.now_ns - w->sent_ns;

	w->seq = 0;
	count_answer(s, r.kind, status, took_ns);
	if (status)
		fail(s, e, kind);
	else
		succeed(e, kind);
	if (kind == WISH_RUN)
		show_run(s, e);
	if (!replaced)
		tell(s, e, own, &r);
}

int cot_sched_action_on_done(struct cot_sched *s, uint32_t id, uint32_t seq, int status)
{
	struct sched_entity *e = cot_sched_table_up(s, id);
	enum wish_kind kind;

	if (status > 0 || !seq)
		return -EINVAL;
	for (kind = 0; e && kind < N_WISHES; kind++) {
		if (e->wish[kind].seq != seq)
			continue;
		settle(s, e, kind, status);
		return 0;
	}
	/* Replaced by a newer action, given up, or its entity is gone: all of that is normal. */
	s->stats.late_answers++;
	return 0;
}

/* An action on its way decides what comes of it. */
int cot_sched_action_on_found(struct cot_sched *s, uint32_t id, bool frozen)
{
	struct sched_entity *e = cot_sched_table_up(s, id);
	uint32_t found = frozen ? RUN_FROZEN : RUN_THAWED;
	struct wish *w;

	if (!e)
		return -EINVAL;
	w = &e->wish[WISH_RUN];
	if (w->seq || w->have == found)
		return 0;
	w->have = w->want = found;
	show_run(s, e);
	if (e->pub.held)
		want_run(s, e, RUN_FROZEN);
	else if (s->stopped)
		want_run(s, e, RUN_THAWED);
	if (s->started && s->policy.ops->entity_changed)
		s->policy.ops->entity_changed(&s->policy, &e->pub, COT_CHANGED_RUN);
	return 0;
}

/* ---- time ---- */

void cot_sched_action_on_time(struct cot_sched *s)
{
	uint64_t now_ns = s->policy.now_ns;
	struct cot_entity *pub;
	enum wish_kind kind;

	cot_for_each_entity (pub, &s->policy) {
		struct sched_entity *e = entity_of(pub);

		for (kind = 0; kind < N_WISHES; kind++)
			if (e->wish[kind].seq && e->wish[kind].deadline_ns <= now_ns)
				settle(s, e, kind, -ETIMEDOUT);
		if (e->again_ns && e->again_ns <= now_ns) {
			e->again_ns = 0;
			if (is_due(&e->wish[WISH_RUN]))
				enqueue(s, e, WISH_RUN);
		}
	}
}

uint64_t cot_sched_action_wake_ns(const struct cot_sched *s)
{
	uint64_t now_ns = s->policy.now_ns, wake_ns = COT_NEVER;
	struct cot_entity *pub;
	enum wish_kind kind;

	cot_for_each_entity (pub, &s->policy) {
		const struct sched_entity *e = entity_of(pub);

		for (kind = 0; kind < N_WISHES; kind++) {
			const struct wish *w = &e->wish[kind];

			if (w->seq)
				earlier(&wake_ns, w->deadline_ns);
			if (w->retry_ns > now_ns)
				earlier(&wake_ns, w->retry_ns);
		}
		if (e->again_ns)
			earlier(&wake_ns, e->again_ns);
	}
	return wake_ns;
}
