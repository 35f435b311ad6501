#include "policy/slo.h"

struct facts {
	struct cot_fact *at;
	unsigned n, max;
};

static void say(struct facts *f, const char *name, enum cot_fact_unit unit, uint64_t value,
		const char *text)
{
	if (f->n < f->max)
		f->at[f->n++] = (struct cot_fact){name, text, value, unit};
}

static void tell(struct facts *f, const char *name, const char *text)
{
	say(f, name, COT_FACT_TEXT, 0, text);
}

/* ---- the arrangement ---- */

static const char *const arrangements[SLO_N_TOPOLOGIES] = {
	[SLO_ALONE] = "no latency program beside batch programs",
	[SLO_POOLS] = "pools: latency and batch programs take turns",
	[SLO_PARTS] = "parts: side by side, batch programs on some of the SMs",
	[SLO_SOLO] = "solo: latency programs outside MPS, in turns with the batch programs' pool",
	[SLO_ROTATE] = "rotate: all outside MPS, one batch program at a time",
};

static const char *const next_ones[SLO_N_TOPOLOGIES] = {
	[SLO_POOLS] = "pools, which would serve these programs better",
	[SLO_PARTS] = "parts, which would serve these programs better",
	[SLO_SOLO] = "solo, latency programs outside MPS, which would serve these programs better",
	[SLO_ROTATE] = "rotate, all outside MPS, which would serve these programs better",
};

/* Where nothing is known to keep the target, nor guessed to. */
static const char *const tries[SLO_N_TOPOLOGIES] = {
	[SLO_POOLS] = "pools, to try them: nothing is known to keep the target",
	[SLO_PARTS] = "parts, to try them: nothing is known to keep the target",
	[SLO_SOLO] = "solo, to try it: nothing is known to keep the target",
	[SLO_ROTATE] = "rotate, to try it: nothing is known to keep the target",
};

static const char *const reasons[SLO_N_WHYS] = {
	[SLO_WHY_START] = "nothing was known yet",
	[SLO_WHY_FOUND] = "it was found so",
	[SLO_WHY_LEARNED] = "it kept the target in an earlier run",
	[SLO_WHY_ROOM] = "there was time to spare",
	[SLO_WHY_NEAR] = "the last 10 s were too near to the target",
	[SLO_WHY_OVER] = "most of the last seconds missed the target",
	[SLO_WHY_MISSED] = "a second missed the target",
	[SLO_WHY_FAR] = "requests missed the target by far",
	[SLO_WHY_HOPELESS] = "nothing keeps the target, so batch programs go on",
	[SLO_WHY_SILENT] = "nothing was measured for a while",
	[SLO_WHY_CROWD] = "another program came",
	[SLO_WHY_NOTHING] = "to freeze batch programs gained nothing",
	[SLO_WHY_EASED] = "the target is longer than it was",
	[SLO_WHY_AIMED] = "there is another target, of which nothing is known yet",
};

static void say_breath(struct facts *f, uint32_t rung)
{
	struct slo_breath b = cot_slo_breath(rung);

	if (!b.every_us)
		return;
	say(f, "batch programs run for", COT_FACT_US, b.run_us, "then they are frozen");
	say(f, "once in", COT_FACT_US, b.every_us, NULL);
}

static void say_knobs(struct facts *f, const struct cot_policy *p, const struct slo_gpu *g,
		      uint32_t gpu)
{
	const struct slo_climb *c = &g->climb;
	struct placing l = cot_placing_begin(p, gpu);
	struct slo_slices s = cot_slo_ladder_slices(p->config, c->rung);

	if (!g->favour)
		tell(f, "now", "latency programs are idle: batch programs have everything");
	else if (g->quiet.tenant)
		tell(f, "now", "a quiet moment, to measure a program alone");
	if (c->ladder.topology == SLO_PARTS) {
		say(f, "SMs for batch programs", COT_FACT_SMS,
		    cot_slo_ladder_sms(&c->ladder, &l, c->rung), NULL);
		if (g->turn.tenant)
			tell(f, "batch programs",
			     "on these in turn, a second each by weight: they "
			     "are more than the pieces");
		if (cot_slo_apart_are(p, gpu))
			tell(f, "latency programs",
			     "each on SMs of its own, since a target was missed");
	} else {
		say_breath(f, c->rung);
		say(f, "latency slice", COT_FACT_US, s.latency_us, NULL);
		say(f, "batch slice", COT_FACT_US, s.batch_us, NULL);
	}
	say(f, "since", COT_FACT_AT_NS, c->since_ns, NULL);
	tell(f, "because", reasons[c->why]);
}

