/*
 * The parts of the policy `slo`. Each is pure and has no state but what it is given; slo.c puts
 * them together. docs/slo.md says what the policy does.
 *
 *     windows ---> slo_window.c: how much of the target is used
 *                       |
 *                       v
 *                  slo_climb.c: one rung up, or down          one controller a GPU
 *                       |
 *                       v
 *     slo_ladder.c: slices and SMs of a rung; slo_breath.c: how long batch programs run at a time
 *                       |
 *                       v
 *                  slo_place.c ---> actions
 *
 * A *topology* is how programs are put into pools, and stays as it is while they run. A *ladder* is
 * what can be changed inside a topology, from all for latency programs (the lowest *rung*) to all
 * for batch programs.
 */
#ifndef COT_POLICY_SLO_H
#define COT_POLICY_SLO_H

#include "policy/placing.h"
#include "policy/turns.h"

/* ---- the ladder (slo_ladder.c) ---- */

enum slo_topology {
	SLO_ALONE, /* nobody to be protected, or nobody to protect from */
	SLO_POOLS, /* latency programs and batch programs in different entities: slices */
	SLO_PARTS, /* in one entity: parts of the SMs */
	/* Latency programs outside MPS, each in a context of its own: as in pools, and MPS costs
	 * their requests nothing. */
	SLO_SOLO,
	SLO_ROTATE, /* batch programs outside as well: one at a time */
	SLO_N_TOPOLOGIES,
};

#define SLO_ANY (1u << SLO_POOLS | 1u << SLO_PARTS | 1u << SLO_SOLO | 1u << SLO_ROTATE)

/* Latency and batch programs take turns: slices and breaths are what can be changed. Their rungs
 * are those of pools. */
static inline bool slo_in_turns(enum slo_topology topology)
{
	return topology != SLO_ALONE && topology != SLO_PARTS;
}

#define SLO_RUNGS_MAX 17u /* numbers 0 to 16 */
#define SLO_FROZEN    0u  /* of pools: batch programs are frozen nearly all the time */
#define SLO_USUAL     6u  /* of pools: what the policy `pools` has; below it they run in breaths */

/* What the two switches of a request cost batch programs in pools: measured on an H200
 * (docs/live.md). */
#define SLO_SWITCHES_US 330u

struct slo_ladder {
	enum slo_topology topology;
	uint8_t lowest, start, top; /* `start`: where nothing is known yet */
};

/* `pieces`: in how many the GPU's SMs can be had; 0 is as 1. */
struct slo_ladder cot_slo_ladder(enum slo_topology topology, uint32_t pieces);

struct slo_slices {
	uint32_t latency_us, batch_us;
};

/* Of rung 1 or higher of pools. */
struct slo_slices cot_slo_ladder_slices(const struct cot_policy_config *config, uint32_t rung);

/* On how many SMs, from the bottom, batch programs are at a rung of parts: a cut. */
uint32_t cot_slo_ladder_sms(const struct slo_ladder *ladder, const struct placing *l,
			    uint32_t rung);

/* The highest rung that gives batch programs no more than this; the lowest if there is none. For
 * what is found at the start. */
uint32_t cot_slo_ladder_rung_of_slices(const struct cot_policy_config *config,
				       struct slo_slices slices);
uint32_t cot_slo_ladder_rung_of_sms(const struct slo_ladder *ladder, const struct placing *l,
				    uint32_t n_sms);

/* ---- breaths (slo_breath.c) ---- */

/* At a rung of pools below the usual one batch programs run for so long, once in so long. */
struct slo_breath {
	uint32_t run_us, every_us;
};

/* Of SLO_USUAL and higher: 0, 0. */
struct slo_breath cot_slo_breath(uint32_t rung);
/* The part of the time, in 1/1000. */
uint32_t cot_slo_breath_permille(uint32_t rung);

struct slo_use;

/* What the rung `to` would use, where `rung` uses `used`, both in 1/1000 of the target and up to
 * SLO_USUAL; 0: it cannot be said. `load`: requests in 10 s. */
uint32_t cot_slo_breath_guess(const struct slo_use *use, uint32_t used, uint64_t load,
			      uint32_t rung, uint32_t to);

struct slo_rung;

/* What `rung` of pools may be expected to use, once the queue is as long as the load of the last
 * second makes it; 0: it cannot be said. `was`: it, as it was measured. */
