/*
 * SMQoS (Sun et al., "SMQoS: Improving Utilization and Energy Efficiency with QoS Awareness on
 * GPUs") over parts, live: a program with a rate target keeps its share of the rate that it has
 * alone, in launches a second. Each program has units of SMs of its own:
 *
 *      SM 0                                                     the last
 *      | a program | another one |  nobody's  | with a target | with a target |
 *
 * At the end of an epoch a program that misses its target gets a unit, one of nobody's or another
 * program's without a target; one that can spare a unit gives it away (Algorithm 1). Programs
 * without a target look for the number of units past which more do not pay (Algorithm 2); what they
 * have no use for stays nobody's.
 *
 * The paper knows the rate alone. Here it is measured: for some seconds all others are on the first
 * unit together. An epoch is a program's own, and begins when its part has settled.
 *
 * Programs that launch nothing own nothing. While none with a target is at work, nothing is dealt
 * out.
 */
#include "policy/policies.h"
#include "policy/shared.h"
#include "policy/smqos_inside.h"
#include "policy/works.h"

/* Counts of launches come once a second, all within this time. */
#define ROUND_NS (100 * COT_NS_PER_MS)
/* A quiet time takes no longer. */
#define QUIET_NS (20 * COT_NS_PER_S)

struct smqos {
	uint64_t round_ns; /* when epochs end next; 0: nothing was counted since they did */
};

/* ---- the rate alone ---- */

static bool wants_quiet(const struct smqos_deal *d, const struct cot_tenant *t)
{
	const struct smqos_program *own = smqos_program(t);

	return smqos_has_goal(t) && own->n && d->n_awake > 1 && d->n_units > 1 &&
	       (!(own->alone > 0) || own->quiet == SMQOS_QUIET_DUE);
}

/* Whether its quiet time goes on. */
static bool is_quiet(struct smqos_deal *d, const struct cot_tenant *t)
{
	struct smqos_program *own = smqos_program(t);

	if (own->quiet != SMQOS_QUIET_NOW)
		return false;
	own->quiet = SMQOS_QUIET_DUE;
	if (!wants_quiet(d, t))
		return false;
	if (own->again_ns <= d->p->now_ns) {
		cot_smqos_put_off(d, own);
		return false;
	}
	own->quiet = SMQOS_QUIET_NOW;
	return true;
}

static void begin_quiet(struct smqos_deal *d, struct cot_tenant *t)
{
	struct smqos_program *own = smqos_program(t);

	own->quiet = SMQOS_QUIET_NOW;
	own->again_ns = d->p->now_ns + QUIET_NS;
	own->settled_ns = d->p->now_ns;
	own->epoch = (struct smqos_count){0};
	d->quiet = t;
}

/* One after the other. */
static void find_quiet(struct smqos_deal *d)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, d->p)
		if (smqos_is_dealt(d, t) && is_quiet(d, t))
			d->quiet = t;
	cot_for_each_tenant (t, d->p)
		if (!d->quiet && smqos_is_dealt(d, t) && wants_quiet(d, t) &&
		    smqos_program(t)->again_ns <= d->p->now_ns)
			begin_quiet(d, t);
}

/* ---- parts ---- */

static uint32_t cut(const struct smqos_deal *d, uint32_t unit)
{
	return unit < d->n_units ? d->l.bottom + unit * d->l.unit : d->l.top;
}

static void put(struct smqos_deal *d, struct cot_tenant *t, uint32_t begin, uint32_t end)
{
	struct cot_part part = cot_placing_part(&d->l, cut(d, begin), cut(d, end));
	bool same = part.n == t->part.n; /* as many SMs, maybe others */
	bool disturbed = d->quiet && d->quiet != t;
	struct smqos_program *own = smqos_program(t);

	if (!same)
		own->settled_ns = COT_NEVER;
	else if (disturbed || own->settled_ns == COT_NEVER)
		own->settled_ns = d->p->now_ns;
	if (!same || disturbed)
		own->epoch = (struct smqos_count){0};
	(void)placing_place(d->p, t, part);
}

