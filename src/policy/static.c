/*
 * Fixed shares: every work gets at once what its program's quota allows, and nothing is ever
 * evicted. SMGuard's evictions are measured against this policy; kernels whose place is fixed at
 * their start need it.
 */
#include "policy/policies.h"
#include "policy/works.h"

static uint64_t tick(struct cot_policy *p)
{
	cot_works_leave_entities(p);
	return COT_NEVER;
}

const struct cot_policy_ops cot_policy_static = {
	.name = "static",
	.summary = "one pool; rewritten kernels keep to their quotas, nothing is evicted",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.one_pool = true,
	.tick = tick,
};
