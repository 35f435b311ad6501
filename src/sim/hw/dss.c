/*
 * DSS, Dynamic Spatial Sharing (Tanasic et al., section 3.4, Algorithm 1). Every kernel has tokens,
 * one per SM that it may hold; an SM costs a token and gives it back. Idle SMs go to the kernel
 * with the most tokens, into debt if need be; when none is idle, SMs move from the kernel with the
 * fewest tokens to the one with the most until their counts differ by one at most.
 *
 * The printed algorithm leaves a lone kernel and equal new kernels without any SM, stops after one
 * assignment while others idle, and never returns tokens. `dss` corrects all of it; `dss-printed`
 * only what would keep a kernel waiting for ever. docs/simulator.md tells them apart.
 */
#include "sim/hw/common.h"
#include "sim/hw/scheds.h"

/* SMs that k could still use beyond those already reserved for it. */
static int64_t want(const struct hw_kernel *k)
{
	return (int64_t)hw_demand(k) - k->n_reserved;
}

static uint32_t n_contexts(const struct cot_scenario *sc)
{
	uint32_t i, n = 0;

	for (i = 0; i < sc->n_apps; i++)
		if (sc->apps[i].context >= n)
			n = sc->apps[i].context + 1;
	return n;
}

static bool context_is_active(struct hw *hw, uint32_t context, const struct hw_kernel *but)
{
	struct hw_kernel *k;

	hw_for_each_active (k, hw)
		if (k != but && k->context == context)
			return true;
	return false;
}

static uint32_t n_extra(struct hw *hw)
{
	struct hw_kernel *k;
	uint32_t n = 0;

	hw_for_each_active (k, hw)
		n += k->priv.extra;
	return n;
}

/*
 * Tokens of a kernel that has just become active. Equal sharing: floor(N / Np), and the first
 * N mod Np kernels in the active queue have one more (section 4.4). Tokens belong to a process: its
 * second kernel at the same time brings none.
 */
static void endow(struct hw *hw, struct hw_kernel *k)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	uint32_t np = n_contexts(sc), n = sc->gpu.n_sms;

	if (context_is_active(hw, k->context, k))
		return;
	if (sc->apps[k->app].tokens != COT_TOKENS_EQUAL) {
		k->priv.tokens = sc->apps[k->app].tokens;
		return;
	}
	k->priv.extra = n_extra(hw) < n % np;
	k->priv.tokens = (int32_t)(n / np) + k->priv.extra;
}

static struct hw_kernel *richest(struct hw *hw)
{
	struct hw_kernel *k, *best = NULL;

	hw_for_each_active (k, hw)
		if (want(k) > 0 && (!best || k->priv.tokens > best->priv.tokens))
			best = k;
	return best;
}

static struct hw_sm *running_sm_of(struct hw *hw, const struct hw_kernel *k)
{
	struct hw_sm *sm, *best = NULL;

	hw_for_each_sm (sm, hw)
		if (sm->state == HW_SM_RUNNING && sm->kernel == k &&
		    (!best || sm->n_resident < best->n_resident))
			best = sm;
	return best;
}

static struct hw_kernel *poorest_but(struct hw *hw, const struct hw_kernel *a)
{
	struct hw_kernel *k, *best = NULL;

	hw_for_each_active (k, hw)
		if (k != a && (!best || k->priv.tokens < best->priv.tokens) && running_sm_of(hw, k))
			best = k;
	return best;
}

/* SMs on their way to kernels that no longer need them go where they are needed. */
static void redirect(struct hw *hw)
{
	struct hw_kernel *to;
	struct hw_sm *sm;

	hw_for_each_sm (sm, hw) {
		if (sm->state != HW_SM_RESERVED || (sm->next && want(sm->next) >= 0))
			continue;
		to = richest(hw);
		if (!to)
			return;
		if (sm->next)
			sm->next->priv.tokens++;
		to->priv.tokens--;
		hw_retarget(hw, sm, to);
	}
}

static void partition(struct hw *hw)
{
	struct hw_kernel *a, *b;
	struct hw_sm *sm;

	while ((a = richest(hw))) {
		sm = hw_idle_sm(hw);
		if (sm) {
			hw_assign(hw, sm, a);
			a->priv.tokens--;
			continue;
		}
		b = poorest_but(hw, a);
		if (!b || a->priv.tokens - b->priv.tokens <= 1)
			return;
		hw_reserve(hw, running_sm_of(hw, b), a);
		b->priv.tokens++;
		a->priv.tokens--;
	}
}

static void schedule(struct hw *hw, unsigned events)
{
	(void)events; /* after a switch, too: the blocks just saved may find an SM idle */
	while (hw_pending(hw) && !hw_active_full(hw))
		endow(hw, hw_admit(hw, hw_pending(hw)));
	redirect(hw);
	partition(hw);
}

static void sm_released(struct hw *hw, const struct hw_sm *sm, struct hw_kernel *k)
{
	(void)hw;
	(void)sm;
	k->priv.tokens++;
}

/* ---- as printed ---- */

struct printed {
	uint32_t n_extra;	  /* extra SMs given away */
	bool extra[COT_MAX_APPS]; /* of a context: it has one, for good */
	uint32_t n_idle;	  /* idle SMs after the last decision */
};