uint32_t cot_slo_breath_grown(const struct slo_use *use, const struct slo_rung *was, uint32_t rung);

/* ---- windows (slo_window.c) ---- */

/*
 * How much of their targets programs use, in 1/1000: more than 1000 is a miss; 0 is not known. Of
 * several programs the worst counts.
 *
 * A p99 needs SLO_ENOUGH requests, and is never the same again: `high` is what it could be as well,
 * one standard deviation up. In a second with fewer, it is the slowest of them. Where 10 s have
 * fewer, the last minute is looked at as well, and must have them before a step up by it.
 */
struct slo_use {
	uint32_t fast, fast_high; /* of the last second */
	uint32_t n;		  /* requests in it */
	uint32_t busy;	  /* the part of it that they were being served, in 1/1000; 0: not known */
	uint32_t each_us; /* what serving one of them takes, the median; 0: not known */
	uint32_t target_us; /* of the strictest; 0: it is a rate */
	uint32_t most;	/* what 95 of 100 requests use, of the last 10 s if they are known; or 0 */
	uint32_t alone; /* what they would use with nobody beside them; 0: not known */
	bool missing;	/* in the last second more than 1 % missed, and not by chance */
	bool far;	/* many more */
	bool over;	/* its p99 was over the target, of enough requests */
	/* Of the last 10 s, or the last minute; all since the last change. A standard deviation up,
	 * and two down. */
	uint32_t slow, slow_high, slow_low;
	bool slow_sure;
};

#define SLO_ENOUGH 100u
#define SLO_SOME   20u
#define SLO_FEW	   4u

/* Windows of before `since_ns`, of before they could be full, and stale ones count as nothing. */
struct slo_use cot_slo_window_use(const struct cot_tenant *t, uint64_t target_ns, uint64_t since_ns,
				  uint64_t now_ns);
/* The same for a program that is to keep a part of its rate alone. `rate`, `best_rate`: see struct
 * slo_tenant. */
struct slo_use cot_slo_window_rate(const struct cot_tenant *t, uint64_t rate, uint64_t best_rate,
				   uint64_t since_ns, uint64_t now_ns);
struct slo_use cot_slo_use_worst(struct slo_use a, struct slo_use b);

/* Its requests hardly wait for the GPU: that they take long is not for other programs to mend. */
bool cot_slo_window_own(const struct cot_tenant *t, uint64_t now_ns);

/* The times of a window that a target is about: responses, or services where no arrival is known.
 */
const struct cot_times *cot_slo_window_times(const struct cot_window *w);

/* Requests in 10 s, by the freshest window; 0: no window is fresh. */
uint64_t cot_slo_window_load(const struct cot_tenant *t, uint64_t now_ns);

/* ---- one rung up, or down (slo_climb.c) ---- */

/* Why a controller is where it is. */
enum slo_why {
	SLO_WHY_START,	  /* nothing is known yet */
	SLO_WHY_FOUND,	  /* it was so when the policy started */
	SLO_WHY_LEARNED,  /* it was good in an earlier run */
	SLO_WHY_ROOM,	  /* there was time to spare */
	SLO_WHY_NEAR,	  /* the last 10 s were too near to the target */
	SLO_WHY_OVER,	  /* most of the last seconds missed the target */
	SLO_WHY_MISSED,	  /* the last second missed the target */
	SLO_WHY_FAR,	  /* the last second missed it by far */
	SLO_WHY_HOPELESS, /* no rung keeps the target */
	SLO_WHY_SILENT,	  /* nothing was measured for a while */
	SLO_WHY_CROWD,	  /* other programs came */
	SLO_WHY_NOTHING,  /* to freeze batch programs gained nothing */
	SLO_WHY_EASED,	  /* the target is longer now */
	SLO_WHY_AIMED,	  /* it is another one, and nothing is known of what that would be */
	SLO_N_WHYS,
};

/* What is known of a rung. */
struct slo_rung {
	uint32_t use;	      /* as measured there last; 0: never */
	uint32_t load, busy;  /* with so many requests in 10 s, and what `busy` was */
	uint32_t each_us;     /* what serving a request took there last; 0: not known */
	uint32_t failed_load; /* requests in 10 s when it failed last */
	uint32_t failed_use;  /* what it used then; 0: it was in an earlier run */
	uint32_t rate;	      /* what batch programs get there, in 1/1000; 0: not known */
	uint32_t n_failed;    /* times in a row */
	uint64_t until_ns;    /* it failed: not again before, unless there is less load */
};

