/*
 * Which topology, when a program starts. A program that joins others shares their pool or takes the
 * other one; where a latency program and a batch program are there already, it goes to its like.
 *
 *      what topologies were good for, in earlier runs             first
 *      what one was good for, and a guess of another              a guess that is clearly better
 *                                                                 is tried, once
 *      guesses for all, from the time alone, load and target
 *      a target alone, which is short beside switches             parts
 *      nothing: pools. Their p99 depends least on what the others do: the hardware preempts.
 *
 * Those that take turns (pools, solo, rotate) differ little, so first the best of them is found:
 *
 *      pools ---- missed the target, or kept it with batch programs in breaths ----> solo, once
 *      solo  ---- missed it ----> rotate, once
 */
#include "policy/slo.h"

/* So much better a guess must be than a safer guess, and than what is known. Guesses are often
 * wrong by a fifth. */
#define CLEARLY_PERMILLE 1250u
#define LITTLE_PERMILLE	 250u
/* A p99 is never the same again. */
#define MISSED 1100u
#define FAR    1500u
/* Requests with so short a target, of which nothing else is known, are not made to pay for
 * switches: many of them would keep the GPU busy with nothing else. On an H200 2 700 requests of
 * 0.11 ms a second had a p99 of 0.3 s in pools, and of 0.4 ms on parts
 * (results/h200/2026-11-23/laius). */
#define SHORT_US 1050u

