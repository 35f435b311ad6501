/*
 * What the files of the policies `laius`, `laius-paper`, `laius-nb`, `laius-nc` and `laius-peak`
 * share.
 *
 *   laius.c          callbacks, the policies
 *   laius_queue.c    `laius`: what is enough for a request with its queue
 *   laius_took.c     `laius`: how long requests took, beside what is predicted
 *   laius_reserve.c  `laius`: which SMs are kept free for the next one
 *   laius_drain.c    `laius`: where batch kernels still are
 *   laius_kept.c     `laius`: what is kept of a program
 *   laius_queries.c  which query runs on how many SMs
 *   laius_batch.c    what batch programs get of the rest
 *   laius_explain.c  what users are told
 */
#ifndef COT_POLICY_LAIUS_INSIDE_H
#define COT_POLICY_LAIUS_INSIDE_H

#include "model/lag.h"
#include "model/wait.h"
#include "policy/placing.h"
#include "policy/policies.h"

/* Queries that have SMs at a time, on all GPUs. */
#define LAIUS_RUNNING_MAX 128u
/*
 * A query whose program does not tell that it is over, or whose end is not seen, would keep its SMs
 * for good. After twice its target it counts no longer, between these. Our choices.
 */
#define LAIUS_LOST_MIN_NS (10 * COT_NS_PER_S)
#define LAIUS_LOST_MAX_NS (60 * COT_NS_PER_S)

/* Of which it is learned how long requests take: sixteenths of the GPU. */
#define LAIUS_SIZES	   16u
#define LAIUS_SERVICES_MAX 64u /* of others nothing is learned */

/* Of about so many requests a fiftieth may begin too late, in parts of all; at first, when little
 * is known, the third that does is too much. Our choices. */
#define LAIUS_LATE_OF	 512u
#define LAIUS_LATE_ALL	 65536u
#define LAIUS_LATE_MOST	 (LAIUS_LATE_ALL / 50)
#define LAIUS_LATE_FIRST (LAIUS_LATE_MOST - 5 * LAIUS_LATE_ALL / LAIUS_LATE_OF / 2)

/* In which bandwidth is counted. */
#define LAIUS_BYTES_PER_MB 1000000u
/* Of batch programs between requests. Our choice. */
#define LAIUS_PACE_US 500u
/* So long after a request its program's SMs are kept: one that waits in the program's own queue
 * follows at once, and of that nobody knows. Our choice. */
#define LAIUS_NEXT_NS (250 * COT_NS_PER_US)

/* Live: requests on parts of about one size, in 1/1000 of what is predicted. */
struct laius_took {
	uint32_t at;	     /* the last one, of those that were learned from */
	uint16_t slow_milli; /* the slower ones */
	uint16_t mean_milli;
	uint8_t n; /* that the mean is over, about; 0: none */
};

/* Live: of one service. */
struct laius_times {
	const struct cot_tenant *of; /* NULL: it is free */
	uint32_t n_learned;
	/* How far a request was from what was predicted for the size that it was on, in 1/1e6 of
	 * what it took, in the mean: as profiled; with what was learned before it. */
	uint32_t profile_off, off;
	struct laius_took took[LAIUS_SIZES];
};

struct laius {
	uint64_t stale_gpus; /* where something has changed that decides who gets what */
	struct cot_lag lags[LAIUS_RUNNING_MAX];
	bool used[LAIUS_RUNNING_MAX];
	struct laius_times times[LAIUS_SERVICES_MAX];
};

/* Of a query. */
struct laius_query {
	uint64_t since_ns;  /* when it got SMs */
	uint64_t budget_ns; /* what its target left it then */
	uint64_t spare_ns;  /* live: how much less than its target is aimed at */
	uint16_t lag;	    /* its place in laius.lags, if it is known */
	/* Live: it began on so many SMs, 0: that is not sure; and what it launched before it was
	 * heard of is on none below `low`. */
	uint16_t sms, low;
	bool runs, known;
	bool went_on; /* something of it is done */
	bool own_sms; /* live: batch programs stayed apart when it began */
	bool apart;   /* live: and none had its SMs before */
	bool lost;    /* it has had SMs for too long, and counts no longer */
};

enum laius_why {
	LAIUS_WHY_NONE, /* nothing was decided yet */
	LAIUS_WHY_IDLE, /* a latency program without a query */
	LAIUS_WHY_QUERY,
	LAIUS_WHY_WAITS, /* its queries do, for older ones */
	LAIUS_WHY_ALONE, /* a batch program, while there is no query */
	LAIUS_WHY_SHARE,
	LAIUS_WHY_APART,  /* it stays off the SMs of requests, also while there is none */
	LAIUS_WHY_NO_SMS, /* it is held: queries have all SMs; or what they leave is of more use to
			     others, or would take too much of the memory bandwidth */
	LAIUS_WHY_NO_BANDWIDTH,
	LAIUS_WHY_NOT_CHOSEN,
	LAIUS_N_WHYS,
};