/* What batch programs have at a rung, in 1/1000: as measured, else of the SMs, or of the time; 0:
 * the time is all theirs, and slices decide. */
static uint64_t share_at(const struct slo_climb *c, uint32_t rung, bool measured)
{
	if (measured)
		return c->rungs[rung].rate;
	if (c->ladder.topology == SLO_PARTS)
		return rung * 1000u / c->ladder.top;
	return rung <= SLO_USUAL ? cot_slo_breath_permille(rung) : 0;
}

/* What a step would cost batch programs, or give them. */
static void say_step(struct facts *f, const struct slo_climb *c, const char *name, uint32_t rung)
{
	bool measured = c->rungs[c->rung].rate && c->rungs[rung].rate;
	uint64_t here = share_at(c, c->rung, measured), there = share_at(c, rung, measured);

	if (!here || !there)
		return;
	say(f, name, COT_FACT_PERMILLE, (here > there ? here - there : there - here) * 1000 / here,
	    measured ? "of the rate that batch programs have"
		     : "of what batch programs have, if it goes with the SMs or the time");
}

static void say_steps(struct facts *f, const struct slo_climb *c, uint64_t now_ns)
{
	if (c->rungs[c->rung].rate)
		say(f, "batch programs keep", COT_FACT_PERMILLE, c->rungs[c->rung].rate,
		    "together, of their best rates");
	else
		tell(f, "batch programs keep",
		     "not known: each must have been alone, and have started when launches were "
		     "counted already");
	if (c->rung > c->ladder.lowest)
		say_step(f, c, "tighter would cost", c->rung - 1u);
	if (c->rung >= c->ladder.top)
		return;
	say_step(f, c, "looser would give", c->rung + 1u);
	if (c->rungs[c->rung + 1].until_ns > now_ns)
		say(f, "looser is tried again in", COT_FACT_NS,
		    c->rungs[c->rung + 1].until_ns - now_ns, "it failed");
}

/* ---- a program ---- */

static const char *by_what(const struct cot_window *w)
{
	const struct cot_times *t = cot_slo_window_times(w);

	if (t->n < SLO_ENOUGH)
		return t->n < SLO_SOME ? "too few requests to decide anything"
				       : "fewer than 100 requests: the p95 decides";
	return w->response.n ? "from arrival" : "arrivals are not known: time of service";
}

static void say_requests(struct facts *f, const struct cot_tenant *t, uint64_t now_ns)
{
	const struct cot_window *w = &t->windows[COT_HORIZON_10S];
	const struct slo_tenant *own = slo_of(t);
	uint64_t target_us = cot_slo_target_us(t, own->alone_p99_us);

	if (t->target.kind == COT_TARGET_SLOWDOWN) {
		if (own->alone_p99_us)
			say(f, COT_SAYS_P99_ALONE, COT_FACT_US, own->alone_p99_us, NULL);
		else
			tell(f, COT_SAYS_P99_ALONE, "not measured yet, so the target is not known");
	}
	if (target_us)
		say(f, "target", COT_FACT_US, target_us, NULL);
	if (!cot_slo_window_times(w)->n)
		return;
	say(f, "p99", COT_FACT_NS, cot_slo_window_times(w)->p99_ns, by_what(w));
	if (own->waits_permille)
		say(f, "waits for the GPU", COT_FACT_PERMILLE, own->waits_permille,
		    cot_slo_window_own(t, now_ns)
			    ? "of its requests' time: a second over the target is its own"
			    : "of its requests' time");
}

/* A program that launches all it does in a context that it made itself is not counted. */
#define UNSEEN_S 10u

/* Why a rate that was promised is not looked after; NULL: it is. */
static const char *no_rate(const struct cot_policy *p, const struct cot_tenant *t,
			   const struct slo_climb *c)
{
	if (!t->launches.at_ns)
		return p->now_ns / COT_NS_PER_S > slo_of(t)->joined_s + UNSEEN_S
			       ? "has no effect: no launch of it was counted; it has launched "
				 "nothing in the primary context"
			       : NULL;
	return t->cls == COT_CLASS_BATCH && slo_in_turns(c->ladder.topology)
		       ? "has no effect while programs take turns: only SMs of its own keep a "
			 "batch program's rate"
		       : NULL;
}

