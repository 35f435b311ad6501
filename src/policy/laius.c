/*
 * Laius (Zhang et al., "Laius: Towards Latency Awareness and Improved Utilization of Spatial
 * Multitasking Accelerators in Datacenters", ICS 2019), live, over parts: when a query begins, a
 * prediction says how many SMs are just enough for it to keep its target; batch programs have the
 * rest.
 *
 *      SM 0                                                     the last
 *      | batch | batch | nobody's |  second query  |  oldest query  |
 *
 *  - *Just enough* is the smallest part on which the query is predicted to end in what its target
 *    leaves it after waiting and transfers. A query of which nothing is known has all SMs.
 *  - *The rest* is divided so that the sum of the batch programs' predicted rates is greatest, and
 *    what all move stays below the memory's bandwidth. A program that gets nothing is held.
 *  - *Lag*: after each task a query that is behind its plan gets what makes up for it, at the
 *    expense of batch programs; when it is no longer behind, what was planned.
 *
 * What runs is never changed: a part is for what is launched next. So the tasks of one program
 * never stand beside each other, and what counts for a batch program is its next task alone.
 *
 * `laius-paper` is that. `laius-nb` does without the bandwidth, `laius-nc` without compensation for
 * lag. `laius` goes on from there (laius_drain.c, laius_queue.c, laius_reserve.c, laius_took.c).
 *
 * Where the paper is silent or differs:
 *  - queries get SMs in order of their begin; while the sum would be too large, the younger waits;
 *  - a query that has had SMs for 10 s to a minute, by its target, has none any longer: its end was
 *    lost, or it is none;
 *  - the paper's processes share SMs below their percentages; here no two programs have the same
 *    SMs, as long as there is room;
 *  - the value of a batch program is its rate in parts of that alone, not its instructions per
 *    cycle: for one program that is the same, among several the raw figure starves those whose
 *    instructions are slow;
 *  - what a query moves is the mean of the tasks that it has still to do. The largest of them
 *    (`laius-peak`) keeps batch programs waiting for all of the query because of a task of
 *    microseconds: nearly every network has one that fills the memory;
 *  - it is divided anew when a query begins, ends or changes its quota, and when batch programs
 *    come, go or are predicted otherwise, not with every batch task.
 */
#include "policy/laius_inside.h"

#include <string.h>

#include "policy/holding.h"
#include "policy/policies.h"
#include "policy/works.h"

static void put_all(struct cot_policy *p, const struct placing *l, uint64_t *wake_ns)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p) {
		struct laius_program *own = laius_program(t);

		if (placing_is_dealt(p, l, t))
			cot_holding_place(p, t, own->part, &own->held_ns, wake_ns);
	}
}

/* Where users asked for everything, requests and batch programs lie over that. */
static void divide(struct cot_policy *p, struct placing *l)
{
	struct laius_deal d = {.p = p, .l = l, .live = laius_is_live(p)};

	if (l->top <= l->bottom) {
		l->bottom = 0;
		l->top = l->limit;
	}
	d.begin = d.low = l->top;
	d.floor = l->bottom;
	if (d.live)
		cot_laius_look(&d);
	cot_laius_serve(&d);
	cot_laius_share(&d);
}

static uint64_t tick(struct cot_policy *p)
{
	uint64_t wake_ns = COT_NEVER, gpus;
	struct laius *laius = p->state;

	cot_works_leave_entities(p);
	laius->stale_gpus |= cot_laius_lose(p, &wake_ns);
	if (laius_is_live(p))
		laius->stale_gpus |= cot_laius_notice(p, &wake_ns);
	for (gpus = cot_placing_gpus(p); gpus; gpus &= gpus - 1) {
		uint32_t gpu = (uint32_t)__builtin_ctzll(gpus);
		struct placing l = cot_placing_begin(p, gpu);

		cot_placing_asked(p, &l);
		if (laius->stale_gpus >> gpu & 1)
			divide(p, &l);
		put_all(p, &l, &wake_ns);
	}
	laius->stale_gpus = 0;
	return wake_ns;
}

/* ---- events ---- */

