/*
 * Parts of one GPU, dealt out from both ends: what a policy that places tenants shares with the
 * core's own placing. Pure, stateless.
 *
 * A tenant on several GPUs has the same part on each of them: the one that it would have on the
 * first.
 */
#ifndef COT_POLICY_PLACING_H
#define COT_POLICY_PLACING_H

#include <cotenant/policy.h>

/*
 * A part begins and ends at a *cut*: at a multiple of `unit` up to `whole`, or at n_sms. What is
 * behind the whole units can be had only in one piece, by a program that has the top.
 *
 *      0    8   16        whole       n_sms
 *      |----|----|-- ... --|------------|
 *
 * [bottom, top) is free. These and `limit` are cuts.
 */
struct placing {
	uint32_t gpu, n_sms, unit, whole;
	uint32_t bottom, top;
	uint32_t limit; /* batch programs are below it: the rest is reserved */
	bool apart; /* who reserved and has no limit has those SMs alone, instead of all of them */
};

/* Whether it can be placed here. One that says otherwise than most how the GPU is divided cannot.
 */
static inline bool placing_has(const struct placing *l, const struct cot_tenant *t)
{
	return t->part_sms && (uint32_t)__builtin_ctzll(t->gpu_mask) == l->gpu &&
	       t->part_sms == l->n_sms && t->part_unit == l->unit &&
	       t->part_units * t->part_unit == l->whole;
}

static inline bool placing_is_said(struct cot_share share)
{
	return share.sms || share.pct;
}

static inline bool placing_is_asked(const struct cot_tenant *t)
{
	return placing_is_said(t->sms) || placing_is_said(t->quota);
}

/* What is reserved is kept free of batch programs where these run at the same time. */
static inline bool placing_reserves(const struct cot_policy *p, const struct cot_tenant *t)
{
	return p->ops->one_pool && t->cls == COT_CLASS_LATENCY && placing_is_said(t->reserve);
}

/* The policy says where it is: who asked for SMs, or reserved some, has those. */
static inline bool placing_is_dealt(const struct cot_policy *p, const struct placing *l,
				    const struct cot_tenant *t)
{
	return placing_has(l, t) && !placing_is_asked(t) && !placing_reserves(p, t);
}

/* cot_place(), with the pace of its class if the user gave one. */
static inline int placing_place(struct cot_policy *p, struct cot_tenant *t, struct cot_part part)
{
	if (t->cls == COT_CLASS_BATCH && p->config->pace_us)
		part.pace_us = p->config->pace_us;
	return cot_place(p, t, part);
}

/* The GPUs on which a tenant can be placed, one bit each. */
uint64_t cot_placing_gpus(const struct cot_policy *p);

/* Nothing of it is dealt out. */
struct placing cot_placing_begin(const struct cot_policy *p, uint32_t gpu);

/* The cut that is nearest to this SM >= 1, the upper one of two; never 0. */
uint32_t cot_placing_round(const struct placing *l, uint32_t sm);

/* Where a range begins that ends at the cut `end` and has about `n` SMs: one piece at least. */
uint32_t cot_placing_begin_of(const struct placing *l, uint32_t end, uint32_t n);

/* In how many pieces of a unit at least the range between two cuts can be had. */
uint32_t cot_placing_pieces(const struct placing *l, uint32_t first, uint32_t end);

/* Where a program's share of [begin, end) ends: by its weight of all that are left, and with a
 * piece for each of the `others` behind it. */
uint32_t cot_placing_share_end(const struct placing *l, uint32_t begin, uint32_t end,
			       uint64_t weight, uint64_t all, uint32_t others);

/* The range [first, end) as a part: all of the GPU is none. */
struct cot_part cot_placing_part(const struct placing *l, uint32_t first, uint32_t end);

/*
 * Places every tenant of the GPU that has a limit or reserved something: batch programs from the
 * bottom, latency programs from the top, those that reserved something first. One for which there
 * is no room is at its end, with others.
 */
void cot_placing_asked(struct cot_policy *p, struct placing *l);

/* Places every other tenant of the GPU: batch programs on what is not reserved, latency programs on
 * all of it. */
void cot_placing_others(struct cot_policy *p, const struct placing *l);

/* Where batch programs are that have no limit, if they need stay out of nothing but reservations.
 */
static inline struct cot_part placing_unreserved(const struct placing *l)
{
	return l->limit < l->n_sms ? (struct cot_part){.n = l->limit} : (struct cot_part){0};
}

#endif
