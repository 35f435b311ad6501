/* What several policies ask of the tables. Pure, stateless. */
#ifndef COT_POLICY_SHARED_H
#define COT_POLICY_SHARED_H

#include <cotenant/policy.h>

static inline void policy_earlier(uint64_t *t_ns, uint64_t candidate_ns)
{
	if (candidate_ns < *t_ns)
		*t_ns = candidate_ns;
}

/* Whether a program may have something to do, or had within the last `for_ns`. Brings *wake_ns
 * forward to when that ends. */
static inline bool policy_lingers(const struct cot_policy *p, const struct cot_tenant *t,
				  uint64_t idle_since_ns, uint64_t for_ns, uint64_t *wake_ns)
{
	uint64_t until_ns = idle_since_ns + for_ns;

	if (t->activity != COT_ACTIVITY_IDLE)
		return true;
	if (until_ns <= p->now_ns)
		return false;
	policy_earlier(wake_ns, until_ns);
	return true;
}

/* How long its target lets a query take from its arrival; 0: it has none, or what it takes alone is
 * not known. */
uint64_t cot_policy_query_target_ns(const struct cot_query *q);

/*
 * The GPUs on which a latency entity is active, or was within the last config->linger_ns; and those
 * of latency programs that cannot be acted upon yet, or not now: they run all the same.
 * Brings *wake_ns forward to when that will change by the clock alone.
 */
uint64_t cot_policy_latency_gpus(const struct cot_policy *p, uint64_t *wake_ns);

/*
 * Slices and modes of all entities. On `latency_gpus` latency entities get long slices and batch
 * entities short ones, which are drained if all their programs are known to have blocks of
 * config->drain_block_us at most, else switched. Elsewhere all slices are equally long.
 * `loose_gpus`: where a batch entity runs next to the one whose turn it is; batch entities get
 * longer slices there, for work to get done at all.
 */
void cot_policy_favour_latency(struct cot_policy *p, uint64_t latency_gpus, uint64_t loose_gpus);

/* For first_slice() of a policy that favours latency so. */
uint32_t cot_policy_first_slice(const struct cot_policy *p, enum cot_class cls, uint64_t gpu_mask);

#endif