/* Another policy may have left batch programs where this one wants them: then nobody says so. */
static int init(struct cot_policy *p)
{
	struct cot_tenant *t;

	laius_state(p)->stale_gpus = UINT64_MAX;
	if (laius_is_live(p))
		cot_for_each_tenant (t, p)
			cot_laius_moved(p, t);
	return 0;
}

static void came_or_went(struct cot_policy *p, struct cot_tenant *t)
{
	laius_state(p)->stale_gpus |= t->gpu_mask & -t->gpu_mask;
}

static void joined(struct cot_policy *p, struct cot_tenant *t)
{
	came_or_went(p, t);
	if (laius_is_live(p))
		cot_laius_joined(p, t);
}

static void left(struct cot_policy *p, struct cot_tenant *t)
{
	came_or_went(p, t);
	cot_laius_forget(p, t);
}

static void tenant_changed(struct cot_policy *p, struct cot_tenant *t, unsigned what)
{
	if (what & ~(unsigned)(COT_CHANGED_ACTIVITY | COT_CHANGED_HINTS | COT_CHANGED_RUN))
		laius_state(p)->stale_gpus = UINT64_MAX;
	if (what & (COT_CHANGED_PARTS | COT_CHANGED_GPU))
		laius_program(t)->part = (struct cot_part){0};
	if (!laius_is_live(p))
		return;
	if (what & (COT_CHANGED_PARTS | COT_CHANGED_GPU | COT_CHANGED_CLASS))
		cot_laius_moved(p, t);
	if (what & COT_CHANGED_ACTIVITY)
		cot_laius_activity(p, t);
}

static void placed(struct cot_policy *p, struct cot_tenant *t, const struct cot_action_result *r)
{
	if (!r->status)
		cot_laius_moved(p, t);
}

static void query_begins(struct cot_policy *p, struct cot_query *q)
{
	laius_program(q->tenant)->n_queries++;
	if (laius_is_live(p))
		cot_laius_arrive(p, q);
	came_or_went(p, q->tenant);
}

static void query_goes_on(struct cot_policy *p, struct cot_query *q)
{
	if (cot_laius_follow(p, q))
		came_or_went(p, q->tenant);
}

static void query_ends(struct cot_policy *p, struct cot_query *q)
{
	if (laius_is_live(p)) {
		cot_laius_learn(p, q);
		cot_laius_leave(p, q);
	}
	cot_laius_end(p, q);
	came_or_went(p, q->tenant);
}

static const struct cot_query_ops queries = {
	.begin = query_begins,
	.task = query_goes_on,
	.end = query_ends,
};

/* ---- the policies ---- */

/* What programs launch is looked at by the next tick. */
static void progress(struct cot_policy *p, struct cot_tenant *t)
{
	(void)p;
	(void)t;
}

static const struct cot_measure_ops measures = {.progress = progress};

#define LAIUS(called, says, ...)                                                                   \
	{                                                                                          \
		.name = called, .summary = says, .abi = COT_POLICY_ABI, .wants_pools = true,       \
		.one_pool = true, .places = true, .queries = &queries,                             \
		.state_bytes = sizeof(struct laius), .tenant_bytes = sizeof(struct laius_program), \
		.query_bytes = sizeof(struct laius_query), .init = init, .tenant_joined = joined,  \
		.tenant_left = left, .tenant_changed = tenant_changed, .tick = tick,               \
		.explain = cot_laius_explain, __VA_ARGS__                                          \
	}

const struct cot_policy_ops cot_policy_laius =
	LAIUS("laius", "one pool; SMs just enough for requests by prediction, the rest for batch",
	      .placed = placed, .measures = &measures);
const struct cot_policy_ops cot_policy_laius_paper =
	LAIUS("laius-paper", "one pool; SMs just enough for each request, as in the paper", );
const struct cot_policy_ops cot_policy_laius_nb =
	LAIUS("laius-nb", "laius-paper without its limit on memory bandwidth, to compare", );
const struct cot_policy_ops cot_policy_laius_peak = LAIUS(
	"laius-peak", "laius-paper that leaves a request the bandwidth of its largest task", );
const struct cot_policy_ops cot_policy_laius_nc =
	LAIUS("laius-nc", "laius-paper without its compensation for lag, to compare", );