struct slo_climb {
	struct slo_ladder ladder;
	uint8_t rung;
	bool went_up;	/* the last change was a step up */
	bool undone;	/* it took a step up back, soon after it */
	bool hopeless;	/* not even the lowest rung keeps the target: it stays at `start` */
	bool nearly;	/* at the lowest rung most requests keep it: it stays there */
	bool eased;	/* the target is longer than it was when the rung was chosen */
	bool tightened; /* it is shorter */
	enum slo_why why;
	uint32_t peak;	   /* the largest use in seconds that are all since the last change */
	uint32_t busy;	   /* the most of one of them that requests were being served */
	uint32_t n_seen;   /* requests in all of them */
	uint64_t sum_fast; /* of `fast` in these seconds, */
	uint32_t n_fast;   /* which are so many; */
	uint32_t n_over;   /* so many of them, each with enough requests, missed the target */
	uint32_t load;	   /* requests in 10 s, as they come now; 0: not known */
	uint32_t kept; /* hopeless or nearly: what the lowest rung kept, in 1/1000 of the target */
	uint32_t n_changes;
	uint32_t n_hopeless;
	uint64_t since_ns;	   /* when it came to the rung */
	uint64_t counted_ns;	   /* when requests were counted last */
	uint64_t missing_since_ns; /* since when each second missed the target; 0: it did not */
	uint64_t near_since_ns;	   /* the same of the last 10 s */
	uint64_t far_since_ns;	   /* and of misses by far */
	uint64_t heard_ns;	   /* when something was known last */
	uint64_t hopeless_until_ns;
	uint64_t no_freeze_until_ns; /* it gained nothing */
	uint32_t n_nothing;
	struct slo_rung rungs[SLO_RUNGS_MAX];
};

/* At `rung`; nothing else is known. */
void cot_slo_climb_begin(struct slo_climb *c, struct slo_ladder ladder, uint32_t rung,
			 enum slo_why why, uint64_t now_ns);

/* A rung failed in an earlier run: it is not tried at once, however small the load seems to be. */
void cot_slo_climb_warn(struct slo_climb *c, uint32_t rung, uint64_t now_ns);
/* The lowest rung above that failed of late; 0: none did. */
uint32_t cot_slo_climb_failed(const struct slo_climb *c);

/*
 * With each new window, and when the time has come that it returned. `load`: requests in 10 s, 0 if
 * it is not known. Returns whether the rung has changed.
 */
bool cot_slo_climb_look(struct slo_climb *c, const struct slo_use *use, uint64_t load,
			uint64_t now_ns);

/* The last change was a step up, of which little is known yet. */
bool cot_slo_climb_tries(const struct slo_climb *c, uint64_t now_ns);

/* Other programs: what failed may be tried again, and what is above `most` is safe no longer. */
void cot_slo_climb_crowd(struct slo_climb *c, uint32_t most, uint64_t now_ns);

/* What came before `now_ns` says nothing of what is now. */
void cot_slo_climb_disturbed(struct slo_climb *c, uint64_t now_ns);

/* When to look without a window. */
uint64_t cot_slo_climb_wake_ns(const struct slo_climb *c);

/* ---- who is on a GPU (slo_crowd.c) ---- */

/* What the policy keeps of an entity. */
struct slo_entity {
	struct turn turn; /* first: for turns.c */
	bool serves;	  /* a latency program is in it */
	uint64_t breaths; /* that it had while others had none, by its weight */
};

/* What it keeps of a program. */
struct slo_tenant {
	uint64_t idle_since_ns;
	/* Of a latency program while it had the GPU alone; 0: not known. */
	uint32_t alone_p99_us, alone_p50_us;
	uint32_t joined_s;  /* when it joined */
	uint32_t load;	    /* requests in 10 s */
	uint32_t launch_us; /* of a request's time, for each kernel that it launches; 0: not known
			     */
	/* The part of its requests' time that it waits for the GPU, and how often in 1000
	 * requests; 0: not known. The rest is its own CPU's. */
	uint32_t waits_permille, waits_milli;
	/* Kernels in 1000 s, of late and when it was alone. */
	uint64_t rate, best_rate;
	uint64_t alone_ns;     /* when it was last measured alone; 0: not in this run */
	uint32_t alone_load;   /* requests in 10 s at that time */
	uint16_t n_alone;      /* how often it was */
	uint16_t pieces;       /* of a batch program with a rate: so many of the GPU it needs */
	uint64_t pieces_ns;    /* since when */
	struct cot_target aim; /* its target, */
	uint64_t aimed_ns;     /* and since when, if it was another one */
	uint64_t turns;	  /* of a batch program: those that it had, by its weight (slo_turn.c) */
	uint64_t held_ns; /* since when it waits for the next; 0: it does not */
};