/* Live: what requests need to keep their target, with their queue. */
struct laius_need {
	uint32_t patience_us; /* so long they may wait for SMs and keep it all the same */
	uint32_t rate_mb;     /* per second, of the memory's bandwidth; 0: not known */
	uint16_t sms;	      /* 0: nothing is known */
	uint16_t in_turn_sms; /* where batch kernels are on them between requests */
};

/* Live: what is known of a latency program's requests. */
struct laius_flow {
	uint64_t last_ns; /* when the last one arrived; 0: none has */
	uint64_t left_ns; /* when the last one was over; 0: none was */
	struct cot_gaps gaps;
	/* The worst of this second and the one before, with SMs that fall in steps from what was
	 * needed earlier; of this one; and when it began. Before the first request since_ns is when
	 * the program joined. */
	struct laius_need need, now;
	uint64_t since_ns;
	uint64_t raised_ns;	 /* when it was last found that more are needed */
	uint64_t apart_until_ns; /* batch programs stay apart, whatever is predicted */
	uint64_t apart_for_ns;	 /* until then from when that was found */
	uint32_t late;		 /* of the last ones, those that began too late for their target */
	/* Of the last requests that were queued, those that began later than LAIUS_NEXT_NS after
	 * the one before, in 1/1000. */
	uint16_t trail_milli;
	bool kept;     /* the SMs of the last one are, for one that follows it */
	uint8_t times; /* its place in laius.times, and 1; 0: it has none */
};

/* Live: where a batch program's kernels may be, besides on its part: on [first, end) until
 * leaves_ns. */
struct laius_stay {
	uint64_t leaves_ns;
	uint64_t idle_ns; /* since when it is idle; and is not held, 0: it is */
	uint64_t free_ns;
	uint16_t first, end;
	uint16_t at_first, at_end; /* its part, if it is not held */
};

/* Of a program. */
struct laius_program {
	struct cot_part part; /* that it is to have */
	uint64_t held_ns;     /* see holding.h */
	uint64_t rate;	      /* of a batch program, predicted: bytes per second there */
	uint32_t n_queries, n_unknown, n_raised, n_lost;
	uint8_t why; /* enum laius_why */
	bool counts; /* live: requests are expected of it, or kernels */
	uint8_t cls; /* live: whether `flow` or `stay` is in use */
	union {
		struct laius_flow flow;
		struct laius_stay stay;
	};
};

/* One GPU while it is dealt out. */
struct laius_deal {
	struct cot_policy *p;
	const struct placing *l;
	uint32_t begin; /* of what queries have; they end at l->top */
	uint32_t low;	/* live: from here on launches of queries may be, wherever these are now */
	bool any_query; /* has SMs */
	uint64_t taken; /* bytes per second of the memory's bandwidth */
	uint32_t floor; /* requests are above it */
	bool live;
	bool quiet;    /* live: no batch program does anything */
	bool apart;    /* live: batch programs stay below `roof`, whether there is a query or not */
	uint32_t roof; /* or are at rest there */
	uint32_t pace_us;  /* of batch programs */
	uint64_t drain_ns; /* live: how long batch programs' kernels are on SMs after they left */
};

static inline struct laius *laius_state(const struct cot_policy *p)
{
	return p->state;
}

static inline struct laius_query *laius_query(const struct cot_query *q)
{
	return q->own;
}

static inline struct laius_program *laius_program(const struct cot_tenant *t)
{
	return t->own;
}

/* A batch program on what queries leave. */
static inline bool laius_is_divided(const struct laius_deal *d, const struct cot_tenant *t)
{
	return t->cls == COT_CLASS_BATCH && placing_is_dealt(d->p, d->l, t);
}

static inline bool laius_is_live(const struct cot_policy *p)
{
	return p->ops == &cot_policy_laius;
}

/* Its first launch is all of it: it stays where its program was when it began. */
static inline bool laius_is_one_launch(const struct cot_query *q)
{
	return q->plan && q->plan->n_tasks == 1;
}

/* Of the memory's bandwidth, what programs may take together; in bytes per second. */
static inline uint64_t laius_bandwidth(const struct cot_policy *p)
{
	return p->config->dram_bytes_per_s / 1000 * p->config->bandwidth_permille;
}

/* What is not known goes with the SMs: it is no reason to leave some of them idle. */
static inline uint64_t laius_unknown_rate(const struct cot_policy *p, uint32_t sms, uint32_t n_sms)
{
	return laius_bandwidth(p) / n_sms * sms;
}

