/* What counts of launches say, and who wants more units for it. */
#include "policy/smqos_inside.h"

/* A program may launch 100 ms ahead of the GPU: for so long a new part does nothing. */
#define SETTLE_NS (100 * COT_NS_PER_MS)
/* An epoch has two counts of a second, and so many launches that one more or less is no gain; but
 * it does not last for ever. */
#define COUNT_S	       1.0f
#define EPOCH_S	       1.5f
#define EPOCH_S_MAX    8.0f
#define EPOCH_LAUNCHES 64.0f
/* What was longer ago counts less and less for the mean. */
#define MEMORY_S 120.0f
/* The second quiet time comes 20 s after the first, then 40, and so on up to 640. */
#define AGAIN_NS  (10 * COT_NS_PER_S)
#define AGAIN_MAX 6
/* value[0]: its rate alone, in launches in 1000 s; [1]: on a GPU of so many SMs; [2]: with so many
 * of them it kept its target. */
#define KIND_ALONE 0x736d7101u

static double rate_of(const struct smqos_count *c)
{
	return c->s > 0 ? (double)c->n / (double)c->s : 0;
}

static double target_of(const struct cot_tenant *t)
{
	return (double)smqos_program(t)->alone * t->target.amount / 1000;
}

bool cot_smqos_is_kept(const struct cot_tenant *t)
{
	return rate_of(&smqos_program(t)->all) >= target_of(t);
}

double cot_smqos_share(const struct cot_tenant *t)
{
	double s = (double)t->launches.span_ns / COT_NS_PER_S,
	       alone = (double)smqos_program(t)->alone;

	return s > 0 && alone > 0 ? (double)t->launches.n / s / alone : 0;
}

static void add(struct smqos_count *c, const struct cot_launches *l)
{
	c->n += (float)l->n;
	c->s += (float)l->span_ns / (float)COT_NS_PER_S;
}

void cot_smqos_count(struct cot_policy *p, struct cot_tenant *t)
{
	const struct cot_launches *l = &t->launches;
	struct smqos_program *own = smqos_program(t);

	/* That it does nothing does not say how it would get on. */
	if (!l->n)
		return;
	add(&own->all, l);
	if (own->all.s > MEMORY_S)
		own->all = (struct smqos_count){own->all.n / 2, own->all.s / 2};
	if (own->settled_ns != COT_NEVER && own->settled_ns + SETTLE_NS + l->span_ns <= p->now_ns)
		add(&own->epoch, l);
}

static bool is_over(const struct smqos_count *epoch)
{
	return epoch->s >= EPOCH_S && (epoch->n >= EPOCH_LAUNCHES || epoch->s >= EPOCH_S_MAX);
}

/* ---- the rate alone ---- */

void cot_smqos_put_off(struct smqos_deal *d, struct smqos_program *own)
{
	if (own->n_quiet < AGAIN_MAX)
		own->n_quiet++;
	own->again_ns = d->p->now_ns + (AGAIN_NS << own->n_quiet);
}

/* Its target is kept with n units. */
static void learn(struct smqos_deal *d, const struct cot_tenant *t, uint32_t n)
{
	double alone = (double)smqos_program(t)->alone * 1000;
	struct cot_lesson l = {.key = t->key, .kind = KIND_ALONE};

	if (!t->key || !(alone < UINT32_MAX))
		return;
	l.value[0] = (uint32_t)alone;
	l.value[1] = d->l.n_sms;
	l.value[2] = n * d->l.unit;
	(void)cot_learn(d->p, &l);
}

uint32_t cot_smqos_recall(const struct smqos_deal *d, struct cot_tenant *t)
{
	const struct cot_lesson *l = cot_lesson_find(d->p, t->key, KIND_ALONE);
	struct smqos_program *own = smqos_program(t);

	if (!smqos_has_goal(t) || !l || !l->value[0] || l->value[1] != d->l.n_sms)
		return 0;
	if (!(own->alone > 0))
		own->alone = (float)l->value[0] / 1000;
	return l->value[2] / d->l.unit;
}

/* With how many SMs it keeps its target is not known by that. */
static void learn_alone(struct smqos_deal *d, const struct cot_tenant *t)
{
	const struct cot_lesson *l = cot_lesson_find(d->p, t->key, KIND_ALONE);
	double before = l && l->value[1] == d->l.n_sms ? l->value[0] / 1000.0 : 0;
	double change = (double)smqos_program(t)->alone - before;

	if (change > before * COT_SMQOS_THRESHOLD || -change > before * COT_SMQOS_THRESHOLD)
		learn(d, t, before > 0 ? l->value[2] / d->l.unit : 0);
}

static void keep_alone(struct smqos_deal *d, struct cot_tenant *t)
{
	struct smqos_program *own = smqos_program(t);

	own->alone = (float)rate_of(&own->epoch);
	own->all = own->epoch = (struct smqos_count){0};
	if (own->quiet == SMQOS_QUIET_NOW)
		cot_smqos_put_off(d, own);
	learn_alone(d, t);
	own->quiet = SMQOS_QUIET_NONE;
	d->quiet = NULL;
}

