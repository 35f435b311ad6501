/*
 * SMQoS: at the end of every epoch a task that misses its goal gets one SM, an idle one if there is
 * one, else a batch task's; a task that can spare one gives it away. Batch tasks look for the
 * number of SMs past which more do not pay, and what they do not need loses its power.
 *
 * Several tasks of a kind are our extension: tasks with a goal decide in order; a batch task gets
 * an idle SM before others if it is farther below its best number, and loses one before others if
 * it is farther above it. Without any goal SMs go to kernels in order of arrival.
 */
#include "model/smqos.h"
#include "sim/hw/common.h"
#include "sim/hw/owners.h"
#include "sim/hw/scheds.h"

/* What a variant does as the paper prints it. */
struct variant {
	bool hasty;  /* decides while SMs change hands */
	bool search; /* looks for the best number of SMs */
};

struct smqos {
	uint64_t n_epochs, epoch_begin_ps;
	bool settled[COT_MAX_APPS]; /* in the last epoch */
	double insts[COT_MAX_APPS]; /* at the end of the last epoch */
	double epoch[COT_MAX_APPS]; /* IPC of the last epoch */
	struct cot_smqos_task tasks[COT_MAX_APPS];
	struct hw_owners owners;
};

static uint32_t n_of(struct hw *hw, uint32_t app)
{
	struct smqos *s = hw_state(hw);

	return hw_owners_count(hw, &s->owners, app);
}

static bool has_blocks_to_issue(struct hw *hw, uint32_t app)
{
	struct hw_kernel *k;

	hw_for_each_active (k, hw)
		if (k->app == app && hw_unissued(k))
			return true;
	return false;
}

/*
 * Whether all of the task's SMs worked for it in the whole epoch. An SM that changes hands is
 * saved, restored and maybe woken first, which may take longer than an epoch: an epoch with such an
 * SM says nothing about how many SMs pay. One that the task has no block for, of a small grid or at
 * the end of a launch, is no such SM: the task has it and did without it.
 */
static bool is_settled(struct hw *hw, uint32_t app)
{
	struct smqos *s = hw_state(hw);
	bool to_issue = has_blocks_to_issue(hw, app);
	struct hw_sm *sm;

	hw_for_each_sm (sm, hw) {
		if (s->owners.of[sm->index] != app || (!sm->kernel && !to_issue))
			continue;
		if (sm->state != HW_SM_RUNNING || sm->kernel->app != app ||
		    sm->begin_ps > s->epoch_begin_ps)
			return false;
	}
	return true;
}

/* The data collector and the profiling data: IPC of every task in the epoch that is over. */
static void collect(struct hw *hw, const struct variant *v)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	struct smqos *s = hw_state(hw);
	double threshold = sc->qos_threshold > 0.0 ? sc->qos_threshold : COT_SMQOS_THRESHOLD;
	uint32_t i;

	s->n_epochs++;
	for (i = 0; i < sc->n_apps; i++) {
		double insts = hw_insts(hw, i);

		s->epoch[i] = (insts - s->insts[i]) / hw_epoch_cycles(hw);
		s->insts[i] = insts;
		s->settled[i] = is_settled(hw, i);
		if (!hw_has_goal(hw, i) && s->settled[i])
			(v->search ? cot_smqos_judge_printed : cot_smqos_judge)(
				&s->tasks[i], n_of(hw, i), s->epoch[i], threshold);
	}
	s->epoch_begin_ps = hw_now_ps(hw);
}

/* The batch task that can best do without an SM. */
static uint32_t victim(struct hw *hw)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	struct smqos *s = hw_state(hw);
	uint32_t best = HW_NOBODY, best_n = 0, i;
	int64_t best_spare = 0;

	for (i = 0; i < sc->n_apps; i++) {
		uint32_t n = n_of(hw, i);
		int64_t spare = (int64_t)n - s->tasks[i].opt;

		if (hw_has_goal(hw, i) || n <= sc->qos_batch_sms)
			continue;
		if (best == HW_NOBODY || spare > best_spare ||
		    (spare == best_spare && n > best_n)) {
			best = i;
			best_n = n;
			best_spare = spare;
		}
	}
	return best;
}

/* Algorithm 1 for one task; true if SMs moved. */
static bool adjust_goal(struct hw *hw, uint32_t app, bool hasty)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	struct smqos *s = hw_state(hw);
	double ave = s->insts[app] / ((double)s->n_epochs * hw_epoch_cycles(hw));
	double target = sc->apps[app].qos.ipc;
	enum cot_smqos_op op = cot_smqos_goal_wants(ave, s->epoch[app], target, s->n_epochs);
	uint32_t from;

	if (!hasty && !cot_smqos_goal_may(op, s->settled[app], ave, target))
		return false;
	switch (op) {
	case COT_SMQOS_IN:
		if (hw_owners_move(hw, &s->owners, HW_NOBODY, app))
			return true;
		from = victim(hw);
		if (from == HW_NOBODY)
			return false;
		s->tasks[from].last = COT_SMQOS_NONE; /* what comes is not its own doing */
		return hw_owners_move(hw, &s->owners, from, app);
	case COT_SMQOS_OUT:
		if (n_of(hw, app) > 1)
			(void)hw_owners_move(hw, &s->owners, app, HW_NOBODY);
		return false; /* the batch tasks may have it */
	default:
		return false;
	}
}

