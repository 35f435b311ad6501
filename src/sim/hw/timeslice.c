/*
 * Time slicing between contexts: what the driver of a real GPU does by default. Contexts with work
 * take turns, round robin; a turn gives the whole GPU, the leftover rule holds inside it, and a
 * context that runs out of work ends its turn early. Changing turns preempts every SM that the
 * next context can use; the others run empty. The slice of the next context starts when the last SM
 * that it gets has begun its work. Without a software policy every context has the scenario's
 * quantum; a policy gives each its own, and freezes some (hw_context).
 */
#include "sim/hw/common.h"
#include "sim/hw/scheds.h"

struct turns {
	uint32_t context;
	bool begun;	 /* some context has had a turn */
	bool running;	 /* `context` has the turn */
	bool switching;	 /* SMs are still on their way to it */
	bool lingering;	 /* its last kernel has just ended; the next launch may come at this instant
			  */
	uint64_t end_ps; /* of the turn, unless it is switching */
};

static bool is_frozen(struct hw *hw, const struct hw_kernel *k)
{
	return hw_context(hw, k->context)->frozen;
}

/* It is not frozen, and does not wait to be granted SMs. */
static bool may_run(struct hw *hw, const struct hw_kernel *k)
{
	return !is_frozen(hw, k) && (k->n_sms || k->n_reserved || hw_may_take(hw, k));
}

static struct hw_kernel *kernel_of_context(struct hw *hw, uint32_t context)
{
	struct hw_kernel *k;

	hw_for_each_active (k, hw)
		if (k->context == context && may_run(hw, k))
			return k;
	return NULL;
}

/* The next context after `from` in round-robin order that may run an active kernel; maybe `from`.
 * There is one. */
static uint32_t next_context(struct hw *hw, uint32_t from)
{
	uint32_t n = hw_scenario(hw)->n_apps, i;

	for (i = 1; i <= n; i++)
		if (kernel_of_context(hw, (from + i) % n))
			return (from + i) % n;
	return from;
}

/* The first active kernel of a context from `k` on. */
static struct hw_kernel *first_of(struct hw_kernel *k, uint32_t context)
{
	while (k && k->context != context)
		k = k->next;
	return k;
}

/* One of the context's kernels, of which `first` is the first, that has blocks for this SM. */
static struct hw_kernel *with_blocks(struct hw *hw, struct hw_kernel *first, const struct hw_sm *sm)
{
	struct hw_kernel *k;

	for (k = first; k; k = first_of(k->next, first->context))
		if (hw_unissued(k) && hw_may_take(hw, k) && hw_may_be_on(k, sm))
			return k;
	return NULL;
}

static void open_issue(struct hw *hw, uint32_t context)
{
	struct hw_kernel *k;

	hw_for_each_active (k, hw)
		hw_set_issue(hw, k, k->context == context && !is_frozen(hw, k));
}

/* Frozen contexts leave the GPU even if no other context wants it. */
static void evict_frozen(struct hw *hw)
{
	struct hw_kernel *k = hw_active(hw);
	struct hw_sm *sm;

	while (k && !(is_frozen(hw, k) && k->n_sms))
		k = k->next;
	if (!k)
		return;
	hw_for_each_sm (sm, hw)
		if (sm->state == HW_SM_RUNNING && is_frozen(hw, sm->kernel))
			hw_evict(hw, sm);
}

static void hand_over(struct hw *hw, uint32_t context)
{
	struct turns *t = hw_state(hw);
	struct hw_kernel *first = first_of(hw_active(hw), context), *to;
	struct hw_sm *sm;

	t->context = context;
	t->begun = true;
	t->running = true;
	open_issue(hw, context);
	hw_for_each_sm (sm, hw) {
		bool taken = sm->state == HW_SM_RUNNING && sm->kernel->context != context;

		if (!taken && sm->state != HW_SM_RESERVED)
			continue;
		to = with_blocks(hw, first, sm);
		if (to && taken)
			hw_reserve(hw, sm, to);
		else if (to && sm->next != to)
			hw_retarget(hw, sm, to);
	}
	t->switching = true;
}

/* When the last of the SMs begins to work for the context; HW_TIMER_OFF while one is being vacated.
 */
static uint64_t turn_begin_ps(struct hw *hw)
{
	uint64_t begin_ps = hw_now_ps(hw);
	struct hw_sm *sm;

	hw_for_each_sm (sm, hw) {
		if (sm->state == HW_SM_RESERVED)
			return HW_TIMER_OFF;
		if (sm->state == HW_SM_RUNNING && sm->begin_ps > begin_ps)
			begin_ps = sm->begin_ps;
	}
	return begin_ps;
}

/* Round robin starts with the first context. */
static uint32_t whose_turn(struct hw *hw)
{
	const struct turns *t = hw_state(hw);

	return next_context(hw, t->begun ? t->context : hw_scenario(hw)->n_apps - 1);
}

static void start_quantum(struct hw *hw)
{
	struct turns *t = hw_state(hw);
	uint64_t begin_ps = turn_begin_ps(hw);

	t->switching = begin_ps == HW_TIMER_OFF;
	t->end_ps = t->switching ? HW_TIMER_OFF : begin_ps + hw_context(hw, t->context)->slice_ps;
	hw_timer_set(hw, t->end_ps);
}

/*
 * A real program has its next launches in the queue when a kernel ends, so its turn goes on. Here a
 * launch arrives after the decision on what ended at that instant: so that decision waits for the
 * launches.
 */
static bool lingers(struct hw *hw, unsigned events)
{
	struct turns *t = hw_state(hw);

	if (!t->running || t->lingering || !(events & HW_EV_FINISHED) || events & HW_EV_TIMER ||
	    kernel_of_context(hw, t->context))
		return false;
	t->lingering = true;
	hw_timer_set(hw, hw_now_ps(hw));
	return true;
}

/* Whether the turn is over although its context may have work. */
static bool is_over(struct hw *hw, unsigned events)
{
	struct turns *t = hw_state(hw);

	if (!t->lingering)
		return events & HW_EV_TIMER;
	t->lingering = false;
	hw_timer_set(hw, t->end_ps);
	return t->end_ps <= hw_now_ps(hw);
}

static bool any_may_run(struct hw *hw)
{
	struct hw_kernel *k;

	hw_for_each_active (k, hw)
		if (may_run(hw, k))
			return true;
	return false;
}

static bool of_context(const struct hw_kernel *k, const void *arg)
{
	return k->context == *(const uint32_t *)arg;
}

static void schedule(struct hw *hw, unsigned events)
{
	struct turns *t = hw_state(hw);
	bool over;

	hw_admit_all(hw);
	if (lingers(hw, events))
		return;
	over = is_over(hw, events);
	if (!any_may_run(hw)) {
		t->running = false;
		open_issue(hw, UINT32_MAX);
		evict_frozen(hw);
		hw_timer_set(hw, HW_TIMER_OFF);
		return;
	}
	if (!t->running || !kernel_of_context(hw, t->context) || over)
		hand_over(hw, whose_turn(hw));
	else
		open_issue(hw, t->context);
	evict_frozen(hw);
	hw_fill_in_order(hw, of_context, &t->context);
	if (t->switching)
		start_quantum(hw);
}

const struct hw_sched_ops hw_sched_timeslice = {
	.name = "timeslice",
	.summary = "programs take turns on the whole GPU: the default of real GPUs",
	.preempts = true,
	.contexts = true,
	.state_bytes = sizeof(struct turns),
	.schedule = schedule,
};