/* ---- the algorithms ---- */

/* Of what it had beyond its target no more counts than lets it give a unit away now (an epoch's
 * worth, and a quarter): for an hour alone it does not get too little in the next minutes. */
static void limit_credit(struct smqos_count *all, double target, float epoch_s)
{
	float most = (float)target * (all->s + 1.25f * epoch_s);

	if (all->n > most)
		all->n = most;
}

/*
 * Algorithm 1. A program that has all that it can have and misses its target, or gets on faster
 * than it did alone, is no longer what it was: its rate alone is measured anew. Returns whether it
 * does without another unit.
 */
static bool keep_goal(struct smqos_deal *d, struct cot_tenant *t)
{
	struct smqos_program *own = smqos_program(t);
	double rate = rate_of(&own->epoch), target = target_of(t);
	float next_s = own->epoch.s + COUNT_S; /* its part may have to settle */

	if (rate > (double)own->alone * (1 + COT_SMQOS_THRESHOLD))
		own->quiet = SMQOS_QUIET_DUE;
	limit_credit(&own->all, target, next_s);
	switch (cot_smqos_goal_wants(rate_of(&own->all), rate, target,
				     (uint64_t)(own->all.s / next_s))) {
	case COT_SMQOS_IN:
		if (cot_smqos_gain(d, t, cot_smqos_victim(d, false, 1)))
			learn(d, t, own->n);
		else
			own->quiet = SMQOS_QUIET_DUE;
		return false;
	case COT_SMQOS_OUT:
		learn(d, t, own->n);
		own->n -= own->n > 1;
		return true;
	default:
		return true;
	}
}

/* Algorithm 2. */
static void search(struct smqos_deal *d, struct cot_tenant *t)
{
	struct smqos_program *own = smqos_program(t);
	enum cot_smqos_op want = cot_smqos_batch_wants(&own->task, own->n);
	bool back = want == COT_SMQOS_IN && own->n < own->task.opt, done = false;

	if (want == COT_SMQOS_IN) {
		done = cot_smqos_gain(d, t, NULL);
	} else if (want == COT_SMQOS_OUT && own->n > 1) {
		own->n--;
		done = true;
	}
	if (!done)
		return;
	/* A way back to the best number known is no question to be answered. */
	own->task.last = back ? COT_SMQOS_NONE : want;
	own->task.rate_last = rate_of(&own->epoch);
}

static bool is_at_end(const struct smqos_deal *d, const struct cot_tenant *t)
{
	return smqos_is_dealt(d, t) && smqos_program(t)->n && is_over(&smqos_program(t)->epoch);
}

/* What the epochs that are over say. */
static void collect(struct smqos_deal *d)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, d->p) {
		struct smqos_program *own = smqos_program(t);

		if (!is_at_end(d, t))
			continue;
		if (!smqos_has_goal(t))
			cot_smqos_judge(&own->task, own->n, rate_of(&own->epoch),
					COT_SMQOS_THRESHOLD);
		else if (d->n_awake == 1 || d->quiet == t)
			keep_alone(d, t);
	}
}

/* Whether all of them do without another unit. */
static bool keep_goals(struct smqos_deal *d)
{
	struct cot_tenant *t;
	bool all = true;

	cot_for_each_tenant (t, d->p)
		if (is_at_end(d, t) && smqos_has_goal(t) && smqos_program(t)->alone > 0)
			all &= keep_goal(d, t);
	return all;
}

/* Whether `a` has a unit of nobody's before `b`: the one farther below its best number, then one
 * that does not know yet whether more pay, then the one with less by its weight. */
static bool is_before(const struct cot_tenant *a, const struct cot_tenant *b)
{
	const struct smqos_program *pa = smqos_program(a), *pb = smqos_program(b);

	if (smqos_spare(a) != smqos_spare(b))
		return smqos_spare(a) < smqos_spare(b);
	if (pa->task.upper != pb->task.upper)
		return pb->task.upper;
	return (uint64_t)pa->n * b->weight < (uint64_t)pb->n * a->weight;
}

static struct cot_tenant *next_to_search(const struct smqos_deal *d)
{
	struct cot_tenant *t, *best = NULL;

	cot_for_each_tenant (t, d->p)
		if (is_at_end(d, t) && !smqos_has_goal(t) && (!best || is_before(t, best)))
			best = t;
	return best;
}

static void search_all(struct smqos_deal *d)
{
	struct cot_tenant *t;

	while ((t = next_to_search(d)) != NULL) {
		search(d, t);
		smqos_program(t)->epoch = (struct smqos_count){0};
	}
}

void cot_smqos_end_epochs(struct smqos_deal *d)
{
	struct cot_tenant *t;

	collect(d);
	if (!d->quiet && keep_goals(d))
		search_all(d);
	cot_for_each_tenant (t, d->p)
		if (is_at_end(d, t))
			smqos_program(t)->epoch = (struct smqos_count){0};
}