static void swap(struct hw *hw, uint32_t app, enum cot_smqos_op op)
{
	struct smqos *s = hw_state(hw);
	bool back = op == COT_SMQOS_IN && n_of(hw, app) < s->tasks[app].opt, done = false;

	if (op == COT_SMQOS_IN)
		done = hw_owners_move(hw, &s->owners, HW_NOBODY, app);
	else if (op == COT_SMQOS_OUT && n_of(hw, app) > 1)
		done = hw_owners_move(hw, &s->owners, app, HW_NOBODY);
	if (!done)
		return;
	/* A way back to the best number known is no question to be answered. */
	s->tasks[app].last = back ? COT_SMQOS_NONE : op;
	s->tasks[app].rate_last = s->epoch[app];
}

/*
 * The application that gets an idle SM: the largest opt - SMs, then one without an upper bound yet.
 */
static bool before(struct hw *hw, uint32_t a, uint32_t b)
{
	struct smqos *s = hw_state(hw);
	int64_t lack_a = (int64_t)s->tasks[a].opt - n_of(hw, a);
	int64_t lack_b = (int64_t)s->tasks[b].opt - n_of(hw, b);

	if (lack_a != lack_b)
		return lack_a > lack_b;
	return !s->tasks[a].upper && s->tasks[b].upper;
}

/* Algorithm 2 for all batch tasks, each at most one SM. A task that did nothing is not judged. */
static void adjust_batch(struct hw *hw, const struct variant *v)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	struct smqos *s = hw_state(hw);
	bool done[COT_MAX_APPS] = {false};
	uint32_t i, round, next;

	for (round = 0; round < sc->n_apps; round++) {
		next = HW_NOBODY;
		for (i = 0; i < sc->n_apps; i++)
			if (!hw_has_goal(hw, i) && !done[i] && s->settled[i] &&
			    (next == HW_NOBODY || before(hw, i, next)))
				next = i;
		if (next == HW_NOBODY)
			return;
		done[next] = true;
		swap(hw, next,
		     (v->search ? cot_smqos_batch_wants_printed
				: cot_smqos_batch_wants)(&s->tasks[next], n_of(hw, next)));
	}
}

static void begin(struct hw *hw)
{
	struct smqos *s = hw_state(hw);
	uint32_t i;

	hw_owners_make(hw, &s->owners);
	for (i = 0; i < hw_scenario(hw)->n_apps; i++)
		s->tasks[i].opt = n_of(hw, i);
}

static void end_epoch(struct hw *hw, const struct variant *v)
{
	bool moved = false;
	uint32_t i;

	collect(hw, v);
	for (i = 0; i < hw_scenario(hw)->n_apps; i++)
		if (hw_has_goal(hw, i))
			moved |= adjust_goal(hw, i, v->hasty);
	if (!moved)
		adjust_batch(hw, v);
}

static void run(struct hw *hw, unsigned events, const struct variant *v)
{
	struct smqos *s = hw_state(hw);

	hw_admit_all(hw);
	if (!hw_any_goal(hw)) {
		hw_fill_in_order(hw, NULL, NULL);
		return;
	}
	if (!s->owners.made)
		begin(hw);
	if (events & HW_EV_EPOCH)
		end_epoch(hw, v);
	hw_owners_apply(hw, &s->owners);
}

#define VARIANT(id, text, does, ...)                              \
	static void schedule_##id(struct hw *hw, unsigned events) \
	{                                                         \
		static const struct variant v = {__VA_ARGS__};    \
                                                                  \
		run(hw, events, &v);                              \
	}                                                         \
	const struct hw_sched_ops hw_sched_##id = {               \
		.name = text,                                     \
		.summary = does,                                  \
		.preempts = true,                                 \
		.needs_goals = true,                              \
		.state_bytes = sizeof(struct smqos),              \
		.schedule = schedule_##id,                        \
	}

VARIANT(smqos, "smqos",
	"SMs moved one at a time to keep promised IPCs; what does not pay loses its power", false);
VARIANT(smqos_hasty, "smqos-hasty",
	"as smqos, but moves SMs while others still change hands, as printed", .hasty = true);
VARIANT(smqos_printed, "smqos-printed",
	"as smqos, but batch tasks look for their best number of SMs as printed", .search = true);
