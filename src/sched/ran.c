/*
 * How long tenants could use their GPUs: added up each time that the clock goes on, before anything
 * changes. So turns of any length are counted whole, whenever somebody looks.
 */
#include "sched/inside.h"

/* Of a GPU that is not divided, beside tenants with parts: only ratios count. An H200 has as many.
 */
#define WHOLE_SMS 132u

static bool can_run(const struct cot_tenant *t)
{
	return t->entity && t->entity->run == COT_RUN_RUNNING && !t->part.hold && !t->part.cpu &&
	       t->activity != COT_ACTIVITY_IDLE;
}

static uint32_t sms_of(const struct cot_tenant *t)
{
	if (t->part.n)
		return t->part.n;
	return t->part_sms ? t->part_sms : WHOLE_SMS;
}

static void add(struct cot_ran *ran, const struct cot_tenant *t, uint64_t passed_ns)
{
	if (!can_run(t))
		return;
	ran->ns += passed_ns;
	ran->sm_ns += passed_ns * sms_of(t);
}

void cot_sched_ran_on_time(struct cot_sched *s, uint64_t now_ns)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, &s->policy)
		add(&((struct sched_tenant *)t)->ran, t, now_ns - s->policy.now_ns);
}

struct cot_ran cot_sched_ran_until(const struct cot_sched *s, const struct cot_tenant *t,
				   uint64_t now_ns)
{
	struct cot_ran ran = ((const struct sched_tenant *)t)->ran;

	if (now_ns > s->policy.now_ns)
		add(&ran, t, now_ns - s->policy.now_ns);
	return ran;
}
