/*
 * A policy made for testing: it does one thing wrong, chosen by a knob. The core must survive it
 * and the contract suite must notice it. One at a time: the knob is global.
 */
#ifndef COT_TESTS_CHAOS_H
#define COT_TESTS_CHAOS_H

#include <cotenant/policy.h>

enum chaos {
	CHAOS_NONE, /* correct: does nothing */
	CHAOS_INIT_FAILS,
	CHAOS_STALL,	 /* freezes everybody */
	CHAOS_STARVE,	 /* freezes the first batch entity for ever */
	CHAOS_FORGET,	 /* freezes for a turn, and forgets to thaw when it is given up */
	CHAOS_STALE,	 /* uses entities that are gone */
	CHAOS_WILD,	 /* uses pointers that never were entities */
	CHAOS_BAD_SLICE, /* slices out of range */
	CHAOS_BAD_MODE,
	CHAOS_STORM,	 /* changes its mind as often as it can */
	CHAOS_WAKE_PAST, /* always wants to be called at once */
	CHAOS_ACT_IN_FINI,
	CHAOS_FREEZE_LATENCY, /* freezes latency entities now and then */
	CHAOS_MEMORY,	      /* remembers its last life in a static variable */
	CHAOS_DRAIN,	      /* drains everybody, however long blocks are */
	CHAOS_ABSOLUTE_TIME,  /* decides by what the time is, not by what has passed */
	CHAOS_OVERGRANT,      /* grants a work more than it can use */
	CHAOS_GRANT_AGAIN,    /* and one that runs already */
	CHAOS_SETTLE_ANY,     /* grants as settled what cannot be */
	CHAOS_EVICT_ALL,      /* leaves nobody to do the rest */
	CHAOS_EVICT_BACK,     /* takes an eviction back */
	CHAOS_NEVER_GRANT,
	CHAOS_FORGET_WORK,    /* never grants the works of one program */
	CHAOS_STALE_WORK,     /* uses works that are gone */
	CHAOS_BAD_PART,	      /* places tenants where no part can be */
	CHAOS_STALE_TENANT,   /* places tenants that are gone */
	CHAOS_FREEZE_ON_MISS, /* freezes batch entities when a target is missed, for ever */
	CHAOS_BAD_HOME,	      /* sends programs where nobody can go */
	CHAOS_BAD_FACT,	      /* says what is no fact */
	CHAOS_MANY_FACTS,     /* says that it said more than there was room for */
	CHAOS_ASKED_ACTS,     /* acts when it is asked */
	CHAOS_ASKED_CHANGES,  /* changes its mind when it is asked */
	CHAOS_LEARN_NOBODY,   /* learns about a program without a key */
	CHAOS_LEARN_STORM,    /* learns something new as often as it can */
	CHAOS_HOLD,	      /* holds batch programs for ever */
	CHAOS_HOLD_AFTER,     /* holds them now and then, query or not */
	CHAOS_N,
};

extern enum chaos chaos_knob;
extern const struct cot_policy_ops chaos_policy;
const char *chaos_name(enum chaos knob);

#endif
