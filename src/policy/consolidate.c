/*
 * Consolidation (US patent 8,643,656): batch programs run in gangs, sets of programs that take less
 * energy, or time, together than apart.
 *
 *      a program begins to work      gathering ends
 *   ------------+--------------------------+------------------+------------------+------- ...
 *               | held for config->gather_ns | gang 1: A | B   | gang 2: C        | gang 1
 *
 * Who begins is held for a moment, so that others can come. Then all are judged anew
 * (model/gang.h), by what is predicted of them: together on parts of their own in proportion,
 * together on all SMs as MPS has it, one after the other, or on the CPU. What is better together is
 * a gang, every other program is one by itself. Gangs take turns: all programs of a gang are
 * released at the same time, all others are held. With one gang there are no turns.
 *
 * Programs are held and released, not their kernels: so what they launch may be any library's.
 * A program that takes least on the CPU, and may be put there (`cotenant run --cpu-by policy`), has
 * no turns: its launches are there, as far as it has CPU versions of their kernels, and the others
 * go to the GPU beside whoever has it.
 *
 * While a latency program is active on a GPU there are no gangs: programs are placed as under
 * `parts`, and nobody waits. So it is with more than CONSOLIDATE_PROGRAMS_MAX programs.
 */
#include "policy/consolidate_inside.h"
#include "policy/holding.h"
#include "policy/policies.h"
#include "policy/shared.h"
#include "policy/works.h"

/* In turns programs launch no more ahead of the GPU: else much would run in others' turns. */
#define TURN_PACE_US 2000u
#define TURN_US_MIN  1000u

bool cot_consolidate_is_pending(const struct cot_policy *p, const struct parts_deal *d,
				const struct cot_tenant *t, uint64_t *wake_ns)
{
	uint64_t asleep_ns = t->launches.at_ns + CONSOLIDATE_SLEEP_NS;

	if (!parts_is_free_batch(&d->l, t) || !cot_parts_is_active(p, t, wake_ns))
		return false;
	/* The host counts its launches, and has seen none for long. */
	if (!t->launches.at_ns)
		return true;
	if (asleep_ns <= p->now_ns)
		return false;
	policy_earlier(wake_ns, asleep_ns);
	return true;
}

/* ---- gathering ---- */

static bool is_new(const struct cot_tenant *t)
{
	return !consolidate_program(t)->gang;
}

static uint32_t count(const struct cot_policy *p, const struct parts_deal *d, bool new,
		      uint64_t *wake_ns)
{
	const struct cot_tenant *t;
	uint32_t n = 0;

	cot_for_each_tenant (t, p)
		n += cot_consolidate_is_pending(p, d, t, wake_ns) && is_new(t) == new;
	return n;
}

static bool has_moved(const struct parts_deal *d, const struct consolidate_gpu *g)
{
	uint32_t begin, end;

	cot_parts_range(d, &begin, &end);
	return begin != g->begin || end != g->end || d->l.unit != g->unit;
}

static uint32_t limit_w(const struct cot_policy *p, const struct parts_deal *d)
{
	const struct cot_policy_config *c = p->config;

	return c->limit_w ? c->limit_w : c->gpu_limit_w[d->l.gpu];
}

static uint32_t turn_us_of(const struct cot_policy *p, const struct parts_deal *d, uint32_t gang)
{
	const struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (parts_is_free_batch(&d->l, t) && consolidate_program(t)->gang == gang &&
		    consolidate_program(t)->turn_us > TURN_US_MIN)
			return consolidate_program(t)->turn_us;
	return TURN_US_MIN;
}

static void begin_turn(struct cot_policy *p, const struct parts_deal *d, struct consolidate_gpu *g,
		       uint32_t gang)
{
	g->turn = gang;
	g->turn_ns = p->now_ns + turn_us_of(p, d, gang) * COT_NS_PER_US;
}

/* The gang of whoever has waited longest. */
static uint32_t first_turn(const struct cot_policy *p, const struct parts_deal *d)
{
	const struct consolidate_program *own;
	const struct cot_tenant *t;
	uint64_t since_ns = COT_NEVER;
	uint32_t gang = 1;

	cot_for_each_tenant (t, p) {
		own = consolidate_program(t);
		if (!parts_is_free_batch(&d->l, t) || !own->gang || own->part.cpu ||
		    !own->held_ns || own->held_ns >= since_ns)
			continue;
		since_ns = own->held_ns;
		gang = own->gang;
	}
	return gang;
}

