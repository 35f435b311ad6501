/*
 *                     far over the target, at once: to a rung that was good, at least to `start`
 *        +------------------------------------------------------------------+
 *        v            a second over it, or 10 s too near: one down          |
 *     lowest ... start ... rung - 1 <------------- rung -------------> rung + 1 ... top
 *        |         ^                                  time to spare: one up
 *        |         |  missed even here: hopeless
 *        +---------+
 */
#include "policy/slo.h"
#include "policy/slo_room.h"

/* Our choices. A window of 1 s shows for up to 1.1 s what was before a change. */
#define SETTLE_NS (1100 * COT_NS_PER_MS)
#define QUEUE_NS  (2100 * COT_NS_PER_MS)
/* A step up is an experiment for so long: one look over the target ends it. */
#define TRIAL_NS (3 * COT_NS_PER_S)
/* Later it takes more than one window full of misses: 1 % of the requests may miss. */
#define MISSING_NS  (1200 * COT_NS_PER_MS)
#define COSTLY_NS   (10 * COT_NS_PER_S)
#define CATCH_UP_NS (1500 * COT_NS_PER_MS)
/* The lowest rung gets so long to show what it can do. */
#define LAST_NS (4 * COT_NS_PER_S)
/* Without any window for so long, what was bad is not known to be so. */
#define SILENT_NS (3 * COT_NS_PER_S)

/* In 1/1000 of the target: 10 s that used more lead down. */
#define MISS 1000u
/* What seconds used is counted for so many of them; then half is forgotten. */
#define COUNTED 20u
/* So many seconds, and three of four, that use more than so much in the mean. */
#define OVER_S 4u
#define OVER   1100u
/* So much of what was used before is no gain. */
#define GAIN  900u
#define RISEN 1500u

/* A rung that failed is tried again after so long, three times that, and so on. */
#define COOL_NS	    (60 * COT_NS_PER_S)
#define COOL_MAX_NS (3600 * COT_NS_PER_S)
#define COOL_FACTOR 3u
/* The same for a target that no rung keeps. */
#define HOPELESS_NS (60 * COT_NS_PER_S)

static uint64_t cool_ns(uint64_t first_ns, uint32_t n)
{
	uint64_t ns = first_ns;

	while (n-- > 1 && ns < COOL_MAX_NS)
		ns *= COOL_FACTOR;
	return ns < COOL_MAX_NS ? ns : COOL_MAX_NS;
}

static void forget_seen(struct slo_climb *c)
{
	c->peak = c->busy = c->n_seen = 0;
	c->n_fast = c->n_over = 0;
	c->sum_fast = 0;
}

bool cot_slo_climb_tries(const struct slo_climb *c, uint64_t now_ns)
{
	return c->went_up && now_ns - c->since_ns < TRIAL_NS;
}

static void move(struct slo_climb *c, uint32_t rung, enum slo_why why, uint64_t now_ns)
{
	c->undone = rung < c->rung && cot_slo_climb_tries(c, now_ns);
	c->went_up = rung > c->rung;
	c->nearly = c->eased = c->tightened = false;
	c->n_changes += rung != c->rung;
	c->rung = (uint8_t)rung;
	c->why = why;
	c->since_ns = now_ns;
	c->missing_since_ns = c->near_since_ns = c->far_since_ns = 0;
	forget_seen(c);
}

void cot_slo_climb_begin(struct slo_climb *c, struct slo_ladder ladder, uint32_t rung,
			 enum slo_why why, uint64_t now_ns)
{
	*c = (struct slo_climb){.ladder = ladder, .heard_ns = now_ns};
	if (rung > ladder.top)
		rung = ladder.top;
	c->rung = (uint8_t)(rung > ladder.lowest ? rung : ladder.lowest);
	c->why = why;
	c->since_ns = now_ns;
}

#define WARNED 2u /* as if it had failed so often */

void cot_slo_climb_warn(struct slo_climb *c, uint32_t rung, uint64_t now_ns)
{
	if (rung <= c->rung || rung > c->ladder.top)
		return;
	c->rungs[rung] = (struct slo_rung){.n_failed = WARNED,
					   .until_ns = now_ns + cool_ns(COOL_NS, WARNED)};
}

uint32_t cot_slo_climb_failed(const struct slo_climb *c)
{
	uint32_t rung;

	for (rung = c->rung + 1u; rung <= c->ladder.top; rung++)
		if (c->rungs[rung].n_failed)
			return rung;
	return 0;
}

/* ---- down ---- */

