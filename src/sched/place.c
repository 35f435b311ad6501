/*
 * Parts of GPUs for tenants. A wish that differs from what a tenant has becomes a PLACE, and its
 * answer says what the tenant has then. As with entities a newer wish replaces an older one, whose
 * answer no longer counts.
 */
#include <errno.h>

#include "sched/inside.h"

#define PACE_MASK ((1u << 30) - 1)
_Static_assert(COT_PACE_US_MAX <= PACE_MASK, "a pace fits");

/* As the value of a wish. No part has VALUE_NONE. */
static uint64_t pack(struct cot_part part)
{
	return (uint64_t)part.hold << 63 | (uint64_t)part.cpu << 62 | (uint64_t)part.pace_us << 32 |
	       part.first << 16 | part.n;
}

static struct cot_part unpack(uint64_t value)
{
	return (struct cot_part){value >> 16 & 0xffff, value & 0xffff,
				 (uint32_t)(value >> 32) & PACE_MASK, value >> 63, value >> 62 & 1};
}

static struct sched_tenant *tenant_of(struct cot_tenant *t)
{
	return (struct sched_tenant *)t;
}

/* ---- the queue ---- */

static void enqueue(struct cot_sched *s, struct sched_tenant *t)
{
	uint32_t at = (s->place_queue_head + s->place_queue_n) % COT_SCHED_MAX_TENANTS;

	if (t->place.queued)
		return;
	t->place.queued = true;
	s->place_queue[at] = (uint16_t)(t - s->tenants);
	s->place_queue_n++;
}

static void unqueue(struct cot_sched *s, struct sched_tenant *t)
{
	uint16_t index = (uint16_t)(t - s->tenants);
	uint32_t i, kept = 0, head = s->place_queue_head;

	for (i = 0; i < s->place_queue_n; i++) {
		uint16_t q = s->place_queue[(head + i) % COT_SCHED_MAX_TENANTS];

		if (q != index)
			s->place_queue[(head + kept++) % COT_SCHED_MAX_TENANTS] = q;
	}
	s->place_queue_n = kept;
	t->place.queued = false;
}

static bool is_due(const struct wish *w)
{
	return w->want != VALUE_NONE && w->want != (w->seq ? w->sent : w->have);
}

/* ---- who goes first ---- */

/* More wishes than this at a time are not put in order. */
#define ORDERED_MAX 32u

static bool overlap(struct cot_part a, struct cot_part b)
{
	return !a.n || !b.n || (a.first < b.first + b.n && b.first < a.first + a.n);
}

/* It has SMs that the other one is to get, and is to leave them. What it has queued there would
 * have to wait for the other one's kernels, and only when that is done can it go. */
static bool must_go_before(const struct sched_tenant *u, const struct sched_tenant *t)
{
	struct cot_part wanted = unpack(t->place.want);

	return u != t && u->pub.part_sms && u->pub.pool && u->pub.pool == t->pub.pool &&
	       (u->place.seq || u->place.queued) && u->place.want != VALUE_NONE &&
	       overlap(u->pub.part, wanted) && !overlap(unpack(u->place.want), wanted);
}

/*
 * Whether a batch program waits for SMs of this one, which is about to be told. Kernels that fill
 * them would starve what is queued there: measured on an H200, a training beside a matrix product
 * stood still for 5.6 s. Latency programs do not wait for so long.
 */
static bool is_awaited(struct cot_sched *s, const struct sched_tenant *t)
{
	struct cot_tenant *u;

	cot_for_each_tenant (u, &s->policy)
		if (u->cls == COT_CLASS_BATCH && tenant_of(u)->place.queued &&
		    is_due(&tenant_of(u)->place) && must_go_before(t, tenant_of(u)))
			return true;
	return false;
}

