/*
 * Baymax (Chen et al., "Baymax: QoS Awareness and Increased Utilization for Non-Preemptive
 * Accelerators in Warehouse Scale Computers", ASPLOS 2016), as the Laius paper uses it, to compare:
 * the GPU does one task at a time, with all its SMs, and each task's duration is predicted. The
 * *headroom* of a query is what its target leaves when its own tasks and those of older queries
 * are done. A batch task goes first as long as it is shorter than the headroom of every query.
 *
 *  - The GPU is free: of the batch tasks that are short enough the longest goes; else the oldest
 *    query's next task. Without a query the oldest batch task goes.
 *  - Where kernels are works, a grant issues one. Other batch kernels can only be held: they run
 *    beside the query's tasks while the program's repetition is shorter than the headroom.
 *
 * A re-implementation from that description; the original was not available.
 */
#include "policy/holding.h"
#include "policy/policies.h"
#include "policy/shared.h"
#include "policy/works.h"

/* Longer tasks than that are never short enough. */
#define GUESS_MAX_NS (1ull << 36)

struct baymax_query {
	uint64_t rest_ns; /* of its tasks that are not done, on all SMs */
	uint32_t n_done;  /* that rest_ns does not count any longer */
};

struct baymax_program {
	uint64_t held_ns;
	uint64_t real_q20; /* how many times as long its last task took as was guessed, times
			      2^20; 0: not known */
	bool has_works;
	bool held;
};

static struct baymax_query *query_of(const struct cot_query *q)
{
	return q->own;
}

static struct baymax_program *program_of(const struct cot_tenant *t)
{
	return t->own;
}

/* ---- headroom ---- */

static uint64_t task_ns(const struct cot_plan *plan, uint32_t i)
{
	return plan->task_ns[(uint64_t)(i + 1) * plan->n_quotas - 1];
}

/* The least of all queries on the GPU: 0 with one of which nothing is known, COT_NEVER without
 * one. */
static uint64_t headroom_ns(const struct cot_policy *p, uint32_t gpu)
{
	uint64_t least_ns = COT_NEVER, before_ns = 0, need_ns, target_ns;
	const struct cot_query *q;

	cot_for_each_query(q, p)
	{
		if (q->tenant->cls != COT_CLASS_LATENCY ||
		    (uint32_t)__builtin_ctzll(q->tenant->gpu_mask) != gpu)
			continue;
		if (!q->plan)
			return 0;
		before_ns += query_of(q)->rest_ns;
		need_ns = p->now_ns - q->arrived_ns + before_ns + q->out_ns;
		target_ns = cot_policy_query_target_ns(q);
		policy_earlier(&least_ns, target_ns > need_ns ? target_ns - need_ns : 0);
	}
	return least_ns;
}

static void query_begins(struct cot_policy *p, struct cot_query *q)
{
	uint32_t i;

	(void)p;
	for (i = 0; q->plan && i < q->plan->n_tasks; i++)
		query_of(q)->rest_ns += task_ns(q->plan, i);
}

static void query_goes_on(struct cot_policy *p, struct cot_query *q)
{
	struct baymax_query *own = query_of(q);

	(void)p;
	for (; q->plan && own->n_done < q->n_done && own->n_done < q->plan->n_tasks; own->n_done++)
		own->rest_ns -= task_ns(q->plan, own->n_done);
}

/* ---- works ---- */

/* By its blocks alone; 0: not known. */
static uint64_t guess_ns(const struct cot_work *w)
{
	uint64_t at_once = (uint64_t)w->per_sm * w->want;

	uint64_t ns = at_once ? (w->n_tasks + at_once - 1) / at_once * w->task_ns : 0;

	return ns < GUESS_MAX_NS ? ns : GUESS_MAX_NS;
}

/* COT_NEVER: not known. */
static uint64_t duration_ns(const struct cot_work *w)
{
	uint64_t ns = guess_ns(w), real_q20 = program_of(w->tenant)->real_q20;

	if (!ns)
		return COT_NEVER;
	if (real_q20 >= UINT64_MAX / GUESS_MAX_NS)
		return COT_NEVER;
	return real_q20 ? ns * real_q20 >> 20 : ns;
}

/* What was predicted gives way to what is. */
static void work_done(struct cot_policy *p, struct cot_work *w)
{
	uint64_t ns = guess_ns(w);

	if (w->state == COT_WORK_RUNNING && ns)
		program_of(w->tenant)->real_q20 =
			(((p->now_ns - w->running_since_ns) << 20) + ns - 1) / ns;
}

static bool waits_on(const struct cot_work *w, uint32_t gpu)
{
	return w->gpu == gpu && w->state == COT_WORK_WAITING;
}

/* NULL: none is short enough. */
static struct cot_work *longest_batch(const struct cot_policy *p, uint32_t gpu, uint64_t limit_ns)
{
	struct cot_work *w, *best = NULL;