static void put_all(struct smqos_deal *d)
{
	uint32_t low = 0, high = d->n_units;
	struct cot_tenant *t;

	cot_for_each_tenant (t, d->p) {
		uint32_t n = smqos_program(t)->n;

		if (!smqos_is_dealt(d, t))
			continue;
		if (n && d->n_awake == 1) {
			put(d, t, 0, d->n_units);
		} else if (t == d->quiet) {
			put(d, t, 1, d->n_units);
		} else if (!n || d->quiet) {
			put(d, t, 0, 1);
		} else if (smqos_has_goal(t)) {
			put(d, t, high - n, high);
			high -= n;
		} else {
			put(d, t, low, low + n);
			low += n;
		}
	}
}

static void forget(struct smqos_deal *d)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, d->p)
		if (smqos_is_dealt(d, t))
			smqos_program(t)->n = 0;
	cot_placing_others(d->p, &d->l);
}

/* ---- callbacks ---- */

static struct smqos_deal look(struct cot_policy *p, uint32_t gpu, uint64_t *wake_ns)
{
	struct smqos_deal d = {.p = p, .l = cot_placing_begin(p, gpu)};
	struct cot_tenant *t;

	cot_placing_asked(p, &d.l);
	d.n_units = cot_placing_pieces(&d.l, d.l.bottom, d.l.top);
	cot_for_each_tenant (t, p) {
		if (!smqos_is_dealt(&d, t) || !smqos_is_awake(p, t))
			continue;
		d.n_awake++;
		d.weight += t->weight;
		d.any_goal |= smqos_has_goal(t);
		policy_earlier(wake_ns, t->launches.at_ns + SMQOS_SLEEP_NS);
	}
	return d;
}

static void deal(struct cot_policy *p, uint32_t gpu, bool is_round, uint64_t *wake_ns)
{
	struct smqos_deal d = look(p, gpu, wake_ns);

	if (!d.any_goal || !d.n_units || !(is_round || cot_smqos_owned(&d))) {
		forget(&d);
		return;
	}
	cot_smqos_fit(&d);
	if (is_round)
		cot_smqos_admit(&d);
	find_quiet(&d);
	if (is_round)
		cot_smqos_end_epochs(&d);
	put_all(&d);
	if (d.quiet)
		policy_earlier(wake_ns, smqos_program(d.quiet)->again_ns);
}

static uint64_t tick(struct cot_policy *p)
{
	struct smqos *smqos = p->state;
	bool is_round = smqos->round_ns && smqos->round_ns <= p->now_ns;
	uint64_t wake_ns = COT_NEVER, gpus;

	cot_works_leave_entities(p);
	for (gpus = cot_placing_gpus(p); gpus; gpus &= gpus - 1)
		deal(p, (uint32_t)__builtin_ctzll(gpus), is_round, &wake_ns);
	if (is_round)
		smqos->round_ns = 0;
	if (smqos->round_ns)
		policy_earlier(&wake_ns, smqos->round_ns);
	return wake_ns;
}

static void progress(struct cot_policy *p, struct cot_tenant *t)
{
	struct smqos *smqos = p->state;

	if (!smqos->round_ns)
		smqos->round_ns = p->now_ns + ROUND_NS;
	cot_smqos_count(p, t);
}

/* What was kept of another promise does not count. */
static void tenant_changed(struct cot_policy *p, struct cot_tenant *t, unsigned what)
{
	(void)p;
	if (!(what & COT_CHANGED_TARGET))
		return;
	smqos_program(t)->all = (struct smqos_count){0};
	smqos_program(t)->task = (struct cot_smqos_task){.opt = smqos_program(t)->n};
}

static const struct cot_measure_ops measures = {.progress = progress};

const struct cot_policy_ops cot_policy_smqos = {
	.name = "smqos",
	.summary = "one pool; SMs moved by units to keep promised rates, the rest for the others",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.one_pool = true,
	.places = true,
	.measures = &measures,
	.state_bytes = sizeof(struct smqos),
	.tenant_bytes = sizeof(struct smqos_program),
	.tenant_changed = tenant_changed,
	.tick = tick,
	.explain = cot_smqos_explain,
};
