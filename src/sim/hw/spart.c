/*
 * Spart, spatial partitioning with a linear model (after Aguilera et al., ASP-DAC 2014, as Sun et
 * al. describe it): at the end of every epoch a task with a goal gets as many SMs as it would need
 * if its IPC grew in proportion to them; batch tasks share the rest. Re-implemented from what is
 * said about it, not from its text. Without any goal SMs go to kernels in order of arrival.
 *
 * `spart-catchup` aims higher by what is missing from the mean, so that it makes up for the epochs
 * in which it had too few SMs; whether Spart does that is said nowhere.
 */
#include "sim/hw/common.h"
#include "sim/hw/owners.h"
#include "sim/hw/scheds.h"

struct spart {
	uint64_t n_epochs;
	double insts[COT_MAX_APPS]; /* at the end of the last epoch */
	struct hw_owners owners;
};

/* SMs for `ipc` if n SMs gave `had`: rounded up. */
static uint32_t sms_for(double ipc, double had, uint32_t n, uint32_t most)
{
	double need = ipc * n / had;
	uint32_t whole;

	if (!(need < most))
		return most;
	whole = (uint32_t)need;
	if (whole < need)
		whole++;
	return whole ? whole : 1;
}

static uint32_t n_batch(struct hw *hw)
{
	uint32_t i, n = 0;

	for (i = 0; i < hw_scenario(hw)->n_apps; i++)
		n += !hw_has_goal(hw, i);
	return n;
}

/* The IPC that an app with a goal needs in the coming epoch. */
static double aim_of(struct hw *hw, uint32_t app, bool catch_up)
{
	const struct spart *s = hw_state(hw);
	double goal = hw_scenario(hw)->apps[app].qos.ipc;
	double mean = s->insts[app] / ((double)s->n_epochs * hw_epoch_cycles(hw));

	return catch_up && mean < goal ? 2.0 * goal - mean : goal;
}

/* How many SMs everyone should have: goals in order, some SMs kept for each that follows. */
static void plan(struct hw *hw, uint32_t *want, bool catch_up)
{
	const struct cot_scenario *sc = hw_scenario(hw);
	struct spart *s = hw_state(hw);
	uint32_t left = sc->gpu.n_sms, batch = n_batch(hw), extra, i;
	uint32_t kept = batch * sc->qos_batch_sms + sc->n_apps - batch;

	s->n_epochs++;
	for (i = 0; i < sc->n_apps; i++) {
		double insts = hw_insts(hw, i), had = (insts - s->insts[i]) / hw_epoch_cycles(hw);
		uint32_t n = hw_owners_count(hw, &s->owners, i), most;

		s->insts[i] = insts;
		if (!hw_has_goal(hw, i))
			continue;
		kept--;
		most = left > kept ? left - kept : left;
		if (had > 0.0)
			n = sms_for(aim_of(hw, i, catch_up), had, n, most);
		want[i] = n < most ? n : most;
		left -= want[i];
	}
	extra = batch ? left % batch : 0;
	for (i = 0; i < sc->n_apps; i++)
		if (!hw_has_goal(hw, i)) {
			want[i] = left / batch + (extra > 0);
			extra -= extra > 0;
		}
}

static void move_to(struct hw *hw, const uint32_t *want)
{
	struct spart *s = hw_state(hw);
	uint32_t n_apps = hw_scenario(hw)->n_apps, i;

	for (i = 0; i < n_apps; i++)
		while (hw_owners_count(hw, &s->owners, i) > want[i])
			(void)hw_owners_move(hw, &s->owners, i, HW_NOBODY);
	for (i = 0; i < n_apps; i++)
		while (hw_owners_count(hw, &s->owners, i) < want[i] &&
		       hw_owners_move(hw, &s->owners, HW_NOBODY, i))
			;
}

static void run(struct hw *hw, unsigned events, bool catch_up)
{
	struct spart *s = hw_state(hw);
	uint32_t want[COT_MAX_APPS];

	hw_admit_all(hw);
	if (!hw_any_goal(hw)) {
		hw_fill_in_order(hw, NULL, NULL);
		return;
	}
	if (!s->owners.made)
		hw_owners_make(hw, &s->owners);
	if (events & HW_EV_EPOCH) {
		plan(hw, want, catch_up);
		move_to(hw, want);
	}
	hw_owners_apply(hw, &s->owners);
}

static void schedule(struct hw *hw, unsigned events)
{
	run(hw, events, false);
}

static void schedule_catchup(struct hw *hw, unsigned events)
{
	run(hw, events, true);
}

const struct hw_sched_ops hw_sched_spart = {
	.name = "spart",
	.summary = "SMs divided anew every epoch by a linear model of promised IPCs",
	.preempts = true,
	.needs_goals = true,
	.state_bytes = sizeof(struct spart),
	.schedule = schedule,
};

const struct hw_sched_ops hw_sched_spart_catchup = {
	.name = "spart-catchup",
	.summary = "as spart, but makes up for epochs that missed the goal",
	.preempts = true,
	.needs_goals = true,
	.state_bytes = sizeof(struct spart),
	.schedule = schedule_catchup,
};
