/*
 *      SM 0                                                                    the last
 *      | asked | batch, each its own |         latency programs only         |   parts
 *      | asked | batch, each its own                                   | asked |   batch pool
 *
 * Latency programs have together what batch programs and those who asked leave. On SMs of its own
 * each would have the fewer, the more of them there are, however seldom the others have requests.
 * Where that does not keep the target each has its own, by weight (slo_apart.c). Until there are
 * batch programs they have the whole GPU. On the SMs of batch programs as well they are slower than
 * on the rest alone, where a batch program's blocks run for long: measured on an H200, the p99 of a
 * network beside 40 ms blocks on 16 SMs is 4.0 to 4.8 ms, without these SMs 1.8 to 2.0. Batch
 * programs have SMs of their own by weight, because in the same ones a program of large kernels
 * starves the others: measured on an H200, a training beside a matrix product keeps 0.00 to 0.02 of
 * its rate. Where they are more than the pieces left to them, they have these in turn (slo_turn.c).
 * Those that stand alone take turns, and have all of it.
 */
#include "policy/holding.h"
#include "policy/shared.h"
#include "policy/slo.h"

/* A rate is kept if it is this much of what was promised; SMs are given back if with one piece less
 * it would still be that. In 1/1000. */
#define KEPT  990u
#define SPARE 1020u
/* How long a number of pieces is tried before there is one more, and one less. */
#define MORE_NS (3 * COT_NS_PER_S)
#define LESS_NS (10 * COT_NS_PER_S)
/* Of batch programs beside latency programs: a change of parts does nothing while what they
 * launched before it is not done, and some launch for seconds ahead. Long beside what a launch
 * takes a host, so that the GPU does not run dry. Our choice. */
#define PACE_US 20000u

/* Programs that share a range of SMs: batch programs each on its own, or all on all of it. */
struct group {
	const struct slo_deal *deal;
	enum cot_class cls;
	bool inside; /* of batch programs: with a latency program in one entity */
	uint32_t begin, end;
	uint32_t own;		/* of latency programs: where their own begin; 0: they have none */
	uint32_t n, n_promised; /* those that count and can be placed */
	uint32_t promised;	/* pieces */
	/* Of batch programs inside: a latency program is active, so they are on parts; and they are
	 * more than their pieces. */
	bool beside, in_turns;
	uint64_t weight; /* of the others */
};

/* A batch program outside the pools; not one whose rate is kept by SMs. */
static bool takes_turns(const struct cot_tenant *t)
{
	return t->cls == COT_CLASS_BATCH && !t->pool && t->target.kind != COT_TARGET_RATE;
}

static bool is_of(const struct cot_policy *p, const struct placing *l, const struct group *g,
		  const struct cot_tenant *t)
{
	if (t->cls != g->cls || !placing_is_dealt(p, l, t))
		return false;
	if (g->cls == COT_CLASS_LATENCY)
		return true;
	return !takes_turns(t) && (t->entity && slo_serves(t->entity)) == g->inside;
}

static void place(struct cot_policy *p, const struct group *g, struct cot_tenant *t,
		  struct cot_part part, uint64_t *wake_ns)
{
	part.pace_us = g->beside ? PACE_US : 0;
	cot_holding_place(p, t, part, &slo_of(t)->held_ns, wake_ns);
}

/* ---- rates ---- */

void cot_slo_place_rate(const struct cot_policy *p, struct cot_tenant *t)
{
	struct slo_tenant *own = slo_of(t);
	uint64_t need = own->best_rate * t->target.amount / 1000, age_ns;
	uint32_t all = cot_slo_pieces(t);

	if (t->target.kind != COT_TARGET_RATE || !all) {
		own->pieces = 0;
		return;
	}
	age_ns = p->now_ns - own->pieces_ns;
	if (!own->pieces) {
		own->pieces = (uint16_t)((all * t->target.amount + 999) / 1000);
		own->pieces_ns = p->now_ns;
	} else if (own->rate * 1000 < need * KEPT && age_ns >= MORE_NS && own->pieces < all) {
		own->pieces++;
		own->pieces_ns = p->now_ns;
	} else if (own->pieces > 1 && age_ns >= LESS_NS &&
		   own->rate * (own->pieces - 1) / own->pieces * 1000 > need * SPARE) {
		own->pieces--;
		own->pieces_ns = p->now_ns;
	}
}

