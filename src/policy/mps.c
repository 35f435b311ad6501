/*
 * What one MPS server does with CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, to compare: each of n programs
 * may use so much of the GPU, as a number of SMs that never changes.
 *
 *   mps-even      100 % / n each
 *   mps-double    200 % / n each, as NVIDIA advises: for two programs no limit at all
 *   mps-priority  latency programs all, each batch program 100 % / (n - 1)
 *
 * MPS chooses the SMs; here batch programs are dealt theirs from SM 0 on and latency programs from
 * the top, one beside the other as long as that goes.
 */
#include "policy/placing.h"
#include "policy/policies.h"
#include "policy/works.h"

static uint32_t n_programs(const struct cot_policy *p, const struct placing *l)
{
	const struct cot_tenant *t;
	uint32_t n = 0;

	cot_for_each_tenant (t, p)
		n += t->gpu_mask >> l->gpu & 1;
	return n;
}

/* Of one program among n. */
static uint32_t sms_of(const struct cot_policy *p, const struct placing *l,
		       const struct cot_tenant *t, uint32_t n)
{
	uint32_t sms = p->ops == &cot_policy_mps_double ? 2 * l->n_sms : l->n_sms;

	if (p->ops == &cot_policy_mps_priority)
		n = t->cls == COT_CLASS_LATENCY ? 1 : n - 1;
	if (n > 1)
		sms /= n;
	if (sms < l->unit)
		sms = l->unit;
	return sms < l->n_sms ? sms : l->n_sms;
}

/* At the end of the row where there is no room left. */
static struct cot_part from_bottom(const struct placing *l, uint32_t *begin, uint32_t sms)
{
	uint32_t first = *begin, end = l->n_sms;

	if (first + sms > end)
		first = cot_placing_begin_of(l, end, sms);
	else
		end = cot_placing_round(l, first + sms);
	*begin = end;
	return cot_placing_part(l, first, end);
}

static struct cot_part from_top(const struct placing *l, uint32_t *end, uint32_t sms)
{
	uint32_t first, last = *end;

	if (last < sms)
		last = cot_placing_round(l, sms);
	first = cot_placing_begin_of(l, last, sms);
	*end = first;
	return cot_placing_part(l, first, last);
}

static void place(struct cot_policy *p, uint32_t gpu)
{
	struct placing l = cot_placing_begin(p, gpu);
	uint32_t n = n_programs(p, &l), bottom = 0, top = l.n_sms, sms;
	struct cot_part part;
	struct cot_tenant *t;

	cot_placing_asked(p, &l);
	cot_for_each_tenant (t, p) {
		if (!placing_is_dealt(p, &l, t))
			continue;
		sms = sms_of(p, &l, t, n);
		part = t->cls == COT_CLASS_LATENCY ? from_top(&l, &top, sms)
						   : from_bottom(&l, &bottom, sms);
		(void)placing_place(p, t, part);
	}
}

static uint64_t tick(struct cot_policy *p)
{
	uint64_t gpus;

	cot_works_leave_entities(p);
	for (gpus = cot_placing_gpus(p); gpus; gpus &= gpus - 1)
		place(p, (uint32_t)__builtin_ctzll(gpus));
	return COT_NEVER;
}

#define MPS(called, says)                                                                    \
	{                                                                                    \
		.name = called, .summary = says, .abi = COT_POLICY_ABI, .wants_pools = true, \
		.one_pool = true, .places = true, .tick = tick,                              \
	}

const struct cot_policy_ops cot_policy_mps_even =
	MPS("mps-even", "one pool; an equal part of the SMs for each program, to compare");
const struct cot_policy_ops cot_policy_mps_double =
	MPS("mps-double", "one pool; two equal parts of the SMs for each program, to compare");
const struct cot_policy_ops cot_policy_mps_priority =
	MPS("mps-priority", "one pool; latency programs on all SMs, batch programs on parts");
