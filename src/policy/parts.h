/*
 * What `parts` does with a GPU (parts.c), for policies that do the same at times. Whoever calls
 * this has a struct parts_program as the first member of what it keeps of a tenant. Pure,
 * stateless.
 */
#ifndef COT_POLICY_PARTS_H
#define COT_POLICY_PARTS_H

#include "policy/placing.h"

/* What it remembers of a program. */
struct parts_program {
	uint64_t idle_since_ns;
};

/* Who is on a GPU. */
struct parts_crowd {
	bool latency_active;
	uint32_t n_latency; /* programs */
	/* Of those that said nothing: how many, how many can be placed, and the weight of these. */
	uint32_t n_free_latency, n_placed;
	uint64_t weight;
	bool free_batch;  /* there are batch programs that said nothing */
	uint32_t n_batch; /* of these, those that can be placed, and their weight */
	uint64_t batch_weight;
};

struct parts_deal {
	struct placing l;
	struct parts_crowd crowd;
	uint32_t latency_begin; /* SMs of latency programs that said nothing; they end at l.top */
};

/* A batch program that can be placed here, and whose user asked for no SMs. */
static inline bool parts_is_free_batch(const struct placing *l, const struct cot_tenant *t)
{
	return t->cls == COT_CLASS_BATCH && !placing_is_asked(t) && placing_has(l, t);
}

/* Whether it has something to do, or had within the last config->linger_ns, and its user does not
 * hold it. Brings *wake_ns forward to when that ends. */
bool cot_parts_is_active(const struct cot_policy *p, const struct cot_tenant *t, uint64_t *wake_ns);

/* Places all programs of the GPU but those of parts_is_free_batch(). */
struct parts_deal cot_parts_begin(struct cot_policy *p, uint32_t gpu, uint64_t *wake_ns);

/* Where these are; a unit at least. */
void cot_parts_range(const struct parts_deal *d, uint32_t *ret_begin, uint32_t *ret_end);

/* Places these: each on its own SMs, as far as there are enough. */
void cot_parts_place_batch(struct cot_policy *p, const struct parts_deal *d);

/* To be called by tenant_changed(). */
void cot_parts_changed(struct cot_policy *p, struct cot_tenant *t, unsigned what);

#endif