/* How many pieces it must have; 0: its weight says. */
static uint32_t promised(const struct group *g, const struct cot_tenant *t)
{
	return g->cls == COT_CLASS_BATCH ? slo_of(t)->pieces : 0;
}

/* One has all, and the others the last piece. */
static void place_quiet(struct cot_policy *p, const struct placing *l, const struct group *g,
			uint64_t *wake_ns)
{
	uint32_t last = cot_placing_begin_of(l, g->end, 1);
	struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (is_of(p, l, g, t))
			place(p, g, t,
			      cot_placing_part(l, t == g->deal->quiet ? g->begin : last, g->end),
			      wake_ns);
}

/* ---- groups ---- */

/* Requests come at any time, and a move takes longer than most of them: who serves them has its SMs
 * while it is idle, too. */
static bool counts(const struct cot_policy *p, const struct group *g, const struct cot_tenant *t,
		   uint64_t *wake_ns)
{
	return g->cls == COT_CLASS_LATENCY || cot_slo_is_active(p, t, wake_ns);
}

static void count(const struct cot_policy *p, const struct placing *l, struct group *g,
		  uint64_t *wake_ns)
{
	const struct cot_tenant *t;

	cot_for_each_tenant (t, p) {
		if (!is_of(p, l, g, t) || !counts(p, g, t, wake_ns))
			continue;
		g->n++;
		g->promised += promised(g, t);
		if (promised(g, t))
			g->n_promised++;
		else
			g->weight += t->weight;
	}
}

/* Each of the others keeps a piece. */
static uint32_t promised_end(const struct placing *l, const struct group *g, uint32_t begin,
			     uint32_t n)
{
	uint32_t most = cot_placing_pieces(l, g->begin, g->end) - (g->n - g->n_promised), end;

	if (g->promised > most)
		n = n * most / g->promised;
	end = cot_placing_round(l, begin + (n ? n : 1) * l->unit);
	return end < g->end ? end : g->end;
}

/* Those with a promise from the bottom, the others by weight in what is left. */
static void deal_out(struct cot_policy *p, const struct placing *l, const struct group *g,
		     bool promises, uint32_t *begin, uint64_t *wake_ns)
{
	uint32_t left = promises ? g->n_promised : g->n - g->n_promised, end;
	uint64_t weight = g->weight;
	struct cot_tenant *t;

	cot_for_each_tenant (t, p) {
		uint32_t n = promised(g, t);

		if (!is_of(p, l, g, t) || !counts(p, g, t, wake_ns) || !n == promises)
			continue;
		left--;
		if (!promises)
			end = cot_placing_share_end(l, *begin, g->end, t->weight, weight, left);
		else
			end = left || g->n > g->n_promised ? promised_end(l, g, *begin, n) : g->end;
		place(p, g, t, cot_placing_part(l, *begin, end), wake_ns);
		*begin = end;
		weight -= promises ? 0 : t->weight;
	}
}

/* All of the range for one at a time. */
static void place_in_turns(struct cot_policy *p, const struct placing *l, const struct group *g,
			   uint64_t *wake_ns)
{
	struct slo_turn_choice choice = {0};
	struct cot_part part = cot_placing_part(l, g->begin, g->end);
	struct cot_tenant *t;
	uint32_t turn;

	cot_for_each_tenant (t, p)
		if (is_of(p, l, g, t) && counts(p, g, t, wake_ns))
			cot_slo_turn_offer(g->deal->turn, &choice, t);
	turn = cot_slo_turn_give(g->deal->turn, &choice, p->now_ns, wake_ns);
	cot_for_each_tenant (t, p) {
		if (!is_of(p, l, g, t))
			continue;
		part.hold = t->id != turn && counts(p, g, t, wake_ns);
		place(p, g, t, part, wake_ns);
	}
}