/* ---- laius_reserve.c ---- */

/* Where batch programs may be, and what requests may have. */
void cot_laius_look(struct laius_deal *d);

/* The GPUs where programs have come to rest or to life, or kernels have left SMs by now. */
uint64_t cot_laius_notice(struct cot_policy *p, uint64_t *wake_ns);

/* ---- laius_queue.c ---- */

void cot_laius_joined(const struct cot_policy *p, const struct cot_tenant *t);

/* A request has come, or is over. */
void cot_laius_arrive(const struct cot_policy *p, const struct cot_query *q);
void cot_laius_leave(const struct cot_policy *p, const struct cot_query *q);

/* The quota with which it keeps its target beside the next ones. */
uint32_t cot_laius_enough(const struct laius_deal *d, const struct cot_query *q);

/* It begins on that, and takes so much of the bandwidth; 0: not known. */
void cot_laius_begun(const struct laius_deal *d, const struct cot_query *q, uint32_t quota,
		     uint64_t rate);

/* ---- laius_took.c ---- */

/* How long a slow one of such requests, and one in the mean, takes there. */
uint64_t cot_laius_slow_ns(const struct cot_policy *p, const struct cot_query *q, uint32_t quota);
uint64_t cot_laius_mean_ns(const struct cot_policy *p, const struct cot_query *q, uint32_t quota);

/* Of one that is known: what a slow one has still to do, as far as it is. */
uint64_t cot_laius_left_ns(const struct cot_policy *p, const struct cot_query *q, uint32_t quota);

/* It is over: how long it took is learned from. */
void cot_laius_learn(const struct cot_policy *p, const struct cot_query *q);

/* How far its last requests were from what was predicted for the size of part that they were on,
 * in 1/1000 of what they took, in the mean: by the profile, and with what was learned before each.
 * False: too few were learned from. */
bool cot_laius_off(const struct cot_policy *p, const struct cot_tenant *t, uint32_t *ret_profile,
		   uint32_t *ret_off);

void cot_laius_forget(const struct cot_policy *p, const struct cot_tenant *t);

/* ---- laius_drain.c ---- */

/* How long after another part, or holding, begins its kernels may be where they were. */
uint64_t cot_laius_drain_ns(const struct cot_tenant *t, uint32_t sms);

/* How long batch kernels are on the topmost SMs. */
uint64_t cot_laius_stall_ns(const struct laius_deal *d, uint32_t sms);

/* From where on [begin, end) is the part for the program's requests: without the SMs below on which
 * batch kernels are for too long; `begin` if there are none, or nothing would be left. */
uint32_t cot_laius_clear(const struct laius_deal *d, const struct cot_tenant *t, uint32_t begin,
			 uint32_t end);

/* Its part has changed: what it launched before is where it was. */
void cot_laius_moved(const struct cot_policy *p, struct cot_tenant *t);

void cot_laius_activity(const struct cot_policy *p, struct cot_tenant *t);

/* ---- laius_kept.c ---- */

/* Begins anew when its class has changed. */
void cot_laius_renew(const struct cot_tenant *t);
struct laius_flow *cot_laius_flow(const struct cot_tenant *t); /* of a latency program */
struct laius_stay *cot_laius_stay(const struct cot_tenant *t); /* of a batch program */

/* The row for a part of so many SMs, or for the next smaller one; the first if there is none. */
const struct cot_prediction *cot_laius_row_below(const struct cot_tenant *t, uint32_t sms);

/* How long the longest kernel of what it repeats takes on so many SMs. */
uint64_t cot_laius_kernel_ns(const struct cot_tenant *t, uint32_t sms);

/* ---- laius_queries.c ---- */

/* Its SMs; `all` if nothing is known of it. Only of one that runs. */
uint32_t cot_laius_sms(const struct cot_policy *p, const struct cot_query *q, uint32_t all);

/* Gives SMs to the queries whose turn it is, and says where their programs run. */
void cot_laius_serve(struct laius_deal *d);

/* Leaves queries out that have had SMs for too long; brings *wake_ns forward to when the next one
 * has. The GPUs where there was one. */
uint64_t cot_laius_lose(struct cot_policy *p, uint64_t *wake_ns);

/* Tasks have ended. Whether the query has another quota now. */
bool cot_laius_follow(struct cot_policy *p, struct cot_query *q);

void cot_laius_end(struct cot_policy *p, struct cot_query *q);

/* ---- laius_batch.c ---- */

/* Divides the rest. */
void cot_laius_share(struct laius_deal *d);

/* ---- laius_explain.c ---- */

unsigned cot_laius_explain(const struct cot_policy *p, const struct cot_tenant *t,
			   struct cot_fact *facts, unsigned max);

#endif
