/*
 * What the files of the policies `laius`, `laius-nb` and `laius-nc` share.
 *
 *   laius.c          callbacks, the policies
 *   laius_queries.c  which query runs on how many SMs
 *   laius_batch.c    what batch programs get of the rest
 *   laius_explain.c  what users are told
 */
#ifndef COT_POLICY_LAIUS_INSIDE_H
#define COT_POLICY_LAIUS_INSIDE_H

#include "model/lag.h"
#include "policy/placing.h"

/* Queries that have SMs at a time, on all GPUs. */
#define LAIUS_RUNNING_MAX 128u
/*
 * A query whose program does not tell that it is over, or whose end is not seen, would keep its SMs
 * for good. After twice its target it counts no longer, between these. Our choices.
 */
#define LAIUS_LOST_MIN_NS (10 * COT_NS_PER_S)
#define LAIUS_LOST_MAX_NS (60 * COT_NS_PER_S)

struct laius {
	uint64_t stale_gpus; /* where something has changed that decides who gets what */
	struct cot_lag lags[LAIUS_RUNNING_MAX];
	bool used[LAIUS_RUNNING_MAX];
};

/* Of a query. */
struct laius_query {
	uint64_t since_ns;  /* when it got SMs */
	uint64_t budget_ns; /* what its target left it then */
	uint16_t lag;	    /* its place in laius.lags, if it is known */
	bool runs, known;
	bool lost; /* it has had SMs for too long, and counts no longer */
};

enum laius_why {
	LAIUS_WHY_NONE, /* nothing was decided yet */
	LAIUS_WHY_IDLE, /* a latency program without a query */
	LAIUS_WHY_QUERY,
	LAIUS_WHY_WAITS, /* its queries do, for older ones */
	LAIUS_WHY_ALONE, /* a batch program, while there is no query */
	LAIUS_WHY_SHARE,
	LAIUS_WHY_NO_SMS, /* it is held: queries have all SMs; or what they leave is of more use to
			     others, or would take too much of the memory bandwidth */
	LAIUS_WHY_NO_BANDWIDTH,
	LAIUS_WHY_NOT_CHOSEN,
	LAIUS_N_WHYS,
};

/* Of a program. */
struct laius_program {
	struct cot_part part; /* that it is to have */
	uint64_t held_ns;     /* see holding.h */
	uint64_t rate;	      /* of a batch program, predicted: bytes per second there */
	uint32_t n_queries, n_unknown, n_raised, n_lost;
	uint8_t why; /* enum laius_why */
};

/* One GPU while it is dealt out. */
struct laius_deal {
	struct cot_policy *p;
	const struct placing *l;
	uint32_t begin; /* of what queries have; they end at l->top */
	bool any_query; /* has SMs */
	uint64_t taken; /* bytes per second of the memory's bandwidth */
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

/* Who asked for SMs has those. */
static inline bool laius_is_dealt(const struct cot_policy *p, const struct placing *l,
				  const struct cot_tenant *t)
{
	return placing_has(l, t) && !placing_is_asked(t) && !placing_reserves(p, t);
}

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