static void send(struct cot_sched *s, struct sched_tenant *t, struct cot_action *ret_action)
{
	struct wish *w = &t->place;

	if (!++s->next_seq)
		s->next_seq = 1;
	w->seq = s->next_seq;
	w->sent = w->want;
	w->sent_ns = s->policy.now_ns;
	w->deadline_ns = time_after(s->policy.now_ns, s->limits.place_ns);
	*ret_action = (struct cot_action){
		.seq = w->seq,
		.entity = t->pub.id,
		.kind = COT_ACTION_PLACE,
		.part = unpack(w->sent),
		.now_ns = s->policy.now_ns,
		.deadline_ns = w->deadline_ns,
		.leave = is_awaited(s, t),
	};
	s->holds |= ret_action->part.hold;
	s->stats.actions[COT_ACTION_PLACE]++;
	if (s->tap)
		s->tap(s->tap_arg, NULL, ret_action);
}

static bool must_wait(struct cot_sched *s, const struct sched_tenant *t)
{
	struct cot_tenant *u;

	cot_for_each_tenant (u, &s->policy)
		if (must_go_before(tenant_of(u), t))
			return true;
	return false;
}

static bool any_in_flight(struct cot_sched *s)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, &s->policy)
		if (tenant_of(t)->place.seq)
			return true;
	return false;
}

static struct sched_tenant *dequeue(struct cot_sched *s)
{
	struct sched_tenant *t = &s->tenants[s->place_queue[s->place_queue_head]];

	s->place_queue_head = (s->place_queue_head + 1) % COT_SCHED_MAX_TENANTS;
	s->place_queue_n--;
	t->place.queued = false;
	return t;
}

/* The first one that need not wait for another; of those that wait for each other the first. NULL:
 * whom they wait for has not answered yet, which takes no longer than place_ns. */
static struct sched_tenant *next(struct cot_sched *s)
{
	bool ordered = s->place_queue_n <= ORDERED_MAX;
	uint32_t i, n = s->place_queue_n;

	for (i = 0; i < n; i++) {
		struct sched_tenant *t = dequeue(s);

		if (!is_due(&t->place))
			continue;
		if (!ordered || !must_wait(s, t))
			return t;
		enqueue(s, t);
	}
	return s->place_queue_n && !any_in_flight(s) ? dequeue(s) : NULL;
}

/*
 * Parts follow requests, and who sends many of these decides how often they change. That is no
 * fault of the policy: what is too much for a window waits for the next one, so that placing alone
 * is never a storm.
 */
#define WINDOW_NS (50 * COT_NS_PER_MS)
static bool is_full(const struct cot_sched *s)
{
	uint64_t most = s->limits.max_actions_per_s * 3ull / 4 * WINDOW_NS / COT_NS_PER_S;

	return s->place_window == s->policy.now_ns / WINDOW_NS && s->place_window_n > most;
}

static void count(struct cot_sched *s)
{
	uint64_t window = s->policy.now_ns / WINDOW_NS;

	if (window != s->place_window)
		s->place_window_n = 0;
	s->place_window = window;
	s->place_window_n++;
}

bool cot_sched_place_next_action(struct cot_sched *s, struct cot_action *ret_action)
{
	struct sched_tenant *t = s->place_queue_n && !is_full(s) ? next(s) : NULL;

	if (!t)
		return false;
	count(s);
	send(s, t, ret_action);
	return true;
}

/* ---- wishes ---- */

/* A pointer that a policy kept too long is caught here, without reading what it points to. */
static struct sched_tenant *checked(struct cot_sched *s, const struct cot_tenant *t)
{
	uintptr_t offset = (uintptr_t)t - (uintptr_t)s->tenants;
	struct sched_tenant *tenant;

	if (offset >= sizeof(s->tenants) || offset % sizeof(s->tenants[0]))
		return NULL;
	tenant = &s->tenants[offset / sizeof(s->tenants[0])];
	return tenant->used ? tenant : NULL;
}

static bool may_place(const struct cot_sched *s)
{
	return s->placing || s->policy.ops->places;
}

/* Between two whole units, or before or behind them all. */
static bool is_between_units(const struct cot_tenant *t, uint32_t sm)
{
	return sm % t->part_unit == 0 && sm / t->part_unit <= t->part_units;
}

