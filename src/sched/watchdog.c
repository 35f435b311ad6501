/*
 * Whether the policy does its work. The watchdog judges results, not actions: no active entity may
 * be frozen for long, nor an active tenant be held, and of those that share a GPU one must run. A
 * work may wait for one that takes long, but not for ever, and not while none runs.
 *
 * Only time in which the policy could act counts. A host that was stopped or delayed comes late:
 * time beyond LATE_NS after the wake-up time that the core had given does not count. To notice
 * this, the core wants to be called at least every WATCH_NS while it watches an entity or work.
 */
#include "sched/inside.h"

/* So much is usual on a loaded machine. */
#define LATE_NS	 (100 * COT_NS_PER_MS)
#define WATCH_NS (1 * COT_NS_PER_S)

void cot_sched_watchdog_init(struct cot_sched *s)
{
	struct cot_entity *e;
	struct cot_tenant *t;

	s->frozen_stalls.gpus = 0;
	s->work_stalls.gpus = 0;
	cot_for_each_entity (e, &s->policy)
		entity_of(e)->starving = false;
	cot_for_each_tenant (t, &s->policy)
		((struct sched_tenant *)t)->held = false;
	s->holds = false;
	s->n_wrong = 0;
	s->storm_n = 0;
}

void cot_sched_watchdog_on_time(struct cot_sched *s, uint64_t now_ns)
{
	uint64_t last_ns = s->policy.now_ns, due_ns;

	if (now_ns - last_ns <= LATE_NS)
		return;
	due_ns = cot_sched_wake_ns(s);
	due_ns = time_after(due_ns > last_ns ? due_ns : last_ns, LATE_NS);
	if (now_ns > due_ns)
		s->late_ns += now_ns - due_ns;
}

static bool is_kept_off(const struct cot_entity *e)
{
	return e->run == COT_RUN_FREEZING || e->run == COT_RUN_FROZEN;
}

static void check_starved(struct cot_sched *s)
{
	uint64_t now_ns = watch_ns(s);
	struct cot_entity *pub;

	cot_for_each_entity (pub, &s->policy) {
		struct sched_entity *e = entity_of(pub);
		bool starving = cot_entity_may_run(pub) && is_kept_off(pub);

		if (starving && !e->starving)
			e->starving_since_ns = now_ns;
		e->starving = starving;
		if (starving && now_ns - e->starving_since_ns >= s->limits.starve_ns)
			cot_sched_fault(s, COT_FAULT_STARVED, pub->id);
	}
}

static void check_held(struct cot_sched *s)
{
	uint64_t now_ns = watch_ns(s);
	struct cot_tenant *pub;

	if (!s->holds)
		return;
	cot_for_each_tenant (pub, &s->policy) {
		struct sched_tenant *t = (struct sched_tenant *)pub;
		bool held = pub->part.hold && pub->activity != COT_ACTIVITY_IDLE;

		if (held && !t->held)
			t->held_since_ns = now_ns;
		t->held = held;
		if (held && now_ns - t->held_since_ns >= s->limits.starve_ns)
			cot_sched_fault(s, COT_FAULT_STARVED, pub->id);
	}
}

/* Of the GPUs in `stalled`: for how long. */
static void time_stalls(struct cot_sched *s, struct stalls *t, uint64_t stalled)
{
	uint64_t now_ns = watch_ns(s), gpus;

	for (gpus = stalled; gpus; gpus &= gpus - 1) {
		unsigned i = (unsigned)__builtin_ctzll(gpus);

		if (!(t->gpus >> i & 1))
			t->since_ns[i] = now_ns;
		else if (now_ns - t->since_ns[i] >= s->limits.stall_ns)
			cot_sched_fault(s, COT_FAULT_STALL, 0);
	}
	t->gpus = stalled;
}

/* The clock's time, `limit_ns` after `since_ns` of the watchdog's. */
static uint64_t clock_ns(const struct cot_sched *s, uint64_t since_ns, uint64_t limit_ns)
{
	return time_after(since_ns + s->late_ns, limit_ns);
}

static void stalls_wake(const struct cot_sched *s, const struct stalls *t, uint64_t *wake_ns)
{
	uint64_t gpus;

	for (gpus = t->gpus; gpus; gpus &= gpus - 1)
		earlier(wake_ns,
			clock_ns(s, t->since_ns[__builtin_ctzll(gpus)], s->limits.stall_ns));
}

/* An entity of several GPUs may have to wait for one of them while the others have nobody else. So
 * each that waits is asked whether somebody runs on any GPU of its own. */
static void check_stalled(struct cot_sched *s)
{
	uint64_t stalled = 0, served = 0;
	const struct cot_entity *e;

	cot_for_each_entity (e, &s->policy)
		if (cot_entity_may_run(e) && !is_kept_off(e))
			served |= e->gpu_mask;
	cot_for_each_entity (e, &s->policy)
		if (cot_entity_may_run(e) && is_kept_off(e) && !(e->gpu_mask & served))
			stalled |= e->gpu_mask;
	time_stalls(s, &s->frozen_stalls, stalled);
}

static void check_works(struct cot_sched *s)
{
	uint64_t now_ns = watch_ns(s), starve_ns = s->limits.starve_ns;

	time_stalls(s, &s->work_stalls, s->policy.waiting_gpus & ~s->policy.running_gpus);
	if (now_ns >= starve_ns)
		cot_sched_work_rescue(s, now_ns - starve_ns);
}

void cot_sched_watchdog_check(struct cot_sched *s)
{
	check_starved(s);
	check_held(s);
	check_stalled(s);
	check_works(s);
}

uint64_t cot_sched_watchdog_wake_ns(const struct cot_sched *s)
{
	uint64_t wake_ns = COT_NEVER;
	struct cot_entity *pub;

	cot_for_each_entity (pub, &s->policy) {
		const struct sched_entity *e = entity_of(pub);

		if (e->starving)
			earlier(&wake_ns, clock_ns(s, e->starving_since_ns, s->limits.starve_ns));
	}
	stalls_wake(s, &s->frozen_stalls, &wake_ns);
	stalls_wake(s, &s->work_stalls, &wake_ns);
	if (s->waiting)
		earlier(&wake_ns, clock_ns(s, s->waiting->watched_since_ns, s->limits.starve_ns));
	if (wake_ns != COT_NEVER)
		earlier(&wake_ns, s->policy.now_ns + WATCH_NS);
	return wake_ns;
}

void cot_sched_watchdog_count_wrong(struct cot_sched *s)
{
	s->stats.wrong_actions++;
	if (++s->n_wrong > s->limits.max_wrong)
		cot_sched_fault(s, COT_FAULT_WRONG, 0);
}

void cot_sched_watchdog_count_action(struct cot_sched *s)
{
	uint64_t second = s->policy.now_ns / COT_NS_PER_S;

	if (second != s->storm_second) {
		s->storm_second = second;
		s->storm_n = 0;
	}
	if (++s->storm_n > s->limits.max_actions_per_s)
		cot_sched_fault(s, COT_FAULT_STORM, 0);
}
