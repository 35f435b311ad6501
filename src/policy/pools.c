/*
 * Two pools per GPU: latency programs in one MPS server, batch programs in another one. Between the
 * pools the hardware switches, because their slices differ; inside a pool programs share the SMs.
 *
 * While a latency entity is active on a GPU, its slice is long, so that a request is never
 * interrupted, and those of batch entities are short, so that it soon begins. Otherwise all slices
 * there are equally long, for fewer switches. Measured on an H200 in a probe: a request of 0.95 ms
 * has a p99 of 1.39 ms next to three batch programs (1.06 alone), and these do 2.33 times what the
 * GPU does for one of them.
 *
 * Batch programs outside the pool are more batch entities. Two of them with short slices would
 * spend the GPU on switching, so they take turns while a latency entity is active.
 */
#include "policy/policies.h"
#include "policy/shared.h"
#include "policy/turns.h"

static bool takes_turns(const struct cot_entity *e, const void *latency_gpus)
{
	return e->cls == COT_CLASS_BATCH && (e->gpu_mask & *(const uint64_t *)latency_gpus);
}

static uint64_t tick(struct cot_policy *p)
{
	uint64_t wake_ns = COT_NEVER, latency_gpus = cot_policy_latency_gpus(p, &wake_ns);

	policy_earlier(&wake_ns, cot_turns_tick(p, p->state, takes_turns, &latency_gpus));
	cot_policy_favour_latency(p, latency_gpus, cot_turns_loose_gpus(p));
	return wake_ns;
}

const struct cot_policy_ops cot_policy_pools = {
	.name = "pools",
	.summary = "a latency pool with long slices over a batch pool with short ones",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.state_bytes = sizeof(struct turns),
	.entity_bytes = sizeof(struct turn),
	.action_done = cot_turns_action_done,
	.tick = tick,
	.first_slice = cot_policy_first_slice,
};
