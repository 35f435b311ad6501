/*
 * Without MPS: every program has a context of its own, and two batch programs with short slices
 * would spend the GPU on switching to one another (23 % of the speed is left with slices of
 * 100 us). So the hardware sees one batch program per GPU at a time, next to the latency programs;
 * the others are frozen, in weighted fair turns of tens of milliseconds.
 *
 * Measured so on an H200: p99 of a 129 us request 345 us next to two batch programs, 381 us next
 * to four; the four kept 88 % of their speed together.
 */
#include "policy/policies.h"
#include "policy/shared.h"
#include "policy/turns.h"

static bool is_batch(const struct cot_entity *e, const void *arg)
{
	(void)arg;
	return e->cls == COT_CLASS_BATCH;
}

static uint64_t tick(struct cot_policy *p)
{
	uint64_t wake_ns = COT_NEVER, latency_gpus = cot_policy_latency_gpus(p, &wake_ns);

	policy_earlier(&wake_ns, cot_turns_tick(p, p->state, is_batch, NULL));
	cot_policy_favour_latency(p, latency_gpus, cot_turns_loose_gpus(p));
	return wake_ns;
}

const struct cot_policy_ops cot_policy_rotate = {
	.name = "rotate",
	.summary = "one batch program at a time beside the latency programs, in fair turns; no MPS",
	.abi = COT_POLICY_ABI,
	.state_bytes = sizeof(struct turns),
	.entity_bytes = sizeof(struct turn),
	.action_done = cot_turns_action_done,
	.tick = tick,
	.first_slice = cot_policy_first_slice,
};
