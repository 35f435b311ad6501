/*
 * Without MPS: every program has a context of its own, and two batch programs with short slices
 * would spend the GPU on switching to one another (h200-measured.md 1: 23 % of the speed is left
 * with 100 us). So the hardware sees one batch program per GPU at a time, next to the latency
 * programs; the others are frozen, in weighted fair turns of tens of milliseconds.
 *
 * Measured so (section 1): p99 of a 129 us request 345 us next to two batch programs, 381 us next
 * to four; the four kept 88 % of their speed together.
 */
#include "policy/policies.h"
#include "policy/turns.h"

static bool is_batch(const struct cot_entity *e, const void *arg)
{
	(void)arg;
	return e->cls == COT_CLASS_BATCH;
}

static void set_slices(struct cot_policy *p)
{
	uint64_t loose_gpus = cot_turns_loose_gpus(p);
	struct cot_entity *e;

	cot_for_each_entity (e, p) {
		uint32_t slice_us = p->config->batch_slice_us;

		/* One that cannot be frozen runs next to the one whose turn it is: then the
		 * latency programs must wait a little longer, for work to get done at all. */
		if (e->gpu_mask & loose_gpus)
			slice_us = p->config->equal_slice_us;
		if (e->cls == COT_CLASS_LATENCY)
			slice_us = p->config->latency_slice_us;
		(void)cot_set_slice(p, e, slice_us);
		(void)cot_set_mode(p, e, COT_MODE_SWITCH);
	}
}

static uint64_t tick(struct cot_policy *p)
{
	uint64_t wake_ns = cot_turns_tick(p, p->state, is_batch, NULL);

	set_slices(p);
	return wake_ns;
}

const struct cot_policy_ops cot_policy_rotate = {
	.name = "rotate",
	.summary = "one batch program at a time beside the latency programs, in fair turns; no MPS",
	.abi = COT_POLICY_ABI,
	.state_bytes = sizeof(struct turns),
	.action_done = cot_turns_action_done,
	.tick = tick,
};
