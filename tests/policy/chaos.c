#include "policy/chaos.h"

#include <errno.h>

enum chaos chaos_knob;

struct chaos_state {
	struct cot_entity *gone;
	struct cot_work *gone_work;
	struct cot_tenant *gone_tenant;
	uint64_t n_ticks;
	bool asked;
};

static uint64_t lives;

static const char *const names[] = {
	[CHAOS_NONE] = "none",
	[CHAOS_INIT_FAILS] = "init fails",
	[CHAOS_STALL] = "stall",
	[CHAOS_STARVE] = "starve",
	[CHAOS_FORGET] = "forget",
	[CHAOS_STALE] = "stale",
	[CHAOS_WILD] = "wild",
	[CHAOS_BAD_SLICE] = "bad slice",
	[CHAOS_BAD_MODE] = "bad mode",
	[CHAOS_STORM] = "storm",
	[CHAOS_WAKE_PAST] = "wake in the past",
	[CHAOS_ACT_IN_FINI] = "act in fini",
	[CHAOS_FREEZE_LATENCY] = "freeze latency",
	[CHAOS_MEMORY] = "memory",
	[CHAOS_DRAIN] = "drain",
	[CHAOS_ABSOLUTE_TIME] = "absolute time",
	[CHAOS_OVERGRANT] = "overgrant",
	[CHAOS_GRANT_AGAIN] = "grant again",
	[CHAOS_SETTLE_ANY] = "settle any",
	[CHAOS_EVICT_ALL] = "evict all",
	[CHAOS_EVICT_BACK] = "evict back",
	[CHAOS_NEVER_GRANT] = "never grant",
	[CHAOS_FORGET_WORK] = "forget work",
	[CHAOS_STALE_WORK] = "stale work",
	[CHAOS_BAD_PART] = "bad part",
	[CHAOS_STALE_TENANT] = "stale tenant",
	[CHAOS_FREEZE_ON_MISS] = "freeze on a miss",
	[CHAOS_BAD_HOME] = "bad home",
	[CHAOS_BAD_FACT] = "bad fact",
	[CHAOS_MANY_FACTS] = "many facts",
	[CHAOS_ASKED_ACTS] = "acts when asked",
	[CHAOS_ASKED_CHANGES] = "changes when asked",
	[CHAOS_LEARN_NOBODY] = "learn nobody",
	[CHAOS_LEARN_STORM] = "learn storm",
	[CHAOS_HOLD] = "hold",
	[CHAOS_HOLD_AFTER] = "hold now and then",
};

const char *chaos_name(enum chaos knob)
{
	return names[knob];
}

static int init(struct cot_policy *p)
{
	(void)p;
	lives++;
	return chaos_knob == CHAOS_INIT_FAILS ? -EIO : 0;
}

static void fini(struct cot_policy *p)
{
	if (chaos_knob == CHAOS_ACT_IN_FINI && p->entities)
		(void)cot_freeze(p, p->entities);
}

static void entity_down(struct cot_policy *p, struct cot_entity *e)
{
	struct chaos_state *s = p->state;

	s->gone = e;
	if (chaos_knob == CHAOS_STALE)
		(void)cot_freeze(p, e);
}

static void freeze_class(struct cot_policy *p, enum cot_class cls, bool all)
{
	struct cot_entity *e;

	cot_for_each_entity (e, p) {
		if (e->cls != cls)
			continue;
		(void)cot_freeze(p, e);
		if (!all)
			return;
	}
}

static void flip(struct cot_policy *p, bool on)
{
	struct cot_entity *e;

	cot_for_each_entity (e, p)
		(void)cot_set_slice(p, e, on ? 100 : 200);
}

static void learn(struct cot_policy *p, uint64_t n)
{
	struct cot_lesson l = {.kind = 7};

	for (; chaos_knob == CHAOS_LEARN_STORM && l.key < COT_LEARN_MAX; l.key++) {
		l.value[0] = (uint32_t)n;
		if (l.key)
			(void)cot_learn(p, &l);
	}
	l.key = chaos_knob == CHAOS_LEARN_STORM;
	(void)cot_learn(p, &l);
}

