/*
 * PPQ, preemptive priority queues (Tanasic et al., sections 4.2 and 4.3). All waiting launches
 * become active; an arriving kernel takes the SMs that it can fill from less important ones.
 *
 * `ppq` (exclusive): while a kernel of the highest active priority runs, less important ones get no
 * new block on any SM. `ppq-shared`: SMs that the most important kernels cannot fill go to the
 * others, which are preempted again soon.
 */
#include "sim/hw/common.h"
#include "sim/hw/scheds.h"

static int32_t top_priority(struct hw *hw)
{
	struct hw_kernel *k;
	int32_t top = INT32_MIN;

	hw_for_each_active (k, hw)
		if (k->priority > top)
			top = k->priority;
	return top;
}

/* Of two SMs that may be taken, the one to take: less important, then fewer blocks to preempt. */
static bool better_victim(const struct hw_sm *a, const struct hw_sm *b)
{
	if (a->kernel->priority != b->kernel->priority)
		return a->kernel->priority < b->kernel->priority;
	return a->n_resident < b->n_resident;
}

static struct hw_sm *victim_for(struct hw *hw, const struct hw_kernel *k)
{
	struct hw_sm *sm, *best = NULL;

	hw_for_each_sm (sm, hw)
		if (sm->state == HW_SM_RUNNING && sm->kernel->priority < k->priority &&
		    (!best || better_victim(sm, best)))
			best = sm;
	return best;
}

/* An SM that is being preempted for a kernel less important than k. */
static struct hw_sm *reservation_for(struct hw *hw, const struct hw_kernel *k)
{
	struct hw_sm *sm;

	hw_for_each_sm (sm, hw)
		if (sm->state == HW_SM_RESERVED && sm->next && sm->next->priority < k->priority)
			return sm;
	return NULL;
}

/* Gets k the SMs that it can fill: idle ones, SMs already on their way to others, then victims. */
static void claim(struct hw *hw, struct hw_kernel *k)
{
	struct hw_sm *sm;

	while (hw_demand(k) > k->n_reserved) {
		if ((sm = hw_idle_sm(hw)))
			hw_assign(hw, sm, k);
		else if ((sm = reservation_for(hw, k)))
			hw_retarget(hw, sm, k);
		else if ((sm = victim_for(hw, k)))
			hw_reserve(hw, sm, k);
		else
			return;
	}
}

/* The highest priority below `level` of an active kernel; INT32_MIN when there is none. */
static int32_t next_priority(struct hw *hw, int32_t level)
{
	struct hw_kernel *k;
	int32_t next = INT32_MIN;

	hw_for_each_active (k, hw)
		if (k->priority < level && k->priority > next)
			next = k->priority;
	return next;
}

static bool has_priority(const struct hw_kernel *k, const void *arg)
{
	return k->priority == *(const int32_t *)arg;
}

/* The kernels of one priority get their SMs, equals in order of admission. */
static void serve(struct hw *hw, int32_t level, bool preempt)
{
	struct hw_kernel *k;

	if (preempt)
		hw_for_each_active (k, hw)
			if (k->priority == level)
				claim(hw, k);
	hw_fill_in_order(hw, has_priority, &level);
}

/*
 * Kernels preempt when the set of active ones changes, not just when they arrive themselves: a more
 * important one may have taken their reservation, or left and made them the most important.
 */
static void schedule_ppq(struct hw *hw, unsigned events, bool shared)
{
	bool changed = events & (HW_EV_ARRIVED | HW_EV_FINISHED);
	struct hw_kernel *k;
	struct hw_command *c;
	int32_t level;

	while ((c = hw_best_pending(hw)) && !hw_active_full(hw))
		(void)hw_admit(hw, c);
	if (!hw_active(hw))
		return;
	level = top_priority(hw);
	if (!shared)
		hw_for_each_active (k, hw)
			hw_set_issue(hw, k, k->priority == level);
	do {
		serve(hw, level, changed);
		level = next_priority(hw, level);
	} while (shared && level != INT32_MIN);
}

static void schedule_exclusive(struct hw *hw, unsigned events)
{
	schedule_ppq(hw, events, false);
}

static void schedule_shared(struct hw *hw, unsigned events)
{
	schedule_ppq(hw, events, true);
}

const struct hw_sched_ops hw_sched_ppq = {
	.name = "ppq",
	.summary = "the most important program preempts and has the GPU to itself",
	.preempts = true,
	.schedule = schedule_exclusive,
};

const struct hw_sched_ops hw_sched_ppq_shared = {
	.name = "ppq-shared",
	.summary = "as ppq, but others use the SMs that it cannot fill",
	.preempts = true,
	.schedule = schedule_shared,
};