/* "The rest of the SMs ... are assigned to the r kernels that first reach the active queue": their
 * processes keep them. */
static void endow_for_good(struct hw *hw, struct hw_kernel *k)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	uint32_t np = n_contexts(sc), n = sc->gpu.n_sms;
	struct printed *p = hw_state(hw);
	bool *extra = &p->extra[k->context];

	if (!*extra && p->n_extra < n % np) {
		*extra = true;
		p->n_extra++;
	}
	if (context_is_active(hw, k->context, k))
		return;
	k->priv.tokens = sc->apps[k->app].tokens != COT_TOKENS_EQUAL ? sc->apps[k->app].tokens
								     : (int32_t)(n / np) + *extra;
}

static void give(struct hw *hw, struct hw_kernel *k)
{
	hw_assign(hw, hw_idle_sm(hw), k);
	k->priv.tokens--;
}

/* Two of the repairs: kernels without any SM take one each, a lone kernel all that it can fill. */
static void feed(struct hw *hw)
{
	struct hw_kernel *k;

	hw_for_each_active (k, hw)
		while (hw_idle_sm(hw) && want(k) > 0 &&
		       ((!k->n_sms && !k->n_reserved) || hw_n_active(hw) == 1))
			give(hw, k);
}

static int32_t fewest_tokens(struct hw *hw)
{
	struct hw_kernel *k;
	int32_t least = INT32_MAX;

	hw_for_each_active (k, hw)
		if (k->priv.tokens < least)
			least = k->priv.tokens;
	return least;
}

static bool has_several(struct hw *hw, const struct hw_kernel *k)
{
	struct hw_sm *sm;
	uint32_t n = k->n_reserved;

	hw_for_each_sm (sm, hw)
		n += sm->state == HW_SM_RUNNING && sm->kernel == k;
	return n > 1;
}

/* An SM of k, or one that is on its way to k: "we allow the scheduler to change the kernel for
 * which an SM is reserved". */
static struct hw_sm *sm_to_take(struct hw *hw, const struct hw_kernel *k, const struct hw_kernel *a)
{
	struct hw_sm *sm;

	hw_for_each_sm (sm, hw)
		if (sm->state == HW_SM_RESERVED && sm->next == k && sm->kernel != a)
			return sm;
	return running_sm_of(hw, k);
}

/* Takes an SM for a from the poorest kernel that has more than one. */
static struct hw_kernel *rob(struct hw *hw, struct hw_kernel *a)
{
	struct hw_kernel *k, *b = NULL;
	struct hw_sm *sm;

	hw_for_each_active (k, hw)
		if (k->priv.tokens < a->priv.tokens && (!b || k->priv.tokens < b->priv.tokens) &&
		    has_several(hw, k) && sm_to_take(hw, k, a))
			b = k;
	if (!b)
		return NULL;
	sm = sm_to_take(hw, b, a);
	if (sm->state == HW_SM_RESERVED)
		hw_retarget(hw, sm, a);
	else
		hw_reserve(hw, sm, a);
	b->priv.tokens++;
	a->priv.tokens--;
	return b;
}

/* Algorithm 1, once: for a kernel that reached the active queue, or an SM that became idle. */
static void run_algorithm1(struct hw *hw)
{
	struct hw_kernel *a, *b;
	int32_t least;

	feed(hw);
	do {
		a = richest(hw);
		least = fewest_tokens(hw);
		if (!a || a->priv.tokens == least)
			return;
		if (hw_idle_sm(hw)) {
			give(hw, a);
			continue;
		}
		b = rob(hw, a);
		if (!b)
			return;
		least = b->priv.tokens;
	} while (a->priv.tokens > least + 1);
}

static uint32_t count_idle(struct hw *hw)
{
	struct hw_sm *sm;
	uint32_t n = 0;

	hw_for_each_sm (sm, hw)
		n += sm->state == HW_SM_IDLE;
	return n;
}

static void schedule_as_printed(struct hw *hw, unsigned events)
{
	struct printed *p = hw_state(hw);
	uint32_t n_new;

	(void)events;
	redirect(hw);
	for (n_new = count_idle(hw) - p->n_idle; n_new; n_new--)
		run_algorithm1(hw);
	while (hw_pending(hw) && !hw_active_full(hw)) {
		endow_for_good(hw, hw_admit(hw, hw_pending(hw)));
		run_algorithm1(hw);
	}
	feed(hw); /* after a switch, too, as above */
	p->n_idle = count_idle(hw);
}

const struct hw_sched_ops hw_sched_dss = {
	.name = "dss",
	.summary = "SMs divided among the programs by tokens, moved by preemption",
	.preempts = true,
	.schedule = schedule,
	.sm_released = sm_released,
};

const struct hw_sched_ops hw_sched_dss_printed = {
	.name = "dss-printed",
	.summary = "as dss, but with Algorithm 1 as the paper prints it: most idle SMs stay idle",
	.preempts = true,
	.state_bytes = sizeof(struct printed),
	.schedule = schedule_as_printed,
	.sm_released = sm_released,
};