static uint32_t least(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

uint32_t cot_slo_target_us(const struct cot_tenant *t, uint32_t alone_p99_us)
{
	if (t->target.kind == COT_TARGET_P99)
		return t->target.amount;
	if (t->target.kind == COT_TARGET_SLOWDOWN)
		return least((uint64_t)alone_p99_us * t->target.amount / 1000, UINT32_MAX);
	return 0;
}

/* ---- who is there ---- */

static void add(const struct cot_policy *p, struct slo_need *need, const struct cot_tenant *t)
{
	const struct cot_lesson *l;
	struct slo_known known = {0};

	if (t->own)
		known = (struct slo_known){slo_of(t)->alone_p99_us, slo_of(t)->alone_p50_us,
					   slo_of(t)->load, slo_of(t)->launch_us};
	else if ((l = cot_lesson_find(p, t->key, SLO_LESSON_ALONE)) != NULL)
		known = (struct slo_known){l->value[0], l->value[1], l->value[2], l->value[3]};
	cot_slo_need_add(need, cot_slo_target_us(t, known.alone_p99_us), &known);
}

struct slo_need cot_slo_home_need(const struct cot_policy *p, uint32_t gpu,
				  const struct cot_tenant *with)
{
	struct slo_need need = {0};
	const struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (t->cls == COT_CLASS_LATENCY && (t->gpu_mask >> gpu & 1))
			add(p, &need, t);
	if (with && with->cls == COT_CLASS_LATENCY)
		add(p, &need, with);
	return need;
}

/* ---- what earlier runs found ---- */

/* What was learned counts if they want the same and do about as much. */
static bool is_same(uint32_t target_us, uint32_t load, const struct slo_need *need)
{
	if (!need->strict_us || target_us > need->strict_us + need->strict_us / 10 ||
	    need->strict_us > target_us + target_us / 10)
		return false;
	return !need->known || (load <= 2ull * need->load && 2ull * load >= need->load);
}

static bool learned_of(const struct cot_policy *p, const struct cot_tenant *a,
		       const struct cot_tenant *b, uint32_t gpu, enum slo_topology topology,
		       const struct slo_need *need, struct slo_result *ret_result)
{
	return a->cls != b->cls && (b->gpu_mask >> gpu & 1) &&
	       cot_slo_learned(p, a->key, b->key, topology, ret_result) &&
	       is_same(ret_result->target_us, ret_result->load, need);
}

bool cot_slo_home_learned(const struct cot_policy *p, uint32_t gpu, const struct cot_tenant *with,
			  enum slo_topology topology, const struct slo_need *need,
			  struct slo_result *ret_result)
{
	const struct cot_tenant *a, *b;

	cot_for_each_tenant (a, p) {
		if (!(a->gpu_mask >> gpu & 1))
			continue;
		if (with && learned_of(p, a, with, gpu, topology, need, ret_result))
			return true;
		for (b = with ? NULL : a->next; b; b = b->next)
			if (learned_of(p, a, b, gpu, topology, need, ret_result))
				return true;
	}
	return false;
}

bool cot_slo_home_learned_of_like(const struct cot_policy *p, uint32_t gpu,
				  enum slo_topology topology, const struct slo_need *need,
				  struct slo_result *ret_result)
{
	uint32_t i;

	if (cot_slo_home_learned(p, gpu, NULL, topology, need, ret_result))
		return true;
	for (i = SLO_POOLS; i < SLO_N_TOPOLOGIES && slo_in_turns(topology); i++)
		if (slo_in_turns(i) && cot_slo_home_learned(p, gpu, NULL, i, need, ret_result))
			return true;
	return false;
}

/* Not even where little is given to batch programs it kept the target. A miss further up says that
 * a step was one too many. */
static bool missed(const struct slo_result *r, enum slo_topology topology)
{
	return r->use > MISSED && r->rung <= (slo_in_turns(topology) ? SLO_USUAL : 1);
}

/* `permille`: so much more for batch programs is better. */
static bool is_better(const struct slo_guess *a, const struct slo_guess *than, uint32_t permille)
{
	if (a->keeps != than->keeps)
		return a->keeps;
	return (uint64_t)a->rate * 1000 > (uint64_t)than->rate * permille;
}

/* Bad: it did not keep the target, or batch programs had next to nothing. Tight: it kept it with
 * batch programs in breaths. */
enum past { PAST_UNKNOWN, PAST_HOPELESS, PAST_BAD, PAST_TIGHT, PAST_GOOD };

struct known {
	enum past past;
	struct slo_guess result;
};

/* All that counts for a choice. */
struct view {
	struct slo_need need;
	enum slo_topology now; /* ALONE: no latency and batch programs are together */
	uint32_t among;
	struct known of[SLO_N_TOPOLOGIES];
};

static bool may_be(const struct view *v, enum slo_topology topology)
{
	return v->among >> topology & 1;
}

static struct known known_of(const struct slo_result *r, enum slo_topology topology)
{
	struct known k = {PAST_GOOD, {.keeps = !missed(r, topology), .rate = r->rate}};
	bool turns = slo_in_turns(topology);

	if (r->use > FAR || (turns && cot_slo_breath_permille(r->rung) < LITTLE_PERMILLE))
		k.past = PAST_HOPELESS;
	else if (!k.result.keeps || (r->rate && r->rate < LITTLE_PERMILLE))
		k.past = PAST_BAD;
	else if (turns && r->rung < SLO_USUAL)
		k.past = PAST_TIGHT;
	return k;
}

/* Where none of those that take turns and are possible was run, another that takes turns tells. */
static void borrow(struct view *v)
{
	const struct known *other = NULL;
	uint32_t i;

	for (i = SLO_POOLS; i < SLO_N_TOPOLOGIES; i++) {
		if (!slo_in_turns(i) || !v->of[i].past)
			continue;
		if (may_be(v, i))
			return;
		other = &v->of[i];
	}
	for (i = SLO_POOLS; other && i < SLO_N_TOPOLOGIES; i++)
		if (slo_in_turns(i) && may_be(v, i))
			v->of[i] = *other;
}

static struct view look(const struct cot_policy *p, uint32_t gpu, const struct cot_tenant *with,
			uint32_t among)
{
	struct view v = {.need = cot_slo_home_need(p, gpu, with),
			 .now = slo_state(p)->gpus[gpu].climb.ladder.topology,
			 .among = among};
	struct slo_result r;
	uint32_t i;

	for (i = SLO_POOLS; i < SLO_N_TOPOLOGIES; i++)
		if (cot_slo_home_learned(p, gpu, with, i, &v.need, &r))
			v.of[i] = known_of(&r, i);
	borrow(&v);
	return v;
}

/* ---- the best of those that take turns ---- */

static bool is_untried(const struct view *v, enum slo_topology topology)
{
	return may_be(v, topology) && !v->of[topology].past;
}

/* Of those that are known; ALONE: none is. */
static enum slo_topology known_turns(const struct view *v)
{
	enum slo_topology best = SLO_ALONE;
	uint32_t i;

	for (i = SLO_POOLS; i < SLO_N_TOPOLOGIES; i++)
		if (slo_in_turns(i) && may_be(v, i) && v->of[i].past &&
		    (!best || is_better(&v->of[i].result, &v->of[best].result, 1000)))
			best = i;
	return best;
}

/* Nothing is known of any. They stay as they are, unless that is guessed to miss the target. */
static enum slo_topology guessed_turns(const struct view *v)
{
	bool pools = may_be(v, SLO_POOLS);
	enum slo_topology first = pools ? SLO_POOLS : may_be(v, SLO_SOLO) ? SLO_SOLO : SLO_ROTATE;

	if (slo_in_turns(v->now) && may_be(v, v->now))
		first = v->now;
	if (first == SLO_POOLS && may_be(v, SLO_SOLO) && v->need.known &&
	    !cot_slo_guess(SLO_POOLS, &v->need).keeps && cot_slo_guess(SLO_SOLO, &v->need).keeps)
		return SLO_SOLO;
	return first;
}

/*
 * What MPS costs requests they are spared outside, where there is one latency program: worth a run
 * wherever batch programs paid for it. Several take turns with each other outside.
 */
static enum slo_topology best_turns(const struct view *v, enum slo_topology known)
{
	bool one = v->need.n == 1;

	if (!known)
		return guessed_turns(v);
	if (v->of[known].past == PAST_GOOD)
		return known;
	if (known == SLO_POOLS)
		return one && is_untried(v, SLO_SOLO) ? SLO_SOLO : known;
	if (v->of[known].past == PAST_TIGHT)
		return known;
	if (!one && is_untried(v, SLO_POOLS))
		return SLO_POOLS;
	return one && known == SLO_SOLO && is_untried(v, SLO_ROTATE) ? SLO_ROTATE : known;
}

/* ---- beside parts ---- */

/* The other topology is worth a run if the guess is that it keeps the target; where all is lost in
 * the one that is known, if it could. What was good is not given up for a guess, unless it is known
 * that requests need few SMs. */
static bool is_worth_a_run(const struct view *v, enum slo_topology topology,
			   const struct known *known)
{
	struct slo_guess other;

	if (!v->need.known)
		return false;
	other = cot_slo_guess(topology, &v->need);
	if (known->past >= PAST_TIGHT)
		return topology == SLO_PARTS && cot_slo_need_is_small(&v->need) &&
		       is_better(&other, &known->result, 1000);
	if (known->past == PAST_HOPELESS && topology == SLO_PARTS &&
	    cot_slo_need_may_share(&v->need))
		return true;
	return other.keeps;
}

static enum slo_topology guessed(const struct view *v, enum slo_topology turns)
{
	const struct slo_need *need = &v->need;
	struct slo_guess apart, side;

	if (!need->known)
		return need->strict_us && need->strict_us < SHORT_US ? SLO_PARTS : SLO_ALONE;
	apart = cot_slo_guess(turns, need);
	side = cot_slo_guess(SLO_PARTS, need);
	/* The target is strict. Where turns leave batch programs little, parts leave them more. */
	if (!side.keeps && !apart.keeps)
		return apart.rate < LITTLE_PERMILLE ? SLO_PARTS : turns;
	return is_better(&side, &apart, cot_slo_need_is_small(need) ? 1000 : CLEARLY_PERMILLE)
		       ? SLO_PARTS
		       : turns;
}

static enum slo_topology best(const struct view *v)
{
	enum slo_topology known = known_turns(v), turns = best_turns(v, known);
	const struct known *apart = &v->of[known], *side = &v->of[SLO_PARTS];

	if (!may_be(v, SLO_PARTS))
		return turns;
	if (known && side->past) {
		if (turns != known && !side->result.keeps && !apart->result.keeps)
			return turns;
		return is_better(&side->result, &apart->result, 1000) ? SLO_PARTS : turns;
	}
	if (known)
		return is_worth_a_run(v, SLO_PARTS, apart) ? SLO_PARTS : turns;
	if (side->past)
		return is_worth_a_run(v, turns, side) ? turns : SLO_PARTS;
	return guessed(v, turns);
}

enum slo_topology cot_slo_home_best(const struct cot_policy *p, uint32_t gpu,
				    const struct cot_tenant *with, uint32_t among)
{
	struct view v = look(p, gpu, with, among);

	return best(&v);
}

/* ---- where it goes ---- */

/* Its pool's entity is not up before the first program in it has begun: several that start at the
 * same time come before that. */
static enum cot_home home_of(const struct cot_tenant *t)
{
	return t->pool_cls == COT_CLASS_LATENCY ? COT_HOME_LATENCY : COT_HOME_BATCH;
}

/* The first program of the class on the GPU; one in a pool, if any is. */
static const struct cot_tenant *first_of(const struct cot_policy *p, uint32_t gpu,
					 enum cot_class cls)
{
	const struct cot_tenant *t, *alone = NULL;

	cot_for_each_tenant (t, p) {
		if (t->cls != cls || !(t->gpu_mask >> gpu & 1))
			continue;
		if (t->pool)
			return t;
		if (!alone)
			alone = t;
	}
	return alone;
}

/* Nobody is there, so no pair is known; what served it best in earlier runs is. */
static enum slo_topology first_topology(const struct cot_policy *p, uint32_t gpu,
					const struct cot_tenant *t)
{
	const struct cot_lesson *l = cot_lesson_find(p, t->key, SLO_LESSON_HOME);
	struct view v = look(p, gpu, t, SLO_ANY);

	if (l && l->value[0] < SLO_N_TOPOLOGIES && is_same(l->value[1], l->value[2], &v.need))
		return l->value[0];
	v.now = SLO_ALONE;
	return best(&v);
}

static enum cot_home of_latency(const struct cot_policy *p, uint32_t gpu,
				const struct cot_tenant *t, const struct cot_tenant *batch)
{
	enum slo_topology topology;

	if (!batch)
		topology = first_topology(p, gpu, t);
	else if (!batch->pool)
		topology = cot_slo_home_best(p, gpu, t, 1u << SLO_POOLS | 1u << SLO_ROTATE);
	else
		topology = cot_slo_home_best(p, gpu, t,
					     1u << SLO_POOLS | 1u << SLO_PARTS | 1u << SLO_SOLO);
	if (topology == SLO_SOLO || topology == SLO_ROTATE)
		return COT_HOME_ALONE;
	return topology == SLO_PARTS && batch ? home_of(batch) : COT_HOME_CLASS;
}

static enum cot_home of_batch(const struct cot_policy *p, uint32_t gpu, const struct cot_tenant *t,
			      const struct cot_tenant *latency)
{
	enum slo_topology topology =
		cot_slo_home_best(p, gpu, t,
				  latency->pool ? 1u << SLO_POOLS | 1u << SLO_PARTS
						: 1u << SLO_SOLO | 1u << SLO_ROTATE);

	if (topology == SLO_ROTATE)
		return COT_HOME_ALONE;
	return topology == SLO_PARTS && latency->pool ? home_of(latency) : COT_HOME_CLASS;
}

enum cot_home cot_slo_home(const struct cot_policy *p, const struct cot_tenant *t)
{
	uint32_t gpu = (uint32_t)__builtin_ctzll(t->gpu_mask);
	bool serves = t->cls == COT_CLASS_LATENCY;
	const struct cot_tenant *like = first_of(p, gpu, t->cls), *other;

	other = first_of(p, gpu, serves ? COT_CLASS_BATCH : COT_CLASS_LATENCY);
	if (like && like->pool && (other || serves))
		return home_of(like);
	if (serves)
		return of_latency(p, gpu, t, other);
	return other ? of_batch(p, gpu, t, other) : COT_HOME_CLASS;
}
