/*
 * Whether the policy does its work. It is judged by what it leads to, not by what it says: nobody
 * with work may be frozen for long, and of those that share a GPU somebody must run.
 */
#include "sched/inside.h"

void cot_sched_watchdog_init(struct cot_sched *s)
{
	struct cot_entity *e;
	uint32_t i;

	for (i = 0; i < N_GPUS; i++)
		s->stalled_since_ns[i] = COT_NEVER;
	cot_for_each_entity (e, &s->policy)
		entity_of(e)->starving = false;
	s->n_wrong = 0;
	s->storm_n = 0;
}

static bool is_kept_off(const struct cot_entity *e)
{
	return e->run == COT_RUN_FREEZING || e->run == COT_RUN_FROZEN;
}

static void check_starved(struct cot_sched *s)
{
	uint64_t now_ns = s->policy.now_ns;
	struct cot_entity *pub;

	cot_for_each_entity (pub, &s->policy) {
		struct entity *e = entity_of(pub);
		bool starving = cot_entity_may_run(pub) && is_kept_off(pub);

		if (starving && !e->starving)
			e->starving_since_ns = now_ns;
		e->starving = starving;
		if (starving && now_ns - e->starving_since_ns >= s->limits.starve_ns)
			cot_sched_fault(s, COT_FAULT_STARVED, pub->id);
	}
}

static void check_stalled(struct cot_sched *s)
{
	uint64_t waiting = 0, served = 0, stalled, now_ns = s->policy.now_ns;
	struct cot_entity *e;
	uint32_t i;

	cot_for_each_entity (e, &s->policy) {
		if (!cot_entity_may_run(e))
			continue;
		if (is_kept_off(e))
			waiting |= e->gpu_mask;
		else
			served |= e->gpu_mask;
	}
	stalled = waiting & ~served;
	for (i = 0; i < N_GPUS; i++) {
		if (!(stalled >> i & 1))
			s->stalled_since_ns[i] = COT_NEVER;
		else if (s->stalled_since_ns[i] == COT_NEVER)
			s->stalled_since_ns[i] = now_ns;
		else if (now_ns - s->stalled_since_ns[i] >= s->limits.stall_ns)
			cot_sched_fault(s, COT_FAULT_STALL, 0);
	}
}

void cot_sched_watchdog_check(struct cot_sched *s)
{
	check_starved(s);
	check_stalled(s);
}

uint64_t cot_sched_watchdog_wake_ns(const struct cot_sched *s)
{
	uint64_t wake_ns = COT_NEVER;
	struct cot_entity *pub;
	uint32_t i;

	cot_for_each_entity (pub, &s->policy) {
		const struct entity *e = entity_of(pub);

		if (e->starving)
			earlier(&wake_ns, time_after(e->starving_since_ns, s->limits.starve_ns));
	}
	for (i = 0; i < N_GPUS; i++)
		if (s->stalled_since_ns[i] != COT_NEVER)
			earlier(&wake_ns, time_after(s->stalled_since_ns[i], s->limits.stall_ns));
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