static void say_rate(struct facts *f, const struct cot_policy *p, const struct cot_tenant *t,
		     const struct slo_climb *c)
{
	const struct slo_tenant *own = slo_of(t);
	const char *why = t->target.kind == COT_TARGET_RATE ? no_rate(p, t, c) : NULL;

	if (why)
		tell(f, COT_SAYS_TARGET, why);
	if (t->target.kind == COT_TARGET_RATE)
		say(f, "promised", COT_FACT_PERMILLE, t->target.amount, "of its rate alone");
	if (own->best_rate)
		say(f, COT_SAYS_KEEPS, COT_FACT_PERMILLE, own->rate * 1000 / own->best_rate,
		    "of its rate alone");
	else if (t->target.kind == COT_TARGET_RATE)
		tell(f, COT_SAYS_KEEPS, "its rate alone is not measured yet");
}

static void say_hopeless(struct facts *f, const struct slo_climb *c, const struct cot_tenant *t)
{
	uint64_t target_us = cot_slo_target_us(t, slo_of(t)->alone_p99_us);

	if (!c->hopeless && !c->nearly)
		return;
	tell(f, COT_SAYS_TARGET,
	     c->hopeless ? "cannot be kept, not even with batch programs stopped"
			 : "is kept nearly, and would be missed by more beside batch programs");
	if (target_us)
		say(f, COT_SAYS_COULD_KEEP, COT_FACT_US, target_us * c->kept / 1000,
		    "with batch programs stopped");
}

/* ---- the other topology ---- */

static void say_other(struct facts *f, const struct cot_policy *p, const struct slo_climb *c,
		      uint32_t gpu)
{
	enum slo_topology best = cot_slo_home_best(p, gpu, NULL, SLO_ANY);
	struct slo_need need;
	struct slo_guess guess;
	struct slo_result r;
	bool learned;

	if (best == SLO_ALONE || best == c->ladder.topology)
		return;
	need = cot_slo_home_need(p, gpu, NULL);
	guess = cot_slo_guess(best, &need);
	learned = cot_slo_home_learned_of_like(p, gpu, best, &need, &r) && r.use <= 1000;
	tell(f, COT_SAYS_NEXT,
	     need.known && !guess.keeps && !learned ? tries[best] : next_ones[best]);
	if (guess.keeps)
		say(f, "batch programs would keep", COT_FACT_PERMILLE, guess.rate, "by a guess");
}

/* On parts, but not in the server whose SMs are divided: it was there before the others, say. */
static void say_outside(struct facts *f, const struct cot_tenant *t, const struct slo_climb *c)
{
	if (c->ladder.topology == SLO_PARTS && t->cls == COT_CLASS_BATCH && t->entity &&
	    !slo_serves(t->entity))
		tell(f, "pool",
		     "another than the latency programs': it takes turns with all in "
		     "that, and is on no part");
}

unsigned cot_slo_explain(const struct cot_policy *p, const struct cot_tenant *t,
			 struct cot_fact *facts, unsigned max)
{
	uint32_t gpu = (uint32_t)__builtin_ctzll(t->gpu_mask);
	const struct slo_gpu *g = &slo_state(p)->gpus[gpu];
	struct facts f = {.at = facts, .max = max};

	tell(&f, "arrangement", arrangements[g->climb.ladder.topology]);
	if (t->cls == COT_CLASS_LATENCY && t->target.kind != COT_TARGET_RATE)
		say_requests(&f, t, p->now_ns);
	else
		say_rate(&f, p, t, &g->climb);
	if (g->climb.ladder.topology != SLO_ALONE) {
		say_outside(&f, t, &g->climb);
		say_knobs(&f, p, g, gpu);
		if (t->cls == COT_CLASS_LATENCY)
			say_hopeless(&f, &g->climb, t);
		say_steps(&f, &g->climb, p->now_ns);
		say_other(&f, p, &g->climb, gpu);
	}
	if (g->quiet.n) {
		say(&f, "quiet moments", COT_FACT_COUNT, g->quiet.n, "to measure programs alone");
		say(&f, "their time", COT_FACT_NS, g->quiet.total_ns, NULL);
	}
	return f.n;
}
