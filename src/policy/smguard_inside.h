/* What the files of smguard share. */
#ifndef COT_POLICY_SMGUARD_INSIDE_H
#define COT_POLICY_SMGUARD_INSIDE_H

#include <cotenant/policy.h>

struct guard {
	uint64_t guarded_until_ns[COT_POLICY_GPUS_MAX]; /* since its last latency work has ended */
	uint64_t wake_ns[COT_POLICY_GPUS_MAX]; /* when time alone changes what is to be done */
	uint64_t decided_gpus; /* where nothing has changed since, but for the time */
};

/* One GPU, now. In CapSMs. */
struct room {
	uint32_t gpu, n_sms;
	uint32_t there, kept;		  /* of all works; see works.h */
	uint32_t batch_there, long_there; /* of batch works; of those with long tasks */
	uint32_t long_kept;
	uint32_t beside;    /* of that: lies on all SMs, as its program or the hardware put it */
	uint32_t reserve;   /* kept free of long batch tasks, and of all while `guarded` */
	uint32_t n_latency; /* latency works */
	bool guarded;	    /* one is there, or was not long ago */
	uint64_t latency_since_ns; /* since when the oldest of them runs; COT_NEVER: none does */
	uint32_t n_batch;	   /* batch works */
	uint32_t n_waiting;	   /* of these, waiting */
	bool missed;		   /* one of them could do with more */
};

/* Of a tenant: its works on the GPU in question, in CapSMs. */
struct held {
	uint32_t there, kept;
	uint32_t latency_kept;
	uint32_t asks; /* of its latency works together, if each got what it asks for */
};

static inline struct held *held_of(const struct cot_tenant *t)
{
	return t->own;
}

static inline bool is_batch(const struct cot_work *w)
{
	return w->method == COT_WORK_QUOTA;
}

static inline uint32_t at_least_one(uint32_t n)
{
	return n ? n : 1;
}

static inline uint32_t less(uint32_t a, uint32_t b)
{
	return a > b ? a - b : 0;
}

static inline uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Whether nobody can count on its tasks to end soon. */
bool cot_smguard_is_long(const struct cot_policy *p, const struct cot_work *w);
/* How it is now; also what each tenant has, in held_of(). The others ask by that. */
struct room cot_smguard_look(const struct cot_policy *p, uint32_t gpu);
/* What a batch work may have besides what it has; what is left of its program's quota. */
uint32_t cot_smguard_batch_room(const struct cot_policy *p, const struct room *r,
				const struct cot_work *w);
uint32_t cot_smguard_quota_room(const struct room *r, const struct cot_work *w);
/* What the work's program has reserved; what the work is to get of it in any case. */
uint32_t cot_smguard_reserve(const struct cot_policy *p, const struct cot_work *w);
uint32_t cot_smguard_reserved(const struct cot_policy *p, const struct cot_work *w);

#endif