struct slo_crowd {
	uint32_t n_latency, n_batch; /* programs */
	bool active;		     /* a latency program is, or was not long ago */
	bool serving;		     /* an entity with one is up, and not idle for long */
	bool inside;		     /* a batch program is in an entity with a latency program */
	bool latency_pooled, batch_pooled; /* one is in a pool */
	uint32_t pieces; /* in how many the GPU can be had; 0: nobody can be placed */
};

/* A latency program, or a batch program for the division of SMs: it may have something to do, or
 * had within the last config->linger_ns. Brings *wake_ns forward to when that ends. */
bool cot_slo_is_active(const struct cot_policy *p, const struct cot_tenant *t, uint64_t *wake_ns);

static inline struct slo_tenant *slo_of(const struct cot_tenant *t)
{
	return t->own;
}

static inline bool slo_serves(const struct cot_entity *e)
{
	const struct slo_entity *own = e->own;

	return own->serves || (e->cls == COT_CLASS_LATENCY && !e->n_tenants);
}

/* In how many pieces its GPU can be had. */
uint32_t cot_slo_pieces(const struct cot_tenant *t);

/* In which entities latency programs are. Before all else below. */
void cot_slo_crowd_mark(struct cot_policy *p);
/* Fills in crowds[] of the GPUs that programs have, and returns which. */
uint64_t cot_slo_crowd_count(const struct cot_policy *p, struct slo_crowd *crowds,
			     uint64_t *wake_ns);
enum slo_topology cot_slo_crowd_topology(const struct slo_crowd *crowd);
/* The sum of what its batch programs keep of their best rates, in 1/1000; 0: not known of all. */
uint32_t cot_slo_crowd_rate(const struct cot_policy *p, uint32_t gpu);

/* ---- batch programs that are more than their pieces (slo_turn.c) ---- */

/* On one GPU: whose turn it is, until when, and what the last one had. */
struct slo_turn {
	uint32_t tenant; /* 0: nobody's */
	uint64_t until_ns;
	uint64_t had;
};

/* One of those who wait, or has the turn now: call it for each, then cot_slo_turn_give(). */
struct slo_turn_choice {
	struct cot_tenant *next;
	bool holder_waits;
};
void cot_slo_turn_offer(const struct slo_turn *turn, struct slo_turn_choice *choice,
			struct cot_tenant *t);
/* Whose turn it is now; *wake_ns is brought forward to its end. */
uint32_t cot_slo_turn_give(struct slo_turn *turn, const struct slo_turn_choice *choice,
			   uint64_t now_ns, uint64_t *wake_ns);

/* ---- parts (slo_place.c) ---- */

/* Deals out a GPU. */
struct slo_deal {
	const struct slo_ladder *ladder;
	struct slo_turn *turn; /* of batch programs beside latency programs */
	uint32_t *rest;	       /* the first SM of latency programs on parts; 0: all are theirs */
	uint32_t rung;
	bool favour;			/* a latency program is active */
	bool apart;			/* on parts each latency program has its own */
	const struct cot_tenant *quiet; /* the others are quiet for it; NULL: for nobody */
};
void cot_slo_place(struct cot_policy *p, uint32_t gpu, const struct slo_deal *deal,
		   uint64_t *wake_ns);

/* A batch program that is to keep a part of its rate alone: how many pieces it needs. With each
 * count. */
void cot_slo_place_rate(const struct cot_policy *p, struct cot_tenant *t);

/* ---- what is learned (slo_learn.c) ---- */

