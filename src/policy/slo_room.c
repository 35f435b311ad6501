/*
 *      used     guess: the queue of what is left
 *       |       onward: as from the rung below to this one
 *       v            v
 *   ---rung------rung + 1---- SLO_GOOD -- SLO_NEAR --- target --->  use
 *
 * Whether a step up has room, and how far it may go. Of steps down it only guesses how far one
 * leads.
 */
#include "policy/slo_room.h"

/* Our choices. A step up far below the target, and near to it. */
#define FAST_NS (1500 * COT_NS_PER_MS)
#define TEN_NS	(11 * COT_NS_PER_S)

/* In 1/1000 of the target: what a rung may be expected to use by one second before a step up to it;
 * where two at once are tried. */
#define FAST 600u
#define TWO  400u
/* And where few requests have come. */
#define FAR_BELOW 500u
/* Requests that need so much of the time can be served even if a step slows them down. */
#define LIGHT 700u
/* Requests that take hardly longer with fewer SMs: see elasticity(). */
#define RIGID 200u
/* Beyond half of the GPU, and where few requests have come, no farther up at a time than so many
 * rungs. */
#define STRIDE 2u
/* Of the GPU's time. */
#define WORTH 90u
/* So much of the load at which a rung failed is another load. */
#define OTHER_LOAD 700u
/* So many times as much, or as little, is another load altogether. */
#define SAME_LOAD 4000u

bool cot_slo_room_may_try(const struct slo_climb *c, uint32_t rung, uint64_t load, uint64_t now_ns)
{
	const struct slo_rung *r = &c->rungs[rung];

	return r->until_ns <= now_ns ||
	       (load && load * 1000 < (uint64_t)r->failed_load * OTHER_LOAD);
}

/* Beyond half of the GPU requests may come faster than what is left can serve. */
static bool is_steep(const struct slo_climb *c)
{
	return c->ladder.topology == SLO_PARTS && c->rung >= c->ladder.start &&
	       c->rung + 1u >= c->ladder.top / 2u;
}

/*
 * How much longer requests take as they have fewer SMs for themselves, in 1/1000 of what they have
 * fewer: from the lowest rung whose requests are known to this one. Kernels that are too small for
 * the GPU, or a program that launches more slowly than they run, need no more than a few SMs. 1000
 * where nothing is known.
 */
static uint32_t elasticity(const struct slo_climb *c)
{
	const struct slo_rung *here = &c->rungs[c->rung], *below;
	uint32_t rung, left = (uint32_t)c->ladder.top - c->rung, more;
	uint64_t longer;

	if (c->ladder.topology != SLO_PARTS || !here->each_us || !left)
		return 1000;
	for (rung = c->ladder.lowest; rung < c->rung && !c->rungs[rung].each_us;)
		rung++;
	if (rung >= c->rung)
		return 1000;
	below = &c->rungs[rung];
	if (here->each_us <= below->each_us)
		return 0;
	longer = (here->each_us - below->each_us) * 1000000ull / below->each_us;
	more = (c->rung - rung) * 1000 / left;
	return more && longer / more < 1000 ? (uint32_t)(longer / more) : 1000;
}

/* On a rung above this one, with so many SMs the fewer. Where nothing is left, nothing is known. */
static uint64_t slower_at(const struct slo_climb *c, uint64_t x, uint32_t rung)
{
	uint32_t left = (uint32_t)c->ladder.top - c->rung, then = c->ladder.top - rung;

	return then ? x + x * elasticity(c) / 1000 * (left - then) / then : 2 * x;
}

/* There they have fewer SMs for themselves, and take longer if they need them. */
static uint64_t slower(const struct slo_climb *c, uint64_t x)
{
	return is_steep(c) ? slower_at(c, x, c->rung + 1u) : x;
}

/* Requests that take no longer can be served as before. */
static bool is_too_busy(const struct slo_climb *c)
{
	return is_steep(c) && elasticity(c) > RIGID && slower(c, c->busy) > LIGHT;
}

/* With another load it used something else. */
static bool is_load(const struct slo_climb *c, const struct slo_rung *r)
{
	return !r->load || !c->load ||
	       (r->load * 1000ull <= c->load * (uint64_t)SAME_LOAD &&
		c->load * 1000ull <= r->load * (uint64_t)SAME_LOAD);
}

