/* What policies over works (rewritten kernels) have in common. Pure, stateless. */
#ifndef COT_POLICY_WORKS_H
#define COT_POLICY_WORKS_H

#include <cotenant/policy.h>

/* CapSMs that it keeps; that are still on the GPU, those on their way out included. */
static inline uint32_t works_kept(const struct cot_work *w)
{
	return w->granted - w->evicted;
}

static inline uint32_t works_there(const struct cot_work *w)
{
	return w->granted - w->left;
}

/* Which works may give something up; `arg` is the caller's. */
typedef bool cot_works_may_give_fn(const struct cot_policy *p, const struct cot_work *w,
				   const void *arg);

/*
 * Online resource adjustment (SMGuard, section 5.2): evicts up to `gap` CapSMs on `gpu` from
 * running works for which `may` says so, and returns how many. The paper does not say from which
 * works: here from those with the most first, among equals from the youngest. Each keeps `keep` (at
 * least 1) to do what the others leave; with `last`, settled works are then evicted as a whole for
 * what is still missing: their programs launch the rest again later.
 */
uint32_t cot_works_adjust(struct cot_policy *p, uint32_t gpu, uint32_t gap, uint32_t keep,
			  bool last, cot_works_may_give_fn *may, const void *arg);

/* Everything that is not a work is left to the driver. */
void cot_works_leave_entities(struct cot_policy *p);

#endif