/* Kinds of lessons. */
/* Key of a latency program: p99 alone, p50 alone, load, time of a launch. */
#define SLO_LESSON_ALONE 0x736c6f01u
#define SLO_LESSON_RATE	 0x736c6f02u /* key of a program: its best rate, low and high half */
/* Key of a latency program: topology that serves it best, target in us, load. */
#define SLO_LESSON_HOME 0x736c6f03u
#define SLO_LESSON_MIX	0x736c6f20u /* + topology: struct slo_result, key of two programs */

/* What a topology was good for. */
struct slo_result {
	uint32_t rung;
	uint32_t use;	    /* of the target, at that rung, in 1/1000 */
	uint32_t rate;	    /* what batch programs kept together, in 1/1000; 0: not known */
	uint32_t load;	    /* requests in 10 s */
	uint32_t target_us; /* the strictest */
	uint32_t failed;    /* the lowest rung above it that did not keep the target; 0: none */
};

/* Notes what a window or a count says of a program; `alone`: nobody was beside it meanwhile. */
void cot_slo_learn_requests(struct cot_policy *p, struct cot_tenant *t, const struct cot_window *w,
			    bool alone);
void cot_slo_learn_rate(struct cot_policy *p, struct cot_tenant *t, bool alone);
/* How much of its requests' time it waits for the GPU, with each count. */
void cot_slo_learn_waits(struct cot_tenant *t);
/* Its p99 alone, from a window in which the others were quiet. */
void cot_slo_learn_alone(struct cot_policy *p, struct cot_tenant *t, const struct cot_window *w);
/* What earlier runs knew of it. */
void cot_slo_learn_recall(const struct cot_policy *p, struct cot_tenant *t);
/* A time alone that was measured so often is known. */
#define SLO_ALONE_OFTEN 2u
/* Writes a result down for each latency program with each batch program on the GPU. */
void cot_slo_learn_result(struct cot_policy *p, uint32_t gpu, enum slo_topology topology,
			  const struct slo_result *r);
/* And which topology would serve its latency programs best, for starts with nobody there. */
void cot_slo_learn_home(struct cot_policy *p, uint32_t gpu, enum slo_topology best,
			uint32_t target_us, uint32_t load);
/* false: nothing is known of these two. */
bool cot_slo_learned(const struct cot_policy *p, uint64_t key_a, uint64_t key_b,
		     enum slo_topology topology, struct slo_result *ret_result);

/* ---- guesses (slo_guess.c), and where a program goes (slo_home.c) ---- */

/* The latency programs of a GPU, as far as they are known. */
struct slo_need {
	uint32_t n;	       /* programs */
	bool known;	       /* of all of them the time alone, the load and the target */
	uint32_t strict_us;    /* the strictest target; 0: none is known */
	uint32_t target_us;    /* of the one with the least time to spare */
	uint32_t alone_p99_us; /* of the same */
	uint32_t busy;	       /* the part of the time that all keep the GPU busy, in 1/1000 */
	uint32_t load;	       /* requests of all in 10 s */
	uint32_t launch_us;    /* the most that one takes for a kernel; 0: not known of all */
};

/* What a topology would give: from measurements on an H200. */
struct slo_guess {
	bool keeps;
	uint32_t rate;	   /* what batch programs keep, in 1/1000 */
	uint32_t permille; /* parts: of the SMs that they have for it */
};

/* What is known of a program that needs: as in struct slo_tenant. */
struct slo_known {
	uint32_t alone_p99_us, alone_p50_us, load, launch_us;
};
/* Requests that launch kernel after kernel: they need few SMs. */
bool cot_slo_need_is_small(const struct slo_need *need);
/* The least that a p99 beside others was on parts would keep the target. */
bool cot_slo_need_may_share(const struct slo_need *need);
/* Adds it to those who need. */
void cot_slo_need_add(struct slo_need *need, uint32_t target_us, const struct slo_known *known);
/* Of a need that is not known: that it keeps nothing. */
struct slo_guess cot_slo_guess(enum slo_topology topology, const struct slo_need *need);

/* What earlier runs found for one of the GPU's latency programs (or `with`, NULL: nobody) beside
 * one of its batch programs, with the same target and about the same load. */
bool cot_slo_home_learned(const struct cot_policy *p, uint32_t gpu, const struct cot_tenant *with,
			  enum slo_topology topology, const struct slo_need *need,
			  struct slo_result *ret_result);

/* The same; where that topology was never run, of another that takes turns, if this one does. */
bool cot_slo_home_learned_of_like(const struct cot_policy *p, uint32_t gpu,
				  enum slo_topology topology, const struct slo_need *need,
				  struct slo_result *ret_result);