static enum cot_home home(const struct cot_policy *p, const struct cot_tenant *t)
{
	(void)p;
	(void)t;
	return chaos_knob == CHAOS_BAD_HOME ? COT_N_HOMES : COT_HOME_CLASS;
}

static unsigned explain(const struct cot_policy *p, const struct cot_tenant *t,
			struct cot_fact *facts, unsigned max)
{
	struct chaos_state *s = p->state;

	(void)t;
	if (!max)
		return 0;
	facts[0] = (struct cot_fact){.name = "nothing", .unit = COT_FACT_COUNT};
	if (chaos_knob == CHAOS_BAD_FACT)
		facts[0].name = NULL;
	if (chaos_knob == CHAOS_ASKED_ACTS && p->entities)
		(void)cot_freeze((struct cot_policy *)p, p->entities);
	s->asked = true;
	return chaos_knob == CHAOS_MANY_FACTS ? max + 1 : 1;
}

static void do_wrong(struct cot_policy *p, struct chaos_state *s)
{
	static struct cot_entity stranger;
	struct cot_entity *e;

	switch (chaos_knob) {
	case CHAOS_STALL:
		freeze_class(p, COT_CLASS_LATENCY, true);
		freeze_class(p, COT_CLASS_BATCH, true);
		break;
	case CHAOS_STARVE:
		freeze_class(p, COT_CLASS_BATCH, false);
		break;
	case CHAOS_FORGET:
		if (s->n_ticks == 3)
			freeze_class(p, COT_CLASS_BATCH, false);
		break;
	case CHAOS_STALE:
		if (s->gone)
			(void)cot_thaw(p, s->gone);
		break;
	case CHAOS_WILD:
		(void)cot_freeze(p, &stranger);
		(void)cot_freeze(p, NULL);
		if (p->entities)
			(void)cot_freeze(p, (struct cot_entity *)((char *)p->entities + 8));
		break;
	case CHAOS_BAD_SLICE:
		cot_for_each_entity (e, p)
			(void)cot_set_slice(p, e, COT_SLICE_US_MAX + 1);
		break;
	case CHAOS_BAD_MODE:
		cot_for_each_entity (e, p)
			(void)cot_set_mode(p, e, (enum cot_mode)77);
		break;
	case CHAOS_STORM:
		flip(p, s->n_ticks & 1);
		break;
	case CHAOS_FREEZE_LATENCY:
		if (p->entities)
			freeze_class(p, COT_CLASS_LATENCY, true);
		break;
	case CHAOS_DRAIN:
		cot_for_each_entity (e, p)
			(void)cot_set_mode(p, e, COT_MODE_DRAIN);
		break;
	case CHAOS_MEMORY:
		flip(p, lives & 1);
		break;
	case CHAOS_ASKED_CHANGES:
		flip(p, s->asked);
		break;
	case CHAOS_LEARN_NOBODY:
	case CHAOS_LEARN_STORM:
		learn(p, s->n_ticks);
		break;
	case CHAOS_ABSOLUTE_TIME:
		flip(p, p->now_ns / (3600 * COT_NS_PER_S) & 1);
		break;
	default:
		break;
	}
}

static void work_done(struct cot_policy *p, struct cot_work *w)
{
	struct chaos_state *s = p->state;

	s->gone_work = w;
	if (chaos_knob == CHAOS_STALE_WORK)
		(void)cot_grant(p, w, 1, false);
}

static void do_wrong_to_running(struct cot_policy *p, struct cot_work *w)
{
	switch (chaos_knob) {
	case CHAOS_GRANT_AGAIN:
		(void)cot_grant(p, w, w->granted + 1, false);
		break;
	case CHAOS_EVICT_ALL:
		(void)cot_evict(p, w, w->granted);
		break;
	case CHAOS_EVICT_BACK:
		if (w->evicted)
			(void)cot_evict(p, w, w->evicted - 1);
		else if (w->granted > 2)
			(void)cot_evict(p, w, 2);
		break;
	default:
		break;
	}
}