static void gather(struct cot_policy *p, const struct parts_deal *d, struct consolidate_gpu *g,
		   uint64_t *wake_ns)
{
	bool any_new = count(p, d, true, wake_ns), moved = has_moved(d, g), waits;
	bool changed = any_new || g->stale || count(p, d, false, wake_ns) != g->n_planned ||
		       g->limit_w != limit_w(p, d);

	if (any_new && !g->gather_ns)
		g->gather_ns = p->now_ns + p->config->gather_ns;
	waits = any_new && p->now_ns < g->gather_ns;
	if (waits)
		policy_earlier(wake_ns, g->gather_ns);
	if (!moved && (waits || !changed))
		return;
	g->limit_w = limit_w(p, d);
	cot_consolidate_plan(p, d, g, !waits);
	if (!waits)
		g->gather_ns = 0;
	g->stale = waits;
	begin_turn(p, d, g, first_turn(p, d));
}

/* ---- turns ---- */

static void place(struct cot_policy *p, const struct parts_deal *d, const struct consolidate_gpu *g,
		  uint64_t *wake_ns)
{
	uint32_t begin, end;
	struct cot_tenant *t;

	cot_parts_range(d, &begin, &end);
	cot_for_each_tenant (t, p) {
		struct consolidate_program *own = consolidate_program(t);
		struct cot_part part = own->part;

		if (!parts_is_free_batch(&d->l, t))
			continue;
		if (is_new(t))
			part = cot_placing_part(&d->l, begin, end);
		part.hold =
			cot_consolidate_is_pending(p, d, t, wake_ns) &&
			(is_new(t) || (g->n_gangs > 1 && own->gang != g->turn && !own->part.cpu));
		part.pace_us = g->n_gangs > 1 ? TURN_PACE_US : 0;
		cot_holding_place(p, t, part, &own->held_ns, wake_ns);
	}
}

/* As far as the host knows: a real one knows of few. */
static bool is_idle(const struct cot_policy *p, const struct parts_deal *d, uint32_t gang)
{
	const struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (parts_is_free_batch(&d->l, t) && consolidate_program(t)->gang == gang &&
		    t->activity != COT_ACTIVITY_IDLE)
			return false;
	return true;
}

static void take_turns(struct cot_policy *p, const struct parts_deal *d, struct consolidate_gpu *g,
		       uint64_t *wake_ns)
{
	uint32_t i;

	if (g->n_gangs < 2)
		return;
	for (i = 0; i < g->n_gangs && (g->turn_ns <= p->now_ns || is_idle(p, d, g->turn)); i++)
		begin_turn(p, d, g, g->turn % g->n_gangs + 1);
	policy_earlier(wake_ns, g->turn_ns);
}

static void retire(struct consolidate_program *own)
{
	own->gang = 0;
	own->held_ns = 0;
}

/* A latency program is at work, or there are too many programs. */
static void forget(struct cot_policy *p, const struct parts_deal *d, struct consolidate_gpu *g)
{
	struct cot_tenant *t;

	*g = (struct consolidate_gpu){0};
	cot_for_each_tenant (t, p)
		if (parts_is_free_batch(&d->l, t))
			retire(consolidate_program(t));
	cot_parts_place_batch(p, d);
}

static uint64_t tick(struct cot_policy *p)
{
	struct consolidate *c = p->state;
	uint64_t wake_ns = COT_NEVER, gpus;

	cot_works_leave_entities(p);
	for (gpus = cot_placing_gpus(p); gpus; gpus &= gpus - 1) {
		uint32_t gpu = (uint32_t)__builtin_ctzll(gpus);
		struct parts_deal d = cot_parts_begin(p, gpu, &wake_ns);

		if (d.crowd.latency_active || p->n_tenants > CONSOLIDATE_PROGRAMS_MAX) {
			forget(p, &d, &c->gpus[gpu]);
			continue;
		}
		gather(p, &d, &c->gpus[gpu], &wake_ns);
		take_turns(p, &d, &c->gpus[gpu], &wake_ns);
		place(p, &d, &c->gpus[gpu], &wake_ns);
	}
	return wake_ns;
}

/* ---- changes ---- */

/* So that hosts count launches. */
static const struct cot_measure_ops measures = {0};

static void tenant_changed(struct cot_policy *p, struct cot_tenant *t, unsigned what)
{
	struct consolidate *c = p->state;
	bool can = consolidate_program(t)->can_cpu != t->can_cpu;
	uint32_t gpu;

	cot_parts_changed(p, t, what);
	if (!can && !(what & ~(unsigned)(COT_CHANGED_ACTIVITY | COT_CHANGED_PARTS)))
		return;
	for (gpu = 0; gpu < COT_POLICY_GPUS_MAX; gpu++)
		c->gpus[gpu].stale = true;
}

const struct cot_policy_ops cot_policy_consolidate = {
	.name = "consolidate",
	.summary = "one pool; batch programs that take less together than apart run together",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.one_pool = true,
	.places = true,
	.predictions = true,
	.state_bytes = sizeof(struct consolidate),
	.tenant_bytes = sizeof(struct consolidate_program),
	.tenant_changed = tenant_changed,
	.measures = &measures,
	.tick = tick,
	.explain = cot_consolidate_explain,
};