/* Of the GPU's latency programs and `with`, which is not in the table; NULL: nobody. */
struct slo_need cot_slo_home_need(const struct cot_policy *p, uint32_t gpu,
				  const struct cot_tenant *with);

/* Which topology serves those on the GPU and `with` best, of the set `among` (bits 1 << topology).
 * SLO_ALONE: nothing speaks for any. */
enum slo_topology cot_slo_home_best(const struct cot_policy *p, uint32_t gpu,
				    const struct cot_tenant *with, uint32_t among);
enum cot_home cot_slo_home(const struct cot_policy *p, const struct cot_tenant *t);

/* The p99 of its requests that it wants; 0: none, or not known yet. */
uint32_t cot_slo_target_us(const struct cot_tenant *t, uint32_t alone_p99_us);

/* ---- another target (slo_target.c) ---- */

/* A target of `from` is now one of `to`. `only`: no other program has one; else what others use
 * may have been the most. */
void cot_slo_climb_target(struct slo_climb *c, uint32_t from, uint32_t to, bool only);

/* Of a program, as it is in the table now. */
void cot_slo_target_changed(struct cot_policy *p, struct cot_tenant *t);

/* ---- the time alone (slo_quiet.c) ---- */

/*
 * A slowdown and a rate are relative to a program alone. Where that is not known, the others are
 * quiet for a moment: frozen in pools, on one unit in parts. Of a GPU.
 */
struct slo_quiet {
	uint32_t tenant; /* for whom; 0: nobody */
	bool by_second;	 /* one second of its requests is enough */
	uint32_t n;
	uint64_t since_ns, next_ns, total_ns;
};

/* Begins or ends a quiet moment; says whether one is. `ret_for` gets for whom; NULL: nobody.
 * `batch`: batch programs could have all of the GPU. */
bool cot_slo_quiet_look(struct cot_policy *p, struct slo_quiet *q, uint32_t gpu, bool batch,
			struct cot_tenant **ret_for, uint64_t *wake_ns);

/* ---- latency programs on parts (slo_apart.c) ---- */

struct slo_apart {
	bool on;	   /* each has SMs of its own */
	uint8_t n;	   /* how often that was changed, for how long the next is tried */
	uint64_t until_ns; /* when it may be changed again */
};

/* Whether they are so now; with too few SMs they are not. */
bool cot_slo_apart_are(const struct cot_policy *p, uint32_t gpu);
/* `found`: they go on as they are; else by what earlier runs found. */
void cot_slo_apart_begin(const struct cot_policy *p, struct slo_apart *a, uint32_t gpu, bool found);
/* Says whether it has changed. */
bool cot_slo_apart_look(struct slo_apart *a, const struct slo_climb *c, uint32_t n_latency,
			uint64_t now_ns);

/* ---- a GPU ---- */

struct slo_gpu {
	struct slo_climb climb;
	struct slo_apart apart;
	bool favour; /* a latency program is active */
	bool frozen; /* batch programs outside are, but for breaths */
	bool breath;
	uint32_t breather;     /* whose breath it is, where they take turns; 0: all have it */
	uint64_t breather_has; /* `breaths` of the one that had the last */
	uint16_t n_latency, n_batch;
	uint64_t breath_ns; /* when the next breath begins, or this one ends */
	/* Since when the latency programs have the GPU for themselves, and the only batch program;
	 * 0: not now. */
	uint64_t latency_alone_ns, batch_alone_ns;
	uint64_t learned_ns; /* when a result was written last, */
	uint32_t learned_us; /* and for which target */
	struct slo_quiet quiet;
	struct slo_turn turn;
	uint32_t rest; /* see struct slo_deal */
};

struct slo {
	struct turns turns;		   /* first: for turns.c */
	uint64_t there;			   /* GPUs of programs */
	uint64_t favoured, frozen, breath; /* as in struct slo_gpu */
	struct slo_gpu gpus[COT_POLICY_GPUS_MAX];
};

static inline struct slo *slo_state(const struct cot_policy *p)
{
	return p->state;
}

/* ---- what it does and why (slo_explain.c) ---- */

unsigned cot_slo_explain(const struct cot_policy *p, const struct cot_tenant *t,
			 struct cot_fact *facts, unsigned max);

#endif
