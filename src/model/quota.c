#include "model/quota.h"

void cot_quota_repair(uint64_t *t_ns, uint32_t n)
{
	uint32_t i;

	for (i = 1; i < n; i++)
		if (t_ns[i] > t_ns[i - 1])
			t_ns[i] = t_ns[i - 1];
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

uint64_t cot_quota_budget(uint64_t target_ns, uint64_t waited_ns, uint64_t in_ns, uint64_t out_ns)
{
	return less(less(less(target_ns, waited_ns), in_ns), out_ns);
}

uint32_t cot_quota_just_enough(const uint64_t *t_ns, uint32_t n, uint64_t budget_ns)
{
	uint32_t i;

	for (i = 0; i + 1 < n; i++)
		if (t_ns[i] <= budget_ns)
			break;
	return i;
}
