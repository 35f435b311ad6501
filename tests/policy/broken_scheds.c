#include "policy/broken_scheds.h"

#include "base/rng.h"
#include "sim/hw/common.h"

/* Admits and never gives anybody an SM. */
static void lazy(struct hw *hw, unsigned events)
{
	(void)events;
	hw_admit_all(hw);
}

/* Assigns SMs without asking whether they are idle. */
static void greedy(struct hw *hw, unsigned events)
{
	struct hw_kernel *k;
	struct hw_sm *sm;

	(void)events;
	hw_admit_all(hw);
	hw_for_each_active (k, hw)
		hw_for_each_sm (sm, hw)
			if (hw_unissued(k))
				hw_assign(hw, sm, k);
}

/* Admits without asking whether the active queue has room. */
static void pushy(struct hw *hw, unsigned events)
{
	struct hw_command *c = hw_pending(hw), *next;

	(void)events;
	for (; c; c = next) {
		next = c->next;
		(void)hw_admit(hw, c);
	}
	hw_fill_in_order(hw, NULL, NULL);
}

/* Remembers a favourite kernel and does not hear that it has left. */
static void stale(struct hw *hw, unsigned events)
{
	struct hw_kernel **favourite = hw_state(hw);
	struct hw_sm *sm;

	(void)events;
	hw_admit_all(hw);
	hw_fill_in_order(hw, NULL, NULL);
	if (!*favourite)
		*favourite = hw_active(hw);
	hw_for_each_sm (sm, hw)
		if (*favourite && sm->state == HW_SM_RUNNING && sm->kernel != *favourite)
			hw_reserve(hw, sm, *favourite);
}

/* Uses every SM but the last. */
static void forgetful(struct hw *hw, unsigned events)
{
	uint32_t n = hw_scenario(hw)->gpu.n_sms;
	struct hw_kernel *k;
	struct hw_sm *sm;

	(void)events;
	hw_admit_all(hw);
	hw_for_each_active (k, hw)
		while (hw_unissued(k) && (sm = hw_idle_sm(hw)) && (n == 1 || sm->index + 1 < n))
			hw_assign(hw, sm, k);
}

/* Looks at arriving launches only: an SM that becomes idle stays idle. */
static void deaf(struct hw *hw, unsigned events)
{
	if (!(events & HW_EV_ARRIVED))
		return;
	hw_admit_all(hw);
	hw_fill_in_order(hw, NULL, NULL);
}

/* Preempts every SM for the other kernel as soon as it has got one: nobody progresses. */
static void fickle(struct hw *hw, unsigned events)
{
	struct hw_kernel *k;
	struct hw_sm *sm;

	(void)events;
	hw_admit_all(hw);
	hw_fill_in_order(hw, NULL, NULL);
	hw_for_each_active (k, hw)
		hw_for_each_sm (sm, hw)
			if (sm->state == HW_SM_RUNNING && sm->kernel != k && hw_unissued(k))
				hw_reserve(hw, sm, k);
}

/* One launch at a time, always that of the first program that has one. */
static void partial(struct hw *hw, unsigned events)
{
	struct hw_command *c, *first = NULL;

	(void)events;
	if (!hw_active(hw)) {
		hw_for_each_pending (c, hw)
			if (!first || c->app < first->app)
				first = c;
		if (first)
			(void)hw_admit(hw, first);
	}
	hw_fill_in_order(hw, NULL, NULL);
}

/* Decides by something that outlives the simulation. */
static void moody(struct hw *hw, unsigned events)
{
	static struct cot_rng mood = {1};
	struct hw_kernel *k, *pick;
	struct hw_sm *sm;

	(void)events;
	hw_admit_all(hw);
	do {
		pick = NULL;
		hw_for_each_active (k, hw)
			if (hw_unissued(k) && (!pick || cot_rng_below(&mood, 2)))
				pick = k;
		sm = hw_idle_sm(hw);
		if (pick && sm)
			hw_assign(hw, sm, pick);
	} while (pick && sm);
}

/* Closes the issue of all kernels but the first, and opens it for none. */
static void miser(struct hw *hw, unsigned events)
{
	struct hw_kernel *k;

	(void)events;
	hw_admit_all(hw);
	hw_fill_in_order(hw, NULL, NULL);
	hw_for_each_active (k, hw)
		if (k != hw_active(hw))
			hw_set_issue(hw, k, false);
}

#define BROKEN(fn, says_preempts)                                                \
	(&(const struct hw_sched_ops){.name = "broken-" #fn,                     \
				      .summary = "wrong on purpose",             \
				      .preempts = (says_preempts),               \
				      .state_bytes = sizeof(struct hw_kernel *), \
				      .schedule = fn})

const struct broken_sched broken_scheds[] = {
	{BROKEN(lazy, false), CONTRACT_ENDS},	    {BROKEN(greedy, false), CONTRACT_REFUSED},
	{BROKEN(pushy, false), CONTRACT_REFUSED},   {BROKEN(stale, true), CONTRACT_REFUSED},
	{BROKEN(forgetful, false), CONTRACT_IDLE},  {BROKEN(deaf, false), CONTRACT_IDLE},
	{BROKEN(fickle, true), CONTRACT_ENDS},	    {BROKEN(fickle, false), CONTRACT_HONEST},
	{BROKEN(partial, false), CONTRACT_STARVES}, {BROKEN(moody, false), CONTRACT_REPEATS},
	{BROKEN(miser, false), CONTRACT_ENDS},
};
const unsigned n_broken_scheds = COT_ARRAY_LEN(broken_scheds);