/* A step up that went far wrong left a queue that takes its time: it counts for three. */
static void note_failure(struct slo_climb *c, const struct slo_use *use, enum slo_why why,
			 uint64_t now_ns)
{
	struct slo_rung *r = &c->rungs[c->rung];
	uint32_t grown = 0;

	r->n_failed += c->went_up && why == SLO_WHY_FAR ? 3 : 1;
	r->failed_load = c->load;
	r->failed_use = why == SLO_WHY_NEAR ? use->slow : cot_slo_room_known(c, use);
	if (why == SLO_WHY_FAR && slo_in_turns(c->ladder.topology))
		grown = cot_slo_breath_grown(use, r, c->rung);
	if (grown > r->failed_use)
		r->failed_use = grown;
	r->until_ns = now_ns + cool_ns(COOL_NS, r->n_failed);
}

/*
 * How far down at once. What each rung used is scaled by how much more this one uses now than it
 * did: the highest that would be good. Where nothing tells, `start`; below that the lowest.
 */
static uint32_t safe_rung(const struct slo_climb *c, uint64_t use)
{
	uint32_t rung, floor = c->rung > c->ladder.start ? c->ladder.start : c->ladder.lowest;
	uint64_t was = c->rungs[c->rung].use, by;

	for (rung = c->rung - 1u; rung > floor; rung--) {
		by = was && was < use ? c->rungs[rung].use * use / was : c->rungs[rung].use;
		if (by && by <= SLO_GOOD)
			break;
	}
	return rung;
}

static void give_up(struct slo_climb *c, uint64_t now_ns)
{
	c->hopeless = true;
	c->hopeless_until_ns = now_ns + cool_ns(HOPELESS_NS, ++c->n_hopeless);
	move(c, c->ladder.start, SLO_WHY_HOPELESS, now_ns);
}

/* Most requests keep the target; beside batch programs fewer would. */
static bool is_nearly(const struct slo_use *use)
{
	return use->most && use->most <= MISS;
}

/* More requests come than when the rung was good, and the queue that they make will be too long:
 * then misses are no chance, and nothing will catch up. */
static bool has_risen(const struct slo_climb *c, const struct slo_use *use)
{
	const struct slo_rung *r = &c->rungs[c->rung];

	return slo_in_turns(c->ladder.topology) && use->n >= SLO_SOME &&
	       use->n * 10000ull > (uint64_t)r->load * RISEN &&
	       cot_slo_breath_grown(use, r, c->rung) > MISS;
}

static uint32_t rung_below(const struct slo_climb *c, const struct slo_use *use, enum slo_why why)
{
	uint32_t safe;

	if (why != SLO_WHY_FAR)
		return c->tightened || why == SLO_WHY_OVER ? cot_slo_room_below(c, use)
							   : c->rung - 1u;
	safe = safe_rung(c, use->fast);
	return has_risen(c, use) ? cot_slo_room_risen(c, use, safe) : safe;
}

static bool fall(struct slo_climb *c, const struct slo_use *use, enum slo_why why, uint64_t now_ns)
{
	uint32_t to;

	if (c->rung <= c->ladder.start && (c->hopeless || now_ns < c->no_freeze_until_ns))
		return false;
	if (c->rung == c->ladder.lowest) {
		if (now_ns - c->since_ns < LAST_NS)
			return false;
		c->kept = use->slow ? use->slow : use->fast;
		c->nearly = is_nearly(use);
		if (c->nearly)
			return false;
		give_up(c, now_ns);
		return c->rung != c->ladder.lowest;
	}
	to = rung_below(c, use, why);
	note_failure(c, use, why, now_ns);
	move(c, to, why, now_ns);
	return true;
}

/* All batch programs would be frozen, for the first time, and it is not clear what for. */
static bool is_costly(const struct slo_climb *c, const struct slo_use *use)
{
	return slo_in_turns(c->ladder.topology) && c->rung == SLO_USUAL &&
	       !c->rungs[SLO_USUAL].n_failed && !has_risen(c, use);
}

/* Before a costly step requests get the time to catch up. */
static bool is_far_for_long(struct slo_climb *c, const struct slo_use *use, uint64_t now_ns)
{
	if (!c->far_since_ns)
		c->far_since_ns = now_ns;
	return !is_costly(c, use) || now_ns - c->far_since_ns >= CATCH_UP_NS;
}

/* Whether each look for long enough was over the target. */
static bool is_missing(struct slo_climb *c, const struct slo_use *use, uint64_t now_ns)
{
	if (!use->missing) {
		c->missing_since_ns = 0;
		return false;
	}
	if (cot_slo_climb_tries(c, now_ns))
		return true;
	if (!c->missing_since_ns)
		c->missing_since_ns = now_ns;
	return !is_costly(c, use) && now_ns - c->missing_since_ns >= MISSING_NS;
}