static bool fits(const struct cot_tenant *t, struct cot_part part)
{
	uint32_t end = part.first + part.n;

	if (part.pace_us > COT_PACE_US_MAX)
		return false;
	if (!part.n)
		return !part.first;
	if (part.first >= t->part_sms || part.n > t->part_sms - part.first)
		return false;
	return is_between_units(t, part.first) && (end == t->part_sms || is_between_units(t, end));
}

/* It is held, and was told so longer ago than half of what it lasts. */
static bool is_hold_old(const struct cot_sched *s, const struct sched_tenant *t)
{
	const struct wish *w = &t->place;

	return t->pub.part.hold && !w->seq && s->policy.now_ns - w->sent_ns >= COT_HOLD_MAX_NS / 2;
}

int cot_sched_place(struct cot_sched *s, const struct cot_tenant *pub, struct cot_part part)
{
	struct sched_tenant *t = checked(s, pub);
	struct wish *w;

	if (!t || !may_place(s) || !fits(&t->pub, part))
		return -EINVAL;
	if (t->pub.pace_us)
		part.pace_us = t->pub.pace_us;
	part.cpu &= t->pub.can_cpu;
	w = &t->place;
	if (w->want == pack(part) && !(part.hold && is_hold_old(s, t)))
		return 0;
	if (s->parts_stay || w->retry_ns > s->policy.now_ns)
		return not_now(s);
	/* The same once more. */
	if (w->want == pack(part))
		w->have = VALUE_NONE;
	w->want = pack(part);
	w->decided_ns = s->policy.now_ns;
	if (is_due(w))
		enqueue(s, t);
	return 0;
}

void cot_sched_place_all(struct cot_sched *s)
{
	if (!s->n_placeable || s->parts_stay)
		return;
	s->placing = true;
	cot_place_shares(&s->policy);
	s->placing = false;
}

/* ---- answers ---- */

static void tell(struct cot_sched *s, struct sched_tenant *t, const struct cot_action_result *r)
{
	const struct cot_policy_ops *ops = s->policy.ops;

	if (s->started && ops->places && ops->placed)
		ops->placed(&s->policy, &t->pub, r);
}

static void settle(struct cot_sched *s, struct sched_tenant *t, int status)
{
	struct wish *w = &t->place;
	bool replaced = w->want != w->sent;
	struct cot_action_result r = {
		.kind = COT_ACTION_PLACE,
		.status = status,
		.part = t->pub.part,
		.latency_ns = s->policy.now_ns - w->decided_ns,
	};

	w->done = status ? 0 : w->seq;
	w->seq = 0;
	w->have = status ? VALUE_NONE : w->sent;
	count_answer(s, COT_ACTION_PLACE, status, s->policy.now_ns - w->sent_ns);
	if (status) {
		wish_wait(s, w);
		if (!replaced)
			w->want = VALUE_NONE;
	} else {
		w->retry_ns = 0;
		w->backoff_ns = 0;
	}
	if (!replaced)
		tell(s, t, &r);
}

/* Until now another part stood in for the one that it was to have. */
static void move_on(struct cot_sched *s, struct sched_tenant *t, struct cot_part part)
{
	part.hold = t->pub.part.hold;
	part.cpu = t->pub.part.cpu;
	t->pub.part = part;
	if (s->started && s->policy.ops->tenant_changed)
		s->policy.ops->tenant_changed(&s->policy, &t->pub, COT_CHANGED_PARTS);
}

int cot_sched_place_on_placed(struct cot_sched *s, struct sched_tenant *t,
			      const struct cot_event *ev)
{
	if (ev->placed.status > 0 || !ev->placed.seq)
		return -EINVAL;
	/* One that left, or that cannot be placed any more. */
	if (!t || !t->pub.part_sms) {
		s->stats.late_answers++;
		return 0;
	}
	if (!fits(&t->pub, ev->placed.part))
		return -EINVAL;
	if (!t->place.seq && t->place.done == ev->placed.seq) {
		move_on(s, t, ev->placed.part);
		return 0;
	}
	t->pub.part = ev->placed.part;
	if (t->place.seq == ev->placed.seq)
		settle(s, t, ev->placed.status);
	else
		s->stats.late_answers++;
	return 0;
}

