/*
 * Whole-GPU eviction by priority, after Chen et al., "EffiSha" (PPoPP 2017): one work at a time has
 * the GPU. When one of a higher priority comes, all workers of the other leave after their task,
 * and its program starts the rest again when the GPU is free. No space is shared: a small kernel
 * leaves the rest of the GPU idle. A yardstick for `smguard`.
 *
 * Priorities are the classes. Equals take turns of config->turn_ns, since a work may be a long row
 * of launches. A work that is not settled keeps one CapSM.
 */
#include "policy/policies.h"
#include "policy/shared.h"
#include "policy/works.h"

static unsigned priority(const struct cot_work *w)
{
	return w->method == COT_WORK_RESERVE;
}

static bool is_of_lower(const struct cot_policy *p, const struct cot_work *w, const void *arg)
{
	(void)p;
	return priority(w) < *(const unsigned *)arg;
}

static bool is_any(const struct cot_policy *p, const struct cot_work *w, const void *arg)
{
	(void)p;
	(void)w;
	(void)arg;
	return true;
}

/* The one of the highest priority that waits; of equals the one that has waited longest. */
static struct cot_work *first_waiting(const struct cot_policy *p, uint32_t gpu)
{
	struct cot_work *w, *best = NULL;

	cot_for_each_work(w, p)
	{
		if (w->gpu != gpu || w->state != COT_WORK_WAITING)
			continue;
		if (!best || priority(w) > priority(best) ||
		    (priority(w) == priority(best) && w->waiting_since_ns < best->waiting_since_ns))
			best = w;
	}
	return best;
}

/* Whether all of a work that can leave has been evicted. */
static bool is_leaving(const struct cot_work *w)
{
	return works_kept(w) <= (w->settled ? 0u : 1u) && w->evicted;
}

/* The one that has the GPU, or NULL: the last that began, for one of a single CapSM that must stay
 * never leaves. */
static const struct cot_work *owner(const struct cot_policy *p, uint32_t gpu)
{
	const struct cot_work *w, *last = NULL;

	cot_for_each_running(w, p, gpu) if (!is_leaving(w)) last = w;
	return last;
}

static uint64_t decide(struct cot_policy *p, uint32_t gpu)
{
	struct cot_work *next = first_waiting(p, gpu);
	const struct cot_work *now = owner(p, gpu);
	unsigned above;

	if (now) {
		uint64_t turn_ns = now->running_since_ns + p->config->turn_ns;

		above = priority(next);
		if (above < priority(now))
			return COT_NEVER;
		if (above > priority(now)) {
			(void)cot_works_adjust(p, gpu, UINT32_MAX, 1, true, is_of_lower, &above);
		} else {
			if (turn_ns > p->now_ns)
				return turn_ns;
			(void)cot_works_adjust(p, gpu, UINT32_MAX, 1, true, is_any, NULL);
		}
		/* One of a single CapSM that must stay: there is nothing to wait for. */
	}
	(void)cot_grant(p, next, next->want, next->can_settle && !priority(next));
	return COT_NEVER;
}

static uint64_t tick(struct cot_policy *p)
{
	uint64_t gpus = p->waiting_gpus, wake_ns = COT_NEVER;

	cot_works_leave_entities(p);
	for (; gpus; gpus &= gpus - 1)
		policy_earlier(&wake_ns, decide(p, (uint32_t)__builtin_ctzll(gpus)));
	return wake_ns;
}

/* tick() looks at the tables. */
static const struct cot_work_ops works = {.ready = NULL};

const struct cot_policy_ops cot_policy_effisha = {
	.name = "effisha",
	.summary = "one pool; one rewritten kernel at a time has the GPU, by class",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.one_pool = true,
	.works = &works,
	.tick = tick,
};