/* 10 s over the target; another ten before a costly step, unless the target is a shorter one: what
 * was measured before it says enough. */
static bool is_near(struct slo_climb *c, const struct slo_use *use, uint64_t now_ns)
{
	if (!use->slow_sure)
		return false;
	if (use->slow <= MISS) {
		c->near_since_ns = 0;
		return false;
	}
	if (!c->near_since_ns)
		c->near_since_ns = now_ns;
	return !is_costly(c, use) || (c->tightened && use->slow_low > MISS) ||
	       now_ns - c->near_since_ns >= COSTLY_NS;
}

/*
 * Before a costly step: seconds tell, too, if most of them are over the target, and in the mean
 * clearly. One long queue makes one or two of them long, however many requests wait in it.
 */
static bool is_over(const struct slo_climb *c)
{
	return slo_in_turns(c->ladder.topology) && c->rung == SLO_USUAL && c->n_over >= OVER_S &&
	       c->n_over * 4 >= c->n_fast * 3 && c->sum_fast > (uint64_t)c->n_fast * OVER;
}

/* ---- up ---- */

static bool rise(struct slo_climb *c, const struct slo_use *use, uint64_t load, uint64_t now_ns)
{
	if (c->rung >= c->ladder.top || !cot_slo_room_is_worth(c, load) ||
	    !cot_slo_room_is(c, use, load, now_ns) ||
	    !cot_slo_room_may_try(c, c->rung + 1u, load, now_ns))
		return false;
	move(c, cot_slo_room_rung(c, use, load, now_ns), SLO_WHY_ROOM, now_ns);
	return true;
}

/* A longer target: at once where a program with it would begin, unless that is known to miss it;
 * below the usual slices of pools no farther than is guessed. */
static bool ease(struct slo_climb *c, const struct slo_use *use, uint64_t load, uint64_t now_ns)
{
	uint32_t rung = c->ladder.start, used = c->rungs[rung].use, guess;

	if (!c->eased || c->rung >= rung)
		return false;
	guess = cot_slo_room_is_breathing(c)
			? cot_slo_breath_guess(use, cot_slo_room_used(c, use), load, c->rung, rung)
			: 0;
	if (c->rungs[rung].failed_use)
		used = c->rungs[rung].failed_use;
	if (used > SLO_NEAR || guess > MISS || !cot_slo_room_may_try(c, rung, load, now_ns))
		rung = cot_slo_room_is_breathing(c) ? cot_slo_room_guessed(c, use, load, now_ns)
						    : c->rung;
	/* It stays eased: windows of another load, or of the old target, may have been in the way.
	 */
	if (rung <= c->rung)
		return false;
	move(c, rung, SLO_WHY_EASED, now_ns);
	return true;
}

/* Batch programs are frozen, and requests take hardly less long than before: then the misses were
 * chance, or have another reason, and batch programs are left alone for a while. */
static bool was_for_nothing(struct slo_climb *c, const struct slo_use *use, uint64_t load,
			    uint64_t now_ns)
{
	uint64_t before = c->rungs[SLO_USUAL].use;

	/* With more requests it says nothing. */
	if (load * 1000 > c->rungs[SLO_USUAL].load * (uint64_t)RISEN)
		return false;
	if (!cot_slo_room_is_frozen(c) || !use->slow_sure || !before ||
	    (before > MISS && use->slow <= MISS) || use->slow * 1000ull < before * GAIN)
		return false;
	c->no_freeze_until_ns = now_ns + cool_ns(HOPELESS_NS, ++c->n_nothing);
	move(c, c->ladder.start, SLO_WHY_NOTHING, now_ns);
	return true;
}

/* ---- looking ---- */

/* After a step down the queue of before goes first. */
static bool has_queue(const struct slo_climb *c, uint64_t now_ns)
{
	bool fell = c->why == SLO_WHY_MISSED || c->why == SLO_WHY_FAR || c->why == SLO_WHY_NEAR ||
		    c->why == SLO_WHY_OVER;

	return fell && now_ns - c->since_ns < QUEUE_NS;
}

/* Once a second, all of which is since the last change. */
static void count(struct slo_climb *c, const struct slo_use *use, uint64_t now_ns)
{
	if (c->n_seen && now_ns - c->counted_ns < COT_NS_PER_S)
		return;
	c->n_seen += use->n;
	c->counted_ns = now_ns;
	if (has_queue(c, now_ns))
		return;
	if (++c->n_fast > COUNTED) {
		c->sum_fast /= 2;
		c->n_fast /= 2;
		c->n_over /= 2;
	}
	c->n_over += use->over;
	c->sum_fast += use->n >= SLO_ENOUGH ? use->fast : use->fast_high;
}