/* What a rung below used, the nearest that is known; below all rungs of parts nobody is beside
 * them. Returns how far below; 0: nothing is known. */
static uint32_t before(const struct slo_climb *c, uint32_t alone, uint32_t *ret_use)
{
	uint32_t rung;

	for (rung = c->rung; rung-- > c->ladder.lowest;)
		if (c->rungs[rung].use && is_load(c, &c->rungs[rung])) {
			*ret_use = c->rungs[rung].use;
			return c->rung - rung;
		}
	*ret_use = alone;
	return alone && c->ladder.topology == SLO_PARTS ? c->rung : 0;
}

bool cot_slo_room_is_breathing(const struct slo_climb *c)
{
	return slo_in_turns(c->ladder.topology) && c->rung < SLO_USUAL;
}

bool cot_slo_room_is_frozen(const struct slo_climb *c)
{
	return slo_in_turns(c->ladder.topology) && c->rung == SLO_FROZEN;
}

/* How much of the target the next rung would use, if it goes on as from a rung below to this; where
 * batch programs run in breaths no less than is guessed. */
static uint64_t expected_use(const struct slo_climb *c, const struct slo_use *use, uint32_t used,
			     uint64_t load)
{
	uint32_t was, n = before(c, use->alone, &was);
	uint64_t next = used, guess = 0;

	if (cot_slo_room_is_breathing(c))
		guess = cot_slo_breath_guess(use, used, load, c->rung, c->rung + 1u);
	if (!n)
		next = slower(c, used);
	else if (was < used)
		next += (used - was) / n;
	return next > guess ? next : guess;
}

/* Seconds together are as good as one with enough requests, if they are not too many: what has
 * fewer in 10 s is not known by then either. */
static bool is_enough(const struct slo_climb *c, const struct slo_use *use, uint64_t age_ns)
{
	return use->n >= SLO_ENOUGH || (c->n_seen >= SLO_ENOUGH && age_ns <= TEN_NS);
}

/* Too few for a p99, but the slowest of them is so far below the target that a rung of parts may be
 * tried. Of five requests in a second it would else take a minute for each rung. */
static bool is_far_below(const struct slo_climb *c)
{
	return c->ladder.topology == SLO_PARTS && c->n_seen >= SLO_SOME && c->peak &&
	       c->peak <= FAR_BELOW;
}

/* While batch programs are frozen the queue of before goes: what was seen first says nothing. */
uint32_t cot_slo_room_used(const struct slo_climb *c, const struct slo_use *use)
{
	if (use->slow_sure)
		return use->slow_high;
	return !cot_slo_room_is_frozen(c) && c->peak > use->fast_high ? c->peak : use->fast_high;
}

/* If it goes on as from a rung below to this one. */
static uint64_t onward_use(const struct slo_climb *c, uint32_t used, uint32_t to)
{
	uint32_t was, n = before(c, 0, &was);

	return n && was < used ? used + (uint64_t)(used - was) * (to - c->rung) / n : used;
}

/* The highest rung, up to the usual slices, that is guessed to be good and has not failed. */
uint32_t cot_slo_room_guessed(const struct slo_climb *c, const struct slo_use *use, uint64_t load,
			      uint64_t now_ns)
{
	uint32_t rung = c->rung, used = cot_slo_room_used(c, use), guess;

	while (rung < SLO_USUAL && cot_slo_room_may_try(c, rung + 1, load, now_ns)) {
		guess = cot_slo_breath_guess(use, used, load, c->rung, rung + 1);
		if (!guess || guess > SLO_GOOD || onward_use(c, used, rung + 1) > SLO_GOOD)
			break;
		rung++;
	}
	return rung;
}

/* What a rung uses: by ten seconds, or in the mean of those since the last change. */
uint32_t cot_slo_room_known(const struct slo_climb *c, const struct slo_use *use)
{
	if (use->slow_sure)
		return use->slow;
	return c->n_fast ? (uint32_t)(c->sum_fast / c->n_fast) : use->fast;
}