static bool can_be_cut(const struct cot_event *ev)
{
	uint32_t n_sms = ev->parts.n_sms, unit = ev->parts.unit;

	if (!n_sms)
		return !unit && !ev->parts.n_units;
	return unit && unit <= n_sms && n_sms <= COT_SMS_MAX && ev->parts.n_units <= n_sms / unit;
}

static uint32_t n_units(const struct cot_event *ev)
{
	if (ev->parts.n_units || !ev->parts.unit)
		return ev->parts.n_units;
	return ev->parts.n_sms / ev->parts.unit;
}

/* What was on its way is lost; the policy says anew what it wishes. */
int cot_sched_place_on_parts(struct cot_sched *s, struct sched_tenant *t,
			     const struct cot_event *ev)
{
	struct cot_tenant is = {.part_sms = ev->parts.n_sms,
				.part_unit = ev->parts.unit,
				.part_units = n_units(ev)};

	if (!t || !can_be_cut(ev) || !fits(&is, ev->parts.part) || ev->parts.part.hold)
		return -EINVAL;
	cot_sched_place_forget(s, t);
	s->n_placeable += is.part_sms != 0;
	t->pub.part_sms = is.part_sms;
	t->pub.part_unit = is.part_unit;
	t->pub.part_units = is.part_units;
	t->pub.can_cpu = ev->parts.can_cpu;
	t->pub.part = ev->parts.part;
	t->place.want = t->place.have = pack(ev->parts.part);
	if (s->started && s->policy.ops->tenant_changed)
		s->policy.ops->tenant_changed(&s->policy, &t->pub, COT_CHANGED_PARTS);
	return 0;
}

void cot_sched_place_forget(struct cot_sched *s, struct sched_tenant *t)
{
	if (t->place.queued)
		unqueue(s, t);
	s->n_placeable -= t->pub.part_sms != 0;
	t->pub.part_sms = 0;
	t->pub.part_unit = 0;
	t->pub.part_units = 0;
	t->pub.can_cpu = false;
	t->pub.part = (struct cot_part){0};
	t->place = (struct wish){0};
}

/* ---- time ---- */

/* The program goes on by itself, unless an order is on its way. */
static bool is_hold_over(const struct cot_sched *s, const struct sched_tenant *t)
{
	const struct wish *w = &t->place;

	return t->pub.part.hold && !w->seq && s->policy.now_ns - w->sent_ns >= COT_HOLD_MAX_NS;
}

static void end_hold(struct cot_sched *s, struct sched_tenant *t)
{
	struct wish *w = &t->place;
	uint64_t held = pack(t->pub.part);

	t->pub.part.hold = false;
	w->have = pack(t->pub.part);
	if (w->want == held)
		w->want = w->have;
	if (s->started && s->policy.ops->tenant_changed)
		s->policy.ops->tenant_changed(&s->policy, &t->pub, COT_CHANGED_PARTS);
}

void cot_sched_place_on_time(struct cot_sched *s)
{
	struct cot_tenant *t;

	if (!s->n_placeable)
		return;
	cot_for_each_tenant (t, &s->policy) {
		const struct wish *w = &tenant_of(t)->place;

		if (w->seq && w->deadline_ns <= s->policy.now_ns)
			settle(s, tenant_of(t), -ETIMEDOUT);
		if (is_hold_over(s, tenant_of(t)))
			end_hold(s, tenant_of(t));
	}
}

uint64_t cot_sched_place_wake_ns(const struct cot_sched *s)
{
	uint64_t wake_ns = COT_NEVER;
	struct cot_tenant *t;

	if (!s->n_placeable)
		return COT_NEVER;
	if (s->place_queue_n && is_full(s))
		wake_ns = (s->place_window + 1) * WINDOW_NS;
	cot_for_each_tenant (t, &s->policy) {
		const struct wish *w = &tenant_of(t)->place;

		if (w->seq)
			earlier(&wake_ns, w->deadline_ns);
		else if (t->part.hold)
			earlier(&wake_ns, time_after(w->sent_ns, COT_HOLD_MAX_NS));
		if (w->retry_ns > s->policy.now_ns)
			earlier(&wake_ns, w->retry_ns);
	}
	return wake_ns;
}