/* The load of ten seconds is that of now, unless more come than then. */
static void note_ten(struct slo_rung *r, const struct slo_use *use, uint64_t load)
{
	r->use = use->slow;
	if (use->n * 10000ull > load * RISEN)
		return;
	r->load = load < UINT32_MAX ? (uint32_t)load : UINT32_MAX;
	r->busy = use->busy;
}

static void note(struct slo_climb *c, const struct slo_use *use, uint64_t load, uint64_t now_ns)
{
	struct slo_rung *r = &c->rungs[c->rung];

	if (now_ns - c->since_ns < SETTLE_NS)
		return;
	count(c, use, now_ns);
	if (use->busy > c->busy)
		c->busy = use->busy;
	if (use->each_us && !has_queue(c, now_ns))
		r->each_us = use->each_us;
	if (use->fast_high > c->peak)
		c->peak = use->fast_high;
	if (use->slow_sure)
		note_ten(r, use, load);
	else if (c->n_seen >= SLO_ENOUGH && !r->use)
		r->use = c->peak;
	if (use->slow_sure && use->slow <= MISS) {
		c->hopeless = c->nearly = false;
		c->n_hopeless = c->rung < c->ladder.start ? c->n_hopeless : 0;
	}
	/* It has been good for longer than it was kept away from. */
	if (r->n_failed && use->slow_sure && use->slow <= MISS &&
	    now_ns - c->since_ns > cool_ns(COOL_NS, r->n_failed))
		r->n_failed = 0;
}

static bool silence(struct slo_climb *c, uint64_t now_ns)
{
	if (c->rung >= c->ladder.start || now_ns - c->heard_ns < SILENT_NS)
		return false;
	move(c, c->ladder.start, SLO_WHY_SILENT, now_ns);
	return true;
}

/* Ten seconds know little yet of a load that has just risen. Of several programs `n` is the least.
 */
static uint32_t load_now(const struct slo_use *use, uint64_t load)
{
	uint64_t now = use->n * 10ull > load ? use->n * 10ull : load;

	return now < UINT32_MAX ? (uint32_t)now : UINT32_MAX;
}

bool cot_slo_climb_look(struct slo_climb *c, const struct slo_use *use, uint64_t load,
			uint64_t now_ns)
{
	if (!use->fast && !use->slow)
		return silence(c, now_ns);
	c->heard_ns = now_ns;
	c->load = load_now(use, load);
	/* After a step down the last second still shows what was the reason for it; after one that
	 * only took a step up back, the queue that that left. */
	if (!c->went_up && now_ns - c->since_ns < (c->undone ? QUEUE_NS : SETTLE_NS))
		return false;
	note(c, use, load, now_ns);
	if (c->hopeless && now_ns >= c->hopeless_until_ns)
		c->hopeless = false;
	if (use->far || (use->missing && has_risen(c, use)))
		return is_far_for_long(c, use, now_ns) && fall(c, use, SLO_WHY_FAR, now_ns);
	c->far_since_ns = 0;
	if (is_missing(c, use, now_ns))
		return fall(c, use, SLO_WHY_MISSED, now_ns);
	if (is_near(c, use, now_ns))
		return fall(c, use, SLO_WHY_NEAR, now_ns);
	if (is_over(c))
		return fall(c, use, SLO_WHY_OVER, now_ns);
	return was_for_nothing(c, use, load, now_ns) || ease(c, use, load, now_ns) ||
	       rise(c, use, load, now_ns);
}

void cot_slo_climb_disturbed(struct slo_climb *c, uint64_t now_ns)
{
	c->since_ns = now_ns;
	c->missing_since_ns = c->near_since_ns = c->far_since_ns = 0;
	forget_seen(c);
	c->went_up = c->undone = false;
}

void cot_slo_climb_crowd(struct slo_climb *c, uint32_t most, uint64_t now_ns)
{
	uint32_t i;

	for (i = 0; i < SLO_RUNGS_MAX; i++)
		c->rungs[i] = (struct slo_rung){0};
	c->hopeless = false;
	c->n_hopeless = c->n_nothing = 0;
	c->no_freeze_until_ns = 0;
	if (c->rung > most)
		move(c, most, SLO_WHY_CROWD, now_ns);
	else
		cot_slo_climb_disturbed(c, now_ns);
}

uint64_t cot_slo_climb_wake_ns(const struct slo_climb *c)
{
	return c->rung < c->ladder.start ? c->heard_ns + SILENT_NS : COT_NEVER;
}