/* An idle program may lie over others: it gets SMs of its own when it goes on. */
static void place_group(struct cot_policy *p, const struct placing *l, struct group *g,
			uint64_t *wake_ns)
{
	uint32_t begin = g->own ? g->own : g->begin;
	struct cot_tenant *t;
	bool apart;

	if (g->deal->quiet && g->cls == COT_CLASS_BATCH && is_of(p, l, g, g->deal->quiet)) {
		place_quiet(p, l, g, wake_ns);
		return;
	}
	count(p, l, g, wake_ns);
	g->in_turns = g->beside && cot_placing_pieces(l, begin, g->end) < g->n;
	if (g->in_turns) {
		place_in_turns(p, l, g, wake_ns);
		return;
	}
	apart = (g->cls == COT_CLASS_BATCH || g->own) && g->n > 1 &&
		cot_placing_pieces(l, begin, g->end) >= g->n;
	cot_for_each_tenant (t, p)
		if (is_of(p, l, g, t) && (!apart || !counts(p, g, t, wake_ns)))
			place(p, g, t, cot_placing_part(l, g->begin, g->end), wake_ns);
	if (!apart)
		return;
	deal_out(p, l, g, true, &begin, wake_ns);
	deal_out(p, l, g, false, &begin, wake_ns);
}

static void place_alone(struct cot_policy *p, const struct placing *l, const struct group *g)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (takes_turns(t) && placing_is_dealt(p, l, t))
			(void)placing_place(p, t, cot_placing_part(l, g->begin, g->end));
}

static uint32_t n_latency(const struct cot_policy *p, const struct placing *l)
{
	const struct cot_tenant *t;
	uint32_t n = 0;

	cot_for_each_tenant (t, p)
		n += t->cls == COT_CLASS_LATENCY && (t->gpu_mask >> l->gpu & 1);
	return n;
}

/* Where batch programs end that are in one entity with latency programs. */
static uint32_t inside_end(const struct placing *l, const struct slo_deal *deal)
{
	uint32_t end = cot_slo_ladder_sms(deal->ladder, l, deal->rung);

	if (end < l->bottom + l->unit)
		end = cot_placing_round(l, l->bottom + l->unit);
	return end < l->limit ? end : l->limit;
}

/* A move makes requests wait. So in a quiet moment latency programs stay where they are, unless it
 * is to tell what a target is made of. */
static uint32_t rest_begin(const struct slo_deal *deal, uint32_t end)
{
	bool stay = deal->quiet && deal->quiet->target.kind == COT_TARGET_P99;

	if (!stay || end > *deal->rest)
		*deal->rest = end;
	return *deal->rest;
}

void cot_slo_place(struct cot_policy *p, uint32_t gpu, const struct slo_deal *deal,
		   uint64_t *wake_ns)
{
	struct placing l = cot_placing_begin(p, gpu);
	struct group inside = {.deal = deal, .cls = COT_CLASS_BATCH, .inside = true};
	struct group outside = {.deal = deal, .cls = COT_CLASS_BATCH};
	struct group latency = {.deal = deal, .cls = COT_CLASS_LATENCY};
	bool parts = deal->favour && deal->ladder->topology == SLO_PARTS;

	l.apart = parts && n_latency(p, &l) > 1;
	cot_placing_asked(p, &l);
	if (l.bottom < l.limit)
		outside.begin = inside.begin = l.bottom;
	outside.end = l.limit;
	inside.end = parts ? inside_end(&l, deal) : l.limit;
	inside.beside = parts;
	latency.end = l.apart && l.top ? l.top : l.n_sms;
	place_group(p, &l, &inside, wake_ns);
	if (!inside.in_turns)
		deal->turn->tenant = 0;
	place_group(p, &l, &outside, wake_ns);
	place_alone(p, &l, &outside);
	latency.begin = rest_begin(deal, parts && inside.end < latency.end ? inside.end : 0);
	latency.own = parts && deal->apart ? latency.begin : 0;
	place_group(p, &l, &latency, wake_ns);
}