uint32_t cot_slo_room_below(const struct slo_climb *c, const struct slo_use *use)
{
	uint32_t rung = c->rung - 1u, used = cot_slo_room_known(c, use), guess;

	if (!slo_in_turns(c->ladder.topology) || c->rung > SLO_USUAL)
		return rung;
	for (; rung > c->ladder.lowest; rung--) {
		guess = cot_slo_breath_guess(use, used, c->load, c->rung, rung);
		if (!guess)
			return c->rung - 1u;
		if (guess <= SLO_SAFE)
			break;
	}
	return rung;
}

uint32_t cot_slo_room_risen(const struct slo_climb *c, const struct slo_use *use, uint32_t safe)
{
	uint32_t from = c->rung < SLO_USUAL ? c->rung : SLO_USUAL, rung = safe, guess;
	uint32_t used = cot_slo_breath_grown(use, &c->rungs[c->rung], c->rung);

	if (rung > from)
		rung = from;
	for (; used && rung > c->ladder.lowest; rung--) {
		guess = cot_slo_breath_guess(use, used, use->n * 10ull, from, rung);
		if (guess && guess <= SLO_SAFE)
			break;
	}
	return rung;
}

bool cot_slo_room_is(const struct slo_climb *c, const struct slo_use *use, uint64_t load,
		     uint64_t now_ns)
{
	uint64_t age_ns = now_ns - c->since_ns;

	if (is_too_busy(c))
		return false;
	if (!use->slow_sure &&
	    (age_ns < FAST_NS || !(is_enough(c, use, age_ns) || is_far_below(c))))
		return false;
	if (cot_slo_room_is_breathing(c) && cot_slo_room_guessed(c, use, load, now_ns) > c->rung)
		return true;
	return use->slow_sure ? expected_use(c, use, use->slow_high, load) <= SLO_NEAR
			      : expected_use(c, use, c->peak, load) <= FAST;
}

/*
 * Beyond half of the GPU requests may come faster than what is left can serve, unless they take no
 * longer with fewer SMs; then a sixth and more is left for them. That they take no longer up to
 * here says little of far above: a decoder beside a training took twice as long on an H200 when
 * those of the training went from 66 SMs to 112, and its queue was 0.2 s long after one second.
 */
static uint32_t far_limit(const struct slo_climb *c)
{
	uint32_t half = c->ladder.top / 2u, most = c->ladder.top - (c->ladder.top + 5u) / 6;
	uint32_t next = c->rung + STRIDE > half ? c->rung + STRIDE : half;

	if (elasticity(c) > RIGID)
		return half;
	return next < most ? next : most;
}

/* On parts far below the target: as far as it would be good if requests took as much longer as they
 * have fewer SMs for themselves, and need them. */
static uint32_t far_rung(const struct slo_climb *c, uint64_t load, uint64_t now_ns)
{
	uint32_t rung = c->rung + 1u, most = far_limit(c);

	if (c->n_seen < SLO_ENOUGH && most > c->rung + STRIDE)
		most = c->rung + STRIDE;
	if (!c->peak || c->rung < c->ladder.start ||
	    c->peak > (elasticity(c) <= RIGID ? FAST : TWO))
		return rung;
	while (rung < most && slower_at(c, c->peak, rung + 1) <= FAST &&
	       cot_slo_room_may_try(c, rung + 1, load, now_ns))
		rung++;
	return rung;
}

/* Where batch programs run in breaths, as far as is guessed. */
uint32_t cot_slo_room_rung(const struct slo_climb *c, const struct slo_use *use, uint64_t load,
			   uint64_t now_ns)
{
	uint32_t guessed;

	if (c->ladder.topology == SLO_PARTS)
		return far_rung(c, load, now_ns);
	guessed = cot_slo_room_is_breathing(c) ? cot_slo_room_guessed(c, use, load, now_ns) : 0;
	return guessed > c->rung ? guessed : c->rung + 1u;
}

/* In pools a step up saves switches, whose cost grows with the load: where they cost little, little
 * is to be gained, and the target is not risked for it. */
bool cot_slo_room_is_worth(const struct slo_climb *c, uint64_t load)
{
	return !slo_in_turns(c->ladder.topology) || c->rung < SLO_USUAL ||
	       load * SLO_SWITCHES_US >= WORTH * 10000;
}