/* Everybody gets everything at once, but for what is wrong. */
static void look_after_works(struct cot_policy *p, const struct chaos_state *s)
{
	struct cot_work *w;

	if (chaos_knob == CHAOS_STALE_WORK && s->gone_work && !p->works)
		(void)cot_evict(p, s->gone_work, 1);
	cot_for_each_work(w, p)
	{
		if (w->state == COT_WORK_RUNNING)
			do_wrong_to_running(p, w);
		else if (chaos_knob == CHAOS_OVERGRANT)
			(void)cot_grant(p, w, w->want + 1, false);
		else if (chaos_knob == CHAOS_SETTLE_ANY)
			(void)cot_grant(p, w, w->want, true);
		else if (chaos_knob != CHAOS_NEVER_GRANT &&
			 (chaos_knob != CHAOS_FORGET_WORK || w->tenant->id != 3))
			(void)cot_grant(p, w, w->want, false);
	}
}

static void tenant_left(struct cot_policy *p, struct cot_tenant *t)
{
	struct chaos_state *s = p->state;

	s->gone_tenant = t;
}

static void hold_batch(struct cot_policy *p)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (t->cls == COT_CLASS_BATCH && t->part_sms)
			(void)cot_place(p, t, (struct cot_part){.hold = true});
}

/* As users asked, but for what is wrong. */
static void place(struct cot_policy *p, const struct chaos_state *s)
{
	struct cot_tenant *t;

	if (chaos_knob == CHAOS_STALE_TENANT && s->gone_tenant)
		(void)cot_place(p, s->gone_tenant, (struct cot_part){.n = 8});
	if (chaos_knob == CHAOS_HOLD || (chaos_knob == CHAOS_HOLD_AFTER && s->n_ticks % 20 == 0)) {
		hold_batch(p);
		return;
	}
	if (chaos_knob != CHAOS_BAD_PART) {
		cot_place_shares(p);
		return;
	}
	cot_for_each_tenant (t, p)
		(void)cot_place(p, t, (struct cot_part){.first = 4, .n = 8});
}

static void requests(struct cot_policy *p, struct cot_tenant *t, const struct cot_window *w)
{
	if (chaos_knob == CHAOS_FREEZE_ON_MISS && t->target.kind && w->response.n_missed)
		freeze_class(p, COT_CLASS_BATCH, true);
}

static uint64_t tick(struct cot_policy *p)
{
	struct chaos_state *s = p->state;

	s->n_ticks++;
	do_wrong(p, s);
	place(p, s);
	look_after_works(p, s);
	switch (chaos_knob) {
	case CHAOS_STORM:
	case CHAOS_WAKE_PAST:
		return 0;
	case CHAOS_BAD_SLICE:
	case CHAOS_BAD_MODE:
	case CHAOS_WILD:
	case CHAOS_STALE:
	case CHAOS_OVERGRANT:
	case CHAOS_GRANT_AGAIN:
	case CHAOS_SETTLE_ANY:
	case CHAOS_EVICT_ALL:
	case CHAOS_EVICT_BACK:
	case CHAOS_BAD_PART:
	case CHAOS_STALE_TENANT:
	case CHAOS_LEARN_NOBODY:
	case CHAOS_LEARN_STORM:
	case CHAOS_HOLD:
	case CHAOS_HOLD_AFTER:
		return p->now_ns + 10 * COT_NS_PER_MS;
	default:
		return COT_NEVER;
	}
}

static const struct cot_work_ops works = {.done = work_done};
static const struct cot_measure_ops measures = {.requests = requests};

const struct cot_policy_ops chaos_policy = {
	.name = "chaos",
	.summary = "does one thing wrong",
	.abi = COT_POLICY_ABI,
	.state_bytes = sizeof(struct chaos_state),
	.init = init,
	.fini = fini,
	.entity_down = entity_down,
	.works = &works,
	.measures = &measures,
	.places = true,
	.tenant_left = tenant_left,
	.tick = tick,
	.wants_pools = true,
	.home = home,
	.explain = explain,
};
