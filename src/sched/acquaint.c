/*
 * Queries of which the host knows nothing are learned: by program, and by their size to a power of
 * two. They have all SMs meanwhile. Then the plan is the longest that was seen, as one task, and on
 * a part of the SMs so much longer as the part is smaller: with half of them twice as long. That is
 * more than work takes that is divided into blocks, so who has just enough by it has enough.
 *
 * The first queries of a program often take longer than all others (code is loaded, memory is
 * allocated), and do not count.
 */
#include "base/compiler.h"
#include "base/units.h"
#include "sched/inside.h"

static const uint32_t parts[ACQUAINT_QUOTAS] = {8, 4, 2, 1};

/* 0: it is not known how large it is; otherwise 1 + log2. */
static uint8_t class_of(uint64_t size)
{
	uint8_t n = 0;

	for (; size; size >>= 1)
		n++;
	return n;
}

static struct acquaintance *find(struct sched_tenant *t, uint64_t size)
{
	uint8_t class = class_of(size);
	uint32_t i;

	for (i = 0; i < t->n_acquaintances; i++)
		if (t->acquaintances[i].class == class)
			return &t->acquaintances[i];
	return NULL;
}

static void make_plan(struct acquaintance *a, uint32_t n_sms)
{
	uint32_t i;

	for (i = 0; i < ACQUAINT_QUOTAS; i++) {
		a->sms[i] = (n_sms + parts[i] - 1) / parts[i];
		a->time_ns[i] = a->longest_ns < COT_PLAN_NS_MAX / parts[i]
					? a->longest_ns * parts[i]
					: COT_PLAN_NS_MAX;
	}
	a->plan = (struct cot_plan){.n_quotas = ACQUAINT_QUOTAS,
				    .n_tasks = 1,
				    .sms = a->sms,
				    .query_ns = a->time_ns,
				    .task_ns = a->time_ns};
}

const struct cot_plan *cot_acquaint_plan(struct sched_tenant *t, uint64_t size)
{
	const struct acquaintance *a = find(t, size);

	return a && a->plan.n_quotas ? &a->plan : NULL;
}

/* A plan stays as it is: queries may use it. */
void cot_acquaint_end(struct sched_tenant *t, const struct cot_query *q, uint64_t now_ns)
{
	uint64_t ns = now_ns - q->began_ns > q->in_ns ? now_ns - q->began_ns - q->in_ns : 1;
	struct acquaintance *a = find(t, q->size);

	if (q->plan || t->pub.part_sms < parts[0] || (a && a->plan.n_quotas))
		return;
	if (!a) {
		if (t->n_acquaintances == ACQUAINT_CLASSES)
			return;
		a = &t->acquaintances[t->n_acquaintances++];
		*a = (struct acquaintance){.class = class_of(q->size)};
	}
	a->n++;
	if (a->n > ACQUAINT_SKIP && ns > a->longest_ns)
		a->longest_ns = ns;
	if (a->n == ACQUAINT_SKIP + ACQUAINT_COUNT)
		make_plan(a, t->pub.part_sms);
}
