/*
 * Which topology, when a program starts. A program that joins others shares their pool or takes the
 * other one; where a latency program and a batch program are there already, it goes to its like.
 *
 *      what both topologies were good for, in earlier runs        first
 *      what one was good for, and a guess of the other            a guess that is clearly better
 *                                                                 is tried, once
 *      guesses for both, from the time alone, load and target
 *      a target alone, which is short beside switches             parts
 *      nothing: pools. Their p99 depends least on what the others do: the hardware preempts.
 */
#include "policy/slo.h"

/* So much better a guess must be than a safer guess, and than what is known. Guesses are often
 * wrong by a fifth. */
#define CLEARLY_PERMILLE 1250u
#define LITTLE_PERMILLE	 250u
/* A p99 is never the same again. */
#define MISSED 1100u
#define FAR    1500u
/* A request beside a pool waits for a switch, the rest of a slice, and the clock; batch programs
 * lose two switches: measured on an H200 (docs/live.md). The GPU is busy so much longer with each
 * request, and those that come meanwhile wait for that, too. */
#define POOLS_WAIT_US  350u
#define POOLS_QUEUE_US 500u
/* Requests with so short a target, of which nothing else is known, are not made to pay for
 * switches: many of them would keep the GPU busy with nothing else. On an H200 2 700 requests of
 * 0.11 ms a second had a p99 of 0.3 s in pools, and of 0.4 ms on parts
 * (results/h200/2026-11-23/laius). */
#define POOLS_SHORT_US (3 * POOLS_WAIT_US)

static uint32_t least(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

static uint32_t worst(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

uint32_t cot_slo_target_us(const struct cot_tenant *t, uint32_t alone_p99_us)
{
	if (t->target.kind == COT_TARGET_P99)
		return t->target.amount;
	if (t->target.kind == COT_TARGET_SLOWDOWN)
		return least((uint64_t)alone_p99_us * t->target.amount / 1000, UINT32_MAX);
	return 0;
}

/* ---- guesses ---- */

void cot_slo_need_add(struct slo_need *need, uint32_t target_us, const struct slo_known *k)
{
	bool known = target_us && k->alone_p99_us && k->load;

	need->known = known && (need->known || !need->n);
	need->launch_us = k->launch_us && (need->launch_us || !need->n)
				  ? worst(need->launch_us, k->launch_us)
				  : 0;
	need->n++;
	if (target_us && (!need->strict_us || target_us < need->strict_us))
		need->strict_us = target_us;
	if (!known)
		return;
	if (!need->target_us || (uint64_t)target_us * need->alone_p99_us <
					(uint64_t)need->target_us * k->alone_p99_us) {
		need->target_us = target_us;
		need->alone_p99_us = k->alone_p99_us;
	}
	/* 10 s are 10^7 us, and 1000 thousandths. */
	need->busy = least(need->busy + (uint64_t)k->load * k->alone_p50_us / 10000, 1000);
	need->load = least((uint64_t)need->load + k->load, UINT32_MAX);
}

/* What the p99 is, in 1/1000 of that alone, and what a batch program keeps: on 8, 32, 64, 96 and
 * 112 of 132 SMs (in 1/1000), measured on an H200 (results/h200/2026-11-23/parts-2). */
static const struct {
	uint32_t p99, rate, permille;
} parts[] = {
	{1270, 90, 61}, {1360, 330, 242}, {1450, 640, 485}, {1860, 820, 727}, {3140, 900, 848},
};

/*
 * Requests that launch kernel after kernel, as decoders do: each waits for the program, not for
 * SMs. On an H200 the p99 of one with a launch in 33 us was 0.92 to 1.13 times that alone, whatever
 * SMs it had (results/h200/2026-11-23/targets-3). A network in a graph has one launch in a request.
 * The bound is our choice, after that was seen.
 */
#define SMALL_US   60u
#define SMALL_P99  1130u
#define SMALL_RATE 900u
#define SMALL_SMS  500u

static bool is_small(const struct slo_need *need)
{
	return need->launch_us && need->launch_us <= SMALL_US;
}

/* Time in a queue goes with 1 / (1 - busy). */
static bool keeps_in_queue(const struct slo_need *need, uint64_t p99_us, uint64_t busy)
{
	return need->busy < 1000 && busy < 1000 &&
	       need->target_us * (1000 - busy) >= p99_us * (1000 - need->busy);
}

/* Requests that take longer keep the GPU busy for longer, too. A wrong guess costs a run, so some
 * of the time to spare is left. */
static bool keeps_on_parts(const struct slo_need *need, uint32_t longer)
{
	return keeps_in_queue(need, (uint64_t)need->alone_p99_us * longer / 800,
			      (uint64_t)need->busy * longer / 1000);
}

static struct slo_guess guess_parts(const struct slo_need *need)
{
	struct slo_guess g = {0};
	uint32_t i;

	if (is_small(need))
		return (struct slo_guess){
			.keeps = need->target_us * 1000ull >=
				 (uint64_t)need->alone_p99_us * SMALL_P99,
			.rate = SMALL_RATE,
			.permille = SMALL_SMS,
		};
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]) && keeps_on_parts(need, parts[i].p99); i++)
		g = (struct slo_guess){true, parts[i].rate, parts[i].permille};
	return g;
}

