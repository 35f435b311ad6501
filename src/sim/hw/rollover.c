/*
 * Rollover (after Wang et al., ISCA 2017): kernels share every SM. In each epoch a kernel may issue
 * a quota of instructions on each SM; a kernel with a goal has the quota that its goal needs, more
 * if it is behind, and keeps what it did not use. When all kernels of an SM have used theirs, those
 * without a goal go on. Thread blocks are added where a kernel misses its goal for want of warps.
 * Re-implemented from its descriptions; the variants are those of the paper:
 *
 *   rollover-naive     quotas only
 *   rollover-history   more quota for who is behind
 *   rollover-elastic   history, and an epoch ends early on an SM whose quotas are all used
 *   rollover           history, and quota that was not used is kept
 *
 * A kernel without a goal has no quota; kernels whose blocks are not described have whole SMs, in
 * order of arrival.
 */
#include "sim/hw/common.h"
#include "sim/hw/owners.h"
#include "sim/hw/scheds.h"

/* The least quota of a kernel without a goal: this part of what the GPU can issue. */
#define LEAST_PART 0.01
/* With history, the mean after the epoch should be this much of the goal: a kernel that is held at
 * its goal exactly never makes up for its first epochs. */
#define MARGIN 1.002
/* A kernel without a goal makes room for at most so much more than the goal of another: an epoch
 * without it would not make up for the first ones at once either. */
#define CATCH_UP 1.2

/* What can leave room on an SM that nobody has. */
#define MAY_FILL (HW_EV_ARRIVED | HW_EV_FINISHED | HW_EV_EPOCH)

struct variant {
	bool history, keep, elastic;
};

struct rollover {
	bool begun;
	uint64_t n_epochs;
	double insts[COT_MAX_APPS]; /* at the end of the last epoch */
	double ipc[COT_MAX_APPS];   /* of the last epoch */
	double quota[COT_MAX_APPS]; /* of the whole GPU, per epoch */
};

static struct hw_sm *lane_of(struct hw *hw, uint32_t sm, uint32_t app)
{
	return &hw_sms(hw)[app * hw_scenario(hw)->gpu.n_sms + sm];
}

static struct hw_kernel *kernel_of_app(struct hw *hw, uint32_t app)
{
	struct hw_kernel *k;

	hw_for_each_active (k, hw)
		if (k->app == app)
			return k;
	return NULL;
}

/* ---- blocks ---- */

/* One block of each kernel in turn on every SM, until nothing fits. */
static void fill_alike(struct hw *hw)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	struct hw_kernel *k;
	uint32_t sm, i;
	bool more;

	for (sm = 0; sm < sc->gpu.n_sms; sm++)
		do {
			more = false;
			for (i = 0; i < sc->n_apps; i++) {
				struct hw_sm *lane = lane_of(hw, sm, i);

				k = kernel_of_app(hw, i);
				if (!k || lane->limit >= k->desc->blocks_per_sm ||
				    !hw_limit_fits(hw, lane, k, lane->limit + 1))
					continue;
				(void)hw_set_limit(hw, lane, k, lane->limit + 1);
				more = true;
			}
		} while (more);
}

/* A kernel of another shape came to the lane: as many blocks as it had, or as fit. */
static bool make_room(struct hw *hw, struct hw_sm *lane, const struct hw_kernel *k)
{
	uint32_t n = lane->limit ? lane->limit : 1;

	if (lane->limit && lane->room == k->desc)
		return true;
	if (n > k->desc->blocks_per_sm)
		n = k->desc->blocks_per_sm;
	while (n && !hw_limit_fits(hw, lane, k, n))
		n--;
	return n && hw_set_limit(hw, lane, k, n);
}

static void assign_lanes(struct hw *hw)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	struct hw_kernel *k;
	uint32_t sm, i;

	for (i = 0; i < sc->n_apps; i++) {
		k = kernel_of_app(hw, i);
		for (sm = 0; k && sm < sc->gpu.n_sms && hw_unissued(k); sm++) {
			struct hw_sm *lane = lane_of(hw, sm, i);

			if (lane->state == HW_SM_IDLE && make_room(hw, lane, k))
				hw_assign(hw, lane, k);
		}
	}
}