	cot_for_each_work(w, p)
	{
		if (!waits_on(w, gpu) || w->method != COT_WORK_QUOTA || duration_ns(w) >= limit_ns)
			continue;
		if (!best || duration_ns(w) > duration_ns(best))
			best = w;
	}
	return best;
}

/* Of the class of `method`, and of one program unless that is NULL; NULL: none waits. */
static struct cot_work *oldest(const struct cot_policy *p, uint32_t gpu,
			       enum cot_work_method method, const struct cot_tenant *t)
{
	struct cot_work *w;

	cot_for_each_work(w, p)
	{
		if (waits_on(w, gpu) && w->method == method && (!t || w->tenant == t))
			return w;
	}
	return NULL;
}

static struct cot_work *latency_task(const struct cot_policy *p, uint32_t gpu)
{
	const struct cot_query *q;
	struct cot_work *w;

	cot_for_each_query(q, p)
	{
		w = oldest(p, gpu, COT_WORK_RESERVE, q->tenant);
		if (w)
			return w;
	}
	return oldest(p, gpu, COT_WORK_RESERVE, NULL);
}

/* A latency program's kernel without a query is one of a query of which nothing is known. */
static struct cot_work *next_task(const struct cot_policy *p, uint32_t gpu)
{
	uint64_t room_ns = headroom_ns(p, gpu);
	struct cot_work *w = NULL;

	if (room_ns != COT_NEVER)
		w = longest_batch(p, gpu, room_ns);
	if (!w)
		w = latency_task(p, gpu);
	if (!w && room_ns == COT_NEVER)
		w = oldest(p, gpu, COT_WORK_QUOTA, NULL);
	return w;
}

static void issue(struct cot_policy *p, uint32_t gpu)
{
	struct cot_work *w;

	if (p->running_gpus >> gpu & 1)
		return;
	w = next_task(p, gpu);
	if (w)
		(void)cot_grant(p, w, w->want, false);
}

static void work_ready(struct cot_policy *p, struct cot_work *w)
{
	(void)p;
	program_of(w->tenant)->has_works = true;
}

/* ---- kernels that are not works ---- */

/* What it repeats takes longer than the headroom, or is not known. */
static bool must_wait(const struct cot_tenant *t, uint64_t room_ns)
{
	if (t->cls == COT_CLASS_LATENCY || program_of(t)->has_works || room_ns == COT_NEVER)
		return false;
	return !t->n_predictions || t->predictions[t->n_predictions - 1].duration_ns >= room_ns;
}

static void place(struct cot_policy *p, uint32_t gpu, uint64_t *wake_ns)
{
	struct placing l = cot_placing_begin(p, gpu);
	uint64_t room_ns = headroom_ns(p, gpu);
	struct cot_tenant *t;

	cot_placing_asked(p, &l);
	cot_for_each_tenant (t, p) {
		struct baymax_program *own = program_of(t);
		struct cot_part part = {0};

		if (!placing_is_dealt(p, &l, t))
			continue;
		part.hold = own->held = must_wait(t, room_ns);
		cot_holding_place(p, t, part, &own->held_ns, wake_ns);
	}
}

/* ---- the policy ---- */

static uint64_t tick(struct cot_policy *p)
{
	uint64_t wake_ns = COT_NEVER, gpus;

	cot_works_leave_entities(p);
	for (gpus = cot_placing_gpus(p); gpus; gpus &= gpus - 1)
		place(p, (uint32_t)__builtin_ctzll(gpus), &wake_ns);
	for (gpus = p->waiting_gpus; gpus; gpus &= gpus - 1)
		issue(p, (uint32_t)__builtin_ctzll(gpus));
	return wake_ns;
}

static unsigned explain(const struct cot_policy *p, const struct cot_tenant *t,
			struct cot_fact *facts, unsigned max)
{
	uint64_t room_ns = headroom_ns(p, (uint32_t)__builtin_ctzll(t->gpu_mask));
	unsigned n = 0;

	if (max < 2)
		return 0;
	if (room_ns != COT_NEVER)
		facts[n++] = (struct cot_fact){
			.name = "headroom", .value = room_ns, .unit = COT_FACT_NS};
	facts[n++] = (struct cot_fact){
		.name = "because",
		.text = room_ns == COT_NEVER  ? "no request is on the GPU"
			: program_of(t)->held ? "it is held: it would take longer than the headroom"
			: t->cls == COT_CLASS_BATCH
				? "its tasks go first while they are shorter than the headroom"
				: "its tasks go when no batch task fits before them",
	};
	return n;
}

static const struct cot_work_ops works = {.ready = work_ready, .done = work_done};

static const struct cot_query_ops queries = {
	.begin = query_begins,
	.task = query_goes_on,
};

const struct cot_policy_ops cot_policy_baymax = {
	.name = "baymax",
	.summary = "one pool; one task at a time, batch tasks first while requests have time",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.one_pool = true,
	.places = true,
	.works = &works,
	.queries = &queries,
	.tenant_bytes = sizeof(struct baymax_program),
	.query_bytes = sizeof(struct baymax_query),
	.tick = tick,
	.explain = explain,
};