/* With equal slices, whose p99 is 3.9 times that alone, there are far fewer switches: a twentieth
 * of the time, our guess. */
#define SLICES_P99  3900u
#define SLICES_COST 50u

static bool keeps_in_pools(const struct slo_need *need)
{
	return keeps_in_queue(need, (uint64_t)need->alone_p99_us + POOLS_WAIT_US,
			      need->busy + (uint64_t)need->load * POOLS_QUEUE_US / 10000);
}

static struct slo_guess guess_pools(const struct slo_need *need, uint32_t slack)
{
	uint64_t cost = (uint64_t)need->load * SLO_SWITCHES_US / 10000, lost;

	if (slack >= SLICES_P99 && cost > SLICES_COST)
		cost = SLICES_COST;
	lost = need->busy + cost;
	return (struct slo_guess){
		.keeps = keeps_in_pools(need),
		.rate = lost < 990 ? 1000 - (uint32_t)lost : 10,
	};
}

struct slo_guess cot_slo_guess(enum slo_topology topology, const struct slo_need *need)
{
	uint32_t slack = least((uint64_t)need->target_us * 1000 / need->alone_p99_us, UINT32_MAX);

	return topology == SLO_PARTS ? guess_parts(need) : guess_pools(need, slack);
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

/* ---- which topology ---- */

/* What was learned counts if they want the same and do about as much. */
static bool is_same(const struct slo_result *r, const struct slo_need *need)
{
	if (!need->strict_us || r->target_us > need->strict_us + need->strict_us / 10 ||
	    need->strict_us > r->target_us + r->target_us / 10)
		return false;
	return !need->known || (r->load <= 2ull * need->load && 2ull * r->load >= need->load);
}

static bool learned_of(const struct cot_policy *p, const struct cot_tenant *a,
		       const struct cot_tenant *b, uint32_t gpu, enum slo_topology topology,
		       const struct slo_need *need, struct slo_result *ret_result)
{
	return a->cls != b->cls && (b->gpu_mask >> gpu & 1) &&
	       cot_slo_learned(p, a->key, b->key, topology, ret_result) &&
	       is_same(ret_result, need);
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

/* Not even where little is given to batch programs it kept the target. A miss further up says that
 * a step was one too many. */
static bool missed(const struct slo_result *r, enum slo_topology topology)
{
	return r->use > MISSED && r->rung <= (topology == SLO_POOLS ? SLO_USUAL : 1);
}

static bool is_better(const struct slo_guess *a, const struct slo_guess *than, uint32_t permille)
{
	if (a->keeps != than->keeps)
		return a->keeps;
	return (uint64_t)a->rate * 1000 > (uint64_t)than->rate * permille;
}

/* What earlier runs say of a topology. */
enum past { PAST_UNKNOWN, PAST_HOPELESS, PAST_BAD, PAST_GOOD };

/* Bad: it did not keep the target, or batch programs had next to nothing. */
static enum past past_of(const struct cot_policy *p, uint32_t gpu, const struct cot_tenant *with,
			 enum slo_topology topology, const struct slo_need *need,
			 struct slo_guess *ret_guess)
{
	struct slo_result r;

	if (!cot_slo_home_learned(p, gpu, with, topology, need, &r))
		return PAST_UNKNOWN;
	*ret_guess = (struct slo_guess){.keeps = !missed(&r, topology), .rate = r.rate};
	if (r.use > FAR ||
	    (topology == SLO_POOLS && cot_slo_breath_permille(r.rung) < LITTLE_PERMILLE))
		return PAST_HOPELESS;
	return !ret_guess->keeps || (r.rate && r.rate < LITTLE_PERMILLE) ? PAST_BAD : PAST_GOOD;
}

/* The least that a p99 beside others was on parts, without anything to spare. */
static bool may_keep_on_parts(const struct slo_need *need)
{
	return need->target_us * 1000ull >= (uint64_t)parts[0].p99 * need->alone_p99_us;
}

/* The other topology is worth a run if the guess is that it keeps the target; where all is lost in
 * the one that is known, if it could. What was good is not given up for a guess, unless it is known
 * that requests need few SMs. */
static bool is_worth_a_run(enum slo_topology topology, const struct slo_need *need, enum past past,
			   const struct slo_guess *known)
{
	struct slo_guess other;

	if (!need->known)
		return false;
	other = cot_slo_guess(topology, need);
	if (past == PAST_GOOD)
		return topology == SLO_PARTS && is_small(need) && is_better(&other, known, 1000);
	if (past == PAST_HOPELESS && topology == SLO_PARTS && may_keep_on_parts(need))
		return true;
	return other.keeps;
}

static enum slo_topology guessed(const struct slo_need *need)
{
	struct slo_guess pools, side;

	if (!need->known)
		return need->strict_us && need->strict_us < POOLS_SHORT_US ? SLO_PARTS : SLO_ALONE;
	pools = cot_slo_guess(SLO_POOLS, need);
	side = cot_slo_guess(SLO_PARTS, need);
	/* The target is strict. Where pools leave batch programs little, parts leave them more. */
	if (!side.keeps && !pools.keeps)
		return pools.rate < LITTLE_PERMILLE ? SLO_PARTS : SLO_POOLS;
	return is_better(&side, &pools, is_small(need) ? 1000 : CLEARLY_PERMILLE) ? SLO_PARTS
										  : SLO_POOLS;
}

enum slo_topology cot_slo_home_best(const struct cot_policy *p, uint32_t gpu,
				    const struct cot_tenant *with)
{
	struct slo_need need = cot_slo_home_need(p, gpu, with);
	struct slo_guess pools, side;
	enum past of_pools = past_of(p, gpu, with, SLO_POOLS, &need, &pools);
	enum past of_parts = past_of(p, gpu, with, SLO_PARTS, &need, &side);

	if (of_pools && of_parts)
		return is_better(&side, &pools, 1000) ? SLO_PARTS : SLO_POOLS;
	if (of_pools)
		return is_worth_a_run(SLO_PARTS, &need, of_pools, &pools) ? SLO_PARTS : SLO_POOLS;
	if (of_parts)
		return is_worth_a_run(SLO_POOLS, &need, of_parts, &side) ? SLO_POOLS : SLO_PARTS;
	return guessed(&need);
}

static enum cot_home home_of(const struct cot_tenant *t)
{
	if (!t->entity)
		return t->cls == COT_CLASS_LATENCY ? COT_HOME_LATENCY : COT_HOME_BATCH;
	return t->entity->cls == COT_CLASS_LATENCY ? COT_HOME_LATENCY : COT_HOME_BATCH;
}

/* The first program of the class in a pool of the GPU. */
static const struct cot_tenant *first_of(const struct cot_policy *p, uint32_t gpu,
					 enum cot_class cls)
{
	const struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (t->cls == cls && t->pool && (t->gpu_mask >> gpu & 1))
			return t;
	return NULL;
}

enum cot_home cot_slo_home(const struct cot_policy *p, const struct cot_tenant *t)
{
	uint32_t gpu = (uint32_t)__builtin_ctzll(t->gpu_mask);
	const struct cot_tenant *like = first_of(p, gpu, t->cls), *other;

	other = first_of(p, gpu, t->cls == COT_CLASS_LATENCY ? COT_CLASS_BATCH : COT_CLASS_LATENCY);
	if (like && other)
		return home_of(like);
	if (!other || (like && t->cls == COT_CLASS_LATENCY))
		return like ? home_of(like) : COT_HOME_CLASS;
	return cot_slo_home_best(p, gpu, t) == SLO_PARTS ? home_of(other) : COT_HOME_CLASS;
}