static bool is_behind(struct hw *hw, uint32_t app)
{
	const struct rollover *r = hw_state(hw);

	return hw_has_goal(hw, app) && r->ipc[app] < hw_scenario(hw)->apps[app].qos.ipc;
}

/* A kernel that can give a block of an SM away: one without a goal, else one with warps that wait
 * in vain. */
static struct hw_sm *victim(struct hw *hw, uint32_t sm, uint32_t but, const double *idle)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	uint32_t i, pass;

	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < sc->n_apps; i++) {
			struct hw_sm *lane = lane_of(hw, sm, i);

			if (i == but || lane->limit < 2 || !lane->kernel)
				continue;
			if (pass ? idle[i] >= lane->kernel->desc->work.warps : !hw_has_goal(hw, i))
				return lane;
		}
	return NULL;
}

/* At most one change on an SM per epoch. */
static void adjust_blocks(struct hw *hw, uint32_t sm)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	double idle[COT_MAX_APPS];
	struct hw_sm *lane, *from;
	uint32_t i;

	for (i = 0; i < sc->n_apps; i++)
		idle[i] = hw_idle_warps(hw, lane_of(hw, sm, i));
	for (i = 0; i < sc->n_apps; i++) {
		lane = lane_of(hw, sm, i);
		if (!is_behind(hw, i) || !lane->kernel || !lane->limit ||
		    lane->limit >= lane->kernel->desc->blocks_per_sm ||
		    idle[i] >= lane->kernel->desc->work.warps)
			continue;
		while ((from = victim(hw, sm, i, idle)) &&
		       !hw_limit_fits(hw, lane, lane->kernel, lane->limit + 1))
			(void)hw_set_limit(hw, from, from->kernel, from->limit - 1);
		if (hw_limit_fits(hw, lane, lane->kernel, lane->limit + 1))
			(void)hw_set_limit(hw, lane, lane->kernel, lane->limit + 1);
		return;
	}
}

/* ---- quotas ---- */

/* What the coming epoch should have, as instructions per cycle: the goal, or what was missed. */
static double aim_of(struct hw *hw, const struct variant *v, uint32_t app)
{
	const struct rollover *r = hw_state(hw);
	double goal = hw_scenario(hw)->apps[app].qos.ipc;
	double due = MARGIN * goal * (double)(r->n_epochs + 1);
	double lack = due - r->insts[app] / hw_epoch_cycles(hw);

	return v->history && lack > goal ? lack : goal;
}

/*
 * Instructions of the coming epoch on the whole GPU. A kernel without a goal gets what it had,
 * times how far those with goals came towards what they are to have now: a larger quota that
 * nobody makes room for would not be used.
 */
static void set_goals(struct hw *hw, const struct variant *v)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	struct rollover *r = hw_state(hw);
	double least = LEAST_PART * sc->gpu.issue_width * sc->gpu.n_sms, slack = 1e300, goal, aim;
	uint32_t i;

	for (i = 0; i < sc->n_apps; i++) {
		double insts = hw_insts(hw, i);

		r->ipc[i] = (insts - r->insts[i]) / hw_epoch_cycles(hw);
		r->insts[i] = insts;
		if (!hw_has_goal(hw, i))
			continue;
		goal = sc->apps[i].qos.ipc;
		aim = aim_of(hw, v, i);
		r->quota[i] = aim * hw_epoch_cycles(hw);
		if (aim > CATCH_UP * goal)
			aim = CATCH_UP * goal;
		if (r->ipc[i] / aim < slack)
			slack = r->ipc[i] / aim;
	}
	for (i = 0; i < sc->n_apps; i++)
		if (!hw_has_goal(hw, i)) {
			goal = r->ipc[i] * slack;
			r->quota[i] = (goal > least ? goal : least) * hw_epoch_cycles(hw);
		}
}

/* The part of an app's quota that a lane gets: by its blocks there, since elsewhere nobody can use
 * it; before there are any, by those that it may have. */
