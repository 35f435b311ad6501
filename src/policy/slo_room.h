/*
 * Room for a step up of `slo`: what rungs above this one are expected to use, and how far up one
 * may go. Inside of slo_climb.c's decisions, in a file of its own. Uses
 * are in 1/1000 of the target, a load in requests per 10 s; nothing here changes the climb.
 */
#ifndef COT_POLICY_SLO_ROOM_H
#define COT_POLICY_SLO_ROOM_H

#include "policy/slo.h"

/* What a rung may be expected to use: a safe one, and one to which ten seconds lead up. */
#define SLO_GOOD 850u
#define SLO_NEAR 980u
/* Where a step down leads: nearer to the target than a good one, since where that is strict nobody
 * alone uses less. */
#define SLO_SAFE 930u

/* Batch programs run in breaths: below the usual slices of pools. */
bool cot_slo_room_is_breathing(const struct slo_climb *c);
/* On the lowest rung of pools. */
bool cot_slo_room_is_frozen(const struct slo_climb *c);
/* It has not failed of late, or the load is another. */
bool cot_slo_room_may_try(const struct slo_climb *c, uint32_t rung, uint64_t load, uint64_t now_ns);
/* What this rung uses, from the longest window that knows enough. */
uint32_t cot_slo_room_used(const struct slo_climb *c, const struct slo_use *use);
/* The same, for steps down: in the mean of the seconds since the last change, not the most. */
uint32_t cot_slo_room_known(const struct slo_climb *c, const struct slo_use *use);
/* Of those below: from the usual slices down the highest that is guessed to keep the target, the
 * lowest if none is; elsewhere one down. */
uint32_t cot_slo_room_below(const struct slo_climb *c, const struct slo_use *use);
/* The same where the load has just risen, of `safe` and those below: what requests use now says
 * little, so that they would use what this rung did before, with a longer queue. */
uint32_t cot_slo_room_risen(const struct slo_climb *c, const struct slo_use *use, uint32_t safe);
/* The highest rung, up to the usual slices, that is guessed to be good; this one if none is. */
uint32_t cot_slo_room_guessed(const struct slo_climb *c, const struct slo_use *use, uint64_t load,
			      uint64_t now_ns);
/* A step up has room. */
bool cot_slo_room_is(const struct slo_climb *c, const struct slo_use *use, uint64_t load,
		     uint64_t now_ns);
/* Where a step up that has room leads: at least one rung up. */
uint32_t cot_slo_room_rung(const struct slo_climb *c, const struct slo_use *use, uint64_t load,
			   uint64_t now_ns);
/* Something is to be gained by a step up. */
bool cot_slo_room_is_worth(const struct slo_climb *c, uint64_t load);

#endif