static double part_of(struct hw *hw, const struct hw_sm *lane, uint32_t app)
{
	uint32_t n_sms = hw_scenario(hw)->gpu.n_sms, resident = 0, limit = 0, s;

	for (s = 0; s < n_sms; s++) {
		resident += lane_of(hw, s, app)->n_resident;
		limit += lane_of(hw, s, app)->limit;
	}
	if (resident)
		return (double)lane->n_resident / resident;
	return limit ? (double)lane->limit / limit : 0.0;
}

static void give_quota(struct hw *hw, uint32_t sm, bool keep)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	struct rollover *r = hw_state(hw);
	uint32_t i;

	for (i = 0; i < sc->n_apps; i++) {
		struct hw_sm *lane = lane_of(hw, sm, i);
		double left = hw_quota_left(hw, lane), part = part_of(hw, lane, i);
		double quota = r->quota[i] * part;
		double kept = left + sc->apps[i].qos.ipc * hw_epoch_cycles(hw) * part;

		/* What was not used and what is missing from the mean are the same instructions. */
		if (keep && hw_has_goal(hw, i) && left < HW_QUOTA_NONE && kept > quota)
			quota = kept;
		hw_set_quota(hw, lane, quota);
	}
}

static bool all_used(struct hw *hw, uint32_t sm)
{
	uint32_t i;

	for (i = 0; i < hw_scenario(hw)->n_apps; i++) {
		struct hw_sm *lane = lane_of(hw, sm, i);

		if (lane->n_resident && hw_quota_left(hw, lane) > 0.0)
			return false;
	}
	return true;
}

/* No quota is left on an SM: no kernel with a goal may go on before the next epoch, so the others
 * may until then. */
static void on_used_up(struct hw *hw, const struct variant *v)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	uint32_t sm, i;

	for (sm = 0; sm < sc->gpu.n_sms; sm++) {
		if (!all_used(hw, sm))
			continue;
		if (v->elastic) {
			give_quota(hw, sm, false);
			continue;
		}
		for (i = 0; i < sc->n_apps; i++)
			if (!hw_has_goal(hw, i))
				hw_set_quota(hw, lane_of(hw, sm, i), HW_QUOTA_NONE);
	}
}

static void end_epoch(struct hw *hw, const struct variant *v)
{
	struct rollover *r = hw_state(hw);
	uint32_t sm;

	set_goals(hw, v);
	r->n_epochs++;
	for (sm = 0; sm < hw_scenario(hw)->gpu.n_sms; sm++) {
		if (r->n_epochs > 1)
			adjust_blocks(hw, sm);
		give_quota(hw, sm, v->keep);
	}
}

static void run(struct hw *hw, unsigned events, const struct variant *v)
{
	struct rollover *r = hw_state(hw);

	hw_admit_all(hw);
	if (!hw_has_lanes(hw)) {
		hw_fill_in_order(hw, NULL, NULL);
		return;
	}
	/* The first launches of all apps come at one instant if they start alike. */
	if (!r->begun || (hw_n_active(hw) > 1 && (events & MAY_FILL)))
		fill_alike(hw);
	assign_lanes(hw);
	if (!hw_any_goal(hw))
		return;
	if (!r->begun || (events & HW_EV_EPOCH))
		end_epoch(hw, v);
	r->begun = true;
	if (events & HW_EV_QUOTA)
		on_used_up(hw, v);
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
		.shares_sms = true,                               \
		.needs_goals = true,                              \
		.state_bytes = sizeof(struct rollover),           \
		.schedule = schedule_##id,                        \
	}

VARIANT(rollover, "rollover", "kernels share SMs by quotas of instructions; unused quota is kept",
	.history = true, .keep = true);
VARIANT(rollover_naive, "rollover-naive", "as rollover, with the same quotas in every epoch",
	false);
VARIANT(rollover_history, "rollover-history", "as rollover, but unused quota is lost",
	.history = true);
VARIANT(rollover_elastic, "rollover-elastic",
	"as rollover-history, but epochs end early where all quotas are used", .history = true,
	.elastic = true);
